//! Tables of text.

/// Prints rows under headings, each column as wide as its widest cell.
pub(crate) fn print(title: &str, headings: &[&str], rows: &[Vec<String>]) {
    println!("\n{title}");
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let mut text = String::new();
        for (number, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            // Names to the left, numbers to the right.
            let blanks = " ".repeat(width - cell.chars().count());
            let gap = if number == 0 { "" } else { "  " };
            text += &if number == 0 { format!("{cell}{blanks}") } else { format!("{gap}{blanks}{cell}") };
        }
        println!("{}", text.trim_end());
    };
    line(headings.to_vec());
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}

/// The middle of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The smallest and the largest.
pub(crate) fn range(figures: &[f64]) -> String {
    let low = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let high = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{low:.2}–{high:.2}")
}

/// A time in milliseconds, if there is one.
pub(crate) fn millis(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

/// Bytes as MB.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}
