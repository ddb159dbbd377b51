//! Rows for spans that come in the order of their starts, so that none hides another.

/// Gives rows: the lowest that is free.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// When each row is free again.
    free_ms: Vec<i64>,
    /// Most rows there are.
    most: Option<usize>,
}

impl Rows {
    /// Rows of an executor's slots: with all of them taken, a span comes into the one that is free first. The driver
    /// sees the end of a task late, and has filled its slot by then.
    pub(super) fn of_slots(slots: Option<u32>) -> Self {
        Rows { free_ms: Vec::new(), most: slots.filter(|slots| *slots > 0).map(|slots| slots as usize) }
    }

    /// The row of a span from `from` on, which is free again at `to`.
    pub(super) fn place(&mut self, from: i64, to: i64) -> u32 {
        let is_full = self.most.is_some_and(|most| self.free_ms.len() >= most);
        let first_free =
            || self.free_ms.iter().enumerate().min_by_key(|(_, free)| **free).map(|(row, _)| row);
        let free = self.free_ms.iter().position(|free| *free <= from);
        let row = match free.or_else(|| if is_full { first_free() } else { None }) {
            Some(row) => row,
            None => {
                self.free_ms.push(i64::MIN);
                self.free_ms.len() - 1
            }
        };
        // What takes no time still takes its place.
        self.free_ms[row] = to.max(from + 1);
        row as u32
    }

    /// Rows that were needed.
    pub(super) fn len(&self) -> u32 {
        self.free_ms.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_row() {
        let mut rows = Rows::default();
        let spans = [(0, 10), (5, 15), (10, 20), (10, 10), (10, 12), (12, 13)];
        let placed: Vec<u32> = spans.iter().map(|(from, to)| rows.place(*from, *to)).collect();
        assert_eq!(placed, [0, 1, 0, 2, 3, 2]);
        assert_eq!(rows.len(), 4);
    }

    #[test]
    fn no_more_rows_than_slots_and_each_in_turn() {
        let mut rows = Rows::of_slots(Some(2));
        // Ends that came a second late: none lies on the one before it.
        let placed: Vec<u32> = (0..6).map(|n| rows.place(n * 10, n * 10 + 1000)).collect();
        assert_eq!(placed, [0, 1, 0, 1, 0, 1]);
        assert_eq!(rows.len(), 2);
        let mut rows = Rows::of_slots(None);
        assert_eq!((0..3).map(|n| rows.place(n, 100)).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
