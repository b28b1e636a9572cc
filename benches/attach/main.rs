//! How long it takes to come back to a full-screen program that stays silent, and how much of it is there
//! again: hopty and every tool of its kind that is installed, in one run, in turns.
//!
//! ```sh
//! cargo bench --bench attach                                        # 41 rounds
//! cargo bench --bench attach -- --rounds 9 --peers hopty,tmux
//! HOPTY_BENCH_SHPOOL=/opt/bin/shpool cargo bench --bench attach     # a peer that is not on PATH
//! ```
//!
//! The painter fills 80x24 cells, turns ten modes on and is silent ever after. Then a client is started in a
//! new terminal whose every cell shows something else, and everything that the terminal is sent is kept with
//! its time, until nothing comes for a while; then the window is closed. What was sent is judged afterwards
//! by two emulators, alacritty_terminal and avt: what they show must be what they show when the painter
//! writes to them itself. The time is that of the last byte which made the picture better, from before the
//! client was started; where not every character is right in the end, there is none. `cat` of a file with the
//! painting stands for the least that starting a program and drawing can take.

mod judge;
mod painter;
mod peers;
mod session;
#[path = "../support/mod.rs"]
mod support;
mod window;

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use judge::{Judge, MODES, Picture, Verdict};
use peers::Peer;
use session::{Sent, Session, Visit};
use support::stats::{Slice, cell, median, quantile, table, undisturbed};
use support::target::{Target, under};
use support::tty;

/// The size of every terminal.
const COLS: u16 = 80;
const ROWS: u16 = 24;
/// Visits to each session, unless something else is said.
const ROUNDS: usize = 41;
/// Sessions of each peer that are visited for the first time after they have written something.
const FIRST: usize = 3;
/// How long a session is left alone after a visit: screen sleeps for a second when a window was closed.
const REST: Duration = Duration::from_millis(1100);
/// How long the painter may take.
const PAINTED: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, socket] = words.as_slice()
        && first == "--paint"
    {
        return painter::work(Path::new(socket)).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    support::adopt_orphans();
    match options(&words).and_then(|(rounds, peers)| measure(rounds, &peers)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The number of rounds, and who is measured.
fn options(words: &[String]) -> Result<(usize, Vec<Peer>)> {
    let (mut peers, missing) = peers::all();
    let mut rounds = ROUNDS;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--bench" => {}
            "--rounds" => rounds = value()?.parse().context("--rounds needs a number")?,
            "--peers" => {
                let names: Vec<&str> = value()?.split(',').collect();
                peers.retain(|peer| names.contains(&peer.name));
            }
            other => bail!("unknown option {other}"),
        }
    }
    if !missing.is_empty() {
        eprintln!("not installed, so left out: {}", missing.join(", "));
    }
    Ok((rounds, peers))
}

/// What was found of one peer.
#[derive(Default)]
struct Found {
    /// From before the client's start until the picture was as good as it got, in ms; of every visit where it
    /// was complete.
    times: Vec<f64>,
    /// Visits.
    visits: usize,
    /// When the last visitor left.
    left: Option<Instant>,
    /// The worst of all visits.
    verdict: Option<Verdict>,
    /// Of the lines that were written before anybody came, how many the first visitor saw, at worst.
    lines: Option<usize>,
}

fn measure(rounds: usize, peers: &[Peer]) -> Result<()> {
    let interrupted = support::interrupts()?;
    let go_on = |flag: &AtomicBool| !flag.load(Ordering::Relaxed);
    let mut wanted = Judge::new();
    wanted.feed(painter::picture().as_bytes());
    let wanted = wanted.picture();
    let start =
        |peer: &Peer| painted(peer).map_err(|error| eprintln!("{} is left out: {error}", peer.name)).ok();
    let sessions: Vec<Session> = peers.iter().take_while(|_| go_on(&interrupted)).filter_map(start).collect();
    let mut found: Vec<Found> = sessions.iter().map(|_| Found::default()).collect();
    for round in 0..rounds {
        for n in 0..sessions.len() {
            if !go_on(&interrupted) {
                return Ok(());
            }
            let at = (n + round) % sessions.len();
            let found = &mut found[at];
            if let Some(left) = found.left {
                std::thread::sleep(REST.saturating_sub(left.elapsed()));
            }
            let mut visit = sessions[at].visit()?;
            visit.watch()?;
            let (complete, verdict) = judged(&visit.leave(), &wanted);
            found.left = Some(Instant::now());
            found.visits += 1;
            found.times.extend(complete);
            found.verdict = Some(found.verdict.map_or(verdict, |worst| worst.worse(verdict)));
        }
    }
    for _ in 0..FIRST {
        for (session, found) in sessions.iter().zip(&mut found).take_while(|_| go_on(&interrupted)) {
            let seen = seen_first(&session.peer)?;
            found.lines = Some(found.lines.map_or(seen, |worst| worst.min(seen)));
        }
    }
    let names: Vec<&str> = sessions.iter().map(|session| session.peer.name).collect();
    drop(sessions);
    print(rounds, &names, &found);
    Ok(())
}

