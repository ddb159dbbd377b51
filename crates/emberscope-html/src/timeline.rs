//! The run over time: queries, stage attempts, executors, and what their cores were held for.

use crate::escape;
use emberscope_analysis::phrases;
use emberscope_analysis::plots::{CoreUse, StageSpan, Timeline};
use emberscope_analysis::words::{duration, grouped};
use std::fmt::Write;

const WIDTH: f64 = 1120.0;
/// Where time begins: names of rows stand before it.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 8.0;
const QUERY_ROW: f64 = 13.0;
const STAGE_ROW: f64 = 16.0;
const EXECUTORS: f64 = 26.0;
const CORES: f64 = 74.0;
const GAP: f64 = 12.0;
/// Spans narrower than this have no name in them.
const NAMED: f64 = 34.0;

/// Steps between marks of time, milliseconds.
const STEPS: &[i64] = &[
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000,
    600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000, 43_200_000, 86_400_000,
];
const MARKS: i64 = 8;

struct Drawing<'t> {
    out: &'t mut String,
    timeline: &'t Timeline,
}

/// The section; nothing where no time is known.
pub(crate) fn section(out: &mut String, timeline: &Timeline) {
    if timeline.duration_ms <= 0 || (timeline.stages.is_empty() && timeline.queries.is_empty()) {
        return;
    }
    let mut svg = String::new();
    let height = Drawing { out: &mut svg, timeline }.draw();
    let (stages, queries) = (timeline.stages.len(), timeline.queries.len());
    let label =
        format!("{stages} stage attempts and {queries} queries over {}", duration(timeline.duration_ms));
    let _ = write!(
        out,
        "<h2>Timeline <span>stages by attempt; those with findings lead to them</span></h2>\
         <div class=\"tl\" tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">\
         <svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">{svg}</svg>",
        escape::text(&label)
    );
    keys(out, timeline);
    out.push_str("</div>\n");
}

fn keys(out: &mut String, timeline: &Timeline) {
    out.push_str("<div class=\"keys\">");
    let mut key = |class: &str, text: &str| {
        let _ = write!(
            out,
            "<span><svg viewBox=\"0 0 9 9\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"9\" height=\"9\" rx=\"1\"/></svg>{text}</span>"
        );
    };
    key("wait", "stage waits for its first task");
    key("st", "tasks run");
    let has = |class: &str| timeline.stages.iter().any(|stage| class_of(stage) == class);
    for (class, text) in
        [("critical", "with a critical finding"), ("warning", "with a warning"), ("failed", "failed")]
    {
        if has(class) {
            key(class, text);
        }
    }
    key("held", "cores held by tasks");
    key("off", "cores offered");
    let left_out = [(timeline.stages_left_out, "stage attempt"), (timeline.queries_left_out, "query")];
    for (number, what) in left_out.into_iter().filter(|(number, _)| *number > 0) {
        let plural = match (number, what) {
            (1, _) => what.to_owned(),
            (_, "query") => "queries".to_owned(),
            _ => format!("{what}s"),
        };
        let _ = write!(out, "<span>{} short {plural} not drawn</span>", grouped(number as i64));
    }
    out.push_str("</div>");
}

/// How a stage is coloured.
fn class_of(stage: &StageSpan) -> &'static str {
    use emberscope_analysis::finding::Severity;
    match stage.severity {
        _ if stage.is_failed => "failed",
        Some(Severity::Critical) => "critical",
        Some(Severity::Warning) => "warning",
        Some(Severity::Info) | None => "st",
    }
}

