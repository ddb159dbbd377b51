//! Where bytes come from: local files, standard input and pipes, memory.
//!
//! Everything that reads logs works on [`Input`], so that object stores and HTTP can join later without the
//! parser knowing. An input is read at an offset, never through a shared cursor: several readers of one
//! archive do not disturb each other.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many bytes of a pipe are kept, so that its format can be told and the decoder started from 0 again.
pub const HEAD_BYTES: usize = 64 * 1024;

/// A source of bytes that can be read at an offset.
pub trait Input: Send + Sync + fmt::Debug {
    /// The path as shown to the user.
    fn name(&self) -> &str;

    /// Length in bytes; `None` when unknown (a pipe).
    fn len(&self) -> Option<u64>;

    /// Whether the input is known to hold no byte at all.
    fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Last modification in milliseconds since 1970, when known.
    fn modified_ms(&self) -> Option<i64>;

    /// Reads at `offset` into `buf` and says how many bytes came; 0 is the end.
    ///
    /// A pipe accepts only the next offset, or offsets inside the head it keeps.
    ///
    /// # Errors
    /// Those of the medium. `Interrupted` is never returned.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
}

/// Reads up to `limit` bytes from the start; fewer only at the end of the input.
///
/// # Errors
/// Those of [`Input::read_at`].
pub fn read_head(input: &dyn Input, limit: usize) -> io::Result<Vec<u8>> {
    let mut head = vec![0; input.len().map_or(limit, |len| limit.min(usize::try_from(len).unwrap_or(limit)))];
    let mut filled = 0;
    while filled < head.len() {
        match input.read_at(filled as u64, &mut head[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            // Cut, as an entry of a zip archive that broke off: what came before is the head.
            Err(error) if filled > 0 && error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error),
        }
    }
    head.truncate(filled);
    Ok(head)
}

/// A file of the local file system.
#[derive(Debug)]
pub struct LocalFile {
    name: String,
    path: PathBuf,
    file: File,
    len: u64,
    modified_ms: Option<i64>,
}

impl LocalFile {
    /// Opens `path` for reading. The length is the one at this moment: what a live application appends later
    /// is read too, but not counted in [`Input::len`].
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<LocalFile> {
        let path = path.into();
        let name = path.display().to_string();
        LocalFile::open_as(path, name)
    }

    /// Like [`LocalFile::open`], shown to the user as `name`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open_as(path: PathBuf, name: String) -> io::Result<LocalFile> {
        let file = File::open(&path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
        }
        Ok(LocalFile { name, path, file, len: meta.len(), modified_ms: modified_ms(&meta) })
    }

    /// The path in the file system.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Input for LocalFile {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> Option<u64> {
        Some(self.len)
    }

    fn modified_ms(&self) -> Option<i64> {
        self.modified_ms
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        file_read_at(&self.file, offset, buf)
    }
}

/// Last modification in milliseconds since 1970; files older than that count from 1970.
pub(crate) fn modified_ms(meta: &std::fs::Metadata) -> Option<i64> {
    let since = meta.modified().ok()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).ok()
}

