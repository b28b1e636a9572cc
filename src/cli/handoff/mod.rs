//! `hopty handoff`: the store of handoffs for people, scripts, hooks and Claude's own Bash tool.
//!
//! It works on the files alone; a session is asked only for what it knows better: its conversation, its
//! channel.

mod create;
mod current;
mod fit;
pub(super) mod handoff_args;
mod load;
mod redactions;
mod script_loaded;
mod show;
mod snooze;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::control::{dir_of, outer_session, paths};
use super::error::{Failed, note, say, visible};
use crate::core::config::Config;
use crate::core::handoff::brief::Budget;
use crate::core::handoff::handoff_selector::{NotPicked, pick};
use crate::core::handoff::manifest::{NotClaimed, NotMoved};
use crate::core::handoff::manifest_entry::{HandoffProgress, IndexEntry};
use crate::core::ids::{Channel, HandoffId, SessionName};
use crate::core::supervisor::handover_question::AskAnswer;
use crate::fs::paths::Paths;
use crate::fs::project::project_of;
use crate::fs::registry;
use crate::fs::store::{HandoffScope, Retention, Store, StoreError};
use crate::ipc::message::Code;
use crate::sys::clock::Clock;
use handoff_args::{ChannelAndFormat, HandoffArg, HandoffVerb};
pub(super) use script_loaded::settle;

pub(super) fn handoff(verb: &HandoffVerb) -> Result<u8, Failed> {
    let place = HandoffPlace::new()?;
    let done = match verb {
        HandoffVerb::Create(options) => create::create(&place, options),
        HandoffVerb::Show(options) => show::show(&place, options),
        HandoffVerb::List { all, at } => show::list(&place, at, *all),
        HandoffVerb::Load(options) => load::load(&place, options),
        HandoffVerb::Clear(which) => load::clear(&place, which),
        HandoffVerb::Path { which, record } => show::path(&place, which, *record),
        HandoffVerb::Fit(options) => fit::fit(&place, options),
        HandoffVerb::Recent(options) => current::recent(&place, options),
        HandoffVerb::Session(options) => current::session(&place, options),
        HandoffVerb::Id { at, new: false } => show::id(&place, at),
        HandoffVerb::Id { at, new: true } => create::new_id(&place, at),
        HandoffVerb::Snooze(session) => snooze::answer(&place.paths, session, AskAnswer::Snooze),
        HandoffVerb::Dismiss(session) => snooze::answer(&place.paths, session, AskAnswer::Dismiss),
    };
    place.tell_notices();
    done
}

/// Where a command is run, and the store there.
struct HandoffPlace {
    paths: Paths,
    config: Config,
    /// Its session, when it is run in one.
    session: Option<SessionName>,
    store: Store,
}

impl HandoffPlace {
    fn new() -> Result<Self, Failed> {
        let paths = paths()?;
        let config = super::read_config::valid(&paths, &[])?;
        let session = outer_session(&paths);
        let store = Store::at(&paths.claude);
        Ok(HandoffPlace { paths, config, session, store })
    }

    /// The channel that is meant: the one that is named, else that of the session, else that of this
    /// directory.
    fn channel(&self, at: &ChannelAndFormat) -> Channel {
        at.channel.clone().unwrap_or_else(|| channel_of(&self.paths, &self.dir()))
    }

    /// The session's directory, else the one that the command is run in.
    fn dir(&self) -> PathBuf {
        let own = self.session.as_ref().and_then(|name| dir_of(&self.paths, name));
        own.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
    }

    fn budget(&self) -> Budget {
        Budget::of(&self.config.handoff)
    }

    fn keeping(&self) -> Retention {
        Retention::of(&self.config.handoff)
    }

    /// The handoff that is meant: by its id, else the one that waits here.
    fn find(&self, which: &HandoffArg) -> Result<HandoffId, Failed> {
        let Some(word) = &which.id else { return self.waiting(&which.at).map(|entry| entry.id) };
        let known = self.store.list(which.at.channel.as_ref()).map_err(store_failed)?;
        pick(word, known.iter().map(|(_, entry)| &entry.id)).map_err(|why| match why {
            NotPicked::BadId(bad) => {
                Failed::new(2, bad.to_string()).hint("an id looks like HO-20261120-142950-c74cc080")
            }
            NotPicked::Unknown(_) => not_there(why.to_string()),
            NotPicked::Several(ref ids) => {
                let names: Vec<&str> = ids.iter().map(HandoffId::as_str).collect();
                Failed::new(2, why.to_string()).about(word).hint(format!("which one? {}", names.join(", ")))
            }
        })
    }

