//! What a conversation inherits: the handoff that it started from (`--handoff` claims one), and files that
//! Claude or the person wrote for it.

use std::path::{Path, PathBuf};

use crate::core::compat::SessionCompat;
use crate::core::config::GitPolicy;
use crate::core::handoff::capture::Capture;
use crate::core::handoff::drift::ADVICE;
use crate::core::handoff::handoff_selector::{NotPicked, pick};
use crate::core::handoff::manifest_entry::IndexEntry;
use crate::core::ids::{Channel, ConversationId, HandoffId};
use crate::core::text::safe_text::safe_line;
use crate::core::time::WallTime;
use crate::fs::handwritten_handoffs::{self, OwnFile};
use crate::fs::project::project_of;
use crate::fs::store::{HandoffScope, Store, StoreError, StoredHandoff};
use crate::host::jobs::handoffs::claim_for;
use crate::host::jobs::{Brief, JobEvent, Jobs, drift_check};
use crate::host::start::StartReport;
use crate::sys::clock::Clock;

const LIST_HINT: &str =
    "`hopty handoff list` lists handoffs; without --handoff, hopty starts a fresh conversation";

/// The origin of the current conversation.
#[derive(Debug, Default)]
pub(in crate::host) struct InheritedHandoff {
    /// The handoff from which it continued.
    pub predecessor: Option<HandoffId>,
    /// When that handoff was saved.
    carried: Option<WallTime>,
    /// When the handoff that is being delivered was saved.
    saved: Option<WallTime>,
}

impl InheritedHandoff {
    /// A handoff is about to be saved.
    pub fn saves(&mut self) {
        self.saved = Some(Clock::wall());
    }

    /// A new conversation continued from a handoff: do not carry the files again that it included.
    pub fn continued_from(&mut self, from: &HandoffId) {
        self.predecessor = Some(from.clone());
        self.carried = self.saved.take().or(self.carried);
    }
}

/// A handoff from which the session starts.
#[derive(Debug)]
pub(in crate::host) struct LoadedHandoff {
    pub id: HandoffId,
    /// Notices for the person, shown before the program draws.
    pub notices: Vec<String>,
}

/// Where to look for files of Claude's own, on a worker.
pub(in crate::host) struct ClaudeFiles {
    claude: PathBuf,
    pid: Option<u32>,
    since: WallTime,
}

impl ClaudeFiles {
    /// Adds their text to the record. Returns sentences for the person about them.
    pub fn add_to(&self, capture: &mut Capture) -> Vec<String> {
        let (found, mut said) =
            handwritten_handoffs::find(&self.claude, &capture.origin.channel, self.pid, self.since);
        capture.own_file = handwritten_handoffs::joined(&found);
        said.extend(found.iter().map(|OwnFile { path, .. }| {
            format!("{} was found: its text is in the handoff.", path.display())
        }));
        said
    }
}

impl Jobs {
    /// Files of Claude's own for the next record. `pid`: the program; `began`: the session's start.
    pub fn own_files(&self, pid: Option<u32>, began: WallTime) -> ClaudeFiles {
        ClaudeFiles { claude: self.paths.claude.clone(), pid, since: self.inherited.carried.unwrap_or(began) }
    }

    /// The session went back to the conversation before a handoff: discards the handoff, unless another
    /// conversation already continues from it.
    pub fn discard(&mut self, handoff: HandoffId) {
        let store = self.paths.claude.clone();
        self.work(move || {
            let cleared = Store::open(&store).and_then(|store| store.clear(&handoff));
            match cleared {
                Ok(()) | Err(StoreError::NotMoved(_)) => JobEvent::Quiet,
                Err(error) => JobEvent::Failed(format!("could not discard {handoff}: {error}")),
            }
        });
    }

    /// `--handoff`: claims a pending handoff for a new conversation, before the first run.
    ///
    /// The error is the message for the person if there is none or it may not be loaded; the session does not
    /// start.
    pub fn load_handoff(
        &mut self,
        id: Option<&str>,
        conversation: &ConversationId,
        (dir, channel): (&Path, &Channel),
        compat: &mut SessionCompat,
    ) -> Result<LoadedHandoff, StartReport> {
        let store = Store::open(&self.paths.claude).map_err(refuse)?;
        let id = requested_handoff(&store, id, dir, channel)?;
        let loaded: StoredHandoff = store.claim(&id, claim_for(conversation)).map_err(refuse)?;
        let said = drift_check::since(&self.config, &store, &loaded, dir);
        if !said.is_empty() && self.config.handoff.git == GitPolicy::Hold {
            let _ = store.release(&id, conversation);
            let what = format!("{id} is not loaded: {}", said.join(" "));
            return Err(StartReport::failed(
                4,
                what,
                "restore the work tree, or set HOPTY_HANDOFF_GIT=tell to load it anyway",
            ));
        }
        let (text, document) = loaded.brief(&said, self.budget());
        let mut notices = said;
        if !notices.is_empty() {
            notices.push(ADVICE.to_owned());
        }
        notices.extend(origin_notices(&loaded.entry, dir));
        self.brief = Some(Brief {
            text,
            id: id.clone(),
            document,
            typed: None,
            mark: None,
            raw: None,
            material: None,
            made_in: (dir.to_owned(), loaded.channel),
            found: Vec::new(),
        });
        compat.begins_from(&id, || store.records().progress(&id).unwrap_or_default());
        self.inherited.predecessor = Some(id.clone());
        Ok(LoadedHandoff { id, notices })
    }
}

fn refuse(what: impl ToString) -> StartReport {
    StartReport::failed(1, what.to_string(), LIST_HINT)
}

/// The handoff that `--handoff` means: the one with this id, or the pending one of the directory's channel.
fn requested_handoff(
    store: &Store,
    id: Option<&str>,
    dir: &Path,
    channel: &Channel,
) -> Result<HandoffId, StartReport> {
    if let Some(text) = id {
        let known = store.list(None).map_err(refuse)?;
        return pick(text, known.iter().map(|(_, entry)| &entry.id)).map_err(|why| match why {
            NotPicked::Unknown(_) => refuse(why),
            NotPicked::BadId(_) | NotPicked::Several(_) => StartReport::failed(2, why.to_string(), LIST_HINT),
        });
    }
    let now = Clock::wall();
    let pending = store.pending(channel, None, HandoffScope::Project, dir, now).map_err(refuse)?;
    Ok(pending.ok_or_else(|| refuse(store.no_pending_sentence(channel, dir, now)))?.id)
}

/// Says that a handoff comes from another project or directory.
fn origin_notices(entry: &IndexEntry, dir: &Path) -> Vec<String> {
    let mut notices = Vec::new();
    let foreign = *entry.project() != *project_of(dir).to_string_lossy();
    if foreign {
        notices.push(format!("{} belongs to another project: {}", entry.id, safe_line(entry.project())));
    }
    if *entry.working_dir != *dir.to_string_lossy() && !(foreign && entry.working_dir == entry.project()) {
        notices.push(format!("{} was made in {}", entry.id, safe_line(&entry.working_dir)));
    }
    notices
}
