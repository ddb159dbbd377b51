//! All answers that a run needs, in order.

use crate::answers::{AnswerError, Answers};
use crate::events::Events;
use crate::parents::parents;
use crate::plan::{Metrics, UpdatesOfStages};
use crate::shapes::{Application, Attempt, Environment, Executor, Job, Sql, Stage, Task};
use crate::tasks;
use crate::told::{
    Parents, application_events, environment_event, executor_events, job_ends, job_starts, sql_ends,
    sql_starts, stage_info,
};
use serde::de::DeserializeOwned;
use serde_json::json;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io;

/// What to ask for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The attempt that is asked about; of several the newest where none is named.
    pub attempt_id: Option<String>,
    /// The query that is asked about: fetched with its plan whatever the list says.
    pub sql_id: Option<u64>,
    /// When the server is asked, epoch milliseconds: until then an application that runs has run. `None` of answers that
    /// were saved at another time.
    pub asked_at_ms: Option<i64>,
    /// Plans of how many queries to fetch, newest first: each is a request.
    pub plans: usize,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted { attempt_id: None, sql_id: None, asked_at_ms: None, plans: 500 }
    }
}

/// A run from answers.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Lines of an event log, in zstd.
    pub events: Vec<u8>,
    /// Application.
    pub application_id: String,
    /// Attempt.
    pub attempt_id: Option<String>,
    /// What a reader of the numbers should know.
    pub notes: Vec<String>,
    /// Kinds of evidence that the API does not have.
    pub not_measured: BTreeSet<String>,
    /// What the server has forgotten.
    pub forgotten: Vec<String>,
    /// Task attempts that were told.
    pub task_attempts: u64,
    /// How many answers there were.
    pub answers: u64,
    /// How large all of them are, bytes.
    pub answer_bytes: u64,
    /// Whether the server is the application's own, and the application has not ended.
    pub is_running: bool,
}

/// Why answers make no run.
#[derive(Debug, thiserror::Error)]
pub enum RestError {
    /// An answer cannot be had.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// An answer is not what Spark sends.
    #[error("the answer at `{path}` is not Spark's: {error}")]
    Shape {
        /// Path below the application.
        path: String,
        /// What is wrong with it.
        #[source]
        error: serde_json::Error,
    },
    /// There is nothing to make a run of.
    #[error("there are neither jobs nor stages nor queries in the answers")]
    Nothing,
    /// Packing failed.
    #[error("the events cannot be packed: {0}")]
    Packing(#[from] io::Error),
}

/// Queries that are asked for at a time.
const SQL_PAGE: usize = 200;
/// Tasks that are asked for at a time.
const TASK_PAGE: usize = 2_000;
/// Most pages of one list, should a server never end.
const MOST_PAGES: usize = 50_000;

/// Asks for all that makes a run. `progress` is told the number of answers so far.
///
/// # Errors
/// When a main answer is missing or is none of Spark's.
pub fn collect(
    answers: &dyn Answers,
    wanted: &Wanted,
    progress: &dyn Fn(u64),
) -> Result<Collected, RestError> {
    let asked = Asked { answers, progress, count: Cell::new(0), bytes: Cell::new(0) };
    let application: Application = asked.optional("")?.unwrap_or_default();
    let mut attempts = application.attempts;
    // Newest first, as servers list them.
    let is_wanted =
        |attempt: &Attempt| wanted.attempt_id.is_some() && attempt.attempt_id == wanted.attempt_id;
    let attempt = match attempts.iter().position(is_wanted).unwrap_or(0) {
        at if at < attempts.len() => attempts.swap_remove(at),
        _ => Attempt::default(),
    };
    let environment: Option<Environment> = asked.optional("environment")?;
    let executors: Vec<Executor> = match asked.optional("allexecutors")? {
        Some(executors) => executors,
        None => asked.optional("executors")?.unwrap_or_default(),
    };
    let mut jobs: Vec<Job> = asked.optional("jobs")?.unwrap_or_default();
    jobs.sort_by_key(|job| job.job_id);
    let mut stages: Vec<Stage> = asked.optional("stages?details=false")?.unwrap_or_default();
    stages.sort_by_key(|stage| (stage.stage_id, stage.attempt_id));
    let mut made = Collected {
        application_id: application.id.clone(),
        attempt_id: attempt.attempt_id.clone(),
        is_running: attempt.is_live(),
        ..Collected::default()
    };
    let queries = asked.queries(wanted, &mut made)?;
    if jobs.is_empty() && stages.is_empty() && queries.is_empty() && executors.is_empty() {
        return Err(RestError::Nothing);
    }
    forgotten(&jobs, &stages, &queries, &mut made);
    let mut metrics = Metrics::default();
    let mut events = Events::new()?;
    application_events(&application.id, application.name.as_deref(), &attempt, &mut events)?;
    if let Some(asked_at) = wanted.asked_at_ms.filter(|_| made.is_running) {
        events.add(&json!({ "Event": "io.emberscope.AskedAt", "Timestamp": asked_at }))?;
    }
    environment_event(environment.as_ref(), &mut events)?;
    executor_events(&executors, &mut events)?;
    sql_starts(&queries, &jobs, &stages, &mut metrics, &mut events)?;
    let parents = parents(&jobs, &stages);
    job_starts(&jobs, &stages, &queries, &parents, &mut events)?;
    let mut updates = std::mem::take(&mut metrics.of_stages);
    for stage in &mut stages {
        asked.stage(stage, &mut updates, &parents, &mut made, &mut events)?;
    }
    job_ends(&jobs, &mut events)?;
    // Of a stage that the server has forgotten the number stays with its query.
    for (sql, update) in updates.into_values().flatten() {
        metrics.of_driver.entry(sql).or_default().push(update);
    }
    sql_ends(&queries, &metrics, &mut events)?;
    if attempt.completed
        && let Some(end) = attempt.end_time_epoch.filter(|end| *end > 0)
    {
        events.add(&json!({ "Event": "SparkListenerApplicationEnd", "Timestamp": end }))?;
    }
    say_what_is_missing(&metrics, &queries, &mut made);
    made.answers = asked.count.get();
    made.answer_bytes = asked.bytes.get();
    made.events = events.finish()?;
    Ok(made)
}

/// Asks, and counts.
struct Asked<'a> {
    answers: &'a dyn Answers,
    progress: &'a dyn Fn(u64),
    count: Cell<u64>,
    bytes: Cell<u64>,
}

