//! The session's recording: what the screen shows when it begins, and who is told of its end.

use crate::core::supervisor::action::DecisionKind;
use crate::core::supervisor::event::Event;
use crate::fs::cast_file::{CastFile, CastFileError};
use crate::host::Host;
use crate::host::cast_recording::{CastOrder, SessionCast, UNASKED, cast_failure};
use crate::ipc::answers::RecordAnswer;
use crate::ipc::message::{Failure, Record};

impl Host {
    /// Starts the recording with the whole state of the screen.
    fn begin_cast(&mut self, file: CastFile, order: &CastOrder) -> Result<(), Failure> {
        let picture = self.child.cast_picture(self.session.launch.size);
        self.cast.begin(file, order, &self.session.cast_subject(), picture, &self.clock)
    }

    /// `hopty record -- PROGRAM`: before the program starts. Returns the message for the person.
    pub(in crate::host) fn record_from_start(&mut self, wanted: &Record) -> Result<String, Failure> {
        let order = SessionCast::order(wanted, &self.session.cast_subject())?;
        let file = order.open(&self.session.recordings()).map_err(|error| cast_failure(&error))?;
        self.begin_cast(file, &order)?;
        Ok(format!("recording to {}", order.path.display()))
    }

    /// Begins the recording that `record.auto` asks for. Returns why it cannot, which keeps no session from
    /// its start.
    pub(in crate::host) fn record_by_itself(&mut self) -> Option<String> {
        let session = &self.session;
        if !session.launch.config.record.auto || session.private.is_some() || self.cast.is_recording() {
            return None;
        }
        let (order, _) = self.cast.next_own(&session.cast_subject());
        let opened = order.open(&session.recordings()).map_err(|error| cast_failure(&error));
        let begun = opened.and_then(|file| self.begin_cast(file, &order));
        self.jobs.remove_old_recordings(self.session.launch.config.record.keep_days);
        begun.err().map(|failure| format!("the session is not recorded: {}", failure.message))
    }

    /// The file of a recording was opened.
    pub(super) fn cast_opened(
        &mut self,
        number: u64,
        opened: Result<CastFile, CastFileError>,
        order: &CastOrder,
    ) {
        let begun =
            self.cast.opened(opened, self.exit.is_some()).and_then(|file| self.begin_cast(file, order));
        if let Err(failure) = &begun
            && number == UNASKED
            && self.exit.is_none()
        {
            self.recording_failed(format!("The session is not recorded: {}", failure.message));
        }
        if let Some(asked) = self.control.settle(number) {
            self.answer(asked, begun.map(|()| RecordAnswer::of(&order.path)));
        }
    }

    /// The recording may have ended.
    pub(in crate::host) fn recording_ended(&mut self) {
        let Some(mut ended) = self.cast.take_end() else { return };
        for number in std::mem::take(&mut ended.stops) {
            if let Some(asked) = self.control.settle(number) {
                self.answer(asked, ended.answer());
            }
        }
        if ended.continues && self.exit.is_none() {
            // The next file begins with the whole picture.
            let (order, gone) = self.cast.next_own(&self.session.cast_subject());
            self.cast.begin_opening();
            self.jobs.open_recording(UNASKED, order, self.session.recordings(), gone);
        } else if let Some(what) = ended.failure() {
            self.recording_failed(what);
        }
    }

    fn recording_failed(&mut self, what: String) {
        self.notice(DecisionKind::Degraded, &format!("{what}. The session continues."));
        self.events.push_back(Event::Limited { what });
    }
}
