//! How the tasks of a stage are spread, as small pictures.

use crate::escape;
use emberscope_analysis::phrases;
use emberscope_analysis::plots::{Measure, StageDistribution, Unit};
use emberscope_analysis::words::{duration, grouped, size};
use std::fmt::Write;

const WIDTH: f64 = 288.0;
const HEIGHT: f64 = 66.0;
/// Height of the tallest bar, above the line with quartiles.
const BARS: f64 = 52.0;

fn shown(value: f64, unit: Unit) -> String {
    let whole = value.round() as i64;
    match unit {
        Unit::Milliseconds => duration(whole),
        Unit::Records => grouped(whole),
        Unit::Bytes => size(whole),
    }
}

/// The pictures of a stage.
pub(crate) fn plots(out: &mut String, stage: &StageDistribution) {
    out.push_str("<div class=\"plots\">");
    stage.measures.iter().for_each(|measure| histogram(out, stage, measure));
    out.push_str("</div>");
    if let Some(slowest) = &stage.slowest {
        let _ = write!(
            out,
            "<p>Longest of {} tasks: task {} (index {}), {} on executor {}",
            grouped(stage.tasks as i64),
            slowest.task_id,
            slowest.index,
            duration(slowest.duration_ms),
            escape::short(&slowest.executor_id, 60),
        );
        if !slowest.host.is_empty() {
            let _ = write!(out, ", {}", escape::short(&slowest.host, 120));
        }
        out.push_str("</p>");
    }
}

fn histogram(out: &mut String, stage: &StageDistribution, measure: &Measure) {
    let unit = measure.unit;
    let words = format!(
        "median {}, 95 % up to {}, most {}",
        shown(measure.median, unit),
        shown(measure.p95, unit),
        shown(measure.max, unit)
    );
    let _ = write!(
        out,
        "<figure><svg class=\"hist\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{} of the tasks of {}: {}\">",
        measure.label,
        phrases::stage(stage.stage_id, stage.stage_attempt),
        escape::text(&words)
    );
    let most = measure.bars.iter().copied().max().unwrap_or(0).max(1);
    let step = WIDTH / measure.bars.len().max(1) as f64;
    let piece = measure.max / measure.bars.len().max(1) as f64;
    for (n, number) in measure.bars.iter().enumerate().filter(|(_, number)| **number > 0) {
        // By the root, so that one task among thousands still shows.
        let height = (f64::from(*number) / f64::from(most)).sqrt() * BARS;
        let height = height.max(3.0);
        let (from, to) = (piece * n as f64, piece * (n + 1) as f64);
        let class = if n > 0 && from >= measure.p95 { "o" } else { "b" };
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{} to {}: {}</title></rect>",
            step * n as f64 + 0.5,
            BARS - height,
            step - 1.0,
            shown(from, unit),
            shown(to, unit),
            tasks(*number)
        );
    }
    let at = |value: f64| if measure.max > 0.0 { value / measure.max * WIDTH } else { 0.0 };
    let _ = write!(
        out,
        "<rect class=\"axis\" y=\"{:.1}\" width=\"{WIDTH}\" height=\"1\"/>\
         <rect class=\"box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"5\"/>\
         <rect class=\"mid\" x=\"{:.1}\" y=\"{:.1}\" width=\"2\" height=\"9\"/></svg>",
        BARS + 1.0,
        at(measure.p25),
        BARS + 5.0,
        (at(measure.p75) - at(measure.p25)).max(1.0),
        (at(measure.median) - 1.0).clamp(0.0, WIDTH - 2.0),
        BARS + 3.0,
    );
    let _ = write!(out, "<figcaption><b>{}</b> · {}</figcaption></figure>", measure.label, words);
}

fn tasks(number: u32) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} task{plural}", grouped(i64::from(number)))
}
