//! The line that a person sees when Claude is started where a handoff waits (checklist 42, 52).

use super::error::visible;
use crate::core::handoff::sections::Section;
use crate::core::handoff::text::{cut_chars, safe_line};
use crate::fs::paths::Paths;
use crate::fs::registry;
use crate::fs::store::Store;
use crate::io::clock::Clock;

/// How much of the goal is shown, in characters.
const GOAL_CAP: usize = 60;

/// What waits in this directory's channel; `None` when nothing does. A store that cannot be read is told of when a
/// handoff is asked for, and keeps nobody from Claude.
pub(super) fn waiting(paths: &Paths) -> Option<String> {
    let channel =
        registry::channel_of(&paths.claude, &std::env::current_dir().ok()?).unwrap_or_else(|_| crate::core::ids::Channel::global());
    let store = Store::at(&paths.claude);
    let now = Clock::wall();
    let entry = store.pending(&channel, None, now).ok()??;
    let age = super::handoff::age(now.0.saturating_sub(entry.created_at.0));
    let what = match store.show(&entry.id) {
        Ok(loaded) => {
            let goal = loaded.document.sections.iter().find(|(section, _)| *section == Section::Goal);
            // Its first line is that of a fence.
            let goal = goal.and_then(|(_, text)| text.lines().find(|line| !line.starts_with("```") && !line.trim().is_empty()));
            goal.map_or_else(|| "no goal".to_owned(), |goal| visible(&cut_chars(&safe_line(goal), GOAL_CAP)))
        }
        Err(error) => visible(&error.to_string()),
    };
    Some(format!("a handoff waits: {} ({age} old, {what}); `hopty --handoff` loads it", entry.id))
}
