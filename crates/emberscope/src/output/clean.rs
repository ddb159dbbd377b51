//! Nothing half-written stays behind: not after a signal, and not after a process that had no chance.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const SUFFIX: &str = ".inprogress";
/// What a shell reports of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// The name under which process `pid` writes what will be `name`.
pub(super) fn name_for(name: &OsStr, pid: u32) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{pid}{SUFFIX}"));
    hidden
}

/// Removes what dead processes left beside `target`. Where the system does not tell which processes live,
/// nothing is removed.
pub(super) fn remove_stale(target: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    let (Some(name), Some(dir)) = (target.file_name().and_then(OsStr::to_str), target.parent()) else {
        return;
    };
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let Ok(listing) = std::fs::read_dir(dir) else { return };
    for item in listing.flatten() {
        let found = item.file_name();
        let pid = found
            .to_str()
            .and_then(|found| found.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.'))
            .and_then(|rest| rest.strip_suffix(SUFFIX)?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            _ = std::fs::remove_file(item.path());
        }
    }
}

/// Removes `written` when the process is told to stop. Only one handler can be set: of a second file that
/// is written at the same time, the next run cleans up.
pub(super) fn on_signal(written: &Path) {
    let written: PathBuf = written.to_owned();
    _ = ctrlc::set_handler(move || {
        _ = std::fs::remove_file(&written);
        std::process::exit(INTERRUPTED);
    });
}