/// A session that somebody has visited, and in which everything is painted.
fn painted(peer: &Peer) -> io::Result<Session> {
    let mut session = Session::start(peer)?;
    let mut visit = match peer.has_sessions() {
        true => Some(session.visit()?),
        false => None,
    };
    visit.iter_mut().try_for_each(Visit::watch)?;
    match session.paint("picture", PAINTED)? {
        Some(size) if size == format!("{COLS} {ROWS}") => {}
        Some(size) => {
            return Err(io::Error::other(format!("its program's terminal is {size}, not {COLS} {ROWS}")));
        }
        None => return Err(io::Error::other("it does not take what its program writes")),
    }
    visit.iter_mut().try_for_each(Visit::watch)?;
    Ok(session)
}

/// When the picture was as good as it got, where every character is right then, in ms; and how good that is.
fn judged(sent: &Sent, wanted: &Picture) -> (Option<f64>, Verdict) {
    let mut judge = Judge::used();
    let mut last = judge.picture().judge(wanted);
    let mut since = 0;
    for (at, bytes) in sent {
        judge.feed(bytes);
        let now = judge.picture().judge(wanted);
        if now != last {
            (last, since) = (now, *at);
        }
    }
    let all = usize::from(COLS) * usize::from(ROWS);
    ((last.characters == [all, all]).then_some(since as f64 / 1e6), last)
}

/// How many lines the first visitor of a session sees that wrote them before.
fn seen_first(peer: &Peer) -> io::Result<usize> {
    let mut session = Session::start(peer)?;
    // Where nobody takes them, the painter goes on when somebody comes.
    session.paint("lines", PAINTED)?;
    let mut visit = session.visit()?;
    visit.watch()?;
    let mut judge = Judge::used();
    visit.leave().iter().for_each(|(_, bytes)| judge.feed(bytes));
    Ok(judge.count((1..=painter::LINES).map(painter::line)))
}

/// The middle of the faster half: what it takes when the neighbours let it.
fn fast(times: &[f64]) -> f64 {
    undisturbed(&times.iter().map(|ms| ((ms * 1e6) as u64, *ms)).collect::<Vec<Slice>>())
}

fn print(rounds: usize, peers: &[&str], found: &[Found]) {
    let all = usize::from(COLS) * usize::from(ROWS);
    let both = |counts: [usize; 2]| format!("{} / {}", counts[0], counts[1]);
    let mut rows = Vec::new();
    let mut targets = Vec::new();
    for (name, found) in peers.iter().zip(found) {
        let verdict = found.verdict.unwrap_or_default();
        let lost: Vec<&str> =
            MODES.iter().zip(verdict.kept).filter(|(_, kept)| !kept).map(|(name, _)| *name).collect();
        let kept = MODES.len() - lost.len();
        let seldom = if found.times.len() < found.visits {
            format!(" ({} of {})", found.times.len(), found.visits)
        } else {
            String::new()
        };
        let time = |of: &dyn Fn(&[f64]) -> f64| match found.times.as_slice() {
            [] => "never".to_owned(),
            times => cell(of(times), 1) + &seldom,
        };
        if *name == "hopty" {
            let least =
                |counts: [usize; 2]| Target::AtLeast(all as f64).judge(counts[0].min(counts[1]) as f64);
            targets = vec![
                Target::AtMost(3.0).judge(median(&found.times)),
                String::new(),
                Target::AtMost(3.0).judge(fast(&found.times)),
                least(verdict.characters),
                least(verdict.cells),
                Target::AtLeast(10.0).judge(kept as f64),
                String::new(),
                Target::AtLeast(painter::LINES as f64).judge(found.lines.unwrap_or(0) as f64),
            ];
        }
        rows.push(vec![
            (*name).to_owned(),
            time(&median),
            time(&|times| quantile(times, 0.9)),
            time(&fast),
            both(verdict.characters),
            both(verdict.cells),
            kept.to_string(),
            if lost.is_empty() { "none".to_owned() } else { lost.join(", ") },
            found.lines.map_or_else(|| "–".to_owned(), |lines| lines.to_string()),
        ]);
    }
    println!(
        "Attach to a silent full screen of {COLS}x{ROWS}, n = {rounds}; of {all} cells, by \
         alacritty_terminal / by avt\n"
    );
    let head = [
        "attach", "complete, ms p50", "p90", "undisturbed", "characters", "with their look", "modes of 10",
        "lost", "lines before, of 100",
    ];
    under(&mut rows, targets);
    table(&head, &rows);
}
