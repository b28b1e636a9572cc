//! The typed configuration: one struct per section, one field per key, with its default.
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
            /// Every word for it in the configuration, the default first.
            pub const WORDS: &[&str] = &[$first_word $(, $word)*];

            /// Its word in the configuration.
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
    /// What happens to the session when a terminal hangs up.
    OnHangup {
        /// The client leaves, the session keeps running.
        Detach = "detach",
        /// The session ends.
        End = "end",
    }
}
choice! {
    /// Which size the session has.
    SizePolicy {
        /// The size of the client that typed last.
        Leader = "leader",
        /// The smallest size of all clients.
        Smallest = "smallest",
        /// Always `terminal.detached_size`.
        Fixed = "fixed",
    }
}
choice! {
    /// A set of levels that replaces the defaults.
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
        /// Only on request by a person or a script.
        Manual = "manual",
    }
}
choice! {
    /// What happens when the question of mode `ask` is not answered.
    AskDefault {
        Handoff = "handoff",
        Nothing = "nothing",
    }
}
choice! {
    /// Which processes are ended together with Claude.
    Reap {
        /// Its descendants at the time of the stop.
        Tree = "tree",
        /// Only Claude.
        None = "none",
    }
}
choice! {
    /// What uncommitted changes mean for a hand-over.
    GitPolicy {
        /// The handoff mentions them.
        Tell = "tell",
        /// The handoff is not loaded.
        Hold = "hold",
        /// They are not checked.
        Ignore = "ignore",
    }
}
choice! {
    /// Whether to continue a turn that an API error ended.
    AfterError {
        /// If no person was typing.
        Unattended = "unattended",
        /// Always, unless a person types meanwhile.
        Always = "always",
        /// Never: it is left to a person.
        Never = "never",
    }
}
choice! {
    /// Whether Claude adds a hand-over note.
    SummaryMode {
        /// Claude is asked once, if there is time and room.
        Auto = "auto",
        Off = "off",
    }
}
choice! {
    /// The format of another tool in which a handoff is also written.
    Layout {
        /// The form of source document S0's context manager.
        Acm = "acm",
        Orchestrator = "orchestrator",
        /// `{channel}-{pid}.md`.
        Pid = "pid",
        /// The memory tree of source document S4.
        Memory = "memory",
    }
}

choice! {
    /// An event about which a person who is away is notified.
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
        /// The session ended without a request.
        Ended = "ended",
    }
}
choice! {
    /// How attached terminals show a notification.
    NotifyTerminal {
        /// OSC 9: iTerm2, WezTerm, ghostty, Windows Terminal.
        Osc9 = "osc9",
        /// OSC 99: kitty.
        Osc99 = "osc99",
        /// OSC 777: urxvt, foot, ghostty.
        Osc777 = "osc777",
        /// The bell, which tmux and every terminal support.
        Bell = "bell",
    }
}