    /// The handoff that waits here for this session or for anyone.
    fn waiting(&self, at: &ChannelAndFormat) -> Result<IndexEntry, Failed> {
        let channel = self.channel(at);
        settle(&self.paths, &self.store, Some(&channel));
        let (dir, now) = (self.dir(), Clock::wall());
        let pending = self
            .store
            .pending(&channel, self.session.as_ref(), scope(at), &dir, now)
            .map_err(store_failed)?;
        pending.ok_or_else(|| not_there(self.store.no_pending_sentence(&channel, &dir, now)))
    }

    /// Tells whose a handoff is that belongs to another project than this.
    fn tell_foreign(&self, entry: &IndexEntry) {
        if *entry.project() != *project_of(&self.dir()).to_string_lossy() {
            note(format_args!(
                "hopty: {} belongs to another project: {}",
                entry.id,
                visible(entry.project())
            ));
        }
    }

    /// What was found wrong in the store, once.
    fn tell_notices(&self) {
        for notice in self.store.take_notices() {
            note(format_args!("hopty: {}", visible(&notice)));
        }
    }
}

/// A channel that was named stands for all of its projects, but for the one that unrelated directories share.
fn scope(at: &ChannelAndFormat) -> HandoffScope {
    if at.channel.as_ref().is_some_and(|channel| *channel != Channel::global()) {
        HandoffScope::Channel
    } else {
        HandoffScope::Project
    }
}

/// The channel of a directory, by the person's registry; `global` where that cannot be used, as the host has
/// it.
pub(super) fn channel_of(paths: &Paths, dir: &Path) -> Channel {
    registry::channel_of(&paths.claude, dir).unwrap_or_else(|error| {
        note(format_args!("hopty: {}; using channel global", visible(&error.to_string())));
        Channel::global()
    })
}

fn not_there(what: String) -> Failed {
    Failed::new(1, what).called(Code::NotFound).hint("`hopty handoff list --all` lists all handoffs")
}

/// The exit code and hint for a failure of the store.
fn store_failed(error: StoreError) -> Failed {
    let said = error.to_string();
    match error {
        StoreError::NotClaimed(NotClaimed::Unknown(_)) | StoreError::NotMoved(NotMoved::Unknown(_)) => {
            not_there(said)
        }
        StoreError::NotClaimed(NotClaimed::NotActive { status: HandoffProgress::Expired, .. }) => {
            Failed::new(1, said)
                .called(Code::Ended)
                .hint("`hopty handoff show` still prints it; `handoff.expiry` sets how long a handoff waits")
        }
        StoreError::NotClaimed(NotClaimed::NotActive { .. })
        | StoreError::NotMoved(NotMoved::NotActive { .. }) => Failed::new(1, said).called(Code::Ended).hint(
            "`hopty handoff list --all` shows the status of \
                each",
        ),
        StoreError::NotClaimed(NotClaimed::Held { .. }) | StoreError::NotMoved(NotMoved::NotHolder(_)) => {
            Failed::new(4, said).hint(
                "only one conversation can load a handoff; the claim lapses when that \
                                       process ends",
            )
        }
        StoreError::NotClaimed(NotClaimed::Unusable { .. }) => Failed::new(4, said).hint(
            "hopty leaves it unchanged; `hopty handoff path --record` prints the directory with its \
                   raw copies",
        ),
        StoreError::Fs(_) => Failed::new(125, said).hint(
            "the store is `handoff` in Claude's directory, \
            ~/.claude by default",
        ),
    }
}

/// An entry in the form of `docs/HANDOFF.md` with its present status: one that was not loaded in time is
/// expired even before the manifest says so.
fn object(entry: &IndexEntry) -> Value {
    let mut entry = entry.clone();
    if entry.status == HandoffProgress::Active && !entry.is_pending(Clock::wall()) {
        entry.status = HandoffProgress::Expired;
    }
    serde_json::to_value(&entry).unwrap_or_default()
}

/// A value, or its text for people.
fn answer(json: bool, value: &Value, text: &str) -> Result<u8, Failed> {
    if json {
        say(format_args!("{value}"))?
    } else {
        say(format_args!("{text}"))?
    }
    Ok(0)
}
