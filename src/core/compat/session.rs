//! The only way into this module: the host reports what happens in a session, and does the [`CompatWork`]
//! that is returned. Without a configured form nothing is returned.

use std::path::{Path, PathBuf};

use super::boxes;
use super::context_status::{self, context_status};
use super::layouts::Material;
use super::layouts::memory::{self, MemoryReason};
use super::layouts::memory_layout::copy_names;
use super::script_files::CurrentSession;
use super::session_log::{FILE, SessionLogContext, lines};
use super::watched_files::WatchedFiles;
use crate::core::claude::hooks::HookInput;
use crate::core::config::{Config, Layout, Levels, Profile};
use crate::core::context_level::{Fill, Level};
use crate::core::handoff::checkpoint::Phases;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::redact::redact_words;
use crate::core::supervisor::action::{Decision, DecisionKind, HookAnswer};
use crate::core::supervisor::event::HookEvent;
use crate::core::time::WallTime;

/// What the host writes for the forms of the source documents.
#[derive(Clone, Debug, PartialEq)]
pub enum CompatWork {
    /// The handoff in these layouts.
    WriteLayouts(Vec<Layout>, Box<Material>),
    /// The handoff was consumed: remove the files that only waited for that.
    SettleLayouts(HandoffId),
    /// Copy the transcript for layout `memory`, probably to this path.
    CopyTranscript(MemoryReason, PathBuf),
    /// A file in Claude's directory with this text.
    WriteFile(&'static str, String),
    /// These lines, each behind the time, at the end of a file in Claude's directory.
    AppendLines(&'static str, Vec<String>),
}

/// The forms that are configured for a session, and what they remember of it.
#[derive(Clone, Debug, Default)]
pub struct SessionCompat {
    layouts: Vec<Layout>,
    profile: Profile,
    signal_files: bool,
    session_log: bool,
    /// The copies that are about to be made: their paths, unless another process takes one in the same
    /// second.
    due_copies: Vec<PathBuf>,
    /// The copy that nobody has reviewed, as of the last scan.
    pending_copy: Option<PathBuf>,
    /// The last conversation whose end was copied.
    copied_end: Option<ConversationId>,
    /// The command of the current run.
    command: String,
    /// How the last run ended.
    last_end: String,
    /// The last content of `.context-status`.
    context_status: String,
    /// The text above the first run.
    resume_box: Option<String>,
}

impl SessionCompat {
    /// Files that only hopty writes below a project; a directory ends in `/`.
    pub const OWN_FILES: [&str; 3] =
        [".claude/claudikins-acm/", ".claude/auto-execution/.handoff-requested", ".claude/memory/raw/"];

    /// The forms of this configuration. `claude`: whether the program is Claude.
    #[must_use]
    pub fn new(config: &Config, claude: bool) -> Self {
        SessionCompat {
            layouts: config.handoff.views.clone(),
            profile: config.context.profile,
            signal_files: config.compat.signal_files,
            session_log: config.compat.session_log && claude,
            ..SessionCompat::default()
        }
    }

    /// The files of other programs that are read whenever they change.
    pub fn watched_files(&self) -> WatchedFiles {
        WatchedFiles::new(self.signal_files, self.has(Layout::Orchestrator))
    }

    fn has(&self, layout: Layout) -> bool {
        self.layouts.contains(&layout)
    }

    /// Whether the messages of source document 002 are printed.
    fn prints_boxes(&self) -> bool {
        self.has(Layout::Orchestrator) || self.profile == Profile::S2
    }

    /// Whether a handoff needs its [`Material`].
    pub fn needs_material(&self) -> bool {
        !self.layouts.is_empty() || self.prints_boxes()
    }

    /// A handoff was saved.
    pub fn handoff_saved(&self, material: Option<&Material>) -> Option<CompatWork> {
        let material = material.filter(|_| !self.layouts.is_empty())?;
        Some(CompatWork::WriteLayouts(self.layouts.clone(), Box::new(material.clone())))
    }

    /// A handoff was consumed.
    pub fn handoff_consumed(&self, id: &HandoffId) -> Option<CompatWork> {
        let waits = [Layout::Pid, Layout::Orchestrator, Layout::Memory];
        waits.into_iter().any(|layout| self.has(layout)).then(|| CompatWork::SettleLayouts(id.clone()))
    }

    /// A level was reached: the notice for the person.
    pub fn level_reached(&self, level: Level, percent: u64) -> Option<String> {
        (level == Level::Warn && self.prints_boxes()).then(|| boxes::approaching(percent))
    }

    /// The transcript of the conversation was found.
    pub fn transcript_found(&self, conversation: &ConversationId, path: &str) -> Option<CompatWork> {
        let of =
            || CurrentSession { conversation: conversation.clone(), transcript: path.to_owned() }.render();
        self.signal_files.then(|| CompatWork::WriteFile(CurrentSession::FILE, of()))
    }

    /// The context usage, and the levels. Returns work only if the line has changed.
    pub fn context_usage(&mut self, of: impl FnOnce() -> (Fill, Levels)) -> Option<CompatWork> {
        let (fill, levels) = self.signal_files.then(of)?;
        let text = context_status(&fill, &levels) + "\n";
        if self.context_status == text {
            return None;
        }
        self.context_status.clone_from(&text);
        Some(CompatWork::WriteFile(context_status::FILE, text))
    }

    /// A run is about to start with this command.
    pub fn run_starts(&mut self, words: &[String]) {
        self.command = redact_words(words).join(" ");
    }

    /// The supervisor decided something. `about` is completed here.
    pub fn decided(
        &mut self,
        decision: &Decision,
        about: impl FnOnce() -> SessionLogContext,
    ) -> Option<CompatWork> {
        if decision.kind == DecisionKind::RunEnded {
            self.last_end.clone_from(&decision.sentence);
        }
        if !self.session_log {
            return None;
        }
        let about =
            SessionLogContext { command: self.command.clone(), before: self.last_end.clone(), ..about() };
        let lines = lines(decision, &about);
        (!lines.is_empty()).then_some(CompatWork::AppendLines(FILE, lines))
    }

    /// A hook call of the conversation is answered: it may be the end of the conversation, or its compaction.
    /// The hook does not wait for the copy: Claude ends hooks after 1.5 s. `hands_over`: a handoff was just
    /// saved, which has a copy of its own.
    pub fn hook_answered(
        &mut self,
        call: &HookInput,
        with: &HookAnswer,
        hands_over: bool,
    ) -> Option<MemoryReason> {
        if call.hook.agent || call.hook.conversation.is_none() {
            return None;
        }
        match call.hook.event {
            // A compaction that is prevented loses nothing.
            HookEvent::PreCompact if !matches!(with, HookAnswer::Block { .. }) => {
                Some(MemoryReason::PreCompact)
            }
            HookEvent::SessionEnd if hands_over => None,
            HookEvent::SessionEnd => Some(MemoryReason::Ended(call.reason.clone().unwrap_or_default())),
            HookEvent::SessionStart => {
                self.copied_end = None;
                None
            }
            _ => None,
        }
    }

    /// The session is over. Claude was killed, or has no hooks, so the end of its conversation was not
    /// copied.
    pub fn session_ended(&self, conversation: Option<&ConversationId>) -> Option<MemoryReason> {
        (self.copied_end.as_ref() != conversation).then(|| MemoryReason::Ended(String::new()))
    }

    /// The transcript of a conversation, which is not empty, is copied for this reason.
    pub fn copy(
        &mut self,
        conversation: Option<&ConversationId>,
        reason: MemoryReason,
        project: &Path,
        now: WallTime,
    ) -> Option<CompatWork> {
        if !self.has(Layout::Memory) {
            return None;
        }
        let path = copy_names(project, &reason, now).find(|path| !self.due_copies.contains(path))?;
        self.due_copies.push(path.clone());
        if matches!(reason, MemoryReason::Ended(_)) {
            self.copied_end = conversation.cloned();
        }
        Some(CompatWork::CopyTranscript(reason, path))
    }

    /// The copy was made, at this path if there was anything to copy; or it failed.
    pub fn copied(&mut self, due: &Path, made: Option<PathBuf>) {
        self.due_copies.retain(|path| path != due);
        self.pending_copy = made.or(self.pending_copy.take());
    }

    /// A conversation begins. Returns whether to look for a copy that nobody has reviewed.
    pub fn conversation_begins(&mut self) -> bool {
        let looks = self.has(Layout::Memory);
        if looks {
            self.pending_copy = None;
        }
        looks
    }

    /// The result of that look.
    pub fn copy_found(&mut self, copy: Option<PathBuf>) {
        self.pending_copy = copy;
    }

    /// The text for a new conversation about a copy that nobody has reviewed, or that is being made. A
    /// conversation that continues from a handoff does not need it.
    pub fn copy_reminder(&self, call: &HookInput, with: &HookAnswer) -> Option<String> {
        let begins =
            call.hook.event == HookEvent::SessionStart && !call.hook.agent && *with == HookAnswer::Nothing;
        if !begins || !self.has(Layout::Memory) {
            return None;
        }
        let copy = self.due_copies.last().or(self.pending_copy.as_ref());
        copy.map(|path| memory::pending(&path.to_string_lossy()))
    }

    /// The session begins from a handoff. `progress`: its task, and how much of it is done.
    pub fn begins_from(&mut self, id: &HandoffId, progress: impl FnOnce() -> (String, Phases)) {
        if self.prints_boxes() {
            let (task, phases) = progress();
            self.resume_box = Some(on_terminal(&boxes::resuming(id, &task, phases)));
        }
    }

    /// The text above the first run, returned once.
    pub fn take_resume_box(&mut self) -> Option<String> {
        self.resume_box.take()
    }

    /// What is printed between two runs, below hopty's own line: the banner of source document 001, the boxes
    /// of 002. `restart`: the number of the restart.
    pub fn between_runs(&self, material: Option<&Material>, restart: u32) -> String {
        let mut text = String::new();
        if let Some(of) = material.filter(|_| self.prints_boxes()) {
            text.push_str(&boxes::handing_over(of));
            text.push_str(&boxes::resuming(&of.state.id, &of.state.context.current_objective, of.phases));
        }
        if self.profile == Profile::S1 {
            text.push_str(&boxes::banner(restart));
        }
        on_terminal(&text)
    }
}

fn on_terminal(text: &str) -> String {
    text.replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use super::super::layouts::material;
    use super::*;
    use crate::core::claude::hooks;
    use serde_json::json;

    const CONVERSATION: &str = "6f1c1b0e-4d3a-4c8e-9b0e-0123456789ab";

    fn compat(layouts: &[Layout], profile: Profile) -> SessionCompat {
        let mut config = Config::default();
        config.handoff.views = layouts.to_vec();
        config.context.profile = profile;
        config.compat.signal_files = true;
        SessionCompat::new(&config, true)
    }

    fn call(event: &str) -> HookInput {
        hooks::read(event, &json!({"session_id": CONVERSATION, "reason": "clear"}), None)
    }

    #[test]
    fn without_a_configured_form_nothing_is_returned() {
        let mut none = SessionCompat::default();
        let id: ConversationId = CONVERSATION.parse().unwrap();
        let of = material();
        assert!(!none.needs_material() && !none.conversation_begins());
        assert_eq!(none.handoff_saved(Some(&of)), None);
        assert_eq!(none.handoff_consumed(&of.state.id), None);
        assert_eq!(none.level_reached(Level::Warn, 70), None);
        assert_eq!(none.transcript_found(&id, "/t"), None);
        assert_eq!(none.context_usage(|| unreachable!("nobody reads it")), None);
        assert_eq!(none.copy(Some(&id), MemoryReason::PreCompact, Path::new("/p"), WallTime(0)), None);
        assert_eq!(none.between_runs(Some(&of), 1), "");
        none.begins_from(&of.state.id, || unreachable!("nothing is printed"));
        assert_eq!(none.take_resume_box(), None);
    }

    #[test]
    fn a_handoff_is_written_in_every_layout_and_settled_when_it_is_consumed() {
        let of = material();
        let only = compat(&[Layout::Acm], Profile::Default);
        assert!(matches!(only.handoff_saved(Some(&of)), Some(CompatWork::WriteLayouts(l,
                _)) if l == [Layout::Acm]));
        assert_eq!(only.handoff_consumed(&of.state.id), None, "its files stay");
        let pid = compat(&[Layout::Pid], Profile::Default);
        assert_eq!(pid.handoff_consumed(&of.state.id), Some(CompatWork::SettleLayouts(of.state.id.clone())));
    }

    #[test]
    fn boxes_and_banner_are_printed_for_their_documents() {
        let of = material();
        let mut boxed = compat(&[], Profile::S2);
        assert!(boxed.needs_material() && boxed.handoff_saved(Some(&of)).is_none());
        assert_eq!(boxed.level_reached(Level::Warn, 70).unwrap(), "Token usage: 70% - approaching limit");
        assert_eq!(boxed.level_reached(Level::Handoff, 85), None);
        assert!(boxed.between_runs(Some(&of), 1).contains(" SESSION HANDOFF\r\n"));
        boxed.begins_from(&of.state.id, || ("task".to_owned(), of.phases));
        assert!(boxed.take_resume_box().unwrap().contains("RESUMING FROM HANDOFF"));
        assert_eq!(boxed.take_resume_box(), None);
        assert!(compat(&[], Profile::S1).between_runs(Some(&of), 3).contains("(#3)"));
    }

    #[test]
    fn state_files_are_written_when_their_text_is_another() {
        let mut files = compat(&[], Profile::Default);
        let full = |bytes| (Fill { bytes, ..Fill::default() }, Levels::default());
        let written = CompatWork::WriteFile(context_status::FILE, "OK:2KB\n".to_owned());
        assert_eq!(files.context_usage(|| full(2048)), Some(written));
        assert_eq!(files.context_usage(|| full(2048)), None);
    }

    #[test]
    fn the_end_of_a_conversation_is_copied_once_and_announced_to_the_next_one() {
        let mut copies = compat(&[Layout::Memory], Profile::Default);
        let id: ConversationId = CONVERSATION.parse().unwrap();
        let (project, now) = (Path::new("/p"), WallTime(0));
        let block = HookAnswer::Block { reason: String::new() };
        assert_eq!(copies.hook_answered(&call("PreCompact"), &block, false), None);
        assert_eq!(
            copies.hook_answered(&call("SessionEnd"), &HookAnswer::Nothing, true),
            None,
            "the handoff has its own copy"
        );
        let reason = copies.hook_answered(&call("SessionEnd"), &HookAnswer::Nothing, false).unwrap();
        let Some(CompatWork::CopyTranscript(_, first)) = copies.copy(Some(&id), reason, project, now) else {
            panic!("no copy")
        };
        assert_eq!(copies.session_ended(Some(&id)), None, "its end is copied already");
        let Some(CompatWork::CopyTranscript(_, second)) =
            copies.copy(Some(&id), MemoryReason::Ended("clear".to_owned()), project, now)
        else {
            panic!("no copy")
        };
        assert_ne!(first, second, "two of one second have two names");
        let start = call("SessionStart");
        let told = |copies: &SessionCompat| copies.copy_reminder(&start, &HookAnswer::Nothing);
        assert!(told(&copies).unwrap().contains(second.to_str().unwrap()), "one that is being made");
        copies.copied(&second, None);
        copies.copied(&first, Some("/p/made.jsonl".into()));
        assert!(told(&copies).unwrap().contains("/p/made.jsonl"));
        assert!(copies.conversation_begins());
        assert_eq!(told(&copies), None);
    }
}
