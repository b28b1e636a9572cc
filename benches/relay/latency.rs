//! How long a key takes: to the child, and until its echo is at the outer terminal; at rest and while the
//! child floods.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

use crate::run::Options;
use crate::session::Session;
use crate::stats::{Slice, cell, median, quantile, table, undisturbed};
use crate::target::{ROW, Target, under};
use crate::tty;

/// Keys of a round at rest.
const KEYS: usize = 200;
/// Keys of a round under flood.
const FLOOD_KEYS: usize = 60;
/// After how long a key counts as lost, in ns.
const LOST: u64 = 250_000_000;
/// Keys that may be lost in a round before it is given up.
const MANY: usize = 3;

/// Quantiles of every round, in µs.
#[derive(Clone, Default)]
struct Rounds {
    p10: Vec<Slice>,
    p50: Vec<Slice>,
    p99: Vec<f64>,
}

impl Rounds {
    fn add(&mut self, waited: u64, times: &[f64]) {
        if !times.is_empty() {
            self.p10.push((waited, quantile(times, 0.1)));
            self.p50.push((waited, quantile(times, 0.5)));
            self.p99.push(quantile(times, 0.99));
        }
    }

    /// p10 and p50 of the rounds that were disturbed least; p99 of the middle one of all.
    fn values(&self) -> [f64; 3] {
        [undisturbed(&self.p10), undisturbed(&self.p50), median(&self.p99)]
    }

    fn cells(&self, base: &Rounds, own: bool) -> Vec<String> {
        let pairs = self.values().into_iter().zip(base.values());
        pairs
            .map(|(value, base)| if own { format!("1 ({})", cell(value, 0)) } else { cell(value / base, 2) })
            .collect()
    }
}

/// What was measured of one contender.
#[derive(Clone, Default)]
struct Found {
    idle: Rounds,
    flood_in: Rounds,
    flood_echo: Rounds,
    lost: usize,
}

/// Measures and prints.
pub fn run(options: &Options) -> io::Result<()> {
    let mut sessions = options.start_all();
    let mut found: BTreeMap<&str, Found> = BTreeMap::new();
    for round in 0..options.rounds {
        options.each(&mut sessions, round, |session| {
            let waited = session.waited();
            let times = idle(session)?;
            found.entry(session.peer.name).or_default().idle.add(session.waited() - waited, &times);
            Ok(())
        });
        options.each(&mut sessions, round, |session| {
            let waited = session.waited();
            let (arrived, echoed, lost) = flood(session)?;
            let of = found.entry(session.peer.name).or_default();
            let waited = session.waited() - waited;
            of.flood_in.add(waited, &arrived);
            of.flood_echo.add(waited, &echoed);
            of.lost += lost;
            Ok(())
        });
        eprintln!("latency: round {} of {}", round + 1, options.rounds);
    }
    drop(sessions);
    print(options, &found);
    Ok(())
}

/// Round trips of single keys, in µs.
fn idle(session: &mut Session) -> io::Result<Vec<f64>> {
    session.order("echo")?;
    session.answer("echoing")?;
    session.settle();
    let mut times = Vec::new();
    let mut lost = 0;
    for n in 0..KEYS {
        // Long enough that everybody sleeps again; never in step with a clock.
        std::thread::sleep(std::time::Duration::from_micros(500 + (n as u64 * 37) % 500));
        let sent = tty::now();
        tty::write_all(session.master.as_fd(), b"k")?;
        match echo(session, sent + LOST)? {
            Some(at) => times.push((at - sent) as f64 / 1e3),
            None => lost += 1,
        }
        if lost > MANY {
            break;
        }
    }
    session.order("enough")?;
    session.settle();
    Ok(times)
}

/// Reads until an echo comes, and gives when.
fn echo(session: &Session, until: u64) -> io::Result<Option<u64>> {
    let mut buf = [0; 1 << 16];
    while tty::now() < until {
        let [(ready, _)] = tty::wait(&[(session.master.as_fd(), true, false)], 50);
        if ready {
            let n = tty::read(session.master.as_fd(), &mut buf)?.unwrap_or(0);
            let now = tty::now();
            if buf[..n].contains(&b'~') {
                return Ok(Some(now));
            }
            if n == 0 {
                return Err(io::Error::other("it ended"));
            }
        }
    }
    Ok(None)
}

