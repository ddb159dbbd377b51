//! Turning a listing into runs: layout by names, then a look at the first bytes where names do not settle it.

use std::io;
use std::sync::Arc;

use super::{Discovery, Member, Origin, PathStatus, Provenance, RunSource, SkippedPath, SourceKind};
use crate::archive::Archive;
use crate::codec::{Codec, Decoder, StreamEnd, foreign, is_zip, sniff};
use crate::input::{HEAD_BYTES, Input, Memory, Stdin, read_head};
use crate::layout::{self, Check, Content, Entry, Group, LogName};

/// Bytes read at the second try, when the first [`HEAD_BYTES`] of a compressed file hold no whole block. lz4-java
/// blocks may have 32 MiB, Spark's have 32 KiB.
const LARGE_HEAD: usize = 1 << 20;

/// Decoded bytes that are enough to tell a compression inside another by its magic.
const SHORTEST_INNER: usize = 4;

/// Collects runs and verdicts.
#[derive(Default)]
pub(super) struct Assembler {
    found: Discovery,
}

/// What the first bytes of a file say.
enum Probe {
    Log,
    Blank,
    Zip,
    /// Text, or decodable bytes, without an event in sight.
    Unclear,
    /// Not a log for certain, or not usable as one.
    Not {
        status: PathStatus,
        reason: String,
        hint: Option<String>,
    },
}

impl Assembler {
    pub(super) fn skip(&mut self, path: &str, status: PathStatus, reason: &str, hint: Option<String>) {
        self.found.skipped.push(SkippedPath {
            path: path.to_owned(),
            status,
            reason: reason.to_owned(),
            hint,
        });
    }

    pub(super) fn fail(&mut self, path: &str, error: &io::Error) {
        let (reason, hint) = why(error);
        self.skip(path, PathStatus::Failed, &reason, hint);
    }

    pub(super) fn finish(mut self) -> Discovery {
        self.found.runs.sort_by(|a, b| a.label.cmp(&b.label));
        // Rolled logs copied flat into one directory share its path; their first members tell them apart.
        let same = |a: &RunSource, b: &RunSource| a.label == b.label;
        let twins: Vec<bool> = (0..self.found.runs.len())
            .map(|i| {
                let runs = &self.found.runs;
                (i > 0 && same(&runs[i - 1], &runs[i]))
                    || runs.get(i + 1).is_some_and(|next| same(&runs[i], next))
            })
            .collect();
        for (run, twin) in self.found.runs.iter_mut().zip(twins) {
            if let (true, Some(first)) = (twin, run.members.first()) {
                run.label.clone_from(&first.name);
            }
        }
        self.found.runs.sort_by(|a, b| a.label.cmp(&b.label));
        self.found.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.found
    }

    /// A file the user named.
    pub(super) fn named(&mut self, member: Member) {
        let name = member.name.replace('\\', "/");
        if member.len == Some(0) {
            let status_file = layout::file_name(&name).starts_with("appstatus_");
            let hint = status_file.then(|| "name the directory it lies in".to_owned());
            self.skip(&member.name, PathStatus::Empty, layout::EMPTY, hint);
            return;
        }
        let log_name = layout::member_name(layout::file_name(&name));
        let probe = probe_member(&member);
        self.one(member, probe, SourceKind::File, log_name, true);
    }

    /// A pipe the user named.
    pub(super) fn piped(&mut self, stdin: Stdin) -> io::Result<()> {
        let head = read_head(&stdin, HEAD_BYTES)?;
        let probe = if head.is_empty() { Probe::Blank } else { probe(&stdin, head) };
        if matches!(probe, Probe::Zip) {
            stdin.spool()?;
        }
        self.one(Member::from_input(Arc::new(stdin)), probe, SourceKind::Stdin, LogName::default(), true);
        Ok(())
    }

    /// Files of a tree; `members[i]` is what `entries[i]` names.
    pub(super) fn listed(&mut self, entries: &[Entry], members: &[Member]) {
        self.groups(entries, members, None);
    }

    fn groups(&mut self, entries: &[Entry], members: &[Member], container: Option<SourceKind>) {
        let layout = layout::recognise(entries);
        for aside in layout.aside {
            self.skip(&members[aside.entry].name, aside.status, &aside.reason, aside.hint);
        }
        for group in layout.groups {
            let files: Vec<Member> = group.members.iter().map(|index| members[*index].clone()).collect();
            match (group.kind, <[Member; 1]>::try_from(files)) {
                (SourceKind::File, Ok([member])) => {
                    let probe = probe_member(&member);
                    let kind = container.unwrap_or(SourceKind::File);
                    self.one(member, probe, kind, group.name, false);
                }
                (_, Ok([member])) => self.several(vec![member], group, container),
                (_, Err(files)) => self.several(files, group, container),
            }
        }
    }

