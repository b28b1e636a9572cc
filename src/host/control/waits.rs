//! Requests that wait for something: a state, the end, a change of the state or the screen (`hopty wait`).
//!
//! Nothing is polled: a waiting request is checked after each event and each time the screen was fed
//! ([`WaitingRequest::answer`]). Text is not searched here. The rows of a changed screen go to the client, at
//! most once in [`SCREEN_MS`], and the client searches them: the process that forwards a person's keys never
//! pays for an expensive pattern.

use crate::core::screen_mark::ScreenMark;
use crate::core::supervisor::Supervisor;
use crate::core::supervisor::reported_state::SessionState;
use crate::core::time::Stamp;
use crate::host::child::ScreenModel;
use crate::ipc::answers::{RowsAnswer, WatchAnswer};
use crate::ipc::message::{Code, RequestError, RequestId, Wait, WaitFor, Watch};
use crate::screen::Screen;

/// How long after its request a changed screen is sent at the earliest, in ms.
const SCREEN_MS: u64 = 20;

/// What a request waits for.
#[derive(Clone, Copy, Debug)]
pub(in crate::host) enum Awaited {
    Condition(Wait),
    Change(Watch),
}

impl Awaited {
    /// Whether it depends on Claude's state.
    pub fn needs_agent(&self) -> bool {
        match self {
            Awaited::Condition(wait) => !matches!(wait.wanted, WaitFor::Exit | WaitFor::Text),
            Awaited::Change(watch) => watch.state,
        }
    }

    /// Whether a change of the screen answers it.
    pub fn shows_screen(&self) -> bool {
        match self {
            Awaited::Condition(wait) => wait.wanted == WaitFor::Text,
            Awaited::Change(watch) => watch.screen,
        }
    }

    /// The mark since which parts of the screen are new.
    fn mark(&self) -> Option<ScreenMark> {
        match self {
            Awaited::Condition(wait) => wait.mark,
            Awaited::Change(watch) => watch.mark,
        }
    }

    /// The revision of the screen that the client has.
    fn after(&self) -> Option<u64> {
        match self {
            Awaited::Condition(wait) => wait.after,
            Awaited::Change(watch) => watch.after,
        }
    }

    fn timeout_ms(&self) -> u64 {
        match self {
            Awaited::Condition(wait) => wait.timeout_ms,
            Awaited::Change(watch) => watch.timeout_ms,
        }
    }

    /// The state in words, for the error about a program that has no such state.
    fn words(&self) -> &'static str {
        match self {
            Awaited::Condition(wait) => wait.wanted.word(),
            Awaited::Change(_) => "idle, busy or blocked",
        }
    }
}

#[derive(Debug)]
pub(in crate::host) struct WaitingRequest {
    pub request_id: RequestId,
    pub wanted: Awaited,
    /// When the screen may be sent.
    from: Stamp,
    /// When the request times out.
    until: Stamp,
}

impl WaitingRequest {
    /// Whether a changed screen may be sent.
    fn may_show(&self, now: Stamp) -> bool {
        now >= self.from
    }

    /// Whether it has timed out.
    fn is_late(&self, now: Stamp) -> bool {
        now >= self.until
    }

    /// The answer, if it is due.
    pub fn answer(&self, scene: &mut WaitScene<'_>) -> Option<WaitOutcome> {
        let wanted = match &self.wanted {
            Awaited::Condition(wanted) => wanted,
            Awaited::Change(watch) => return self.change(watch, scene),
        };
        let is =
            |state| scene.supervisor.state().state == state && scene.supervisor.entered().1 > wanted.since;
        let met = match wanted.wanted {
            WaitFor::Idle => is(SessionState::Idle),
            WaitFor::Busy => is(SessionState::Busy),
            WaitFor::Blocked => is(SessionState::Blocked),
            WaitFor::Exit => scene.ended,
            WaitFor::Text => {
                if let Some(screen) = self.screen(scene) {
                    return Some(WaitOutcome::Screen(screen));
                }
                false
            }
        };
        if met || self.is_late(scene.now) {
            return Some(WaitOutcome::Session { met });
        }
        scene.ended.then(|| {
            let message = format!("the session has ended and will never be {}", wanted.wanted.word());
            WaitOutcome::Refused(RequestError::new(Code::Ended, message, "`hopty why` says how it ended"))
        })
    }