/// Reads at an offset of a file, without moving a cursor others might use; never `Interrupted`.
///
/// # Errors
/// Those of the file.
pub fn file_read_at(file: &File, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    loop {
        match positioned_read(file, offset, buf) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(unix)]
fn positioned_read(file: &File, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

#[cfg(windows)]
fn positioned_read(file: &File, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    // Moves the file's cursor as well, which nobody else uses.
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}

#[cfg(not(any(unix, windows)))]
fn positioned_read(mut file: &File, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    use std::io::Seek;
    file.seek(io::SeekFrom::Start(offset))?;
    file.read(buf)
}

/// Bytes in memory: heads of files, tests, and small objects of a store.
#[derive(Clone)]
pub struct Memory {
    name: String,
    bytes: Arc<[u8]>,
}

impl Memory {
    /// An input called `name` that holds `bytes`.
    pub fn new(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Memory {
        Memory { name: name.into(), bytes: bytes.into() }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content may be a log with secrets in it.
        f.debug_struct("Memory").field("name", &self.name).field("len", &self.bytes.len()).finish()
    }
}

impl Input for Memory {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }

    fn modified_ms(&self) -> Option<i64> {
        None
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|from| self.bytes.get(from..)).unwrap_or_default();
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
}

/// Standard input, or any other pipe: read once, in sequence.
///
/// The first [`HEAD_BYTES`] are kept, so the format can be told before the decoder starts at 0. What needs
/// seeking (a zip) is first [spooled](Stdin::spool) to a temporary file without a name, which disappears
/// with the process.
pub struct Stdin {
    name: String,
    state: Mutex<Pipe>,
}

struct Pipe {
    reader: Box<dyn Read + Send>,
    head: Vec<u8>,
    /// Bytes taken from the reader so far.
    taken: u64,
    spool: Option<(File, u64)>,
}

impl Stdin {
    /// The process's standard input.
    pub fn new() -> Stdin {
        Stdin::from_reader("-", Box::new(io::stdin()))
    }

    /// Any reader that comes in sequence, such as a named pipe.
    pub fn from_reader(name: impl Into<String>, reader: Box<dyn Read + Send>) -> Stdin {
        let pipe = Pipe { reader, head: Vec::new(), taken: 0, spool: None };
        Stdin { name: name.into(), state: Mutex::new(pipe) }
    }

    /// Copies what is left, and the kept head, to an unlinked temporary file; from then on every offset can be
    /// read and the length is known.
    ///
    /// # Errors
    /// When more than the head was read already, or reading or writing fails (a full disk).
    pub fn spool(&self) -> io::Result<()> {
        let mut pipe = self.lock();
        if pipe.spool.is_some() {
            return Ok(());
        }
        if pipe.taken > pipe.head.len() as u64 {
            return Err(io::Error::other("the pipe was read already"));
        }
        let mut file = tempfile::tempfile()?;
        io::Write::write_all(&mut file, &pipe.head)?;
        let rest = io::copy(&mut pipe.reader, &mut file)?;
        let len = pipe.head.len() as u64 + rest;
        pipe.taken = len;
        pipe.spool = Some((file, len));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Pipe> {
        // A panic while reading leaves counters that are still true; go on with them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Stdin {
    fn default() -> Self {
        Stdin::new()
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdin").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Input for Stdin {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> Option<u64> {
        self.lock().spool.as_ref().map(|(_, len)| *len)
    }

    fn modified_ms(&self) -> Option<i64> {
        None
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut pipe = self.lock();
        if let Some((file, _)) = &pipe.spool {
            return file_read_at(file, offset, buf);
        }
        if offset < pipe.head.len() as u64 {
            // The cast is exact: the head is a few kilobytes.
            let kept = &pipe.head[offset as usize..];
            let n = kept.len().min(buf.len());
            buf[..n].copy_from_slice(&kept[..n]);
            return Ok(n);
        }
        if offset != pipe.taken {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a pipe can be read only once, in sequence",
            ));
        }
        let n = loop {
            match pipe.reader.read(buf) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if pipe.head.len() as u64 == pipe.taken && pipe.head.len() < HEAD_BYTES {
            pipe.head.extend_from_slice(&buf[..n]);
        }
        pipe.taken += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(bytes: &[u8]) -> Stdin {
        Stdin::from_reader("-", Box::new(io::Cursor::new(bytes.to_vec())))
    }

    #[test]
    fn a_pipe_can_be_started_again_while_its_head_is_kept() {
        let input = pipe(b"hello world");
        assert_eq!(read_head(&input, 5).unwrap(), b"hello");
        assert_eq!(read_head(&input, 100).unwrap(), b"hello world");
        assert_eq!(input.len(), None);
        assert_eq!(input.read_at(11, &mut [0; 4]).unwrap(), 0);
    }

    #[test]
    fn a_pipe_refuses_to_go_back_behind_its_head() {
        let bytes = vec![7; HEAD_BYTES * 3];
        let input = pipe(&bytes);
        let mut buf = vec![0; HEAD_BYTES * 2];
        assert_eq!(read_head(&input, HEAD_BYTES).unwrap().len(), HEAD_BYTES);
        let n = input.read_at(HEAD_BYTES as u64, &mut buf).unwrap();
        assert!(n > 0);
        assert_eq!(
            input.read_at(HEAD_BYTES as u64, &mut buf).unwrap_err().kind(),
            io::ErrorKind::Unsupported
        );
        assert!(input.spool().is_err());
    }

    #[test]
    fn a_spooled_pipe_is_a_file() {
        let bytes: Vec<u8> = (0..200_000u32).map(|i| i as u8).collect();
        let input = pipe(&bytes);
        read_head(&input, 100).unwrap();
        input.spool().unwrap();
        assert_eq!(input.len(), Some(200_000));
        let mut buf = [0; 10];
        assert_eq!(input.read_at(199_995, &mut buf).unwrap(), 5);
        assert_eq!(buf[..5], bytes[199_995..]);
        assert_eq!(input.read_at(3, &mut buf).unwrap(), 10);
        assert_eq!(buf, bytes[3..13]);
    }

    #[test]
    fn memory_reads_past_its_end_are_the_end() {
        let input = Memory::new("m", b"abc".as_slice());
        assert_eq!(input.read_at(u64::MAX, &mut [0; 3]).unwrap(), 0);
        assert!(!format!("{input:?}").contains("abc"));
    }
}
