//! What all detectors know of a run: totals of every stage attempt, executors, configuration.

use crate::config::Conf;
use crate::detector::Threshold;
use crate::finding::Scope;
use crate::plan::{PlanCache, SqlView};
use crate::thresholds::Thresholds;
use emberscope_log::columns::TaskColumn;
use emberscope_model::occupancy::{Occupancy, occupancy};
use emberscope_model::run::{Run, StageAttempt};
use emberscope_model::sql::SqlExecution;
use emberscope_model::stage_key::StageKey;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

mod digest;

pub use digest::{StageDigest, Sums};

/// What all detectors know.
#[derive(Debug)]
pub struct Context<'r> {
    /// The run.
    pub run: &'r Run,
    /// Start to end of the run, milliseconds; `None` when it is not known.
    pub wall_ms: Option<i64>,
    /// End of the run, epoch milliseconds; the latest time known.
    pub end_ms: i64,
    /// Start of the run, epoch milliseconds.
    pub start_ms: i64,
    /// Totals of all stage attempts, as [`Run::stages`].
    pub stages: Vec<StageDigest>,
    /// Lifetimes times cores over all executors.
    pub allocated_core_ms: Option<i64>,
    /// Whether tasks were run by an engine whose zeros are no measurements (Photon, RAPIDS, Gluten, Comet).
    pub is_native: bool,
    /// Whether executors live in the driver.
    pub is_local: bool,
    thresholds: &'r Thresholds,
    plans: PlanCache<'r>,
    /// Executors, slots and their result lags (decision 29).
    pub occupancy: Occupancy,
    /// When each executor (number of the string table) saw its first task end: until then its code is cold.
    warm_from: BTreeMap<u32, i64>,
    /// Filled by [`crate::capacity::capacity`], which several detectors ask.
    pub(crate) capacity: std::sync::OnceLock<Option<crate::capacity::Capacity>>,
    queries: std::sync::OnceLock<BTreeSet<u64>>,
    keys: std::sync::OnceLock<BTreeMap<u32, StageKey>>,
    peak_cores: std::sync::OnceLock<Option<u32>>,
}

/// What looking over all task attempts of a run gave, to be kept: a context is made of it in no time.
#[derive(Clone, Debug, Default)]
pub struct Digests {
    /// Totals of all stage attempts, as [`Run::stages`].
    pub stages: Vec<StageDigest>,
    /// Executors, slots and their result lags.
    pub occupancy: Occupancy,
}

impl Digests {
    /// Looks over a run.
    pub fn of(run: &Run) -> Self {
        let thresholds = Thresholds::default();
        let context = Context::of(run, &thresholds);
        Digests { stages: context.stages, occupancy: context.occupancy }
    }
}

impl<'r> Context<'r> {
    /// Looks over a run.
    pub fn of(run: &'r Run, thresholds: &'r Thresholds) -> Self {
        Self::with(run, thresholds, None)
    }

    /// Whether any task attempt has metrics: the log of a driver tells only when tasks ran.
    pub fn has_metrics(&self) -> bool {
        let is_measured = |stage: &StageAttempt| {
            stage.tasks.column(TaskColumn::ExecutorRunTime).iter().any(Option::is_some)
        };
        self.run.stages.iter().any(is_measured)
    }

    /// Whether this is what `EXPLAIN` printed: a plan in which nothing ran.
    pub fn is_plan_only(&self) -> bool {
        let run = self.run;
        let is_without_time = |one: &SqlExecution| one.start_ms.is_none() && one.job_ids.is_empty();
        run.jobs.is_empty()
            && run.stages.is_empty()
            && run.application.start_ms.is_none()
            && !run.sql_executions.is_empty()
            && run.sql_executions.iter().all(is_without_time)
    }

    /// The context of a run that was looked over already.
    pub fn again(run: &'r Run, thresholds: &'r Thresholds, digests: &Digests) -> Self {
        Self::with(run, thresholds, Some(digests))
    }

