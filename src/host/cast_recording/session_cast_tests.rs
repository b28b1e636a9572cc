use super::*;
use crate::core::cast::CastReader;

const LONG: Duration = Duration::from_secs(30);

fn subject(dir: &Path) -> CastSubject {
    CastSubject {
        name: "rocket".parse().unwrap(),
        command: "claude --token ***".to_owned(),
        recordings: dir.join("recordings"),
        outlives: true,
        auto_max_bytes: 1000,
    }
}

fn to(file: &Path) -> Record {
    Record { file: Some(file.to_str().unwrap().to_owned()), input: true, ..Record::default() }
}

fn begin(cast: &mut SessionCast, order: &CastOrder, subject: &CastSubject) {
    let picture =
        CastPicture { size: Size::cells(80, 24), term: "xterm".to_owned(), output: vec![b"screen".to_vec()] };
    let file = cast.opened(order.open(&subject.recordings), false).unwrap();
    cast.begin(file, order, subject, picture).unwrap();
}

fn events(path: &Path) -> Vec<CastEventKind> {
    let mut reader = CastReader::new();
    reader.push(&std::fs::read(path).unwrap());
    reader.finish();
    std::iter::from_fn(|| reader.next()).map(|event| event.unwrap().kind).collect()
}

fn decided(kind: DecisionKind) -> Decision {
    Decision {
        kind,
        run: 2,
        by: None,
        level: None,
        handoff: None,
        conversation: None,
        cause: None,
        held: false,
        sentence: String::new(),
        because: Vec::new(),
    }
}

#[test]
fn one_recording_at_a_time_and_its_end_answers_who_asked_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let subject = subject(dir.path());
    let path = dir.path().join("a.cast");
    let mut cast = SessionCast::new(Clock::start());
    let code = |result: Result<CastOrder, RequestError>| result.unwrap_err().code;
    assert!(cast.mark("early", &subject).is_err() && cast.stop(|| panic!(), &subject).is_err());
    assert_eq!(code(cast.ask(&to(&path), &subject, true)), Code::Ended);
    let order = cast.ask(&to(&path), &subject, false).unwrap();
    assert_eq!(code(cast.ask(&to(&path), &subject, false)), Code::Busy, "its file is being opened");
    begin(&mut cast, &order, &subject);
    assert_eq!(code(cast.ask(&to(&path), &subject, false)), Code::Busy);
    assert_eq!(cast.status().unwrap().file, path.to_str().unwrap());
    cast.input(b"secret", || true);
    cast.mark("here\n", &subject).unwrap();
    cast.stop(|| 7, &subject).unwrap();
    cast.current.as_ref().unwrap().wait(LONG).unwrap();
    let ended = cast.take_end().unwrap();
    assert_eq!((ended.stops.as_slice(), ended.continues, ended.failure()), (&[7][..], false, None));
    assert_eq!(ended.answer().unwrap().file, path.to_str().unwrap());
    assert!(!cast.is_recording() && cast.take_end().is_none());
    let output = CastEventKind::Output(b"screen".to_vec());
    let input = CastEventKind::Input("••••••".as_bytes().to_vec());
    assert_eq!(events(&path), [output, input, CastEventKind::Marker("here".to_owned())]);
}

#[test]
fn markers_tell_a_hand_over_from_another_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let subject = subject(dir.path());
    let path = dir.path().join("a.cast");
    let mut cast = SessionCast::new(Clock::start());
    let conversation =
        |n: u8| -> ConversationId { format!("0196f8a2-7c1e-4d3a-9b60-5f2d8e4c1a{n:02x}").parse().unwrap() };
    // Events before a recording starts count for its markers, too.
    cast.follow(conversation(1));
    let order = cast.ask(&to(&path), &subject, false).unwrap();
    begin(&mut cast, &order, &subject);
    cast.follow(conversation(1));
    cast.follow(conversation(2));
    cast.decided(&decided(DecisionKind::HandoffSaved));
    cast.decided(&decided(DecisionKind::RunSpawned));
    cast.follow(conversation(3));
    cast.decided(&decided(DecisionKind::HandoffSaved));
    cast.decided(&decided(DecisionKind::RestartCancelled));
    cast.follow(conversation(4));
    cast.exit(3);
    cast.finish(LONG);
    let labels: Vec<String> = events(&path)
        .into_iter()
        .filter_map(|kind| if let CastEventKind::Marker(label) = kind { Some(label) } else { None })
        .map(|label| label.split(':').next().unwrap().split(" 0196").next().unwrap().to_owned())
        .collect();
    assert_eq!(
        labels,
        ["conversation", "handoff saved", "run 2", "hand-over 1", "handoff saved", "conversation"]
    );
    assert_eq!(events(&path).last(), Some(&CastEventKind::Exit(3)));
}

#[test]
fn a_full_file_of_its_own_is_followed_by_the_next_and_two_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let subject = subject(dir.path());
    std::fs::create_dir(&subject.recordings).unwrap();
    let mut cast = SessionCast::new(Clock::start());
    let (mut order, _) = cast.next_own(&subject);
    // Names differ only if the milliseconds differ.
    order.path.set_file_name("auto-1.cast");
    cast.own_files = vec![order.path.clone()];
    begin(&mut cast, &order, &subject);
    cast.output(&[b'x'; 2000]);
    cast.current.as_ref().unwrap().wait(LONG).unwrap();
    let ended = cast.take_end().unwrap();
    assert!(ended.continues && ended.failure().unwrap().contains("limit of 500 bytes"));
    assert_eq!(cast.next_own(&subject).1, None);
    assert_eq!(cast.next_own(&subject).1, Some(order.path));
}

#[test]
fn a_request_names_a_file_that_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut subject = subject(dir.path());
    let code = |wanted: &Record, subject: &CastSubject| {
        SessionCast::order(wanted, subject).map_err(|failure| failure.code).err()
    };
    let wanted = to(&dir.path().join("a.cast"));
    assert_eq!(code(&wanted, &subject), None);
    assert_eq!(code(&to(Path::new("a.cast")), &subject), Some(Code::BadRequest));
    assert_eq!(code(&Record { append: true, overwrite: true, ..wanted }, &subject), Some(Code::BadRequest));
    let unnamed = Record { file: None, ..to(Path::new("/a")) };
    assert_eq!(code(&unnamed, &subject), None);
    subject.outlives = false;
    assert_eq!(code(&unnamed, &subject), Some(Code::Refused));
}
