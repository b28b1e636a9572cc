//! `hopty wait`: whether what requests wait for has come about.

use crate::core::screen_mark::ScreenMark;
use crate::core::supervisor::Agent;
use crate::core::supervisor::state::SessionState;
use crate::core::time::Stamp;
use crate::host::Host;
use crate::host::control::{Awaited, WaitingRequest};
use crate::ipc::answers::{RowsAnswer, WaitAnswer, WatchAnswer};
use crate::ipc::message::{Code, Failure, WaitFor, Watch, error_line, ok_line};
use crate::screen::Screen;

impl Host {
    pub(super) fn wait(&mut self, connection: u64, request: u64, wanted: Awaited) {
        let is_plain = self.launch.agent == Agent::Plain;
        let added = if is_plain && wanted.needs_agent() && !self.control.waits.has(connection) {
            let message = format!(
                "hopty cannot tell what {} does: it is not an agent, so it is never {}",
                self.launch.called,
                wanted.words()
            );
            let hint = "wait for `text=REGEX` on its screen, or for `exit`";
            Err(Failure::new(Code::BadRequest, message, hint))
        } else if let Some(mark) = wanted.mark().filter(|mark| self.is_foreign(*mark)) {
            let message = format!("the mark {mark} was not taken in this session");
            Err(Failure::new(Code::BadRequest, message, "`hopty send --mark` prints one"))
        } else {
            self.control.waits.add(connection, request, wanted, self.clock.now())
        };
        if let Err(failure) = added {
            self.send(connection, &error_line(request, &failure));
        }
    }

    /// Whether a mark cannot have been taken in this session.
    fn is_foreign(&self, mark: ScreenMark) -> bool {
        let Some(run) = &self.child.run else { return false };
        mark.run > run.number || mark.run == run.number && !run.model.has_mark(mark.frame)
    }

    /// Answers the requests whose condition holds or whose time is up.
    pub(in crate::host) fn answer_waits(&mut self) {
        let now = self.clock.now();
        for waiting in self.control.waits.take() {
            if self.control.connection(waiting.connection).is_none() {
                continue;
            }
            match self.look_for(&waiting, now) {
                Some(line) => {
                    self.send(waiting.connection, &line);
                    // The text may be in the program's last output, and the client may ask for it afterwards.
                    if waiting.wanted.shows_screen() && self.exit.is_none() {
                        self.control.expect_request(waiting.connection, now);
                    }
                }
                None => self.control.waits.put_back(waiting),
            }
        }
    }

    /// The answer, if there is one.
    fn look_for(&mut self, waiting: &WaitingRequest, now: Stamp) -> Option<String> {
        let request = waiting.request;
        let wanted = match &waiting.wanted {
            Awaited::Condition(wanted) => wanted,
            Awaited::Change(watch) => return self.look_for_change(waiting, watch, now),
        };
        let ended = self.exit.is_some();
        let is = |state| {
            self.recorder.supervisor.state().state == state
                && self.recorder.supervisor.entered().1 > wanted.since
        };
        let met = match wanted.wanted {
            WaitFor::Idle => is(SessionState::Idle),
            WaitFor::Busy => is(SessionState::Busy),
            WaitFor::Blocked => is(SessionState::Blocked),
            WaitFor::Exit => ended,
            WaitFor::Text => {
                if let Some(screen) = self.screen_for(waiting, now) {
                    let answer = WaitAnswer { met: !screen.degraded, session: None, screen };
                    return Some(ok_line(request, &answer));
                }
                false
            }
        };
        if met || waiting.is_late(now) {
            let session = Some(self.status());
            return Some(ok_line(request, &WaitAnswer { met, session, screen: RowsAnswer::default() }));
        }
        ended.then(|| {
            let message = format!("the session has ended and will never be {}", wanted.wanted.word());
            error_line(request, &Failure::new(Code::Ended, message, "`hopty why` says how it ended"))
        })
    }

    /// The answer to a `watch`: the state and the screen are compared with what the client knows, so nothing
    /// is missed between two requests.
    fn look_for_change(&mut self, waiting: &WaitingRequest, watch: &Watch, now: Stamp) -> Option<String> {
        let entered = self.recorder.supervisor.entered().1;
        let screen = if watch.screen { self.screen_for(waiting, now) } else { None };
        if screen.is_some() || watch.entered != Some(entered) {
            let screen = screen.unwrap_or_default();
            let state = Some(self.recorder.supervisor.state().state.into());
            let answer = WatchAnswer { met: !screen.degraded, state, entered: Some(entered), screen };
            return Some(ok_line(waiting.request, &answer));
        }
        if self.exit.is_some() {
            let failure = Failure::new(Code::Ended, "the session has ended", "`hopty why` says how it ended");
            return Some(error_line(waiting.request, &failure));
        }
        waiting.is_late(now).then(|| ok_line(waiting.request, &WatchAnswer::default()))
    }

    /// The screen for a request that waits, if it has changed and may be sent.
    fn screen_for(&mut self, waiting: &WaitingRequest, now: Stamp) -> Option<RowsAnswer> {
        let known = waiting.wanted.after();
        match waiting.wanted.mark() {
            _ if !waiting.may_show(now) && self.exit.is_none() => None,
            Some(mark) => self.screen_since(known, mark),
            None => self.changed_screen(known),
        }
    }

    /// The screen's rows if they differ from those of revision `known`, or the fact that there are none any
    /// more.
    fn changed_screen(&mut self, known: Option<u64>) -> Option<RowsAnswer> {
        let ended = self.exit.is_some();
        let run = self.child.run.as_mut()?;
        // In a burst the model is fed when that is due, not for every request.
        let latest = known.is_none() || ended;
        let number = run.number;
        let revision = |screen: &Screen| revision_of(number, screen.revision());
        let rows =
            |screen: &Screen| (known != Some(revision(screen))).then(|| (revision(screen), screen.lines()));
        let looked = if latest { run.model.look(rows) } else { run.model.look_so_far(rows) };
        match looked {
            Some(changed) => changed.map(|(revision, rows)| RowsAnswer {
                revision: Some(revision),
                rows: Some(rows),
                ..RowsAnswer::default()
            }),
            None => Some(RowsAnswer::without_screen()),
        }
    }

    /// The same for whom it matters what is new since a mark: only between two frames.
    fn screen_since(&mut self, known: Option<u64>, mark: ScreenMark) -> Option<RowsAnswer> {
        let now = self.clock.now();
        let run = self.child.run.as_mut()?;
        let since = (mark.run == run.number).then_some(mark.frame);
        let Some(found) = run.model.rows_since(since, now) else {
            return Some(RowsAnswer::without_screen());
        };
        let revision = revision_of(run.number, run.model.revision());
        let found = found.filter(|_| known != Some(revision))?;
        Some(RowsAnswer {
            degraded: false,
            revision: Some(revision),
            rows: Some(found.rows),
            new: Some(found.new),
            cursor: Some(found.cursor),
        })
    }
}

/// Another run has another screen, whose revisions start again.
fn revision_of(run: u32, revision: u64) -> u64 {
    revision.wrapping_add(u64::from(run) << 40)
}
