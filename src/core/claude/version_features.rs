//! The features of a version of Claude Code: the hooks for a launch, and the message for the person if
//! something is missing. From [`FULL`] on everything works.
//!
//! It reads no settings: the caller says whether hooks are switched off.

use serde::{Deserialize, Serialize};

/// The first version on which everything was measured to work: PostToolBatch, the sessions file, messages in
/// Stop.
pub const FULL: [u32; 3] = [2, 1, 197];
/// The first version that was measured to accept a plugin directory. 1.0.128 refuses the option and exits.
pub const PLUGINS: [u32; 3] = [2, 0, 76];
/// The first version that accepts `--name`; 2.1.75 refuses the option and exits (measured).
pub const NAMES: [u32; 3] = [2, 1, 76];
/// The first version that was measured to send the system prompt that is in a conversation's transcript, and
/// to accept the option that prevents it.
pub const PROMPT_SNAPSHOTS: [u32; 3] = [2, 1, 329];
/// The first version that was measured to ignore Enter in the first second of a dialog. 2.1.300 takes an
/// Enter for the answer before it has drawn the dialog.
pub const PATIENT: [u32; 3] = [2, 1, 329];

/// The newest version that was measured. When the size changes, it redraws its screen, and its status line
/// 0.3 s later. An old version clears the terminal's scrollback for that.
pub const NEWEST: [u32; 3] = [2, 1, 332];

/// Which hooks Claude is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSet {
    /// None: hopty follows Claude by its files.
    None,
    /// All that hopty uses.
    #[default]
    Full,
    /// Those of 2.0.76. One unknown event disables all hooks of a plugin there (measured), so PostToolUse
    /// replaces PostToolBatch.
    Old,
}

/// Why no hooks of hopty's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HooksOff {
    /// `[hooks] inject = false` or `--no-inject`.
    NotInjected,
    /// `--bare`.
    Bare,
    /// `--safe-mode`.
    SafeMode,
    /// `disableAllHooks` in the settings that Claude reads.
    Settings,
    /// Before it runs any hook of a launch, Claude creates `plugins` in its directory, and it cannot
    /// (measured on 2.1.332).
    Unwritable {
        /// What is not writable, and why.
        why: String,
        /// Whether transcripts and handoffs are writable nevertheless.
        handover: bool,
    },
}

/// The features that a launch can rely on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaudeFeatures {
    /// The hooks that are passed to Claude.
    pub hooks: HookSet,
    /// Something switches hooks off, so they are not relied on. If only settings do so, the hooks are passed
    /// all the same: the person may switch them on again in the running Claude.
    pub off: bool,
    /// A prompt is submitted only while Claude is idle: while it works, Enter may answer a dialog.
    #[serde(default)]
    pub submit_when_idle: bool,
    /// A conversation may have a title (`--name`).
    #[serde(default)]
    pub names: bool,
    /// Claude can make its system prompt anew when it resumes a conversation (`--system-prompt-snapshot`).
    #[serde(default)]
    pub renews_system_prompt: bool,
    /// Another size for a moment only makes Claude redraw its status line.
    #[serde(default)]
    pub redraws_status_line: bool,
    /// Why no hand-over is possible.
    #[serde(default)]
    pub no_handover: Option<String>,
    /// The message for the person; `None` if nothing is missing.
    pub limited: Option<String>,
}

/// The features of a version. An unknown version counts as new.
pub fn offers(version: Option<&str>, off: Option<HooksOff>) -> ClaudeFeatures {
    let number = version.and_then(parse).unwrap_or(NEWEST);
    let named = version.unwrap_or_default();
    let hooks = match &off {
        Some(HooksOff::NotInjected | HooksOff::Bare | HooksOff::SafeMode | HooksOff::Unwritable { .. }) => {
            HookSet::None
        }
        _ if number < PLUGINS => HookSet::None,
        _ if number < FULL => HookSet::Old,
        _ => HookSet::Full,
    };
    let no_handover = match &off {
        Some(HooksOff::Unwritable { why, handover: false }) => {
            Some(format!("Claude can run no hooks ({why})"))
        }
        _ => None,
    };
    let why = match &off {
        Some(HooksOff::NotInjected) => Some("hopty gives Claude no hooks, as configured".to_owned()),
        Some(HooksOff::Bare) => Some("Claude runs no hooks with --bare".to_owned()),
        Some(HooksOff::SafeMode) => Some("Claude runs no hooks with --safe-mode".to_owned()),
        Some(HooksOff::Settings) => Some("Hooks are switched off (disableAllHooks)".to_owned()),
        Some(HooksOff::Unwritable { why, .. }) => Some(format!("Claude can run no hooks ({why})")),
        None if number < PLUGINS => Some(format!("Claude Code {named} supports no plugin with hooks")),
        None => None,
    };
    let limited = match (why, hooks) {
        (Some(why), _) if no_handover.is_some() => {
            Some(format!("{why}, so there is no hand-over; fix this and start hopty again"))
        }
        (Some(why), _) => Some(format!(
            "{why}, so hopty follows its files: a hand-over waits for the end of a turn, and the new \
             conversation reads the handoff itself"
        )),
        (None, HookSet::Old) => Some(format!(
            "Claude Code {named} has no PostToolBatch hook and no sessions file: a hand-over takes a few \
             seconds longer"
        )),
        (None, _) => None,
    };
    ClaudeFeatures {
        hooks,
        off: off.is_some(),
        submit_when_idle: number < PATIENT,
        names: number >= NAMES,
        renews_system_prompt: number >= PROMPT_SNAPSHOTS,
        redraws_status_line: number >= NEWEST,
        no_handover,
        limited,
    }
}

