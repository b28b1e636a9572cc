//! The terminals alone: clients whose frames are recorded here, a screen model, and a stopped clock.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::super::{Capabilities, TerminalRun, flow};
use super::*;
use crate::core::config::SizePolicy;
use crate::core::supervisor::action::DecisionKind;
use crate::core::supervisor::phase::EndCause;
use crate::host::child::ScreenModel;
use crate::host::session_exit::HostExit;
use crate::ipc::farewell::Farewell;
use crate::ipc::frame::tag;
use crate::screen::Screen;
use crate::sys::clock::Clock;

/// Frames that were sent, by connection.
#[derive(Debug, Default)]
struct Frames {
    sent: BTreeMap<u64, Vec<(u8, Vec<u8>)>>,
    waiting: BTreeMap<u64, usize>,
    closed: Vec<u64>,
}

impl ClientLinks for Frames {
    fn frame(&mut self, id: u64, tag: u8, payload: &[u8]) {
        self.sent.entry(id).or_default().push((tag, payload.to_vec()));
    }

    fn waiting(&self, id: u64) -> usize {
        self.waiting.get(&id).copied().unwrap_or_default()
    }

    fn written(&self, _: u64) -> u64 {
        0
    }

    fn has_input(&self, _: u64) -> bool {
        false
    }

    fn take_fd(&mut self, _: u64) -> Option<OwnedFd> {
        None
    }

    fn close(&mut self, id: u64, _: Stamp, _: u64) {
        self.closed.push(id);
    }
}

struct Stage {
    terminals: Terminals,
    model: ScreenModel,
    size: Size,
    muted: Option<Vec<u8>>,
    links: Frames,
    now: &'static AtomicU64,
    exit: Option<HostExit>,
}

impl Stage {
    fn new(config: &config::Terminal) -> Self {
        let size = Size::cells(20, 4);
        Stage {
            terminals: Terminals::new(config),
            model: ScreenModel::new(size),
            size,
            muted: None,
            links: Frames::default(),
            now: Box::leak(Box::new(AtomicU64::new(1000))),
            exit: None,
        }
    }

