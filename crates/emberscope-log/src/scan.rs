//! From members to blocks on several threads, and back into order.
//!
//! There are no fixed roles: each thread takes the next block (reading and decoding it under one
//! lock, since decoding is serial), parses it, and hands the result to the merger, which takes blocks
//! in the order of the log. Decoding costs less than parsing, so threads rarely wait for each other.

use crate::block::{Block, MemberEnd};
use crate::codec::{Decoder, StreamEnd};
use crate::elide::Elider;
use crate::source::Member;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use twox_hash::XxHash3_64;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct ScanOptions {
    /// Threads that read and parse.
    pub threads: usize,
    /// Size of a block, bytes; a longer line makes a longer block.
    pub block_bytes: usize,
    /// Longest line held in memory; a longer one loses its large values.
    pub held_line_bytes: usize,
}

impl Default for ScanOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        ScanOptions { threads: threads.min(16), block_bytes: 1 << 20, held_line_bytes: 64 << 20 }
    }
}

/// Reads `members` in order, calls `parse` on blocks (on any thread, in any order) and `merge` on the
/// results (one at a time, in the order of the log). `progress` is told how many bytes of the files
/// have been consumed in all.
///
/// A member that cannot be opened or breaks off ends with a [`MemberEnd`] that says so; the next one
/// is read all the same.
pub fn scan<T: Send>(
    members: &[Member],
    options: ScanOptions,
    progress: &(dyn Fn(u64) + Sync),
    parse: impl Fn(&Block) -> T + Sync,
    merge: impl FnMut(T) + Send,
) {
    let reader = Mutex::new(Reader::new(|number| members.get(number).cloned(), options));
    let merger = Merger {
        state: Mutex::new(MergeState {
            next: 0,
            waiting: BTreeMap::new(),
            is_merging: false,
            stopped: false,
        }),
        merge: Mutex::new(merge),
        moved: Condvar::new(),
        most_waiting: 2 * options.threads + 2,
    };
    let work = || {
        let _guard = StopOnPanic(&merger);
        let mut spare = Vec::new();
        while merger.has_room() {
            let (block, read_bytes) = {
                let mut reader = lock(&reader);
                let block = reader.next_block(std::mem::take(&mut spare));
                (block, reader.read_bytes())
            };
            let Some(block) = block else { break };
            progress(read_bytes);
            merger.add(block.seq, parse(&block));
            spare = block.buffer;
            // A block that held a giant line is not kept for later.
            if spare.len() > 4 * options.block_bytes {
                spare = Vec::new();
            }
        }
    };
    if options.threads <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 1..options.threads {
                scope.spawn(work);
            }
            work();
        });
    }
}

/// A thread that panicked has been reported by the runtime; its lock's data is not used further.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct MergeState<T> {
    next: u64,
    waiting: BTreeMap<u64, T>,
    /// Some thread is at it, and will look for more when it is done.
    is_merging: bool,
    stopped: bool,
}

struct Merger<T, M> {
    state: Mutex<MergeState<T>>,
    /// Apart from the state, so that results can be left while others are merged.
    merge: Mutex<M>,
    moved: Condvar,
    most_waiting: usize,
}

impl<T, M: FnMut(T)> Merger<T, M> {
    /// Waits until another block may be read; false when a thread has failed. Memory stays bounded
    /// when one block takes long: results behind it wait, and so do their readers.
    fn has_room(&self) -> bool {
        let mut state = lock(&self.state);
        while state.waiting.len() >= self.most_waiting && !state.stopped {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.stopped
    }

    /// Leaves a result, and merges all whose turn it is unless another thread does.
    fn add(&self, seq: u64, result: T) {
        let mut state = lock(&self.state);
        state.waiting.insert(seq, result);
        if state.is_merging {
            return;
        }
        state.is_merging = true;
        let mut merge = lock(&self.merge);
        loop {
            let next = state.next;
            let Some(result) = state.waiting.remove(&next) else { break };
            state.next += 1;
            drop(state);
            self.moved.notify_all();
            merge(result);
            state = lock(&self.state);
        }
        state.is_merging = false;
        self.moved.notify_all();
    }
}

/// Wakes the other threads when one of them unwinds, so that a bug ends in a message, not in a hang.
struct StopOnPanic<'a, T, M>(&'a Merger<T, M>);

impl<T, M> Drop for StopOnPanic<'_, T, M> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.state).stopped = true;
            self.0.moved.notify_all();
        }
    }
}

/// Cuts the decoded bytes of the members into blocks of whole lines.
pub(crate) struct Reader<M> {
    /// The member of a number, from 0; `None` behind the last one.
    members: M,
    options: ScanOptions,
    /// Whether a block ends as soon as it has a line: more may not come for a while.
    is_eager: bool,
    next_member: usize,
    current: Option<Decoder>,
    /// Bytes after the last line end of the block before.
    carry: Vec<u8>,
    seq: u64,
    finished_bytes: u64,
    content: XxHash3_64,
}

impl<M: FnMut(usize) -> Option<Member>> Reader<M> {
    pub(crate) fn new(members: M, options: ScanOptions) -> Self {
        Reader {
            members,
            options,
            is_eager: false,
            next_member: 0,
            current: None,
            carry: Vec::new(),
            seq: 0,
            finished_bytes: 0,
            content: XxHash3_64::new(),
        }
    }

