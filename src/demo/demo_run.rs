//! Runs the demo from its first key to its closing page.

use std::io::{self, Write};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::libc;

use super::demo_dirs::DemoDirs;
use super::demo_event::{DemoClock, Pace};
use super::demo_loop::{DemoEnd, Show, ShowMode};
use super::demo_outcome::DemoOutcome;
use super::demo_screen::DemoScreen;
use super::journal_reader::JournalReader;
use super::page::{KeptFiles, Page, PageStyle};
use super::story::Story;
use super::{demo_dirs, scripted_model};
use crate::core::ids::SessionName;
use crate::core::process_change::Signal;
use crate::fs::session;
use crate::standin::api::Api;
use crate::standin::home;
use crate::standin::script::Script;
use crate::sys::process;
use crate::sys::signals::{self, Signals};
use crate::testing::test_terminal::{PumpEnd, TestTerminal};

/// The size of the inner terminal when nobody watches, columns and rows.
const UNSEEN: (u16, u16) = (100, 30);
/// The agent need not ask before it edits files, which is all that it does.
const ARGS: [&str; 4] = ["--model", home::USUAL_MODEL, "--permission-mode", "acceptEdits"];
/// How long the session may take to end before remaining processes are killed.
const ORDERLY: Duration = Duration::from_secs(5);
/// How long after a `hopty stop` the next one is tried.
const AGAIN: Duration = Duration::from_millis(300);
/// Signals that the demo acts on.
const SIGNALS: [i32; 7] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGWINCH, libc::SIGTSTP, libc::SIGCONT];

/// What happens to the demo's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    Removed,
    /// Keep the files, and print where they are (`--keep`).
    Kept,
}

/// Runs the demo. Returns the exit code: 0 only if the whole loop happened; 1 with what was missing on
/// standard error; 128 + n after Ctrl+C or a signal.
///
/// # Errors
/// When the demo cannot be set up: no temporary directory, no pseudo-terminal, no port on the loopback
/// interface.
pub fn run(files: Files) -> io::Result<u8> {
    // A reader that goes away (`hopty demo | head`) must not leave a session behind.
    signals::ignore(libc::SIGPIPE);
    // Whatever the inherited umask: the demo's files are private, and usable for the demo.
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o077));
    process::become_subreaper();
    let signals = Signals::catch(&SIGNALS)?;
    let clock = DemoClock::start();
    let watched = DemoScreen::is_possible();
    let pace = if watched { Pace::WATCHED } else { Pace::BRISK };
    let api = Api::start(Script::each(move |request, _| scripted_model::reply(request, pace)))?;
    let mut place = DemoDirs::make(&api.url())?;
    let session = SessionName::for_directory(demo_dirs::PROJECT);
    let journal_path = place.paths.session(&session).join(session::JOURNAL);
    let journal = JournalReader::new(&journal_path);
    let view = if watched { ShowMode::Stage(Box::new(DemoScreen::open()?)) } else { ShowMode::Lines };
    let size = match &view {
        ShowMode::Stage(stage) => stage.inner_size(),
        ShowMode::Lines => UNSEEN,
    };
    let inner = TestTerminal::start(&place.hopty_in_terminal(&ARGS, size)).map_err(io::Error::other)?;
    let mut show = Show::new(clock, inner, journal, Story::new(pace), signals, view);
    let end = show.run(&place, &api);
    let took = show.clock.now();
    let outcome = DemoOutcome::gather(show.inner.end(), &show.journal, &api, &place);
    let screen = show.inner.screen().lines();
    let Show { entries, view, inner, .. } = show;
    end_session(inner, &place);
    // Restore the person's terminal before anything else is printed.
    drop(view);
    drop(api);
    let mut missing = outcome.missing();
    if let DemoEnd::Stuck(beat) = end {
        missing.insert(0, format!("it stopped at this point: {}", beat.caption()));
    }
    let kept = place.leave(files).unwrap_or_else(|e| {
        missing.push(format!("not all files could be removed: {e}"));
        Some(place.base.clone())
    });
    let kept = kept.map(|base| KeptFiles::of(&place, &journal_path, base));
    let form = if end == DemoEnd::Over && missing.is_empty() {
        PageStyle::of(&io::stdout())
    } else {
        PageStyle::of(&io::stderr())
    };
    let page = Page { outcome: &outcome, entries: &entries, took, kept, form };
    Ok(close(end, &page, &missing, &screen))
}

/// Ends the session and all its processes: by request if possible, so that the journal tells its end and no
/// socket is left, otherwise by force.
fn end_session(mut inner: TestTerminal, place: &DemoDirs) {
    let until = Instant::now() + ORDERLY;
    let mut stop = None;
    while inner.end().is_none() && Instant::now() < until {
        // A session that is just starting is not found at the first try.
        if stop.as_mut().is_none_or(|stop: &mut Child| !matches!(stop.try_wait(), Ok(None))) {
            let mut command = place.hopty();
            command.arg("stop").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            stop = command.spawn().ok();
        }
        let next = Instant::now() + AGAIN;
        while matches!(inner.pump(Some(next)), PumpEnd::Frame(_)) {}
    }
    if inner.end().is_some() {
        // Also the last `hopty stop`.
        inner.processes().wait_for_none(ORDERLY);
    }
    inner.finish();
}

/// Prints how it ended, unless the reader is gone, and returns the exit code.
fn close(end: DemoEnd, page: &Page<'_>, missing: &[String], screen: &[String]) -> u8 {
    let (code, text) = match end {
        DemoEnd::Unread => return Signal(libc::SIGPIPE).exit_code(),
        DemoEnd::Signal(number) => (Signal(number).exit_code(), page.cut_short()),
        DemoEnd::Over if missing.is_empty() => (0, page.whole()),
        DemoEnd::Over | DemoEnd::Stuck(_) => (1, page.failed(missing, screen)),
    };
    let _ = if code == 0 {
        io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush())
    } else {
        io::stderr().write_all(text.as_bytes())
    };
    code
}
