//! Notices for people while a program has the screen.
//!
//! hopty has no status line and adds nothing to the program's output. Each client gets a frame and prints the
//! notice when the person has the terminal back; a key after the prefix key shows the last notices on a page
//! at any time.

use std::collections::VecDeque;

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::Terminals;
use super::client::PageAnswer;
use super::scene::Scene;
use crate::core::supervisor::action::DecisionKind;
use crate::core::terminal::Size;
use crate::core::text::safe_text::{cut_chars, safe_line};
use crate::core::text::word_wrap::wrap_words;
use crate::core::time::{Stamp, ago};
use crate::ipc::frame::tag;

/// How many notices are kept for the page.
const PAGE_NOTICES_KEPT: usize = 20;
/// How many notices are kept while no client is attached.
const MISSED: usize = 5;
/// Indent of the further lines of a notice, in columns.
const INDENT: usize = 2;
/// How many characters of a notice are kept.
const TEXT: usize = 1000;

/// A notice for the page.
#[derive(Debug)]
struct KeptNotice {
    /// Its number in the session.
    number: u64,
    at: Stamp,
    about: DecisionKind,
    text: String,
    /// Whether clients get it, too, and print it when their terminal is free.
    is_for_clients: bool,
    /// Whether a page has shown it.
    is_read: bool,
}

/// A page of notices.
#[derive(Debug)]
struct NoticePage {
    text: String,
    /// The numbers of the notices on it that clients got.
    of_clients: Vec<u64>,
    /// The number of the notice with which the next page begins.
    next: Option<u64>,
}

/// The last notices, oldest first.
#[derive(Debug, Default)]
pub(in crate::host) struct Notices {
    last: VecDeque<KeptNotice>,
    /// How many there were.
    count: u64,
    /// Notices from the time without a client.
    missed: VecDeque<(Stamp, DecisionKind, String)>,
}

impl Notices {
    fn keep(&mut self, now: Stamp, about: DecisionKind, text: &str, is_for_clients: bool) {
        self.count += 1;
        let text = cut_chars(&safe_line(text), TEXT);
        let number = self.count;
        self.last.push_back(KeptNotice { number, at: now, about, text, is_for_clients, is_read: false });
        if self.last.len() > PAGE_NOTICES_KEPT {
            self.last.pop_front();
        }
    }

    fn miss(&mut self, now: Stamp, about: DecisionKind, text: &str) {
        self.keep(now, about, text, true);
        self.missed.push_back((now, about, cut_chars(&safe_line(text), TEXT)));
        if self.missed.len() > MISSED {
            self.missed.pop_front();
        }
    }

    /// Ends notices of these kinds: clients no longer print them. The page still has them.
    fn settle(&mut self, about: &[DecisionKind]) -> bool {
        self.missed.retain(|(_, kind, _)| !about.contains(kind));
        let mut any = false;
        for notice in self.last.iter_mut().filter(|notice| about.contains(&notice.about)) {
            any |= std::mem::take(&mut notice.is_for_clients);
        }
        any
    }

    /// As many as fit a terminal of this size, newest first, from the notice `from` on; without it, or if it
    /// is gone, from the newest. Notices of the same moment keep their order, like lines of a file.
    fn page(&mut self, now: Stamp, size: Size, from: Option<u64>) -> NoticePage {
        let (cols, rows) = size.drawn();
        let mut left = usize::from(rows).saturating_sub(4);
        let cols = usize::from(cols);
        let mut text = "\x1b[1mhopty\x1b[m notices, newest first\n\n".to_owned();
        let mut shown: Vec<&mut KeptNotice> = self.last.iter_mut().collect();
        shown.sort_by_key(|notice| (std::cmp::Reverse(notice.at), notice.number));
        if shown.is_empty() {
            text.push_str("No notices.\n");
        }
        let begin = from.and_then(|from| shown.iter().position(|notice| notice.number == from)).unwrap_or(0);
        let mut end = begin;
        for notice in &mut shown[begin..] {
            let line = wrap_words(&format!("{}: {}", ago(now.since(notice.at)), notice.text), INDENT, cols);
            let takes: usize = line.lines().map(|line| line.width().div_ceil(cols)).sum();
            if takes > left && end > begin {
                break;
            }
            // A notice that is higher than the terminal is cut, so that every page shows something.
            let lines: Vec<&str> = line.lines().take(left.max(1)).collect();
            text.push_str(&lines.join("\n"));
            text.push('\n');
            left = left.saturating_sub(takes);
            (notice.is_read, end) = (true, end + 1);
        }
        let of_clients = shown[begin..end].iter().filter(|notice| notice.is_for_clients);
        let of_clients = of_clients.map(|notice| notice.number).collect();
        let next = shown.get(end).map(|notice| notice.number);
        text.push_str(&match shown.len() - end {
            0 => "\nPress any key to return.".to_owned(),
            more => format!("\nn: {more} more, any other key: return"),
        });
        NoticePage { text, of_clients, next }
    }
}

