//! The workers' jobs: handoffs, their transcripts, and the small files for scripts. The loop waits for none
//! of them, and a hand-over never for the copy of an earlier one's transcript.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::core::compat::layouts::Material;
use crate::core::compat::signals::current_session;
use crate::core::handoff::brief::Budget;
use crate::core::handoff::capture::{Capture, Lists, Origin};
use crate::core::handoff::continuation::Continuation;
use crate::core::handoff::entry::{Claim, Kind};
use crate::core::handoff::progress::Mark;
use crate::core::ids::{Channel, ConversationId, HandoffId};
use crate::core::supervisor::action::RestartBy;
use crate::core::supervisor::event::Event;
use crate::core::time::WallTime;
use crate::fs::paths::Paths;
use crate::fs::registry;
use crate::fs::store::{Keeping, Store};
use crate::git::state::Limits;
use crate::host::Host;
use crate::host::jobs::{JobEvent, NoteState};
use crate::sys::clock::Clock;
use crate::sys::process::start_ticks;

/// A handoff that is being delivered.
#[derive(Clone, Debug)]
pub(in crate::host) struct Brief {
    pub id: HandoffId,
    /// The answer to SessionStart.
    pub text: String,
    /// The file to read where no hook can show the text.
    pub document: PathBuf,
    /// The prompt as it was typed.
    pub typed: Option<String>,
    /// The fingerprint for comparison with the handoff before.
    pub mark: Option<Mark>,
    /// The transcript that its record still lacks.
    pub raw: Option<PathBuf>,
    /// The data for its layouts.
    pub material: Option<Box<Material>>,
    /// Its directory and channel.
    pub made_in: (PathBuf, Channel),
    /// Sentences for the person about files of Claude's own that it includes.
    pub found: Vec<String>,
}

impl Brief {
    /// The prompt that names the handoff; if the context does not have the brief, it names the file to read.
    pub fn prompt(&self, with_frame: bool) -> String {
        let made = if with_frame {
            Continuation::with_frame(&self.id)
        } else {
            Continuation::without_hooks(&self.id, &self.document.to_string_lossy())
        };
        made.text().to_owned()
    }
}

impl Host {
    fn keeping(&self) -> Keeping {
        Keeping::of(&self.launch.config.handoff)
    }

    pub(in crate::host) fn budget(&self) -> Budget {
        Budget::of(&self.launch.config.handoff)
    }

    pub(in crate::host) fn claim_for(&self, conversation: &ConversationId) -> Claim {
        let pid = std::process::id();
        Claim {
            by_pid: pid,
            by_start: start_ticks(pid).unwrap_or(0),
            session_id: conversation.clone(),
            at: Clock::wall(),
            other: Default::default(),
        }
    }

    /// The data on the conversation, for a record of it.
    fn capture(&self, conversation: ConversationId, kind: Kind, reason: String) -> Capture {
        let supervisor = &self.recorder.supervisor;
        let empty = crate::core::claude::facts::Facts::new();
        let followed = self.observer.transcript();
        let facts = followed.map_or(&empty, |transcript| &transcript.facts);
        let origin = Origin {
            conversation,
            channel: self.channel.clone(),
            kind,
            created_at: Clock::wall(),
            working_dir: self.dir.display().to_string(),
            transcript: followed
                .and_then(|transcript| transcript.path())
                .map(|p| p.display().to_string())
                .unwrap_or_default(),
            session: Some(self.claim.name.clone()),
            pid: std::process::id(),
            predecessor: self.lineage.predecessor.clone(),
        };
        let mut capture = Capture::new(origin, facts);
        capture.lists = Lists::of(&self.launch.config.handoff);
        let fill = supervisor.fill();
        capture.situation.reason = reason;
        capture.situation.window = (fill.window > 0).then_some(fill.window);
        capture.situation.moved_to = self.observer.working_dir().map(str::to_owned);
        capture
    }

    /// Saves a record of what a compaction is about to shorten. It stays in the store for people who look for
    /// it; no conversation continues from it.
    pub(in crate::host) fn save_before_compaction(&mut self, hook: u64) {
        let Some(conversation) = self.recorder.supervisor.conversation().cloned() else {
            return self.record_settled(hook, Err("no conversation is known".to_owned()), None);
        };
        let mut capture =
            self.capture(conversation, Kind::Auto, "Claude was about to compact its context.".to_owned());
        // Its queue stays with the conversation.
        capture.situation.queued.clear();
        let (paths, dir, keeping) = (self.paths.clone(), self.dir.clone(), self.keeping());
        let limits = Limits::of(&self.launch.config.handoff);
        let own = self.own_files();
        let read = self.next_found(self.recorder.supervisor.next_dir());
        let job = move || {
            complete(&mut capture, &paths, &dir, limits);
            own.add_to(&mut capture);
            let saved = Store::open(&paths.claude).and_then(|store| store.save(capture, keeping));
            saved.map(|saved| saved.id).map_err(|e| e.to_string())
        };
        let failed = |_| Err("the worker failed".to_owned());
        let job = move || {
            let saved = catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(failed);
            JobEvent::Recorded(hook, saved, catch_unwind(AssertUnwindSafe(read)).ok())
        };
        self.jobs.work(job);
    }

