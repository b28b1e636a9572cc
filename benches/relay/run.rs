//! What is to be measured, and the turn of everybody.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

use crate::peers::{self, Peer};
use crate::session::Session;
use crate::support;

/// The command line.
#[derive(Debug)]
pub struct Options {
    /// What to measure.
    pub what: String,
    /// How often.
    pub rounds: usize,
    /// How long idle is looked at, in s.
    pub seconds: u64,
    /// Who.
    pub peers: Vec<Peer>,
    /// Somebody wants it to end: what was started is ended first.
    pub interrupted: Arc<AtomicBool>,
}

impl Options {
    /// Reads the words; says what is wrong with them.
    pub fn read(words: &[String]) -> Result<Options> {
        let (mut peers, missing) = peers::all();
        let interrupted = support::interrupts()?;
        let mut options =
            Options { what: "all".to_owned(), rounds: 11, seconds: 10, peers: Vec::new(), interrupted };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--bench" => {}
                "--rounds" => options.rounds = value()?.parse().context("--rounds needs a number")?,
                "--seconds" => options.seconds = value()?.parse().context("--seconds needs a number")?,
                "--peers" => {
                    let names: Vec<&str> = value()?.split(',').collect();
                    if let Some(name) = names.iter().find(|name| peers.iter().all(|peer| peer.name != **name))
                    {
                        bail!("there is no {name} here");
                    }
                    // What everything is compared with always runs.
                    peers.retain(|peer| peer.name == "hop1" || names.contains(&peer.name));
                }
                what if !what.starts_with('-') => options.what = what.to_owned(),
                other => bail!("unknown option {other}"),
            }
        }
        if !missing.is_empty() {
            eprintln!("not installed, so left out: {}", missing.join(", "));
        }
        options.peers = peers;
        Ok(options)
    }

    /// Everybody at work; who does not start is named and left out.
    pub fn start_all(&self) -> Vec<Session> {
        let start = |peer: &Peer| {
            Session::start(peer).map_err(|error| eprintln!("{} does not start: {error}", peer.name)).ok()
        };
        self.peers
            .iter()
            .take_while(|_| !self.interrupted.load(Ordering::Relaxed))
            .filter_map(start)
            .collect()
    }

    /// Everybody's turn, each round beginning with another one. Who fails is named, ended and started anew.
    pub fn each(
        &self,
        sessions: &mut [Session],
        round: usize,
        mut turn: impl FnMut(&mut Session) -> io::Result<()>,
    ) {
        let all = sessions.len().max(1);
        for n in 0..sessions.len() {
            if self.interrupted.load(Ordering::Relaxed) {
                return;
            }
            let session = &mut sessions[(n + round) % all];
            if let Err(error) = turn(session) {
                eprintln!("{}: {error}", session.peer.name);
                match Session::start(&session.peer) {
                    Ok(new) => *session = new,
                    Err(error) => eprintln!("{} does not start again: {error}", session.peer.name),
                }
            }
        }
    }
}
