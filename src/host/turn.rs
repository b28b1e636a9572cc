//! A turn as the transcript and the screen tell it, where no hook does (DESIGN 6.2, safe point 3): hooks are switched off,
//! or an old Claude was told to end its turn after a tool, which fires no Stop.

use super::Host;
use crate::core::supervisor::event::Event;
use crate::core::time::Stamp;

impl Host {
    /// Tells the supervisor when a turn began or ended. An end needs a screen that has been quiet for a while: the lines of
    /// a message that is still being written look like its last.
    pub(super) fn tell_turn(&mut self) {
        let now = self.clock.now();
        self.watching.hookless = self.recorder.supervisor.turns_by_transcript(now);
        let Some(over) = self.turn_is_over() else { return };
        if over && (now < self.quiet_from() || self.view().is_some_and(|view| view.busy_hint == Some(true))) {
            return;
        }
        let Some(following) = &mut self.watching.following else { return };
        if following.told_over != Some(over) {
            following.told_over = Some(over);
            let conversation = following.conversation.clone();
            self.events.push_back(if over { Event::TurnEnded { conversation } } else { Event::TurnBegan { conversation } });
        }
    }

    /// When an end that is not told yet may be.
    pub(super) fn turn_deadline(&self, now: Stamp) -> Option<Stamp> {
        let told = self.watching.following.as_ref().and_then(|following| following.told_over);
        let waits = self.turn_is_over() == Some(true) && told != Some(true);
        waits.then(|| self.quiet_from()).filter(|at| *at > now)
    }

    /// `None` while hooks tell, and before the first prompt.
    fn turn_is_over(&self) -> Option<bool> {
        let supervisor = &self.recorder.supervisor;
        if !self.watching.hookless {
            return None;
        }
        let facts = &self.watching.following.as_ref().filter(|following| !following.more)?.facts;
        let cut = supervisor.turn_is_cut() && facts.open_tools().is_empty();
        facts.has_begun().then(|| facts.turn_ended() || cut)
    }

    /// From when on the screen counts as quiet, if it stays as it is.
    fn quiet_from(&self) -> Stamp {
        let changed = self.run.as_ref().map_or(Stamp(0), |run| run.changed);
        changed.after(self.launch.config.restart.quiet.ms())
    }
}