    /// The answer to a `watch`: the state and the screen are compared with what the client knows, so nothing
    /// is missed between two requests.
    fn change(&self, watch: &Watch, scene: &mut WaitScene<'_>) -> Option<WaitOutcome> {
        let entered = scene.supervisor.entered().1;
        let screen = if watch.screen { self.screen(scene) } else { None };
        if screen.is_some() || watch.entered != Some(entered) {
            let screen = screen.unwrap_or_default();
            let state = Some(scene.supervisor.state().state.into());
            return Some(WaitOutcome::Change(WatchAnswer {
                met: !screen.degraded,
                state,
                entered: Some(entered),
                screen,
            }));
        }
        if scene.ended {
            let failure = RequestError::session_has_ended();
            return Some(WaitOutcome::Refused(failure));
        }
        self.is_late(scene.now).then(|| WaitOutcome::Change(WatchAnswer::default()))
    }

    /// The screen, if it has changed and may be sent.
    fn screen(&self, scene: &mut WaitScene<'_>) -> Option<RowsAnswer> {
        if !self.may_show(scene.now) && !scene.ended {
            return None;
        }
        let (ended, now) = (scene.ended, scene.now);
        let (run, model) = scene.screen.as_mut()?;
        match self.wanted.mark() {
            Some(mark) => screen_since(*run, model, self.wanted.after(), mark, now),
            None => changed_screen(*run, model, self.wanted.after(), ended),
        }
    }
}

/// What a waiting request is checked against.
pub(in crate::host) struct WaitScene<'host> {
    pub supervisor: &'host Supervisor,
    /// The run, and its screen.
    pub screen: Option<(u32, &'host mut ScreenModel)>,
    /// The session has ended.
    pub ended: bool,
    pub now: Stamp,
}

/// The outcome of a request that waited.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::host) enum WaitOutcome {
    /// Whether the condition holds, and the session status.
    Session {
        met: bool,
    },
    /// The screen of a `wait` for text.
    Screen(RowsAnswer),
    /// The answer to a `watch`.
    Change(WatchAnswer),
    Refused(RequestError),
}

/// The screen's rows if they differ from those of revision `known`, or the fact that the screen is gone.
fn changed_screen(run: u32, model: &mut ScreenModel, known: Option<u64>, ended: bool) -> Option<RowsAnswer> {
    // In a burst the model is fed when due, not for every request.
    let latest = known.is_none() || ended;
    let revision = |screen: &Screen| revision_of(run, screen.revision());
    let rows =
        |screen: &Screen| (known != Some(revision(screen))).then(|| (revision(screen), screen.lines()));
    let looked = if latest { model.look(rows) } else { model.look_so_far(rows) };
    match looked {
        Some(changed) => changed.map(|(revision, rows)| RowsAnswer {
            revision: Some(revision),
            rows: Some(rows),
            ..RowsAnswer::default()
        }),
        None => Some(RowsAnswer::without_screen()),
    }
}

/// [`changed_screen`] with what is new since a mark: only between two frames.
fn screen_since(
    run: u32,
    model: &mut ScreenModel,
    known: Option<u64>,
    mark: ScreenMark,
    now: Stamp,
) -> Option<RowsAnswer> {
    let since = (mark.run == run).then_some(mark.frame);
    let Some(found) = model.rows_since(since, now) else {
        return Some(RowsAnswer::without_screen());
    };
    let revision = revision_of(run, model.revision());
    let found = found.filter(|_| known != Some(revision))?;
    Some(RowsAnswer {
        degraded: false,
        revision: Some(revision),
        rows: Some(found.rows),
        new: Some(found.new),
        cursor: Some(found.cursor),
    })
}

