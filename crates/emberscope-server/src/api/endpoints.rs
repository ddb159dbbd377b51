//! All addresses: one line of code for each, beside what documents it.

use super::{
    Endpoint, FileEndpoint, LongEndpoint, bytes, events, executors, export, findings, flame, jobs, opened,
    reference, runs, schema, sql, sql_console, stage, stages, summary, timeline,
};
use super::{attribution, runs::RunInfo, runs::RunsPage};
use emberscope_analysis::views::configuration::{ConfigurationView, configuration};
use emberscope_analysis::views::plan::PlanView;
use emberscope_analysis::views::plan_diff::PlanDiff;
use emberscope_analysis::views::scatter::Scatter;
use emberscope_analysis::views::sql::SqlView;
use emberscope_analysis::views::stage::StageView;
use emberscope_analysis::views::storage::{StorageView, storage};
use emberscope_analysis::views::timeline::{Timeline, series::Series};
use emberscope_evidence::view::SqlMapping;
use emberscope_html::TrustWords;

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
        path: "/runs/{run}/trust",
        name: "getTrust",
        doc: "How far the numbers of a run can be trusted, in the words of every report; `trust` of its summary has \
              the same as data.",
        params: &[],
        schema: schema::<TrustWords>,
        answer: |app, at, _| bytes(&(app.words)(&opened(app, at[0])?.run)),
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
        params: stage::tasks::PARAMS,
        schema: schema::<stage::tasks::TaskWindow>,
        answer: |app, at, params| bytes(&stage::tasks::get(&*opened(app, at[0])?, at, params)?),
    },
    Endpoint {
        path: "/runs/{run}/timeline",
        name: "getTimeline",
        doc: "The run over time at the level of detail of a picture's width: spans where there is room, densities where there is not.",
        params: timeline::PARAMS,
        schema: schema::<Timeline>,
        answer: |app, at, params| bytes(&timeline::get(&*opened(app, at[0])?, params)?),
    },
    Endpoint {
        path: "/runs/{run}/series",
        name: "getSeries",
        doc: "Cores, executors and memory over time, in pieces of equal length.",
        params: timeline::SERIES_PARAMS,
        schema: schema::<Series>,
        answer: |app, at, params| bytes(&timeline::get_series(&*opened(app, at[0])?, params)?),
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
        path: "/runs/{run}/stages/{stage}/{attempt}",
        name: "getStage",
        doc: "A stage attempt: operators, parents, RDDs, accumulators, attribution.",
        params: &[],
        schema: schema::<StageView>,
        answer: |app, at, _| bytes(&stage::get(&*opened(app, at[0])?, at)?),
    },
    Endpoint {
        path: "/runs/{run}/stages/{stage}/{attempt}/distributions",
        name: "getDistributions",
        doc: "Histograms and quantiles of values over the task attempts of a stage attempt.",
        params: stage::distributions::PARAMS,
        schema: schema::<stage::distributions::DistributionsView>,
        answer: |app, at, params| bytes(&stage::distributions::get(&*opened(app, at[0])?, at, params)?),
    },
    Endpoint {
        path: "/runs/{run}/stages/{stage}/{attempt}/scatter",
        name: "getScatter",
        doc: "One value against another over the task attempts of a stage attempt; a sample says that it is one.",
        params: stage::scatter::PARAMS,
        schema: schema::<Scatter>,
        answer: |app, at, params| bytes(&stage::scatter::get(&*opened(app, at[0])?, at, params)?),
    },
    Endpoint {
        path: "/runs/{run}/stages/{stage}/{attempt}/hosts",
        name: "getHosts",
        doc: "Hosts or executors of a stage attempt beside each other.",
        params: stage::hosts::PARAMS,
        schema: schema::<stage::hosts::PlacesView>,
        answer: |app, at, params| bytes(&stage::hosts::get(&*opened(app, at[0])?, at, params)?),
    },
    Endpoint {
        path: "/runs/{run}/stages/{stage}/{attempt}/failures",
        name: "getFailures",
        doc: "Task attempts of a stage attempt that did not succeed, grouped by error.",
        params: &[],
        schema: schema::<stage::failures::FailuresView>,
        answer: |app, at, _| bytes(&stage::failures::get(&*opened(app, at[0])?, at)?),
    },
    Endpoint {
        path: "/runs/{run}/sql",
        name: "getSqlExecutions",
        doc: "SQL executions with their times, tasks, plan versions and findings.",
        params: sql::PARAMS,
        schema: schema::<sql::SqlPage>,
        answer: |app, at, params| bytes(&sql::list(&*opened(app, at[0])?, params)?),
    },
    Endpoint {
        path: "/runs/{run}/sql/{execution}",
        name: "getSqlExecution",
        doc: "A SQL execution: jobs, stages, plan versions, attribution.",
        params: &[],
        schema: schema::<SqlView>,
        answer: |app, at, _| bytes(&sql::one(&*opened(app, at[0])?, at)?),
    },
    Endpoint {
        path: "/runs/{run}/sql/{execution}/plans/{version}",
        name: "getPlan",
        doc: "A version of a plan, by its number or `last`, as a graph: operators with time, metrics, stages and findings.",
        params: &[],
        schema: schema::<PlanView>,
        answer: |app, at, _| bytes(&sql::plans::get(&*opened(app, at[0])?, at)?),
    },
    Endpoint {
        path: "/runs/{run}/sql/{execution}/plans/{version}/text",
        name: "getPlanText",
        doc: "The text of a version of a plan.",
        params: &[],
        schema: schema::<sql::plans::PlanText>,
        answer: |app, at, _| bytes(&sql::plans::text(&*opened(app, at[0])?, at)?),
    },
    Endpoint {
        path: "/runs/{run}/sql/{execution}/plan-diff",
        name: "getPlanDiff",
        doc: "What changed between two versions of a plan.",
        params: sql::plans::DIFF_PARAMS,
        schema: schema::<PlanDiff>,
        answer: |app, at, params| bytes(&sql::plans::diff(&*opened(app, at[0])?, at, params)?),
    },
    Endpoint {
        path: "/runs/{run}/sql/{execution}/mapping",
        name: "getMapping",
        doc: "Operators of a plan with the clauses of the SQL text they come from, their stages and tasks, and how sure that is; for skewed operators the statement that would show the hot value.",
        params: sql::mapping::PARAMS,
        schema: schema::<SqlMapping>,
        answer: |app, at, params| bytes(&sql::mapping::get(&*opened(app, at[0])?, at, params)?),
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
    Endpoint {
        path: "/sql-console",
        name: "askSql",
        doc: "The answer to a SQL statement about runs, from their tables. Only reads; errors tell line and column.",
        params: sql_console::PARAMS,
        schema: schema::<sql_console::SqlAnswer>,
        answer: |app, _, params| bytes(&sql_console::ask(app, params)?),
    },
    Endpoint {
        path: "/sql-console/catalog",
        name: "getSqlCatalog",
        doc: "Ready-made questions, the tables with their columns, and whether the program that answers is there.",
        params: &[],
        schema: schema::<sql_console::SqlCatalog>,
        answer: |app, _, _| bytes(&sql_console::catalog(&app.console)?),
    },
];

