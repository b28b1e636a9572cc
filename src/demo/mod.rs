//! `hopty demo`: the whole loop, from a typed goal over a full context and a hand-over to finished work, with
//! no account and no network.
//!
//! Everything that hopty does here it does as always: the demo opens a terminal of its own, runs the real
//! `hopty` in it in the drop-in form, and a scripted person types into it. Only the agent and its API are
//! stand-ins ([`crate::standin`]). What happened is then proved from hopty's journal, the API's log, the
//! transcripts and the file (`proof`), and told on a closing page (`page`). The demo decides nothing for
//! hopty and hides nothing of it.
//!
//! On a terminal the agent's screen is shown live (`stage`); elsewhere the same run is told in lines
//! (`told`).

mod demo_dirs;
mod demo_loop;
mod demo_screen;
mod demo_terminal;
mod demo_text;
mod journal_reader;
mod page;
mod plain_output;
mod proof;
mod scripted_model;
mod story;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use nix::libc;

use self::demo_dirs::DemoDirs;
use self::demo_loop::{DemoEnd, Show, ShowMode};
use self::demo_screen::DemoScreen;
use self::demo_terminal::DemoTerminal;
use self::journal_reader::JournalReader;
use self::page::{KeptFiles, Page, PageStyle};
use self::proof::Facts;
use self::story::Story;
use crate::core::ids::SessionName;
use crate::core::process_change::Signal;
use crate::fs::session;
use crate::standin::api::Api;
use crate::standin::script::Script;
use crate::sys::process;
use crate::sys::signals::{self, Signals};

/// The inner terminal where nobody watches, columns and rows.
const UNSEEN: (u16, u16) = (100, 30);
/// A model with a window of 200,000 tokens; and the agent need not ask when it edits files, which is all that
/// it does here.
const ARGS: [&str; 4] = ["--model", "claude-sonnet-4-5", "--permission-mode", "acceptEdits"];
/// Signals that the demo acts on.
const SIGNALS: [i32; 7] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGWINCH, libc::SIGTSTP, libc::SIGCONT];

/// What becomes of the demo's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    Removed,
    /// They are left, and it is said where (`--keep`).
    Kept,
}

/// How fast person and model are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    /// Between two keys, in ms.
    key_ms: u64,
    /// From a request to its answer, in ms.
    think_ms: u64,
    /// How long something is left to be looked at, in ms.
    look_ms: u64,
}

impl Pace {
    /// So that a person can follow.
    const WATCHED: Pace = Pace { key_ms: 40, think_ms: 1200, look_ms: 1800 };
    /// For a log.
    const BRISK: Pace = Pace { key_ms: 5, think_ms: 250, look_ms: 50 };

    fn look(self) -> Duration {
        Duration::from_millis(self.look_ms)
    }
}

/// Who did or said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// The demo itself.
    Demo,
    /// The scripted person.
    Person,
    Agent,
    /// hopty, reading the context.
    Meter,
    /// hopty, deciding: its own sentence from the journal.
    Hopty,
}

impl Who {
    fn word(self) -> &'static str {
        match self {
            Who::Demo => "demo",
            Who::Person => "person",
            Who::Agent => "agent",
            Who::Meter | Who::Hopty => "hopty",
        }
    }
}

/// One thing that happened.
#[derive(Clone, Debug)]
struct DemoEvent {
    /// Since the demo began.
    at: Duration,
    who: Who,
    text: String,
}

/// The time of the demo; it stands still while the demo is stopped.
#[derive(Clone, Copy, Debug)]
struct DemoClock {
    begun: Instant,
}

impl DemoClock {
    fn start() -> DemoClock {
        DemoClock { begun: Instant::now() }
    }

    fn now(self) -> Duration {
        self.begun.elapsed()
    }

    /// Leaves a pause out.
    fn skip(&mut self, pause: Duration) {
        self.begun += pause;
    }
}

/// Runs the demo; gives the exit code: 0 only when the whole loop happened, 1 with what was missing on
/// standard error, 128 + n after Ctrl+C or a signal.
///
/// # Errors
/// When the demo cannot be set up: no temporary directory, no pseudo-terminal, no port on the loopback
/// interface.
pub fn run(files: Files) -> io::Result<u8> {
    // A reader that goes away (`hopty demo | head`) must not leave a session behind.
    signals::ignore(libc::SIGPIPE);
    // Whatever it was: what is made here is for the demo alone, and for it to use.
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
    let inner = DemoTerminal::start(&place, &ARGS, size)?;
    let mut show = Show::new(clock, inner, journal, Story::new(pace), signals, view);
    let end = show.run(&place, &api);
    let took = show.clock.now();
    let facts = Facts::gather(&mut show.inner, &show.journal, &api, &place);
    let all_gone = show.inner.end(&place);
    let screen = show.inner.screen.lines();
    // The person's terminal is whole before anything more is said.
    let Show { entries, view, .. } = show;
    drop(view);
    drop(api);
    let mut missing = facts.missing();
    if let DemoEnd::Stuck(beat) = end {
        missing.insert(0, format!("it stopped at this point: {}", beat.caption()));
    }
    if !all_gone {
        missing.push("a process is still running".to_owned());
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
    let page = Page { facts: &facts, entries: &entries, all_gone, took, kept, form };
    Ok(close(end, &page, &missing, &screen))
}

/// Says how it ended, unless the reader is gone, and gives the exit code.
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
