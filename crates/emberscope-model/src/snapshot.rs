//! A run as bytes and back: `read(write(run)) == run` at every door.
//!
//! Plans and their texts go to a file of their own, from which they are read when somebody asks for them.

use crate::blobs::BlobStore;
use crate::run::Run;
use borsh::{BorshDeserialize, BorshSerialize};
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Write};
use twox_hash::XxHash3_64;

/// What the bytes begin with. Another form needs another number.
const MAGIC: [u8; 8] = *b"EMBRUN\0\x01";
/// Bytes before the run: magic, hash of what follows it.
const HEAD_BYTES: usize = 16;

/// Why bytes are no run.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// They are of another form.
    #[error("not a run of this build")]
    Foreign,
    /// They are not what was written.
    #[error("damaged")]
    Damaged,
    /// They end early, or say what cannot be.
    #[error("not understood: {0}")]
    Malformed(#[from] io::Error),
}

/// Writes a run: plans to `blobs`, and gives the bytes of all else.
///
/// # Errors
/// Those of `blobs`, and of the temporary file that holds plans.
pub fn write(run: &Run, blobs: &mut impl Write) -> io::Result<Vec<u8>> {
    let lengths = run.blobs.write_to(blobs)?;
    let mut bytes = vec![0; HEAD_BYTES];
    lengths.serialize(&mut bytes)?;
    run.serialize(&mut bytes)?;
    let hash = hash_of(&bytes[HEAD_BYTES..]);
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..HEAD_BYTES].copy_from_slice(&hash.to_le_bytes());
    Ok(bytes)
}

/// Reads what [`write()`] wrote. `blobs` stays open as long as the run is there.
///
/// # Errors
/// The bytes are not those of a run.
pub fn read(bytes: &[u8], blobs: File) -> Result<Run, SnapshotError> {
    let (head, mut rest) = bytes.split_at_checked(HEAD_BYTES).ok_or(SnapshotError::Foreign)?;
    if head[..8] != MAGIC {
        return Err(SnapshotError::Foreign);
    }
    // Packed columns are read without looking whether they are well formed.
    if head[8..] != hash_of(rest).to_le_bytes() {
        return Err(SnapshotError::Damaged);
    }
    let lengths = Vec::<u32>::deserialize(&mut rest)?;
    let mut run = Run::deserialize(&mut rest)?;
    if !rest.is_empty() {
        return Err(SnapshotError::Damaged);
    }
    run.blobs = BlobStore::of_file(blobs, &lengths);
    Ok(run)
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = XxHash3_64::new();
    hasher.write(bytes);
    hasher.finish()
}
