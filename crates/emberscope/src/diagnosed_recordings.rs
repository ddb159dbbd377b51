//! The recordings that `diagnose --jfr` names, and what is told of them beside the diagnosis.

use crate::cli::DiagnoseOptions;
use crate::exit::UsageError;
use crate::messages;
use crate::output::Guard;
use emberscope_analysis::diagnosis::Diagnosis;
use emberscope_model::run::Run;
use emberscope_profile::find::Places;
use emberscope_profile::hot::stage_profiles;
use emberscope_profile::recorded::{Recorded, Work};

/// Directories with recordings.
#[derive(Debug)]
pub(crate) struct DiagnosedRecordings {
    places: Places,
    threads: usize,
    is_quiet: bool,
}

impl DiagnosedRecordings {
    /// Those that the options name.
    pub(crate) fn of(options: &DiagnoseOptions) -> anyhow::Result<DiagnosedRecordings> {
        let places = Places::new(&options.recordings).map_err(|error| {
            let hint =
                "name the directory that spark.profiler.dfsDir names: it holds APP_ID/profile-exec-ID.jfr";
            UsageError::new(format!("--jfr {error}"), hint)
        })?;
        let reading = &options.reading;
        Ok(DiagnosedRecordings { places, threads: reading.scan.threads, is_quiet: reading.quiet })
    }

    /// Gives the findings of a run the hottest frames of their stages. What cannot be had is told, and fails nothing.
    pub(crate) fn add_to(
        &self,
        diagnosis: &mut Diagnosis,
        run: &Run,
        is_only: bool,
        guards: &[Guard],
    ) -> anyhow::Result<()> {
        if self.places.is_empty() {
            return Ok(());
        }
        let id = run.application.id.as_deref();
        let files = self.places.files(id, is_only);
        for file in &files {
            guards.iter().try_for_each(|guard| guard.check(&file.path.to_string_lossy()))?;
        }
        let name = id.unwrap_or(&run.source);
        if files.is_empty() {
            let hint =
                "they are looked for as DIR/APP_ID/profile-exec-ID.jfr, beside a single log in DIR, too";
            self.tell(&format!("--jfr: there is no recording of {name}"), Some(hint));
            return Ok(());
        }
        let recorded = match Recorded::open(files, run) {
            Ok(recorded) => recorded,
            Err(error) => {
                self.tell(&format!("--jfr: {error}"), None);
                return Ok(());
            }
        };
        recorded.unreadable().iter().for_each(|error| self.tell(&format!("--jfr: {error}"), None));
        if recorded.tasks().rows().is_empty() && !recorded.recordings().is_empty() {
            let message = format!("--jfr: nothing says which thread ran which task of {name}");
            let hint = "the log has it with spark.profiler.executor.taskThreadEvent.enabled=true";
            self.tell(&message, Some(hint));
            return Ok(());
        }
        let stages = diagnosis.stages_with_findings();
        match stage_profiles(&recorded, &stages, &Work { threads: self.threads, stop: None }) {
            Ok(profiles) => diagnosis.add_profiles(&profiles),
            Err(error) => self.tell(&format!("--jfr: {error}"), None),
        }
        Ok(())
    }

    fn tell(&self, message: &str, hint: Option<&str>) {
        if !self.is_quiet {
            messages::warning(message, hint);
        }
    }
}
