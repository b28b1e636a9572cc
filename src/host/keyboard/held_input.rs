//! Held input: what people type while a hand-over needs the prompt box, and the prompts for the next run. It
//! is typed afterwards in order, key by key, into a prompt box and never into a dialog.

use std::collections::VecDeque;

use super::drafts::paste;
use crate::core::claude::screen_reading::ScreenReading;
use crate::core::draft::{Unit, units};
use crate::core::input::InputClass;
use crate::core::time::Stamp;

/// The most bytes that are held in all; during a longer paste hopty stops reading the keyboard.
const HELD_MAX: usize = 1 << 20;
/// How long a queued prompt may take to appear in the box, in ms; after that its Enter is not sent.
const ECHO_MS: u64 = 2000;
/// The most Enters for one prompt, and how long one may take to empty the box, in ms: Claude loses some on a
/// busy machine (2 of 40, measured on 2.1.329).
const ENTERS: u32 = 5;
const ENTER_MS: u64 = 200;
/// How often to check for it, or for a box that keys may be typed into, in ms.
pub(super) const ECHO_LOOK_MS: u64 = 20;
/// How long new keys wait after held ones for a prompt box before they are passed to the child, in ms.
const BOX_MS: u64 = 10_000;

/// The byte of the Esc key.
const ESC: u8 = 0x1b;

/// Input that hopty types, one after another.
#[derive(Clone, Debug)]
enum HeldItem {
    /// Bytes as a person typed them.
    Unit(Unit),
    /// A prompt that was queued in the old run: a paste, and Enter only once the box shows it.
    Prompt { text: String, pasted: Option<Stamp>, enters: u32 },
}

/// What receives keys on the program's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum InputFocus {
    /// Claude's prompt box, or a program without one, such as a shell.
    Prompt,
    /// A dialog, or Claude reports that it waits for a person.
    Dialog,
    /// Neither is visible.
    Unknown,
}

impl InputFocus {
    /// What receives keys on Claude's screen. `blocked`: Claude reports that it waits for a person.
    pub fn of_claude(view: Option<&ScreenReading>, blocked: bool) -> Self {
        match view {
            _ if blocked => InputFocus::Dialog,
            Some(ScreenReading { dialog: Some(_), .. }) => InputFocus::Dialog,
            Some(ScreenReading { prompt_box: Some(_), .. }) => InputFocus::Prompt,
            _ => InputFocus::Unknown,
        }
    }
}

/// The state of the program when something may be typed.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) struct TypingTarget {
    pub run: Option<u32>,
    pub focus: InputFocus,
    /// Its prompt box shows [`HeldInput::pasted_prompt`].
    pub shows_pasted: bool,
    /// It has read everything that was typed before.
    pub has_read_all: bool,
}

/// What to type next, and on whose behalf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Keystrokes {
    Persons(Vec<u8>),
    Own(Vec<u8>),
}

/// Input that waits, in the order in which it is typed.
#[derive(Debug, Default)]
pub(in crate::host) struct HeldInput {
    holding: bool,
    /// While input is held: new keys still reach the child, because a dialog needs a person.
    passing: bool,
    /// Held input met a dialog or no prompt box, and waits: new keys go to whatever is on the screen.
    blocked: bool,
    /// Since when there has been no prompt box.
    no_box_since: Option<Stamp>,
    /// The last keys went into a prompt box: one that grows higher than the screen is out of sight.
    in_box: bool,
    bytes: Vec<u8>,
    items: VecDeque<HeldItem>,
    /// The run that hopty wants to interrupt as soon as no client is in the middle of a sequence.
    interrupt: Option<u32>,
    due: Stamp,
}

impl HeldInput {
    /// When to call [`HeldInput::next`] again.
    pub fn deadline(&self) -> Option<Stamp> {
        (self.interrupt.is_some() || self.is_typing()).then_some(self.due)
    }

