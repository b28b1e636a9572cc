//! The typed configuration: one struct a section, one field a key, with its default.
//!
//! Ranges and who may set a key are data in `keys.rs`; these types only carry what passed.

use serde::{Deserialize, Serialize};

use super::duration::DurationMs;
use super::level::{Levels, Threshold};
use super::units::{CellSize, PrefixKey, QuietHours};

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $(#[$first_doc:meta])* $first:ident = $first_word:literal,
        $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[$first_doc])*
            #[default]
            #[serde(rename = $first_word)]
            $first,
            $($(#[$vdoc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Every word the configuration takes for it, the default first.
            pub const WORDS: &[&str] = &[$first_word $(, $word)*];

            /// The word the configuration writes.
            pub fn word(self) -> &'static str {
                match self {
                    $name::$first => $first_word,
                    $($name::$variant => $word,)*
                }
            }
        }
    };
}

choice! {
    /// What a terminal that hangs up does to the session.
    OnHangup {
        /// The client leaves, the session goes on.
        Detach = "detach",
        /// The session ends.
        End = "end",
    }
}
choice! {
    /// Whose size the session takes.
    SizePolicy {
        /// The client whose person typed last.
        Leader = "leader",
        /// The smallest of all clients.
        Smallest = "smallest",
        /// Always `terminal.detached_size`.
        Fixed = "fixed",
    }
}
choice! {
    /// Which set of levels stands in for the defaults.
    Profile {
        /// hopty's own levels.
        Default = "default",
        /// Source document S0: 1300, 1500 and 1700 KB.
        S0 = "s0",
        /// Source document S1: 4, 6 and 8 MB.
        S1 = "s1",
        /// Source document S2: 70 and 80 %.
        S2 = "s2",
        /// Source document S3: 60 %.
        S3 = "s3",
        /// Source document S4: 90 %.
        S4 = "s4",
        /// 5, 10 and 15 KB, for trying it out.
        Test = "test",
    }
}
choice! {
    /// What a reached level does.
    RestartMode {
        /// Hand over without asking.
        Auto = "auto",
        /// Ask a person first.
        Ask = "ask",
        /// Only when asked by a person or a script.
        Manual = "manual",
    }
}
choice! {
    /// What happens when nobody answers the question of mode `ask`.
    AskDefault {
        /// Hand over.
        Handoff = "handoff",
        /// Leave it.
        Nothing = "nothing",
    }
}
choice! {
    /// What is ended together with Claude.
    Reap {
        /// Its descendants at the time of the stop.
        Tree = "tree",
        /// Nothing else.
        None = "none",
    }
}
choice! {
    /// What a dirty work tree does to a hand-over.
    GitPolicy {
        /// It is told in the handoff.
        Tell = "tell",
        /// The handoff is not loaded.
        Hold = "hold",
        /// Nothing is looked at.
        Ignore = "ignore",
    }
}
choice! {
    /// Whether a turn that an API error ended is continued.
    AfterError {
        /// When nobody was typing.
        Unattended = "unattended",
        /// Always, unless somebody types meanwhile.
        Always = "always",
        /// It is left to a person.
        Never = "never",
    }
}
choice! {
    /// Whether Claude adds its own words to a handoff.
    SummaryMode {
        /// Asked once where there is time and room.
        Auto = "auto",
        /// Never.
        Off = "off",
    }
}
choice! {
    /// The format of another tool in which a handoff is written, too.
    Layout {
        /// The form of source document S0's context manager.
        Acm = "acm",
        /// The orchestrator's form.
        Orchestrator = "orchestrator",
        /// `{channel}-{pid}.md`.
        Pid = "pid",
        /// The memory tree of source document S4.
        Memory = "memory",
    }
}

