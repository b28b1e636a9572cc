//! The permission mode of the next run: never wider than the person chose.
//!
//! Hooks and transcripts are not believed about the mode: any program that Claude runs can call a hook, and
//! Claude itself reports `acceptEdits` after one approved command. hopty reads the mode from the footer of
//! Claude's screen. A wider one counts only if a person at a terminal has just pressed Shift+Tab; a narrower
//! one always counts.

use serde::{Deserialize, Serialize};

use super::screen_facts::{PromptBox, ScreenFacts};
use crate::core::claude::permission::PermissionMode;
use crate::core::time::Stamp;

/// How long after Shift+Tab the footer may take to show another mode, in ms.
const KEY_MS: u64 = 3000;

/// What is known of the permission mode, across all runs of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PermissionModes {
    /// The mode before the first prompt and the first Shift+Tab: that of the person's arguments and settings.
    first: Option<PermissionMode>,
    /// The widest mode that the person has chosen.
    #[serde(rename = "given")]
    from_person: Option<PermissionMode>,
    /// The last mode on the screen.
    #[serde(rename = "shown")]
    on_screen: Option<PermissionMode>,
    /// A mode other than the first was shown, or chosen.
    changed: bool,
    /// When a person pressed Shift+Tab.
    key: Option<Stamp>,
}

impl PermissionModes {
    fn was_pressed(&self, now: Stamp) -> bool {
        self.key.is_some_and(|at| now.since(at) <= KEY_MS)
    }

    fn show(&mut self, now: Stamp, mode: PermissionMode, spoken: bool) {
        if self.was_pressed(now) && self.on_screen != Some(mode) {
            self.from_person = Some(mode);
            self.changed = true;
        } else if self.key.is_none() && !spoken {
            self.first.get_or_insert(mode);
            self.from_person.get_or_insert(mode);
        }
        self.changed |= self.first.is_some_and(|first| first != mode);
        self.on_screen = Some(mode);
    }

    /// A person pressed the key that changes the mode. A script's keys do not count.
    pub(super) fn press(&mut self, now: Stamp, client: u32) {
        if client != 0 {
            self.key = Some(now);
        }
    }

    /// The screen shows a mode, or none. `spoken`: a prompt was submitted in this session.
    pub(super) fn look(&mut self, now: Stamp, facts: &ScreenFacts, spoken: bool) {
        match facts.mode {
            Some(mode) => self.show(now, mode, spoken),
            // 2.1.197 shows no name for the default mode.
            None if self.was_pressed(now) && facts.prompt != PromptBox::None => {
                self.show(now, PermissionMode::Default, spoken);
            }
            None => {}
        }
    }

    /// The mode of the next run; `None` if the person's own arguments and settings determine it.
    pub(super) fn next(&self) -> Option<PermissionMode> {
        let given = self.from_person.filter(|_| self.changed)?;
        let mode = self.on_screen.map_or(given, |shown| shown.min(given));
        let own = self.first == Some(mode) && !mode.may_be_passed();
        (!own).then_some(mode)
    }

    /// Whether to read the footer although nothing else needs the screen.
    pub(super) fn needs_footer(&self, now: Stamp, spoken: bool) -> bool {
        self.was_pressed(now) || self.first.is_none() && self.key.is_none() && !spoken
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Event, KeyClass, PromptOf};
    use super::super::tests::{Session, claude};
    use super::PermissionMode::{self, AcceptEdits, Auto, BypassPermissions, Default, DontAsk, Plan};
    use super::*;

    /// What happens, in tests.
    enum Does {
        Shows(PermissionMode),
        /// The prompt box without a mode name.
        ShowsNone,
        Prompts,
        Presses,
        Scripts,
        Waits,
    }
    use Does::{Presses, Prompts, Scripts, Shows, ShowsNone, Waits};