impl Asked<'_> {
    /// An answer; `None` where the server has none.
    fn optional<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, RestError> {
        let Some(bytes) = self.answers.answer(path)? else { return Ok(None) };
        self.count.set(self.count.get() + 1);
        self.bytes.set(self.bytes.get() + bytes.len() as u64);
        (self.progress)(self.count.get());
        let shape = |error| RestError::Shape { path: path.to_owned(), error };
        serde_json::from_slice(&bytes).map(Some).map_err(shape)
    }

    /// All queries that the server lists, with the plans of the wanted ones.
    fn queries(&self, wanted: &Wanted, made: &mut Collected) -> Result<Vec<Sql>, RestError> {
        let mut queries: Vec<Sql> = Vec::new();
        if self.answers.has_pages() {
            for page in 0..MOST_PAGES {
                let offset = page * SQL_PAGE;
                let path =
                    format!("sql?details=false&planDescription=false&offset={offset}&length={SQL_PAGE}");
                let Some(list) = self.optional::<Vec<Sql>>(&path)? else { break };
                let is_last = list.len() < SQL_PAGE;
                // Before 3.1 the whole list comes whatever is asked for.
                let known = queries.len();
                queries.extend(list);
                queries.sort_by_key(|sql| sql.id);
                queries.dedup_by_key(|sql| sql.id);
                if is_last || queries.len() == known {
                    break;
                }
            }
        }
        if queries.is_empty() {
            queries = self.optional("sql")?.unwrap_or_default();
            queries.sort_by_key(|sql| sql.id);
        }
        if let Some(id) = wanted.sql_id
            && !queries.iter().any(|sql| sql.id == id)
            && let Some(one) = self.detail(id)?
        {
            // Lists may leave out what can be asked for by its number.
            queries.push(one);
            queries.sort_by_key(|sql| sql.id);
        }
        let first_with_plan = queries.len().saturating_sub(wanted.plans);
        let mut without_plan = 0;
        for (at, sql) in queries.iter_mut().enumerate() {
            if at < first_with_plan && wanted.sql_id != Some(sql.id) {
                without_plan += 1;
            } else if (sql.plan_description.as_deref().is_none_or(str::is_empty) || sql.nodes.is_empty())
                && let Some(one) = self.detail(sql.id)?
            {
                *sql = one;
            }
        }
        if without_plan > 0 {
            made.notes.push(format!(
                "the plans of the {without_plan} oldest queries were not asked for: each is a request"
            ));
        }
        Ok(queries)
    }

    fn detail(&self, id: u64) -> Result<Option<Sql>, RestError> {
        self.optional(&format!("sql/{id}?details=true&planDescription=true"))
    }

    /// A stage attempt with its tasks.
    fn stage(
        &self,
        stage: &mut Stage,
        updates: &mut UpdatesOfStages,
        parents: &Parents,
        made: &mut Collected,
        events: &mut Events,
    ) -> Result<(), RestError> {
        if stage.status == "SKIPPED" || stage.status == "PENDING" {
            return Ok(());
        }
        let key = (stage.stage_id, stage.attempt_id);
        events.add(&json!({
            "Event": "SparkListenerStageSubmitted", "Stage Info": stage_info(stage, parents, false),
            "Properties": { "spark.scheduler.pool": stage.scheduling_pool },
        }))?;
        let is_result = stage.shuffle_write_bytes == 0;
        let mut seen: BTreeSet<u64> = BTreeSet::new();
        let mut take = |task: &Task, events: &mut Events| -> io::Result<bool> {
            if !seen.insert(task.task_id) {
                return Ok(false);
            }
            // The first that counts stands for the stage: the values of each are not told.
            let of_stage = if task.status == "SUCCESS" { updates.remove(&key) } else { None };
            let own: Vec<tasks::Update> = of_stage.into_iter().flatten().map(|(_, update)| update).collect();
            events.add(&tasks::event(key, is_result, task, &own))?;
            Ok(true)
        };
        if let Some(inside) = stage.tasks.take() {
            for task in inside.values() {
                take(task, events)?;
            }
        } else if self.answers.has_pages() {
            for page in 0..MOST_PAGES {
                let offset = page * TASK_PAGE;
                let path = format!("stages/{}/{}/taskList?offset={offset}&length={TASK_PAGE}", key.0, key.1);
                let Some(list) = self.optional::<Vec<Task>>(&path)? else { break };
                let mut is_news = false;
                for task in &list {
                    is_news |= take(task, events)?;
                }
                if list.len() < TASK_PAGE || !is_news {
                    break;
                }
            }
        } else {
            let list = self.optional::<Vec<Task>>(&format!("stages/{}/{}/taskList", key.0, key.1))?;
            for task in list.iter().flatten() {
                take(task, events)?;
            }
        }
        let n = seen.len() as u64;
        made.task_attempts += n;
        if n < stage.num_tasks && stage.status != "ACTIVE" {
            let known = stage.num_tasks;
            made.forgotten.push(format!("tasks of stage {}.{}: {n} of {known} are known", key.0, key.1));
        }
        if stage.completion_time.is_some() {
            events.add(
                &json!({ "Event": "SparkListenerStageCompleted", "Stage Info": stage_info(stage, parents, true) }),
            )?;
        }
        Ok(())
    }
}

