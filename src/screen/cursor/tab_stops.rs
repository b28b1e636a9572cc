//! Tab stops: every eight columns at first, then as set by HTS and TBC. It only finds stops and does not move
//! the cursor.

/// Columns between the stops of a fresh terminal.
const EVERY: usize = 8;

/// The tab stops of a screen that is `stops.len()` columns wide.
#[derive(Clone, Debug, PartialEq)]
pub struct TabStops {
    stops: Vec<bool>,
}

impl TabStops {
    pub fn new(cols: usize) -> Self {
        Self { stops: (0..cols).map(Self::is_default).collect() }
    }

    /// Whether a fresh terminal has a stop there.
    pub fn is_default(col: usize) -> bool {
        col > 0 && col.is_multiple_of(EVERY)
    }

    /// The sequences that set these stops on a fresh terminal. They move the cursor along its row.
    pub fn redo(&self, cols: usize) -> String {
        if *self == Self::new(cols) {
            return String::new();
        }
        let stops = self.stops.iter().enumerate().filter(|(_, stop)| **stop);
        std::iter::once("\x1b[3g".to_owned())
            .chain(stops.map(|(col, _)| format!("\x1b[{}G\x1bH", col + 1)))
            .collect()
    }

    /// Keeps the existing stops; new columns get default ones.
    pub fn resize(&mut self, cols: usize) {
        self.stops.truncate(cols);
        self.stops.extend((self.stops.len()..cols).map(Self::is_default));
    }

    pub fn set(&mut self, col: usize) {
        if let Some(stop) = self.stops.get_mut(col) {
            *stop = true;
        }
    }

    /// Removes the stop at `col`.
    pub fn clear(&mut self, col: usize) {
        if let Some(stop) = self.stops.get_mut(col) {
            *stop = false;
        }
    }

    pub fn clear_all(&mut self) {
        self.stops.fill(false);
    }

    /// The next stop to the right of `col`, or the last column.
    pub fn next(&self, col: usize) -> usize {
        let last = self.stops.len().saturating_sub(1);
        (col + 1..=last).find(|at| self.stops[*at]).unwrap_or(last)
    }

    /// The next stop to the left of `col`, or the first column.
    pub fn previous(&self, col: usize) -> usize {
        (0..col.min(self.stops.len())).rev().find(|at| self.stops[*at]).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_found_both_ways() {
        let tabs = TabStops::new(20);
        assert_eq!((tabs.next(0), tabs.next(8), tabs.next(16), tabs.next(19)), (8, 16, 19, 19));
        assert_eq!((tabs.previous(19), tabs.previous(16), tabs.previous(8)), (16, 8, 0));
    }

    #[test]
    fn set_clear_and_resize() {
        let mut tabs = TabStops::new(10);
        tabs.set(3);
        tabs.clear(8);
        tabs.resize(20);
        assert_eq!((tabs.next(0), tabs.next(3)), (3, 16));
        tabs.clear_all();
        assert_eq!(tabs.next(0), 19);
        tabs.resize(1);
        assert_eq!((tabs.next(0), tabs.next(5), tabs.previous(5)), (0, 0, 0));
    }
}
