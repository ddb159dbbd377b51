//! All addresses: one line of code for each, beside what documents it.

use super::failure::number;
use super::{
    Endpoint, bytes, executors, findings, jobs, opened, reference, runs, schema, stages, summary, tasks,
};
use super::{attribution, runs::RunInfo, runs::RunsPage};
use emberscope_analysis::views::configuration::{ConfigurationView, configuration};
use emberscope_analysis::views::storage::{StorageView, storage};

pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        path: "/runs",
        name: "listRuns",
        doc: "Runs, from heads and tails of their logs and from what was read since.",
        params: runs::PARAMS,
        schema: schema::<RunsPage>,
        answer: |app, _, params| bytes(&runs::list(app, params)?),
    },
    Endpoint {
        path: "/runs/{run}",
        name: "getRun",
        doc: "One run of the list. Does not read its log.",
        params: &[],
        schema: schema::<RunInfo>,
        answer: |app, at, _| bytes(&runs::one(app, at[0])?),
    },
    Endpoint {
        path: "/runs/{run}/summary",
        name: "getSummary",
        doc: "Times, work and executors of a run: what `emberscope summary --json` prints.",
        params: &[],
        schema: schema::<emberscope_model::summary::Summary>,
        answer: |app, at, _| bytes(&summary::get(&*opened(app, at[0])?)),
    },
    Endpoint {
        path: "/runs/{run}/findings",
        name: "getFindings",
        doc: "What cost time and what to change: what `emberscope diagnose --format json` prints.",
        params: &[],
        schema: schema::<emberscope_analysis::diagnosis::Diagnosis>,
        answer: |app, at, _| bytes(findings::get(&*opened(app, at[0])?)),
    },
    Endpoint {
        path: "/runs/{run}/attribution",
        name: "getAttribution",
        doc: "Where wall time and core-time went, of the run, its queries, jobs and stages. Sums are exact.",
        params: &[],
        schema: schema::<emberscope_analysis::attribution::Attribution>,
        answer: |app, at, _| bytes(attribution::get(&*opened(app, at[0])?)),
    },
    Endpoint {
        path: "/runs/{run}/stages/{stage}/{attempt}/tasks",
        name: "getTasks",
        doc: "A window of the task attempts of a stage attempt, filtered and sorted, by columns.",
        params: tasks::PARAMS,
        schema: schema::<tasks::TaskWindow>,
        answer: |app, at, params| {
            let run = opened(app, at[0])?;
            bytes(&tasks::get(&run, number(at[1])?, number(at[2])?, params)?)
        },
    },
    Endpoint {
        path: "/runs/{run}/jobs",
        name: "getJobs",
        doc: "Jobs with their stages, tasks and findings.",
        params: jobs::PARAMS,
        schema: schema::<jobs::JobsPage>,
        answer: |app, at, params| bytes(&jobs::get(&*opened(app, at[0])?, params)?),
    },
    Endpoint {
        path: "/runs/{run}/stages",
        name: "getStages",
        doc: "Stage attempts with their times, tasks, work and findings.",
        params: stages::PARAMS,
        schema: schema::<stages::StagesPage>,
        answer: |app, at, params| bytes(&stages::get(&*opened(app, at[0])?, params)?),
    },
    Endpoint {
        path: "/runs/{run}/executors",
        name: "getExecutors",
        doc: "Executors: lifetimes, work, memory, losses with reasons.",
        params: &[],
        schema: schema::<executors::ExecutorsPage>,
        answer: |app, at, _| bytes(&executors::get(&*opened(app, at[0])?)),
    },
    Endpoint {
        path: "/runs/{run}/storage",
        name: "getStorage",
        doc: "Cached data.",
        params: &[],
        schema: schema::<StorageView>,
        answer: |app, at, _| bytes(&storage(&opened(app, at[0])?.run)),
    },
    Endpoint {
        path: "/runs/{run}/configuration",
        name: "getConfiguration",
        doc: "Settings in effect, their defaults, where they were set, and findings that would change them.",
        params: &[],
        schema: schema::<ConfigurationView>,
        answer: |app, at, _| bytes(&configuration(opened(app, at[0])?.subject())),
    },
    Endpoint {
        path: "/reference",
        name: "listReference",
        doc: "The tuning pages.",
        params: &[],
        schema: schema::<reference::ReferenceIndex>,
        answer: |_, _, _| bytes(&reference::index()),
    },
    Endpoint {
        path: "/reference/{tag}",
        name: "getReference",
        doc: "A tuning page, by its tag, a type of finding, or a finding's id.",
        params: &[],
        schema: schema::<reference::ReferencePage>,
        answer: |_, at, _| bytes(&reference::one(at[0])?),
    },
];
