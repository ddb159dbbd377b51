//! `/logs`: event logs as a zip archive, secrets masked.

use super::{Answer, Ask, Reply, entry};
use crate::catalog::Entry;
use crate::spark_rest::Refusal;
use emberscope_log::source::{KnownFrom, Member, SourceKind};
use emberscope_model::redact;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

pub(super) fn get(ask: &Ask<'_>, app: &str, attempt: Option<&str>) -> Answer {
    let newest = entry(ask, app, attempt);
    let Some(newest) = newest else {
        return Err(Refusal::not_found(format!("no such app: {app}")));
    };
    let entries = match attempt {
        Some(_) => vec![Arc::clone(newest)],
        None => all_attempts(ask, newest),
    };
    if entries.iter().any(|entry| entry.source.provenance.known_from != KnownFrom::EventLog) {
        return Err(Refusal::not_found(format!(
            "{app} is known from a server's answers: it has no event log here"
        )));
    }
    let name = match attempt {
        Some(attempt) => format!("eventLogs-{app}-{attempt}.zip"),
        None => format!("eventLogs-{app}.zip"),
    };
    Ok(Reply::Logs { name, entries })
}

fn all_attempts(ask: &Ask<'_>, newest: &Entry) -> Vec<Arc<Entry>> {
    let entries = |group: &Vec<usize>| -> Vec<Arc<Entry>> {
        group.iter().map(|at| Arc::clone(&ask.listing.entries[*at])).collect()
    };
    let groups = ask.listing.applications.iter().map(entries);
    groups.into_iter().find(|group| group.iter().any(|entry| entry.id == newest.id)).unwrap_or_default()
}

/// Writes the archive. Lines are masked one by one, so that a log of any size needs little memory; a file
/// is stored decoded, since it is not what it was.
///
/// # Errors
/// Those of `out`: mostly that nobody reads on.
pub(crate) fn write_archive(entries: &[Arc<Entry>], is_raw: bool, out: impl Write) -> io::Result<()> {
    let mut zip = ZipWriter::new_stream(out);
    let options =
        SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).large_file(true);
    for entry in entries {
        for member in &entry.source.members {
            zip.start_file(name_in_archive(entry, member, is_raw), options).map_err(io::Error::other)?;
            if is_raw { copy(member, &mut zip)? } else { copy_masked(member, &mut zip)? }
        }
    }
    zip.finish().map_err(io::Error::other)?;
    Ok(())
}

/// The member's name below its directory, if the log is one.
fn name_in_archive(entry: &Entry, member: &Member, is_raw: bool) -> String {
    let parts = |path: &str| path.rsplit(['/', '\\', '!']).map(str::to_owned).collect::<Vec<_>>();
    let own = parts(&member.name);
    let mut name = own.first().cloned().unwrap_or_default();
    if !is_raw {
        for suffix in ["zstd", "zst", "lz4", "snappy", "lzf", "gz"] {
            if let Some(plain) = name.strip_suffix(&format!(".{suffix}")) {
                name = plain.to_owned();
            }
        }
    }
    match (entry.source.kind, own.get(1)) {
        (SourceKind::File, _) | (_, None) => name,
        (_, Some(directory)) => format!("{directory}/{name}"),
    }
}

fn copy(member: &Member, out: &mut impl Write) -> io::Result<()> {
    let input = member.input().map_err(io::Error::other)?;
    let mut buffer = vec![0; 64 << 10];
    let mut at = 0;
    loop {
        match input.read_at(at, &mut buffer)? {
            0 => return Ok(()),
            n => {
                out.write_all(&buffer[..n])?;
                at += n as u64;
            }
        }
    }
}

/// A line longer than this is masked in pieces.
const LONGEST_LINE: usize = 64 << 20;

fn copy_masked(member: &Member, out: &mut impl Write) -> io::Result<()> {
    let mut decoder = member.open().map_err(io::Error::other)?;
    let mut buffer: Vec<u8> = Vec::new();
    loop {
        let old = buffer.len();
        buffer.resize(old + (256 << 10), 0);
        let read = decoder.read(&mut buffer[old..]);
        buffer.truncate(old + read);
        let end = match memchr::memrchr(b'\n', &buffer[old..]) {
            Some(newline) => old + newline + 1,
            None if read == 0 || buffer.len() > LONGEST_LINE => buffer.len(),
            None => continue,
        };
        for line in buffer[..end].split_inclusive(|byte| *byte == b'\n') {
            out.write_all(masked(line).as_bytes())?;
        }
        buffer.drain(..end);
        if read == 0 {
            return Ok(());
        }
    }
}

fn masked(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    match redact::text(&text) {
        Cow::Borrowed(same) => same.to_owned(),
        Cow::Owned(masked) => masked,
    }
}
