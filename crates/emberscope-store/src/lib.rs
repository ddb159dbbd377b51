//! The private cache: what was made of a log once, found again as long as the log stays the same: runs
//! ([`RunCache`]), and whatever else fills a directory ([`Store`]).
//!
//! An entry is a directory of files and a description of them, written last. It appears whole, under a name
//! made from its [`Key`]; one that is damaged or of another build counts as missing and is made again. Only the
//! user can read it.

mod key;
mod runs;

pub use key::Key;
pub use runs::RunCache;

use serde::{Deserialize, Serialize};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Name of an entry's description.
const DESCRIPTION: &str = "entry.json";
/// Ending of a directory that is being filled.
const IN_PROGRESS: &str = ".inprogress";
/// Age after which what a dead process left is removed.
const STALE: Duration = Duration::from_secs(24 * 3600);
/// Bytes of all entries, unless told otherwise.
pub const DEFAULT_BYTES: u64 = 8 << 30;
/// First and last bytes of a Parquet file.
const PARQUET_MAGIC: &[u8; 4] = b"PAR1";

/// What is wrong with the cache.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no place for it.
    #[error("no place for a cache: neither EMBERSCOPE_CACHE nor XDG_CACHE_HOME nor HOME is set")]
    NoPlace,
    /// A file or directory of it cannot be used.
    #[error("{}: cannot be {action}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What was tried: `created`, `written`, `read`.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
}

impl StoreError {
    fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { path, action, source }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "name a directory that you may write to in EMBERSCOPE_CACHE"
    }
}

/// The cache.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    max_bytes: u64,
}

/// What was found or made.
#[derive(Debug)]
pub struct Entry<M> {
    /// Its directory.
    pub dir: PathBuf,
    /// What the maker said of it.
    pub meta: M,
}

#[derive(Debug, Serialize, Deserialize)]
struct Description<M> {
    key: String,
    files: Vec<(String, u64)>,
    meta: M,
}

impl Store {
    /// A part of the user's cache: `EMBERSCOPE_CACHE`, else `emberscope` in `XDG_CACHE_HOME` or `~/.cache`.
    ///
    /// # Errors
    /// There is no such place, or it cannot be made.
    pub fn open(part: &str) -> Result<Store, StoreError> {
        Store::at(&Self::place()?.join(part), DEFAULT_BYTES)
    }

    /// Where the user's cache is.
    ///
    /// # Errors
    /// There is no such place.
    pub fn place() -> Result<PathBuf, StoreError> {
        let place = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        place("EMBERSCOPE_CACHE")
            .or_else(|| Some(place("XDG_CACHE_HOME")?.join("emberscope")))
            .or_else(|| Some(place("HOME")?.join(".cache/emberscope")))
            .ok_or(StoreError::NoPlace)
    }

    /// A cache in this directory, which is made if need be.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn at(root: &Path, max_bytes: u64) -> Result<Store, StoreError> {
        create_private(root).map_err(StoreError::io(root, "created"))?;
        Ok(Store { root: root.to_owned(), max_bytes })
    }

    /// The entry of `key`, if there is a whole one.
    pub fn find<M: for<'m> Deserialize<'m>>(&self, key: &Key) -> Option<Entry<M>> {
        let dir = self.root.join(key.name());
        let bytes = std::fs::read(dir.join(DESCRIPTION)).ok()?;
        let description: Description<M> = serde_json::from_slice(&bytes).ok()?;
        let is_whole = description.key == key.text()
            && description
                .files
                .iter()
                .all(|(name, bytes)| is_plain(name) && is_sound(&dir.join(name), *bytes));
        if !is_whole {
            return None;
        }
        // When it was last of use decides what goes first.
        _ = std::fs::File::options()
            .write(true)
            .open(dir.join(DESCRIPTION))
            .and_then(|file| file.set_modified(SystemTime::now()));
        Some(Entry { dir, meta: description.meta })
    }

    /// Makes the entry of `key`: `make` fills a directory and says what there is to know of it.
    ///
    /// # Errors
    /// Those of `make`, and of the cache itself.
    pub fn make<M: Serialize, E: From<StoreError>>(
        &self,
        key: &Key,
        make: impl FnOnce(&Path) -> Result<M, E>,
    ) -> Result<Entry<M>, E> {
        self.remove_stale();
        let dir = self.root.join(key.name());
        // Of several makers in one process each has a place of its own.
        static MAKERS: AtomicU64 = AtomicU64::new(0);
        let maker = MAKERS.fetch_add(1, Ordering::Relaxed);
        let filled = self.root.join(format!(".{}.{}-{maker}{IN_PROGRESS}", key.name(), std::process::id()));
        _ = std::fs::remove_dir_all(&filled);
        create_private(&filled).map_err(StoreError::io(&filled, "created"))?;
        let made = make(&filled).and_then(|meta| {
            let meta = self.describe(key, &filled, meta)?;
            // Of two that make the same, the later one wins; both are whole.
            if std::fs::rename(&filled, &dir).is_err() {
                _ = std::fs::remove_dir_all(&dir);
                std::fs::rename(&filled, &dir).map_err(StoreError::io(&dir, "written"))?;
            }
            Ok(meta)
        });
        if made.is_err() {
            _ = std::fs::remove_dir_all(&filled);
        }
        let meta = made?;
        self.shrink(&dir);
        Ok(Entry { dir, meta })
    }

    fn describe<M: Serialize>(&self, key: &Key, dir: &Path, meta: M) -> Result<M, StoreError> {
        let failed = || StoreError::io(dir, "written");
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            make_private(&entry.path(), false).map_err(failed())?;
            let meta = entry.metadata().map_err(failed())?;
            if let (true, Ok(name)) = (meta.is_file(), entry.file_name().into_string()) {
                files.push((name, meta.len()));
            }
        }
        files.sort();
        let description = Description { key: key.text().to_owned(), files, meta };
        let path = dir.join(DESCRIPTION);
        let bytes = serde_json::to_vec(&description).map_err(io::Error::from).map_err(failed())?;
        std::fs::write(&path, bytes).and_then(|()| make_private(&path, false)).map_err(failed())?;
        Ok(description.meta)
    }

    /// Removes entries, the longest unused first, until the rest is small enough. `kept` stays.
    fn shrink(&self, kept: &Path) {
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let dir = entry.path();
            let used = std::fs::metadata(dir.join(DESCRIPTION)).and_then(|meta| meta.modified());
            if let Ok(used) = used {
                entries.push((used, size(&dir), dir));
            }
        }
        let mut total: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        entries.sort();
        for (_, bytes, dir) in entries {
            if total <= self.max_bytes {
                break;
            }
            if dir != kept && std::fs::remove_dir_all(&dir).is_ok() {
                total -= bytes;
            }
        }
    }

    fn remove_stale(&self) {
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let age =
                entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
            let is_left = entry.file_name().to_string_lossy().ends_with(IN_PROGRESS);
            if is_left && age.is_some_and(|age| age > STALE) {
                _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn size(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
}

/// Whether a name stays in its directory.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\']) && name != ".."
}

/// Whether a file has its size and, for Parquet, its two ends.
fn is_sound(path: &Path, bytes: u64) -> bool {
    let sound = || -> io::Result<bool> {
        let mut file = std::fs::File::open(path)?;
        if file.metadata()?.len() != bytes {
            return Ok(false);
        }
        if path.extension().is_none_or(|extension| extension != "parquet") {
            return Ok(true);
        }
        let (mut first, mut last) = ([0; 4], [0; 4]);
        file.read_exact(&mut first)?;
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut last)?;
        Ok(&first == PARQUET_MAGIC && &last == PARQUET_MAGIC)
    };
    sound().unwrap_or(false)
}

