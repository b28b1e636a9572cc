//! Notices that arrive while a program has the terminal.
//!
//! Nothing is printed then: the screen is the program's. The last few are kept until the person has the
//! terminal back; inside a session the prefix key and `n` show them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::core::text::safe_text::cut_chars;
use crate::core::time::ago;

/// How many notices are kept; older ones are only counted.
const DEFERRED_NOTICES_KEPT: usize = 5;
/// How many characters of a notice are kept.
const TEXT: usize = 1000;

/// A NOTICE frame (`docs/PROTOCOL.md`).
#[derive(Deserialize)]
struct Notice {
    #[serde(default)]
    kind: String,
    text: Option<String>,
    #[serde(default)]
    ago_ms: u64,
    /// How many of the newest notices the person has already read on the host's page.
    #[serde(default)]
    read: usize,
    /// Kinds of notices that no longer apply.
    #[serde(default)]
    over: Vec<String>,
}

#[derive(Debug)]
struct ReceivedNotice {
    at: Instant,
    kind: String,
    text: String,
}

/// The last notices, oldest first.
#[derive(Debug, Default)]
pub struct NoticeList {
    last: VecDeque<ReceivedNotice>,
    earlier: usize,
}

impl NoticeList {
    /// A frame's payload; an unreadable one is ignored.
    pub(super) fn take(&mut self, payload: &[u8]) {
        let Ok(Notice { kind, text, ago_ms, read, over }) = serde_json::from_slice(payload) else { return };
        self.last.retain(|notice| !over.contains(&notice.kind));
        let left = self.last.len().saturating_sub(read);
        self.earlier = self.earlier.saturating_sub(read.saturating_sub(self.last.len()));
        self.last.truncate(left);
        let Some(text) = text else { return };
        let now = Instant::now();
        let at = now.checked_sub(Duration::from_millis(ago_ms)).unwrap_or(now);
        self.last.push_back(ReceivedNotice { at, kind, text: cut_chars(&text, TEXT) });
        if self.last.len() > DEFERRED_NOTICES_KEPT {
            self.last.pop_front();
            self.earlier += 1;
        }
    }

    /// The notices as lines, oldest first, without those that `said` repeats. `session` is for the hint where
    /// there were more.
    pub fn lines(&self, session: &str, said: Option<&str>) -> Vec<String> {
        let more = match self.earlier {
            0 => None,
            n => Some(format!("{n} earlier notices are in `hopty log {session}`")),
        };
        let new = self.last.iter().filter(|new| said.is_none_or(|said| !repeats(said, &new.text)));
        let told = new.map(|notice| {
            let ms = u64::try_from(notice.at.elapsed().as_millis()).unwrap_or(u64::MAX);
            format!("{}: {}", ago(ms), notice.text)
        });
        more.into_iter().chain(told).collect()
    }
}

/// Whether `said`, the last words of a session, repeats `notice`: in the same words, or about the same Ctrl+C
/// and the handoff that waits after it.
fn repeats(said: &str, notice: &str) -> bool {
    let ctrl_c = "you pressed Ctrl+C";
    let handoff = notice.split_whitespace().find(|word| word.starts_with("HO-"));
    let same_end = notice.contains(ctrl_c)
        && said.to_lowercase().starts_with(&ctrl_c.to_lowercase())
        && handoff.is_some_and(|id| said.contains(id.trim_end_matches(['.', ',', ';', ':'])));
    said.contains(notice) || same_end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_notices_are_kept_without_repetition() {
        let mut notices = NoticeList::default();
        notices.take(b"no json");
        assert!(notices.lines("proj", None).is_empty());
        for n in 1..=7 {
            notices.take(format!(r#"{{"kind":"degraded","text":"notice {n}"}}"#).as_bytes());
        }
        let lines = notices.lines("proj", Some("notice 7 and more"));
        assert_eq!(lines[0], "2 earlier notices are in `hopty log proj`");
        assert_eq!(lines[1..], [3, 4, 5, 6].map(|n| format!("just now: notice {n}")));
    }

    #[test]
    fn a_hand_over_interrupted_by_ctrl_c_is_reported_once() {
        let notice = "The delivery of handoff HO-7 failed: you pressed Ctrl+C. The handoff stays active.";
        let said = |handoff: &str| {
            format!("You pressed Ctrl+C, and the program ended. Handoff {handoff} is waiting.")
        };
        assert!(repeats(&said("HO-7"), notice));
        assert!(!repeats(&said("HO-8"), notice), "another hand-over");
        assert!(!repeats("The program ended. Handoff HO-7 is waiting.", notice), "much later");
        let late = notice.replace("you pressed Ctrl+C", "Claude did not take the prompt");
        assert!(!repeats(&said("HO-7"), &late), "the reason is told nowhere else");
    }

    #[test]
    fn notices_that_were_read_are_not_printed_again() {
        let mut notices = NoticeList::default();
        let take =
            |notices: &mut NoticeList, n| notices.take(format!(r#"{{"text":"notice {n}"}}"#).as_bytes());
        (1..=7).for_each(|n| take(&mut notices, n));
        notices.take(br#"{"read":4}"#);
        assert_eq!(
            notices.lines("proj", None),
            ["2 earlier notices are in `hopty log proj`", "just now: notice 3"]
        );
        take(&mut notices, 8);
        notices.take(br#"{"read":20}"#);
        assert!(notices.lines("proj", None).is_empty());
    }

    #[test]
    fn outdated_notices_are_not_printed() {
        let mut notices = NoticeList::default();
        notices.take(br#"{"kind":"restart.waits","text":"with your next prompt"}"#);
        notices.take(br#"{"kind":"degraded","text":"no journal"}"#);
        notices.take(br#"{"over":["restart.waits","level.crossed"]}"#);
        assert_eq!(notices.lines("proj", None), ["just now: no journal"]);
    }

    #[test]
    fn a_huge_one_is_cut() {
        let mut notices = NoticeList::default();
        notices.take(format!(r#"{{"text":"{}"}}"#, "x".repeat(100_000)).as_bytes());
        assert!(notices.lines("proj", None)[0].len() < 1100);
    }
}
