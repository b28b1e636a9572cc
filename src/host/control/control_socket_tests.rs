use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::super::OpenHookCall;
use super::super::peer::Peer;
use super::super::waits::Awaited;
use super::*;
use crate::core::claude::hooks;
use crate::ipc::answers::RestartAnswer;
use crate::ipc::frame::tag;
use crate::ipc::stream::FrameStream;
use crate::sys::process::ProcessStart;

const NOW: Stamp = Stamp(1000);

/// A connection whose input may have to wait.
#[derive(Default)]
struct Uses {
    relayed: bool,
    waits: bool,
    needed: bool,
}

impl ConnectionUse for Uses {
    fn is_relayed(&self, _: u64) -> bool {
        self.relayed
    }

    fn typing_waits(&self) -> bool {
        self.waits
    }

    fn is_quiet(&self, _: u64) -> bool {
        true
    }

    fn is_needed(&self, _: u64) -> bool {
        self.needed
    }
}

struct Place {
    control: Control,
    _dir: tempfile::TempDir,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::from_env(|name| (name == "HOME").then(|| dir.path().into())).unwrap();
    let socket = dir.path().join("s");
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let name = "alone".parse().unwrap();
    let control = Control::new(name, paths, config::Control::default(), (listener, socket));
    Place { control, _dir: dir }
}

impl Place {
    /// A connection from this peer, and its other end.
    fn connect(&mut self, peer: Peer) -> (u64, UnixStream) {
        let (near, far) = UnixStream::pair().unwrap();
        far.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let connection =
            Connection::new(FrameStream::new(near).unwrap(), peer, ProcessStart { pid: 1, ticks: None }, NOW);
        (self.control.admit(connection), far)
    }

    /// [`Self::connect`] and the handshake.
    fn greeted(&mut self, peer: Peer) -> (u64, UnixStream) {
        let (id, mut far) = self.connect(peer);
        far.write_all(b"{\"hopty\": 1}\n").unwrap();
        assert!(self.events(id).is_empty());
        assert_eq!(answer(&far)["session"], "alone");
        (id, far)
    }

    fn events(&mut self, id: u64) -> Vec<ControlEvent> {
        self.events_for(id, &Uses::default())
    }

    fn events_for(&mut self, id: u64, uses: &Uses) -> Vec<ControlEvent> {
        self.control.ready(id, FdReadiness { read: true, ..FdReadiness::default() });
        std::iter::from_fn(|| self.control.next_event(NOW, uses)).collect()
    }
}

/// The next line from the host.
fn answer(far: &UnixStream) -> Value {
    let mut line = String::new();
    // One byte at a time: later lines stay in the socket.
    BufReader::with_capacity(1, far).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

fn names(events: &[ControlEvent]) -> Vec<&'static str> {
    let name = |event: &ControlEvent| match event {
        ControlEvent::Request { .. } => "request",
        ControlEvent::Hook { .. } => "hook",
        ControlEvent::Failed { .. } => "failed",
        ControlEvent::Frame { .. } => "frame",
        ControlEvent::Closed { .. } => "closed",
    };
    events.iter().map(name).collect()
}

#[test]
fn a_peer_is_greeted_and_its_requests_come_out_in_order() {
    let mut place = place();
    place.control.begin_run(7);
    let (id, mut far) = place.connect(Peer::Person);
    far.write_all(
        b"{\"hopty\": 1}\n{\"id\": 3, \"do\": \"status\"}\n{\"id\": 4, \"do\": \"hook\", \"event\": \
          \"Stop\", \"run\": 7}\nnonsense\n",
    )
    .unwrap();
    let events = place.events(id);
    assert_eq!(names(&events), ["request", "hook"]);
    assert!(matches!(
        events[0],
        ControlEvent::Request { request_id: RequestId { request: 3, .. }, wanted: Request::Status }
    ));
    assert!(
        matches!(&events[1], ControlEvent::Hook { request_id: RequestId { request: 4, .. }, run: Some(7), event, .. } if event == "Stop")
    );
    assert_eq!(answer(&far)["run"], 7);
    assert_eq!(answer(&far)["error"]["code"], "bad_request");
}

#[test]
fn another_protocol_is_refused_and_closed_once_that_is_read() {
    let mut place = place();
    let (id, mut far) = place.connect(Peer::Person);
    far.write_all(b"{\"hopty\": 2}\n{\"id\": 1, \"do\": \"status\"}\n").unwrap();
    assert!(place.events(id).is_empty());
    assert_eq!(answer(&far)["hopty"], 1);
    assert_eq!(answer(&far)["error"]["code"], "version");
    assert_eq!(place.control.due(NOW, &Uses::default()), [id]);
    assert_eq!(far.read(&mut [0]).unwrap(), 0);
}

