//! Lines of toned text, tables and columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a piece of text is. It may be coloured by it, and must be clear without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Ordinary.
    #[default]
    Plain,
    /// Headings and names.
    Strong,
    /// Labels and what is less important.
    Faint,
    /// Identifiers.
    Accent,
    /// All is well.
    Good,
    /// Look here.
    Warn,
    /// Something failed.
    Bad,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Strong => "\u{1b}[1m",
            Tone::Faint => "\u{1b}[2m",
            Tone::Accent => "\u{1b}[36m",
            Tone::Good => "\u{1b}[32m",
            Tone::Warn => "\u{1b}[33m",
            Tone::Bad => "\u{1b}[1;31m",
        }
    }
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(Vec<(Tone, String)>);

impl Line {
    /// A line of one tone.
    pub(crate) fn text(tone: Tone, text: impl Into<String>) -> Line {
        Line::default().and(tone, text)
    }

    /// The line with more text.
    pub(crate) fn and(mut self, tone: Tone, text: impl Into<String>) -> Line {
        self.0.push((tone, text.into()));
        self
    }

    /// The line followed by another.
    pub(crate) fn join(mut self, other: Line) -> Line {
        self.0.extend(other.0);
        self
    }

    /// The line, at least so wide.
    pub(crate) fn padded(self, width: usize) -> Line {
        let missing = width.saturating_sub(self.width());
        if missing == 0 { self } else { self.and(Tone::Plain, " ".repeat(missing)) }
    }

    /// Columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width_of(text)).sum()
    }

    /// The line as it is written.
    pub(crate) fn render(&self, colour: bool) -> String {
        let mut out = String::new();
        for (tone, text) in &self.0 {
            let code = tone.code();
            if colour && !code.is_empty() && !text.trim().is_empty() {
                out.push_str(code);
                out.push_str(text);
                out.push_str("\u{1b}[0m");
            } else {
                out.push_str(text);
            }
        }
        out.truncate(out.trim_end_matches(' ').len());
        out
    }
}

/// Columns that text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.width()
}

/// The text, cut with an ellipsis where it is too wide.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// Breaks text at blanks into lines no wider than `width`; a longer word stays whole, so that it can
/// be copied.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width_of(line) + 1 + width_of(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A label, then text that goes on below itself.
pub(crate) fn labelled(label: Line, tone: Tone, text: &str, width: usize) -> Vec<Line> {
    let indent = label.width();
    hung(label, tone, wrap(text, width.saturating_sub(indent).max(20)))
}

/// A label before the first of several texts, the others below it.
fn hung(label: Line, tone: Tone, texts: Vec<String>) -> Vec<Line> {
    let indent = label.width();
    let starts = std::iter::once(label).chain(std::iter::repeat_with(|| Line::default().padded(indent)));
    starts.zip(texts).map(|(start, text)| start.and(tone, text)).collect()
}

/// A label, then items set apart by dots, which go on below the first; an item is never broken.
pub(crate) fn items(label: Line, tone: Tone, items: &[String], width: usize) -> Vec<Line> {
    let indent = label.width();
    let room = width.saturating_sub(indent).max(20);
    let mut texts: Vec<String> = Vec::new();
    for item in items {
        match texts.last_mut() {
            Some(text) if width_of(text) + 3 + width_of(item) <= room => {
                text.push_str(" · ");
                text.push_str(item);
            }
            _ => texts.push(item.clone()),
        }
    }
    hung(label, tone, texts)
}

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Lays rows out in columns, two blanks apart.
pub(crate) fn table(rows: &[Vec<Line>], aligns: &[Align]) -> Vec<Line> {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(Line::width).max();
    let widths: Vec<usize> = (0..aligns.len()).map(|column| width(column).unwrap_or(0)).collect();
    rows.iter()
        .map(|row| {
            let mut line = Line::default();
            for (column, cell) in row.iter().enumerate() {
                if column > 0 {
                    line = line.and(Tone::Plain, "  ");
                }
                let missing = widths[column].saturating_sub(cell.width());
                if aligns[column] == Align::Right {
                    line = line.and(Tone::Plain, " ".repeat(missing)).join(cell.clone());
                } else {
                    line = line.join(cell.clone().padded(widths[column]));
                }
            }
            line
        })
        .collect()
}

/// Sets two blocks side by side, the second from column `at`; below each other where they do not fit.
pub(crate) fn beside(left: Vec<Line>, right: Vec<Line>, at: usize, width: usize) -> Vec<Line> {
    let widest = |lines: &[Line]| lines.iter().map(Line::width).max().unwrap_or(0);
    if widest(&left) + 2 > at || at + widest(&right) > width {
        let mut lines = left;
        lines.push(Line::default());
        lines.extend(right);
        return lines;
    }
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    (0..rows)
        .map(|_| left.next().unwrap_or_default().padded(at).join(right.next().unwrap_or_default()))
        .collect()
}

/// A bar for a share, 0 to 1; something above zero always shows.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let filled = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    "━".repeat(if share > 0.0 { filled.max(1) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitting() {
        let cases = [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("日本語", 6, "日本語")];
        for (text, width, expected) in cases {
            assert_eq!(fit(text, width), expected);
        }
    }

    #[test]
    fn wrapping() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("spark.eventLog.compress on", 5), ["spark.eventLog.compress", "on"]);
    }

    #[test]
    fn tables_align() {
        let cell = |text: &str| Line::text(Tone::Plain, text);
        let rows = [vec![cell("a"), cell("1")], vec![cell("bcd"), cell("100")]];
        let lines: Vec<String> =
            table(&rows, &[Align::Left, Align::Right]).iter().map(|line| line.render(false)).collect();
        assert_eq!(lines, ["a      1", "bcd  100"]);
    }

    #[test]
    fn blocks_that_do_not_fit_side_by_side_go_below() {
        let line = |text: &str| vec![Line::text(Tone::Plain, text)];
        assert_eq!(beside(line("left"), line("right"), 8, 20)[0].render(false), "left    right");
        assert_eq!(beside(line("left"), line("right"), 8, 10).len(), 3);
    }

    #[test]
    fn colour_is_never_all() {
        let line = Line::text(Tone::Bad, "failed").and(Tone::Plain, " ");
        assert_eq!(line.render(false), "failed");
        assert_eq!(line.render(true), "\u{1b}[1;31mfailed\u{1b}[0m");
    }
}