    /// Whether the next held input may be typed now.
    pub fn is_due(&self, now: Stamp) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }

    /// A hand-over holds the keys for itself.
    pub fn is_holding(&self) -> bool {
        self.holding
    }

    /// Whether held input is being typed.
    pub fn is_typing(&self) -> bool {
        !self.holding && !self.items.is_empty()
    }

    /// Whether new input must wait its turn.
    pub fn must_wait(&self) -> bool {
        if self.holding { !self.passing } else { !self.items.is_empty() && !self.blocked }
    }

    /// Whether to stop reading the keyboards.
    pub fn is_full(&self) -> bool {
        let waiting = self.items.iter().map(|item| match item {
            HeldItem::Unit(unit) => unit.bytes.len(),
            HeldItem::Prompt { text, .. } => text.len(),
        });
        self.bytes.len() + waiting.sum::<usize>() >= HELD_MAX
    }

    /// Whether nothing is held.
    #[cfg(test)]
    pub fn is_settled(&self) -> bool {
        !self.holding && self.items.is_empty() && self.bytes.is_empty()
    }

    /// Starts to hold keys.
    pub fn hold(&mut self) {
        self.holding = true;
        self.passing = false;
    }

    /// Passes new keys to the child although older ones are held.
    pub fn pass(&mut self) {
        self.passing = true;
    }

    /// Appends input while keys are held, or while held ones are still being typed: it comes after them,
    /// unchanged.
    pub fn push(&mut self, class: InputClass, part: Vec<u8>) {
        match class {
            // A lone Esc is for a Claude that is gone: it would interrupt the fresh one, or change the
            // key behind it.
            _ if self.holding && part == [ESC] => {}
            _ if self.holding => self.bytes.extend(part),
            // A long paste arrives in parts, which have no meaning by themselves.
            InputClass::Paste => {
                self.items.push_back(HeldItem::Unit(Unit { class, bytes: part, pause_after_ms: 0 }))
            }
            _ => self.items.extend(units(&part).into_iter().map(HeldItem::Unit)),
        }
    }

    /// A new run gets these prompts and this draft before all other held input.
    pub fn put_first(&mut self, prompts: Vec<String>, draft: &[u8]) {
        let prompts = prompts.into_iter().map(|text| HeldItem::Prompt { text, pasted: None, enters: 0 });
        let draft = units(draft).into_iter().map(HeldItem::Unit);
        // Input that an earlier hand-over held and did not type yet came after the draft; the draft includes
        // a prompt that was pasted.
        let left = std::mem::take(&mut self.items).into_iter();
        let left = left.filter(|item| !matches!(item, HeldItem::Prompt { pasted: Some(_), .. }));
        self.items = prompts.chain(draft).chain(left).collect();
    }

    /// The hand-over is over: held input is typed from now on.
    pub fn release(&mut self, now: Stamp) {
        self.holding = false;
        self.passing = false;
        self.in_box = false;
        self.no_box_since = None;
        let bytes = std::mem::take(&mut self.bytes);
        // The terminal's answers were for the old run; the new one did not ask.
        let held = units(&bytes).into_iter().filter(|unit| unit.class != InputClass::Report);
        self.items.extend(held.map(HeldItem::Unit));
        self.due = now;
    }

    /// hopty wants to interrupt this run.
    pub fn interrupt(&mut self, run: Option<u32>) {
        self.interrupt = run;
    }

    /// Nothing can be typed now: a client is in the middle of a sequence.
    pub fn postpone(&mut self, now: Stamp) {
        self.due = now.after(ECHO_LOOK_MS);
    }

    /// Types held keys into a prompt box, never into a dialog: they were typed before it appeared, and a
    /// single Enter among them would approve whatever is asked. While there is no box, decides whether new
    /// keys wait, too.
    pub fn look(&mut self, now: Stamp, focus: InputFocus) -> bool {
        if focus != InputFocus::Prompt {
            let since = *self.no_box_since.get_or_insert(now);
            self.blocked = focus == InputFocus::Dialog || now >= since.after(BOX_MS);
            return false;
        }
        self.blocked = false;
        self.no_box_since = None;
        true
    }

    /// The pasted prompt whose Enter is due once the box shows it.
    pub fn pasted_prompt(&self) -> Option<&str> {
        match self.items.front() {
            Some(HeldItem::Prompt { text, pasted: Some(_), .. }) => Some(text),
            _ => None,
        }
    }

    /// What to type now. Call it while [`HeldInput::is_due`].
    pub(super) fn next(&mut self, now: Stamp, target: &TypingTarget) -> Option<Keystrokes> {
        if let Some(run) = self.interrupt.take() {
            return (Some(run) == target.run).then(|| Keystrokes::Persons(b"\x03".to_vec()));
        }
        let item = self.items.pop_front()?;
        // Everything before an Enter must have arrived in the box before it is read.
        let enters = matches!(&item,
            HeldItem::Unit(unit) if unit.bytes.ends_with(b"\r") || unit.class == InputClass::Submit);
        let is_draft = matches!(&item,
            HeldItem::Unit(unit) if matches!(unit.class, InputClass::Typed | InputClass::Paste));
        self.in_box &= is_draft && target.focus != InputFocus::Dialog;
        let continues = self.in_box && target.focus == InputFocus::Unknown;
        if !(continues || self.look(now, target.focus)) || enters && !target.has_read_all {
            match item {
                // Claude already works on it and asks a question.
                HeldItem::Prompt { enters: 1.., .. } if target.focus == InputFocus::Dialog => {}
                // Its time to appear starts again.
                HeldItem::Prompt { text, pasted: Some(_), enters } => {
                    self.items.push_front(HeldItem::Prompt { text, pasted: Some(now), enters });
                }
                item => self.items.push_front(item),
            }
            self.due = now.after(ECHO_LOOK_MS);
            return None;
        }
        match item {
            HeldItem::Unit(unit) => {
                self.due = now.after(unit.pause_after_ms);
                self.in_box = is_draft;
                Some(Keystrokes::Persons(unit.bytes))
            }
            HeldItem::Prompt { text, pasted: None, .. } => {
                let bytes = paste(&text);
                self.items.push_front(HeldItem::Prompt { text, pasted: Some(now), enters: 0 });
                self.due = now.after(ECHO_LOOK_MS);
                Some(Keystrokes::Own(bytes))
            }
            HeldItem::Prompt { text, pasted: Some(at), enters } => {
                self.due = now.after(ECHO_LOOK_MS);
                let waits = if enters == 0 { ECHO_MS } else { ENTER_MS };
                let is_late = now.since(at) >= waits;
                match target.shows_pasted {
                    true if enters == 0 || is_late && enters < ENTERS => {
                        let enters = enters + 1;
                        self.items.push_front(HeldItem::Prompt { text, pasted: Some(now), enters });
                        return Some(Keystrokes::Own(b"\r".to_vec()));
                    }
                    shown if !is_late && shown == (enters > 0) => {
                        self.items.push_front(HeldItem::Prompt { text, pasted: Some(at), enters });
                    }
                    // It was submitted, or stays in the box: an Enter without evidence is not sent.
                    _ => {}
                }
                None
            }
        }
    }

    /// Input that a person wrote and no run received, in order.
    pub fn unsent(&self) -> Vec<u8> {
        let mut unsent = Vec::new();
        for item in &self.items {
            match item {
                HeldItem::Unit(unit) => unsent.extend_from_slice(&unit.bytes),
                HeldItem::Prompt { text, .. } => unsent.extend_from_slice(format!("{text}\n").as_bytes()),
            }
        }
        let held = units(&self.bytes).into_iter().filter(|unit| unit.class != InputClass::Report);
        unsent.extend(held.flat_map(|unit| unit.bytes));
        unsent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(focus: InputFocus) -> TypingTarget {
        TypingTarget { run: Some(1), focus, shows_pasted: false, has_read_all: true }
    }

    fn persons(bytes: &[u8]) -> Option<Keystrokes> {
        Some(Keystrokes::Persons(bytes.to_vec()))
    }

    #[test]
    fn held_keys_are_typed_in_order_and_new_ones_behind_them() {
        let mut held = HeldInput::default();
        held.hold();
        assert!(held.must_wait());
        held.push(InputClass::Typed, b"ab".to_vec());
        assert_eq!((held.deadline(), held.unsent()), (None, b"ab".to_vec()));
        held.put_first(Vec::new(), b"draft ");
        held.release(Stamp(10));
        held.push(InputClass::Typed, b"c".to_vec());
        assert!(held.must_wait() && held.is_due(Stamp(10)));
        let mut typed = Vec::new();
        let mut now = Stamp(10);
        while let Some(at) = held.deadline() {
            now = now.max(at);
            match held.next(now, &target(InputFocus::Prompt)) {
                Some(Keystrokes::Persons(bytes)) => typed.extend(bytes),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((typed.as_slice(), held.is_settled(), held.must_wait()), (&b"draft abc"[..], true, false));
    }

    #[test]
    fn held_keys_answer_no_dialog_and_new_keys_do() {
        let mut held = HeldInput::default();
        held.hold();
        held.push(InputClass::Submit, b"\r".to_vec());
        held.release(Stamp(0));
        assert_eq!(held.next(Stamp(0), &target(InputFocus::Dialog)), None);
        assert!(!held.must_wait());
        assert_eq!(held.deadline(), Some(Stamp(ECHO_LOOK_MS)));
        // Enter waits until the program has read the bytes before it.
        let behind = TypingTarget { has_read_all: false, ..target(InputFocus::Prompt) };
        assert_eq!(held.next(Stamp(20), &behind), None);
        assert!(held.must_wait());
        assert_eq!(held.next(Stamp(40), &target(InputFocus::Prompt)), persons(b"\r"));
    }

    #[test]
    fn a_lone_esc_of_a_hand_over_is_not_given_to_the_fresh_run() {
        let mut held = HeldInput::default();
        held.hold();
        for part in [&b"\x1b"[..], b"g", b"o", b"\x1b[D"] {
            held.push(InputClass::Typed, part.to_vec());
        }
        assert_eq!(held.unsent(), b"go\x1b[D");
    }

    #[test]
    fn a_draft_that_hides_its_box_is_typed_to_its_end_but_no_enter_follows() {
        let mut held = HeldInput::default();
        held.put_first(Vec::new(), b"a\\\rb\r");
        held.release(Stamp(0));
        assert_eq!(held.next(Stamp(0), &target(InputFocus::Prompt)), persons(b"a\\"));
        assert_eq!(held.next(Stamp(100), &target(InputFocus::Unknown)), persons(b"\r"));
        assert_eq!(held.next(Stamp(200), &target(InputFocus::Unknown)), persons(b"b"));
        assert_eq!(held.next(Stamp(300), &target(InputFocus::Unknown)), None);
        assert_eq!(held.next(Stamp(400), &target(InputFocus::Prompt)), persons(b"\r"));
    }

    #[test]
    fn where_no_box_comes_new_keys_stop_waiting() {
        let mut held = HeldInput::default();
        held.hold();
        held.push(InputClass::Typed, b"a".to_vec());
        held.release(Stamp(0));
        assert_eq!(held.next(Stamp(0), &target(InputFocus::Unknown)), None);
        assert!(held.must_wait());
        assert_eq!(held.next(Stamp(BOX_MS), &target(InputFocus::Unknown)), None);
        assert!(!held.must_wait());
        assert_eq!(held.next(Stamp(BOX_MS + ECHO_LOOK_MS), &target(InputFocus::Prompt)), persons(b"a"));
    }

    #[test]
    fn a_prompt_is_submitted_only_when_it_stands_in_the_box() {
        let mut held = HeldInput::default();
        held.put_first(vec!["count Lyra".to_owned()], b"");
        held.release(Stamp(0));
        assert_eq!(
            held.next(Stamp(0), &target(InputFocus::Prompt)),
            Some(Keystrokes::Own(paste("count Lyra")))
        );
        assert_eq!(
            (held.next(Stamp(20), &target(InputFocus::Prompt)), held.pasted_prompt()),
            (None, Some("count Lyra"))
        );
        assert_eq!(
            held.next(Stamp(40), &TypingTarget { shows_pasted: true, ..target(InputFocus::Prompt) }),
            Some(Keystrokes::Own(b"\r".to_vec()))
        );
        assert_eq!(held.next(Stamp(60), &target(InputFocus::Prompt)), None);
        assert!(held.is_settled());
        // A prompt that does not appear stays in the box.
        held.put_first(vec!["count Lyra".to_owned()], b"");
        held.release(Stamp(100));
        assert!(held.next(Stamp(100), &target(InputFocus::Prompt)).is_some());
        assert_eq!(held.next(Stamp(100 + ECHO_MS), &target(InputFocus::Prompt)), None);
        assert!(held.is_settled());
    }

    #[test]
    fn an_enter_that_claude_lost_is_sent_again_and_not_for_ever() {
        let shown = TypingTarget { shows_pasted: true, ..target(InputFocus::Prompt) };
        for (after, submitted) in [(2, InputFocus::Prompt), (3, InputFocus::Dialog), (9, InputFocus::Prompt)]
        {
            let mut held = HeldInput::default();
            held.put_first(vec!["count Lyra".to_owned()], b"then this");
            held.release(Stamp(0));
            let (mut now, mut enters) = (Stamp(0), 0);
            loop {
                let target = if enters == after { target(submitted) } else { shown };
                match held.next(now, &target) {
                    Some(Keystrokes::Own(bytes)) if bytes == b"\r" => enters += 1,
                    Some(Keystrokes::Persons(_)) => break,
                    _ if submitted == InputFocus::Dialog && held.pasted_prompt().is_none() => break,
                    _ => {}
                }
                now = held.deadline().unwrap();
            }
            assert_eq!((enters, now.0 < 2_000), (after.min(ENTERS), true), "{submitted:?}");
            assert!(!held.unsent().starts_with(b"count"), "{submitted:?}");
        }
    }

    #[test]
    fn an_interrupt_is_for_the_run_that_it_was_meant_for() {
        let mut held = HeldInput::default();
        held.interrupt(Some(1));
        assert!(held.is_due(Stamp(0)));
        assert_eq!(held.next(Stamp(0), &target(InputFocus::Dialog)), persons(b"\x03"));
        held.interrupt(Some(2));
        assert_eq!(held.next(Stamp(0), &target(InputFocus::Dialog)), None);
        assert_eq!(held.deadline(), None);
    }
}
