//! What a contender takes while nothing happens: wake-ups, processor time, memory; and memory after much
//! output.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use crate::processes;
use crate::run::Options;
use crate::session::Session;
use crate::stats::table;
use crate::target::{Target, under};
use crate::tty;

/// MiB of output before memory is looked at again.
const OUTPUT: u32 = 100;
/// How long that may take, in ns.
const LONGEST: u64 = 30_000_000_000;
/// How long after it memory is looked at: what is kept for more output for a moment (hopty: 1 s) is not held.
const REST: Duration = Duration::from_secs(2);

/// Measures and prints.
pub fn run(options: &Options) -> io::Result<()> {
    let mut sessions = options.start_all();
    for session in &mut sessions {
        session.look();
        session.settle();
    }
    let memory: Vec<u64> = sessions.iter().map(|session| processes::pss(&session.pids)).collect();
    let before: Vec<_> = sessions.iter().map(Session::usage).collect();
    eprintln!("idle: {} s of nothing", options.seconds);
    std::thread::sleep(Duration::from_secs(options.seconds));
    let mut rows = Vec::new();
    let mut judged = Vec::new();
    for ((session, before), memory) in sessions.iter().zip(&before).zip(&memory) {
        let used = session.usage().since(*before);
        if session.peer.name == "hopty" {
            let none = |value: u64| Target::AtMost(0.0).judge(value as f64);
            let small = Target::AtMost(1.5).judge(*memory as f64 / 1024.0);
            judged = vec![none(used.switches), none(used.cpu), String::new(), small, "bounded".to_owned()];
        }
        rows.push(vec![
            session.peer.name.to_owned(),
            used.switches.to_string(),
            format!("{:.0}", used.cpu as f64 / 1e3),
            format!("{} / {}", session.pids.len(), used.threads),
            mebibytes(*memory),
        ]);
    }
    let mut after = Vec::new();
    options.each(&mut sessions, 0, |session| {
        let whole = output(session);
        session.look();
        let text = mebibytes(processes::pss(&session.pids));
        after.push(if matches!(whole, Ok(true)) { text } else { format!("{text} (not all came)") });
        whole.map(drop)
    });
    for (row, after) in rows.iter_mut().zip(after) {
        row.push(after);
    }
    println!("Idle for {} s, then {OUTPUT} MiB of plain lines\n", options.seconds);
    let head =
        ["idle", "context switches", "CPU µs", "processes / threads", "PSS MiB", "PSS MiB after output"];
    under(&mut rows, judged);
    table(&head, &rows);
    Ok(())
}

fn mebibytes(kib: u64) -> String {
    format!("{:.2}", kib as f64 / 1024.0)
}

/// Lets the child write much and reads it away; false where it takes too long.
fn output(session: &mut Session) -> io::Result<bool> {
    let mut buf = vec![0; 1 << 16];
    let until = tty::now() + LONGEST;
    let number = session.next_mark();
    session.order(&format!("write a {OUTPUT} {number}"))?;
    session.answer("ready")?;
    session.order("go")?;
    loop {
        let control = session.answers.get_ref().as_fd();
        let [(output, _), (written, _)] =
            tty::wait(&[(session.master.as_fd(), true, false), (control, true, false)], 1000);
        if output && tty::read(session.master.as_fd(), &mut buf)?.unwrap_or(0) == 0 {
            return Err(io::Error::other("it ended"));
        }
        if written {
            session.answer("written")?;
            session.settle();
            std::thread::sleep(REST);
            return Ok(true);
        }
        if tty::now() > until {
            return Ok(false);
        }
    }
}
