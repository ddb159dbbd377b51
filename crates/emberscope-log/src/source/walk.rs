//! Listing a directory tree: every path once, in a fixed order, whatever links and special files it holds.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::assemble::Assembler;
use super::{Member, Origin, PathStatus};
use crate::layout::Entry;

/// Deeper trees are refused: no log store nests like that, and each level costs memory for its path.
const DEEPEST: usize = 100;

/// Lists `root` and hands what it holds to `assembler`.
///
/// # Errors
/// When `root` itself cannot be listed.
pub(super) fn walk(root: &Path, assembler: &mut Assembler) -> io::Result<()> {
    let real = fs::canonicalize(root)?;
    let name = real.file_name().unwrap_or(OsStr::new("")).to_string_lossy().into_owned();
    // Tell an unreadable root as an error; below it, it is a verdict.
    drop(fs::read_dir(root)?);
    let mut walk =
        Walk { assembler, entries: Vec::new(), members: Vec::new(), dirs: HashSet::new(), links: Vec::new() };
    walk.tree(Dir { path: root.to_owned(), relative: name, depth: 0 });
    // Links come after all real directories, so that what is reachable both ways keeps its real path.
    let mut linked = HashSet::new();
    while !walk.links.is_empty() {
        let mut links = std::mem::take(&mut walk.links);
        links.sort_by(|a, b| a.path.cmp(&b.path));
        for link in links {
            walk.link(link, &mut linked);
        }
    }
    let Walk { entries, members, .. } = walk;
    assembler.listed(&entries, &members);
    Ok(())
}

struct Dir {
    path: PathBuf,
    /// `/`-separated, beginning with the root's name.
    relative: String,
    depth: usize,
}

struct Walk<'a> {
    assembler: &'a mut Assembler,
    entries: Vec<Entry>,
    members: Vec<Member>,
    /// Directories read, by their real paths.
    dirs: HashSet<PathBuf>,
    links: Vec<Dir>,
}

impl Walk<'_> {
    fn tree(&mut self, root: Dir) {
        let mut stack = vec![root];
        while let Some(dir) = stack.pop() {
            let shown = dir.path.display().to_string();
            if dir.depth > DEEPEST {
                let reason = format!("nested more than {DEEPEST} directories deep");
                self.assembler.skip(
                    &shown,
                    PathStatus::Skipped,
                    &reason,
                    Some("name it to read it".to_owned()),
                );
                continue;
            }
            if let Ok(real) = fs::canonicalize(&dir.path)
                && !self.dirs.insert(real)
            {
                self.assembler.skip(&shown, PathStatus::Skipped, "read already under another path", None);
                continue;
            }
            let listing = match fs::read_dir(&dir.path) {
                Ok(listing) => listing,
                Err(error) => {
                    self.assembler.fail(&shown, &error);
                    continue;
                }
            };
            let mut empty = true;
            for item in listing {
                empty = false;
                match item {
                    Ok(item) => self.item(&item, &dir, &mut stack),
                    Err(error) => self.assembler.fail(&shown, &error),
                }
            }
            if empty {
                self.assembler.skip(&shown, PathStatus::Empty, "an empty directory", None);
            }
        }
    }

    fn item(&mut self, item: &fs::DirEntry, dir: &Dir, stack: &mut Vec<Dir>) {
        let path = item.path();
        let relative = format!("{}/{}", dir.relative, item.file_name().to_string_lossy());
        let kind = match item.file_type() {
            Ok(kind) => kind,
            Err(error) => return self.assembler.fail(&path.display().to_string(), &error),
        };
        let found = Dir { path, relative, depth: dir.depth + 1 };
        if kind.is_dir() {
            stack.push(found);
        } else if kind.is_symlink() {
            self.links.push(found);
        } else {
            match item.metadata() {
                Ok(meta) => self.file(found, &meta),
                Err(error) => self.assembler.fail(&found.path.display().to_string(), &error),
            }
        }
    }

    fn file(&mut self, found: Dir, meta: &fs::Metadata) {
        let name = found.path.display().to_string();
        if !meta.is_file() {
            self.assembler.skip(
                &name,
                PathStatus::Skipped,
                "a device, socket or named pipe, not a file",
                None,
            );
            return;
        }
        self.entries.push(Entry { path: found.relative, len: Some(meta.len()) });
        self.members.push(Member {
            name,
            len: Some(meta.len()),
            modified_ms: crate::input::modified_ms(meta),
            origin: Origin::Local(found.path),
        });
    }

    fn link(&mut self, link: Dir, linked: &mut HashSet<PathBuf>) {
        let shown = link.path.display().to_string();
        let target = fs::canonicalize(&link.path).and_then(|real| Ok((fs::metadata(&real)?, real)));
        let (meta, real) = match target {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.assembler.skip(&shown, PathStatus::Skipped, "a link to nothing", None);
                return;
            }
            Err(error) => return self.assembler.fail(&shown, &error),
        };
        let read = if meta.is_dir() {
            self.dirs.contains(&real)
        } else {
            real.parent().is_some_and(|parent| self.dirs.contains(parent)) || !linked.insert(real.clone())
        };
        if read {
            let reason = format!("a link to {}, which is read already", real.display());
            self.assembler.skip(&shown, PathStatus::Skipped, &reason, None);
        } else if meta.is_dir() {
            self.tree(link);
        } else {
            self.file(link, &meta);
        }
    }
}
