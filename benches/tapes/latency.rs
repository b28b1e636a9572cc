//! How soon a wait returns after the program has written the text. The program writes the time beside it, by
//! a clock that all processes share.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use hopty::testing::look::{Look, TextPattern};
use hopty::testing::test_terminal::{ProgramUnderTest, TestTerminal};

use crate::peers::{Peer, Tool, succeed, write};
use crate::support::place::Place;
use crate::support::stats::{cell, quantile, table};
use crate::support::target::{Target, under};
use crate::support::tty;

const LIMIT: Duration = Duration::from_secs(10);

/// For pexpect: sends a key, waits for the answer, prints how old it is in ns.
const PEXPECT: &str = r#"
import sys, time, pexpect
child = pexpect.spawn(sys.argv[2], ["--talk"], dimensions=(24, 80))
child.delaybeforesend = None
child.expect_exact("up")
for n in range(1, int(sys.argv[1]) + 1):
    child.send("k")
    child.expect(r"T%d:(\d+)\." % n)
    print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - int(child.match.group(1)))
child.terminate(force=True)
"#;

/// For tmux, which must be asked again and again.
const TMUX: &str = r#"
import re, subprocess, sys, time
tmux = [sys.argv[3], "-L", "bench"]
run = lambda *words: subprocess.run([*tmux, *words], check=True, capture_output=True, text=True).stdout
run("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", sys.argv[2] + " --talk")
while "up" not in run("capture-pane", "-p"):
    pass
for n in range(1, int(sys.argv[1]) + 1):
    run("send-keys", "k")
    while not (found := re.search(r"T%d:(\d+)\." % n, run("capture-pane", "-p"))):
        pass
    print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - int(found.group(1)))
run("kill-server")
"#;

/// The program: for each key, after a while, a line with its number and the time.
pub fn talk() -> Result<()> {
    let mut out = std::io::stdout();
    // Blocked in its own read, as programs are, and without an echo.
    let mode = std::process::Command::new("stty").args(["raw", "-echo"]).status()?;
    ensure!(mode.success(), "no terminal");
    write!(out, "up\r\n")?;
    out.flush()?;
    let mut key = [0];
    for n in 1.. {
        if std::io::stdin().read(&mut key)? == 0 {
            break;
        }
        std::thread::sleep(Duration::from_micros(1000 + (n * 379) % 3000));
        write!(out, "T{n}:{}.\r\n", tty::now())?;
        out.flush()?;
    }
    Ok(())
}

/// Ages of texts in µs when a wait for them returns.
fn ages(peer: &Peer, python: Option<&Peer>, times: usize) -> Result<Option<Vec<f64>>> {
    let place = Place::new()?;
    let own = std::env::current_exe()?;
    let script = match (peer.tool, python) {
        (Tool::Hopty, _) => return own_ages(times).map(Some),
        (Tool::Pexpect, _) => PEXPECT,
        (Tool::Tmux, Some(_)) => TMUX,
        _ => return Ok(None),
    };
    let script = write(&place, "latency.py", script)?;
    let words = [
        script.into(),
        times.to_string().into(),
        own.into_os_string(),
        peer.program.clone().into_os_string(),
    ];
    let mut command = python.unwrap_or(peer).command(&place, &words);
    command.stdout(Stdio::piped());
    let text = succeed(peer.name(), vec![command])?;
    text.lines().map(|line| Ok(line.parse::<f64>()? / 1e3)).collect::<Result<Vec<_>>>().map(Some)
}

fn own_ages(times: usize) -> Result<Vec<f64>> {
    let argv = [std::env::current_exe()?.into_os_string(), "--talk".into()];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = ProgramUnderTest { env: vec![("PATH".into(), path)], ..ProgramUnderTest::new(argv) };
    let mut terminal = TestTerminal::start(&program)?;
    let look = |text: String| Look::on_screen(TextPattern::Text(text));
    let mark = terminal.start_mark(1);
    terminal.expect(&look("up".to_owned()), &mark, LIMIT)?;
    let mut ages = Vec::new();
    for n in 1..=times {
        let mark = terminal.take_mark(2);
        terminal.send(b"k")?;
        let begin = format!("T{n}:");
        terminal.expect(&look(begin.clone()), &mark, LIMIT)?;
        let now = tty::now();
        let rows = terminal.screen().lines();
        let row = rows.iter().find(|row| row.starts_with(&begin)).context("the text is gone")?;
        let written: u64 = row[begin.len()..].trim_end_matches('.').parse()?;
        ages.push(now.saturating_sub(written) as f64 / 1e3);
    }
    terminal.finish();
    Ok(ages)
}

/// Everybody's.
pub fn run(peers: &[Peer], times: usize) -> Result<()> {
    let python = peers.iter().find(|peer| peer.tool == Tool::Pexpect);
    let targets = [Target::AtMost(0.5), Target::AtMost(2.0)];
    let mut rows = Vec::new();
    let mut own = [f64::NAN; 2];
    for peer in peers {
        let Some(ages) = ages(peer, python, times)? else { continue };
        let found = [0.5, 0.99].map(|q| quantile(&ages, q) / 1e3);
        if peer.tool == Tool::Hopty {
            own = found;
        }
        let ratio = if peer.tool == Tool::Hopty { "1".to_owned() } else { cell(found[0] / own[0], 1) };
        rows.push(vec![peer.name().to_owned(), cell(found[0], 3), cell(found[1], 3), ratio]);
    }
    println!("From the text on the terminal to the return of a wait for it, n = {times}\n");
    under(&mut rows, vec![targets[0].judge(own[0]), targets[1].judge(own[1]), String::new()]);
    table(&["wait", "p50, ms", "p99, ms", "× hopty"], &rows);
    Ok(())
}
