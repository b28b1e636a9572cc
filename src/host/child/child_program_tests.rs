//! The program's runs, with scripted processes and a socket in place of the pseudo-terminal.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use super::super::program_run::Inheritance;
use super::super::{ArgumentSources, ChildRun, Processes, ScreenModel, TypingNow};
use super::*;
use crate::core::process_change::ProcessEnd;
use crate::core::supervisor::phase::StartKind;
use crate::core::terminal::Size;
use crate::host::terminals::Capabilities;
use crate::pty::open::Pty;
use crate::pty::spawn::{ChildProgram, ErrorStream, SpawnError};
use crate::sys::clock::Clock;
use crate::sys::process::Process;

/// What the processes do next, and the signals that they received.
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
    let mut child =
        Child::new(InheritedDescriptors { descriptors: Vec::new(), errors: ErrorStream::Terminal });
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
    child.signal(Signal::TERM, false, ProgramKind::Claude);
    assert!(script.0.borrow().1.is_empty());
}

#[test]
fn a_shell_that_ignores_sigterm_gets_sighup() {
    let (mut child, script, _far) = child();
    child.signal(Signal::TERM, true, ProgramKind::Claude);
    child.signal(Signal::TERM, true, ProgramKind::Plain);
    assert_eq!(script.0.borrow().1, [Signal::TERM, Signal::TERM, Signal::HUP]);
    assert!(child.is_stopped());
}

