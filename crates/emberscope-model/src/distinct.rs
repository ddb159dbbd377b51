//! Sets of small numbers: indexes and partitions run from 0.

use rustc_hash::FxHashSet;

/// Numbers below this are bits, the others (none in a log that Spark wrote) are hashed.
const DENSE: i64 = 1 << 24;

/// A set of numbers that are mostly small and dense.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distinct {
    words: Vec<u64>,
    far: FxHashSet<i64>,
    len: u64,
}

impl Distinct {
    /// Adds a number; false when it was there.
    #[inline]
    pub(crate) fn insert(&mut self, number: i64) -> bool {
        let is_new = if (0..DENSE).contains(&number) {
            let (word, bit) = (number as usize / 64, number % 64);
            if self.words.len() <= word {
                self.words.resize((word + 1).max(2 * self.words.len()), 0);
            }
            let is_new = self.words[word] >> bit & 1 == 0;
            self.words[word] |= 1 << bit;
            is_new
        } else {
            self.far.insert(number)
        };
        self.len += u64::from(is_new);
        is_new
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Makes it empty.
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.far.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_counts_once() {
        let mut set = Distinct::default();
        for number in [0, 63, 64, 0, 64, -1, -1, i64::MIN, i64::MAX, DENSE, DENSE - 1, DENSE] {
            set.insert(number);
        }
        assert_eq!(set.len(), 8);
        set.clear();
        assert!(set.insert(0) && set.insert(-1) && set.len() == 2);
    }
}
