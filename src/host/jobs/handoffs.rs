//! Handoffs: saving, claiming, consuming; the brief being delivered; copies of transcripts. A hand-over never
//! waits for the copy of an earlier transcript.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::compat::Material;
use crate::core::context_level::Fill;
use crate::core::handoff::brief::Budget;
use crate::core::handoff::capture::{Capture, HandoffOrigin, Lists};
use crate::core::handoff::continuation_prompt::Continuation;
use crate::core::handoff::manifest_entry::Claim;
use crate::core::handoff::work_progress::Mark;
use crate::core::ids::{Channel, ConversationId, HandoffId};
use crate::core::supervisor::action::RestartBy;
use crate::core::supervisor::phase::StartKind;
use crate::core::supervisor::{ProgramKind, Supervisor};
use crate::core::text::visible::visible;
use crate::core::time::WallTime;
use crate::fs::paths::Paths;
use crate::fs::registry;
use crate::fs::store::{Retention, Store};
use crate::git::ask_git::GitLimits;
use crate::host::jobs::code_approval::{CodeFound, is_gone};
use crate::host::jobs::inherited_handoff::ClaudeFiles;
use crate::host::jobs::{JobEvent, Jobs};
use crate::sys::clock::Clock;
use crate::sys::process::start_ticks;

/// The reason for the last restart, which its handoff records.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct RestartReason {
    pub sentence: String,
    pub by: Option<RestartBy>,
}

impl RestartReason {
    /// The line that hopty prints between two runs.
    pub fn handover_line(&self, supervisor: &Supervisor) -> String {
        let fill = supervisor.fill();
        // A person who requested the restart knows the reason.
        let full = match self.by {
            Some(RestartBy::Level) if fill.is_by_size(&supervisor.levels()) => {
                format!("transcript of {} KiB, ", fill.bytes / 1024)
            }
            Some(RestartBy::Level) if fill.tokens > 0 => format!("context {} % full, ", fill.percent()),
            _ => String::new(),
        };
        let next = supervisor.phase().next_run();
        let into = match (next.and_then(|next| next.handoff.as_ref()), next) {
            (Some(id), _) => format!("handing over as {id}"),
            (None, Some(plan)) if plan.start == StartKind::Resume => {
                let id = |id: Option<&ConversationId>| id.map(ToString::to_string).unwrap_or_default();
                let (back, newer) = (id(plan.conversation.as_ref()), id(supervisor.conversation()));
                format!("back in conversation {back}; to return to the newer one: `hopty --resume {newer}`")
            }
            (None, _) if supervisor.policy().agent == ProgramKind::Plain => {
                "restarting the program".to_owned()
            }
            (None, _) => "starting a fresh conversation".to_owned(),
        };
        format!("hopty: {full}{into}")
    }
}

/// A handoff that is being delivered.
#[derive(Clone, Debug)]
pub(in crate::host) struct Brief {
    pub id: HandoffId,
    /// The answer to SessionStart.
    pub text: String,
    /// The file to read if no hook can show the text.
    pub document: PathBuf,
    /// The prompt as it was typed.
    pub typed: Option<String>,
    /// Fingerprint, for comparison with the previous handoff.
    pub mark: Option<Mark>,
    /// The transcript that has yet to be copied into the record.
    pub raw: Option<PathBuf>,
    /// The data for its layouts.
    pub material: Option<Box<Material>>,
    /// Its directory and channel.
    pub made_in: (PathBuf, Channel),
    /// Sentences for the person about files of Claude's own that it includes.
    pub found: Vec<String>,
}

impl Brief {
    /// The prompt that names the handoff; if the brief is not in the context, it names the file to read.
    pub fn prompt(&self, with_brief: bool) -> String {
        let made = if with_brief {
            Continuation::with_brief(&self.id)
        } else {
            Continuation::without_hooks(&self.id, &self.document.to_string_lossy())
        };
        made.text().to_owned()
    }
}

