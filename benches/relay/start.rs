//! How long a start and an end take, and whether the exit code comes through.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;

use crate::run::Options;
use crate::session::Session;
use crate::stats::{Slice, cell, table, undisturbed};
use crate::target::{Target, under};

/// Starts of a round.
const STARTS: usize = 3;
/// What the child exits with.
const CODE: i32 = 7;

/// What was measured of one contender, in ms.
#[derive(Default)]
struct Found {
    first_byte: Vec<Slice>,
    exit: Vec<Slice>,
    wrong_codes: usize,
    code: Option<i32>,
}

/// Measures and prints.
pub fn run(options: &Options) -> io::Result<()> {
    let mut found: BTreeMap<&str, Found> = BTreeMap::new();
    for round in 0..options.rounds * STARTS {
        for n in 0..options.peers.len() {
            if options.interrupted.load(Ordering::Relaxed) {
                return Ok(());
            }
            let peer = &options.peers[(n + round) % options.peers.len()];
            let of = found.entry(peer.name).or_default();
            match Session::start(peer).and_then(|session| Ok((session.first_byte, session.exit(CODE)?))) {
                Ok((first, (exit, code))) => {
                    // Time itself is the best sign of a disturbed start: there is no thread yet whose waiting
                    // could be read.
                    of.first_byte.push((first, first as f64 / 1e6));
                    of.exit.push((exit, exit as f64 / 1e6));
                    of.wrong_codes += usize::from(code != Some(CODE));
                    of.code = code;
                }
                Err(error) => eprintln!("{}: {error}", peer.name),
            }
        }
    }
    let none = Found::default();
    let of = |name: &str| found.get(name).unwrap_or(&none);
    let bare = undisturbed(&of("bare").first_byte);
    let added = |name: &str| undisturbed(&of(name).first_byte) - bare;
    let exit = |name: &str| undisturbed(&of(name).exit);
    let row = |name: &'static str| {
        let code = match (of(name).wrong_codes, of(name).code) {
            (0, _) => "yes".to_owned(),
            (_, Some(code)) => format!("no ({code})"),
            (_, None) => "no".to_owned(),
        };
        let ratio =
            |value: f64, base: f64| if name == "bare" { "–".to_owned() } else { cell(value / base, 2) };
        vec![
            name.to_owned(),
            cell(added(name), 2),
            ratio(added(name), added("hop2")),
            cell(exit(name), 2),
            ratio(exit(name), exit("hop2")),
            code,
        ]
    };
    println!(
        "Start and exit, n = {}; the child's own first byte comes after {bare:.2} ms\n",
        options.rounds * STARTS
    );
    let head = ["start", "first byte, added ms", "×hop2", "exit ms", "×hop2", "exit code"];
    let mut rows: Vec<Vec<String>> = options.peers.iter().map(|peer| row(peer.name)).collect();
    let judged = [
        String::new(),
        Target::AtMost(1.5).judge(added("hopty") / added("hop2")),
        String::new(),
        Target::AtMost(2.0).judge(exit("hopty") / exit("hop2")),
        "yes".to_owned(),
    ];
    under(&mut rows, judged.into());
    table(&head, &rows);
    Ok(())
}
