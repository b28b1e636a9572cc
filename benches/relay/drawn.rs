//! How fast output comes through where the terminal draws what it is sent, as every real one does:
//! alacritty_terminal behind the bench's end of the pseudo-terminal. The other tables have a terminal that
//! throws everything away, which no person has.

use std::collections::BTreeMap;
use std::io;

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::Processor;

use crate::run::Options;
use crate::stats::{Slice, cell, table, undisturbed};
use crate::target::{Target, under};
use crate::throughput::slice;
use crate::workload::{ALL, BLOCK, Workload};

/// MiB of a slice.
const BLOCKS: u32 = 16;

struct Cells;

impl Dimensions for Cells {
    fn total_lines(&self) -> usize {
        24
    }
    fn screen_lines(&self) -> usize {
        24
    }
    fn columns(&self) -> usize {
        80
    }
}

/// Measures and prints. With a target for what a recording costs.
pub fn run(options: &Options) -> io::Result<()> {
    let mut sessions = options.start_all();
    let mut found: BTreeMap<(&str, char), Vec<Slice>> = BTreeMap::new();
    let workloads = ALL.map(|(letter, _)| Workload::new(letter));
    for round in 0..options.rounds {
        for workload in &workloads {
            options.each(&mut sessions, round, |session| {
                let mut terminal = Term::new(Config::default(), &Cells, VoidListener);
                let mut parser: Processor = Processor::new();
                let passed = slice(session, workload, BLOCKS, |bytes| parser.advance(&mut terminal, bytes))?;
                let speed = f64::from(BLOCKS) * BLOCK as f64 / 1e6 / passed.took;
                found.entry((session.peer.name, workload.letter)).or_default().push((passed.waited, speed));
                Ok(())
            });
        }
        eprintln!("drawn: round {} of {}", round + 1, options.rounds);
    }
    let value =
        |name: &'static str, letter: char| found.get(&(name, letter)).map_or(f64::NAN, |of| undisturbed(of));
    let row = |name: &'static str| {
        let of = |(letter, _): &(char, _)| {
            let (value, base) = (value(name, *letter), value("hopty", *letter));
            if name == "hopty" { format!("1 ({value:.0})") } else { cell(value / base, 2) }
        };
        std::iter::once(name.to_owned()).chain(ALL.iter().map(of)).collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> = options.peers.iter().map(|peer| row(peer.name)).collect();
    let judge = |(letter, _): &(char, _)| {
        Target::AtLeast(0.95).judge(value("hopty-rec", *letter) / value("hopty", *letter))
    };
    under(&mut rows, ALL.iter().map(judge).collect());
    println!(
        "Into a terminal that draws, ×hopty (its own: MB/s); target: hopty-rec, n = {}\n",
        options.rounds
    );
    table(&["drawn", "a", "b", "c", "d", "e"], &rows);
    Ok(())
}
