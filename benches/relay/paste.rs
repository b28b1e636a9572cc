//! A megabyte into the keyboard: does it arrive whole, does anything get stuck, how fast is it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

use crate::run::Options;
use crate::session::Session;
use crate::stats::{Slice, cell, table, undisturbed};
use crate::target::{Target, under};
use crate::tty;
use crate::workload::pasted;

/// Bytes of a paste.
const BYTES: usize = 1_000_000;
/// Readers: one that reads all the time, one that rests, one that writes everything back.
const READERS: [&str; 3] = ["fast", "slow", "echo"];
/// How long nothing may move before a paste counts as stuck, in ns.
const STUCK: u64 = 3_000_000_000;
/// How long a paste may take, in ns: there are peers at which it hardly moves.
const LONGEST: u64 = 15_000_000_000;

/// What became of a paste.
enum End {
    /// Everything came, at so many MB/s.
    Whole(f64),
    /// So many bytes came as they were sent.
    Lost(u64),
    /// Nothing moved any more after so many bytes were taken.
    Stuck(u64),
    /// It moved, but for too long; so many bytes were taken.
    Slow(u64),
}

/// What was measured of one contender with one reader.
#[derive(Default)]
struct Found {
    speed: Vec<Slice>,
    worst: Option<String>,
    failed: usize,
}

/// Measures and prints.
pub fn run(options: &Options) -> io::Result<()> {
    let rounds = options.rounds.div_ceil(2);
    let mut sessions = options.start_all();
    let mut found: BTreeMap<(&str, &str), Found> = BTreeMap::new();
    let text: Vec<u8> = (0..BYTES).map(pasted).collect();
    for round in 0..rounds {
        for how in READERS {
            options.each(&mut sessions, round, |session| {
                let of = found.entry((session.peer.name, how)).or_default();
                let waited = session.waited();
                let end = paste(session, how, &text)?;
                match end {
                    End::Whole(speed) => of.speed.push((session.waited() - waited, speed)),
                    End::Lost(count) => of.worst = Some(format!("{count} arrive")),
                    End::Stuck(count) => of.worst = Some(format!("stuck at {count}")),
                    End::Slow(count) => of.worst = Some(format!("{count} in {} s", LONGEST / 1_000_000_000)),
                }
                if matches!(end, End::Whole(_)) {
                    return Ok(());
                }
                of.failed += 1;
                // What is still under way would be taken for the next paste.
                Err(io::Error::other(format!(
                    "the paste to a {how} reader: {}",
                    of.worst.clone().unwrap_or_default()
                )))
            });
        }
        eprintln!("paste: round {} of {rounds}", round + 1);
    }
    drop(sessions);
    let none = Found::default();
    let of = |name, how| found.get(&(name, how)).unwrap_or(&none);
    let row = |name: &'static str| {
        let mut row = vec![name.to_owned()];
        for how in READERS {
            let (value, base) = (undisturbed(&of(name, how).speed), undisturbed(&of("hop1", how).speed));
            let speed = if name == "hop1" { format!("1 ({value:.1})") } else { cell(value / base, 2) };
            row.push(match &of(name, how).worst {
                Some(worst) => format!("{speed}; {} of {rounds}: {worst}", of(name, how).failed),
                None => speed,
            });
        }
        row.push(
            if READERS.iter().all(|how| of(name, how).failed == 0) { "intact" } else { "no" }.to_owned(),
        );
        row
    };
    println!("Paste of 1 MB, ×hop1 (its own: MB/s), n = {rounds}\n");
    let head = ["paste", "fast reader", "slow reader", "reader that echoes", ""];
    let mut rows: Vec<Vec<String>> = options.peers.iter().map(|peer| row(peer.name)).collect();
    let speed = |name, how| undisturbed(&of(name, how).speed);
    let mut judged: Vec<String> =
        READERS.map(|how| Target::AtLeast(0.8).judge(speed("hopty", how) / speed("hop1", how))).into();
    judged.push("intact".to_owned());
    under(&mut rows, judged);
    table(&head, &rows);
    Ok(())
}

/// Pastes once and reads what comes back meanwhile.
fn paste(session: &mut Session, how: &str, text: &[u8]) -> io::Result<End> {
    session.order(&format!("read {how} {}", text.len()))?;
    session.answer("reading")?;
    let mut buf = vec![0; 1 << 16];
    let mut sent = 0;
    let begun = tty::now();
    let mut moved = begun;
    let mut told = false;
    loop {
        let control = session.answers.get_ref().as_fd();
        let fds = [(session.master.as_fd(), true, sent < text.len()), (control, true, false)];
        let [(output, room), (answer, _)] = tty::wait(&fds, 100);
        if answer {
            let counts = session.answer("read")?;
            let [count, right, at] = counts[..] else {
                return Err(io::Error::other("the child says nothing"));
            };
            session.settle();
            return Ok(match (count == right && right == text.len() as u64, told) {
                (true, _) => End::Whole(text.len() as f64 / 1e6 / ((at - begun) as f64 / 1e9)),
                (false, true) if sent < text.len() => End::Stuck(right),
                (false, _) => End::Lost(right),
            });
        }
        if output && tty::read(session.master.as_fd(), &mut buf)?.unwrap_or(0) > 0 {
            moved = tty::now();
        }
        if room {
            let n = tty::write(session.master.as_fd(), &text[sent..])?;
            sent += n;
            moved = if n > 0 { tty::now() } else { moved };
        }
        // A slow reader, or one behind a slow contender, still has much to read when all was sent.
        let patience = if sent < text.len() { STUCK } else { 2 * STUCK };
        if tty::now() > begun + LONGEST {
            return Ok(End::Slow(sent as u64));
        }
        if tty::now() > moved + patience {
            if told {
                return Ok(End::Stuck(sent as u64));
            }
            told = true;
            moved = tty::now();
            session.order("enough")?;
        }
    }
}
