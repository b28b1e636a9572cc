//! Numbers of many short slices, and how they are made one.

/// One value with how much the slice was disturbed: the time that its threads waited for a processor, in ns.
pub type Slice = (u64, f64);

/// The value below which the part `q` (0 to 1) of all values lies; NaN of none.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => sorted[((n as f64 * q) as usize).min(n - 1)],
    }
}

/// The middle value; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The middle of the half that waited least for a processor: what the program does when its neighbours let
/// it.
pub fn undisturbed(slices: &[Slice]) -> f64 {
    let mut sorted = slices.to_vec();
    sorted.sort_by_key(|slice| slice.0);
    let half: Vec<f64> = sorted.iter().take(slices.len().div_ceil(2)).map(|slice| slice.1).collect();
    median(&half)
}

/// A markdown table: a head of columns, then rows of cells.
pub fn table(head: &[&str], rows: &[Vec<String>]) {
    println!("| {} |", head.join(" | "));
    println!("|{}", "---|".repeat(head.len()));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
    println!();
}

/// A number for a cell, `–` where there is none.
pub fn cell(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "–".to_owned() }
}
