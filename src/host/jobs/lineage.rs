//! What a conversation inherits: the handoff that it began from (`--handoff` claims one), and files that
//! Claude or the person wrote for the next conversation.

use std::path::PathBuf;

use crate::core::compat::boxes;
use crate::core::config::GitPolicy;
use crate::core::handoff::capture::Capture;
use crate::core::handoff::drift::ADVICE;
use crate::core::handoff::pick::{NotPicked, pick};
use crate::core::handoff::text::safe_line;
use crate::core::ids::{ConversationId, HandoffId};
use crate::core::time::WallTime;
use crate::fs::own_files::{self, OwnFile};
use crate::fs::project::project_of;
use crate::fs::store::{Loaded, Scope, Store, StoreError};
use crate::host::Host;
use crate::host::jobs::drift;
use crate::host::jobs::{Brief, JobEvent};
use crate::host::start::Ready;
use crate::sys::clock::Clock;

/// The origin of the current conversation.
#[derive(Debug, Default)]
pub(in crate::host) struct Lineage {
    /// The handoff that it continued from.
    pub predecessor: Option<HandoffId>,
    /// When that handoff was saved.
    carried: Option<WallTime>,
    /// When the handoff that is being delivered was saved.
    saved: Option<WallTime>,
}

impl Lineage {
    /// A handoff is about to be saved.
    pub fn saves(&mut self) {
        self.saved = Some(Clock::wall());
    }

    /// A new conversation continued from a handoff: files that it included are not carried again.
    pub fn went_on(&mut self, from: &HandoffId) {
        self.predecessor = Some(from.clone());
        self.carried = self.saved.take().or(self.carried);
    }
}

/// Where Claude's own files may be, for a worker that looks for them.
pub(in crate::host) struct OwnFiles {
    claude: PathBuf,
    pid: Option<u32>,
    since: WallTime,
}

impl OwnFiles {
    /// Puts their text into the record. Returns sentences for the person about them.
    pub fn add_to(&self, capture: &mut Capture) -> Vec<String> {
        let (found, mut said) = own_files::find(&self.claude, &capture.origin.channel, self.pid, self.since);
        capture.own_file = own_files::joined(&found);
        said.extend(found.iter().map(|OwnFile { path, .. }| {
            format!("{} was found: its text is in the handoff.", path.display())
        }));
        said
    }
}

impl Host {
    /// Files of Claude's own for the next record.
    pub(in crate::host) fn own_files(&self) -> OwnFiles {
        let pid = self.child.run.as_ref().and_then(|run| u32::try_from(run.pid).ok());
        OwnFiles {
            claude: self.paths.claude.clone(),
            pid,
            since: self.lineage.carried.unwrap_or(WallTime(self.began.0)),
        }
    }

    /// The session went back to the conversation before a handoff: it must not be loaded again, unless
    /// another conversation already continues from it.
    pub(in crate::host) fn clear(&mut self, handoff: HandoffId) {
        let store = self.paths.claude.clone();
        self.jobs.work(move || {
            let cleared = Store::open(&store).and_then(|store| store.clear(&handoff));
            match cleared {
                Ok(()) | Err(StoreError::NotMoved(_)) => JobEvent::Quiet,
                Err(error) => JobEvent::Failed(format!("could not discard {handoff}: {error}")),
            }
        });
    }

    /// `--handoff`: claims a pending handoff for a new conversation, before the first run.
    pub(in crate::host) fn load_handoff(
        &mut self,
        id: Option<&str>,
        conversation: &ConversationId,
    ) -> Result<HandoffId, Ready> {
        let hint =
            "`hopty handoff list` lists handoffs; without --handoff, hopty starts a fresh conversation";
        let refuse = |what: String| Ready::failed(1, what, hint);
        let store = Store::open(&self.paths.claude).map_err(|e| refuse(e.to_string()))?;
        let id: HandoffId = match id {
            Some(text) => {
                let known = store.list(None).map_err(|e| refuse(e.to_string()))?;
                pick(text, known.iter().map(|(_, entry)| &entry.id)).map_err(|why| match why {
                    NotPicked::Unknown(_) => refuse(why.to_string()),
                    NotPicked::BadId(_) | NotPicked::Several(_) => Ready::failed(2, why.to_string(), hint),
                })?
            }
            None => {
                let (dir, now) = (&self.dir, Clock::wall());
                let pending = store
                    .pending(&self.channel, None, Scope::Project, dir, now)
                    .map_err(|e| refuse(e.to_string()))?;
                pending.ok_or_else(|| refuse(store.none_waits(&self.channel, dir, now)))?.id
            }
        };
        let loaded: Loaded =
            store.claim(&id, self.claim_for(conversation)).map_err(|e| refuse(e.to_string()))?;
        let said = drift::since(&self.launch.config, &store, &loaded, &self.dir);
        if !said.is_empty() && self.launch.config.handoff.git == GitPolicy::Hold {
            let _ = store.release(&id, conversation);
            let what = format!("{id} is not loaded: {}", said.join(" "));
            return Err(Ready::failed(
                4,
                what,
                "restore the work tree, or set HOPTY_HANDOFF_GIT=tell to load it anyway",
            ));
        }
        let (text, document) = loaded.brief(&said, self.budget());
        if !said.is_empty() {
            self.told = said.into_iter().chain([ADVICE.to_owned()]).collect();
        }
        let foreign = *loaded.entry.project() != *project_of(&self.dir).to_string_lossy();
        if foreign {
            self.told.push(format!("{id} belongs to another project: {}", safe_line(loaded.entry.project())));
        }
        if *loaded.entry.working_dir != *self.dir.to_string_lossy()
            && !(foreign && loaded.entry.working_dir == loaded.entry.project())
        {
            self.told.push(format!("{id} was made in {}", safe_line(&loaded.entry.working_dir)));
        }
        self.brief = Some(Brief {
            text,
            id: id.clone(),
            document,
            typed: None,
            mark: None,
            raw: None,
            material: None,
            made_in: (self.dir.clone(), loaded.channel),
            found: Vec::new(),
        });
        if self.prints_boxes() {
            let (task, phases) = store.progress(&id).unwrap_or_default();
            self.resuming = Some(boxes::resuming(&id, &task, phases).replace('\n', "\r\n"));
        }
        self.lineage.predecessor = Some(id.clone());
        Ok(id)
    }
}