    fn next(history: &[Does]) -> Option<PermissionMode> {
        let mut s = Session::started(claude());
        for does in history {
            match does {
                Shows(mode) => {
                    s.feed(Event::Screen {
                        facts: ScreenFacts { mode: Some(*mode), ..ScreenFacts::default() },
                    });
                }
                ShowsNone => {
                    s.feed(Event::Screen {
                        facts: ScreenFacts { prompt: PromptBox::Empty, ..ScreenFacts::default() },
                    });
                }
                Prompts => drop(s.prompt(PromptOf::Person)),
                Presses => drop(s.feed(Event::Keys { client: 1, class: KeyClass::Mode, bytes: 3 })),
                Scripts => drop(s.feed(Event::Keys { client: 0, class: KeyClass::Mode, bytes: 3 })),
                Waits => drop(s.after(KEY_MS + 1)),
            }
        }
        s.sup.permission_mode()
    }

    #[test]
    fn a_mode_is_passed_on_as_far_as_the_person_gave_it() {
        for (history, expected) in [
            (&[][..], None),
            (&[Shows(Default)], None),
            (&[Shows(BypassPermissions)], None),
            // A narrower mode counts whatever caused it; returning to the person's own mode is theirs.
            (&[Shows(BypassPermissions), Shows(Plan)], Some(Plan)),
            (&[Shows(Auto), Shows(Default)], Some(Default)),
            (&[Shows(BypassPermissions), Shows(Plan), Shows(BypassPermissions)], None),
            (&[Shows(BypassPermissions), Shows(Plan), Shows(AcceptEdits)], Some(AcceptEdits)),
            // A wider mode needs a person's Shift+Tab shortly before.
            (&[Shows(Default), Shows(AcceptEdits)], Some(Default)),
            (&[Shows(Default), Presses, Shows(AcceptEdits)], Some(AcceptEdits)),
            (&[Shows(Default), Scripts, Shows(AcceptEdits)], Some(Default)),
            (&[Shows(Default), Presses, Waits, Shows(AcceptEdits)], Some(Default)),
            (&[Shows(Default), Shows(AcceptEdits), Presses, Shows(AcceptEdits)], Some(Default)),
            (&[Shows(Default), Presses, Presses, Shows(AcceptEdits), Shows(Plan)], Some(Plan)),
            // What the person narrowed stays narrow.
            (
                &[Shows(BypassPermissions), Presses, Shows(Default), Waits, Shows(BypassPermissions)],
                Some(Default),
            ),
            (&[Shows(BypassPermissions), Presses, Shows(Default), Waits, Shows(AcceptEdits)], Some(Default)),
            (&[Shows(BypassPermissions), Presses, Shows(Default), Presses, Shows(BypassPermissions)], None),
            // The arguments decide whether the person's own mode is as wide.
            (&[Shows(Plan), Presses, Shows(Auto)], Some(Auto)),
            (&[Shows(Default), Shows(Auto)], Some(Default)),
            (&[Shows(Plan), Shows(Auto)], Some(Plan)),
            // The default mode has no name (2.1.197).
            (&[ShowsNone, Prompts, Presses, Shows(AcceptEdits)], Some(AcceptEdits)),
            (&[ShowsNone, Prompts, Presses, Shows(AcceptEdits), Presses, ShowsNone], Some(Default)),
            (&[Shows(BypassPermissions), Prompts, Presses, ShowsNone], Some(Default)),
            (&[Shows(BypassPermissions), Prompts, ShowsNone], None),
            // A mode first seen after the first prompt may have any cause.
            (&[ShowsNone, Prompts, Shows(AcceptEdits), Shows(Plan), Shows(AcceptEdits)], None),
            (&[Shows(Default), Presses, Shows(DontAsk)], Some(DontAsk)),
        ] {
            let name = |does: &Does| match does {
                Shows(mode) => mode.word().to_owned(),
                Presses => "key".to_owned(),
                Scripts => "script".to_owned(),
                Waits => "later".to_owned(),
                ShowsNone => "none".to_owned(),
                Prompts => "prompt".to_owned(),
            };
            let told: Vec<String> = history.iter().map(name).collect();
            assert_eq!(next(history), expected, "{told:?}");
        }
    }
}
