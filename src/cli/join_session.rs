//! Attaches this terminal to a session, and prints how that ended.

use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::control::{ANSWER, HostControl, unanswered};
use super::error::{VerbError, note, visible};
use super::exit_codes::{FAILED, INTERNAL};
use super::notice;
use crate::client::start::Greeting;
use crate::client::{self, AttachEnd, AttachOutcome, ClientOptions, RawTerminal};
use crate::core::ids::SessionName;
use crate::fs::paths::Paths;

/// Attaches until either side ends it, and returns the program's exit code. `hold`: the terminal is already
/// raw.
pub(super) fn join(
    paths: &Paths,
    name: &SessionName,
    socket: UnixStream,
    greeting: Greeting,
    options: ClientOptions,
    hold: Option<RawTerminal>,
) -> Result<u8, VerbError> {
    // A message about hopty itself needs the name only once.
    let print = |text: &str| note(format_args!("hopty: {}", text.strip_prefix("hopty ").unwrap_or(text)));
    let attached = catch_unwind(AssertUnwindSafe(|| client::attach(socket, greeting, options, hold)));
    let Ok(outcome) = attached else { return Err(failed_client(paths, name)) };
    let AttachOutcome { end, notices } = outcome?;
    // It may have been renamed meanwhile.
    let name = &crate::fs::session::current(paths, name);
    let print_notices =
        |said: Option<&str>| notices.lines(name.as_str(), said).iter().for_each(|line| print(&visible(line)));
    match end {
        AttachEnd::Ended(code, message) => {
            print_notices(message.as_deref());
            if let Some(message) = message {
                print(&visible(&message));
            }
            if let Some(waiting) = notice::at_end(paths, name) {
                print(&waiting);
            }
            Ok(code)
        }
        AttachEnd::Detached => {
            print_notices(None);
            print(&format!("detached; the session keeps running (hopty attach {name})"));
            Ok(0)
        }
        AttachEnd::HungUp => Ok(0),
        AttachEnd::Silent => Err(unanswered(paths, name, &std::io::ErrorKind::TimedOut.into())),
        AttachEnd::Refused(failure) => Err(VerbError::from(failure).about(name)),
        AttachEnd::Closed => {
            let host_is_dead = || !crate::fs::session::is_alive(&paths.session(name));
            if !crate::fs::session::remove_stale_socket(paths, name) && !host_is_dead() {
                let hint = format!("the session keeps running: hopty attach {name}");
                return Err(VerbError::new(FAILED, "the session's host closed the connection")
                    .about(name)
                    .hint(hint));
            }
            crate::host::start::orphan::end(paths, name, host_is_dead);
            Err(VerbError::new(INTERNAL, "the session's host died, and the program with it")
                .about(name)
                .hint(how_to_go_on(paths, name)))
        }
    }
}

/// The client panicked. The host restores the terminal first, so that the error is not printed on an
/// alternate screen.
fn failed_client(paths: &Paths, name: &SessionName) -> VerbError {
    for _ in 0..50 {
        let status = HostControl::connect(paths, name, Some(ANSWER)).and_then(|mut control| control.status());
        if status.map_or(true, |status| status.clients.is_empty()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let words = crate::tty::raw::last_words().unwrap_or_default();
    VerbError::new(
        INTERNAL,
        format!("the client failed: {}", words.split_whitespace().collect::<Vec<_>>().join(" ")),
    )
    .about(name)
    .hint(format!("the session keeps running: hopty attach {name}"))
}

/// What to do after a host's death: everything in the transcript is safe, and Claude writes one from the
/// first prompt on.
fn how_to_go_on(paths: &Paths, name: &SessionName) -> String {
    let last = crate::fs::session::status(&paths.session(name)).ok().flatten().unwrap_or_default();
    match super::restore::restore_hint(name, &last) {
        Some(way) => {
            format!("nothing is lost: {way}; if the terminal looks odd, run `stty sane; reset`")
        }
        None => "if the terminal looks odd, run `stty sane; reset`".to_owned(),
    }
}
