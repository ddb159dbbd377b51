//! Whole sources on disk: what is found, what is set aside, and that the events come out in order.

use std::fs;
use std::io::Write;

use super::*;
use crate::codec::{Codec, StreamEnd};

/// Ten lines of a small complete log; the tests here only need to tell them apart.
fn lines(range: std::ops::RangeInclusive<usize>) -> Vec<u8> {
    range.flat_map(|n| format!("{{\"Event\":\"L{n}\"}}\n").into_bytes()).collect()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn zip(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

struct Dir(tempfile::TempDir);

impl Dir {
    fn new(files: &[(&str, Vec<u8>)]) -> Dir {
        let dir = Dir(tempfile::tempdir().unwrap());
        for (name, bytes) in files {
            dir.add(name, bytes);
        }
        dir
    }

    fn add(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn discover(&self, name: &str) -> Discovery {
        discover(self.path(name).trim_end_matches('/')).unwrap()
    }

    /// `label kind: decoded lines`, and `- path status: reason`, with the directory's own path cut off.
    fn report(&self, name: &str) -> Vec<String> {
        let found = self.discover(name);
        let short = |path: &str| path.replace(&format!("{}/", self.0.path().display()), "");
        let mut out: Vec<String> = found
            .runs
            .iter()
            .map(|run| format!("{} {}: {}", short(&run.label), run.kind, decoded(run)))
            .collect();
        out.extend(
            found
                .skipped
                .iter()
                .map(|s| format!("- {} {:?}: {}", short(&s.path), s.status, short(&s.reason))),
        );
        out
    }
}

/// The numbers of all lines of a run, in order.
fn decoded(run: &RunSource) -> String {
    let mut text = Vec::new();
    for member in &run.members {
        let mut decoder = member.open().unwrap();
        let mut buf = vec![0; 4096];
        while let n @ 1.. = decoder.read(&mut buf) {
            text.extend_from_slice(&buf[..n]);
        }
    }
    let text = String::from_utf8(text).unwrap();
    let number = |line: &str| line.trim_matches(|c: char| !c.is_ascii_digit()).to_owned();
    text.lines().map(number).collect::<Vec<_>>().join(" ")
}

const ALL: &str = "1 2 3 4 5 6 7 8 9 10";

#[test]
fn suffixes_may_lie() {
    let all = lines(1..=10);
    let cases: [(&str, Vec<u8>, Codec); 7] = [
        ("app-1.lz4", all.clone(), Codec::Plain),
        ("my.run.v2", all.clone(), Codec::Plain),
        ("app-1.gz", gz(&all), Codec::Gzip),
        ("events_1_app-1", zst(&all), Codec::Zstd),
        ("app-1", [zst(&lines(1..=5)), zst(&lines(6..=10))].concat(), Codec::Zstd),
        ("bom", [b"\xef\xbb\xbf\r\n\n".to_vec(), all.clone()].concat(), Codec::Plain),
        ("app-1.inprogress", all.clone(), Codec::Plain),
    ];
    for (name, bytes, codec) in cases {
        let dir = Dir::new(&[(name, bytes)]);
        for source in [name, ""] {
            let found = dir.discover(source);
            assert!(found.skipped.is_empty(), "{name}: {:?}", found.skipped);
            assert_eq!(found.runs.len(), 1, "{name}");
            assert_eq!(found.runs[0].members[0].open().unwrap().codec(), codec, "{name}");
            assert!(decoded(&found.runs[0]).ends_with(ALL), "{name}");
        }
    }
}

#[test]
fn rolled_directories() {
    let dir = Dir::new(&[
        ("eventlog_v2_app-1/appstatus_app-1", vec![]),
        ("eventlog_v2_app-1/events_1_app-1", lines(1..=3)),
        ("eventlog_v2_app-1/events_2_app-1", lines(4..=6)),
        ("eventlog_v2_app-1/events_10_app-1", lines(7..=10)),
    ]);
    for source in ["eventlog_v2_app-1", ""] {
        assert_eq!(dir.report(source), [format!("eventlog_v2_app-1 rolled directory: {ALL}")]);
        let run = &dir.discover(source).runs[0];
        assert_eq!(run.missing_members, ["events_3 to events_9"]);
        assert_eq!((run.app_id_hint.as_deref(), run.in_progress), (Some("app-1"), Some(false)));
    }
    // A single member, named itself.
    assert_eq!(
        dir.report("eventlog_v2_app-1/events_2_app-1"),
        ["eventlog_v2_app-1/events_2_app-1 file: 4 5 6"]
    );
    let status = dir.discover("eventlog_v2_app-1/appstatus_app-1");
    assert_eq!(status.skipped[0].status, PathStatus::Empty);
    assert!(status.skipped[0].hint.is_some());
}

#[test]
fn an_empty_application_does_not_stop_the_scan() {
    let dir = Dir::new(&[
        ("a/eventlog_v2_app-1/appstatus_app-1.inprogress", vec![]),
        ("b/app-2", lines(1..=10)),
        ("c/app-3.inprogress", vec![]),
        ("d/app-4.zstd.inprogress", zst(&lines(1..=10))[..6].to_vec()),
        ("e/app-5.zstd", [b"\x28\xb5\x2f\xfd".to_vec(), vec![0xff; 40]].concat()),
    ]);
    let report = dir.report("");
    assert_eq!(
        report[..4],
        [
            "b/app-2 file: ".to_owned() + ALL,
            "- a/eventlog_v2_app-1/appstatus_app-1.inprogress Empty: empty, no events yet".to_owned(),
            "- c/app-3.inprogress Empty: empty, no events yet".to_owned(),
            "- d/app-4.zstd.inprogress Empty: empty, no events yet".to_owned(),
        ]
    );
    assert!(report[4].starts_with("- e/app-5.zstd Failed: damaged from the start: zstd"), "{}", report[4]);
}

#[test]
fn databricks_folder() {
    let dir = Dir::new(&[
        ("cluster/eventlog-2024-01-01--11-00.gz", gz(&lines(7..=8))),
        ("cluster/eventlog-2024-01-01--10-00.gz", gz(&lines(2..=6))),
        ("cluster/eventlog", lines(9..=9)),
    ]);
    assert_eq!(dir.report("cluster"), ["cluster Databricks folder: 2 3 4 5 6 7 8 9"]);
    assert_eq!(dir.report(""), ["cluster Databricks folder: 2 3 4 5 6 7 8 9"]);
    assert_eq!(dir.report("cluster/eventlog"), ["cluster/eventlog file: 9"]);
}

#[test]
fn zip_archives() {
    let rolled = |app: &str| {
        vec![
            (format!("eventlog_v2_{app}/appstatus_{app}"), vec![]),
            (format!("eventlog_v2_{app}/events_1_{app}.zstd"), zst(&lines(1..=5))),
            (format!("eventlog_v2_{app}/events_2_{app}.zstd"), zst(&lines(6..=10))),
        ]
    };
    let owned = rolled("app-1");
    let inside: Vec<(&str, Vec<u8>)> =
        owned.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    let dir = Dir::new(&[
        ("rolled.zip", zip(&inside)),
        (
            "attempts.zip",
            zip(&[
                ("application_1_0001_1", lines(1..=2)),
                ("application_1_0001_2.zstd", zst(&lines(1..=10))),
            ]),
        ),
        ("eventLogs-application_7_0001-1.zip", zip(&[("my.log", lines(1..=10))])),
        ("code.zip", zip(&[("a.py", b"import os".to_vec()), ("b.py", b"import sys".to_vec())])),
        ("broken.zip", b"PK\x03\x04 and nothing more".to_vec()),
    ]);
    assert_eq!(dir.report("rolled.zip"), [format!("rolled.zip!/eventlog_v2_app-1 zip: {ALL}")]);
    let attempts = dir.discover("attempts.zip");
    let hints: Vec<_> =
        attempts.runs.iter().map(|r| (r.app_id_hint.as_deref(), r.attempt_hint.as_deref())).collect();
    assert_eq!(hints, [(Some("application_1_0001"), Some("1")), (Some("application_1_0001"), Some("2"))]);
    assert_eq!(decoded(&attempts.runs[1]), ALL);
    let named_after_archive = dir.discover("eventLogs-application_7_0001-1.zip");
    assert_eq!(named_after_archive.runs[0].app_id_hint.as_deref(), Some("application_7_0001"));
    let tree = dir.discover("");
    assert_eq!(tree.runs.len(), 4);
    let verdicts: Vec<_> = tree.skipped.iter().map(|s| (s.status, s.reason.as_str())).collect();
    assert_eq!(verdicts.len(), 2);
    assert_eq!(verdicts[0].0, PathStatus::Failed);
    assert_eq!(verdicts[1], (PathStatus::Skipped, "a zip archive without an event log in its 2 entries"));
}

#[test]
fn what_is_no_log_is_told() {
    let dir = Dir::new(&[
        ("j-1/containers/application_1_0001/container_1/stderr.gz", gz(b"24/01/01 INFO Utils: started\n")),
        ("j-1/node/i-1/daemons/x.log", b"line\n".to_vec()),
        ("data/part-0.parquet", b"PAR1....".to_vec()),
        ("data/_SUCCESS", vec![]),
        ("data/.part-0.parquet.crc", b"crc\0".to_vec()),
        ("profile.jfr", b"FLR\0\0\x02\0\x01".to_vec()),
        ("stdout", b"hello\n".to_vec()),
        ("page", b"<!DOCTYPE html><html>".to_vec()),
        ("blob", vec![1, 0, 2, 0, 3, 0]),
        ("late", [b"not json\n".to_vec(), lines(1..=10)].concat()),
    ]);
    let found = dir.discover("");
    assert!(found.runs.is_empty());
    assert_eq!(found.skipped.len(), 10);
    for skipped in &found.skipped {
        assert_eq!(skipped.status, PathStatus::Skipped, "{skipped:?}");
        if skipped.path.contains("j-1") {
            assert!(skipped.hint.as_deref().unwrap().contains("spark.eventLog.dir"), "{skipped:?}");
        }
    }
    // Named itself, a file may begin with junk; it may not be another format.
    assert_eq!(dir.report("late")[0], format!("late file:  {ALL}"));
    assert_eq!(dir.report("profile.jfr"), ["- profile.jfr Skipped: this is a Java flight recording (JFR)"]);
    assert_eq!(dir.report("blob"), ["- blob Skipped: this is binary data of a format unknown here"]);
}

#[test]
fn attempts_are_separate_runs() {
    let dir = Dir::new(&[
        ("application_1_0001_1", lines(1..=2)),
        ("application_1_0001_2.zstd", zst(&lines(1..=10))),
        ("copy", lines(1..=10)),
    ]);
    let found = dir.discover("");
    let hints: Vec<_> =
        found.runs.iter().map(|r| (r.app_id_hint.as_deref(), r.attempt_hint.as_deref())).collect();
    let app = Some("application_1_0001");
    assert_eq!(hints, [(app, Some("1")), (app, Some("2")), (None, None)]);
}

#[test]
fn missing_and_empty_sources() {
    let dir = Dir::new(&[("empty/x", vec![])]);
    let error = discover(&dir.path("nothing")).unwrap_err();
    assert!(matches!(error, SourceError::NotFound { .. }) && error.to_string().contains("nothing"));
    fs::remove_file(dir.path("empty/x")).unwrap();
    assert_eq!(dir.report("empty"), ["- empty Empty: an empty directory"]);
    let under_a_file = Dir::new(&[("file", lines(1..=1))]);
    assert!(discover(&under_a_file.path("file/below")).is_err());
}

#[test]
fn flat_copies_of_rolled_logs_have_labels_of_their_own() {
    let dir = Dir::new(&[
        ("x/events_1_app-1", lines(1..=2)),
        ("x/events_1_app-2", lines(3..=4)),
        ("x/events_1_data", b"1,2\n".to_vec()),
    ]);
    assert_eq!(
        dir.report(""),
        [
            "x/events_1_app-1 rolled directory: 1 2",
            "x/events_1_app-2 rolled directory: 3 4",
            "- x/events_1_data Skipped: no Spark event in its first 64 KiB"
        ]
    );
}

#[test]
fn standard_input_of_every_kind() {
    let piped = |bytes: Vec<u8>| pipe(Stdin::from_reader("-", Box::new(io::Cursor::new(bytes)))).unwrap();
    for bytes in [lines(1..=10), zst(&lines(1..=10)), gz(&lines(1..=10))] {
        let found = piped(bytes);
        assert_eq!((found.runs.len(), found.runs[0].kind), (1, SourceKind::Stdin));
        assert_eq!(decoded(&found.runs[0]), ALL);
    }
    let long: Vec<u8> = lines(1..=20_000);
    let found = piped(zip(&[("app-1", long)]));
    assert_eq!(found.runs[0].kind, SourceKind::HistoryServerZip);
    assert!(decoded(&found.runs[0]).ends_with(" 20000"));
    assert_eq!(piped(vec![]).skipped[0].status, PathStatus::Empty);
    assert_eq!(piped(b"PAR1".to_vec()).skipped[0].status, PathStatus::Skipped);
}

#[test]
fn a_cut_zip_entry_ends_as_truncated() {
    let noise: Vec<u8> = (0..20_000u64)
        .flat_map(|i| format!("{{\"Event\":{}}}\n", i * i * 7919 % 99991).into_bytes())
        .collect();
    let archive = zip(&[("app-1", noise)]);
    let dir = Dir::new(&[("cut.zip", archive[..archive.len() / 2].to_vec())]);
    let found = dir.discover("cut.zip");
    assert_eq!(found.runs.len(), 1);
    assert_eq!(found.skipped[0].status, PathStatus::Failed);
    let mut decoder = found.runs[0].members[0].open().unwrap();
    let mut buf = vec![0; 1 << 16];
    while decoder.read(&mut buf) > 0 {}
    assert!(decoder.decoded_bytes() > 50_000);
    assert!(matches!(decoder.end(), Some(StreamEnd::Truncated { .. })), "{:?}", decoder.end());
}

#[cfg(unix)]
#[test]
fn links_and_special_files() {
    use std::os::unix::fs::symlink;
    let dir = Dir::new(&[("logs/a/app-1", lines(1..=10)), ("elsewhere/app-2", lines(1..=2))]);
    symlink(dir.path("logs"), dir.path("logs/a/loop")).unwrap();
    symlink(dir.path("logs/a/app-1"), dir.path("logs/latest")).unwrap();
    symlink(dir.path("elsewhere"), dir.path("logs/more")).unwrap();
    symlink(dir.path("nowhere"), dir.path("logs/dangling")).unwrap();
    symlink("self", dir.path("logs/self")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path("logs/socket")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.path("logs/pipe")).status();
    let report = dir.report("logs");
    assert_eq!(report[0], format!("logs/a/app-1 file: {ALL}"));
    assert_eq!(report[1], "logs/more/app-2 file: 1 2");
    let expected = [
        "logs/a/loop Skipped",
        "logs/dangling Skipped",
        "logs/latest Skipped",
        "logs/self Failed",
        "logs/socket Skipped",
    ];
    for path in expected {
        assert!(report.iter().any(|line| line.starts_with(&format!("- {path}"))), "{path}: {report:#?}");
    }
    if made.is_ok_and(|status| status.success()) {
        assert!(report.iter().any(|line| line.starts_with("- logs/pipe Skipped")));
        assert_eq!(dir.discover("logs/pipe").skipped.len(), 1);
    }
}

#[test]
fn urls_are_told_from_paths_that_are_missing() {
    let url = |source: &str| matches!(discover(source), Err(SourceError::Remote { .. }));
    for source in
        ["s3://b/x", "hdfs://nn/x", "https://h/x", "gs://b/x", "abfss://c@a/x", "dbfs:/x", "file:/x"]
    {
        assert!(url(source), "{source}");
    }
    for source in ["C:/x", "missing", "app:1", "a b://x"] {
        assert!(!url(source), "{source}");
    }
    assert!(matches!(discover(""), Err(SourceError::NoPath)));
}

#[test]
fn a_compression_inside_another_is_named() {
    let dir = Dir::new(&[("app-1.zstd.gz", gz(&zst(&lines(1..=10))))]);
    let found = dir.discover("app-1.zstd.gz");
    assert_eq!(found.skipped[0].reason, "this is zstd inside gzip, compressed twice");
    assert!(found.runs.is_empty());
}
