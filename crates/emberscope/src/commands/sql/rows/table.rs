//! Rows as a table that fits the terminal.

use super::Rows;
use crate::format::{counted, plain};
use crate::output::{Look, Output};
use crate::render::page::{Line, Tone, fit, width_of};
use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;
use emberscope_sql_client::rows::value;

/// Columns that a shortened value keeps at least.
const NARROWEST: usize = 10;
/// Columns of a value at most, as long as others need the room.
const GAP: usize = 2;
/// A value longer than this is cut before it is measured: plans have megabytes.
const LONGEST: usize = 2000;

pub(super) struct Table {
    names: Vec<String>,
    numbers: Vec<bool>,
    rows: Vec<Vec<Cell>>,
    output: Output,
}

struct Cell {
    text: String,
    is_null: bool,
}

impl Table {
    pub(super) fn new(schema: &Schema, output: Output) -> Self {
        let fields = schema.fields();
        Table {
            names: fields.iter().map(|field| plain(field.name())).collect(),
            numbers: fields.iter().map(|field| value::is_number(field.data_type())).collect(),
            rows: Vec::new(),
            output,
        }
    }
}

impl Rows for Table {
    fn batch(&mut self, batch: &RecordBatch) -> anyhow::Result<()> {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| cell(column.as_ref(), row));
            self.rows.push(cells.collect());
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> anyhow::Result<()> {
        let look = self.output.look();
        let text = render(&self.names, &self.numbers, &self.rows, look);
        self.output.write(&text)?;
        self.output.finish()
    }
}

fn cell(column: &dyn Array, row: usize) -> Cell {
    let mut text = String::new();
    value::text(column, row, &mut text);
    if let Some((at, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(at);
        text.push('…');
    }
    Cell { text: plain(&text), is_null: column.is_null(row) }
}

fn render(names: &[String], numbers: &[bool], rows: &[Vec<Cell>], look: Look) -> String {
    let mut widths: Vec<usize> = names.iter().map(|name| width_of(name)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(width_of(&cell.text));
        }
    }
    let lines = match fitted(&widths, names, numbers, look.width) {
        Some(widths) => table(names, numbers, rows, &widths),
        None => records(names, rows, look.width),
    };
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.render(look.colour));
        text.push('\n');
    }
    if rows.len() != 1 {
        text.push_str(&Line::text(Tone::Faint, counted(rows.len() as u64, "row")).render(look.colour));
        text.push('\n');
    }
    text
}

/// Widths that fit together: the widest texts are shortened first, numbers and short names never. `None` if
/// that is not enough.
fn fitted(widths: &[usize], names: &[String], numbers: &[bool], room: usize) -> Option<Vec<usize>> {
    let gaps = GAP * widths.len().saturating_sub(1);
    let room = room.checked_sub(gaps)?;
    let least: Vec<usize> =
        widths
            .iter()
            .zip(numbers)
            .zip(names)
            .map(|((width, is_number), name)| {
                if *is_number {
                    *width
                } else {
                    (*width).min(NARROWEST.max(width_of(name).min(2 * NARROWEST)))
                }
            })
            .collect();
    if least.iter().sum::<usize>() > room {
        return None;
    }
    let mut fitted = widths.to_vec();
    let mut over = fitted.iter().sum::<usize>().saturating_sub(room);
    while over > 0 {
        let (widest, _) = (0..fitted.len())
            .filter(|n| fitted[*n] > least[*n])
            .map(|n| (n, fitted[n]))
            .max_by_key(|(_, width)| *width)?;
        fitted[widest] -= 1;
        over -= 1;
    }
    Some(fitted)
}

fn table(names: &[String], numbers: &[bool], rows: &[Vec<Cell>], widths: &[usize]) -> Vec<Line> {
    let aligned = |line: Line, n: usize, tone: Tone, text: &str| {
        let text = fit(text, widths[n]);
        let blank = " ".repeat(widths[n] - width_of(&text));
        let gap = " ".repeat(if n > 0 { GAP } else { 0 });
        let (before, after) = if numbers[n] { (gap + &blank, String::new()) } else { (gap, blank) };
        line.and(Tone::Plain, before).and(tone, text).and(Tone::Plain, after)
    };
    let header = names
        .iter()
        .enumerate()
        .fold(Line::default(), |line, (n, name)| aligned(line, n, Tone::Strong, name));
    let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    let mut lines = vec![header, Line::text(Tone::Faint, rules.join(&" ".repeat(GAP)))];
    for row in rows {
        let cells = row.iter().enumerate();
        lines.push(cells.fold(Line::default(), |line, (n, cell)| {
            let tone = if cell.is_null { Tone::Faint } else { Tone::Plain };
            aligned(line, n, tone, &cell.text)
        }));
    }
    lines
}

/// One value a line, for more columns than fit beside each other.
fn records(names: &[String], rows: &[Vec<Cell>], room: usize) -> Vec<Line> {
    let left = names.iter().map(|name| width_of(name)).max().unwrap_or(0).min(room / 2);
    let mut lines = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        if n > 0 {
            lines.push(Line::default());
        }
        lines.push(Line::text(Tone::Faint, format!("row {}", n + 1)));
        for (name, cell) in names.iter().zip(row) {
            let tone = if cell.is_null { Tone::Faint } else { Tone::Plain };
            let name = Line::text(Tone::Strong, fit(name, left)).padded(left + GAP);
            lines.push(name.and(tone, fit(&cell.text, room.saturating_sub(left + GAP).max(NARROWEST))));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(names: &[&str], numbers: &[bool], rows: &[&[&str]], width: usize) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let cell = |text: &&str| Cell { text: (*text).to_owned(), is_null: *text == "null" };
        let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        render(&names, numbers, &rows, Look { width, colour: false })
    }

    #[test]
    fn numbers_stand_at_the_right_and_texts_give_way() {
        let text = shown(&["jobId", "jobName"], &[true, false], &[&["1", "save at A"], &["12", "null"]], 60);
        assert_eq!(text, "jobId  jobName\n─────  ─────────\n    1  save at A\n   12  null\n2 rows\n");
        let long = "x".repeat(200);
        let text = shown(&["id", "name"], &[true, false], &[&["1", &long]], 60);
        assert!(text.lines().all(|line| width_of(line) <= 60), "{text}");
        assert!(text.contains('…'));
    }

    #[test]
    fn too_many_columns_become_lines() {
        let names: Vec<String> = (0..20).map(|n| format!("column{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let row = ["123456"; 20];
        let text = shown(&names, &[true; 20], &[&row], 80);
        assert!(text.starts_with("row 1\ncolumn0   123456\n"), "{text}");
    }

    #[test]
    fn nothing_is_said() {
        assert_eq!(shown(&["a"], &[true], &[], 60), "a\n─\n0 rows\n");
    }
}