#[test]
fn output_is_shown_before_the_screen_model_has_it() {
    let (mut run, mut far) = run(1, Inheritance::default());
    let clock = Clock::start();
    far.write_all(b"hello").unwrap();
    let output = run.read(&clock).unwrap();
    assert_eq!(output.visible(), Some(&b"hello"[..]));
    assert_eq!(run.model.look_so_far(|screen| screen.lines()[0].clone()).as_deref(), Some(""));
    assert!(run.feed(output));
    assert_eq!(run.model.look(|screen| screen.lines()[0].clone()).as_deref(), Some("hello"));
    run.muted = Some(Vec::new());
    far.write_all(b" there").unwrap();
    let output = run.read(&clock).unwrap();
    assert_eq!(output.visible(), None);
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

/// Words as arguments.
fn words(words: &[&str]) -> Vec<std::ffi::OsString> {
    words.iter().map(Into::into).collect()
}

#[test]
fn a_plain_program_gets_its_own_arguments_and_claude_hoptys_in_front() {
    let (mut child, ..) = child();
    let (own, id) =
        (words(&["--model", "opus", "go"]), "0196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a7b".parse().unwrap());
    let mut of = ArgumentSources {
        name: None,
        agent: ProgramKind::Plain,
        own: &own,
        start: StartKind::First,
        conversation: None,
        model: Some("sonnet"),
        switched: None,
        permission_mode: None,
        renews_system_prompt: false,
    };
    child.launching.given.plugin = Some("/p".into());
    assert_eq!(child.arguments(&of), own);
    of.agent = ProgramKind::Claude;
    // Claude chooses the conversation itself.
    assert_eq!(child.arguments(&of), words(&["--plugin-dir=/p", "--model", "opus", "go"]));
    of.conversation = Some(&id);
    let first = child.arguments(&of);
    assert!(first.contains(&"--session-id".into()) && first.ends_with(&own), "{first:?}");
    // The next run does not start with the first one's prompt.
    of.start = StartKind::Fresh;
    let next = child.arguments(&of);
    assert!(next.contains(&"opus".into()) && !next.contains(&"go".into()), "{next:?}");
    // A conversation that hopty resumes by itself takes no system prompt from the transcript, unless the
    // person's arguments say so.
    (of.start, of.renews_system_prompt) = (StartKind::Resume, true);
    let own = words(&["--system-prompt-snapshot", "on", "go"]);
    of.own = &own;
    let next = child.arguments(&of);
    assert!(
        next.ends_with(&words(&["--system-prompt-snapshot=off", "--system-prompt-snapshot", "on"])),
        "{next:?}"
    );
}

#[test]
fn a_run_knows_its_session_and_takes_variables_from_the_last_client() {
    let (mut child, ..) = child();
    child.client_env.insert("TERM".to_owned(), "foot".to_owned());
    child.full_screen = Some(true);
    let name = "proj".parse().unwrap();
    let value = |child: &Child, number: u32, wanted: &str| {
        let env = child.environment(number, ProgramKind::Claude, &name, std::path::Path::new("/run/s.sock"));
        let all: Vec<_> =
            env.into_iter().filter(|(name, _)| name == wanted).map(|(_, value)| value).collect();
        assert!(all.len() < 2, "{wanted}: {all:?}");
        all.first().and_then(|value| value.to_str().map(str::to_owned))
    };
    assert_eq!(child.term(), "foot");
    assert_eq!(value(&child, 2, "TERM").as_deref(), Some("foot"));
    assert_eq!(value(&child, 2, "HOPTY_SOCKET").as_deref(), Some("/run/s.sock"));
    assert_eq!(value(&child, 2, "HOPTY_RUN").as_deref(), Some("2"));
}

#[test]
fn a_session_without_a_terminal_gets_the_type_of_hoptys_own_screen() {
    for (term, own) in [(None, true), (Some(""), true), (Some("dumb"), true), (Some("foot"), false)] {
        let (mut child, ..) = child();
        child.begin_detached(term);
        assert_eq!(child.client_env.contains_key("TERM"), own, "{term:?}");
        assert!(!own || child.term() == "xterm-256color");
    }
}

#[test]
fn the_end_is_reported_once_the_output_is_read_or_others_keep_the_terminal_open() {
    let (mut child, script, far) = child();
    script.0.borrow_mut().0.push_back(ProcessEnd::Exited(3));
    child.take_changes(Stamp(5), &mut VecDeque::new());
    assert!(child.is_ending() && child.finish(Stamp(6), false).is_none());
    let finished = child.finish(Stamp(5 + 1000), false).unwrap();
    assert_eq!(
        (finished.number, finished.end, child.last_end),
        (1, ProcessEnd::Exited(3), Some(ProcessEnd::Exited(3)))
    );
    assert!(!child.is_ending() && child.finish(Stamp(2000), true).is_none());
    drop(far);
}

#[test]
fn what_claude_shows_is_reported_when_it_changes() {
    let (mut child, _script, mut far) = child();
    let (clock, mut events) = (Clock::start(), VecDeque::new());
    far.write_all(b"\x1b[?2004h").unwrap();
    let run = child.run.as_mut().unwrap();
    let output = run.read(&clock).unwrap();
    run.feed(output);
    child.look(Stamp(100), &TypingNow::default(), false, &mut events);
    assert!(matches!(&events.pop_front(), Some(Event::Screen { facts }) if facts.paste && !facts.unread));
    child.look(Stamp(200), &TypingNow::default(), false, &mut events);
    assert_eq!(events.pop_front(), None);
    child.look(Stamp(201), &TypingNow::default(), true, &mut events);
    assert!(matches!(&events.pop_front(), Some(Event::Screen { facts }) if facts.unread));
}

#[test]
fn what_stays_above_the_next_run_is_taken_when_the_output_is_muted() {
    let (mut child, _script, mut far) = child();
    far.write_all(b"said\r\n").unwrap();
    let run = child.run.as_mut().unwrap();
    let output = run.read(&Clock::start()).unwrap();
    run.feed(output);
    child.mute(None);
    child.leave_line("hopty: on\r\n");
    let run = child.run.as_mut().unwrap();
    let above = String::from_utf8(run.above.clone().unwrap()).unwrap();
    assert!(above.contains("said") && above.ends_with("hopty: on\r\n"), "{above:?}");
    assert!(run.muted.is_some() && run.for_terminals().undo() == run.muted.clone().unwrap());
}