    fn one(&mut self, member: Member, probe: Probe, kind: SourceKind, name: LogName, named: bool) {
        match probe {
            Probe::Log => self.run(member.name.clone(), kind, vec![member], name),
            Probe::Unclear if named => self.run(member.name.clone(), kind, vec![member], name),
            Probe::Blank => self.skip(&member.name, PathStatus::Empty, layout::EMPTY, None),
            Probe::Zip if kind == SourceKind::HistoryServerZip => {
                let hint = Some("unpack it and name the log inside".to_owned());
                self.skip(&member.name, PathStatus::Skipped, "a zip archive inside a zip archive", hint);
            }
            Probe::Zip if named || member.name.ends_with(".zip") => self.zip(&member, named),
            Probe::Zip => {
                let hint = Some("name the file itself to look into it".to_owned());
                self.skip(&member.name, PathStatus::Skipped, "a zip archive under another suffix", hint);
            }
            Probe::Unclear => {
                let (reason, hint) = unclear(&member.name);
                self.skip(&member.name, PathStatus::Skipped, &reason, Some(hint));
            }
            Probe::Not { status, reason, hint } => self.skip(&member.name, status, &reason, hint),
        }
    }

    fn several(&mut self, members: Vec<Member>, group: Group, container: Option<SourceKind>) {
        if group.check == Check::Content {
            // One good member is enough: others may be damaged, which reading them will tell.
            let probes: Vec<Probe> = {
                let mut probes = Vec::new();
                for member in &members {
                    let probe = probe_member(member);
                    let log = matches!(probe, Probe::Log);
                    probes.push(probe);
                    if log {
                        break;
                    }
                }
                probes
            };
            if !probes.iter().any(|probe| matches!(probe, Probe::Log)) {
                for (member, probe) in members.into_iter().zip(probes) {
                    self.one(member, probe, container.unwrap_or(SourceKind::File), LogName::default(), false);
                }
                return;
            }
        }
        let first = members.first().map_or("", |member| member.name.as_str());
        let dir = layout::parent(first);
        let label = if dir.is_empty() { ".".to_owned() } else { dir.trim_end_matches('!').to_owned() };
        let kind = container.unwrap_or(group.kind);
        self.run(label, kind, members, group.name);
        if let Some(run) = self.found.runs.last_mut() {
            run.missing_members = group.missing;
            run.compacted = group.compacted;
        }
    }

    fn run(&mut self, label: String, kind: SourceKind, members: Vec<Member>, name: LogName) {
        self.found.runs.push(RunSource {
            label,
            kind,
            members,
            missing_members: Vec::new(),
            compacted: false,
            in_progress: name.in_progress,
            app_id_hint: name.app_id,
            attempt_hint: name.attempt,
            provenance: Provenance::default(),
        });
    }

    fn zip(&mut self, member: &Member, named: bool) {
        let opened = member.input().map_err(|error| error.to_string()).and_then(|input| {
            Archive::open(input).map_err(|error| format!("the zip archive cannot be read: {error}"))
        });
        let archive = match opened {
            Ok(archive) => Arc::new(archive),
            Err(reason) => {
                let hint = Some("download it again".to_owned());
                return self.skip(&member.name, PathStatus::Failed, &reason, hint);
            }
        };
        let mut inside = Assembler::default();
        let mut entries = Vec::new();
        let mut members = Vec::new();
        for entry in archive.entries() {
            entries.push(Entry { path: entry.name.clone(), len: entry.len });
            members.push(Member {
                name: format!("{}!/{}", member.name, entry.name.trim_start_matches('/')),
                len: entry.len,
                modified_ms: member.modified_ms,
                origin: Origin::Zip(Arc::clone(&archive), Box::new(entry.clone())),
            });
        }
        inside.groups(&entries, &members, Some(SourceKind::HistoryServerZip));
        let Discovery { mut runs, skipped } = inside.found;
        // The History Server names the archive after the application, whatever the log inside is called.
        let outer = layout::log_name(layout::file_name(&member.name.replace('\\', "/")));
        if let [run] = &mut runs[..]
            && run.app_id_hint.is_none()
        {
            run.app_id_hint = outer.app_id;
            run.attempt_hint = outer.attempt;
        }
        let found_none = runs.is_empty();
        self.found.runs.append(&mut runs);
        if archive.truncated() {
            let reason = "the zip archive has no directory, so entries may be missing";
            self.skip(&member.name, PathStatus::Failed, reason, Some("download it again".to_owned()));
        } else if found_none && (!named || skipped.is_empty()) {
            // One verdict for a zip of Python modules met on the way, not one for each module.
            let reason = format!("a zip archive without an event log in its {} entries", entries.len());
            return self.skip(&member.name, PathStatus::Skipped, &reason, None);
        }
        self.found.skipped.extend(skipped);
    }
}

