//! Tables as text or Markdown.

use comfy_table::{CellAlignment, Table, presets};

/// A table whose columns but the first are numbers.
pub fn table(is_markdown: bool, header: &[String], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(if is_markdown { presets::ASCII_MARKDOWN } else { presets::NOTHING });
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in 1..header.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// A ratio, or a dash where there is none.
pub fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}
