//! The context figure of the session, for whoever asks: `status`, `context`, and the supervisor.

use serde_json::{Value, json};

use super::Host;
use super::watching::{Following, Watching};
use crate::core::figure::{Count, Figure, Sources};
use crate::core::status::ContextStatus;
use crate::core::time::WallTime;
use crate::sys::clock::Clock;

impl Watching {
    /// Names of the model, the best first.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        self.model.names(self.own.model.as_deref(), self.answered())
    }

    /// The model that the person changed to.
    pub fn switched(&self) -> Option<&str> {
        self.model.switched(self.own.model.as_deref(), self.answered())
    }

    fn answered(&self) -> Option<&str> {
        self.following.as_ref().and_then(|f| f.facts.model())
    }
}

impl Host {
    /// How full the conversation's window is.
    pub(super) fn figure(&self) -> Figure {
        Figure::of(&self.sources())
    }

    /// What is known now of that.
    fn sources(&self) -> Sources {
        let following = self.watching.following.as_ref();
        let facts = following.map(|following| &following.facts);
        let spoken = self.watching.status_line.as_ref();
        let age = |written: &str| u64::try_from(Clock::wall().0.saturating_sub(WallTime::parse(written)?.0)).ok();
        // What was said of another conversation is a figure of that one.
        let same = spoken.filter(|(said, _)| following.is_some_and(|f| f.conversation == said.conversation));
        let statusline = same.and_then(|(said, at)| Some(Count { tokens: said.tokens?, age_ms: Some(self.clock.now().since(*at)) }));
        let fill = facts.and_then(|facts| facts.fill());
        Sources {
            statusline,
            statusline_window: spoken.and_then(|(said, _)| said.window),
            transcript: fill.map(|fill| Count { tokens: fill.tokens, age_ms: fill.at.as_deref().and_then(age) }),
            compacted: fill.is_some_and(|fill| fill.message_id.is_empty()),
            answered: facts.is_some_and(|facts| facts.model().is_some()),
            bytes: following.map_or(0, Following::bytes),
            models: self.watching.models().map(str::to_owned).collect(),
            configured: self.launch.config.context.window,
        }
    }

    /// The `context` part of the session object.
    pub(super) fn context(&self) -> ContextStatus {
        self.figure().status(self.recorder.supervisor.level(), self.wall(self.clock.now()))
    }

    /// The same with every source that was looked at.
    pub(super) fn explained(&self) -> Value {
        let transcript = self.watching.following.as_ref().and_then(|following| following.path());
        let levels = self.recorder.supervisor.levels();
        json!({"context": self.context(), "tried": self.figure().tried(&self.sources()), "levels": levels, "transcript": transcript})
    }
}
