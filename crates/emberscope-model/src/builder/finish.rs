//! From what was collected to a run: links, statuses, estimates, accounting, trust.

use super::{RunBuilder, lost};
use crate::accounting::RowFacts;
use crate::engine;
use crate::redact;
use crate::run::{
    Application, ApplicationStatus, Executor, Job, JobStatus, Run, StageAttempt, StageStatus,
    UnsubmittedStage,
};
use crate::sql::{SqlExecution, SqlStatus};
use crate::trust::{FileStatus, StageCoverage, Trust};
use emberscope_log::columns::TaskStatus;
use emberscope_log::event::task::TaskRow;
use emberscope_log::source::{LeftAside, Provenance};
use std::collections::{BTreeMap, BTreeSet, HashMap};

impl RunBuilder {
    /// The run.
    pub fn finish(mut self) -> Run {
        self.add_unended_tasks();
        let mut trust = std::mem::take(&mut self.trust);
        trust.missing_members.clone_from(&self.source.missing_members);
        let dropped = self.dropped_events.iter();
        trust
            .missing_members
            .extend(dropped.map(|(name, times)| format!("{times} {name}, dropped for want of room")));
        trust.compacted = self.source.compacted;
        tell_provenance(&self.source.provenance, &mut trust);
        let environment = self.environment.take().unwrap_or_default();
        let identity = engine::identify(&environment, &trust.unknown_events);
        trust.engine = identity.engine.to_owned();
        let spark_version = self.spark_version.take().or(identity.runtime_version);
        trust.spark_version.clone_from(&spark_version);

        let mut application = self.application(spark_version, &mut trust);
        let (mut stages, facts) = self.finish_stages(&mut trust);
        let mut jobs: Vec<Job> = std::mem::take(&mut self.jobs).into_values().collect();
        link_jobs(&jobs, &mut stages);
        estimate_ends(&mut jobs, &mut stages, &application, &mut trust);
        let mut unsubmitted_stages = self.unsubmitted_stages(&jobs, &stages);
        link_parents(&mut stages, &unsubmitted_stages);
        let sql_executions = self.finish_sql(&jobs, &application, &mut trust);
        application.status = application_status(&application, &jobs, &sql_executions);
        cover(&stages, &facts, &mut trust);
        if application.id.is_some() && !trust.compacted {
            lost::count(&jobs, &stages, &facts, &mut unsubmitted_stages, &mut trust);
        }
        self.storage.finish();

        let mut run = Run {
            source: std::mem::take(&mut self.source.label),
            content_hash: self.content_hash,
            application,
            environment,
            jobs,
            stages,
            unsubmitted_stages,
            executors: sorted_executors(std::mem::take(&mut self.executors)),
            resource_profiles: std::mem::take(&mut self.resource_profiles),
            sql_executions,
            streams: std::mem::take(&mut self.streams).finish(),
            connect: std::mem::take(&mut self.connect),
            storage: std::mem::take(&mut self.storage),
            failures: std::mem::take(&mut self.failures).finish(),
            task_errors: std::mem::take(&mut self.task_errors),
            exclusions: std::mem::take(&mut self.exclusions),
            processes: std::mem::take(&mut self.processes),
            task_threads: std::mem::take(&mut self.task_threads),
            strings: std::mem::take(&mut self.strings),
            blobs: std::mem::take(&mut self.blobs),
            trust: Trust::default(),
        };
        run.connect.sort_by(|a, b| {
            (a.event_time.0, &a.operation_id, &a.phase).cmp(&(b.event_time.0, &b.operation_id, &b.phase))
        });
        run.exclusions.sort_by(|a, b| (a.time.0, &a.executor_id).cmp(&(b.time.0, &b.executor_id)));
        run.task_threads.sort_by_key(|mapping| (mapping.task_id, mapping.start_time));
        redact::run(&mut run);
        self.add_notes(&run, &mut trust);
        run.trust = trust;
        run
    }

    /// Attempts without an end become rows of their own.
    fn add_unended_tasks(&mut self) {
        let mut unended: Vec<_> = std::mem::take(&mut self.tasks.started)
            .into_iter()
            .map(|(id, task)| (id, task, TaskStatus::Running))
            .collect();
        for stage in &mut self.stages {
            for (id, task) in std::mem::take(&mut stage.resubmitted) {
                if !self.tasks.has_ended(id) {
                    unended.retain(|(other, _, _)| *other != id);
                    unended.push((id, task, TaskStatus::Resubmitted));
                }
            }
        }
        unended.sort_by_key(|(id, _, _)| *id);
        for (_, task, status) in unended {
            let position = self.stage_position(task.stage_id, task.stage_attempt);
            self.stages[position].tasks.push(TaskRow::of_start(&task, status), &[]);
        }
    }

