//! What texts say of a run beyond what its summary holds.

use emberscope_model::run::Run;

/// Facts of a run.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// Whether the log was read, and holds the run, from start to end.
    pub(crate) is_whole: bool,
    /// Whether the log has the application's end.
    pub(crate) has_end: bool,
    /// `spark.master`.
    pub(crate) master: Option<String>,
    /// Cores of an executor, where all that are known have as many.
    pub(crate) cores: Option<u32>,
}

impl Facts {
    /// The facts of `run`.
    pub(crate) fn of(run: &Run) -> Facts {
        // Of the driver, and of executors that were added before the log began, it is not known.
        let mut cores = run.executors.iter().filter_map(|executor| executor.cores);
        let first = cores.next();
        Facts {
            is_whole: run.is_whole(),
            has_end: run.application.has_end,
            master: run.spark_property("spark.master").map(str::to_owned),
            cores: first.filter(|first| cores.all(|cores| cores == *first)),
        }
    }
}