/// The verdict on a file without events in its head, by where it lies.
fn unclear(path: &str) -> (String, String) {
    let path = path.replace('\\', "/");
    let name = layout::file_name(&path);
    if layout::in_emr_folder(&path) {
        return ("output of an EMR step, node or container".to_owned(), layout::EMR_HINT.to_owned());
    }
    let reason = if ["stdout", "stderr", "syslog", "controller"].iter().any(|log| name.starts_with(log)) {
        "output of a driver or executor, not an event log"
    } else {
        "no Spark event in its first 64 KiB"
    };
    (reason.to_owned(), "name the file itself to read it anyway".to_owned())
}

fn why(error: &io::Error) -> (String, Option<String>) {
    match error.kind() {
        io::ErrorKind::NotFound => {
            ("it vanished while being looked at".to_owned(), Some("try again".to_owned()))
        }
        io::ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            Some("Spark writes event logs readable by owner and group only".to_owned()),
        ),
        _ => (format!("cannot be read: {error}"), None),
    }
}

fn failed(error: &io::Error) -> Probe {
    let (reason, hint) = why(error);
    Probe::Not { status: PathStatus::Failed, reason, hint }
}

fn probe_member(member: &Member) -> Probe {
    let input = match &member.origin {
        // Not through `Member::input`, whose error repeats the path.
        Origin::Local(path) => {
            crate::input::LocalFile::open(path).map(|file| Arc::new(file) as Arc<dyn Input>)
        }
        Origin::Zip(archive, entry) => {
            archive.open_entry(entry, member.name.clone()).map(|input| Arc::new(input) as Arc<dyn Input>)
        }
        Origin::Input(input) => Ok(Arc::clone(input)),
    };
    match input.and_then(|input| Ok((read_head(&*input, HEAD_BYTES)?, input))) {
        Ok((head, input)) => probe(&*input, head),
        Err(error) => failed(&error),
    }
}

/// Judges an input by its first bytes, undecoded and decoded.
fn probe(input: &dyn Input, head: Vec<u8>) -> Probe {
    if is_zip(&head) {
        return Probe::Zip;
    }
    let not = |what: &str, hint: Option<&str>| Probe::Not {
        status: PathStatus::Skipped,
        reason: format!("this is {what}"),
        hint: hint.map(str::to_owned),
    };
    if let Some(format) = foreign(&head) {
        return not(format.what, format.hint);
    }
    let codec = sniff(&head);
    let mut whole = head.len() < HEAD_BYTES;
    let (mut text, mut end) = decode_head(head);
    if text.is_empty() && !whole && codec != Codec::Plain && input.len().is_some() {
        match read_head(input, LARGE_HEAD) {
            Ok(head) => {
                whole = head.len() < LARGE_HEAD;
                (text, end) = decode_head(head);
            }
            Err(error) => return failed(&error),
        }
    }
    if codec != Codec::Plain {
        if let (true, Some(StreamEnd::Corrupt { reason })) = (text.is_empty(), end) {
            let reason = format!("damaged from the start: {codec}, {reason}");
            return Probe::Not { status: PathStatus::Failed, reason, hint: None };
        }
        if is_zip(&text) {
            return not("a zip archive inside another compression", Some("unpack it first"));
        }
        if let Some(format) = foreign(&text) {
            return not(format.what, format.hint);
        }
        let inner = sniff(&text);
        // A text of one or two letters may look like the start of anything.
        if inner != Codec::Plain && text.len() >= SHORTEST_INNER {
            let hint = Some("unpack the outer compression and name what comes out");
            return not(&format!("{inner} inside {codec}, compressed twice"), hint);
        }
    }
    match layout::content(&text) {
        Content::Log => Probe::Log,
        Content::Blank if whole => Probe::Blank,
        // Zero bytes in what should be text, and no event: this is some other program's file.
        Content::Unclear if text.contains(&0) && memchr::memmem::find(&text, b"\"Event\"").is_none() => {
            not("binary data of a format unknown here", None)
        }
        Content::Blank | Content::Unclear => Probe::Unclear,
    }
}

/// Decodes the head of a file to at most as many bytes.
fn decode_head(head: Vec<u8>) -> (Vec<u8>, Option<StreamEnd>) {
    let Ok(mut decoder) = Decoder::new(Arc::new(Memory::new("head", head))) else {
        return (Vec::new(), None);
    };
    let mut text = vec![0; HEAD_BYTES];
    let n = decoder.read(&mut text);
    text.truncate(n);
    (text, decoder.end().cloned())
}
