//! What of the run is shown in so many pixels.

use super::index::{Item, TimelineIndex};
use super::{DENSITY, Density, LANES, Lane, STATUSES, TASK_PARTS, TaskSpans, Timeline, WHOLE};
use schemars::JsonSchema;
use serde::Serialize;

/// What lanes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LaneKind {
    /// A lane for each executor.
    #[default]
    Executors,
    /// A lane for each host.
    Hosts,
    /// A lane for each stage attempt.
    Stages,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Query {
    /// Begin, since the run's start.
    pub from_ms: i64,
    /// End.
    pub to_ms: i64,
    /// Width of the picture.
    pub width_px: u32,
    /// What lanes are.
    pub lanes: LaneKind,
    /// Lanes to leave out.
    pub offset: usize,
    /// Most lanes.
    pub limit: usize,
    /// Only what belongs to this stage.
    pub stage: Option<u32>,
    /// Only what belongs to this job.
    pub job: Option<u32>,
    /// Only what belongs to this SQL execution.
    pub sql: Option<u64>,
}

/// Attempts of a lane: positions among all, with their rows.
enum Members<'i> {
    Executor(std::ops::Range<usize>),
    Host(&'i [(usize, u32)]),
    Stage(&'i [(u32, u32)]),
}

/// The run, or a part of it, over time.
pub fn timeline(index: &TimelineIndex, query: &Query) -> Timeline {
    let (from, to) = (query.from_ms, query.to_ms.max(query.from_ms + 1));
    let width = f64::from(query.width_px.clamp(16, 16_384));
    let px_ms = (to - from) as f64 / width;
    let wanted: Vec<bool> = index
        .stages
        .iter()
        .map(|stage| {
            query.stage.is_none_or(|id| id == stage.id)
                && query.job.is_none_or(|id| stage.job_id == Some(id))
                && query.sql.is_none_or(|id| stage.sql_id == Some(id))
        })
        .collect();
    let (lanes_total, mut lanes) = lanes(index, query, from, to, &wanted);
    let is_inside = |item: &Item| item.from_ms <= to && item.to_ms >= from && wanted[item.stage as usize];
    let mut lengths = Lengths::new(px_ms);
    for (_, members) in &lanes {
        index.each(members, |item, _| {
            if is_inside(item) {
                lengths.add(item);
            }
        });
    }
    let whole_from_ms = lengths.limit();
    let per_lane = (DENSITY / lanes.len().max(1)).clamp(3, (width / 2.0) as usize);
    let piece_ms = ((to - from) as f64 / per_lane as f64).max(px_ms);
    for (lane, members) in &mut lanes {
        let mut pieces = Pieces::new(from, to, piece_ms);
        let tasks = &mut lane.tasks;
        index.each(members, |item, row| {
            if !is_inside(item) {
                return;
            }
            if (item.to_ms - item.from_ms) as f64 >= whole_from_ms {
                let stage = index.stages[item.stage as usize];
                tasks.push(item, (stage.id, stage.attempt), row);
            } else {
                pieces.add(item);
            }
        });
        lane.density = pieces.finish();
    }
    let of_job = |span: &super::Span| query.sql.is_none_or(|id| span.sql_id == Some(id));
    Timeline {
        start_time_ms: index.clock.start_ms,
        duration_ms: index.clock.duration_ms(),
        from_ms: from,
        to_ms: to,
        ms_per_px: px_ms,
        whole_from_ms,
        sql: index.sql.between(from, to, px_ms, |span| {
            query.sql.is_none_or(|id| span.id == id || span.sql_id == Some(id))
        }),
        jobs: index.jobs.between(from, to, px_ms, |span| {
            of_job(span) && query.job.is_none_or(|id| span.id == u64::from(id))
        }),
        stages: index.stage_band.between(from, to, px_ms, |span| {
            of_job(span)
                && query.job.is_none_or(|id| span.job_id == Some(id))
                && query.stage.is_none_or(|id| span.id == u64::from(id))
        }),
        lane_kind: query.lanes,
        lanes_total,
        lanes_offset: query.offset,
        lanes: lanes.into_iter().map(|(lane, _)| lane).collect(),
        attempts: lengths.all,
        part_keys: TASK_PARTS,
        statuses: STATUSES,
    }
}

/// The lanes that are asked for, still empty, and how many there are.
fn lanes<'i>(
    index: &'i TimelineIndex,
    query: &Query,
    from: i64,
    to: i64,
    wanted: &[bool],
) -> (usize, Vec<(Lane, Members<'i>)>) {
    let window = |all: Vec<(Lane, Members<'i>)>| {
        (all.len(), all.into_iter().skip(query.offset).take(query.limit.min(LANES)).collect())
    };
    match query.lanes {
        LaneKind::Executors => window(index.executors.iter().map(executor_lane).collect()),
        LaneKind::Hosts => window(
            index
                .hosts
                .iter()
                .map(|host| {
                    let name = host.host.clone();
                    let lane = Lane { host: Some(name.clone()), cores: host.cores, ..empty(name, host.rows) };
                    (lane, Members::Host(&host.executors))
                })
                .collect(),
        ),
        LaneKind::Stages => {
            let lanes = index.stage_lanes.iter().enumerate();
            let mut shown: Vec<usize> = lanes
                .filter(|(at, lane)| {
                    wanted[*at] && !lane.items.is_empty() && lane.from_ms <= to && lane.to_ms >= from
                })
                .map(|(at, _)| at)
                .collect();
            shown.sort_by_key(|at| (index.stage_lanes[*at].from_ms, *at));
            let lane = |at: usize| {
                let (place, lane) = (&index.stages[at], &index.stage_lanes[at]);
                let shown = Lane {
                    stage_id: Some(place.id),
                    stage_attempt: Some(place.attempt),
                    from_ms: Some(lane.from_ms),
                    to_ms: Some(lane.to_ms),
                    ..empty(format!("stage {}.{}", place.id, place.attempt), lane.rows)
                };
                (shown, Members::Stage(&lane.items))
            };
            window(shown.into_iter().map(lane).collect())
        }
    }
}

fn executor_lane(executor: &super::index::ExecutorLane) -> (Lane, Members<'_>) {
    let lane = Lane {
        executor_id: Some(executor.id.clone()),
        host: executor.host.clone(),
        cores: executor.cores,
        from_ms: executor.from_ms,
        to_ms: executor.to_ms,
        ..empty(format!("executor {}", executor.id), executor.rows)
    };
    (lane, Members::Executor(executor.items.clone()))
}

fn empty(name: String, rows: u32) -> Lane {
    Lane {
        name,
        executor_id: None,
        host: None,
        stage_id: None,
        stage_attempt: None,
        cores: None,
        from_ms: None,
        to_ms: None,
        rows,
        tasks: TaskSpans::default(),
        density: Density::default(),
    }
}

impl TimelineIndex {
    /// Calls `each` with the attempts of a lane and their rows in it.
    fn each(&self, members: &Members<'_>, mut each: impl FnMut(&Item, u32)) {
        match members {
            Members::Executor(range) => {
                self.items[range.clone()].iter().for_each(|item| each(item, u32::from(item.row)));
            }
            Members::Host(executors) => {
                for (executor, first_row) in *executors {
                    let items = &self.items[self.executors[*executor].items.clone()];
                    items.iter().for_each(|item| each(item, first_row + u32::from(item.row)));
                }
            }
            Members::Stage(items) => {
                items.iter().for_each(|(at, row)| each(&self.items[*at as usize], *row));
            }
        }
    }
}

/// Attempts by their length in pixels, in powers of two, from which the limit follows above which they are shown
/// whole.
struct Lengths {
    px_ms: f64,
    all: usize,
    /// Below one pixel, then from 1, 2, 4, … pixels on.
    counts: [usize; 40],
}

impl Lengths {
    fn new(px_ms: f64) -> Self {
        Lengths { px_ms, all: 0, counts: [0; 40] }
    }

    fn add(&mut self, item: &Item) {
        self.all += 1;
        let pixels = (item.to_ms - item.from_ms) as f64 / self.px_ms;
        let class = if pixels < 1.0 { 0 } else { 1 + pixels.log2() as usize };
        self.counts[class.min(39)] += 1;
    }

    /// Milliseconds from which on attempts are shown whole.
    fn limit(&self) -> f64 {
        // Where all have room, there is none too short.
        if self.all <= WHOLE {
            return 0.0;
        }
        let mut shown = 0;
        let mut limit = f64::INFINITY;
        for class in (1..40).rev() {
            shown += self.counts[class];
            if shown > WHOLE {
                break;
            }
            limit = self.px_ms * 2f64.powi(class as i32 - 1);
        }
        // JSON knows no infinity.
        limit.min(1e15)
    }
}

impl TaskSpans {
    fn push(&mut self, item: &Item, (stage_id, stage_attempt): (u32, u32), row: u32) {
        self.task_id.push(item.task_id);
        self.stage_id.push(stage_id);
        self.stage_attempt.push(stage_attempt);
        self.from_ms.push(item.from_ms);
        self.to_ms.push(item.to_ms);
        self.row.push(row);
        self.status.push(item.status);
        self.is_counted.push(item.is_counted);
        self.parts.push(item.parts);
    }
}

/// What attempts add up to in pieces of time.
struct Pieces {
    from: f64,
    piece_ms: f64,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Default)]