/// What the server lists no longer, though its numbers say that there was more.
fn forgotten(jobs: &[Job], stages: &[Stage], queries: &[Sql], made: &mut Collected) {
    let mut say = |what: &str, setting: &str, known: &BTreeSet<u64>| {
        let Some(last) = known.last() else { return };
        let all = last.saturating_add(1);
        let missing = all.saturating_sub(known.len() as u64);
        if missing > 0 {
            made.forgotten.push(format!("{missing} of {all} {what} ({setting})"));
        }
    };
    say("jobs", "spark.ui.retainedJobs", &jobs.iter().map(|job| u64::from(job.job_id)).collect());
    say("stages", "spark.ui.retainedStages", &stages.iter().map(|stage| u64::from(stage.stage_id)).collect());
    say("queries", "spark.sql.ui.retainedExecutions", &queries.iter().map(|sql| sql.id).collect());
}

fn say_what_is_missing(metrics: &Metrics, queries: &[Sql], made: &mut Collected) {
    made.notes.push("read from the monitoring API, not from an event log".to_owned());
    let shown = || metrics.displayed.values().flatten();
    if shown().next().is_some() {
        let off = shown().filter(|metric| metric.total_within > 0).count();
        made.notes.push(format!(
            "metrics of SQL operators are as the server displays them: {off} of {} are rounded, each with its error \
             kept; of their values by task smallest, median and largest are known",
            shown().count()
        ));
    }
    if queries.is_empty() {
        made.not_measured
            .insert("SQL executions (the server lists none; Spark before 3.0 has no such answer)".to_owned());
    }
    for what in [
        "parents of stages: what waited for what is taken from times",
        "lost outputs of finished tasks, and why such tasks ran again",
        "peaks of executor metrics by stage",
        "plan versions of adaptive execution before the last",
        "names and sizes of RDDs",
    ] {
        made.not_measured.insert(what.to_owned());
    }
}