impl NotifyEvent {
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
    /// `[program]`: the program to run.
    Program {
        /// Path of Claude; when empty, hopty searches for it.
        claude: String = String::new(),
        /// Environment variables that the next run takes from the last attached client.
        update_env: Vec<String> =
            ["SSH_AUTH_SOCK", "SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY",
                "XAUTHORITY"].map(str::to_owned).to_vec(),
    }
}
section! {
    /// `[terminal]`: clients and the screen.
    Terminal {
        /// The key before hopty's own commands.
        prefix: PrefixKey = PrefixKey::DEFAULT,
        /// What a hang-up does.
        on_hangup: OnHangup = OnHangup::Detach,
        /// Which client's size the session has.
        size: SizePolicy = SizePolicy::Leader,
        /// The size while no client is attached.
        detached_size: CellSize = CellSize { cols: 80, rows: 24 },
        /// Whether hopty adds a segment to Claude's status line, after the person's own.
        segment: bool = true,
        /// Whether a start in the directory of a detached session offers to attach to it, or to resume one
        /// that died.
        offer_attach: bool = true,
        /// Lines of scrollback that the screen model keeps.
        scrollback_lines: u32 = 2_000,
    }
}
section! {
    /// `[context]`: the context usage and its levels.
    Context {
        /// The set of levels that replaces the defaults.
        profile: Profile = Profile::Default,
        /// The window in tokens; 0: what Claude reports.
        window: u64 = 0,
        ask: Threshold = Levels::default().ask,
        warn: Threshold = Levels::default().warn,
        handoff: Threshold = Levels::default().handoff,
        hard: Threshold = Levels::default().hard,
    }
}
section! {
    /// `[restart]`: when and how a run is replaced.
    Restart {
        /// What a reached level does.
        mode: RestartMode = RestartMode::Auto,
        /// How long the question of mode `ask` waits for an answer.
        ask_timeout: DurationMs = DurationMs::from_secs(600),
        /// What happens without an answer.
        ask_default: AskDefault = AskDefault::Handoff,
        /// How long "Snooze" delays the question, or hand-overs by level.
        snooze: DurationMs = DurationMs::from_secs(300),
        /// Restarts allowed within `window`.
        max_restarts: u32 = 10,
        /// The time over which restarts are counted.
        window: DurationMs = DurationMs::from_secs(3_600),
        /// At level `handoff`: how long to wait for the end of the turn before a tool boundary suffices.
        turn_wait: DurationMs = DurationMs::from_secs(120),
        /// How long to wait for sub-agents, background shells, and work that should not be interrupted.
        work_wait: DurationMs = DurationMs::from_secs(120),
        /// How long a draft in the prompt box postpones a hand-over that you did not request.
        draft_wait: DurationMs = DurationMs::from_secs(60),
        /// How long after their last key a person counts as present: a hand-over at the end of a turn waits
        /// for their next prompt. `0s` never waits.
        wait_for_person: DurationMs = DurationMs::from_secs(300),
        /// The time between TERM and KILL. Claude's own hooks may take 3.4 s at the end.
        grace: DurationMs = DurationMs::from_secs(5),
        /// No KILL before a run has reached this age, unless it ignored TERM for 12 s.
        young: DurationMs = DurationMs::from_secs(12),
        /// Which processes are ended together with Claude.
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
    /// `[handoff]`: the record and its forms.
    Handoff {
        /// Age at which a pending handoff expires.
        expiry: DurationMs = DurationMs::from_secs(7_200),
        /// Size limit of the brief in UTF-16 units; Claude replaces more than 10000 by a 2 KB preview.
        frame_chars: u32 = 9_500,
        /// How many decisions a record lists.
        decisions: u32 = 10,
        /// How many known gotchas the brief lists.
        gotchas: u32 = 5,
        /// Whether uncommitted changes and new files are kept as a patch.
        diff: bool = true,
        /// What uncommitted changes mean for a hand-over.
        git: GitPolicy = GitPolicy::Tell,
        /// How long git may take.
        git_timeout: DurationMs = DurationMs::from_ms(1_500),
        /// Whether Claude adds a hand-over note.
        summary: SummaryMode = SummaryMode::Auto,
        /// Layouts to write besides.
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
    /// `[recovery]`: what follows an unrequested end.
    Recovery {
        /// Whether a crashed conversation is resumed.
        resume_after_crash: bool = true,
        /// This many quick deaths stop the recovery.
        quick_deaths: u32 = 3,
        /// Whether hopty resumes after a usage limit if Claude has not done so by itself.
        after_limit: bool = true,
        /// How long after the reset hopty waits for Claude to resume.
        limit_wait: DurationMs = DurationMs::from_secs(120),
        /// Whether to continue a turn that an API error ended.
        after_error: AfterError = AfterError::Unattended,
        /// The first pause before that; each further one is twice as long.
        retry_pause: DurationMs = DurationMs::from_secs(60),
    }
}
section! {
    /// `[hooks]`: hopty's hooks in Claude.
    Hooks {
        /// Whether hopty's plugin is given to Claude.
        inject: bool = true,
        /// Whether the plugin has the slash commands.
        commands: bool = true,
        /// How long a hook waits for the host's first answer.
        ack: DurationMs = DurationMs::from_ms(300),
        /// How long a hook may be held afterwards.
        hold: DurationMs = DurationMs::from_secs(60),
    }
}
section! {
    /// `[compat]`: files of the source documents.
    Compat {
        /// Whether to write `.current-session` and `.context-status`, and to obey `.restart-session`.
        signal_files: bool = true,
        /// Whether to write `auto-session.log`.
        session_log: bool = false,
    }
}
section! {
    /// `[journal]`: the decision log.
    Journal {
        /// The size at which the file is rotated, in bytes.
        max_bytes: u64 = 10_485_760,
        /// How many files are kept.
        files: u32 = 3,
        /// How many days an ended session is kept.
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
        /// How many days they are kept.
        keep_days: u32 = 7,
    }
}

section! {
    /// `[notify]`: notifications for a person who is away.
    Notify {
        /// A shell command to run for each event; it gets JSON on standard input.
        command: String = String::new(),
        /// How attached terminals show them.
        terminal: Vec<NotifyTerminal> = Vec::new(),
        /// Whether the desktop shows them (`notify-send`).
        desktop: bool = false,
        /// The delay after the event; a key press meanwhile cancels the notification.
        after: DurationMs = DurationMs::from_secs(30),
        /// Which events cause a notification.
        events: Vec<NotifyEvent> = NotifyEvent::ALL.to_vec(),
        /// When no notification is sent, in local time.
        quiet_hours: QuietHours = QuietHours::default(),
    }
}
choice! {
    /// Whether conversations are archived before Claude deletes them.
    AutoArchive {
        /// Yes, unless you have shortened the time for which Claude keeps them.
        On = "on",
        Off = "off",
        /// Yes, whatever time you have set.
        Always = "always",
    }
}
section! {
    /// `[archive]`: archived conversations.
    Archive {
        /// Whether the start of a session archives conversations that Claude will delete soon.
        auto: AutoArchive = AutoArchive::On,
        /// The size of the archive above which nothing is added, in MiB.
        max_mb: u64 = 10_240,
    }
}
section! {
    /// `[control]`: who may control a session.
    Control {
        /// Names of sessions whose Claude may; `*` matches any text.
        allow_from: Vec<String> = Vec::new(),
    }
}

/// The whole configuration. Missing parts have their defaults, unknown ones are ignored: journals of other
/// versions contain one, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    pub program: Program,
    pub terminal: Terminal,
    pub context: Context,
    pub restart: Restart,
    pub delivery: Delivery,
    pub handoff: Handoff,
    pub recovery: Recovery,
    pub hooks: Hooks,
    pub compat: Compat,
    pub journal: Journal,
    pub record: Recording,
    pub archive: Archive,
    pub control: Control,
    pub notify: Notify,
}

impl Control {
    /// Whether the Claude of the session `name` may control this one.
    pub fn allows(&self, name: &str) -> bool {
        self.allow_from.iter().any(|pattern| matches(pattern, name))
    }
}

/// Whether `name` matches `pattern`, in which `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(left) = name.strip_prefix(head) else { return false };
    (0..=left.len()).filter(|at| left.is_char_boundary(*at)).any(|at| matches(rest, &left[at..]))
}

impl Context {
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