/// The claim of this host for a conversation.
pub(super) fn claim_for(conversation: &ConversationId) -> Claim {
    let pid = std::process::id();
    Claim {
        by_pid: pid,
        by_start: start_ticks(pid).unwrap_or(0),
        session_id: conversation.clone(),
        at: Clock::wall(),
        other: Default::default(),
    }
}

impl Jobs {
    fn keeping(&self) -> Retention {
        Retention::of(&self.config.handoff)
    }

    pub(super) fn budget(&self) -> Budget {
        Budget::of(&self.config.handoff)
    }

    /// Captures what is known of a conversation for its record. `facts`: those of its transcript, if it is
    /// followed.
    pub fn capture(
        &self,
        origin: HandoffOrigin,
        facts: Option<&TranscriptFacts>,
        fill: Fill,
        reason: String,
        moved_to: Option<&str>,
    ) -> Capture {
        let empty = TranscriptFacts::new();
        let mut capture = Capture::new(origin, facts.unwrap_or(&empty));
        capture.lists = Lists::of(&self.config.handoff);
        capture.situation.reason = reason;
        capture.situation.window = (fill.window > 0).then_some(fill.window);
        capture.situation.moved_to = moved_to.map(str::to_owned);
        capture
    }

    /// Saves a record of the conversation before a compaction shortens it. It stays in the store for people
    /// to find; no conversation continues from it. `code` reads the settings that run code at the next start.
    pub fn save_record(
        &mut self,
        hook: u64,
        mut capture: Capture,
        dir: PathBuf,
        own: ClaudeFiles,
        code: impl FnOnce() -> CodeFound + Send + 'static,
    ) {
        let (paths, keeping) = (self.paths.clone(), self.keeping());
        let limits = GitLimits::of(&self.config.handoff);
        let job = move || {
            complete(&mut capture, &paths, &dir, limits);
            own.add_to(&mut capture);
            let saved = Store::open(&paths.claude).and_then(|store| store.save(capture, keeping));
            saved.map(|saved| saved.id).map_err(|e| e.to_string())
        };
        let failed = |_| Err("the worker failed".to_owned());
        self.work(move || {
            let saved = catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(failed);
            JobEvent::Recorded(hook, saved, catch_unwind(AssertUnwindSafe(code)).ok())
        });
    }

    /// Saves a handoff and claims it for a conversation, if that has a directory to start in. `next`: the
    /// directory that was requested for it. `material`: whether its layouts need material.
    pub fn save_handoff(
        &mut self,
        mut capture: Capture,
        claim_for_conversation: &ConversationId,
        (dir, next_dir): (PathBuf, Option<PathBuf>),
        own: ClaudeFiles,
        material: bool,
    ) {
        let transcript = capture.origin.transcript.clone();
        let next = capture.note.as_ref().map(|note| note.next.clone()).unwrap_or_default();
        let (store, keeping, paths) = (self.paths.claude.clone(), self.keeping(), self.paths.clone());
        let claim = claim_for(claim_for_conversation);
        let limits = GitLimits::of(&self.config.handoff);
        let copied = self.config.handoff.copy_transcript && !transcript.is_empty();
        let raw = copied.then(|| PathBuf::from(transcript));
        self.inherited.saves();
        let job = move || {
            if is_gone(&dir) && next_dir.is_none_or(|dir| !dir.is_dir()) {
                return JobEvent::NotSaved(format!("{} is gone", visible(&dir.to_string_lossy())));
            }
            complete(&mut capture, &paths, &dir, limits);
            let found = own.add_to(&mut capture);
            let channel = capture.origin.channel.clone();
            let material = material.then(|| Material::of(&capture));
            let mark = Mark::of(&capture, &next);
            let saved = Store::open(&store).and_then(|store| {
                let saved = store.save(capture, keeping)?;
                // A handoff that is reported as not saved must not be offered.
                store.claim(&saved.id, claim).inspect_err(|_| drop(store.clear(&saved.id)))?;
                Ok((saved, store.take_notices()))
            });
            match saved {
                Ok((saved, notices)) => {
                    let brief = Brief {
                        material: material.map(|of| Box::new(of.saved(&saved.entry))),
                        text: saved.brief,
                        id: saved.id,
                        document: saved.brief_path,
                        typed: None,
                        mark,
                        raw,
                        made_in: (dir, channel),
                        found,
                    };
                    JobEvent::Saved(Box::new(brief), notices)
                }
                Err(error) => JobEvent::NotSaved(error.to_string()),
            }
        };
        // A hand-over waits for this answer, and so does every later one.
        let failed = |_| JobEvent::NotSaved("the worker failed".to_owned());
        self.work(move || catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(failed));
    }

