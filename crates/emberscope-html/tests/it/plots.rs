//! Plots made up by hand for the made-up diagnosis.

use crate::made::HOSTILE;
use emberscope_analysis::finding::Severity;
use emberscope_analysis::plots::{
    CoreUse, Measure, Plots, QuerySpan, StageDistribution, StageSpan, TaskMark, Timeline, Unit,
};

fn stage(id: u32, lane: usize, times: (i64, i64, i64)) -> StageSpan {
    StageSpan {
        stage_id: id,
        stage_attempt: 0,
        name: "save at Orders.scala:88".to_owned(),
        submitted_ms: times.0,
        running_ms: Some(times.1),
        to_ms: times.2,
        attempts: 200,
        is_failed: false,
        is_open: false,
        severity: None,
        findings: Vec::new(),
        lane,
    }
}

fn measure(label: &'static str, unit: Unit, median: f64, max: f64) -> Measure {
    let mut bars = vec![0; 48];
    let at = (median / max * 48.0) as usize;
    bars[at] = 150;
    bars[at + 1] = 49;
    bars[47] = 1;
    Measure {
        label,
        unit,
        min: median * 0.7,
        p25: median * 0.9,
        median,
        p75: median * 1.1,
        p95: median * 1.4,
        max,
        bars,
    }
}

/// Plots.
pub(crate) fn plots() -> Plots {
    let mut stages = vec![
        stage(1, 0, (20_000, 164_000, 520_000)),
        stage(3, 0, (560_000, 562_000, 900_000)),
        stage(5, 1, (562_000, 570_000, 800_000)),
        stage(9, 0, (930_000, 931_000, 1_200_000)),
        stage(14, 0, (1_250_000, 1_252_000, 2_700_000)),
        stage(17, 0, (2_760_000, 2_762_000, 2_900_000)),
        stage(18, 0, (2_930_000, 2_932_000, 3_060_000)),
    ];
    stages[4].severity = Some(Severity::Critical);
    stages[4].findings = vec!["SKEW-0123456789ab".to_owned()];
    stages[0].severity = Some(Severity::Warning);
    stages[0].findings = vec!["COLD-00000000000d".to_owned()];
    stages[6].name = HOSTILE.to_owned();
    stages[2].is_failed = true;
    let cores = (0..240)
        .map(|n| {
            let ms = n * 13_058;
            let offered = if ms < 150_000 { 0.0 } else { 32.0 };
            let runs = stages.iter().any(|stage| stage.running_ms.unwrap() <= ms && ms < stage.to_ms);
            let held = match (runs, ms) {
                (true, 1_350_000..2_700_000) => 1.0,
                (true, _) => offered * 0.93,
                _ => 0.0,
            };
            CoreUse { executors: offered / 4.0, offered, held }
        })
        .collect();
    let query = |sql_id, from_ms, to_ms, lane| QuerySpan {
        sql_id,
        description: "save at Orders.scala:88".to_owned(),
        from_ms,
        to_ms,
        lane,
    };
    Plots {
        timeline: Timeline {
            start_time_ms: Some(1_795_831_200_000),
            duration_ms: 3_134_000,
            queries: vec![
                query(2, 15_000, 910_000, 0),
                query(4, 925_000, 2_710_000, 0),
                query(9, 2_740_000, 3_100_000, 0),
            ],
            queries_left_out: 0,
            stages,
            stages_left_out: 3,
            cores,
        },
        distributions: vec![StageDistribution {
            stage_id: 14,
            stage_attempt: 0,
            name: "save at Orders.scala:88".to_owned(),
            tasks: 200,
            measures: vec![
                measure("duration", Unit::Milliseconds, 24_000.0, 1_390_000.0),
                measure("records read", Unit::Records, 1_100_000.0, 61_800_000.0),
                measure("bytes read", Unit::Bytes, 120e6, 384e6),
            ],
            slowest: Some(TaskMark {
                task_id: 3121,
                index: 17,
                executor_id: "5".to_owned(),
                host: HOSTILE.to_owned(),
                duration_ms: 1_390_000,
            }),
        }],
    }
}
