//! Which files make up which run: pure recognition over a list of paths and lengths.
//!
//! Nothing here touches a file system, so object stores and zip archives use it as well. [`recognise`] works on
//! names and lengths; the groups it marks with [`Check::Content`] are then confirmed by [`content`] on decoded
//! first bytes, which the caller fetches.

mod name;

use std::collections::BTreeMap;

use crate::source::{PathStatus, SourceKind};

use name::{
    EventsName, appstatus_name, databricks_name, events_name, is_rolled_dir, rolled_app, rolled_dir_app,
};
pub use name::{LogName, log_name};
pub(crate) use name::{file_name, member_name, parent};

/// One file of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `/`-separated path. It should begin with the name of the listed root, which may itself be a rolled log.
    pub path: String,
    /// Length in bytes, when the listing tells.
    pub len: Option<u64>,
}

/// What must still be known before a group is taken for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The names leave no doubt.
    None,
    /// The first bytes of a member must look like a log.
    Content,
}

/// Files that belong to one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The file, or the directory that holds the members.
    pub path: String,
    /// How the run is laid out. [`SourceKind::HistoryServerZip`] and `Stdin` never come from here.
    pub kind: SourceKind,
    /// Indexes of the entries, in the order of their meaning.
    pub members: Vec<usize>,
    /// Names of members that ought to be there, such as `events_3 to events_9`.
    pub missing: Vec<String>,
    /// Whether the first member is a compacted one, which lacks events Spark thought dispensable.
    pub compacted: bool,
    /// What the name or the appstatus file says.
    pub name: LogName,
    /// Whether content has to confirm it.
    pub check: Check,
}

/// An entry that is part of no run, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    /// Index of the entry.
    pub entry: usize,
    /// Skipped or empty.
    pub status: PathStatus,
    /// Why, in words.
    pub reason: String,
    /// What the user can do.
    pub hint: Option<String>,
}

/// The outcome of [`recognise`]: every entry is a member of a group, set aside, or an appstatus file of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Runs, sorted by path.
    pub groups: Vec<Group>,
    /// All else, sorted by path.
    pub aside: Vec<Aside>,
}

/// Shown where a folder of Amazon EMR holds no event logs.
pub(crate) const EMR_HINT: &str = "EMR's containers, node and steps folders hold no event logs; name the folder of \
    spark.eventLog.dir (on EC2 /var/log/spark/apps or the S3 folder set there, on EMR Serverless .../sparklogs)";

/// The directories Amazon EMR fills with the output of steps, nodes and YARN containers.
pub(crate) fn in_emr_folder(path: &str) -> bool {
    parent(path).split('/').any(|part| matches!(part, "containers" | "node" | "steps" | "provision-node"))
}

/// Groups a listing into runs.
pub fn recognise(entries: &[Entry]) -> Layout {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| entries[*a].path.cmp(&entries[*b].path));
    let mut layout = Layout::default();
    let mut rolled: BTreeMap<(&str, &str), Rolled<'_>> = BTreeMap::new();
    let mut databricks: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for index in order {
        let path = entries[index].path.as_str();
        let (dir, name) = (parent(path), file_name(path));
        if let Some(reason) = never_a_log(name) {
            layout.set_aside(index, PathStatus::Skipped, reason.to_owned(), None);
        } else if let Some(events) = events_name(name) {
            rolled.entry((dir, rolled_key(dir, events.app))).or_default().events.push((events, index));
        } else if let Some((app, in_progress)) = appstatus_name(name) {
            rolled.entry((dir, rolled_key(dir, app))).or_default().statuses.push((app, in_progress, index));
        } else if is_rolled_dir(dir) {
            let reason = "not a member of the rolled log it lies in".to_owned();
            layout.set_aside(index, PathStatus::Skipped, reason, None);
        } else if let Some(date) = databricks_name(name) {
            databricks.entry(dir).or_default().push((date, index));
        } else if entries[index].len == Some(0) {
            layout.set_aside(index, PathStatus::Empty, EMPTY.to_owned(), None);
        } else {
            layout.groups.push(Group {
                path: path.to_owned(),
                kind: SourceKind::File,
                members: vec![index],
                missing: Vec::new(),
                compacted: false,
                name: log_name(name),
                check: Check::Content,
            });
        }
    }
    for ((dir, key), found) in rolled {
        found.place(entries, dir, key, &mut layout);
    }
    for (dir, files) in databricks {
        place_databricks(entries, dir, files, &mut layout);
    }
    let first = |group: &Group| group.members.first().map(|index| entries[*index].path.as_str());
    layout.groups.sort_by(|a, b| a.path.cmp(&b.path).then_with(|| first(a).cmp(&first(b))));
    layout.aside.sort_by(|a, b| entries[a.entry].path.cmp(&entries[b.entry].path));
    layout
}

pub(crate) const EMPTY: &str = "empty, no events yet";

/// Members of one directory named `eventlog_v2_*` belong together, whatever they are called; elsewhere (a folder
/// copied flat) they are told apart by their application.
fn rolled_key<'a>(dir: &str, app: &'a str) -> &'a str {
    if is_rolled_dir(dir) { "" } else { name::stem(app) }
}