    fn application(&mut self, spark_version: Option<String>, trust: &mut Trust) -> Application {
        let start = self.application_start.take();
        let end = self.application_end.take();
        let has_start = start.is_some();
        let start = start.unwrap_or_default();
        let mut start_ms = start.timestamp.time_ms();
        if start_ms.is_none() && self.first_time_ms.is_some() {
            start_ms = self.first_time_ms;
            trust.estimate("application.start_time_ms");
        }
        let has_end = end.is_some();
        let mut end_ms = end.as_ref().and_then(|end| end.timestamp.time_ms());
        if end_ms.is_none() {
            // An application of which nothing but the start is known ends, as far as can be told, there.
            end_ms = self.last_time_ms.max(start_ms);
            if end_ms.is_some() {
                trust.estimate("application.end_time_ms");
            }
        }
        if let (Some(start), Some(end)) = (start_ms, end_ms)
            && end < start
        {
            trust.clamp("application.duration_ms", 1);
        }
        Application {
            id: start.id.or_else(|| self.source.app_id_hint.clone()),
            attempt_id: start.attempt_id.or_else(|| self.source.attempt_hint.clone()),
            name: start.name,
            user: start.user,
            spark_version,
            start_ms,
            end_ms,
            exit_code: end.and_then(|end| end.exit_code.0),
            has_end,
            status: if has_start { ApplicationStatus::Incomplete } else { ApplicationStatus::Unknown },
        }
    }

    fn unsubmitted_stages(&mut self, jobs: &[Job], stages: &[StageAttempt]) -> Vec<UnsubmittedStage> {
        let submitted: BTreeSet<u32> = stages.iter().map(|stage| stage.id).collect();
        let mut pending: BTreeSet<u32> = BTreeSet::new();
        for job in jobs.iter().filter(|job| job.status == JobStatus::Running) {
            pending.extend(&job.stage_ids);
        }
        std::mem::take(&mut self.listed_stages)
            .into_values()
            .filter(|stage| !submitted.contains(&stage.id))
            .map(|stage| UnsubmittedStage { is_skipped: !pending.contains(&stage.id), ..stage })
            .collect()
    }

    fn finish_sql(
        &mut self,
        jobs: &[Job],
        application: &Application,
        trust: &mut Trust,
    ) -> Vec<SqlExecution> {
        let mut executions = std::mem::take(&mut self.sql);
        for job in jobs {
            if let Some(execution) = job.sql_execution_id.and_then(|id| executions.get_mut(&id)) {
                execution.job_ids.push(job.id);
            }
        }
        let job_by_id: HashMap<u32, &Job> = jobs.iter().map(|job| (job.id, job)).collect();
        for execution in executions.values_mut() {
            // Only the first and the last text of a plan are of use.
            let last = execution.versions.len().saturating_sub(1);
            for version in execution.versions.iter_mut().take(last).skip(1) {
                version.text = None;
            }
            let own_jobs: Vec<&Job> =
                execution.job_ids.iter().filter_map(|id| job_by_id.get(id).copied()).collect();
            let any_failed = own_jobs.iter().any(|job| job.status == JobStatus::Failed);
            let has_end = execution.end_ms.is_some() || execution.error.is_some();
            execution.status = match (&execution.error, has_end) {
                (Some(error), _) if error.is_empty() => SqlStatus::Succeeded,
                (Some(_), _) => SqlStatus::Failed,
                (None, true) if any_failed => SqlStatus::Failed,
                (None, true) => SqlStatus::Succeeded,
                (None, false) => SqlStatus::Running,
            };
            self.unknown_driver_updates += execution.forget_metric_ids();
            if execution.end_ms.is_none() && application.has_end && execution.start_ms.is_some() {
                let last_job_end = own_jobs.iter().filter_map(|job| job.end_ms).max();
                execution.end_ms = last_job_end.or(application.end_ms);
                trust.estimate(format!("sql {} end_time_ms", execution.id));
            }
        }
        executions.into_values().collect()
    }

