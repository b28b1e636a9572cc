//! How a session ended.

use crate::core::process_change::ProcessEnd;
use crate::core::status_types::{ExitKind, ExitStatus};
use crate::core::supervisor::phase::EndCause;

#[derive(Clone, Copy, Debug)]
pub(super) struct HostExit {
    pub cause: EndCause,
    code: u8,
    signal: Option<i32>,
}

impl HostExit {
    /// The code is the program's, in shell form; `end` is the program's last end as the kernel reported it.
    pub fn new(cause: EndCause, code: u8, end: Option<ProcessEnd>) -> Self {
        let signal = match end {
            Some(ProcessEnd::Signaled(signal)) if ProcessEnd::Signaled(signal).code() == code => {
                Some(signal.0)
            }
            _ => None,
        };
        HostExit { cause, code, signal }
    }

    pub fn code(self) -> u8 {
        self.code
    }

    /// The `exit` part of the session status.
    pub fn status(self) -> ExitStatus {
        let kind = if self.signal.is_some() { ExitKind::Signaled } else { ExitKind::Exited };
        ExitStatus { kind: kind.into(), code: Some(self.code), signal: self.signal, cause: self.cause.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::process_change::Signal;

    #[test]
    fn a_code_is_a_signal_only_where_there_was_one() {
        let exit = |code, end| HostExit::new(EndCause::Stopped, code, Some(end)).status();
        assert!(exit(143, ProcessEnd::Signaled(Signal::TERM)).kind.is(ExitKind::Signaled));
        assert_eq!(exit(143, ProcessEnd::Signaled(Signal::TERM)).signal, Some(15));
        // Claude turns SIGTERM into a code of its own.
        assert_eq!(exit(143, ProcessEnd::Exited(143)).signal, None);
        assert!(HostExit::new(EndCause::CouldNotStart, 127, None).status().kind.is(ExitKind::Exited));
    }
}
