//! Directories of reports: which files of which tables there are.

use emberscope_report::Report;
use emberscope_sql_client::tables::manifests;
use emberscope_sql_protocol::{File, Format};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Directories within each other at most; links may lead round.
const MAX_DEPTH: usize = 24;

/// A file of a report.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) report: Report,
    pub(super) file: File,
    /// The run it belongs to, if a manifest says.
    pub(super) run: Option<RunOfFiles>,
}

/// What a manifest says of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunOfFiles {
    pub(super) application_id: Option<String>,
    pub(super) attempt_id: Option<String>,
    /// Directory of the files.
    pub(super) dir: String,
    /// Names, rows and bytes of all files: the same in a copy.
    pub(super) content: String,
}

/// The report files of `path`, a directory or a file; none if it holds none.
pub(super) fn find(path: &Path) -> Vec<Found> {
    let mut found = Vec::new();
    if path.is_dir() {
        look_into(path, 0, &mut found);
    } else if let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        found.extend(
            of_directory(dir).into_iter().filter(|found| found.file.path.ends_with(&format!("/{name}"))),
        );
    }
    found
}

fn look_into(dir: &Path, depth: usize, found: &mut Vec<Found>) {
    found.extend(of_directory(dir));
    if depth == MAX_DEPTH {
        return;
    }
    let mut dirs: Vec<_> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    dirs.sort();
    for dir in dirs {
        let is_hidden = dir.file_name().is_some_and(|name| name.to_string_lossy().starts_with(['.', '_']));
        if !is_hidden && dir.is_dir() {
            look_into(&dir, depth + 1, found);
        }
    }
}

/// Table and form of a file's name, as `job-reports-0.json`.
fn told_by_name(name: &str) -> Option<(Report, Format)> {
    let (table, rest) = name.split_once("-reports-")?;
    let format = match rest.rsplit_once('.')?.1 {
        "json" => Format::Ndjson,
        "parquet" => Format::Parquet,
        _ => return None,
    };
    Some((Report::from_name(table)?, format))
}

fn of_directory(dir: &Path) -> Vec<Found> {
    let mut names: Vec<(String, u64)> = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if let (Ok(name), Ok(meta)) = (entry.file_name().into_string(), std::fs::metadata(entry.path()))
            && meta.is_file()
            && told_by_name(&name).is_some()
        {
            names.push((name, meta.len()));
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    names.sort();
    let manifests = manifests(dir);
    let place = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let shown = place.display().to_string();
    let mut runs: BTreeMap<&str, RunOfFiles> = BTreeMap::new();
    let mut has_parquet: BTreeSet<(&str, &str)> = BTreeSet::new();
    for manifest in &manifests {
        let run = RunOfFiles {
            application_id: manifest.application_id.clone(),
            attempt_id: manifest.attempt_id.clone(),
            dir: shown.clone(),
            content: format!("{:?}", manifest.files),
        };
        for file in &manifest.files {
            runs.insert(&file.name, run.clone());
            if manifest.format == "parquet" {
                has_parquet.insert((&manifest.run, &file.report));
            }
        }
    }
    // Of a run that was reported in both forms, one is read.
    let twice: BTreeSet<&str> = manifests
        .iter()
        .filter(|manifest| manifest.format != "parquet")
        .flat_map(|manifest| manifest.files.iter().map(|file| (manifest.run.as_str(), file)))
        .filter(|(run, file)| has_parquet.contains(&(*run, file.report.as_str())))
        .map(|(_, file)| file.name.as_str())
        .collect();
    let directories = directories(&place);
    let mut found = Vec::new();
    for (name, bytes) in &names {
        let Some((report, format)) = told_by_name(name) else { continue };
        if twice.contains(name.as_str()) {
            continue;
        }
        let run = runs.get(name.as_str()).cloned();
        let file = File {
            path: place.join(name).display().to_string(),
            bytes: *bytes,
            format,
            directories: directories.clone(),
            is_own: run.is_some(),
        };
        found.push(Found { report, file, run });
    }
    found
}

/// The `key=value` directories of a path, outermost first.
fn directories(path: &Path) -> Vec<(String, String)> {
    let parts = path.components().filter_map(|part| part.as_os_str().to_str());
    let pairs = parts.filter_map(|part| part.split_once('='));
    pairs.filter(|(key, _)| !key.is_empty()).map(|(key, value)| (key.to_owned(), unescaped(value))).collect()
}

/// `%3A` as `:`, as Hive writes what a file's name may not hold.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).and_then(|code| std::str::from_utf8(code).ok());
        match code.filter(|_| bytes[at] == b'%').and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        assert_eq!(told_by_name("job-reports-0.json"), Some((Report::Job, Format::Ndjson)));
        assert_eq!(told_by_name("plan_node-reports-12.parquet"), Some((Report::PlanNode, Format::Parquet)));
        for name in
            ["job-reports-0.csv", "jobs-reports-0.json", ".job-reports-0.json.inprogress", "job.json", ""]
        {
            assert_eq!(told_by_name(name), None, "{name}");
        }
    }

    #[test]
    fn directories_of_paths() {
        let found = directories(Path::new("/x/date=2026-11-30/time=10%3A20/applicationId=app-1"));
        let expected = [("date", "2026-11-30"), ("time", "10:20"), ("applicationId", "app-1")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(unescaped("100%"), "100%");
        assert_eq!(unescaped("%zz"), "%zz");
    }
}
