//! Rows for spans that come in the order of their starts, so that none hides another.

/// Gives rows: the lowest that is free.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// When each row is free again.
    free_ms: Vec<i64>,
}

impl Rows {
    /// The row of a span from `from` on, which is free again at `to`.
    pub(super) fn place(&mut self, from: i64, to: i64) -> u32 {
        let row = match self.free_ms.iter().position(|free| *free <= from) {
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
}
