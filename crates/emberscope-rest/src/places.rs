//! In which stage attempts the metrics of an operator were counted.
//!
//! A displayed value names the task with the largest share only where several tasks had one, and a sum never does.
//! What a stage read or wrote tells the rest: the records of a shuffle are those of the stage that wrote them and of
//! the one that read them. Operators between two exchanges ran in one stage.

use crate::shapes::Stage;
use crate::values::Kind;

/// A stage attempt.
pub(crate) type Place = (u32, u32);

/// A metric of an operator.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Accumulator.
    pub(crate) id: u64,
    /// Total, or of an average the largest.
    pub(crate) value: Option<i64>,
    /// Where it was counted; `None` while it is not known, or if the driver did.
    pub(crate) place: Option<Place>,
}

/// An operator of a plan in pre-order.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    pub(crate) metrics: Vec<Measured>,
}

/// Which side of an operator a metric is counted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// In the stage that gives it rows.
    Below,
    /// In the stage that takes its rows, which mostly is the same.
    Above,
    /// By the driver.
    Driver,
}

/// What separates stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Border {
    /// Rows pass within a task.
    None,
    /// A shuffle: written in one stage, read in another.
    Shuffle,
    /// What is cached is computed below, perhaps earlier, and read above.
    Cache,
    /// The driver is between.
    Driver,
}

/// Names of metrics that the driver counts, by how they begin.
const OF_DRIVER: [&str; 8] = [
    "number of partitions",
    "number of files",
    "static number of files",
    "size of files",
    "static size of files",
    "metadata time",
    "dynamic partition pruning time",
    "number of dynamic part",
];

/// Operators whose metrics the driver counts, but for what their tasks take to commit
/// (`BasicWriteJobStatsTracker`, `AQEShuffleReadExec`).
const DRIVERS: [&str; 5] = ["AQEShuffleRead", "Execute ", "AppendData", "Overwrite", "WriteToDataSource"];

impl Placed {
    fn border(&self) -> Border {
        let is = |part: &str| self.name.contains(part);
        if self.metrics.iter().any(|metric| metric.name == WRITTEN) || self.name == "ReusedExchange" {
            Border::Shuffle
        } else if is("InMemoryTableScan") || is("Scan In-memory table") {
            Border::Cache
        } else if is("Broadcast") && is("Exchange") || is("Subquery") {
            Border::Driver
        } else {
            Border::None
        }
    }

    fn side(&self, metric: &str) -> Side {
        let is_of_driver =
            DRIVERS.iter().any(|start| self.name.starts_with(start)) && metric != "task commit time";
        if is_of_driver || OF_DRIVER.iter().any(|start| metric.starts_with(start)) {
            return Side::Driver;
        }
        match self.border() {
            Border::Shuffle if ["read", "fetch", "blocks"].iter().any(|part| metric.contains(part)) => {
                Side::Above
            }
            Border::Shuffle => Side::Below,
            Border::None | Border::Cache => Side::Above,
            Border::Driver => Side::Driver,
        }
    }

    fn total(&self, metric: &str) -> Option<i64> {
        self.metrics.iter().find(|one| one.name == metric)?.value
    }
}

const WRITTEN: &str = "shuffle records written";
const READ: &str = "records read";
const ROWS: &str = "number of output rows";

/// Operators that run in one stage.
#[derive(Debug, Default)]
struct Region {
    /// Where, by a metric that names a task of it.
    named: Option<Place>,
    /// Records that its shuffles gave it; `None` if one of them is not told.
    read: Option<i64>,
    /// Records that it gave to a shuffle.
    written: i64,
    /// Rows of its scans; `None` if something else is where rows come from.
    scanned: Option<i64>,
}

impl Region {
    fn new() -> Self {
        Region { read: Some(0), scanned: Some(0), ..Region::default() }
    }

    /// The one stage that read and wrote as much.
    fn sought(&self, stages: &[&Stage]) -> Option<Place> {
        let read = self.read?;
        let is_like = |stage: &&&Stage| {
            let is_shuffling = read > 0 || self.written > 0;
            stage.shuffle_read_records == read
                && stage.shuffle_write_records == self.written
                && (is_shuffling || self.scanned.is_some_and(|rows| rows > 0 && rows == stage.input_records))
        };
        let mut alike = stages.iter().filter(is_like);
        let found = alike.next()?;
        // Of two that are alike none is the one.
        alike.next().is_none().then_some((found.stage_id, found.attempt_id))
    }
}

