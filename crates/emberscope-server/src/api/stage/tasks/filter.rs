//! Which task attempts are wanted.

use super::super::super::failure::Failure;
use super::super::super::window::{holds, names, only};
use crate::spark_rest::Params;
use emberscope_analysis::views::Clock;
use emberscope_analysis::views::metric::metric;
use emberscope_analysis::views::scatter::status_name;
use emberscope_log::columns::TaskColumn;
use emberscope_model::run::{Run, StageAttempt};

const STATUSES: &[&str] = &["success", "failed", "killed", "running", "resubmitted"];

/// Which task attempts are wanted; what is `None` lets all through.
pub(super) struct Filter<'p> {
    statuses: Option<Vec<&'p str>>,
    texts: Vec<(TaskColumn, &'p str)>,
    is_counted: Option<bool>,
    min_duration_ms: Option<i64>,
    max_duration_ms: Option<i64>,
    from_ms: Option<i64>,
    to_ms: Option<i64>,
    query: &'p str,
}

impl<'p> Filter<'p> {
    pub(super) fn of(params: &'p Params) -> Result<Self, Failure> {
        let texts = [
            ("executor", TaskColumn::Executor),
            ("host", TaskColumn::Host),
            ("locality", TaskColumn::Locality),
        ];
        Ok(Filter {
            statuses: names(params, "status", STATUSES)?,
            texts: texts
                .into_iter()
                .filter_map(|(name, column)| Some((column, params.first(name)?)))
                .collect(),
            is_counted: params.first("counted").map(|_| params.is_on("counted", false)),
            min_duration_ms: only(params, "min_duration_ms")?,
            max_duration_ms: only(params, "max_duration_ms")?,
            from_ms: only(params, "from_ms")?,
            to_ms: only(params, "to_ms")?,
            query: params.first("q").unwrap_or_default(),
        })
    }

    /// Leaves the rows that are wanted.
    pub(super) fn keep(&self, run: &Run, stage: &StageAttempt, rows: &mut Vec<usize>) {
        if let Some(wanted) = &self.statuses {
            let statuses = stage.tasks.statuses();
            rows.retain(|row| wanted.contains(&status_name(statuses[*row])));
        }
        for (column, wanted) in &self.texts {
            let wanted = run.strings.find(wanted).map(i64::from);
            let values = stage.tasks.column(*column);
            rows.retain(|row| wanted.is_some() && values[*row] == wanted);
        }
        if let Some(is_counted) = self.is_counted {
            let useful = stage.tasks.useful();
            rows.retain(|row| useful.contains(*row) == is_counted);
        }
        self.keep_times(run, stage, rows);
        if !self.query.is_empty() {
            self.keep_texts(run, stage, rows);
        }
    }

    fn keep_times(&self, run: &Run, stage: &StageAttempt, rows: &mut Vec<usize>) {
        if self.min_duration_ms.is_some() || self.max_duration_ms.is_some() {
            let durations = metric("duration_ms").map(|metric| metric.values(stage)).unwrap_or_default();
            rows.retain(|row| {
                durations.get(*row).copied().flatten().is_some_and(|ms| {
                    self.min_duration_ms.is_none_or(|least| ms >= least)
                        && self.max_duration_ms.is_none_or(|most| ms <= most)
                })
            });
        }
        let clock = Clock::of(run);
        if let Some(from) = self.from_ms {
            let finish = stage.tasks.column(TaskColumn::FinishTime);
            rows.retain(|row| clock.at(finish[*row].unwrap_or(clock.end_ms)) >= from);
        }
        if let Some(to) = self.to_ms {
            let launch = stage.tasks.column(TaskColumn::LaunchTime);
            rows.retain(|row| launch[*row].is_some_and(|launch| clock.at(launch) <= to));
        }
    }

    fn keep_texts(&self, run: &Run, stage: &StageAttempt, rows: &mut Vec<usize>) {
        let ids = stage.tasks.column_or(TaskColumn::TaskId, -1);
        let indexes = stage.tasks.column_or(TaskColumn::Index, -1);
        let texts = [TaskColumn::Executor, TaskColumn::Host].map(|column| stage.tasks.column(column));
        rows.retain(|row| {
            let text = |values: &Vec<Option<i64>>| values[*row].map(|text| run.strings.text(text as u32));
            let (id, index) = (ids[*row].to_string(), indexes[*row].to_string());
            let error = run.task_errors.get(&(ids[*row] as u64)).map(|error| error.as_ref());
            holds(self.query, &[Some(&id), Some(&index), text(&texts[0]), text(&texts[1]), error])
        });
    }
}
