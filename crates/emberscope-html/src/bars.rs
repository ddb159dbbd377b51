//! Sums of time as bars: one of them adds up to the whole, always in the same colours.

use crate::escape;
use emberscope_analysis::attribution::{Part, Sum};
use emberscope_analysis::phrases::main_parts;
use emberscope_analysis::words::{duration, share};
use std::fmt::Write;

/// Units across a bar.
const ACROSS: f64 = 1000.0;
/// Parts named under a bar; all are in it.
const NAMED: usize = 9;

/// Parts as they follow each other in a bar: not by size, so that bars can be compared.
fn ordered(sum: &Sum) -> impl Iterator<Item = (Part, i64)> + '_ {
    Part::ALL.iter().map(|part| (*part, sum.get(*part))).filter(|(_, ms)| *ms > 0)
}

/// What a part takes of a sum, in words.
fn words(part: Part, ms: i64, total: i64) -> String {
    format!("{}: {}, {}", part.def().label, duration(ms), share(ms as f64 / total as f64))
}

/// A bar; `whole_ms` is its length, for bars that are compared.
pub(crate) fn bar(out: &mut String, label: &str, sum: &Sum, whole_ms: i64) {
    let total = sum.total_ms();
    if total <= 0 || whole_ms <= 0 {
        return;
    }
    let all: Vec<String> = sum.parts().iter().map(|(part, ms)| words(*part, *ms, total)).collect();
    let _ = write!(
        out,
        "<div class=\"bar\"><svg viewBox=\"0 0 {ACROSS} 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}: {}\">",
        escape::text(label),
        escape::text(&all.join("; "))
    );
    let scale = ACROSS / whole_ms as f64;
    let mut at = 0.0;
    for (part, ms) in ordered(sum) {
        let width = ms as f64 * scale;
        let _ = write!(
            out,
            "<rect class=\"p-{}\" x=\"{at:.2}\" width=\"{width:.2}\" height=\"10\"><title>{}</title></rect>",
            part.def().key,
            escape::text(&words(part, ms, total))
        );
        at += width;
    }
    out.push_str("</svg></div>");
}

/// A bar with its name, its total, and its parts named under it.
pub(crate) fn explained(out: &mut String, class: &str, name: &str, note: &str, sum: &Sum) {
    let total = sum.total_ms();
    if total <= 0 {
        return;
    }
    let _ = write!(out, "<div class=\"sum {class}\"><b>{name}<span>{}</span> {note}</b>", duration(total));
    bar(out, name, sum, total);
    out.push_str("<ul class=\"legend\">");
    let (told, rest) = main_parts(sum, 0.005, NAMED);
    for (part, ms) in told {
        let def = part.def();
        let _ = write!(
            out,
            "<li title=\"{}\"><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"p-{}\" width=\"1\" height=\"1\"/></svg>{}<b>{}</b><small>{}</small></li>",
            escape::text(def.doc),
            def.key,
            def.label,
            duration(ms),
            share(ms as f64 / total as f64)
        );
    }
    if rest > 0 {
        let _ = write!(
            out,
            "<li>all other parts<b>{}</b><small>{}</small></li>",
            duration(rest),
            share(rest as f64 / total as f64)
        );
    }
    out.push_str("</ul></div>\n");
}