    /// A reader that hands on what came, however little it is.
    pub(crate) fn eager(members: M, options: ScanOptions) -> Self {
        Reader { is_eager: true, ..Reader::new(members, options) }
    }

    fn read_bytes(&self) -> u64 {
        self.finished_bytes + self.current.as_ref().map_or(0, Decoder::raw_bytes)
    }

    /// The next block, made in `buffer`; `None` at the end.
    pub(crate) fn next_block(&mut self, buffer: Vec<u8>) -> Option<Block> {
        let decoder = match self.current.take() {
            Some(decoder) => decoder,
            None => {
                let member = (self.members)(self.next_member)?;
                self.next_member += 1;
                match member.open() {
                    Ok(decoder) => decoder,
                    Err(error) => return Some(self.unreadable_member(&error.to_string())),
                }
            }
        };
        Some(self.fill_block(decoder, buffer))
    }

    fn block(&mut self, buffer: Vec<u8>, len: usize, elided_lines: u32) -> Block {
        let seq = self.seq;
        self.seq += 1;
        Block {
            seq,
            member: self.next_member - 1,
            buffer,
            len,
            member_end: None,
            elided_lines,
            is_overlong: false,
        }
    }

    fn unreadable_member(&mut self, reason: &str) -> Block {
        let end = StreamEnd::Corrupt { reason: reason.to_owned() };
        let mut block = self.block(Vec::new(), 0, 0);
        block.member_end = Some(MemberEnd {
            end,
            codec: None,
            raw_bytes: 0,
            decoded_bytes: 0,
            content_hash: self.content.finish(),
        });
        block
    }

    fn fill_block(&mut self, mut decoder: Decoder, mut buffer: Vec<u8>) -> Block {
        let mut len = self.carry.len();
        grow(&mut buffer, len.max(self.options.block_bytes));
        buffer[..len].copy_from_slice(&self.carry);
        self.carry.clear();
        let mut searched = 0;
        loop {
            if len == buffer.len() {
                // Full. A block ends with its last line end; without one, a long line goes on.
                if let Some(newline) = memchr::memrchr(b'\n', &buffer[searched..len]) {
                    let end = searched + newline + 1;
                    self.carry.extend_from_slice(&buffer[end..len]);
                    self.current = Some(decoder);
                    return self.block(buffer, end, 0);
                }
                searched = len;
                if len >= self.options.held_line_bytes {
                    return self.elide_line(decoder, buffer, len);
                }
                let larger = (2 * len).min(self.options.held_line_bytes.max(len + 1));
                grow(&mut buffer, larger);
            }
            match decoder.read(&mut buffer[len..]) {
                0 => return self.last_block(&decoder, buffer, len, 0),
                n => {
                    self.content.write(&buffer[len..len + n]);
                    let before = len;
                    len += n;
                    if self.is_eager
                        && let Some(newline) = memchr::memrchr(b'\n', &buffer[before..len])
                    {
                        let end = before + newline + 1;
                        self.carry.extend_from_slice(&buffer[end..len]);
                        self.current = Some(decoder);
                        return self.block(buffer, end, 0);
                    }
                }
            }
        }
    }

    fn last_block(&mut self, decoder: &Decoder, buffer: Vec<u8>, len: usize, elided_lines: u32) -> Block {
        self.finished_bytes += decoder.raw_bytes();
        let mut block = self.block(buffer, len, elided_lines);
        block.member_end = Some(MemberEnd {
            end: decoder.end().cloned().unwrap_or(StreamEnd::Complete),
            codec: Some(decoder.codec()),
            raw_bytes: decoder.raw_bytes(),
            decoded_bytes: decoder.decoded_bytes(),
            content_hash: self.content.finish(),
        });
        block
    }

    /// Streams the line that fills `buffer` to its end, keeping its small values.
    fn elide_line(&mut self, mut decoder: Decoder, mut buffer: Vec<u8>, len: usize) -> Block {
        let mut elider = Elider::new((self.options.held_line_bytes / 4).max(64 << 10));
        elider.feed(&buffer[..len]);
        buffer.truncate(self.options.block_bytes.max(1));
        loop {
            let n = decoder.read(&mut buffer);
            if n == 0 {
                let is_overlong = elider.is_full();
                let line = elider.finish();
                let len = line.len();
                let mut block = self.last_block(&decoder, line, len, 1);
                block.is_overlong = is_overlong;
                return block;
            }
            self.content.write(&buffer[..n]);
            if let Some(newline) = memchr::memchr(b'\n', &buffer[..n]) {
                elider.feed(&buffer[..newline]);
                self.carry.extend_from_slice(&buffer[newline + 1..n]);
                self.current = Some(decoder);
                let is_overlong = elider.is_full();
                let mut line = elider.finish();
                line.push(b'\n');
                let len = line.len();
                let mut block = self.block(line, len, 1);
                block.is_overlong = is_overlong;
                return block;
            }
            elider.feed(&buffer[..n]);
        }
    }
}

fn grow(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
}