    fn with(run: &'r Run, thresholds: &'r Thresholds, digests: Option<&Digests>) -> Self {
        let last_event = run.stages.iter().filter_map(|stage| stage.last_finish_ms).max();
        let end_ms = run.application.end_ms.or(last_event).unwrap_or(0);
        let first_event = run.stages.iter().filter_map(|stage| stage.submitted_ms).min();
        let start_ms = run.application.start_ms.or(first_event).unwrap_or(end_ms);
        let mut context = Context {
            run,
            wall_ms: run.application.duration_ms().filter(|ms| *ms > 0),
            end_ms,
            start_ms,
            stages: Vec::new(),
            allocated_core_ms: None,
            is_native: !matches!(run.trust.engine.as_str(), "spark" | ""),
            is_local: run
                .executors
                .iter()
                .any(|executor| executor.id == "driver" && executor.cores.is_some()),
            thresholds,
            plans: PlanCache::default(),
            occupancy: digests.map_or_else(|| occupancy(run), |digests| digests.occupancy.clone()),
            warm_from: BTreeMap::new(),
            peak_cores: std::sync::OnceLock::new(),
            capacity: std::sync::OnceLock::new(),
            queries: std::sync::OnceLock::new(),
            keys: std::sync::OnceLock::new(),
        };
        context.allocated_core_ms = context.available_core_ms(start_ms, end_ms);
        context.stages = match digests {
            Some(digests) => digests.stages.clone(),
            None => crate::parallel::map(&run.stages, |position, stage| context.digest(position, stage)),
        };
        for digest in &context.stages {
            for ((executor, _, _), (_, finish)) in digest.executors.iter().zip(&digest.executor_firsts) {
                let warm = context.warm_from.entry(*executor).or_insert(*finish);
                *warm = (*warm).min(*finish);
            }
        }
        context
    }

    /// Whether a task was launched before any task had ended on its executor: class loading, code
    /// generation and JIT compilation then count as its time.
    pub fn is_first_wave(&self, executor: u32, launch_ms: i64) -> bool {
        /// A slot is filled again before the driver has noted the end of the task that held it.
        const AT_ONCE_MS: i64 = 20;
        self.warm_from.get(&executor).is_none_or(|warm| launch_ms < *warm - AT_ONCE_MS)
    }

    /// Tasks that could run at one time while a stage ran, from the executors that were there; at least
    /// what did run.
    pub fn slots(&self, digest: &StageDigest) -> f64 {
        let seen = f64::from(digest.peak_concurrency.max(1));
        match (digest.available_core_ms, digest.running_ms()) {
            (Some(cores), running) if running > 0 => {
                seen.max(cores as f64 / running as f64 / digest.task_cpus.max(f64::MIN_POSITIVE))
            }
            _ => seen,
        }
    }

    /// Tasks of a stage that could have run at one time beside what other stages ran meanwhile.
    pub fn free_slots(&self, digest: &StageDigest) -> f64 {
        let Some((from, to)) = digest.running.filter(|(from, to)| to > from) else { return 1.0 };
        let mut others = 0.0;
        for other in self.stages.iter().filter(|other| other.position != digest.position) {
            let Some((start, end)) = other.running.filter(|(start, end)| end > start) else { continue };
            let shared = (end.min(to) - start.max(from)).max(0);
            others += other.attempt_ms as f64 * other.task_cpus * shared as f64 / (end - start) as f64;
        }
        let taken = others / (to - from) as f64 / digest.task_cpus.max(f64::MIN_POSITIVE);
        (self.slots(digest) - taken).max(f64::from(digest.peak_concurrency.max(1)))
    }

    /// The value of a threshold.
    pub fn get(&self, threshold: &Threshold) -> f64 {
        self.thresholds.get(threshold)
    }

    /// All thresholds.
    pub fn thresholds(&self) -> &Thresholds {
        self.thresholds
    }

    /// Configuration in effect for a query, or for the application.
    pub fn conf(&self, execution: Option<&'r SqlExecution>) -> Conf<'r> {
        Conf::of(self.run, execution)
    }

    /// Configuration in effect for the query that ran a stage.
    pub fn conf_of_stage(&self, digest: &StageDigest) -> Conf<'r> {
        self.conf(digest.sql_id.and_then(|id| self.run.sql_execution(id)))
    }

