//! How fast output comes through, in bursts and without end, whether every byte is as it was written, and
//! what it costs.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

use crate::instructions;
use crate::peers::Model;
use crate::run::Options;
use crate::session::Session;
use crate::stats::{Slice, cell, table, undisturbed};
use crate::target::{Target, under};
use crate::tty;
use crate::workload::{ALL, BLOCK, Workload, mark};

/// MiB of a burst.
const BURSTS: [u32; 3] = [1, 2, 4];
/// How often each burst comes in a round: they are short, and so easily disturbed.
const REPEATED: usize = 3;
/// MiB of a slice without end: many times what anybody may hold back.
const SUSTAINED: u32 = 32;
/// MiB for which instructions are counted.
const COUNTED: u32 = 8;
/// How long such a slice takes at most, in s: slower contenders get shorter ones.
const LONGEST: f64 = 0.6;
/// How long nothing may come before a slice counts as stuck, in ms.
const STUCK: i32 = 5000;

/// One slice.
pub struct Passed {
    /// From the order to the last byte at the outer terminal, in s.
    pub took: f64,
    /// The same for what came after the first quarter.
    late: f64,
    /// Every byte came as it was written.
    exact: bool,
    /// On a processor until the contender was at rest again, in ns.
    cpu: u64,
    /// Waited for a processor, in ns.
    pub waited: u64,
}

/// What was measured of one contender.
#[derive(Default)]
struct Found {
    /// MB/s by workload and MiB of the burst.
    bursts: BTreeMap<(char, u32), Vec<Slice>>,
    /// MB/s by workload.
    sustained: BTreeMap<char, Vec<Slice>>,
    /// CPU ms per 100 MB by workload.
    cpu: BTreeMap<char, Vec<Slice>>,
    /// Letters of the workloads that were altered.
    altered: String,
    /// MiB of its slices.
    blocks: BTreeMap<char, u32>,
}

/// Which tables are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// All of them.
    Throughput,
    /// Only what it costs.
    Cpu,
}

/// Measures and prints.
pub fn run(options: &Options, tables: Tables) -> io::Result<()> {
    let mut sessions = options.start_all();
    let mut found: BTreeMap<&str, Found> = BTreeMap::new();
    let workloads = ALL.map(|(letter, _)| Workload::new(letter));
    for round in 0..options.rounds {
        for workload in &workloads {
            if tables == Tables::Throughput && workload.letter != 'e' {
                for blocks in BURSTS.repeat(REPEATED) {
                    options.each(&mut sessions, round, |session| {
                        let of = found.entry(session.peer.name).or_default();
                        let passed = slice(session, workload, blocks, |_| ())?;
                        let slices = of.bursts.entry((workload.letter, blocks)).or_default();
                        slices.push((passed.waited, speed(blocks, passed.took)));
                        Ok(())
                    });
                }
            }
            options.each(&mut sessions, round, |session| {
                let of = found.entry(session.peer.name).or_default();
                let blocks = *of.blocks.get(&workload.letter).unwrap_or(&4);
                let passed = slice(session, workload, blocks, |_| ())?;
                let megabytes = f64::from(blocks) * BLOCK as f64 / 1e6;
                if of.blocks.insert(workload.letter, blocks_in(LONGEST, megabytes / passed.took)).is_none() {
                    // The first one only tells how long the others may be.
                    return Ok(());
                }
                let mb =
                    if passed.exact { speed(blocks, passed.late) * 0.75 } else { speed(blocks, passed.took) };
                of.sustained.entry(workload.letter).or_default().push((passed.waited, mb));
                let ms = passed.cpu as f64 / 1e6 * 100.0 / megabytes;
                of.cpu.entry(workload.letter).or_default().push((passed.waited, ms));
                if !passed.exact && !of.altered.contains(workload.letter) {
                    of.altered.push(workload.letter);
                }
                Ok(())
            });
        }
        eprintln!("throughput: round {} of {}", round + 1, options.rounds);
    }
    let counted = count(options, &mut sessions, &workloads);
    drop(sessions);
    if tables == Tables::Throughput {
        print_bursts(options, &found);
        print_sustained(options, &found);
    }
    print_cpu(options, &found);
    print_instructions(options, &counted);
    Ok(())
}

