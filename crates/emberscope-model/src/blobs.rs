//! Bulky text that is kept but rarely asked for: plans and their descriptions.
//!
//! Blobs are compressed in chunks; beyond a limit the chunks go to an unnamed temporary file, so that
//! a log with gigabytes of plans needs no more memory than one without.

use borsh::{BorshDeserialize, BorshSerialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Plain bytes collected before they are compressed.
const CHUNK_BYTES: usize = 256 << 10;
/// Compressed bytes held in memory.
const MEMORY_BYTES: usize = 16 << 20;

/// Where a blob is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
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

    /// The place in the store of a pack's blob.
    pub(crate) fn moved(self, to: Moved) -> Self {
        BlobRef { chunk: self.chunk + to.chunk, start: self.start + to.start, len: self.len }
    }
}

/// Blobs on their way into a store, compressed where they are many.
#[derive(Debug, Default)]
pub(crate) struct BlobPack {
    /// Compressed chunks.
    chunks: Vec<Vec<u8>>,
    /// The last chunk, plain.
    open: Vec<u8>,
}

/// Fewer plain bytes than these are left to the store, which compresses those of several blocks together.
const PACKED_BYTES: usize = 64 << 10;

impl BlobPack {
    /// Keeps a blob.
    pub(crate) fn put(&mut self, blob: &[u8]) -> BlobRef {
        if !self.open.is_empty() && self.open.len() + blob.len() > CHUNK_BYTES {
            self.seal();
        }
        let chunk = self.chunks.len() as u32;
        append(&mut self.open, chunk, blob)
    }

    fn seal(&mut self) {
        self.chunks.push(lz4_flex::block::compress_prepend_size(&self.open));
        self.open.clear();
    }

    /// Compresses what is left if it is worth it.
    pub(crate) fn finish(&mut self) {
        if !self.chunks.is_empty() || self.open.len() >= PACKED_BYTES {
            self.seal();
            self.open = Vec::new();
        }
    }
}

fn append(open: &mut Vec<u8>, chunk: u32, blob: &[u8]) -> BlobRef {
    let len = u32::try_from(blob.len()).unwrap_or(u32::MAX);
    let place = BlobRef { chunk, start: open.len() as u32, len };
    open.extend_from_slice(&blob[..len as usize]);
    place
}

/// Where the first blob of a pack came to be in a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    chunk: u32,
    start: u32,
}

#[derive(Clone, Debug)]
enum Chunk {
    /// It is being filled.
    Open,
    Memory(Arc<[u8]>),
    Spilled {
        offset: u64,
        len: u32,
    },
}

/// A store of blobs. Cloning shares everything that is compressed.
#[derive(Clone, Debug, Default)]
pub struct BlobStore {
    chunks: Vec<Chunk>,
    /// The open chunk's plain bytes; empty while there is none.
    open: Vec<u8>,
    /// Its number.
    open_chunk: u32,
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
    /// Takes a pack; its places move.
    pub(crate) fn take(&mut self, pack: BlobPack) -> Moved {
        if pack.chunks.is_empty() {
            // Also when it is empty: nothing will ask for a place then, or for an empty one.
            let place = self.put(&pack.open);
            return Moved { chunk: place.chunk, start: place.start };
        }
        let chunk = self.chunks.len() as u32;
        for compressed in pack.chunks {
            let kept = self.keep(compressed);
            self.chunks.push(kept);
        }
        Moved { chunk, start: 0 }
    }

    /// Keeps a blob.
    fn put(&mut self, blob: &[u8]) -> BlobRef {
        if !self.open.is_empty() && self.open.len() + blob.len() > CHUNK_BYTES {
            self.seal();
        }
        if self.open.is_empty() && !blob.is_empty() {
            self.open_chunk = self.chunks.len() as u32;
            self.chunks.push(Chunk::Open);
        }
        append(&mut self.open, self.open_chunk, blob)
    }

    fn seal(&mut self) {
        let compressed = lz4_flex::block::compress_prepend_size(&self.open);
        // A chunk made large by one blob gives its memory back.
        self.open = Vec::new();
        let sealed = self.keep(compressed);
        if let Some(chunk) = self.chunks.get_mut(self.open_chunk as usize) {
            *chunk = sealed;
        }
    }

    fn keep(&mut self, compressed: Vec<u8>) -> Chunk {
        if self.memory_bytes + compressed.len() > MEMORY_BYTES
            // Without room on disk for temporary files, memory has to do.
            && let Ok(offset) = self.append_to_spill(&compressed)
        {
            return Chunk::Spilled { offset, len: compressed.len() as u32 };
        }
        self.memory_bytes += compressed.len();
        Chunk::Memory(compressed.into())
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
        if place.is_empty() {
            return Ok(Vec::new());
        }
        let chunk = self.chunks.get(place.chunk as usize).ok_or_else(|| io::Error::other("no such chunk"))?;
        let mut last_read = self.last_read.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((number, plain)) = &*last_read
            && *number == place.chunk
        {
            return cut(plain);
        }
        let plain: Arc<[u8]> = match chunk {
            Chunk::Open => return cut(&self.open),
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

    /// Writes all chunks one after the other, and gives their lengths.
    pub(crate) fn write_to(&self, out: &mut impl Write) -> io::Result<Vec<u32>> {
        let mut lengths = Vec::with_capacity(self.chunks.len());
        for chunk in &self.chunks {
            let sealed;
            let spilled;
            let bytes: &[u8] = match chunk {
                Chunk::Open => {
                    sealed = lz4_flex::block::compress_prepend_size(&self.open);
                    &sealed
                }
                Chunk::Memory(compressed) => compressed,
                Chunk::Spilled { offset, len } => {
                    spilled = self.read_spilled(*offset, *len)?;
                    &spilled
                }
            };
            out.write_all(bytes)?;
            lengths.push(u32::try_from(bytes.len()).map_err(io::Error::other)?);
        }
        Ok(lengths)
    }

    /// The store whose chunks were written to `file`, where they stay. The file is only read.
    pub(crate) fn of_file(file: File, lengths: &[u32]) -> BlobStore {
        let mut offset = 0;
        let chunk = |len: &u32| {
            let chunk = Chunk::Spilled { offset, len: *len };
            offset += u64::from(*len);
            chunk
        };
        let chunks = lengths.iter().map(chunk).collect();
        BlobStore { chunks, spill: Some(Arc::new(Mutex::new(file))), ..BlobStore::default() }
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
        let mut pack = BlobPack::default();
        let packed: Vec<BlobRef> = (0..7).map(|n| pack.put(&blob(n))).collect();
        pack.finish();
        let mut small = BlobPack::default();
        let smalls: Vec<BlobRef> = (0..3).map(|n| small.put(&[n; 9])).collect();
        small.finish();
        let (to, smalls_to) = (store.take(pack), store.take(small));
        for (n, place) in packed.iter().enumerate() {
            assert_eq!(store.get(place.moved(to)).unwrap(), blob(n as u64), "{n}");
        }
        for (n, place) in smalls.iter().enumerate() {
            assert_eq!(store.get(place.moved(smalls_to)).unwrap(), [n as u8; 9], "{n}");
        }
        let empty = store.put(b"");
        assert!(store.get(empty).unwrap().is_empty());
    }
}