/// Keys while the child writes all the time: µs until it read them, µs until their echo came, and how many
/// echoes never did.
fn flood(session: &mut Session) -> io::Result<(Vec<f64>, Vec<f64>, usize)> {
    session.order("flood")?;
    session.answer("flooding")?;
    let mut buf = vec![0; 1 << 16];
    let (mut arrived, mut echoed, mut lost) = (Vec::new(), Vec::new(), 0);
    let mut next = tty::now() + 20_000_000;
    let (mut sent, mut waits_child, mut waits_echo) = (0, false, false);
    while arrived.len() + lost < FLOOD_KEYS && lost <= MANY {
        let now = tty::now();
        if !waits_child && !waits_echo && now >= next {
            (sent, waits_child, waits_echo) = (now, true, true);
            tty::write_all(session.master.as_fd(), b"k")?;
        }
        let control = session.answers.get_ref().as_fd();
        let [(output, _), (answer, _)] =
            tty::wait(&[(session.master.as_fd(), true, false), (control, true, false)], 1);
        if answer {
            let at = session.answer("key")?.first().copied().unwrap_or(0);
            arrived.push(at.saturating_sub(sent) as f64 / 1e3);
            waits_child = false;
        }
        if output {
            let n = tty::read(session.master.as_fd(), &mut buf)?.unwrap_or(0);
            let now = tty::now();
            if n == 0 {
                return Err(io::Error::other("it ended"));
            }
            if waits_echo && buf[..n].contains(&b'~') {
                echoed.push((now - sent) as f64 / 1e3);
                waits_echo = false;
                next = now + 1_000_000 + (arrived.len() as u64 * 370_001) % 2_000_000;
            }
        }
        if (waits_child || waits_echo) && tty::now() > sent + LOST {
            // A contender that drops lines drops echoes; the next key starts anew.
            lost += usize::from(waits_child || waits_echo);
            (waits_child, waits_echo, next) = (false, false, tty::now());
        }
    }
    session.order("enough")?;
    session.settle();
    Ok((arrived, echoed, lost))
}

fn print(options: &Options, found: &BTreeMap<&str, Found>) {
    let none = Found::default();
    let base = found.get("hop1").unwrap_or(&none);
    let row = |name: &'static str| {
        let of = found.get(name).unwrap_or(&none);
        let own = name == "hop1";
        let mut row = vec![name.to_owned()];
        row.extend(of.idle.cells(&base.idle, own));
        row.extend(of.flood_in.cells(&base.flood_in, own).split_off(1));
        row.extend(of.flood_echo.cells(&base.flood_echo, own).split_off(1));
        row.push(of.lost.to_string());
        row
    };
    println!("Key round trip, ×hop1 (its own: µs), medians of {} rounds\n", options.rounds);
    let head = [
        "key", "idle p10", "p50", "p99", "flood, to the child p50", "p99", "flood, echo p50", "p99",
        "echoes lost",
    ];
    let mut rows: Vec<Vec<String>> = options.peers.iter().map(|peer| row(peer.name)).collect();
    let of = found.get("hopty").unwrap_or(&none);
    let limits = |mine: &Rounds, base: &Rounds, p50: f64| {
        let [_, middle, worst] = mine.values();
        let [_, base_middle, base_worst] = base.values();
        [Target::AtMost(p50).judge(middle / base_middle), Target::AtMost(1.5).judge(worst / base_worst)]
    };
    let mut judged = vec![String::new()];
    judged.extend(limits(&of.idle, &base.idle, 1.05));
    judged.extend(limits(&of.flood_in, &base.flood_in, 1.5));
    judged.extend(limits(&of.flood_echo, &base.flood_echo, 1.5));
    judged.push("0".to_owned());
    under(&mut rows, judged);
    table(&head, &rows);
    if let Some(recording) = found.get("hopty-rec").filter(|_| found.contains_key("hopty")) {
        print_recording(recording, of);
    }
}

/// What a recording adds to a key: nothing, within what two equal sessions differ by.
fn print_recording(recording: &Found, without: &Found) {
    let target = Target::AtMost(1.05);
    let parts = [
        (&recording.idle, &without.idle),
        (&recording.flood_in, &without.flood_in),
        (&recording.flood_echo, &without.flood_echo),
    ];
    let mut judged = Vec::new();
    let mut row = vec!["hopty-rec".to_owned()];
    for (part, base) in parts {
        let ([_, p50, p99], [_, base_p50, base_p99]) = (part.values(), base.values());
        row.extend([cell(p50 / base_p50, 2), cell(p99 / base_p99, 2)]);
        judged.extend([target.judge(p50 / base_p50), String::new()]);
    }
    println!("Key round trip of a session that is recorded, ×hopty\n");
    let rows = [row, std::iter::once(ROW.to_owned()).chain(judged).collect()];
    let head = ["key", "idle p50", "p99", "flood, to the child p50", "p99", "flood, echo p50", "p99"];
    table(&head, &rows);
}