/// The first three numbers.
fn parse(version: &str) -> Option<[u32; 3]> {
    let plain = version.split(['-', '+']).next()?;
    let mut parts = plain.split('.').map(str::parse);
    let mut next = || parts.next()?.ok();
    Some([next()?, next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hooks(version: Option<&str>, off: Option<HooksOff>) -> HookSet {
        offers(version, off).hooks
    }

    #[test]
    fn an_old_version_gets_what_it_knows() {
        assert_eq!(hooks(Some("1.0.128"), None), HookSet::None);
        assert_eq!(hooks(Some("2.0.75"), None), HookSet::None);
        assert_eq!(hooks(Some("2.0.76"), None), HookSet::Old);
        assert_eq!(hooks(Some("2.1.196"), None), HookSet::Old);
        assert_eq!(hooks(Some("2.1.197"), None), HookSet::Full);
        assert_eq!(hooks(Some("2.1.329-beta.1"), None), HookSet::Full);
        assert_eq!(hooks(Some("10.0.0"), None), HookSet::Full);
    }

    #[test]
    fn an_enter_into_a_busy_claude_is_for_versions_that_hold_it_off() {
        let waits = |version| offers(Some(version), None).submit_when_idle;
        assert!(["2.0.76", "2.1.197", "2.1.300", "2.1.328"].into_iter().all(waits));
        assert!(!["2.1.329", "2.2.0", "3.0.0", ""].into_iter().any(waits));
    }

    #[test]
    fn a_name_is_for_versions_that_take_one() {
        let takes = |version| offers(Some(version), None).names;
        assert!(["2.1.76", "2.1.197", "2.1.332", ""].into_iter().all(takes));
        assert!(!["1.0.128", "2.0.76", "2.1.75"].into_iter().any(takes));
    }

    #[test]
    fn a_system_prompt_is_made_anew_by_versions_that_take_one_from_a_transcript() {
        let renews = |version| offers(Some(version), None).renews_system_prompt;
        assert!(["2.1.329", "2.1.332", ""].into_iter().all(renews));
        assert!(!["1.0.128", "2.1.197", "2.1.328"].into_iter().any(renews));
    }

    #[test]
    fn an_unknown_version_counts_as_new() {
        for version in [None, Some(""), Some("2.1"), Some("x.y.z"), Some("99999999999.0.0")] {
            let new = ClaudeFeatures {
                names: true,
                renews_system_prompt: true,
                redraws_status_line: true,
                ..ClaudeFeatures::default()
            };
            assert_eq!(offers(version, None), new, "{version:?}");
        }
    }

    #[test]
    fn hooks_that_settings_switch_off_are_given_but_not_counted_on() {
        let offers = offers(Some("2.1.329"), Some(HooksOff::Settings));
        assert_eq!((offers.hooks, offers.off), (HookSet::Full, true));
        assert!(
            offers
                .limited
                .unwrap()
                .starts_with("Hooks are switched off (disableAllHooks), so hopty follows its files: ")
        );
    }

    #[test]
    fn hooks_that_a_flag_switches_off_are_not_given() {
        for off in [HooksOff::NotInjected, HooksOff::Bare, HooksOff::SafeMode] {
            let offers = offers(Some("2.1.329"), Some(off));
            assert_eq!((offers.hooks, offers.off, offers.limited.is_some()), (HookSet::None, true, true));
        }
    }

    #[test]
    fn a_claude_that_can_write_nothing_gets_no_hooks_and_hands_nothing_over() {
        let unwritable = |handover| {
            let why = "/h/.claude: Permission denied".to_owned();
            offers(None, Some(HooksOff::Unwritable { why, handover }))
        };
        let (none, some) = (unwritable(false), unwritable(true));
        assert_eq!((none.hooks, some.hooks, none.off, some.off), (HookSet::None, HookSet::None, true, true));
        assert_eq!(
            none.limited.unwrap(),
            "Claude can run no hooks (/h/.claude: Permission denied), so there is no hand-over; fix this and \
             start hopty again"
        );
        assert!(none.no_handover.is_some());
        assert!(some.limited.unwrap().contains("so hopty follows its files") && some.no_handover.is_none());
    }

    #[test]
    fn a_person_is_told_what_is_missing() {
        assert!(offers(Some("2.0.76"), None).limited.unwrap().contains("2.0.76"));
        assert!(offers(Some("1.0.128"), None).limited.unwrap().contains("1.0.128"));
    }
}