/// Addresses whose work takes a while, and is given up when the client goes.
pub(super) const LONG: &[LongEndpoint] = &[
    LongEndpoint {
        path: "/runs/{run}/flame/options",
        name: "getFlameOptions",
        doc: "What flame graphs of a run can be asked for: executors, threads, events and stages of its recordings. Without recordings, nothing.",
        params: flame::OPTIONS_PARAMS,
        schema: schema::<emberscope_profile::options::FlameOptions>,
        answer: |app, at, params, gone| bytes(&flame::get_options(app, at, params, gone)?),
    },
    LongEndpoint {
        path: "/runs/{run}/flame",
        name: "getFlame",
        doc: "A flame graph of the recordings of a run, or of two selections beside each other. Sums are exact: what is left out is in [other].",
        params: flame::PARAMS,
        schema: schema::<emberscope_profile::graph::FlameGraph>,
        answer: |app, at, params, gone| bytes(&flame::get(app, at, params, gone)?),
    },
    LongEndpoint {
        path: "/runs/{run}/flame/heat",
        name: "getFlameHeat",
        doc: "Weight over time by executor, of what a flame graph without times would be of.",
        params: flame::HEAT_PARAMS,
        schema: schema::<emberscope_profile::graph::FlameHeat>,
        answer: |app, at, params, gone| bytes(&flame::get_heat(app, at, params, gone)?),
    },
    LongEndpoint {
        path: "/runs/{run}/flame/stages",
        name: "getFlameStages",
        doc: "The hottest frames of stages that findings are about: what `emberscope diagnose --jfr` adds to findings.",
        params: &[],
        schema: schema::<flame::FlameStages>,
        answer: |app, at, _, gone| bytes(&flame::get_stages(app, at, gone)?),
    },
];

/// Addresses that answer with files.
pub(super) const FILES: &[FileEndpoint] = &[
    FileEndpoint {
        path: "/sql-console/file",
        name: "downloadSql",
        doc: "The answer to a SQL statement about runs, as a file.",
        params: sql_console::FILE_PARAMS,
        media: &[
            "text/csv",
            "text/tab-separated-values",
            "application/x-ndjson",
            "application/vnd.apache.parquet",
        ],
        answer: |app, _, params| sql_console::file(app, params),
    },
    FileEndpoint {
        path: "/runs/{run}/export",
        name: "exportRun",
        doc: "A run as a file of other tools.",
        params: export::PARAMS,
        media: &["text/html", "application/json"],
        answer: |app, at, params| export::get(app, at[0], params),
    },
    FileEndpoint {
        path: "/runs/{run}/events",
        name: "followRun",
        doc: "Server-sent events: `state` (a run as in the list) at first, when its log was read, and whenever it \
              grew; `progress` (`bytes_read`, `bytes_total`) while it is read; `failed` and `gone` (`message`). \
              Listening has the log read.",
        params: &[],
        media: &["text/event-stream"],
        answer: |app, at, _| events::get(app, at[0]),
    },
];