struct Piece {
    attempts: u32,
    unsuccessful: u32,
    busy_ms: f64,
    parts: [f64; 7],
}

impl Pieces {
    fn new(from: i64, to: i64, piece_ms: f64) -> Self {
        let count = (((to - from) as f64 / piece_ms).ceil() as usize).max(1);
        Pieces { from: from as f64, piece_ms, pieces: vec![Piece::default(); count] }
    }

    fn add(&mut self, item: &Item) {
        let last = self.pieces.len() - 1;
        let place = |ms: i64| ((ms as f64 - self.from) / self.piece_ms).max(0.0);
        let (from, to) = (place(item.from_ms), place(item.to_ms));
        let first = (from as usize).min(last);
        self.pieces[first].attempts += 1;
        self.pieces[first].unsuccessful += u32::from(item.status != 0);
        let length = (item.to_ms - item.from_ms) as f64;
        if length <= 0.0 {
            return;
        }
        for at in first..=(to as usize).min(last) {
            let piece = &mut self.pieces[at];
            let inside = (to.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0) * self.piece_ms;
            piece.busy_ms += inside;
            for (sum, ms) in piece.parts.iter_mut().zip(item.parts) {
                *sum += f64::from(ms) * inside / length;
            }
        }
    }

    fn finish(self) -> Density {
        let mut density = Density { piece_ms: self.piece_ms, ..Density::default() };
        for (at, piece) in self.pieces.iter().enumerate() {
            if piece.attempts == 0 && piece.busy_ms <= 0.0 {
                continue;
            }
            density.from_ms.push((self.from + at as f64 * self.piece_ms).round() as i64);
            density.attempts.push(piece.attempts);
            density.unsuccessful.push(piece.unsuccessful);
            density.busy.push((piece.busy_ms / self.piece_ms * 1000.0).round() / 1000.0);
            density.parts.push(piece.parts.map(|ms| ms.round() as u32));
        }
        density
    }
}