#[test]
fn claude_may_not_type_into_its_own_session() {
    let mut place = place();
    for peer in [Peer::Inside, Peer::Other(vec![None])] {
        let (id, mut far) = place.greeted(peer);
        far.write_all(b"{\"id\": 5, \"do\": \"send\", \"text\": \"x\"}\n{\"id\": 6, \"do\": \"status\"}\n")
            .unwrap();
        assert_eq!(names(&place.events(id)), ["request"]);
        assert_eq!(answer(&far)["error"]["code"], "refused");
    }
}

#[test]
fn one_connection_gets_a_bounded_turn() {
    let mut place = place();
    let (id, mut far) = place.greeted(Peer::Person);
    far.write_all("{\"id\": 1, \"do\": \"status\"}\n".repeat(20).as_bytes()).unwrap();
    let uses = Uses::default();
    assert_eq!(place.events(id).len(), 8);
    for left in [8, 4] {
        assert_eq!(place.control.deadline(&uses), Some(Stamp(0)));
        place.control.read_on(id, &uses);
        assert_eq!(std::iter::from_fn(|| place.control.next_event(NOW, &uses)).count(), left);
    }
    assert!(place.control.deadline(&uses) > Some(NOW));
    let (id, mut far) = place.greeted(Peer::Inside);
    far.write_all("{\"id\": 1, \"do\": \"status\"}\n".repeat(3).as_bytes()).unwrap();
    assert_eq!(place.events(id).len(), 2, "a crowd of these leaves time for people");
}

#[test]
fn typed_bytes_wait_and_other_frames_do_not() {
    let mut place = place();
    let (id, mut far) = place.greeted(Peer::Person);
    assert_eq!(place.control.make_client(id), Some(ProcessStart { pid: 1, ticks: None }));
    let frames = [Frame::new(tag::INPUT, b"a").encode(), Frame::new(tag::RESIZE, b"").encode()];
    far.write_all(&frames.concat()).unwrap();
    let tags = |events: Vec<ControlEvent>| -> Vec<u8> {
        let tag = |event| if let ControlEvent::Frame { frame, .. } = event { frame.tag } else { 0 };
        events.into_iter().map(tag).collect()
    };
    let busy = Uses { relayed: true, waits: true, ..Uses::default() };
    let events = place.events_for(id, &busy);
    assert_eq!(tags(events), [tag::RESIZE]);
    assert!(place.control.due(NOW, &busy).is_empty(), "it only waits");
    let held = Frame::decode(&{
        let mut bytes = [0; 64];
        let n = far.read(&mut bytes).unwrap();
        bytes[..n].to_vec()
    });
    assert_eq!(held.unwrap().unwrap().0.tag, tag::HOLD);
    let free = Uses { relayed: true, ..Uses::default() };
    place.control.read_on(id, &free);
    let events = std::iter::from_fn(|| place.control.next_event(NOW, &free)).collect();
    assert_eq!(tags(events), [tag::INPUT]);
}

#[test]
fn what_a_broken_connection_asked_is_forgotten() {
    let mut place = place();
    let (id, mut far) = place.greeted(Peer::Inside);
    let call = hooks::read("Stop", &json!({}), None);
    let number = place.control.hold_call(OpenHookCall {
        request_id: RequestId { connection: id, request: 1 },
        call,
        awaits: None,
        saves: None,
    });
    far.write_all(b"{\"id\": 2, \"do\": \"status\"}\n").unwrap();
    drop(far);
    let events = place.events(id);
    assert_eq!(names(&events), ["request", "closed"]);
    assert_eq!(place.control.drop_calls_of(id, false), [number]);
    assert!(place.control.is_empty() && place.control.hooks.is_empty());
}

#[test]
fn an_answer_that_nobody_read_is_told() {
    for reads in [true, false] {
        let mut place = place();
        let (id, far) = place.greeted(Peer::Inside);
        place.control.hooks.must_be_read(id, 5);
        place.control.send(id, "{\"id\": 1, \"ok\": {}}\n", NOW);
        if reads {
            answer(&far);
        }
        drop(far);
        // A process that another test is starting also has the far end until its exec.
        let unread = loop {
            match place.events(id).pop() {
                Some(ControlEvent::Closed { unread, .. }) => break unread,
                _ => std::thread::yield_now(),
            }
        };
        assert_eq!(unread, !reads);
        let lost: &[u64] = if reads { &[] } else { &[5] };
        assert_eq!(place.control.drop_calls_of(id, unread), lost);
    }
}