/// Instructions for each byte, by contender and workload; empty where the machine does not count.
fn count(
    options: &Options,
    sessions: &mut [Session],
    workloads: &[Workload],
) -> BTreeMap<(&'static str, char), f64> {
    let mut counted = BTreeMap::new();
    if instructions::count(&[std::process::id() as i32], || ()).1.is_none() {
        return counted;
    }
    for workload in workloads {
        options.each(sessions, 0, |session| {
            let pids = session.pids.clone();
            let (passed, count) = instructions::count(&pids, || slice(session, workload, COUNTED, |_| ()));
            passed?;
            counted.extend(count.map(|count| {
                ((session.peer.name, workload.letter), count / (f64::from(COUNTED) * BLOCK as f64))
            }));
            Ok(())
        });
    }
    counted
}

fn speed(blocks: u32, seconds: f64) -> f64 {
    f64::from(blocks) * BLOCK as f64 / 1e6 / seconds
}

/// MiB that take so many seconds at so many MB/s.
fn blocks_in(seconds: f64, speed: f64) -> u32 {
    ((seconds * speed) as u32).clamp(1, SUSTAINED)
}

/// Lets the child write, reads all of it, compares, and gives it to `draw`.
pub fn slice(
    session: &mut Session,
    workload: &Workload,
    blocks: u32,
    mut draw: impl FnMut(&[u8]),
) -> io::Result<Passed> {
    let number = session.next_mark();
    session.order(&format!("write {} {blocks} {number}", workload.letter))?;
    session.answer("ready")?;
    session.settle();
    let end = mark(number).into_bytes();
    let body = blocks as usize * BLOCK;
    let shown = &end[end.len() - 8..];
    let mut buf = vec![0; 1 << 16];
    let (mut at, mut exact) = (0, true);
    let mut tail = Vec::new();
    let (cpu, waited) = (session.usage().cpu, session.waited());
    let begun = tty::now();
    let mut quarter = begun;
    session.order("go")?;
    let done = loop {
        if let [(false, _)] = tty::wait(&[(session.master.as_fd(), true, false)], STUCK) {
            return Err(io::Error::other(format!("stuck after {at} of {body} bytes")));
        }
        let n = tty::read(session.master.as_fd(), &mut buf)?.unwrap_or(0);
        let now = tty::now();
        if n == 0 {
            return Err(io::Error::other("it ended"));
        }
        let got = &buf[..n];
        draw(got);
        if exact {
            let of_body = n.min(body.saturating_sub(at));
            let of_mark = end.get((at + of_body).saturating_sub(body)..).unwrap_or_default();
            exact = workload.matching(at, &got[..of_body]) == of_body && of_mark.starts_with(&got[of_body..]);
        }
        at += n;
        if at < body / 4 {
            quarter = now;
        }
        if exact && at == body + end.len() {
            break now;
        }
        if !exact {
            tail.extend_from_slice(got);
            if tail.windows(shown.len()).any(|part| part == shown) {
                break now;
            }
            tail.drain(..tail.len().saturating_sub(shown.len()));
        }
    };
    session.answer("written")?;
    let waited = session.waited() - waited;
    session.settle();
    // A thread that has ended since is not counted any more.
    let cpu = session.usage().cpu.saturating_sub(cpu);
    Ok(Passed { took: (done - begun) as f64 / 1e9, late: (done - quarter) as f64 / 1e9, exact, cpu, waited })
}