/// Whether a mark cannot be one of this session.
fn is_foreign(mark: ScreenMark, screen: Option<(u32, &ScreenModel)>) -> bool {
    screen.is_some_and(|(run, model)| mark.run > run || mark.run == run && !model.has_mark(mark.frame))
}

/// Combines run and revision: each run has another screen, whose revisions start again.
fn revision_of(run: u32, revision: u64) -> u64 {
    revision.wrapping_add(u64::from(run) << 40)
}

/// All waiting requests: at most one on each connection.
#[derive(Debug, Default)]
pub(in crate::host) struct Waits(Vec<WaitingRequest>);

impl Waits {
    pub fn has(&self, connection: u64) -> bool {
        self.0.iter().any(|waiting| waiting.request_id.connection == connection)
    }

    /// Whether a request waits for Claude's state, for which the screen must be read.
    pub fn for_state(&self) -> bool {
        self.0.iter().any(|waiting| waiting.wanted.needs_agent())
    }

    /// Adds a waiting request.
    pub(super) fn add(
        &mut self,
        request_id: RequestId,
        wanted: Awaited,
        now: Stamp,
    ) -> Result<(), RequestError> {
        if self.has(request_id.connection) {
            let hint = "open another connection";
            return Err(RequestError::new(Code::Busy, "this connection already waits", hint));
        }
        let limit = wanted.timeout_ms();
        let from = if wanted.after().is_some() { now.after(SCREEN_MS.min(limit)) } else { now };
        self.put_back(WaitingRequest { request_id, wanted, from, until: now.after(limit) });
        Ok(())
    }

    /// Adds a new request after checking it. `plain`: the program, if it is not an agent; `screen`: the run
    /// and its screen.
    pub fn ask(
        &mut self,
        request_id: RequestId,
        wanted: Awaited,
        plain: Option<&str>,
        screen: Option<(u32, &ScreenModel)>,
        now: Stamp,
    ) -> Result<(), RequestError> {
        if let Some(program) = plain.filter(|_| wanted.needs_agent() && !self.has(request_id.connection)) {
            let message = format!(
                "hopty cannot tell what {program} does: it is not an agent, so it is never {}",
                wanted.words()
            );
            let hint = "wait for `text=REGEX` on its screen, or for `exit`";
            return Err(RequestError::new(Code::BadRequest, message, hint));
        }
        if let Some(mark) = wanted.mark().filter(|mark| is_foreign(*mark, screen)) {
            let message = format!("the mark {mark} was not taken in this session");
            return Err(RequestError::new(Code::BadRequest, message, "`hopty send --mark` prints one"));
        }
        self.add(request_id, wanted, now)
    }

    /// Takes all requests, to be answered or put back.
    pub fn take(&mut self) -> Vec<WaitingRequest> {
        std::mem::take(&mut self.0)
    }

    /// Puts back a request that has no answer yet.
    pub fn put_back(&mut self, waiting: WaitingRequest) {
        self.0.push(waiting);
    }

