//! This terminal attached to a session, and what is printed when that ends.

use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::control::{ANSWER, HostControl, unanswered};
use super::error::{Failed, note, visible};
use super::notice;
use crate::client::start::Greeting;
use crate::client::{self, AttachEnd, AttachOutcome, ClientOptions, RawTerminal};
use crate::core::ids::SessionName;
use crate::fs::paths::Paths;

/// Attaches this terminal until either side ends it, and returns the program's exit code. `hold`: the
/// terminal is already raw.
pub(super) fn join(
    paths: &Paths,
    name: &SessionName,
    socket: UnixStream,
    greeting: Greeting,
    options: ClientOptions,
    hold: Option<RawTerminal>,
) -> Result<u8, Failed> {
    // A sentence about hopty needs its name once.
    let tell = |text: &str| note(format_args!("hopty: {}", text.strip_prefix("hopty ").unwrap_or(text)));
    let attached = catch_unwind(AssertUnwindSafe(|| client::attach(socket, greeting, options, hold)));
    let Ok(outcome) = attached else { return Err(failed_client(paths, name)) };
    let AttachOutcome { end, notices } = outcome?;
    // It may have been renamed meanwhile.
    let name = &crate::fs::session::current(paths, name);
    let tell_notices =
        |said: Option<&str>| notices.lines(name.as_str(), said).iter().for_each(|line| tell(&visible(line)));
    match end {
        AttachEnd::Ended(code, message) => {
            tell_notices(message.as_deref());
            let named = message.as_ref().is_some_and(|message| message.contains("--handoff"));
            if let Some(message) = message {
                tell(&visible(&message));
            }
            if !named && let Some(waiting) = notice::at_end(paths, name) {
                tell(&waiting);
            }
            Ok(code)
        }
        AttachEnd::Detached => {
            tell_notices(None);
            tell(&format!("detached; the session keeps running (hopty attach {name})"));
            Ok(0)
        }
        AttachEnd::HungUp => Ok(0),
        AttachEnd::Silent => Err(unanswered(paths, name, &std::io::ErrorKind::TimedOut.into())),
        AttachEnd::Refused(failure) => Err(Failed::from(failure).about(name)),
        AttachEnd::Closed => {
            let host_is_dead = || !crate::fs::session::is_alive(&paths.session(name));
            if !crate::fs::session::remove_stale_socket(paths, name) && !host_is_dead() {
                let hint = format!("the session keeps running: hopty attach {name}");
                return Err(Failed::new(1, "the session's host closed the connection")
                    .about(name)
                    .hint(hint));
            }
            crate::host::start::orphan::end(paths, name, host_is_dead);
            Err(Failed::new(125, "the session's host died, and the program with it")
                .about(name)
                .hint(how_to_go_on(paths, name)))
        }
    }
}

/// The client panicked. The host makes the terminal whole first, so that the words are not on a screen that
/// goes away.
fn failed_client(paths: &Paths, name: &SessionName) -> Failed {
    for _ in 0..50 {
        let status = HostControl::connect(paths, name, Some(ANSWER)).and_then(|mut control| control.status());
        if status.map_or(true, |status| status.clients.is_empty()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let words = crate::tty::raw::last_words().unwrap_or_default();
    Failed::new(125, format!("the client failed: {}", words.split_whitespace().collect::<Vec<_>>().join(" ")))
        .about(name)
        .hint(format!("the session keeps running: hopty attach {name}"))
}

/// After a host's death nothing is lost that is in the transcript; Claude writes one from the first prompt
/// on.
fn how_to_go_on(paths: &Paths, name: &SessionName) -> String {
    let last = crate::fs::session::status(&paths.session(name)).ok().flatten().unwrap_or_default();
    match super::restore::way_back(name, &last) {
        Some(way) => {
            format!("nothing is lost: {way}; if the terminal looks odd, run `stty sane; reset`")
        }
        None => "if the terminal looks odd, run `stty sane; reset`".to_owned(),
    }
}
