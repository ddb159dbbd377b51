//! Packed columns of integers: what makes a task cost tens of bytes instead of hundreds.
//!
//! A chunk holds up to [`CHUNK_ROWS`] rows of one stage attempt. Each column that has any value is
//! written once, as a base and fixed-width differences; a constant column costs a few bytes, an
//! absent one nothing. A column where only some rows have a value carries a bitmap.

use borsh::{BorshDeserialize, BorshSerialize};

/// Rows of a full chunk. Small enough that rows waiting to be packed stay in the cache.
pub const CHUNK_ROWS: usize = 1024;

/// Column keys below this are task columns, from here on accumulators of the segment's dictionary.
pub const FIRST_ACCUMULATOR_KEY: u32 = 64;

/// Room behind the last bit, so that a value can always be read as eight bytes.
const PADDING: usize = 8;

/// Some rows of a stage attempt, packed.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct PackedChunk {
    rows: u32,
    bytes: Box<[u8]>,
}

/// Builds a [`PackedChunk`] column by column.
#[derive(Debug)]
pub struct ChunkWriter {
    rows: usize,
    bytes: Vec<u8>,
}

/// Reads a number of variable length; the chunk's own bytes are always well formed, so a short read
/// gives 0.
fn read_varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0u64;
    let mut shift = 0;
    while let Some(&byte) = bytes.get(*at) {
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 || shift >= 63 {
            break;
        }
        shift += 7;
    }
    value
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

impl ChunkWriter {
    /// A chunk of `rows` rows.
    pub fn new(rows: usize) -> Self {
        ChunkWriter { rows, bytes: Vec::with_capacity(rows * 48) }
    }

    /// Adds a column that every row has. Columns are added in any order, each key once.
    pub fn dense(&mut self, key: u32, values: &[i64]) {
        debug_assert_eq!(values.len(), self.rows);
        if !values.is_empty() {
            self.column(key, None, values);
        }
    }

    /// Adds a column that the rows marked in `bitmap` have; `values` are theirs, in order.
    pub fn sparse(&mut self, key: u32, bitmap: &[u8], values: &[i64]) {
        debug_assert_eq!(bitmap.len(), self.rows.div_ceil(8));
        if values.len() == self.rows {
            self.dense(key, values);
        } else if !values.is_empty() {
            self.column(key, Some(bitmap), values);
        }
    }

    fn column(&mut self, key: u32, bitmap: Option<&[u8]>, values: &[i64]) {
        let base = values.iter().copied().min().unwrap_or(0);
        let top = values.iter().copied().max().unwrap_or(0);
        let spread = top.wrapping_sub(base) as u64;
        let width = 64 - spread.leading_zeros();
        write_varint(&mut self.bytes, u64::from(key) << 1 | u64::from(bitmap.is_some()));
        self.bytes.push(width as u8);
        write_varint(&mut self.bytes, zigzag(base));
        write_varint(&mut self.bytes, values.len() as u64);
        if let Some(bitmap) = bitmap {
            self.bytes.extend_from_slice(bitmap);
        }
        if width == 0 {
            return;
        }
        let mut pending = 0u128;
        let mut pending_bits = 0;
        for &value in values {
            pending |= u128::from(value.wrapping_sub(base) as u64) << pending_bits;
            pending_bits += width;
            while pending_bits >= 8 {
                self.bytes.push(pending as u8);
                pending >>= 8;
                pending_bits -= 8;
            }
        }
        if pending_bits > 0 {
            self.bytes.push(pending as u8);
        }
    }

    /// The chunk.
    pub fn finish(mut self) -> PackedChunk {
        self.bytes.extend_from_slice(&[0; PADDING]);
        PackedChunk { rows: self.rows as u32, bytes: self.bytes.into_boxed_slice() }
    }
}

/// A column found in a chunk.
pub(crate) struct ColumnView<'a> {
    pub(crate) key: u32,
    bitmap: Option<&'a [u8]>,
    base: i64,
    width: u32,
    n_values: usize,
    /// Packed values and everything behind them.
    data: &'a [u8],
}

impl ColumnView<'_> {
    #[inline]
    fn value(&self, position: usize) -> i64 {
        if self.width == 0 {
            return self.base;
        }
        let bit = position * self.width as usize;
        let (byte, shift) = (bit / 8, bit % 8);
        let low =
            self.data.get(byte..byte + 8).map_or(0, |bytes| bytes.try_into().map_or(0, u64::from_le_bytes));
        let mut value = low >> shift;
        if shift + self.width as usize > 64 {
            value |= u64::from(self.data.get(byte + 8).copied().unwrap_or(0)) << (64 - shift);
        }
        if self.width < 64 {
            value &= (1 << self.width) - 1;
        }
        self.base.wrapping_add(value as i64)
    }

    /// Calls `each` with every value, whatever its row.
    pub(crate) fn for_each_value(&self, each: impl FnMut(i64)) {
        (0..self.n_values).map(|position| self.value(position)).for_each(each);
    }

    pub(crate) fn for_each(&self, rows: usize, mut each: impl FnMut(usize, i64)) {
        match self.bitmap {
            None => (0..rows).for_each(|row| each(row, self.value(row))),
            Some(bitmap) => {
                let mut position = 0;
                for row in 0..rows {
                    if bitmap[row / 8] >> (row % 8) & 1 == 1 {
                        each(row, self.value(position));
                        position += 1;
                    }
                }
            }
        }
    }
}