choice! {
    /// Of what a person is told who is not at the keyboard.
    NotifyEvent {
        /// Claude waits for a person's answer.
        Blocked = "blocked",
        /// Claude has finished its work.
        Idle = "idle",
        /// Claude reached a usage limit.
        LimitReached = "limit_reached",
        /// The usage limit is over.
        LimitOver = "limit_over",
        /// A hand-over waits until a person agrees to changed settings.
        HandoverHeld = "handover_held",
        /// A hand-over failed or was cancelled.
        HandoverFailed = "handover_failed",
        /// Claude crashed, and hopty starts it again.
        Crashed = "crashed",
        /// A turn is over and not in Claude's transcript.
        Transcript = "transcript",
        /// The session ended, and nobody asked for it.
        Ended = "ended",
    }
}
choice! {
    /// How attached terminals are told of it.
    NotifyTerminal {
        /// OSC 9: iTerm2, WezTerm, ghostty, Windows Terminal.
        Osc9 = "osc9",
        /// OSC 99: kitty.
        Osc99 = "osc99",
        /// OSC 777: urxvt, foot, ghostty.
        Osc777 = "osc777",
        /// The bell, which tmux and every terminal know.
        Bell = "bell",
    }
}

impl NotifyEvent {
    /// All of them.
    pub const ALL: [NotifyEvent; 9] = [
        NotifyEvent::Blocked,
        NotifyEvent::Idle,
        NotifyEvent::LimitReached,
        NotifyEvent::LimitOver,
        NotifyEvent::HandoverHeld,
        NotifyEvent::HandoverFailed,
        NotifyEvent::Crashed,
        NotifyEvent::Transcript,
        NotifyEvent::Ended,
    ];
}

macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$fdoc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }
    };
}

