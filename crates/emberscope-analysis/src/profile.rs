//! What recordings of the JVMs add to a diagnosis: the hottest frames of the stages that findings are about.
//!
//! Recordings are read elsewhere; here is what of them belongs to findings.

use crate::diagnosis::Diagnosis;
use schemars::JsonSchema;
use serde::Serialize;

/// Where the tasks of a stage attempt spent their time, as a sampling profiler saw it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StageProfile {
    /// Stage.
    pub stage_id: u32,
    /// Attempt.
    pub stage_attempt: u32,
    /// What was sampled: `wall`, tasks that wait included, or `cpu`, only while they ran.
    pub event: &'static str,
    /// Samples of the stage's tasks.
    pub samples: i64,
    /// Those of them in which a task waited: it slept, or was in a method that waits for a lock or a socket.
    pub waiting_samples: i64,
    /// Where tasks ran most: methods of the application, of Spark or of other libraries.
    pub frames: Vec<HotFrame>,
    /// Where tasks waited most: methods of the same kinds.
    pub waits: Vec<HotFrame>,
    /// Executors that ran tasks of it and of which there is no recording.
    pub executors_not_recorded: usize,
    /// Why names of frames may not be exact; null where nothing speaks for that.
    pub distortion: Option<String>,
}

/// A frame with its shares of all samples, 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HotFrame {
    /// Class and method.
    pub frame: String,
    /// Samples that end in it, or in what it called of the JDK, of Scala's library and of native code.
    pub own_share: f64,
    /// Samples that have it on their stack. Of both, only those of a task that ran, or that waited.
    pub total_share: f64,
}

impl Diagnosis {
    /// Stage attempts that findings are about, those of the most important findings first.
    pub fn stages_with_findings(&self) -> Vec<(u32, u32)> {
        let mut stages = Vec::new();
        for scope in self.findings.iter().map(|finding| &finding.scope) {
            let stage = scope.stage_id.map(|id| (id, scope.stage_attempt.unwrap_or(0)));
            stages.extend(stage.filter(|stage| !stages.contains(stage)));
        }
        stages
    }

    /// Gives each finding about a stage attempt what was seen of it.
    pub fn add_profiles(&mut self, profiles: &[StageProfile]) {
        for finding in &mut self.findings {
            let scope = &finding.scope;
            let is_it = |profile: &&StageProfile| {
                scope.stage_id == Some(profile.stage_id)
                    && scope.stage_attempt.unwrap_or(0) == profile.stage_attempt
            };
            finding.profile = profiles.iter().find(is_it).cloned();
        }
    }
}