    fn on<T>(&mut self, act: impl FnOnce(&mut Terminals, &mut Scene<'_>) -> T) -> T {
        let run = TerminalRun {
            number: 1,
            model: &mut self.model,
            size: &mut self.size,
            capabilities: Capabilities::Full,
            muted: &mut self.muted,
            has_ended: false,
        };
        let clock = Clock::manual(self.now);
        let mut scene = Scene { clock, run: Some(run), links: &mut self.links, exit: self.exit };
        act(&mut self.terminals, &mut scene)
    }

    fn pass(&mut self, ms: u64) {
        self.now.fetch_add(ms, Ordering::Relaxed);
        self.on(|terminals, scene| terminals.due(scene));
    }

    fn write(&mut self, text: &str) {
        self.on(|terminals, scene| {
            terminals.pause_slow(scene);
            terminals.show(text.as_bytes(), scene);
        });
        self.model.change(|screen| screen.feed(text.as_bytes()));
    }

    fn attach(&mut self, id: u64, cols: u16, read_only: bool) {
        let attach = serde_json::json!({
            "cols": cols, "rows": 4, "xpixel": 0, "ypixel": 0, "term": "xterm-256color",
            "read_only": read_only
        });
        let attach: Attach = serde_json::from_value(attach).unwrap();
        let now = Stamp(self.now.load(Ordering::Relaxed));
        // No process has this number, so none is inspected.
        self.terminals.attach(id, &attach, ProcessStart { pid: i32::MAX, ticks: None }, now);
        assert!(self.on(|terminals, scene| terminals.take_terminal(id, scene)).is_some());
    }

    /// What was sent to a client since the last call: the bytes for its terminal, and the tags of all other
    /// frames.
    fn take(&mut self, id: u64) -> (String, Vec<u8>) {
        let (output, others): (Vec<_>, Vec<_>) = self
            .links
            .sent
            .remove(&id)
            .unwrap_or_default()
            .into_iter()
            .partition(|(tag, _)| *tag == tag::OUTPUT);
        let bytes = output.into_iter().flat_map(|(_, payload)| payload).collect();
        (String::from_utf8(bytes).unwrap(), others.into_iter().map(|(tag, _)| tag).collect())
    }

    fn events(&mut self) -> Vec<TerminalEvent> {
        std::iter::from_fn(|| self.terminals.next_event()).collect()
    }

    fn deadline(&self) -> Option<Stamp> {
        self.terminals.deadline(Some(ScreenRevision { run: 1, revision: self.model.revision() }), &self.links)
    }
}

fn stage() -> Stage {
    Stage::new(&config::Terminal::default())
}

#[test]
fn who_started_the_session_gets_every_byte_as_it_came() {
    let mut stage = stage();
    stage.terminals.await_client(1);
    stage.write("\x1b[31mred");
    stage.on(|terminals, scene| terminals.answer_queries(scene));
    stage.attach(1, 20, false);
    assert_eq!(stage.take(1), ("\x1b[31mred".to_owned(), vec![tag::RELAY]));
    stage.write(" more");
    assert_eq!(stage.take(1).0, " more");
    assert!(stage.terminals.leads(1));
}

#[test]
fn who_joins_is_shown_the_picture_and_then_the_bytes() {
    let mut stage = stage();
    stage.write("one\r\ntwo");
    stage.attach(1, 20, false);
    let mut terminal = Screen::new(20, 4);
    terminal.feed(stage.take(1).0.as_bytes());
    assert_eq!(terminal.lines(), ["one", "two", "", ""]);
    assert_eq!(stage.events(), [TerminalEvent::WantsRedraw]);
    stage.write("!");
    assert_eq!(stage.take(1).0, "!");
}

#[test]
fn the_client_that_typed_last_leads_and_the_others_are_mirrors() {
    let mut stage = stage();
    stage.attach(1, 20, false);
    stage.attach(2, 10, false);
    stage.take(2);
    stage.events();
    stage.write("0123456789abc");
    assert!(stage.take(1).0.ends_with("0123456789abc"));
    assert_eq!(stage.take(2).0, "", "a picture comes when it is due");
    assert!(stage.deadline().is_some());
    stage.pass(20);
    assert!(stage.take(2).0.contains("456789abc"), "the part round the cursor");
    stage.on(|terminals, scene| terminals.lead(2, scene));
    assert_eq!(stage.size, Size::cells(10, 4));
    assert!(stage.events().contains(&TerminalEvent::Resized(Size::cells(10, 4))));
    stage.write("x");
    assert_eq!((stage.take(2).0.ends_with('x'), stage.terminals.leads(2)), (true, true));
}

#[test]
fn who_only_watches_leads_nobody_and_sets_no_size() {
    let mut stage = stage();
    stage.attach(1, 10, true);
    stage.on(|terminals, scene| terminals.lead(1, scene));
    assert!(!stage.terminals.leads(1) && !stage.terminals.is_in_charge(1));
    assert_eq!(stage.size, Size::cells(20, 4));
    stage.attach(2, 30, false);
    assert!(stage.terminals.is_in_charge(2));
    assert_eq!(stage.size, Size::cells(30, 4));
}

#[test]
fn the_size_follows_the_policy() {
    for (size, want) in [(SizePolicy::Smallest, 10), (SizePolicy::Leader, 30), (SizePolicy::Fixed, 80)] {
        let mut stage = Stage::new(&config::Terminal { size, ..config::Terminal::default() });
        stage.attach(1, 30, false);
        stage.attach(2, 10, false);
        assert_eq!(stage.size.cols, want, "{size:?}");
    }
}

#[test]
fn a_client_that_leaves_gets_its_terminal_back_and_the_next_one_leads() {
    let mut stage = stage();
    stage.attach(1, 20, false);
    stage.attach(2, 20, false);
    stage.write("\x1b[?2004h");
    stage.take(1);
    stage.events();
    stage.on(|terminals, scene| terminals.disconnect(1, Farewell::Detached, scene));
    let bye = stage.links.sent[&1].last().unwrap().clone();
    let (bytes, tags) = stage.take(1);
    assert!(bytes.contains("\x1b[?2004l"), "{bytes:?}");
    assert_eq!(tags, [tag::RELEASED, tag::BYE]);
    let bye: Value = serde_json::from_slice(&bye.1).unwrap();
    assert_eq!((&bye["why"], &bye["exit"]), (&"detached".into(), &Value::Null));
    assert_eq!(stage.links.closed, [1]);
    assert!(stage.terminals.leads(2));
    let detached = TerminalEvent::Detached { client: 1, why: "detached".to_owned(), in_charge: false };
    assert!(stage.events().contains(&detached));
}

#[test]
fn what_the_program_did_not_read_goes_to_the_leader_at_the_end() {
    let mut stage = stage();
    stage.attach(1, 20, false);
    stage.attach(2, 20, false);
    stage.exit = Some(HostExit::new(EndCause::Finished, 3, None));
    stage.terminals.keep_unread(b"ls\r".to_vec());
    stage.on(|terminals, scene| terminals.disconnect_all(Some("over"), scene));
    let bye =
        |id: u64| -> Value { serde_json::from_slice(&stage.links.sent[&id].last().unwrap().1).unwrap() };
    assert_eq!(
        (&bye(1)["unread"], &bye(1)["exit"]["code"], &bye(1)["message"]),
        (&serde_json::json!(b"ls\r"), &3.into(), &"over".into())
    );
    assert_eq!(bye(2)["unread"], serde_json::json!([]));
    assert!(stage.terminals.are_quiet());
}

#[test]
fn a_slow_terminal_is_set_aside_while_others_watch_and_drawn_when_it_has_caught_up() {
    let mut stage = stage();
    stage.attach(1, 20, false);
    stage.attach(2, 20, true);
    stage.take(1);
    stage.links.waiting.insert(1, 1 << 20);
    assert!(stage.on(|terminals, scene| terminals.have_room(scene.links)));
    stage.write("lost on the way");
    assert_eq!(stage.take(1).0, "");
    stage.links.waiting.clear();
    assert_eq!(stage.deadline(), Some(Stamp(0)));
    stage.pass(0);
    assert!(stage.take(1).0.contains("lost on the way"));
}

#[test]
fn the_only_terminal_slows_the_program_until_it_has_taken_nothing_for_long() {
    let mut stage = stage();
    stage.attach(1, 20, false);
    stage.links.waiting.insert(1, 1 << 20);
    assert!(!stage.on(|terminals, scene| terminals.have_room(scene.links)));
    stage.pass(0);
    assert_eq!(stage.deadline(), Some(Stamp(1000 + flow::STALL_MS)));
    stage.pass(flow::STALL_MS);
    assert!(stage.on(|terminals, scene| terminals.have_room(scene.links)));
}

#[test]
fn the_host_answers_for_a_terminal_only_while_none_is_there() {
    let mut stage = stage();
    stage.model.change(|screen| screen.feed(b"\x1b[6n"));
    stage.on(|terminals, scene| terminals.settle_output(scene));
    assert_eq!(stage.events(), [TerminalEvent::Answers(vec![b"\x1b[1;1R".to_vec()])]);
    stage.attach(1, 20, false);
    stage.events();
    stage.model.change(|screen| screen.feed(b"\x1b[6n"));
    stage.on(|terminals, scene| terminals.settle_output(scene));
    assert_eq!(stage.events(), []);
}

#[test]
fn a_released_terminal_comes_back_with_the_bytes_that_it_missed() {
    let mut stage = stage();
    stage.attach(1, 20, false);
    stage.write("\x1b[?2004hprompt");
    stage.on(|terminals, scene| terminals.release(1, scene));
    assert!(stage.take(1).1.contains(&tag::RELEASED));
    stage.write(" later");
    stage.events();
    stage.on(|terminals, scene| terminals.resume(1, scene));
    assert_eq!(stage.events(), [TerminalEvent::Continued]);
    stage.on(|terminals, scene| terminals.take_terminal(1, scene));
    assert_eq!(stage.take(1).0, "\x1b[?2004h later");
}

#[test]
fn a_notice_reaches_everybody_and_who_comes_is_told_what_nobody_was() {
    let mut stage = stage();
    stage.model.change(|screen| screen.feed(b"\x1b]9;done\x07"));
    stage.on(|terminals, scene| terminals.keep_notifications(scene));
    stage.attach(1, 20, false);
    let told = stage.links.sent[&1].iter().find(|(tag, _)| *tag == tag::NOTICE).cloned().unwrap();
    assert!(String::from_utf8(told.1).unwrap().contains("done"));
    stage.attach(2, 20, false);
    stage.take(1);
    stage.take(2);
    stage.on(|terminals, scene| terminals.notice(DecisionKind::LevelCrossed, "nearly full", scene));
    assert_eq!([stage.take(1).1, stage.take(2).1], [[tag::NOTICE], [tag::NOTICE]]);
}

#[test]
fn a_page_stays_until_a_key_and_is_taken_off_whole() {
    let mut stage = stage();
    stage.attach(1, 20, false);
    stage.take(1);
    stage.on(|terminals, scene| terminals.show_page(1, "help", scene));
    assert!(stage.take(1).0.ends_with("help"));
    stage.write("meanwhile");
    assert_eq!(stage.take(1).0, "");
    stage.on(|terminals, scene| terminals.redraw(1, scene));
    let bytes = stage.take(1).0;
    assert!(bytes.starts_with("\x1b[?1049l") && bytes.contains("meanwhile"), "{bytes:?}");
    // It was laid out for the old size.
    stage.on(|terminals, scene| terminals.ask_restart(1, "restart?", scene));
    assert!(stage.take(1).0.ends_with("restart?"));
    let size = stage.terminals.client(1).unwrap().size;
    stage.on(|terminals, scene| terminals.resize(1, size, scene));
    assert_eq!(stage.take(1).0, "", "it is the same window");
    stage.on(|terminals, scene| terminals.resize(1, Size::cells(size.cols + 1, size.rows), scene));
    let bytes = stage.take(1).0;
    assert!(bytes.starts_with("\x1b[?1049l") && bytes.contains("meanwhile"), "{bytes:?}");
    assert_eq!(stage.terminals.client_mut(1).unwrap().take_page_answer(), None);
}

#[test]
fn a_client_is_told_what_to_write_if_the_host_dies() {
    let mut stage = stage();
    stage.attach(1, 20, false);
    stage.pass(0);
    stage.links.sent.clear();
    stage.write("\x1b[?2004h");
    stage.pass(0);
    let undo = stage.links.sent[&1].iter().find(|(tag, _)| *tag == tag::UNDO).cloned().unwrap();
    assert!(String::from_utf8(undo.1).unwrap().contains("\x1b[?2004l"));
}