impl Drawing<'_> {
    fn x(&self, ms: i64) -> f64 {
        LEFT + ms as f64 / self.timeline.duration_ms as f64 * (WIDTH - LEFT - RIGHT)
    }

    /// Draws everything; gives the height.
    fn draw(mut self) -> f64 {
        let rows = |lanes: Option<usize>, row: f64| lanes.map_or(0.0, |most| (most + 1) as f64 * row + GAP);
        let queries = rows(self.timeline.queries.iter().map(|query| query.lane).max(), QUERY_ROW);
        let stages = rows(self.timeline.stages.iter().map(|stage| stage.lane).max(), STAGE_ROW);
        let has_cores = self.timeline.cores.iter().any(|piece| piece.offered > 0.0 || piece.held > 0.0);
        let below = if has_cores { EXECUTORS + GAP + CORES + GAP } else { 0.0 };
        let bottom = 4.0 + queries + stages + below;
        self.marks(bottom);
        self.queries(4.0);
        self.stages(4.0 + queries);
        if has_cores {
            let top = 4.0 + queries + stages;
            self.curve(top, EXECUTORS, "executors", "ex", |piece| piece.executors, None);
            // Until its result has arrived a task seems to hold its core, so that a little more can seem to
            // be held than there is.
            let offered = self.most(|piece| piece.offered);
            let most = if offered > 0.0 { offered } else { self.most(|piece| piece.held) };
            let top = top + EXECUTORS + GAP;
            self.curve(top, CORES, "cores", "off", |piece| piece.offered, Some(most));
            self.curve(top, CORES, "", "held", |piece| piece.held, Some(most));
        }
        bottom + 18.0
    }

    fn text(&mut self, x: f64, y: f64, text: &str) {
        let _ = write!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape::text(text));
    }

    fn marks(&mut self, bottom: f64) {
        let length = self.timeline.duration_ms;
        let days = (length / MARKS / 86_400_000 + 1) * 86_400_000;
        let step = STEPS.iter().copied().find(|step| length / step <= MARKS).unwrap_or(days);
        for mark in (0..=length / step).map(|n| n * step) {
            let x = self.x(mark);
            let _ = write!(
                self.out,
                "<rect class=\"grid\" x=\"{x:.1}\" y=\"2\" width=\".7\" height=\"{:.1}\"/>",
                bottom - 2.0
            );
            let room = WIDTH - x;
            let label = if mark == 0 { "0".to_owned() } else { mark_label(mark) };
            if room > 48.0 {
                self.text(x + 3.0, bottom + 13.0, &label);
            }
        }
    }

    fn queries(&mut self, top: f64) {
        if self.timeline.queries.is_empty() {
            return;
        }
        self.text(2.0, top + 10.0, "queries");
        for query in &self.timeline.queries {
            let (from, to) = (self.x(query.from_ms), self.x(query.to_ms));
            let title = format!(
                "SQL {}: {}, {} from {}",
                query.sql_id,
                query.description,
                duration(query.to_ms - query.from_ms),
                duration(query.from_ms)
            );
            let y = top + query.lane as f64 * QUERY_ROW;
            let _ = write!(
                self.out,
                "<rect class=\"q\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"><title>{}</title></rect>",
                (to - from).max(0.8),
                QUERY_ROW - 3.0,
                escape::short(&title, 300)
            );
            if to - from > NAMED {
                let _ = write!(
                    self.out,
                    "<text class=\"ql\" x=\"{:.1}\" y=\"{:.1}\">SQL {}</text>",
                    from + 4.0,
                    y + 8.6,
                    query.sql_id
                );
            }
        }
    }

    fn stages(&mut self, top: f64) {
        if self.timeline.stages.is_empty() {
            return;
        }
        self.text(2.0, top + 11.0, "stages");
        for stage in &self.timeline.stages {
            let y = top + stage.lane as f64 * STAGE_ROW;
            let height = STAGE_ROW - 3.0;
            let running = stage.running_ms.unwrap_or(stage.to_ms);
            let (from, launch, to) = (self.x(stage.submitted_ms), self.x(running), self.x(stage.to_ms));
            let link = stage.findings.first();
            if let Some(id) = link {
                let _ = write!(self.out, "<a href=\"#{}\">", escape::id(id));
            }
            let _ = write!(self.out, "<g><title>{}</title>", escape::short(&title_of(stage), 400));
            if launch - from > 0.3 {
                let _ = write!(
                    self.out,
                    "<rect class=\"wait\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"2\"/>",
                    launch - from
                );
            }
            let _ = write!(
                self.out,
                "<rect class=\"{}\" x=\"{launch:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"2\"/>",
                class_of(stage),
                (to - launch).max(0.8)
            );
            if to - launch > NAMED {
                let mark = if stage.is_failed { " ✕" } else { "" };
                let _ = write!(
                    self.out,
                    "<text class=\"in\" x=\"{:.1}\" y=\"{:.1}\">{}.{}{mark}</text>",
                    launch + 4.0,
                    y + 9.8,
                    stage.stage_id,
                    stage.stage_attempt
                );
            }
            self.out.push_str("</g>");
            if link.is_some() {
                self.out.push_str("</a>");
            }
        }
    }

    fn most(&self, value: impl Fn(&CoreUse) -> f64) -> f64 {
        self.timeline.cores.iter().map(value).fold(0.0, f64::max)
    }

    /// An area of steps, from the bottom up.
    fn curve(
        &mut self,
        top: f64,
        height: f64,
        name: &str,
        class: &str,
        value: impl Fn(&CoreUse) -> f64,
        most: Option<f64>,
    ) {
        let most = most.unwrap_or_else(|| self.most(&value));
        if most <= 0.0 {
            return;
        }
        if !name.is_empty() {
            self.text(2.0, top + 11.0, name);
            self.text(2.0, top + 24.0, &format!("up to {}", grouped(most.round() as i64)));
        }
        let pieces = self.timeline.cores.len().max(1) as f64;
        let step = (WIDTH - LEFT - RIGHT) / pieces;
        let bottom = top + height;
        let mut path = format!("M{LEFT:.1} {bottom:.1}");
        let mut last = f64::NAN;
        for (n, piece) in self.timeline.cores.iter().enumerate() {
            let y = bottom - (value(piece) / most).clamp(0.0, 1.0) * height;
            // Only corners, since most pieces are like the one before.
            if (y - last).abs() > 0.05 || last.is_nan() {
                let x = LEFT + n as f64 * step;
                let _ = write!(path, "H{x:.1}V{y:.1}");
                last = y;
            }
        }
        let _ = write!(path, "H{:.1}V{bottom:.1}Z", WIDTH - RIGHT);
        let _ = write!(self.out, "<path class=\"{class}\" d=\"{path}\"/>");
    }
}