    /// Claude's last message may be its note, in the middle of a tool loop.
    pub fn update_note(&mut self, facts: Option<&TranscriptFacts>) {
        if let Some(facts) = facts {
            self.note.hear(facts.message.text());
        }
    }

    /// The brief of this handoff, if it is the one on its way.
    pub fn brief_of(&self, id: &HandoffId) -> Option<&Brief> {
        self.brief.as_ref().filter(|brief| brief.id == *id)
    }

    /// Compresses transcripts, after the next run has its prompt: earlier, this would compete with the new
    /// Claude for the processor.
    pub fn compress_transcripts(&mut self) {
        let Some(brief) = &mut self.brief else { return };
        let Some(source) = brief.raw.take() else { return };
        let (store, id) = (self.paths.claude.clone(), brief.id.clone());
        // Hundreds of megabytes take seconds, and the next hand-over must not wait for them.
        self.copy(move || {
            crate::sys::fault_injection::wait_while("slow-copy");
            let done = Store::open(&store).and_then(|store| store.compress_transcript(&id, &source));
            done.map_or_else(
                |e| JobEvent::Failed(format!("the transcript of {id} could not be copied: {e}")),
                |_| JobEvent::Quiet,
            )
        });
    }

    /// A conversation has continued from a handoff.
    pub fn consume(&mut self, handoff: &HandoffId, conversation: &ConversationId) {
        let (store, id, by) = (self.paths.claude.clone(), handoff.clone(), conversation.clone());
        self.inherited.continued_from(handoff);
        let claim = claim_for(conversation);
        self.work(move || {
            let done = Store::open(&store).and_then(|store| {
                let consume = || store.consume(&id, &by, std::process::id(), Clock::wall());
                consume().or_else(|_| {
                    // It was claimed for a conversation that died or got another id from Claude: this host
                    // moves its claim.
                    let mine = store.show(&id)?.entry.claim.filter(|old| old.by_pid == claim.by_pid);
                    if let Some(old) = mine {
                        store.release(&id, &old.session_id)?;
                        store.claim(&id, claim)?;
                    }
                    consume()
                })
            });
            done.map_or_else(
                |e| JobEvent::Failed(format!("{id} could not be marked consumed: {e}")),
                |()| JobEvent::Quiet,
            )
        });
    }

    /// Pending handoffs must not expire while no conversation can load them. `until` is in seconds since
    /// 1970.
    pub fn keep_handoffs(&mut self, channel: Channel, until: u64) {
        let store = self.paths.claude.clone();
        self.work(move || {
            let until = WallTime::of_seconds(until);
            let done =
                Store::open(&store).and_then(|store| store.postpone_expiry(&channel, Clock::wall(), until));
            done.map_or_else(
                |e| JobEvent::Failed(format!("handoffs may expire during a usage limit: {e}")),
                |_| JobEvent::Quiet,
            )
        });
    }
}

/// The parts of a record that come from the disk and from git.
fn complete(capture: &mut Capture, paths: &Paths, dir: &Path, limits: GitLimits) {
    // The registry may have changed since the session began.
    if let Ok(channel) = registry::channel_of(&paths.claude, dir) {
        capture.origin.channel = channel;
    }
    // A person may have returned to an older conversation of the chain.
    let begun_from = Store::at(&paths.claude).begun_from(&capture.origin.conversation);
    capture.origin.predecessor = begun_from.or(capture.origin.predecessor.take());
    let moved = capture.situation.moved_to.as_deref();
    capture.git = crate::git::ask_git::of_written(dir, moved, &capture.files.written, limits);
    capture.memory_keeper = crate::fs::servers::memory_keeper(paths, dir);
}
