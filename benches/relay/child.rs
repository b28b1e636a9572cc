//! The measured program: it writes, echoes and reads in its terminal as a socket tells it, so that nothing
//! but the measured bytes passes through what is measured.
//!
//! It says `~` in its terminal first, then connects. Orders and answers are lines; times are ns of
//! [`tty::now`]. It ends when the socket does.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::exit;
use std::time::Duration;

use crate::tty;
use crate::workload::{Workload, mark, pasted};

/// Bytes that are read at once by a slow reader, and how long it rests after each, in µs.
const SLOW: (usize, u64) = (4096, 500);

struct Worker {
    orders: BufReader<UnixStream>,
    answers: UnixStream,
    workloads: BTreeMap<char, Workload>,
}

/// Works until it is told to exit, or the socket ends.
pub fn work(socket: &Path) -> io::Result<i32> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    tty::make_raw(stdin.as_fd());
    tty::write_all(stdout.as_fd(), b"~")?;
    let answers = UnixStream::connect(socket)?;
    let mut worker =
        Worker { orders: BufReader::new(answers.try_clone()?), answers, workloads: BTreeMap::new() };
    let (keys, out) = (stdin.as_fd(), stdout.as_fd());
    loop {
        let Some(line) = worker.order()? else { return Ok(0) };
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |n: usize| words.get(n).and_then(|word| word.parse::<u32>().ok()).unwrap_or(0);
        match words.first().copied().unwrap_or_default() {
            "write" => worker.write(
                out,
                words.get(1).and_then(|word| word.chars().next()).unwrap_or('a'),
                number(2),
                number(3),
            )?,
            "echo" => worker.echo(keys, out)?,
            "flood" => worker.flood(keys, out)?,
            "read" => {
                worker.read(keys, out, words.get(1).copied().unwrap_or_default(), number(2) as usize)?
            }
            "exit" => {
                worker.answer(&format!("exit {}", tty::now()))?;
                exit(i32::try_from(number(1)).unwrap_or(0));
            }
            _ => worker.answer("what?")?,
        }
    }
}

impl Worker {
    fn order(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        Ok((self.orders.read_line(&mut line)? > 0).then_some(line))
    }

    fn answer(&mut self, line: &str) -> io::Result<()> {
        self.answers.write_all(format!("{line}\n").as_bytes())
    }

    /// Makes ready, waits for `go`, writes so many blocks and a mark.
    fn write(&mut self, out: BorrowedFd, letter: char, blocks: u32, number: u32) -> io::Result<()> {
        self.workloads.entry(letter).or_insert_with(|| Workload::new(letter));
        self.answer("ready")?;
        self.order()?;
        let workload = &self.workloads[&letter];
        for _ in 0..blocks {
            let mut from = 0;
            for end in &workload.ends {
                tty::write_all(out, &workload.block[from..*end])?;
                from = *end;
            }
        }
        tty::write_all(out, mark(number).as_bytes())?;
        self.answer("written")
    }

    /// Answers every byte with `~` until the next order.
    fn echo(&mut self, keys: BorrowedFd, out: BorrowedFd) -> io::Result<()> {
        self.answer("echoing")?;
        let mut buf = [0; 64];
        loop {
            let [(key, _), (order, _)] =
                tty::wait(&[(keys, true, false), (self.answers.as_fd(), true, false)], -1);
            if key {
                let Some(n) = tty::read(keys, &mut buf)?.filter(|n| *n > 0) else { return Ok(()) };
                tty::write_all(out, &b"~".repeat(n))?;
            }
            if order {
                return self.order().map(drop);
            }
        }
    }

    /// Writes plain lines without end, and for every key says when it came and puts a `~` into the stream.
    fn flood(&mut self, keys: BorrowedFd, out: BorrowedFd) -> io::Result<()> {
        let lines = Workload::new('a').block;
        self.answer("flooding")?;
        tty::set_blocking(out, false);
        let mut at = 0;
        let mut marks = 0;
        let mut buf = [0; 64];
        loop {
            let [(key, _), (order, _), (_, room)] = tty::wait(
                &[(keys, true, false), (self.answers.as_fd(), true, false), (out, false, true)],
                -1,
            );
            if key {
                let n = tty::read(keys, &mut buf)?.unwrap_or(0);
                if n == 0 {
                    return Ok(());
                }
                self.answer(&format!("key {}", tty::now()))?;
                marks += n;
            }
            if order {
                self.order()?;
                break;
            }
            if room && marks > 0 {
                marks -= tty::write(out, b"~")?.min(marks);
            } else if room {
                at += tty::write(out, &lines[at..(at + 4096).min(lines.len())])?;
                at %= lines.len();
            }
        }
        tty::set_blocking(out, true);
        Ok(())
    }

    /// Reads so many bytes of the paste, or until the next order, and says how many were as they must be.
    fn read(&mut self, keys: BorrowedFd, out: BorrowedFd, how: &str, wanted: usize) -> io::Result<()> {
        self.answer("reading")?;
        let mut buf = vec![0; if how == "slow" { SLOW.0 } else { 1 << 16 }];
        let (mut count, mut right) = (0, 0);
        while count < wanted {
            let [(key, _), (order, _)] =
                tty::wait(&[(keys, true, false), (self.answers.as_fd(), true, false)], -1);
            if order {
                self.order()?;
                break;
            }
            if !key {
                continue;
            }
            let Some(n) = tty::read(keys, &mut buf)?.filter(|n| *n > 0) else { break };
            right += buf[..n].iter().enumerate().filter(|(at, byte)| **byte == pasted(count + at)).count();
            count += n;
            match how {
                "slow" => std::thread::sleep(Duration::from_micros(SLOW.1)),
                "echo" => tty::write_all(out, &buf[..n])?,
                _ => {}
            }
        }
        self.answer(&format!("read {count} {right} {}", tty::now()))
    }
}
