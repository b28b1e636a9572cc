//! Notices for people while a program has the screen.
//!
//! A multiplexer would show them in its status line; hopty has none, and adds no byte to the program's
//! output. Each client gets a frame and prints it when the terminal is the person's again; a key after the
//! prefix key shows the last notices on a page before that.

use std::collections::VecDeque;

use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::Terminals;
use super::scene::Scene;
use crate::core::handoff::text::{cut_chars, safe_line};
use crate::core::supervisor::action::DecisionKind;
use crate::core::terminal::Size;
use crate::core::time::{Stamp, ago};
use crate::core::word_wrap::wrap_words;
use crate::ipc::frame::tag;

/// How many notices are kept for the page.
const KEPT: usize = 20;
/// How many are kept of those that came while no client was attached.
const MISSED: usize = 5;
/// Where a notice goes on below, in columns from the left.
const INDENT: usize = 2;
/// How many characters of a notice are kept.
const TEXT: usize = 1000;

/// A notice for the page.
#[derive(Debug)]
struct KeptNotice {
    at: Stamp,
    about: DecisionKind,
    text: String,
    /// Whether clients get it too, and print it when their terminal is free.
    is_for_clients: bool,
}

/// The last notices, oldest first.
#[derive(Debug, Default)]
pub(in crate::host) struct Notices {
    last: VecDeque<KeptNotice>,
    /// How many the page has not shown.
    unread: usize,
    /// Notices that came while no client was attached.
    missed: VecDeque<(Stamp, DecisionKind, String)>,
}

impl Notices {
    fn keep(&mut self, now: Stamp, about: DecisionKind, text: &str, is_for_clients: bool) {
        let text = cut_chars(&safe_line(text), TEXT);
        self.last.push_back(KeptNotice { at: now, about, text, is_for_clients });
        self.unread = (self.unread + 1).min(KEPT);
        if self.last.len() > KEPT {
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

    /// What these are about is over: no client prints them any more. The page still has them.
    fn settle(&mut self, about: &[DecisionKind]) -> bool {
        self.missed.retain(|(_, kind, _)| !about.contains(kind));
        let mut any = false;
        for notice in self.last.iter_mut().filter(|notice| about.contains(&notice.about)) {
            any |= std::mem::take(&mut notice.is_for_clients);
        }
        any
    }

    /// As many as fit a terminal of this size, newest first, and how many of those clients have got.
    fn page(&self, now: Stamp, size: Size) -> (String, usize) {
        let (cols, rows) = size.drawn();
        let mut left = usize::from(rows).saturating_sub(4);
        let cols = usize::from(cols);
        let mut text = "\x1b[1mhopty\x1b[m notices, newest first\n\n".to_owned();
        let mut of_clients = 0;
        if self.last.is_empty() {
            text.push_str("No notices.\n");
        }
        for notice in self.last.iter().rev() {
            let line = wrap_words(&format!("{}: {}", ago(now.since(notice.at)), notice.text), INDENT, cols);
            let takes: usize = line.lines().map(|line| line.width().div_ceil(cols)).sum();
            if takes > left {
                break;
            }
            left -= takes;
            of_clients += usize::from(notice.is_for_clients);
            text.push_str(&line);
            text.push('\n');
        }
        text.push_str("\nPress any key to return.");
        (text, of_clients)
    }
}

impl Terminals {
    /// Sends a notice to every attached client, and keeps it for the page.
    pub fn notice(&mut self, about: DecisionKind, text: &str, scene: &mut Scene<'_>) {
        if self.expects_first() && self.in_use() == 0 {
            // The terminal that started the session is yet to come.
            return self.notices.miss(scene.now(), about, text);
        }
        self.notices.keep(scene.now(), about, text, true);
        let payload = json!({"kind": about, "text": text}).to_string();
        for id in self.clients.keys() {
            scene.links.frame(*id, tag::NOTICE, payload.as_bytes());
        }
    }

    /// What notices of these kinds announced has come or will not come: a client that got them prints them no more.
    pub fn settle_notices(&mut self, about: &[DecisionKind], scene: &mut Scene<'_>) {
        if !self.notices.settle(about) {
            return;
        }
        let payload = json!({"over": about}).to_string();
        for id in self.clients.keys() {
            scene.links.frame(*id, tag::NOTICE, payload.as_bytes());
        }
    }

    /// Keeps what a person was told elsewhere, for the page.
    pub fn keep_notices<'text>(&mut self, now: Stamp, texts: impl Iterator<Item = &'text str>) {
        texts.for_each(|text| self.notices.keep(now, DecisionKind::SessionStarted, text, false));
    }

    /// A program's notification reaches the terminal with its bytes; it is kept if there is none.
    pub fn keep_notifications(&mut self, scene: &mut Scene<'_>) {
        let said = scene.run.as_mut().map(|run| run.model.take_notifications()).unwrap_or_default();
        // An attached person may have seen it by now and looks at something else.
        if said.is_empty() || self.in_use() > 0 || self.expects_first() {
            return;
        }
        for text in said {
            let text = format!("from the program, while nobody was attached: {text}");
            self.notices.miss(scene.now(), DecisionKind::ClientAttached, &text);
        }
    }

    /// The first client to attach gets the notices that nobody got.
    pub(super) fn tell_missed(&mut self, id: u64, scene: &mut Scene<'_>) {
        let now = scene.now();
        for (at, about, text) in self.notices.missed.drain(..) {
            let payload = json!({"kind": about, "text": text, "ago_ms": now.since(at)}).to_string();
            scene.links.frame(id, tag::NOTICE, payload.as_bytes());
        }
    }

    /// How many notices the page has not shown.
    pub fn unread_notices(&self) -> usize {
        self.notices.unread
    }

    /// Shows a client the last notices, and tells it that they need not be printed again.
    pub fn show_notices(&mut self, id: u64, size: Size, scene: &mut Scene<'_>) {
        self.notices.unread = 0;
        let (text, read) = self.notices.page(scene.now(), size);
        self.show_page(id, &text, scene);
        scene.links.frame(id, tag::NOTICE, json!({"read": read}).to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_stays_on_the_page_alone() {
        let mut notices = Notices::default();
        notices.miss(Stamp(0), DecisionKind::RestartWaits, "with your next prompt");
        notices.miss(Stamp(0), DecisionKind::Degraded, "no journal");
        assert!(notices.settle(&[DecisionKind::RestartWaits]));
        assert!(!notices.settle(&[DecisionKind::RestartWaits]), "once");
        assert_eq!(notices.missed.iter().map(|(.., text)| text.as_str()).collect::<Vec<_>>(), ["no journal"]);
        let (page, of_clients) = notices.page(Stamp(0), Size::cells(80, 24));
        assert!(page.contains("with your next prompt") && page.contains("no journal"), "{page}");
        assert_eq!(of_clients, 1);
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
        let (page, read) = notices.page(Stamp(180_000), Size::cells(40, 12));
        assert_eq!(read, 1, "of the two that are shown");
        let rows: usize = page.split('\n').map(|line| line.width().div_ceil(40).max(1)).sum();
        assert!(page.lines().all(|line| line.width() <= 40), "broken between words: {page}");
        assert!(rows <= 12, "{rows} rows: {page}");
        assert!(page.contains("2 min ago: 29") && !page.contains("\x1b[2J"), "{page}");
        assert!(Notices::default().page(Stamp(0), Size::cells(0, 0)).0.contains("No notices"));
    }
}
