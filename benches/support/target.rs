//! What hopty is to reach, so that every table says whether it does.

use super::stats::cell;

/// A limit for one figure.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// It is to be so much or more.
    AtLeast(f64),
    /// It is to be so much or less.
    AtMost(f64),
    /// It is only written down.
    Open,
}

/// The name of the row.
pub const ROW: &str = "*target*";

impl Target {
    /// The limit, and whether `value` keeps it.
    pub fn judge(self, value: f64) -> String {
        let (sign, limit, kept) = match self {
            Target::AtLeast(limit) => ('≥', limit, value >= limit),
            Target::AtMost(limit) => ('≤', limit, value <= limit),
            Target::Open => return String::new(),
        };
        let digits = if limit.fract() == 0.0 { 0 } else { 2 };
        format!("{sign} {} {}", cell(limit, digits), if kept { "✓" } else { "✗" })
    }
}

/// Puts the row of targets under that of hopty; nothing where hopty is not measured, or nothing is to be
/// reached.
pub fn under(rows: &mut Vec<Vec<String>>, judged: Vec<String>) {
    if judged.iter().all(String::is_empty) {
        return;
    }
    if let Some(at) = rows.iter().position(|row| row[0].trim_matches('*') == "hopty") {
        rows.insert(at + 1, std::iter::once(ROW.to_owned()).chain(judged).collect());
    }
}