    /// Collects the data and has the worker save it.
    pub(in crate::host) fn save(&mut self, by: RestartBy, claim_for: &ConversationId) {
        let Some(conversation) = self.recorder.supervisor.conversation().cloned() else {
            self.events.push_back(Event::SaveFailed { error: "no conversation is known".to_owned() });
            return;
        };
        let draft = self.draft_text();
        let kind = match by {
            RestartBy::Level => Kind::Auto,
            RestartBy::Signal => Kind::Signal,
            RestartBy::Command => Kind::Manual,
        };
        let mut capture = self.capture(conversation, kind, self.wish.clone());
        capture.situation.draft = draft;
        let transcript = capture.origin.transcript.clone();
        let mut next = Vec::new();
        self.hear_words();
        if let NoteState::Said(note) = std::mem::take(&mut self.words) {
            capture.summary = Some(note.text());
            next.clone_from(&note.next);
            capture.note = Some(note);
        }
        let queued = self.observer.transcript().map(|transcript| transcript.facts.queued_prompts().collect());
        self.keyboard.carried.found_queued(queued.unwrap_or_default());
        let wanted = self.makes_layouts();
        let (store, keeping) = (self.paths.claude.clone(), self.keeping());
        let (claim, dir, paths) = (self.claim_for(claim_for), self.dir.clone(), self.paths.clone());
        let limits = Limits::of(&self.launch.config.handoff);
        let copied = self.launch.config.handoff.copy_transcript && !transcript.is_empty();
        let raw = copied.then(|| PathBuf::from(transcript));
        let own = self.own_files();
        self.lineage.saves();
        let job = move || {
            complete(&mut capture, &paths, &dir, limits);
            let found = own.add_to(&mut capture);
            let channel = capture.origin.channel.clone();
            let material = wanted.then(|| Material::of(&capture));
            let mark = Mark::of(&capture, &next);
            let saved = Store::open(&store).and_then(|store| {
                let saved = store.save(capture, keeping)?;
                store.claim(&saved.id, claim)?;
                Ok((saved, store.take_notices()))
            });
            match saved {
                Ok((saved, notices)) => {
                    let frame = Brief {
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
                    JobEvent::Saved(Box::new(frame), notices)
                }
                Err(error) => JobEvent::NotSaved(error.to_string()),
            }
        };
        // A hand-over waits for this answer, and so does every later one.
        let failed = |_| JobEvent::NotSaved("the worker failed".to_owned());
        self.jobs.work(move || catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(failed));
    }

    /// The raw copy is made after the next run has its prompt: earlier, it would compete with the new Claude
    /// for the processor.
    pub(in crate::host) fn compress_transcripts(&mut self) {
        let Some(frame) = &mut self.brief else { return };
        let Some(source) = frame.raw.take() else { return };
        let (store, id) = (self.paths.claude.clone(), frame.id.clone());
        let job = move || {
            #[cfg(debug_assertions)]
            crate::sys::safe_file::hangs::wait_while("HOPTY_TEST_SLOW_COPY");
            let done = Store::open(&store).and_then(|store| store.compress_transcript(&id, &source));
            done.map_or_else(
                |e| JobEvent::Failed(format!("the transcript of {id} could not be copied: {e}")),
                |_| JobEvent::Quiet,
            )
        };
        // Hundreds of megabytes take seconds, and the next hand-over must not wait for them.
        self.jobs.copy(job);
    }

    pub(in crate::host) fn consume(&mut self, handoff: &HandoffId, conversation: &ConversationId) {
        let (store, id, by) = (self.paths.claude.clone(), handoff.clone(), conversation.clone());
        self.lineage.went_on(handoff);
        let claim = self.claim_for(conversation);
        self.layouts_consumed(&id);
        self.jobs.work(move || {
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

    /// `.current-session`, for scripts that read it.
    pub(in crate::host) fn write_current_session(&mut self) {
        if !self.launch.config.compat.signal_files {
            return;
        }
        let Some(transcript) = self.observer.transcript() else { return };
        let Some(path) = transcript.path() else { return };
        let text = current_session(&transcript.conversation, &path.display().to_string());
        self.jobs.write_small(self.paths.current_session(), text);
    }

    /// `.context-status`, for scripts that read it, whenever its text would be another.
    pub(in crate::host) fn write_context_status(&mut self) {
        if !self.launch.config.compat.signal_files {
            return;
        }
        let text = self
            .observer
            .context_usage(self.clock.now())
            .fill
            .status_line(&self.recorder.supervisor.levels())
            + "\n";
        if self.context_status_file != text {
            self.context_status_file.clone_from(&text);
            self.jobs.write_small(self.paths.context_status(), text);
        }
    }

    /// Pending handoffs must not expire while nobody can load them.
    pub(in crate::host) fn keep_handoffs(&mut self, until: u64) {
        let (store, channel) = (self.paths.claude.clone(), self.channel.clone());
        self.jobs.work(move || {
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
fn complete(capture: &mut Capture, paths: &Paths, dir: &Path, limits: Limits) {
    // The registry may have changed since the session began.
    if let Ok(channel) = registry::channel_of(&paths.claude, dir) {
        capture.origin.channel = channel;
    }
    // A person may have gone back to an older conversation of the chain.
    let begun_from = Store::at(&paths.claude).begun_from(&capture.origin.conversation);
    capture.origin.predecessor = begun_from.or(capture.origin.predecessor.take());
    capture.git = crate::git::state::of_work(dir, capture.situation.moved_to.as_deref(), limits);
    capture.memory_keeper = crate::fs::servers::memory_keeper(paths, dir);
}
