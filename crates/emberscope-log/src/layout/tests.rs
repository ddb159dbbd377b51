//! Layouts as tables: paths in, runs out.

use super::*;

/// Entries from `path` or `path=length`; the length is 100 when not given.
fn entries(paths: &[&str]) -> Vec<Entry> {
    let entry = |path: &&str| {
        let (path, len) = path.split_once('=').unwrap_or((path, "100"));
        Entry { path: path.to_owned(), len: Some(len.parse().unwrap()) }
    };
    paths.iter().map(entry).collect()
}

/// `path: member member | missing`, one line a group, then `- path reason` for what is set aside.
fn check(paths: &[&str], expected: &[&str]) {
    let entries = entries(paths);
    let layout = recognise(&entries);
    let mut got = Vec::new();
    for group in &layout.groups {
        let members: Vec<&str> = group.members.iter().map(|i| file_name(&entries[*i].path)).collect();
        let mut line = format!("{} {:?}: {}", group.path, group.kind, members.join(" "));
        if !group.missing.is_empty() {
            line += &format!(" | {}", group.missing.join(", "));
        }
        if group.compacted {
            line += " compacted";
        }
        got.push(line);
    }
    for aside in &layout.aside {
        got.push(format!("- {} {:?}: {}", entries[aside.entry].path, aside.status, aside.reason));
    }
    assert_eq!(got, expected, "{paths:?}");
    let mut reversed = entries.clone();
    reversed.reverse();
    let again = recognise(&reversed);
    let paths = |layout: &Layout| {
        layout.groups.iter().map(|g| (g.path.clone(), g.missing.clone())).collect::<Vec<_>>()
    };
    assert_eq!(paths(&layout), paths(&again), "order of the listing matters");
}

#[test]
fn rolled_members_come_in_numeric_order_with_gaps_told() {
    check(
        &[
            "eventlog_v2_app-1/appstatus_app-1=0",
            "eventlog_v2_app-1/events_1_app-1",
            "eventlog_v2_app-1/events_10_app-1",
            "eventlog_v2_app-1/events_2_app-1",
        ],
        &["eventlog_v2_app-1 Rolled: events_1_app-1 events_2_app-1 events_10_app-1 | events_3 to events_9"],
    );
    check(
        &["eventlog_v2_a/events_2_a", "eventlog_v2_a/events_4_a"],
        &["eventlog_v2_a Rolled: events_2_a events_4_a | events_1, events_3"],
    );
}

#[test]
fn rolled_members_may_start_at_zero_and_lack_the_status() {
    check(
        &["logs/sparklogs/eventlog_v2_00fk/events_0_00fk", "logs/sparklogs/eventlog_v2_00fk/events_1_00fk"],
        &["logs/sparklogs/eventlog_v2_00fk Rolled: events_0_00fk events_1_00fk"],
    );
}

#[test]
fn a_compacted_member_stands_for_all_before_it() {
    check(
        &[
            "eventlog_v2_a/appstatus_a=0",
            "eventlog_v2_a/events_1_a.zstd",
            "eventlog_v2_a/events_3_a.zstd",
            "eventlog_v2_a/events_3_a.zstd.compact",
            "eventlog_v2_a/events_4_a.zstd",
        ],
        &[
            "eventlog_v2_a Rolled: events_3_a.zstd.compact events_4_a.zstd compacted",
            "- eventlog_v2_a/events_1_a.zstd Skipped: replaced by events_3_a.zstd.compact, which stands for all up to number 3",
            "- eventlog_v2_a/events_3_a.zstd Skipped: replaced by events_3_a.zstd.compact, which stands for all up to number 3",
        ],
    );
    check(
        &["eventlog_v2_a/events_2_a.compact", "eventlog_v2_a/events_5_a.compact", "eventlog_v2_a/events_7_a"],
        &[
            "eventlog_v2_a Rolled: events_5_a.compact events_7_a | events_6 compacted",
            "- eventlog_v2_a/events_2_a.compact Skipped: replaced by events_5_a.compact, which stands for all up to number 5",
        ],
    );
}

#[test]
fn an_application_that_wrote_nothing_yet_is_empty() {
    check(
        &["eventlog_v2_a/appstatus_a.inprogress=0"],
        &["- eventlog_v2_a/appstatus_a.inprogress Empty: empty, no events yet"],
    );
    check(
        &[
            "logs/eventlog_v2_a/appstatus_a.inprogress=0",
            "logs/eventlog_v2_a/events_1_a=0",
            "logs/app-1.inprogress=0",
        ],
        &[
            "- logs/app-1.inprogress Empty: empty, no events yet",
            "- logs/eventlog_v2_a/appstatus_a.inprogress Empty: empty, no events yet",
            "- logs/eventlog_v2_a/events_1_a Empty: empty, no events yet",
        ],
    );
}

