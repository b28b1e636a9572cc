//! Where `hopty handoff` works: the store, the session and its channel.

use std::path::{Path, PathBuf};

use super::handoff_args::{ChannelAndFormat, HandoffArg};
use super::handoff_store_error::{not_there, store_failed};
use super::settle;
use crate::cli::control::{dir_of, outer_session, paths};
use crate::cli::error::{VerbError, note, note_all, visible};
use crate::cli::exit_codes::USAGE;
use crate::cli::read_config;
use crate::core::config::Config;
use crate::core::handoff::brief::Budget;
use crate::core::handoff::handoff_selector::{NotPicked, pick};
use crate::core::handoff::manifest_entry::IndexEntry;
use crate::core::ids::{Channel, HandoffId, SessionName};
use crate::fs::paths::Paths;
use crate::fs::project::project_of;
use crate::fs::registry;
use crate::fs::store::{HandoffScope, Retention, Store};
use crate::sys::clock::Clock;

pub(super) struct HandoffPlace {
    pub(super) paths: Paths,
    pub(super) config: Config,
    /// The session that the command runs in.
    pub(super) session: Option<SessionName>,
    pub(super) store: Store,
}

impl HandoffPlace {
    pub(super) fn new() -> Result<Self, VerbError> {
        let paths = paths()?;
        let config = read_config::valid(&paths, &[])?;
        let session = outer_session(&paths);
        let store = Store::at(&paths.claude);
        Ok(HandoffPlace { paths, config, session, store })
    }

    /// The channel that is named; by default that of this directory.
    pub(super) fn channel(&self, at: &ChannelAndFormat) -> Channel {
        at.channel.clone().unwrap_or_else(|| channel_of(&self.paths, &self.dir()))
    }

    /// The session's directory, or the one that the command runs in.
    pub(super) fn dir(&self) -> PathBuf {
        let own = self.session.as_ref().and_then(|name| dir_of(&self.paths, name));
        own.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
    }

    pub(super) fn budget(&self) -> Budget {
        Budget::of(&self.config.handoff)
    }

    pub(super) fn keeping(&self) -> Retention {
        Retention::of(&self.config.handoff)
    }

    /// The handoff with the given id; by default the one that waits here.
    pub(super) fn find(&self, which: &HandoffArg) -> Result<HandoffId, VerbError> {
        let Some(word) = &which.id else { return self.waiting(&which.at).map(|entry| entry.id) };
        let known = self.store.list(which.at.channel.as_ref()).map_err(store_failed)?;
        pick(word, known.iter().map(|(_, entry)| &entry.id)).map_err(|why| match why {
            NotPicked::BadId(bad) => {
                VerbError::new(USAGE, bad.to_string()).hint("an id looks like HO-20261120-142950-c74cc080")
            }
            NotPicked::Unknown(_) => not_there(why.to_string()),
            NotPicked::Several(ref ids) => {
                let names: Vec<&str> = ids.iter().map(HandoffId::as_str).collect();
                VerbError::new(USAGE, why.to_string())
                    .about(word)
                    .hint(format!("which one? {}", names.join(", ")))
            }
        })
    }

    /// The handoff that waits here for this session or for any.
    pub(super) fn waiting(&self, at: &ChannelAndFormat) -> Result<IndexEntry, VerbError> {
        let channel = self.channel(at);
        settle(&self.paths, &self.store, Some(&channel));
        let (dir, now) = (self.dir(), Clock::wall());
        let pending = self
            .store
            .pending(&channel, self.session.as_ref(), scope(at), &dir, now)
            .map_err(store_failed)?;
        pending.ok_or_else(|| not_there(self.store.no_pending_sentence(&channel, &dir, now)))
    }

    /// Prints a notice if a handoff belongs to another project.
    pub(super) fn note_foreign(&self, entry: &IndexEntry) {
        if *entry.project() != *project_of(&self.dir()).to_string_lossy() {
            note(format_args!(
                "hopty: {} belongs to another project: {}",
                entry.id,
                visible(entry.project())
            ));
        }
    }

    /// Prints problems of the store, each once.
    pub(super) fn print_notices(&self) {
        note_all(&self.store.take_notices());
    }
}

/// A named channel stands for all of its projects, except the one that unrelated directories share.
pub(super) fn scope(at: &ChannelAndFormat) -> HandoffScope {
    if at.channel.as_ref().is_some_and(|channel| *channel != Channel::global()) {
        HandoffScope::Channel
    } else {
        HandoffScope::Project
    }
}

/// The channel of a directory from the person's registry; if that cannot be read, `global`, as in a session.
pub(super) fn channel_of(paths: &Paths, dir: &Path) -> Channel {
    registry::channel_of(&paths.claude, dir).unwrap_or_else(|error| {
        note(format_args!("hopty: {}; using channel global", visible(&error.to_string())));
        Channel::global()
    })
}