section! {
    /// `[program]`: what is run.
    Program {
        /// Path of Claude; when empty, hopty searches for it.
        claude: String = String::new(),
        /// Variables taken from the last attached client for the next run.
        update_env: Vec<String> =
            ["SSH_AUTH_SOCK", "SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY",
                "XAUTHORITY"].map(str::to_owned).to_vec(),
    }
}
section! {
    /// `[terminal]`: clients and the screen.
    Terminal {
        /// The key that begins hopty's own commands.
        prefix: PrefixKey = PrefixKey::DEFAULT,
        /// What a hang-up does.
        on_hangup: OnHangup = OnHangup::Detach,
        /// Whose size counts.
        size: SizePolicy = SizePolicy::Leader,
        /// The size while nobody is attached.
        detached_size: CellSize = CellSize { cols: 80, rows: 24 },
        /// Whether Claude's status line has a segment of hopty's, behind the person's own.
        segment: bool = true,
        /// Whether a start in the directory of a detached session offers to attach to it, and in that of one
        /// that died to resume it.
        offer_attach: bool = true,
        /// Lines of history the screen model keeps.
        scrollback_lines: u32 = 2_000,
    }
}
section! {
    /// `[context]`: the figure and its levels.
    Context {
        /// Which levels stand in for the defaults.
        profile: Profile = Profile::Default,
        /// The window in tokens; 0: what Claude reports.
        window: u64 = 0,
        /// Level `ask`.
        ask: Threshold = Levels::default().ask,
        /// Level `warn`.
        warn: Threshold = Levels::default().warn,
        /// Level `handoff`.
        handoff: Threshold = Levels::default().handoff,
        /// Level `hard`.
        hard: Threshold = Levels::default().hard,
    }
}
section! {
    /// `[restart]`: when and how a run is replaced.
    Restart {
        /// What a reached level does.
        mode: RestartMode = RestartMode::Auto,
        /// How long a question of mode `ask` stands.
        ask_timeout: DurationMs = DurationMs::from_secs(600),
        /// What then happens.
        ask_default: AskDefault = AskDefault::Handoff,
        /// How long "Snooze" keeps it silent, or any level from handing over.
        snooze: DurationMs = DurationMs::from_secs(300),
        /// Restarts allowed within `window`.
        max_restarts: u32 = 10,
        /// The time over which restarts are counted.
        window: DurationMs = DurationMs::from_secs(3_600),
        /// Level `handoff`: how long to wait for Stop before PostToolBatch will do.
        turn_wait: DurationMs = DurationMs::from_secs(120),
        /// How long to wait for sub-agents and background shells, and for what is not to be cut in two.
        work_wait: DurationMs = DurationMs::from_secs(120),
        /// How long a draft in the prompt box postpones a hand-over that you did not ask for.
        draft_wait: DurationMs = DurationMs::from_secs(60),
        /// How long after their last key somebody counts as being there: a hand-over at the end of a turn
        /// waits for their next prompt. `0s` never waits.
        wait_for_person: DurationMs = DurationMs::from_secs(300),
        /// From TERM to KILL. Claude's own hooks may take 3.4 s at the end.
        grace: DurationMs = DurationMs::from_secs(5),
        /// No KILL before a run has this age, unless it ignored TERM for 12 s.
        young: DurationMs = DurationMs::from_secs(12),
        /// What is ended together with Claude.
        reap: Reap = Reap::Tree,
    }
}
section! {
    /// `[delivery]`: the continuation prompt.
    Delivery {
        /// How long to wait for the prompt box.
        ready_timeout: DurationMs = DurationMs::from_secs(60),
        /// Names of dialogs that may be answered; never `permission`.
        answer_dialogs: Vec<String> = vec!["limit".to_owned()],
    }
}
section! {
    /// `[handoff]`: the record and what is made of it.
    Handoff {
        /// Age at which an active handoff expires.
        expiry: DurationMs = DurationMs::from_secs(7_200),
        /// Budget of the SessionStart frame in UTF-16 units; Claude replaces more than 10000 by a 2 KB
        /// preview.
        frame_chars: u32 = 9_500,
        /// How many decisions the record lists.
        decisions: u32 = 10,
        /// Known gotchas that are told.
        gotchas: u32 = 5,
        /// Whether uncommitted changes and new files are kept as a patch.
        diff: bool = true,
        /// What a dirty work tree does.
        git: GitPolicy = GitPolicy::Tell,
        /// How long git may take.
        git_timeout: DurationMs = DurationMs::from_ms(1_500),
        /// Whether Claude adds its own words.
        summary: SummaryMode = SummaryMode::Auto,
        /// Further forms that are written.
        views: Vec<Layout> = Vec::new(),
        /// Whether the raw transcript is copied into the record.
        copy_transcript: bool = true,
        /// Records kept per channel.
        keep_records: u32 = 50,
        /// Days a record is kept.
        keep_days: u32 = 30,
    }
}
section! {
    /// `[recovery]`: what follows an end that nobody asked for.
    Recovery {
        /// Whether a crashed conversation is resumed.
        resume_after_crash: bool = true,
        /// So many quick deaths stop the recovery.
        quick_deaths: u32 = 3,
        /// Whether hopty goes on after a usage limit where Claude has not done so by itself.
        after_limit: bool = true,
        /// How long after the reset Claude is given to do so.
        limit_wait: DurationMs = DurationMs::from_secs(120),
        /// Whether a turn that an API error ended is continued.
        after_error: AfterError = AfterError::Unattended,
        /// The first pause before that; each further one is twice as long.
        retry_pause: DurationMs = DurationMs::from_secs(60),
    }
}
section! {
    /// `[hooks]`: what Claude calls.
    Hooks {
        /// Whether hopty's plugin is given to Claude.
        inject: bool = true,
        /// Whether the plugin has the slash commands.
        commands: bool = true,
        /// How long a hook waits for the host's first answer.
        ack: DurationMs = DurationMs::from_ms(300),
        /// How long a hook may then be held.
        hold: DurationMs = DurationMs::from_secs(60),
    }
}
section! {
    /// `[compat]`: files of the source documents.
    Compat {
        /// `.current-session` and `.context-status` are written, `.restart-session` is obeyed.
        signal_files: bool = true,
        /// `auto-session.log` is written.
        session_log: bool = false,
    }
}
section! {
    /// `[journal]`: the decision log.
    Journal {
        /// Bytes at which the file is rotated.
        max_bytes: u64 = 10_485_760,
        /// Files kept.
        files: u32 = 3,
        /// Days an ended session is kept.
        keep_ended_days: u32 = 14,
    }
}
section! {
    /// `[record]`: recordings of every session.
    Recording {
        /// Whether every session is recorded from its start.
        auto: bool = false,
        /// The most bytes of a session's own recordings; the oldest part goes first.
        max_bytes: u64 = 268_435_456,
        /// Days after which they are removed.
        keep_days: u32 = 7,
    }
}

