//! Bulky text that is kept but rarely asked for: plans and their descriptions.
//!
//! Blobs are compressed in chunks; beyond a limit the chunks go to an unnamed temporary file, so that
//! a log with gigabytes of plans needs no more memory than one without.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Plain bytes collected before they are compressed.
const CHUNK_BYTES: usize = 256 << 10;
/// Compressed bytes held in memory.
const MEMORY_BYTES: usize = 16 << 20;

/// Where a blob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobRef {
    chunk: u32,
    start: u32,
    len: u32,
}

impl BlobRef {
    /// Bytes of the blob.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether the blob is empty.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

#[derive(Clone, Debug)]
enum Chunk {
    Memory(Arc<[u8]>),
    Spilled { offset: u64, len: u32 },
}

/// A store of blobs. Cloning shares everything that is compressed.
#[derive(Clone, Debug, Default)]
pub struct BlobStore {
    chunks: Vec<Chunk>,
    open: Vec<u8>,
    memory_bytes: usize,
    spill: Option<Arc<Mutex<File>>>,
    last_read: LastRead,
}

/// The chunk decompressed last: blobs are mostly read in the order in which they were written. A clone
/// begins without one, since its later chunks differ.
#[derive(Debug, Default)]
struct LastRead(Mutex<Option<(u32, Arc<[u8]>)>>);

impl Clone for LastRead {
    fn clone(&self) -> Self {
        LastRead::default()
    }
}

impl BlobStore {
    /// Keeps a blob.
    pub fn put(&mut self, blob: &[u8]) -> BlobRef {
        if !self.open.is_empty() && self.open.len() + blob.len() > CHUNK_BYTES {
            self.seal();
        }
        let place = BlobRef {
            chunk: self.chunks.len() as u32,
            start: self.open.len() as u32,
            len: u32::try_from(blob.len()).unwrap_or(u32::MAX),
        };
        self.open.extend_from_slice(&blob[..place.len()]);
        place
    }

    fn seal(&mut self) {
        let compressed = lz4_flex::block::compress_prepend_size(&self.open);
        // A chunk made large by one blob gives its memory back.
        self.open = Vec::new();
        let chunk = if self.memory_bytes + compressed.len() <= MEMORY_BYTES {
            self.memory_bytes += compressed.len();
            Chunk::Memory(compressed.into())
        } else {
            // Without room on disk for temporary files, memory has to do.
            match self.append_to_spill(&compressed) {
                Ok(offset) => Chunk::Spilled { offset, len: compressed.len() as u32 },
                Err(_) => Chunk::Memory(compressed.into()),
            }
        };
        self.chunks.push(chunk);
    }

    fn append_to_spill(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let spill = match &self.spill {
            Some(spill) => spill,
            None => self.spill.insert(Arc::new(Mutex::new(tempfile::tempfile()?))),
        };
        let mut file = spill.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)?;
        Ok(offset)
    }

    /// The bytes of a blob. Fails only when the temporary file cannot be read.
    pub fn get(&self, place: BlobRef) -> io::Result<Vec<u8>> {
        let cut = |plain: &[u8]| {
            let range = place.start as usize..place.start as usize + place.len();
            plain.get(range).map(<[u8]>::to_vec).ok_or_else(|| io::Error::other("no such blob"))
        };
        let Some(chunk) = self.chunks.get(place.chunk as usize) else { return cut(&self.open) };
        let mut last_read = self.last_read.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((number, plain)) = &*last_read
            && *number == place.chunk
        {
            return cut(plain);
        }
        let plain: Arc<[u8]> = match chunk {
            Chunk::Memory(compressed) => decompress(compressed)?,
            Chunk::Spilled { offset, len } => decompress(&self.read_spilled(*offset, *len)?)?,
        };
        let blob = cut(&plain);
        *last_read = Some((place.chunk, plain));
        blob
    }

    fn read_spilled(&self, offset: u64, len: u32) -> io::Result<Vec<u8>> {
        let spill = self.spill.as_ref().ok_or_else(|| io::Error::other("no temporary file"))?;
        let mut file = spill.lock().unwrap_or_else(PoisonError::into_inner);
        let mut compressed = vec![0; len as usize];
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut compressed)?;
        Ok(compressed)
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes + self.open.len()
    }
}

fn decompress(compressed: &[u8]) -> io::Result<Arc<[u8]>> {
    lz4_flex::block::decompress_size_prepended(compressed).map(Arc::from).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_come_back_from_memory_and_from_disk() {
        let mut store = BlobStore::default();
        let blob = |n: u64| -> Vec<u8> {
            // Hard to compress, so that the limit is passed.
            let mut state = n + 1;
            (0..100_000)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect()
        };
        let places: Vec<BlobRef> = (0..300).map(|n| store.put(&blob(n))).collect();
        assert!(store.spill.is_some() && store.memory_bytes() <= MEMORY_BYTES + CHUNK_BYTES);
        for (n, place) in places.iter().enumerate() {
            assert_eq!(store.get(*place).unwrap(), blob(n as u64), "{n}");
        }
        let large = store.put(&vec![7; 3 << 20]);
        assert_eq!(store.get(large).unwrap().len(), 3 << 20);
        let empty = store.put(b"");
        assert!(store.get(empty).unwrap().is_empty());
    }
}
