//! Distributes the budget of a brief among its parts.

use super::truncation::Passage;
use crate::core::text::safe_text::units;

/// A section of the brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BriefPart {
    pub title: &'static str,
    /// The room that it always gets, in UTF-16 units.
    pub floor: usize,
    /// The room that it gets before later parts get more than their floor, in UTF-16 units.
    pub ideal: usize,
    pub passage: Passage,
}

fn heading(part: &BriefPart) -> String {
    format!("\n## {}\n", part.title)
}

/// Renders the parts in at most `room` UTF-16 units. Each gets its floor; the rest goes to the first parts up
/// to their ideal, and then to the first parts up to their whole length.
pub(super) fn fill(parts: &[BriefPart], room: usize) -> String {
    let parts: Vec<(&BriefPart, usize)> = parts
        .iter()
        .filter(|part| !part.passage.is_empty())
        .map(|part| (part, units(&heading(part)) + units(&part.passage.whole())))
        .collect();
    let floors: usize = parts.iter().map(|(part, want)| (*want).min(part.floor)).sum();
    // In a small brief the floors shrink.
    let scaled = |floor: usize| if floors > room { floor * room / floors } else { floor };
    let mut given: Vec<usize> = parts.iter().map(|(part, want)| scaled((*want).min(part.floor))).collect();
    let mut left = room.saturating_sub(given.iter().sum());
    for up_to_ideal in [true, false] {
        for ((part, want), given) in parts.iter().zip(&mut given) {
            let goal = if up_to_ideal { (*want).min(part.ideal) } else { *want };
            let more = goal.saturating_sub(*given).min(left);
            *given += more;
            left -= more;
        }
    }
    let mut text = String::new();
    // Room that one part cannot use, because it is cut at a line, goes to the next one.
    let mut spare = left;
    for ((part, want), given) in parts.iter().zip(given) {
        let heading = heading(part);
        let room = (given + spare).min(*want);
        let body = part.passage.fit(room.saturating_sub(units(&heading)));
        let used = if body.is_empty() { 0 } else { units(&heading) + units(&body) };
        if used > 0 && used <= given + spare {
            text.push_str(&heading);
            text.push_str(&body);
            spare = given + spare - used;
        } else {
            spare += given;
        }
    }
    text
}