    fn add_notes(&self, run: &Run, trust: &mut Trust) {
        let counted = [
            (self.tasks.repeated_ends, "task ends that repeat an earlier one, ignored"),
            (self.elided_lines, "lines too long to hold, whose long texts were cut"),
            (self.non_integer_updates, "accumulator updates that are no integers and take no part in sums"),
            (self.unknown_driver_updates, "driver-side metric updates that belong to no node of their plan"),
        ];
        for (times, what) in counted.iter().filter(|(times, _)| *times > 0) {
            trust.notes.push(format!("{what}: {times}"));
        }
        trust.notes.extend(distant_end(run));
        tell_left_aside(&self.source.provenance.left_aside, run, trust);
        if trust.compacted {
            trust.notes.push(
                "Spark compacted this log: events of finished jobs were removed, so totals are too low"
                    .to_owned(),
            );
        }
        if run.storage.block_updates == 0 {
            trust.not_logged.insert("block updates (spark.eventLog.logBlockUpdates.enabled)".to_owned());
        }
    }
}

/// How many forgotten things are named in one line.
const TOLD_FORGOTTEN: usize = 5;

/// What holds of a run that was put together from other evidence than its log.
fn tell_provenance(provenance: &Provenance, trust: &mut Trust) {
    trust.notes.extend(provenance.notes.iter().cloned());
    trust.not_logged.extend(provenance.not_measured.iter().cloned());
    trust.is_running = provenance.is_running;
    trust.answers = provenance.answers.map(Into::into);
    let forgotten = &provenance.forgotten;
    if forgotten.is_empty() {
        return;
    }
    let more = forgotten.len().saturating_sub(TOLD_FORGOTTEN);
    let mut reason = format!("the server has forgotten {}", forgotten[..forgotten.len() - more].join(", "));
    if more > 0 {
        reason.push_str(&format!(" and {more} more"));
    }
    for file in trust.files.iter_mut().filter(|file| file.status == FileStatus::Ok) {
        file.status = FileStatus::Partial;
        file.reason = Some(reason.clone());
        file.hint = Some("the event log has all of it".to_owned());
    }
}

/// That a better piece of evidence was taken, and what the other one has beyond it.
fn tell_left_aside(left_aside: &[LeftAside], run: &Run, trust: &mut Trust) {
    let own: u64 = run.stages.iter().map(|stage| stage.tasks.rows() as u64).sum();
    for LeftAside { name, task_attempts } in left_aside {
        trust.notes.push(match *task_attempts > own {
            true => format!(
                "{name} tells of the same application and knows {task_attempts} task attempts, of which this log has \
                 {own}: the log was used, since it is exact; ask the address alone for what came after it"
            ),
            false => format!("{name} tells of the same application: the log was used, since it is exact"),
        });
    }
}

fn link_jobs(jobs: &[Job], stages: &mut [StageAttempt]) {
    let mut jobs_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for job in jobs {
        for stage_id in &job.stage_ids {
            jobs_of.entry(*stage_id).or_default().push(job.id);
        }
    }
    for stage in stages {
        stage.job_ids = jobs_of.get(&stage.id).cloned().unwrap_or_default();
    }
}

/// Fills ends that the log lacks although what contains them has ended.
fn estimate_ends(
    jobs: &mut [Job],
    stages: &mut [StageAttempt],
    application: &Application,
    trust: &mut Trust,
) {
    if application.has_end {
        for job in jobs.iter_mut().filter(|job| job.end_ms.is_none() && job.start_ms.is_some()) {
            job.end_ms = application.end_ms;
            trust.estimate(format!("job {} end_time_ms", job.id));
        }
    }
    let status_of: HashMap<u32, JobStatus> = jobs.iter().map(|job| (job.id, job.status)).collect();
    for stage in stages.iter_mut().filter(|stage| stage.status == StageStatus::Active) {
        let job_status = stage.job_ids.first().and_then(|id| status_of.get(id));
        let job_ended = matches!(job_status, Some(JobStatus::Succeeded | JobStatus::Failed));
        if (job_ended || application.has_end) && stage.last_finish_ms.is_some() {
            stage.completed_ms = stage.last_finish_ms;
            trust.estimate(format!("stage {} attempt {} completion_time_ms", stage.id, stage.attempt));
            if job_status == Some(&JobStatus::Succeeded) {
                stage.status = StageStatus::Complete;
            }
        }
    }
}

/// Replaces skipped parents by the stage that computed the same data: the executed stage with the same
/// first RDD. This joins the jobs of adaptive execution, where each query stage is a job of its own.
fn link_parents(stages: &mut [StageAttempt], unsubmitted: &[UnsubmittedStage]) {
    let mut by_first_rdd: HashMap<u32, Vec<u32>> = HashMap::new();
    for stage in stages.iter() {
        if let Some(first) = stage.rdd_ids.iter().min() {
            by_first_rdd.entry(*first).or_default().push(stage.id);
        }
    }
    let executed: BTreeSet<u32> = stages.iter().map(|stage| stage.id).collect();
    let first_rdd: HashMap<u32, u32> =
        unsubmitted.iter().filter_map(|stage| Some((stage.id, stage.first_rdd_id?))).collect();
    for stage in stages.iter_mut() {
        let mut parents: BTreeSet<u32> = BTreeSet::new();
        for parent in &stage.parent_ids {
            if executed.contains(parent) {
                parents.insert(*parent);
                continue;
            }
            let twin = first_rdd
                .get(parent)
                .and_then(|rdd| by_first_rdd.get(rdd))
                .and_then(|ids| ids.iter().filter(|id| **id < stage.id).max());
            parents.extend(twin);
        }
        stage.executed_parents = parents.into_iter().collect();
    }
}