#[test]
fn silence_closes_a_connection_that_waits_for_nothing() {
    let mut place = place();
    let (silent, _far) = place.connect(Peer::Person);
    let (asks, _other) = place.greeted(Peer::Person);
    let (owed, _third) = place.greeted(Peer::Person);
    let (waits, _fourth) = place.greeted(Peer::Person);
    let number = place.control.register_request(RequestId { connection: owed, request: 9 });
    let wanted = Awaited::Condition(serde_json::from_value(json!({"for": "exit"})).unwrap());
    place.control.waits.add(RequestId { connection: waits, request: 1 }, wanted, NOW).unwrap();
    assert!(place.control.waits.add(RequestId { connection: waits, request: 2 }, wanted, NOW).is_err());
    let uses = Uses::default();
    assert_eq!(place.control.due(NOW.after(5000), &uses), [silent]);
    let needed = Uses { needed: true, ..Uses::default() };
    assert!(place.control.due(NOW.after(60_000), &needed).is_empty());
    assert!(place.control.due(NOW.after(60_000), &uses).is_empty(), "its time began again");
    assert_eq!(place.control.due(NOW.after(120_000), &uses), [asks]);
    assert_eq!(
        (place.control.settle(number), place.control.settle(number)),
        (Some(RequestId { connection: owed, request: 9 }), None)
    );
    assert_eq!(place.control.due(NOW.after(240_000), &uses), [owed]);
    assert_eq!(place.control.ids(), [waits]);
}

/// Its process may have been stopped; its end tells whether the answer was read.
#[test]
fn silence_does_not_close_a_connection_whose_answer_must_be_read() {
    let mut place = place();
    let (answered, far) = place.greeted(Peer::Inside);
    let (other, _other) = place.greeted(Peer::Inside);
    place.control.hooks.must_be_read(answered, 5);
    place.control.send(answered, "{\"id\": 1, \"ok\": {}}\n", NOW);
    assert_eq!(place.control.due(NOW.after(60_000), &Uses::default()), [other]);
    drop(far);
    while place.control.connection(answered).is_some() {
        place.events(answered);
    }
    assert_eq!(place.control.drop_calls_of(answered, true), [5]);
}

#[test]
fn the_end_of_a_restart_answers_each_once() {
    let mut place = place();
    let (first, far) = place.greeted(Peer::Person);
    let (second, _other) = place.greeted(Peer::Person);
    place.control.waits_for_restart(first, 1);
    place.control.waits_for_restart(second, 2);
    place.control.waits_no_more(second);
    place.control.settle_restarts(&Err("it was cancelled".to_owned()), NOW);
    place.control.settle_restarts(&Ok(RestartAnswer::default()), NOW);
    drop(place.control);
    let answers: Vec<String> = BufReader::new(far).lines().map(Result::unwrap).collect();
    assert_eq!(answers.iter().filter(|line| line.contains("\"id\":1")).count(), 1, "{answers:?}");
    assert!(answers.last().unwrap().contains("it was cancelled"), "{answers:?}");
    let mut place = self::place();
    let key = place.control.register_key();
    assert!(
        !place.control.settle_key(key + 1) && place.control.settle_key(key) && !place.control.settle_key(key)
    );
}

#[test]
fn what_an_earlier_run_left_behind_restarts_nothing() {
    let mut place = place();
    place.control.begin_run(1);
    let [(inside, mut from_inside), (person, mut from_person)] =
        [Peer::Inside, Peer::Person].map(|peer| place.greeted(peer));
    let restart = b"{\"id\": 1, \"do\": \"restart\"}\n";
    for (run, requests) in [(1, ["request"].as_slice()), (2, &[])] {
        place.control.begin_run(run);
        from_inside.write_all(restart).unwrap();
        assert_eq!(names(&place.events(inside)), requests, "run {run}");
    }
    assert!(answer(&from_inside)["error"]["message"].as_str().unwrap().contains("another run"));
    from_person.write_all(restart).unwrap();
    assert_eq!(names(&place.events(person)), ["request"]);
}

#[test]
fn who_connects_to_the_socket_is_let_in_up_to_a_limit() {
    let mut place = place();
    let socket = place.control.socket().to_owned();
    let far: Vec<UnixStream> = (0..33).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let mut accepted = 0;
    while place.control.accept(NOW) {
        accepted += 1;
        while place.control.next_event(NOW, &Uses::default()).is_some() {}
    }
    assert_eq!((accepted, place.control.ids().len()), (33, 32));
    let last = far.last().unwrap();
    assert_eq!(answer(last)["session"], "alone");
    assert_eq!(answer(last)["error"]["code"], "busy");
    assert_eq!(place.control.accept_deadline(NOW), None);
    place.control.rebind_soon(NOW);
    let at = place.control.rebind_deadline().unwrap();
    assert!(
        !place.control.take_rebind(NOW) && place.control.take_rebind(at) && !place.control.take_rebind(at)
    );
}
