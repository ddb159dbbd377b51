//! Links must not lead out of what was named.

use emberscope_log::source::RunSource;
use std::path::Path;

/// Whether all files of a source lie, by their real paths, at or below `root`, which is a real path itself.
pub(crate) fn is_inside(source: &RunSource, root: &Path) -> bool {
    source.members.iter().all(|member| {
        let real = file_of(&member.name).and_then(|file| std::fs::canonicalize(file).ok());
        real.is_some_and(|real| real.starts_with(root))
    })
}

/// The file on disk: an entry of an archive is named `archive.zip!entry`.
fn file_of(name: &str) -> Option<&Path> {
    let whole = Path::new(name);
    if whole.is_file() {
        return Some(whole);
    }
    let ends = name.match_indices('!').map(|(at, _)| Path::new(&name[..at]));
    ends.into_iter().find(|path| path.is_file())
}