fn create_private(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    make_private(dir, true)
}

/// A file that only the user can read, from its first byte on.
#[cfg(unix)]
pub(crate) fn create_file(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::File::options().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
pub(crate) fn create_file(path: &Path) -> io::Result<std::fs::File> {
    std::fs::File::options().write(true).create_new(true).open(path)
}

/// What entries depend on beside the log: this program. Its own file tells builds of one version apart.
pub fn this_program() -> String {
    let file = std::env::current_exe().and_then(std::fs::metadata).ok();
    let of_file = file.and_then(|file| {
        let modified = file.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some((file.len(), modified.as_millis()))
    });
    format!("{} {of_file:?}", env!("CARGO_PKG_VERSION"))
}

#[cfg(unix)]
fn make_private(path: &Path, is_dir: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if is_dir { 0o700 } else { 0o600 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn make_private(_: &Path, _: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(store: &Store, key: &Key, text: &str) -> Entry<u32> {
        let made: Result<_, StoreError> = store.make(key, |dir| {
            std::fs::write(dir.join("a.txt"), text).unwrap();
            Ok(7_u32)
        });
        made.unwrap()
    }

    #[test]
    fn entries_are_found_until_they_are_damaged() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::at(&place.path().join("cache"), u64::MAX).unwrap();
        let (key, other) = (Key::from_text("one".to_owned()), Key::from_text("two".to_owned()));
        assert!(store.find::<u32>(&key).is_none());
        filled(&store, &key, "hello");
        let found = store.find::<u32>(&key).unwrap();
        assert_eq!(found.meta, 7);
        assert!(store.find::<u32>(&other).is_none());
        // Of another shape.
        assert!(store.find::<Vec<String>>(&key).is_none());
        std::fs::write(found.dir.join("a.txt"), "hell").unwrap();
        assert!(store.find::<u32>(&key).is_none());
        let again = filled(&store, &key, "hello");
        assert_eq!(std::fs::read_to_string(again.dir.join("a.txt")).unwrap(), "hello");
        assert!(store.find::<u32>(&key).is_some());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&again.dir), 0o700);
            assert_eq!(mode(&again.dir.join("a.txt")), 0o600);
            assert_eq!(mode(&again.dir.join(DESCRIPTION)), 0o600);
        }
    }

    #[test]
    fn what_fails_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::at(place.path(), u64::MAX).unwrap();
        let failed: Result<Entry<u32>, StoreError> =
            store.make(&Key::from_text("k".to_owned()), |_| Err(StoreError::NoPlace));
        assert!(failed.is_err());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::at(place.path(), 3000).unwrap();
        let keys: Vec<Key> = (0..3).map(|n| Key::from_text(n.to_string())).collect();
        for key in &keys {
            filled(&store, key, &"x".repeat(1200));
            std::thread::sleep(Duration::from_millis(15));
        }
        let found: Vec<bool> = keys.iter().map(|key| store.find::<u32>(key).is_some()).collect();
        assert_eq!(found, [false, true, true]);
    }
}
