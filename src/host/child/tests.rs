//! The program's runs, with processes that are made up and a socket in place of the pseudo-terminal.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use super::run::Inheritance;
use super::*;
use crate::core::terminal::Size;
use crate::host::terminals::Capabilities;
use crate::pty::open::Pty;
use crate::pty::spawn::{ChildProgram, ErrorStream, SpawnError};
use crate::sys::clock::Clock;
use crate::sys::process::Process;

/// What the processes do next, and the signals that they got.
#[derive(Clone, Debug, Default)]
struct Script(Rc<RefCell<(VecDeque<ProcessEnd>, Vec<Signal>)>>);

impl Processes for Script {
    fn open(&mut self, _: Size) -> io::Result<Pty> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn start(&mut self, _: &Pty, _: &ChildProgram) -> Result<i32, SpawnError> {
        Ok(7)
    }

    fn change(&mut self, _: i32) -> io::Result<Option<ProcessEnd>> {
        Ok(self.0.borrow_mut().0.pop_front())
    }

    fn signal(&mut self, _: i32, signal: Signal, _: bool) -> io::Result<()> {
        self.0.borrow_mut().1.push(signal);
        Ok(())
    }

    fn is_stopped(&self, _: i32) -> bool {
        true
    }

    fn ignores(&self, _: i32, signal: Signal) -> bool {
        signal == Signal::TERM
    }

    fn collect_orphans(&mut self, _: i32) {}

    fn descendants(&self, _: i32) -> Vec<Process> {
        Vec::new()
    }
}

fn run(number: u32, old: Inheritance) -> (ChildRun, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let (size, pty) = (Size::cells(20, 4), Pty::of_socket(near.into()));
    let model = ScreenModel::of_run(size, 100, false);
    (ChildRun::new((number, 7), pty, model, size, Capabilities::of("xterm"), old, Stamp(0)), far)
}

fn child() -> (Child, Script, UnixStream) {
    let script = Script::default();
    let mut child = Child::new(Lent { descriptors: Vec::new(), errors: ErrorStream::Terminal });
    child.processes = Box::new(script.clone());
    let (run, far) = run(1, Inheritance::default());
    child.run = Some(run);
    (child, script, far)
}

#[test]
fn an_end_is_known_before_it_is_told_and_a_dead_program_gets_no_signal() {
    let (mut child, script, _far) = child();
    let end = ProcessEnd::Exited(3);
    script.0.borrow_mut().0.push_back(end);
    let mut events = VecDeque::new();
    child.take_changes(Stamp(5), &mut events);
    assert!(events.is_empty());
    assert!(child.deadline(Stamp(5)).is_some());
    child.signal(Signal::TERM, false, Agent::Claude);
    assert!(script.0.borrow().1.is_empty());
}

#[test]
fn a_shell_that_ignores_sigterm_gets_sighup() {
    let (mut child, script, _far) = child();
    child.signal(Signal::TERM, true, Agent::Claude);
    child.signal(Signal::TERM, true, Agent::Plain);
    assert_eq!(script.0.borrow().1, [Signal::TERM, Signal::TERM, Signal::HUP]);
    assert!(child.is_stopped());
}

#[test]
fn output_is_shown_before_the_screen_model_has_it() {
    let (mut run, mut far) = run(1, Inheritance::default());
    let clock = Clock::start();
    far.write_all(b"hello").unwrap();
    let output = run.read(&clock).unwrap();
    assert_eq!(output.shown(), Some(&b"hello"[..]));
    assert_eq!(run.model.look_so_far(|screen| screen.lines()[0].clone()).as_deref(), Some(""));
    assert!(run.feed(output));
    assert_eq!(run.model.look(|screen| screen.lines()[0].clone()).as_deref(), Some("hello"));
    run.muted = Some(Vec::new());
    far.write_all(b" there").unwrap();
    let output = run.read(&clock).unwrap();
    assert_eq!(output.shown(), None);
    run.feed(output);
    assert_eq!(run.model.look(|screen| screen.lines()[0].clone()).as_deref(), Some("hello there"));
}

#[test]
fn a_terminal_that_is_closed_while_the_program_lives_is_looked_at_again() {
    let (mut run, far) = run(1, Inheritance::default());
    drop(far);
    let output = run.read(&Clock::start()).unwrap();
    assert!(!run.feed(output));
    assert!(!run.at_end && run.away.is_some());
}

#[test]
fn the_next_run_begins_below_what_the_one_before_left() {
    let (mut old, mut far) = run(1, Inheritance::default());
    old.write(b"typed");
    let mut typed = [0; 5];
    far.read_exact(&mut typed).unwrap();
    assert_eq!(&typed, b"typed");
    old.above = Some(b"1\r\n2\r\n3\r\n4\r\n5\r\n".to_vec());
    let (mut next, _far) = run(2, Inheritance::of(old));
    let shown = next.model.look(|screen| (screen.lines().concat(), screen.history_total() > 0));
    assert_eq!(shown, Some((String::new(), true)));
}
