//! hopty's segment in Claude's status line: what it tells, and that it tells the truth at once.

use crate::core::status_segment::Segment;
use crate::core::supervisor::next_handover::{HandoverWhen, NextHandover};
use crate::core::supervisor::phase::Phase;
use crate::core::supervisor::state::SessionState;
use crate::core::terminal::Size;
use crate::host::Host;
use crate::host::child::SizeStep;

/// How long after a new state Claude may run its status line by itself, in ms: about 0.5 s after an answer.
const OWN_MS: u64 = 1500;
/// How soon it is made to otherwise.
const SOON_MS: u64 = 50;

impl Host {
    /// The segment, for a call of the status line; empty where it is not wanted.
    pub(super) fn segment(&mut self) -> String {
        if !self.session.launch.config.terminal.segment {
            return String::new();
        }
        let next = self.recorder.supervisor.next_handover(self.clock.now());
        let segment = self.segment_of(next.as_ref());
        let (text, gist) = (segment.text(), segment.gist());
        if let Some(run) = &mut self.child.run {
            run.segment.tell(gist);
        }
        text
    }

    fn segment_of<'a>(&'a self, next: Option<&'a NextHandover>) -> Segment<'a> {
        Segment {
            name: self.session.claim.name.as_str(),
            percent: self.context().known_percent(),
            level: self.session.launch.config.context.handoff.percent,
            next,
            now: self.clock.now(),
            prefix: self.session.launch.config.terminal.prefix,
            unread: self.terminals.unread_notices(),
            cols: self.child.run.as_ref().map(|run| run.size.cols),
        }
    }

    /// Whether the segment puts the question of mode `ask`. Claude would show it once more, as the words of a
    /// hook.
    pub(super) fn segment_asks(&self) -> bool {
        let next = self.recorder.supervisor.next_handover(self.clock.now());
        let asks = next.is_some_and(|next| next.when == HandoverWhen::Asked);
        asks && self.session.launch.config.terminal.segment && self.observer.has_status_line()
    }

    /// Something has changed that the segment may tell.
    pub(in crate::host) fn segment_may_differ(&mut self) {
        let now = self.clock.now();
        let is_new = now.since(self.recorder.supervisor.entered().0) < OWN_MS;
        if let Some(run) = self.child.run.as_mut().filter(|_| self.session.launch.offers.redraws_status_line)
        {
            run.segment.may_differ(now, if is_new { OWN_MS } else { SOON_MS });
        }
    }

    /// Has Claude draw a segment anew that is out of date: not while a dialog stands before it, nor while
    /// hopty types.
    pub(in crate::host) fn refresh_segment(&mut self) {
        let now = self.clock.now();
        let Some(run) = &mut self.child.run else { return };
        if run.segment.deadline().is_none_or(|at| at > now) {
            return;
        }
        let mut refresh = std::mem::take(&mut run.segment);
        let step = refresh.step(now, || {
            let supervisor = &self.recorder.supervisor;
            let rests = matches!(supervisor.state().state, SessionState::Idle | SessionState::Busy);
            let types = !matches!(self.phase(), Phase::Running | Phase::Waiting { .. })
                || self.keyboard.sends_deadline(now).is_some();
            let next = supervisor.next_handover(now);
            (rests && !types).then(|| self.segment_of(next.as_ref()).gist())
        });
        let Some(run) = &mut self.child.run else { return };
        run.segment = refresh;
        let size = match step {
            Some(SizeStep::Less) if run.size.rows > 2 => Size { rows: run.size.rows - 1, ..run.size },
            Some(_) => run.size,
            None => return,
        };
        // A program that has just ended has no terminal.
        let _ = run.pty.resize(size);
    }
}
