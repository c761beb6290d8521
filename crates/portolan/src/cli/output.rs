//! Results on standard output: one JSON value, or a table for people. Complaints beside it.
//!
//! Leaves what a result is to the commands. Invariants: with `--json` a command prints exactly one
//! value and a newline; a reader that has gone away is no error, here or anywhere.

use std::io::{self, Write};

use serde::Serialize;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Output {
    /// One JSON value instead of text for people.
    pub json: bool,
}

impl Output {
    /// Prints `value` as JSON, or what `people` makes of it.
    ///
    /// # Errors
    /// Standard output is full or failing. A reader that has gone away is no error.
    pub(crate) fn print<T: Serialize>(
        self,
        value: &T,
        people: impl FnOnce(&T) -> String,
    ) -> io::Result<()> {
        let text = if self.json { serde_json::to_string(value)? } else { people(value) };
        unless_closed(write_line(io::stdout().lock(), text.trim_end()))
    }
}

/// Says something to people, on standard error. Nobody is left to tell where that fails.
pub(crate) fn complain(text: &str) {
    let _ = write_line(io::stderr().lock(), text.trim_end());
}

fn write_line(mut out: impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Lays out rows below a head, two spaces between columns; columns of numbers stand to the right.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].len()]).max().unwrap_or(0)
    };
    let numbers = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let is_number = |cell: &String| {
            cell == "-"
                || cell.starts_with(|c: char| c.is_ascii_digit())
                    && cell.chars().all(|c| c.is_ascii_digit() || c == ',')
        };
        !rows.is_empty() && cells.clone().all(is_number) && cells.clone().any(|cell| cell != "-")
    };
    let columns: Vec<(usize, bool)> = (0..head.len()).map(|at| (width(at), numbers(at))).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&columns).map(|(cell, (width, right))| {
            if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&mut head.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

/// A number with commas between thousands, or a dash.
pub(crate) fn number(value: Option<u64>) -> String {
    let Some(value) = value else { return "-".into() };
    let digits = value.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_between_thousands() {
        for (value, text) in
            [(Some(0), "0"), (Some(999), "999"), (Some(25_000_000), "25,000,000"), (None, "-")]
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn table_lines_columns_up() {
        let rows = [vec!["lab".into(), "1,000".into()], vec!["x".into(), "-".into()]];
        assert_eq!(table(&["name", "units"], &rows), "name  units\nlab   1,000\nx         -\n");
    }
}