    /// A SQL execution with its final plan; `None` when the log has none.
    pub fn sql_view(&self, id: u64) -> Option<Arc<SqlView<'r>>> {
        self.plans.get(self.run, id)
    }

    /// A stage's name across runs. All are worked out when the first is asked for.
    pub fn stage_key(&self, id: u32) -> Option<StageKey> {
        self.keys.get_or_init(|| self.run.stage_keys()).get(&id).copied()
    }

    /// Queries whose plans are looked at: the longest, until their plans have as many operators as can be
    /// afforded; a query too short to matter only where there are few.
    pub fn queries(&self) -> &BTreeSet<u64> {
        self.queries.get_or_init(|| {
            /// Operators of all plans that are looked at.
            const OPERATORS: u64 = 5_000;
            /// Queries that are looked at however short or large they are.
            const AT_LEAST: usize = 16;
            let length = |execution: &SqlExecution| {
                let end = execution.end_ms.unwrap_or(self.end_ms);
                execution.start_ms.map_or(0, |start| end - start)
            };
            let mut longest: Vec<&SqlExecution> = self.run.sql_executions.iter().collect();
            longest.sort_by_key(|execution| (std::cmp::Reverse(length(execution)), execution.id));
            let mut operators = 0;
            let within = longest.iter().enumerate().take_while(|(n, execution)| {
                operators += execution.versions.last().map_or(0, |version| u64::from(version.nodes));
                *n < AT_LEAST || operators <= OPERATORS
            });
            within.map(|(_, execution)| execution.id).collect()
        })
    }

    /// Share of the run's wall time; `None` when that is not known.
    pub fn share_of_wall(&self, ms: i64) -> Option<f64> {
        Some(ms as f64 / self.wall_ms? as f64)
    }

    /// Whether a span of time is below what matters. Of an unknown run length nothing is.
    pub fn is_immaterial(&self, ms: i64) -> bool {
        self.share_of_wall(ms).is_some_and(|share| share < self.get(&crate::materiality::FLOOR_SHARE))
    }

    /// Core-milliseconds that executors offered between two times; `None` when no executor's cores are known.
    pub fn available_core_ms(&self, from_ms: i64, to_ms: i64) -> Option<i64> {
        let mut sum = None;
        for executor in &self.run.executors {
            let (Some((added, removed)), Some(cores)) = (executor.lifetime(self.end_ms), executor.cores)
            else {
                continue;
            };
            let alive = (removed.min(to_ms) - added.max(from_ms)).max(0);
            sum = Some(sum.unwrap_or(0) + alive * i64::from(cores));
        }
        sum
    }

    /// Most cores that executors had at one time; `None` when no executor's cores are known.
    fn peak_cores(&self) -> Option<u32> {
        *self.peak_cores.get_or_init(|| {
            let mut steps: Vec<(i64, i64)> = Vec::new();
            for executor in &self.run.executors {
                if let (Some((added, removed)), Some(cores)) =
                    (executor.lifetime(self.end_ms), executor.cores)
                {
                    steps.extend([(added, i64::from(cores)), (removed.max(added + 1), -i64::from(cores))]);
                }
            }
            // At one time removals come first: what is sorted is the negative number.
            steps.sort_unstable();
            let most = steps.iter().scan(0, |now, (_, step)| {
                *now += step;
                Some(*now)
            });
            most.max().and_then(|most| u32::try_from(most).ok()).filter(|most| *most > 0)
        })
    }

    /// The digest of a stage attempt.
    pub fn digest_of(&self, id: u32, attempt: u32) -> Option<&StageDigest> {
        let at =
            self.stages.binary_search_by_key(&(id, attempt), |digest| (digest.id, digest.attempt)).ok()?;
        Some(&self.stages[at])
    }

    /// A text of the run's table.
    pub fn text(&self, id: u32) -> &'r str {
        self.run.strings.text(id)
    }

    /// The scope of a stage attempt.
    pub fn stage_scope(&self, digest: &StageDigest) -> Scope {
        Scope {
            stage_id: Some(digest.id),
            stage_attempt: Some(digest.attempt),
            sql_id: digest.sql_id,
            job_id: digest.job_id,
            ..Scope::default()
        }
    }
}
