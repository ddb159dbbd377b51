//! The printed result.

use super::logs::Log;
use super::usage::Usage;

/// All runs on one log.
pub(crate) struct Row<'a> {
    /// The log.
    pub(crate) log: &'a Log,
    /// Runs of Emberscope.
    pub(crate) mine: Vec<Usage>,
    /// Runs of the History Server.
    pub(crate) theirs: Vec<Usage>,
}

/// Processors and load: wall times mean little on a busy machine, CPU seconds still do.
pub(crate) fn print_machine() {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0);
    println!("{cores} cores, load {load:.1}");
    if load > 0.5 {
        println!("the machine is not quiet: trust CPU seconds, not wall times");
    }
}

/// Prints the table and the verdicts.
pub(crate) fn print(rows: &[Row<'_>]) {
    println!(
        "\n{:7} {:15} {:>4} {:>9} {:>8} {:>8} {:>6} {:>9} {:>8}",
        "log", "program", "runs", "median s", "min s", "CPU s", "GB/s", "CPU s/GB", "peak MB"
    );
    for row in rows {
        for (program, runs) in [("emberscope", &row.mine), ("history server", &row.theirs)] {
            print_line(row.log, program, runs);
        }
    }
    println!();
    for verdict in rows.iter().flat_map(verdicts) {
        println!("{verdict}");
    }
}

fn print_line(log: &Log, program: &str, runs: &[Usage]) {
    if runs.is_empty() {
        return;
    }
    let gb = log.counts.bytes as f64 / 1e9;
    let (wall, cpu) = (median(runs, |run| run.wall_s), median(runs, |run| run.cpu_s));
    println!(
        "{:7} {program:15} {:4} {wall:9.3} {:8.3} {cpu:8.3} {:6.2} {:9.3} {:8.1}",
        log.name,
        runs.len(),
        least(runs, |run| run.wall_s),
        gb / wall,
        cpu / gb,
        peak(runs) / 1e6
    );
}

fn verdicts(row: &Row<'_>) -> Vec<String> {
    let mut told = Vec::new();
    if row.mine.is_empty() {
        return told;
    }
    let log = row.log;
    let wall = median(&row.mine, |run| run.wall_s);
    let speed = log.counts.bytes as f64 / 1e9 / wall;
    told.push(verdict(
        log.name,
        speed >= log.goal_gb_s,
        &format!("{speed:.2} GB/s, goal {:.1}", log.goal_gb_s),
    ));
    let memory = peak(&row.mine);
    let goal = log.goal_bytes as f64;
    told.push(verdict(
        log.name,
        memory <= goal,
        &format!("peak {:.1} MB, goal {:.1} MB", memory / 1e6, goal / 1e6),
    ));
    if !row.theirs.is_empty() {
        let ratio = median(&row.theirs, |run| run.wall_s) / wall;
        let cpu = median(&row.theirs, |run| run.cpu_s) / median(&row.mine, |run| run.cpu_s);
        let text =
            format!("{ratio:.1} times faster than the History Server, goal 20 ({cpu:.1} times less CPU)");
        told.push(verdict(log.name, ratio >= 20.0, &text));
    }
    if let Some(bytes) = row.mine.iter().find_map(|run| run.task_bytes) {
        told.push(format!(
            "      {:6} {:.1} bytes a task in the task store",
            log.name,
            bytes as f64 / log.counts.tasks as f64
        ));
    }
    told
}

/// What writing tables took, and the verdicts.
pub(crate) fn tables(
    log: &Log,
    format: &str,
    goal_gb_s: f64,
    mine: &[Usage],
    theirs: &[Usage],
) -> Vec<String> {
    let line = |program: &str, runs: &[Usage]| {
        let (wall, cpu) = (median(runs, |run| run.wall_s), median(runs, |run| run.cpu_s));
        let speed = log.counts.bytes as f64 / 1e9 / wall;
        let peak = peak(runs) / 1e6;
        format!("{format:8} {program:11} {wall:9.3} s wall {cpu:9.3} s CPU {speed:7.2} GB/s {peak:8.1} MB")
    };
    let ratio = |of: fn(&Usage) -> f64| median(theirs, of) / median(mine, of);
    let speed = log.counts.bytes as f64 / 1e9 / median(mine, |run| run.wall_s);
    let goal_bytes = 120e6 + 60.0 * log.counts.tasks as f64;
    vec![
        line("emberscope", mine),
        line("spark sql", theirs),
        verdict(format, speed >= goal_gb_s, &format!("{speed:.2} GB/s, goal {goal_gb_s:.1}")),
        verdict(
            format,
            peak(mine) <= goal_bytes,
            &format!("peak {:.1} MB, goal {:.1} MB", peak(mine) / 1e6, goal_bytes / 1e6),
        ),
        format!(
            "      {format:6} {:.1} times faster than Spark SQL, {:.1} times less CPU",
            ratio(|run| run.wall_s),
            ratio(|run| run.cpu_s)
        ),
    ]
}

pub(super) fn verdict(name: &str, passed: bool, text: &str) -> String {
    format!("{}  {name:6} {text}", if passed { "PASS" } else { "MISS" })
}

fn sorted(runs: &[Usage], of: impl Fn(&Usage) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = runs.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The middle value, or the mean of the two middle ones.
pub(super) fn median(runs: &[Usage], of: impl Fn(&Usage) -> f64) -> f64 {
    let values = sorted(runs, of);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

fn least(runs: &[Usage], of: impl Fn(&Usage) -> f64) -> f64 {
    sorted(runs, of).first().copied().unwrap_or(0.0)
}

fn peak(runs: &[Usage]) -> f64 {
    sorted(runs, |run| run.peak_bytes as f64).last().copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(wall_s: f64) -> Usage {
        Usage { wall_s, cpu_s: 0.0, peak_bytes: wall_s as u64, task_bytes: None }
    }

    #[test]
    fn medians_of_odd_and_even_numbers() {
        assert_eq!(median(&[run(3.0), run(1.0), run(9.0)], |run| run.wall_s), 3.0);
        assert_eq!(median(&[run(3.0), run(1.0), run(9.0), run(4.0)], |run| run.wall_s), 3.5);
        assert_eq!(peak(&[run(3.0), run(9.0), run(1.0)]), 9.0);
        assert_eq!(least(&[], |run| run.wall_s), 0.0);
    }
}
