//! The `failure` table.

use super::{Columns, Emit, ids, produce_rows};
use crate::ReportError;
use crate::cells::Cell;
use crate::schema::{Report, columns};
use emberscope_model::failures::FailureGroup;
use emberscope_model::run::Run;

pub(crate) struct Row<'r> {
    run: &'r Run,
    group: &'r FailureGroup,
}

type Read = for<'r> fn(&Row<'r>) -> Cell<'r>;

pub(crate) const COLUMNS: Columns<Read> = columns! {
    "end_reason" Text [""] "How the attempts ended, by Spark's name", "`Task End Reason.Reason`" => |r| super::task::reason(r.group.status).into();
    "class_name" Text [""] "Exception class, where there is one", "`Class Name`" => |r| r.group.class_name.as_ref().into();
    "pattern" Text [""] "First line of the message, with # for every number", "`Description`, `Message`, `Loss Reason` or `Kill Reason`" => |r| r.group.pattern.as_str().into();
    "attempts" Long [""] "Task attempts that ended so", "task ends" => |r| r.group.attempts.into();
    "stage_ids" IntList [""] "Stages they belong to, sorted", "`Stage ID`" => |r| ids(r.group.stage_ids.iter().copied());
    "example_task_id" Long [""] "The attempt with the smallest id, as an example", "`Task ID`" => |r| r.group.example.task_id.into();
    "example_stage_id" Int [""] "Its stage", "`Stage ID`" => |r| r.group.example.stage_id.into();
    "example_stage_attempt" Int [""] "Its stage attempt", "`Stage Attempt ID`" => |r| r.group.example.stage_attempt.into();
    "example_text" Text [""] "Its stack trace with causes, or its message; 16 KiB at most", "`Full Stack Trace`" => |r| r.group.example.text.as_str().into();
    "application_id" Text [""] "Application of the run", "`App ID`" => |r| r.run.application.id.as_ref().into();
    "application_attempt" Text [""] "Attempt of the application; null where the cluster manager has none", "`App Attempt ID`" => |r| r.run.application.attempt_id.as_ref().into();
};

pub(super) fn produce(run: &Run, emit: &mut Emit<'_>) -> Result<(), ReportError> {
    let rows = run.failures.iter().map(|group| Row { run, group });
    produce_rows(Report::Failure, rows, |row, column| (COLUMNS[column].read)(row), emit)
}