/// Rows of everybody's values, as ratios to hop1, whose row has the values themselves.
fn rows<K: Ord>(
    options: &Options,
    keys: &[K],
    values: impl Fn(&str, &K) -> f64,
    target: impl Fn(&K) -> Target,
    end: impl Fn(&str) -> Option<String>,
) -> Vec<Vec<String>> {
    let row = |name: &'static str, model: Model| {
        let mut row = vec![if model == Model::Screen { format!("**{name}**") } else { name.to_owned() }];
        row.extend(keys.iter().map(|key| {
            let (value, base) = (values(name, key), values("hop1", key));
            if name == "hop1" { format!("1 ({value:.0})") } else { cell(value / base, 2) }
        }));
        row.extend(end(name));
        row
    };
    let mut rows: Vec<Vec<String>> = options.peers.iter().map(|peer| row(peer.name, peer.model)).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let mut judged: Vec<String> =
        keys.iter().map(|key| target(key).judge(values("hopty", key) / values("hop1", key))).collect();
    judged.resize(columns - 1, "yes".to_owned());
    under(&mut rows, judged);
    rows
}

fn print_bursts(options: &Options, found: &BTreeMap<&str, Found>) {
    let keys: Vec<(char, u32)> =
        "abcd".chars().flat_map(|letter| BURSTS.map(|blocks| (letter, blocks))).collect();
    let value = |name: &str, key: &(char, u32)| {
        found.get(name).and_then(|of| of.bursts.get(key)).map_or(f64::NAN, |of| undisturbed(of))
    };
    let names: Vec<String> = keys.iter().map(|(letter, blocks)| format!("{letter} {blocks}")).collect();
    println!("Burst of 1, 2 and 4 MiB, ×hop1 (its own: MB/s), n = {}\n", options.rounds * REPEATED);
    let mut head = vec!["burst"];
    head.extend(names.iter().map(String::as_str));
    table(&head, &rows(options, &keys, value, |_| Target::AtLeast(0.95), |_| None));
}

fn letters() -> Vec<char> {
    ALL.iter().map(|(letter, _)| *letter).collect()
}

/// What hopty is to reach with its screen model on.
fn sustained_target(letter: &char) -> Target {
    match letter {
        'a' | 'd' => Target::AtLeast(0.65),
        'b' => Target::AtLeast(0.5),
        'c' => Target::AtLeast(0.6),
        _ => Target::Open,
    }
}

fn print_sustained(options: &Options, found: &BTreeMap<&str, Found>) {
    let value = |name: &str, key: &char| {
        found.get(name).and_then(|of| of.sustained.get(key)).map_or(f64::NAN, |of| undisturbed(of))
    };
    let exact = |name: &str| match found.get(name).map(|of| of.altered.as_str()) {
        Some("") => "yes".to_owned(),
        Some(letters) => format!("not {letters}"),
        None => "–".to_owned(),
    };
    println!("Sustained, ×hop1 (its own: MB/s), n = {}\n", options.rounds.saturating_sub(1));
    table(
        &["sustained", "a", "b", "c", "d", "e", "byte-exact"],
        &rows(options, &letters(), value, sustained_target, |name| Some(exact(name))),
    );
}

fn print_cpu(options: &Options, found: &BTreeMap<&str, Found>) {
    let value = |name: &str, key: &char| {
        found.get(name).and_then(|of| of.cpu.get(key)).map_or(f64::NAN, |of| undisturbed(of))
    };
    println!("CPU per 100 MB, ×hop1 (its own: ms), n = {}\n", options.rounds.saturating_sub(1));
    table(&["CPU", "a", "b", "c", "d", "e"], &rows(options, &letters(), value, |_| Target::Open, |_| None));
}

fn print_instructions(options: &Options, counted: &BTreeMap<(&str, char), f64>) {
    if counted.is_empty() {
        eprintln!("this machine does not count instructions");
        return;
    }
    let row = |name: &'static str| {
        let of = |letter: &char| cell(counted.get(&(name, *letter)).copied().unwrap_or(f64::NAN), 1);
        std::iter::once(name.to_owned()).chain(letters().iter().map(of)).collect()
    };
    println!("Instructions of the contender for each byte\n");
    table(
        &["instructions", "a", "b", "c", "d", "e"],
        &options.peers.iter().map(|peer| row(peer.name)).collect::<Vec<_>>(),
    );
}