/// Decision: a reported exit code other than 0, a failed last job or a failed last query mean failure;
/// an exit code of 0 proves nothing, since Spark 4.3 logs it for failed drivers too. What was cancelled did not fail.
fn application_status(
    application: &Application,
    jobs: &[Job],
    executions: &[SqlExecution],
) -> ApplicationStatus {
    let sql_status: HashMap<u64, SqlStatus> =
        executions.iter().map(|execution| (execution.id, execution.status)).collect();
    let last_job = jobs.iter().max_by_key(|job| (job.end_ms, job.id));
    // A job that a succeeding query, a user or a stopped stream cancelled is no failure.
    let last_job_failed = last_job.is_some_and(|job| {
        let query = job.sql_execution_id.and_then(|id| sql_status.get(&id));
        job.status == JobStatus::Failed && !job.was_stopped() && query != Some(&SqlStatus::Succeeded)
    });
    let last_query = executions
        .iter()
        .filter(|execution| execution.is_root())
        .max_by_key(|execution| (execution.end_ms, execution.id));
    let last_query_failed = last_query.is_some_and(|query| {
        let is_last = last_job.and_then(|job| job.end_ms) <= query.end_ms;
        let own = || jobs.iter().filter(|job| job.sql_execution_id == Some(query.id));
        let was_stopped = own().any(Job::was_stopped)
            && own().all(|job| job.status != JobStatus::Failed || job.was_stopped());
        query.status == SqlStatus::Failed && is_last && !was_stopped
    });
    if application.exit_code.is_some_and(|code| code != 0) || last_job_failed || last_query_failed {
        ApplicationStatus::Failed
    } else if application.has_end {
        ApplicationStatus::Succeeded
    } else {
        application.status
    }
}

/// How many of the expected task ends are in the log.
fn cover(stages: &[StageAttempt], facts: &[RowFacts], trust: &mut Trust) {
    for (stage, facts) in stages.iter().zip(facts) {
        let seen = facts.ended;
        let expected = match (stage.status, stage.num_tasks) {
            (StageStatus::Complete, Some(num_tasks)) => num_tasks.max(seen),
            _ => facts.known,
        };
        trust.coverage.tasks_expected = trust.coverage.tasks_expected.saturating_add(expected);
        trust.coverage.tasks_seen += seen;
        if seen < expected {
            trust.coverage.stages.push(StageCoverage {
                stage_id: stage.id,
                stage_attempt: stage.attempt,
                tasks_expected: expected,
                tasks_seen: seen,
            });
        }
    }
    let coverage = &mut trust.coverage;
    coverage.ratio =
        (coverage.tasks_expected > 0).then(|| coverage.tasks_seen as f64 / coverage.tasks_expected as f64);
}

fn sorted_executors(executors: BTreeMap<String, Executor>) -> Vec<Executor> {
    let mut executors: Vec<Executor> = executors.into_values().collect();
    executors.sort_by_key(|executor| executor.id.parse::<u64>().map_or((1, 0), |number| (0, number)));
    executors
}

/// A word on an estimated end that lies far from all work: one event with a wrong clock is enough.
fn distant_end(run: &Run) -> Option<String> {
    if run.application.has_end {
        return None;
    }
    let jobs = run.jobs.iter().flat_map(|job| [job.start_ms, job.end_ms]);
    let stages = run.stages.iter().flat_map(|stage| [stage.completed_ms, stage.last_finish_ms]);
    let queries = run.sql_executions.iter().flat_map(|execution| [execution.start_ms, execution.end_ms]);
    let last_work = jobs.chain(stages).chain(queries).flatten().max()?;
    let (start, end) = (run.application.start_ms?, run.application.end_ms?);
    let idle = end - last_work;
    let is_distant = idle > 24 * 3_600_000 && idle > 10 * (last_work - start).max(0);
    is_distant.then(|| {
        format!(
            "the end is taken from an event {} days after the last job, stage or task; its clock may be wrong",
            idle / (24 * 3_600_000)
        )
    })
}
