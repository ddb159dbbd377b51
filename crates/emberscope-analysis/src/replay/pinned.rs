//! The model's own bookkeeping: with every launch where it was, everything must end when it did.

use super::model::ReplayModel;

impl ReplayModel {
    /// How far from the run the model ends when its tasks are launched as they were, summed over stage
    /// attempts, jobs, units and the run; milliseconds. Anything but 0 is a mistake in the model.
    pub fn pinned_error_ms(&self) -> i64 {
        let mut error = 0;
        let mut stage_end = vec![None; self.stages.len()];
        let mut order: Vec<usize> = (0..self.units.len()).collect();
        order.sort_by_key(|n| (self.units[*n].start_ms, *n));
        let mut unit_end = vec![self.start_ms; self.units.len()];
        let mut job_end = vec![self.start_ms; self.jobs.len()];
        let mut last = self.start_ms;
        for n in order {
            let unit = &self.units[n];
            let ready = unit.parents.iter().map(|parent| unit_end[*parent]).max().unwrap_or(self.start_ms);
            let start = ready + unit.start_lag_ms;
            error += (start - unit.start_ms).abs();
            let mut jobs = unit.jobs.clone();
            jobs.sort_by_key(|job| (self.jobs[*job].start_ms, *job));
            let mut unit_last = start;
            for (nth, job) in jobs.into_iter().enumerate() {
                job_end[job] = self.pinned_job(job, start, &job_end, &mut stage_end, &mut error);
                unit_last = if nth == 0 { job_end[job] } else { unit_last.max(job_end[job]) };
            }
            unit_end[n] = unit_last + unit.end_lag_ms;
            error += (unit_end[n] - unit.end_ms).abs();
            last = last.max(unit_end[n]);
        }
        error + (last + self.end_lag_ms - self.end_ms).abs()
    }

    fn pinned_job(
        &self,
        n: usize,
        unit_start: i64,
        job_end: &[i64],
        stage_end: &mut [Option<i64>],
        error: &mut i64,
    ) -> i64 {
        let job = &self.jobs[n];
        let ready = job.parents.iter().map(|parent| job_end[*parent]).max().unwrap_or(unit_start);
        let start = ready + job.start_lag_ms;
        *error += (start - job.start_ms).abs();
        let last =
            job.stages.iter().map(|stage| self.pinned_stage(*stage, start, stage_end)).fold(start, i64::max);
        let end = last + job.end_lag_ms;
        *error += (end - job.end_ms).abs();
        end
    }

    /// Parents first; a stage waits for stages of its own and of earlier jobs.
    fn pinned_stage(&self, n: usize, job_start: i64, stage_end: &mut [Option<i64>]) -> i64 {
        let mut stack = vec![n];
        while let Some(&top) = stack.last() {
            if stage_end[top].is_some() {
                stack.pop();
                continue;
            }
            let stage = &self.stages[top];
            if let Some(parent) = stage.parents.iter().find(|parent| stage_end[**parent].is_none()) {
                stack.push(*parent);
                continue;
            }
            let own_start =
                if stage.job == self.stages[n].job { job_start } else { self.jobs[stage.job].start_ms };
            let ready =
                stage.parents.iter().filter_map(|parent| stage_end[*parent]).fold(own_start, i64::max);
            let submitted = ready + stage.submit_lag_ms;
            let awaited =
                stage.tasks.iter().zip(stage.launches_ms.iter()).filter(|(task, _)| task.is_awaited);
            let finishes =
                awaited.map(|(task, launch)| submitted + i64::from(*launch) + i64::from(task.duration_ms));
            stage_end[top] = Some(finishes.max().unwrap_or(submitted) + stage.complete_lag_ms);
            stack.pop();
        }
        stage_end[n].unwrap_or(job_start)
    }
}