fn title_of(stage: &StageSpan) -> String {
    let mut text = format!(
        "{}: {}, {} from {}, {} task attempts",
        phrases::stage(stage.stage_id, stage.stage_attempt),
        stage.name,
        duration(stage.to_ms - stage.submitted_ms),
        duration(stage.submitted_ms),
        grouped(stage.attempts as i64)
    );
    if stage.is_failed {
        text.push_str(", failed");
    } else if stage.is_open {
        text.push_str(", without an end in the log");
    }
    text
}

/// A mark of time as short as it can be.
fn mark_label(ms: i64) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    match ms {
        _ if ms % 3_600_000 == 0 => format!("{hours} h"),
        _ if hours > 0 => format!("{hours} h {minutes:02}"),
        _ if ms % 60_000 == 0 => format!("{minutes} min"),
        _ if minutes > 0 => format!("{minutes}:{seconds:02}"),
        _ if ms % 1000 == 0 => format!("{seconds} s"),
        _ => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_short() {
        let cases =
            [(50, "50 ms"), (30_000, "30 s"), (90_000, "1:30"), (600_000, "10 min"), (5_400_000, "1 h 30")];
        for (ms, text) in cases {
            assert_eq!(mark_label(ms), text);
        }
    }

    #[test]
    fn a_run_without_time_has_no_timeline() {
        let mut out = String::new();
        section(&mut out, &Timeline::default());
        assert_eq!(out, "");
    }
}