#[test]
fn members_copied_flat_are_told_apart_by_application() {
    check(
        &[
            "x/events_1_app-1.zstd",
            "x/events_2_app-1.zstd",
            "x/events_1_app-2",
            "x/appstatus_app-2.inprogress=0",
        ],
        &["x Rolled: events_1_app-1.zstd events_2_app-1.zstd", "x Rolled: events_1_app-2"],
    );
}

#[test]
fn a_member_unpacked_beside_its_original_counts_once() {
    check(
        &[
            "eventlog_v2_a/events_1_a",
            "eventlog_v2_a/events_1_a.zstd",
            "eventlog_v2_a/notes.txt",
            "eventlog_v2_a/.events_1_a.crc",
        ],
        &[
            "eventlog_v2_a Rolled: events_1_a",
            "- eventlog_v2_a/.events_1_a.crc Skipped: a checksum file of Hadoop's local file system",
            "- eventlog_v2_a/events_1_a.zstd Skipped: a second file numbered 1, beside events_1_a",
            "- eventlog_v2_a/notes.txt Skipped: not a member of the rolled log it lies in",
        ],
    );
}

#[test]
fn databricks_folders_put_the_dated_files_first() {
    check(
        &["c/eventlog", "c/eventlog-2024-01-01--11-00.gz", "c/eventlog-2024-01-01--10-00.gz"],
        &["c Databricks: eventlog-2024-01-01--10-00.gz eventlog-2024-01-01--11-00.gz eventlog"],
    );
    check(&["c/eventlog"], &["c Databricks: eventlog"]);
    check(&["c/eventlog-2024-01-01--10-00"], &["c Databricks: eventlog-2024-01-01--10-00"]);
}

#[test]
fn single_files_have_any_name() {
    check(
        &[
            "l/my.run.v2",
            "l/app-1.lz4",
            "l/application_1_0001_1.zstd.inprogress",
            "l/_SUCCESS=0",
            "l/.hidden",
        ],
        &[
            "l/app-1.lz4 File: app-1.lz4",
            "l/application_1_0001_1.zstd.inprogress File: application_1_0001_1.zstd.inprogress",
            "l/my.run.v2 File: my.run.v2",
            "- l/.hidden Skipped: a hidden file",
            "- l/_SUCCESS Skipped: a marker of Hadoop's output committer",
        ],
    );
}

#[test]
fn names_tell_application_attempt_and_progress() {
    type Case = (&'static [&'static str], Option<&'static str>, Option<&'static str>, Option<bool>);
    let cases: [Case; 7] = [
        (
            &["eventlog_v2_application_1_0001_2/events_1_application_1_0001_2"],
            Some("application_1_0001"),
            Some("2"),
            None,
        ),
        (&["eventlog_v2_a/appstatus_a=0", "eventlog_v2_a/events_1_a"], Some("a"), None, Some(false)),
        (
            &["eventlog_v2_a/appstatus_a.inprogress=0", "eventlog_v2_a/events_1_a"],
            Some("a"),
            None,
            Some(true),
        ),
        (
            &[
                "eventlog_v2_a/appstatus_a.inprogress=0",
                "eventlog_v2_a/appstatus_a=0",
                "eventlog_v2_a/events_1_a",
            ],
            Some("a"),
            None,
            Some(false),
        ),
        (&["x/events_1_local-5.zstd"], Some("local-5"), None, None),
        (&["x/application_1_0001_1.zstd"], Some("application_1_0001"), Some("1"), Some(false)),
        (&["x/eventlog"], None, None, None),
    ];
    for (paths, app, attempt, in_progress) in cases {
        let layout = recognise(&entries(paths));
        assert_eq!(layout.groups.len(), 1, "{paths:?}");
        let name = &layout.groups[0].name;
        assert_eq!(
            (name.app_id.as_deref(), name.attempt.as_deref(), name.in_progress),
            (app, attempt, in_progress)
        );
    }
}

#[test]
fn judges_content() {
    let cases: &[(&[u8], Content)] = &[
        (b"{\"Event\":\"SparkListenerLogStart\"", Content::Log),
        (b"\xef\xbb\xbf\r\n \n{\"Event\":", Content::Log),
        (b" \n\n", Content::Blank),
        (b"", Content::Blank),
        (b"junk\n{\"Event\":", Content::Unclear),
        (b"{\"commitInfo\":{}}", Content::Unclear),
    ];
    for (head, expected) in cases {
        assert_eq!(content(head), *expected);
    }
}