/// Finds the places of metrics that have none, as far as they can be told. `stages` are the query's that ran.
pub(crate) fn find(operators: &mut [Placed], stages: &[&Stage]) {
    let mut regions: Vec<Region> = Vec::new();
    // The regions of operators: which takes its rows, and which gives them to it.
    let (mut above, mut below): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut has_input = vec![false; operators.len()];
    for it in operators.iter() {
        let mut fresh = || {
            regions.push(Region::new());
            regions.len() - 1
        };
        let upper = match it.parent {
            Some(parent) => below[parent],
            None => fresh(),
        };
        above.push(upper);
        below.push(if it.border() == Border::None { upper } else { fresh() });
        if let Some(parent) = it.parent {
            has_input[parent] = true;
        }
    }
    let region_of = |index: usize, side| match side {
        Side::Above => Some(above[index]),
        Side::Below => Some(below[index]),
        Side::Driver => None,
    };
    for (index, it) in operators.iter().enumerate() {
        for metric in &it.metrics {
            if let (Some(region), Some(_)) = (region_of(index, it.side(&metric.name)), metric.place) {
                regions[region].named = regions[region].named.or(metric.place);
            }
        }
        match it.border() {
            Border::Shuffle => {
                let region = &mut regions[above[index]];
                region.read = region.read.zip(it.total(READ)).map(|(sum, read)| sum.saturating_add(read));
                regions[below[index]].written = it.total(WRITTEN).unwrap_or(0);
            }
            Border::None if !has_input[index] => {
                let rows = it.total(ROWS).filter(|_| it.name.contains("Scan"));
                let region = &mut regions[above[index]];
                region.scanned = region.scanned.zip(rows).map(|(sum, rows)| sum.saturating_add(rows));
            }
            // Counted as batches, or not at all.
            Border::Cache => regions[above[index]].scanned = None,
            Border::None | Border::Driver => {}
        }
    }
    let places: Vec<Option<Place>> =
        regions.iter().map(|region| region.named.or_else(|| region.sought(stages))).collect();
    for (index, it) in operators.iter_mut().enumerate() {
        let sides: Vec<Side> = it.metrics.iter().map(|metric| it.side(&metric.name)).collect();
        for (metric, side) in it.metrics.iter_mut().zip(sides) {
            metric.place = metric.place.or_else(|| places[region_of(index, side)?]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(name: &str, parent: Option<usize>, metrics: &[(&str, i64, Option<Place>)]) -> Placed {
        let measured = |(name, value, place): &(&str, i64, Option<Place>)| Measured {
            name: (*name).to_owned(),
            kind: Kind::Sum,
            id: 0,
            value: Some(*value),
            place: *place,
        };
        Placed { name: name.to_owned(), parent, metrics: metrics.iter().map(measured).collect() }
    }

    fn stage(stage_id: u32, input: i64, read: i64, written: i64) -> Stage {
        Stage {
            stage_id,
            input_records: input,
            shuffle_read_records: read,
            shuffle_write_records: written,
            ..Stage::default()
        }
    }

    /// Places by operator and metric.
    fn found(mut operators: Vec<Placed>, stages: &[Stage]) -> Vec<Vec<Option<Place>>> {
        find(&mut operators, &stages.iter().collect::<Vec<_>>());
        operators.iter().map(|it| it.metrics.iter().map(|metric| metric.place).collect()).collect()
    }

    fn aggregate() -> Vec<Placed> {
        vec![
            operator("HashAggregate", None, &[("number of output rows", 7, None)]),
            operator(
                "Exchange",
                Some(0),
                &[("shuffle records written", 70, None), ("records read", 70, None)],
            ),
            operator("HashAggregate", Some(1), &[("number of output rows", 70, None)]),
            operator(
                "Scan csv",
                Some(2),
                &[("number of output rows", 900, None), ("number of files read", 3, None)],
            ),
        ]
    }

    #[test]
    fn one_task_stages_by_their_records() {
        let stages = [stage(4, 900, 0, 70), stage(5, 0, 70, 0)];
        let (map, reduce) = (Some((4, 0)), Some((5, 0)));
        assert_eq!(
            found(aggregate(), &stages),
            [vec![reduce], vec![map, reduce], vec![map], vec![map, None]]
        );
    }

    #[test]
    fn what_is_alike_is_not_told() {
        let stages = [stage(4, 900, 0, 70), stage(5, 0, 70, 0), stage(6, 900, 0, 70), stage(7, 0, 70, 0)];
        assert_eq!(found(aggregate(), &stages), [vec![None], vec![None; 2], vec![None], vec![None; 2]]);
    }

    #[test]
    fn a_broadcast_is_a_border() {
        let operators = vec![
            operator("BroadcastHashJoin", None, &[("number of output rows", 7, None)]),
            operator(
                "Scan csv",
                Some(0),
                &[("number of output rows", 7, None), ("scan time", 1, Some((9, 1)))],
            ),
            operator("BroadcastExchange", Some(0), &[("data size", 70, None)]),
            operator("Filter", Some(2), &[("number of output rows", 3, None)]),
            operator("Scan csv", Some(3), &[("number of output rows", 5, None)]),
        ];
        let (probe, build) = (Some((9, 1)), Some((8, 0)));
        let stages = [stage(8, 5, 0, 0)];
        assert_eq!(
            found(operators, &stages),
            [vec![probe], vec![probe, probe], vec![None], vec![build], vec![build]]
        );
    }
}