    pub fn deadline(&self, now: Stamp) -> Option<Stamp> {
        let shows = |waiting: &WaitingRequest| waiting.wanted.shows_screen() && waiting.from > now;
        self.0.iter().map(|waiting| if shows(waiting) { waiting.from } else { waiting.until }).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::Config;
    use crate::core::supervisor::{Policy, ProgramKind, RULES};
    use crate::core::terminal::Size;

    fn supervisor() -> Supervisor {
        Supervisor::new(Policy {
            agent: ProgramKind::Claude,
            hooks: true,
            notes: true,
            submit_when_idle: false,
            sessions_file: true,
            no_handover: None,
            rules: RULES,
            config: Config::default(),
        })
    }

    fn wait(wanted: WaitFor) -> Awaited {
        Awaited::Condition(Wait { wanted, since: 0, after: None, mark: None, timeout_ms: 100 })
    }

    fn watch() -> Watch {
        Watch { state: false, entered: Some(0), screen: false, after: None, mark: None, timeout_ms: 100 }
    }

    /// The answer to a request made at time 0.
    fn answer(
        wanted: Awaited,
        model: Option<&mut ScreenModel>,
        ended: bool,
        now: u64,
    ) -> Option<WaitOutcome> {
        let mut waits = Waits::default();
        waits.ask(RequestId { connection: 1, request: 1 }, wanted, None, None, Stamp(0)).unwrap();
        let screen = model.map(|model| (2, model));
        let supervisor = supervisor();
        let mut scene = WaitScene { supervisor: &supervisor, screen, ended, now: Stamp(now) };
        waits.take()[0].answer(&mut scene)
    }

    #[test]
    fn a_condition_is_met_or_late_or_can_no_longer_come_about() {
        assert_eq!(answer(wait(WaitFor::Exit), None, false, 99), None);
        assert_eq!(answer(wait(WaitFor::Exit), None, false, 100), Some(WaitOutcome::Session { met: false }));
        assert_eq!(answer(wait(WaitFor::Exit), None, true, 5), Some(WaitOutcome::Session { met: true }));
        let Some(WaitOutcome::Refused(failure)) = answer(wait(WaitFor::Blocked), None, true, 5) else {
            panic!("it waits on")
        };
        assert_eq!(failure.code, Code::Ended);
    }

    #[test]
    fn a_screen_is_sent_once_and_not_too_often() {
        let mut model = ScreenModel::of_run(Size::cells(20, 2), 10, false);
        model.change(|screen| screen.feed(b"hello"));
        let text = |after| {
            Awaited::Condition(Wait { wanted: WaitFor::Text, since: 0, after, mark: None, timeout_ms: 100 })
        };
        let Some(WaitOutcome::Screen(first)) = answer(text(None), Some(&mut model), false, 0) else {
            panic!("no screen")
        };
        assert_eq!(first.rows.unwrap(), ["hello", ""]);
        let known = first.revision;
        assert_eq!(answer(text(known), Some(&mut model), false, 50), None, "the client has it");
        model.change(|screen| screen.feed(b"!"));
        assert_eq!(answer(text(known), Some(&mut model), false, SCREEN_MS - 1), None);
        assert!(answer(text(known), Some(&mut model), false, SCREEN_MS).is_some());
        let change = Awaited::Change(Watch { screen: true, after: known, ..watch() });
        let Some(WaitOutcome::Change(changed)) = answer(change, Some(&mut model), false, SCREEN_MS) else {
            panic!("no change")
        };
        assert_eq!(changed.screen.rows.unwrap(), ["hello!", ""]);
        assert_eq!((changed.met, changed.entered), (true, Some(0)));
    }

    #[test]
    fn a_change_of_the_state_answers_a_watch_and_so_does_the_end() {
        assert_eq!(answer(Awaited::Change(watch()), None, false, 99), None);
        let late = Some(WaitOutcome::Change(WatchAnswer::default()));
        assert_eq!(answer(Awaited::Change(watch()), None, false, 100), late);
        let other = Awaited::Change(Watch { entered: Some(7), ..watch() });
        assert!(matches!(answer(other, None, false, 0), Some(WaitOutcome::Change(_))));
        assert!(matches!(answer(Awaited::Change(watch()), None, true, 0), Some(WaitOutcome::Refused(_))));
    }

    #[test]
    fn what_cannot_come_about_is_refused_at_once() {
        let mut waits = Waits::default();
        let model = ScreenModel::of_run(Size::cells(20, 2), 10, false);
        let mut refused = |wanted, plain| {
            waits
                .ask(RequestId { connection: 1, request: 1 }, wanted, plain, Some((2, &model)), Stamp(0))
                .map_err(|failure| failure.code)
                .err()
        };
        assert_eq!(refused(wait(WaitFor::Idle), Some("vim")), Some(Code::BadRequest));
        let mark = Some(ScreenMark { seq: 0, run: 3, frame: 1 });
        let marked = Awaited::Change(Watch { screen: true, mark, ..watch() });
        assert_eq!(refused(marked, None), Some(Code::BadRequest), "a run that has yet to come");
        assert_eq!(refused(wait(WaitFor::Exit), Some("vim")), None);
        assert_eq!(refused(wait(WaitFor::Exit), None), Some(Code::Busy));
    }
}