impl PackedChunk {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + size_of::<Self>()
    }

    pub(crate) fn columns(&self) -> impl Iterator<Item = ColumnView<'_>> {
        let bytes = &self.bytes[..];
        let end = bytes.len() - PADDING;
        let bitmap_len = self.rows().div_ceil(8);
        let mut at = 0;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let head = read_varint(bytes, &mut at);
            let width = u32::from(bytes[at]);
            at += 1;
            let base = unzigzag(read_varint(bytes, &mut at));
            let n_values = read_varint(bytes, &mut at) as usize;
            let bitmap = (head & 1 == 1).then(|| &bytes[at..at + bitmap_len]);
            at += bitmap.map_or(0, <[u8]>::len);
            let data = &bytes[at..];
            at += (n_values * width as usize).div_ceil(8);
            Some(ColumnView { key: (head >> 1) as u32, bitmap, base, width, n_values, data })
        })
    }

    /// Calls `each` with row and value for every row that has the column.
    pub fn for_each(&self, key: u32, each: impl FnMut(usize, i64)) {
        if let Some(column) = self.columns().find(|column| column.key == key) {
            column.for_each(self.rows(), each);
        }
    }

    /// Calls `each` with key, row and value for every accumulator column.
    pub fn for_each_accumulator(&self, mut each: impl FnMut(u32, usize, i64)) {
        for column in self.columns().filter(|column| column.key >= FIRST_ACCUMULATOR_KEY) {
            column.for_each(self.rows(), |row, value| each(column.key, row, value));
        }
    }

    /// Calls `each` with key and sum of every column below `end`.
    pub fn for_each_sum_below(&self, end: u32, mut each: impl FnMut(u32, i64)) {
        for column in self.columns().filter(|column| column.key < end) {
            let sum = if column.width == 0 {
                column.base.wrapping_mul(column.n_values as i64)
            } else {
                (0..column.n_values).fold(0i64, |sum, position| sum.wrapping_add(column.value(position)))
            };
            each(column.key, sum);
        }
    }

    /// Calls `each` with key, row and value for every column below `end`.
    pub fn for_each_below(&self, end: u32, mut each: impl FnMut(u32, usize, i64)) {
        for column in self.columns().filter(|column| column.key < end) {
            column.for_each(self.rows(), |row, value| each(column.key, row, value));
        }
    }

    /// Keys below `end` of columns that have another value than 0.
    pub fn nonzero_below(&self, end: u32) -> impl Iterator<Item = u32> {
        let others = |column: &ColumnView<'_>| column.base != 0 || column.width > 0;
        self.columns().filter(others).map(|column| column.key).filter(move |key| *key < end)
    }

    /// Writes the values of several columns, which are as long as the chunk, in one pass.
    pub fn gather<const N: usize>(&self, keys: [u32; N], values: &mut [Vec<i64>; N]) {
        for column in self.columns() {
            if let Some(nth) = keys.iter().position(|key| *key == column.key) {
                let values = &mut values[nth][..self.rows()];
                column.for_each(values.len(), |row, value| values[row] = value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(chunk: &PackedChunk, key: u32) -> Vec<(usize, i64)> {
        let mut found = Vec::new();
        chunk.for_each(key, |row, value| found.push((row, value)));
        found
    }

    fn any_column(rows: usize) -> impl Strategy<Value = Vec<Option<i64>>> {
        let value = prop_oneof![
            Just(Some(5i64)),
            (0i64..100).prop_map(Some),
            (1_700_000_000_000i64..1_700_000_100_000).prop_map(Some),
            any::<i64>().prop_map(Some),
            Just(None),
        ];
        proptest::collection::vec(value, rows)
    }

    proptest! {
        #[test]
        fn what_is_packed_is_read(columns in (1usize..70).prop_flat_map(|rows| {
            proptest::collection::vec(any_column(rows), 1..6)
        })) {
            let rows = columns[0].len();
            let mut writer = ChunkWriter::new(rows);
            for (key, column) in columns.iter().enumerate() {
                let values: Vec<i64> = column.iter().copied().flatten().collect();
                let mut bitmap = vec![0u8; rows.div_ceil(8)];
                for (row, value) in column.iter().enumerate() {
                    if value.is_some() {
                        bitmap[row / 8] |= 1 << (row % 8);
                    }
                }
                writer.sparse(key as u32 * 60, &bitmap, &values);
            }
            let chunk = writer.finish();
            let mut sums = std::collections::BTreeMap::new();
            let mut gathered = [(); 3].map(|()| vec![-1; rows]);
            chunk.for_each_sum_below(u32::MAX, |key, sum| { sums.insert(key, sum); });
            chunk.gather([0, 60, 61], &mut gathered);
            for (key, column) in columns.iter().enumerate() {
                let expected: Vec<(usize, i64)> =
                    column.iter().enumerate().filter_map(|(row, value)| Some((row, (*value)?))).collect();
                let total = expected.iter().fold(0i64, |sum, (_, value)| sum.wrapping_add(*value));
                prop_assert_eq!(sums.get(&(key as u32 * 60)).copied(), (!expected.is_empty()).then_some(total));
                prop_assert_eq!(read(&chunk, key as u32 * 60), expected);
                if let Some(gathered) = gathered[..2].get(key) {
                    let values: Vec<i64> = column.iter().map(|value| value.unwrap_or(-1)).collect();
                    prop_assert_eq!(gathered, &values);
                }
            }
        }
    }

    #[test]
    fn a_constant_column_costs_bytes_not_kilobytes() {
        let mut writer = ChunkWriter::new(1000);
        writer.dense(3, &[1_700_000_000_000; 1000]);
        assert!(writer.finish().memory_bytes() < 64);
    }
}