/// Names that mean something else on every system, so the content is not even looked at.
fn never_a_log(name: &str) -> Option<&'static str> {
    if name.ends_with(".crc") {
        Some("a checksum file of Hadoop's local file system")
    } else if name == "_SUCCESS" || name == "_temporary" {
        Some("a marker of Hadoop's output committer")
    } else if name.starts_with('.') {
        Some("a hidden file")
    } else {
        None
    }
}

#[derive(Default)]
struct Rolled<'a> {
    events: Vec<(EventsName<'a>, usize)>,
    statuses: Vec<(&'a str, bool, usize)>,
}

impl Rolled<'_> {
    /// Orders the members as `RollingEventLogFilesFileReader` does: by number, and from the last compacted file
    /// on, which stands for all up to its own number.
    fn place(mut self, entries: &[Entry], dir: &str, key: &str, layout: &mut Layout) {
        // Where the finished status was written but the running one not yet deleted, it is finished.
        let in_progress = self.statuses.iter().map(|(_, running, _)| *running).reduce(|a, b| a && b);
        let named_after = rolled_dir_app(dir)
            .or_else(|| self.events.first().map(|(name, _)| name.app))
            .or_else(|| self.statuses.first().map(|(app, ..)| *app))
            .unwrap_or(key);
        let (app_id, attempt) = rolled_app(named_after);
        self.events.sort_by_key(|(name, index)| (name.index, !name.compacted, *index));
        let from = self.events.iter().rposition(|(name, _)| name.compacted).unwrap_or(0);
        let compact =
            self.events.get(from).filter(|(name, _)| name.compacted).map(|(name, i)| (name.index, *i));
        let mut members: Vec<(u64, usize)> = Vec::new();
        for (position, (name, index)) in self.events.iter().enumerate() {
            if let Some((number, by)) =
                compact.filter(|(number, by)| *index != *by && (position < from || name.index <= *number))
            {
                let reason = format!(
                    "replaced by {}, which stands for all up to number {number}",
                    file_name(&entries[by].path)
                );
                layout.set_aside(*index, PathStatus::Skipped, reason, None);
            } else if let Some((_, first)) = members.last_mut().filter(|(number, _)| *number == name.index) {
                // A copy unpacked beside its original would count every event twice; the longer name holds the
                // codec and so is the original.
                let (keep, drop) =
                    if entries[*first].len == Some(0) { (*index, *first) } else { (*first, *index) };
                *first = keep;
                let reason = format!(
                    "a second file numbered {}, beside {}",
                    name.index,
                    file_name(&entries[keep].path)
                );
                layout.set_aside(drop, PathStatus::Skipped, reason, None);
            } else {
                members.push((name.index, *index));
            }
        }
        if members.iter().all(|(_, index)| entries[*index].len == Some(0)) {
            let all = self
                .statuses
                .iter()
                .map(|(_, _, index)| *index)
                .chain(members.iter().map(|(_, index)| *index));
            for index in all {
                layout.set_aside(index, PathStatus::Empty, EMPTY.to_owned(), None);
            }
            return;
        }
        let mut missing = Vec::new();
        // Spark counts from 1, EMR Serverless from 0; a compacted log begins where compaction ended.
        let mut next =
            members.first().map_or(0, |(first, _)| if compact.is_some() { *first } else { 1.min(*first) });
        for (number, _) in &members {
            match number.checked_sub(next) {
                None | Some(0) => {}
                Some(1) => missing.push(format!("events_{next}")),
                Some(_) => missing.push(format!("events_{next} to events_{}", number - 1)),
            }
            next = number.saturating_add(1);
        }
        layout.groups.push(Group {
            path: if dir.is_empty() {
                members.first().map_or("", |(_, i)| &entries[*i].path).to_owned()
            } else {
                dir.to_owned()
            },
            kind: SourceKind::Rolled,
            members: members.into_iter().map(|(_, index)| index).collect(),
            missing,
            compacted: compact.is_some(),
            name: LogName { app_id, attempt, in_progress },
            check: if is_rolled_dir(dir) { Check::None } else { Check::Content },
        });
    }
}

fn place_databricks(entries: &[Entry], dir: &str, mut files: Vec<(&str, usize)>, layout: &mut Layout) {
    if files.iter().all(|(_, index)| entries[*index].len == Some(0)) {
        for (_, index) in files {
            layout.set_aside(index, PathStatus::Empty, EMPTY.to_owned(), None);
        }
        return;
    }
    files.sort_unstable();
    layout.groups.push(Group {
        path: dir.to_owned(),
        kind: SourceKind::Databricks,
        members: files.into_iter().map(|(_, index)| index).collect(),
        missing: Vec::new(),
        compacted: false,
        name: LogName::default(),
        check: Check::Content,
    });
}

impl Layout {
    fn set_aside(&mut self, entry: usize, status: PathStatus, reason: String, hint: Option<String>) {
        self.aside.push(Aside { entry, status, reason, hint });
    }
}

/// What decoded first bytes look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// JSON objects with an `Event` field: a log.
    Log,
    /// Nothing but blanks.
    Blank,
    /// Text without an event in sight; a log may still begin later.
    Unclear,
}

/// Judges the decoded first bytes of a file.
pub fn content(head: &[u8]) -> Content {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match head.first() {
        None => Content::Blank,
        Some(b'{') if memchr::memmem::find(head, b"\"Event\"").is_some() => Content::Log,
        Some(_) => Content::Unclear,
    }
}

#[cfg(test)]
mod tests;