section! {
    /// `[notify]`: who is told of what, while nobody is at the keyboard.
    Notify {
        /// A shell command that is run for each event; it gets JSON on standard input.
        command: String = String::new(),
        /// How attached terminals are told.
        terminal: Vec<NotifyTerminal> = Vec::new(),
        /// Whether the desktop shows it (`notify-send`).
        desktop: bool = false,
        /// How long after the event; a key in the meantime drops it.
        after: DurationMs = DurationMs::from_secs(30),
        /// Of what.
        events: Vec<NotifyEvent> = NotifyEvent::ALL.to_vec(),
        /// When nothing is told, in local time.
        quiet_hours: QuietHours = QuietHours::default(),
    }
}
choice! {
    /// Whether conversations are archived before Claude deletes them.
    AutoArchive {
        /// Yes, unless you have shortened the time for which Claude keeps them.
        On = "on",
        /// No.
        Off = "off",
        /// Yes, whatever time you have set.
        Always = "always",
    }
}
section! {
    /// `[archive]`: conversations that are put away.
    Archive {
        /// Whether a session's start archives what Claude would delete soon.
        auto: AutoArchive = AutoArchive::On,
        /// MiB at which nothing more is archived.
        max_mb: u64 = 10_240,
    }
}
section! {
    /// `[control]`: who may steer a session.
    Control {
        /// Names of sessions whose Claude may; `*` stands for any text.
        allow_from: Vec<String> = Vec::new(),
    }
}

/// The whole configuration. Missing parts read as their defaults, unknown ones are ignored: a journal of
/// another version carries one too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// `[program]`
    pub program: Program,
    /// `[terminal]`
    pub terminal: Terminal,
    /// `[context]`
    pub context: Context,
    /// `[restart]`
    pub restart: Restart,
    /// `[delivery]`
    pub delivery: Delivery,
    /// `[handoff]`
    pub handoff: Handoff,
    /// `[recovery]`
    pub recovery: Recovery,
    /// `[hooks]`
    pub hooks: Hooks,
    /// `[compat]`
    pub compat: Compat,
    /// `[journal]`
    pub journal: Journal,
    /// `[record]`
    pub record: Recording,
    /// `[archive]`
    pub archive: Archive,
    /// `[control]`
    pub control: Control,
    /// `[notify]`
    pub notify: Notify,
}

impl Control {
    /// Whether the Claude of the session of this name may steer.
    pub fn allows(&self, name: &str) -> bool {
        self.allow_from.iter().any(|pattern| matches(pattern, name))
    }
}

/// Whether `name` is what `pattern` says, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(left) = name.strip_prefix(head) else { return false };
    (0..=left.len()).filter(|at| left.is_char_boundary(*at)).any(|at| matches(rest, &left[at..]))
}

impl Context {
    /// The four thresholds in one piece.
    pub fn levels(&self) -> Levels {
        Levels { ask: self.ask, warn: self.warn, handoff: self.handoff, hard: self.hard }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_allowed_by_name_or_pattern() {
        let control =
            |patterns: &[&str]| Control { allow_from: patterns.iter().map(|p| (*p).to_owned()).collect() };
        assert!(!control(&[]).allows("boss"));
        for (pattern, name, allowed) in [
            ("boss", "boss", true),
            ("boss", "boss-2", false),
            ("boss", "bos", false),
            ("boss*", "boss-2", true),
            ("*", "any", true),
            ("*-lead", "team-lead", true),
            ("*-lead", "team-leader", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(control(&["other", pattern]).allows(name), allowed, "{pattern} {name}");
        }
    }
}