impl Terminals {
    pub fn notice(&mut self, about: DecisionKind, text: &str, scene: &mut Scene<'_>) {
        if self.expects_first() && self.in_use() == 0 {
            // The terminal that started the session has not attached yet.
            return self.notices.miss(scene.now(), about, text);
        }
        self.notices.keep(scene.now(), about, text, true);
        let payload = json!({"kind": about, "text": text}).to_string();
        for id in self.clients.keys() {
            scene.links.frame(*id, tag::NOTICE, payload.as_bytes());
        }
    }

    /// What notices of these kinds announced has happened or will not happen: clients no longer print them.
    pub fn settle_notices(&mut self, about: &[DecisionKind], scene: &mut Scene<'_>) {
        if !self.notices.settle(about) {
            return;
        }
        let payload = json!({"over": about}).to_string();
        for id in self.clients.keys() {
            scene.links.frame(*id, tag::NOTICE, payload.as_bytes());
        }
    }

    /// Keeps messages that a person got elsewhere, for the page.
    pub fn keep_notices<'text>(&mut self, now: Stamp, texts: impl Iterator<Item = &'text str>) {
        texts.for_each(|text| self.notices.keep(now, DecisionKind::SessionStarted, text, false));
    }

    /// A program's notification reaches the terminal with its bytes; it is kept if no terminal is attached.
    pub fn keep_notifications(&mut self, scene: &mut Scene<'_>) {
        let said = scene.run.as_mut().map(|run| run.model.take_notifications()).unwrap_or_default();
        // An attached person may have seen it.
        if said.is_empty() || self.in_use() > 0 || self.expects_first() {
            return;
        }
        for text in said {
            let text = format!("from the program, while nobody was attached: {text}");
            self.notices.miss(scene.now(), DecisionKind::ClientAttached, &text);
        }
    }

    /// Gives the first client to attach the notices that no client got.
    pub(super) fn send_missed(&mut self, id: u64, scene: &mut Scene<'_>) {
        let now = scene.now();
        for (at, about, text) in self.notices.missed.drain(..) {
            let payload = json!({"kind": about, "text": text, "ago_ms": now.since(at)}).to_string();
            scene.links.frame(id, tag::NOTICE, payload.as_bytes());
        }
    }

    /// How many notices the page has not shown.
    pub fn unread_notices(&self) -> usize {
        self.notices.last.iter().filter(|notice| !notice.is_read).count()
    }

    /// Shows a client the last notices, from the notice with the number `from` on or from the newest, and
    /// tells it not to print them again.
    pub fn show_notices(&mut self, id: u64, size: Size, from: Option<u64>, scene: &mut Scene<'_>) {
        let page = self.notices.page(scene.now(), size, from);
        self.show_page(id, &page.text, scene);
        let Some(client) = self.clients.get_mut(&id) else { return };
        client.page_answer = page.next.map(PageAnswer::NextNotices);
        // The client already knows about one that is shown again.
        let read = page.of_clients.into_iter().filter(|number| client.read_notices.insert(*number)).count();
        scene.links.frame(id, tag::NOTICE, json!({"read": read}).to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows_of(page: &str) -> usize {
        page.split('\n').map(|line| line.width().div_ceil(40).max(1)).sum()
    }

    #[test]
    fn what_is_over_stays_on_the_page_alone() {
        let mut notices = Notices::default();
        notices.miss(Stamp(0), DecisionKind::RestartWaits, "with your next prompt");
        notices.miss(Stamp(0), DecisionKind::Degraded, "no journal");
        assert!(notices.settle(&[DecisionKind::RestartWaits]));
        assert!(!notices.settle(&[DecisionKind::RestartWaits]), "once");
        assert_eq!(notices.missed.iter().map(|(.., text)| text.as_str()).collect::<Vec<_>>(), ["no journal"]);
        let page = notices.page(Stamp(0), Size::cells(80, 24), None);
        assert!(page.text.contains("with your next prompt") && page.text.contains("no journal"));
        assert_eq!(page.of_clients.len(), 1);
    }

    #[test]
    fn a_page_fits_its_terminal_and_moves_no_cursor() {
        let mut notices = Notices::default();
        for n in 0..30 {
            notices.keep(
                Stamp(n),
                DecisionKind::Degraded,
                &format!("{n}\x1b[2J {}", "long ".repeat(20)),
                n % 2 == 0,
            );
        }
        let NoticePage { text: page, of_clients, next } =
            notices.page(Stamp(180_000), Size::cells(40, 12), None);
        assert_eq!((of_clients, next), (vec![29], Some(28)), "of the two that are shown");
        assert!(page.lines().all(|line| line.width() <= 40), "broken between words: {page}");
        assert!(rows_of(&page) <= 12, "{page}");
        assert!(page.contains("2 min ago: 29") && !page.contains("\x1b[2J"), "{page}");
        assert!(Notices::default().page(Stamp(0), Size::cells(0, 0), None).text.contains("No notices"));
    }

    #[test]
    fn what_does_not_fit_follows_on_the_next_page() {
        let mut notices = Notices::default();
        for n in 1..=8 {
            notices.keep(Stamp(7), DecisionKind::Degraded, &format!("line {n}"), n == 8);
        }
        notices.keep(Stamp(8), DecisionKind::Degraded, "the newest", true);
        let size = Size::cells(40, 9);
        let first = notices.page(Stamp(9), size, None);
        let body = |page: &NoticePage| {
            page.text
                .lines()
                .filter_map(|line| line.strip_prefix("just now: ").map(str::to_owned))
                .collect::<Vec<_>>()
        };
        assert_eq!(body(&first), ["the newest", "line 1", "line 2", "line 3", "line 4"], "as in a file");
        assert!(first.text.ends_with("\nn: 4 more, any other key: return"), "{}", first.text);
        assert_eq!((first.of_clients, first.next), (vec![9], Some(5)));
        assert_eq!(notices.last.iter().filter(|notice| !notice.is_read).count(), 4);
        // A notice that arrives meanwhile moves nothing.
        notices.keep(Stamp(9), DecisionKind::Degraded, "just come", false);
        let second = notices.page(Stamp(9), size, first.next);
        assert_eq!(body(&second), ["line 5", "line 6", "line 7", "line 8"]);
        assert!(second.text.ends_with("\nPress any key to return."));
        assert_eq!((second.of_clients, second.next), (vec![8], None));
        assert!(rows_of(&first.text) <= 9 && rows_of(&second.text) <= 9);
        assert_eq!(body(&notices.page(Stamp(9), size, Some(99)))[0], "just come", "one that is gone");
    }

    #[test]
    fn a_notice_that_is_higher_than_the_terminal_is_begun() {
        let mut notices = Notices::default();
        notices.keep(Stamp(1), DecisionKind::Degraded, "older", true);
        notices.keep(Stamp(2), DecisionKind::Degraded, &"long ".repeat(100), true);
        let page = notices.page(Stamp(3), Size::cells(40, 8), None);
        assert!(page.text.contains("just now: long") && rows_of(&page.text) <= 8, "{}", page.text);
        assert_eq!((page.of_clients, page.next), (vec![2], Some(1)));
    }
}
