use std::path::Path;

use super::super::redactions_of;
use super::*;
use crate::core::tape::TapeTime;
use crate::core::tape::{
    ExpectArea, ExpectCommand, KeyChord, KeyName, KeyPress, ProgramEnd, TapePattern, TapeSpan, TapeText,
    WaitScope,
};
use crate::testing::program_wait::OLD_TEXT;

fn options(evidence: &Path) -> PlayOptions {
    PlayOptions {
        speed: TapeSpeed::Fast,
        strict: false,
        require_all: false,
        render: false,
        keep: false,
        pause: PauseRule::Never,
        again: Vec::new(),
        env: Vec::new(),
        evidence: evidence.to_owned(),
        hopty: "/bin/true".into(),
        claude: None,
        snapshots: SnapshotUse::Compare(crate::testing::snapshot::SnapshotMode::CompareOnly),
        stop: None,
    }
}

fn tape(commands: Vec<TapeCommand>) -> Tape {
    let header: String = commands
        .iter()
        .take_while(|command| command.belongs_to_header())
        .map(|command| format!("{command}\n"))
        .collect();
    let settings = parsed(&header).settings;
    let steps = commands.into_iter().enumerate().map(|(line, command)| TapeStep {
        command,
        span: TapeSpan { file: "t.tape".to_owned(), line: line as u32 + 1, column: 1 },
        ignored: false,
    });
    Tape { steps: steps.collect(), settings, ..Tape::default() }
}

/// A setting, from the text after `Set`.
fn set(setting: &str) -> TapeCommand {
    TapeCommand::Set(setting.to_owned())
}

fn play_now(commands: Vec<TapeCommand>) -> PlayEnd {
    crate::sys::process::become_subreaper();
    let dir = tempfile::tempdir().unwrap();
    let file = TapeFile { path: "t.tape".into(), name: "t".to_owned() };
    play(&file, &tape(commands), &options(dir.path()), None).end
}

fn play_whole(source: &str) -> PlayedTape {
    crate::sys::process::become_subreaper();
    let dir = tempfile::tempdir().unwrap();
    let file = TapeFile { path: "t.tape".into(), name: "t".to_owned() };
    play(&file, &tape(commands(source)), &options(dir.path()), None)
}

fn text(text: &str) -> TapeText {
    TapeText::plain(text)
}

fn start(line: &str) -> TapeCommand {
    TapeCommand::StartShell(text(line))
}

fn typed(what: &str) -> TapeCommand {
    TapeCommand::Type { text: text(what), speed: None }
}

fn enter() -> TapeCommand {
    TapeCommand::Key(KeyPress::once(KeyChord::plain(KeyName::Enter)))
}

fn expect(what: &str) -> TapeCommand {
    let pattern = TapePattern::Text(text(what));
    TapeCommand::Expect(ExpectCommand { area: ExpectArea::Screen, limit: None, times: None, pattern })
}

fn exit(code: i32) -> TapeCommand {
    TapeCommand::Exit { limit: None, end: ProgramEnd::Code(code) }
}

fn failure(end: PlayEnd) -> TapeFailure {
    match end {
        PlayEnd::Failed(failure) => *failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_is_started_typed_into_and_ends() {
    let end = play_now(vec![
        start("echo Ready; read line; echo got $line; exit 3"),
        expect("Ready"),
        typed("abc"),
        enter(),
        expect("got abc"),
        exit(3),
    ]);
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn the_echo_of_what_is_typed_is_no_answer() {
    let limit = set("ExpectTimeout 200ms");
    let end = play_now(vec![limit, start("read line; sleep 60"), typed("abc"), enter(), expect("abc")]);
    let failure = failure(end);
    assert_eq!((failure.kind, failure.place.line), (FailureKind::Timeout, 5), "{failure:?}");
    assert!(failure.message.contains("only as the echo of what was typed"), "{}", failure.message);
    assert_eq!(failure.keys, ["a", "b", "c", "Enter"]);
}

#[test]
fn a_deadline_ends_whatever_the_tape_does() {
    let many = KeyPress { count: u32::MAX, ..KeyPress::once(KeyChord::plain(KeyName::Enter)) };
    for command in [TapeCommand::Key(many), TapeCommand::Run(text("sleep 60; true"))] {
        let limit = set("Deadline 300ms");
        let failure = failure(play_now(vec![limit, start("cat"), command]));
        assert_eq!((failure.kind, failure.place.line), (FailureKind::Timeout, 3), "{failure:?}");
        assert!(failure.keys.len() <= 20_000);
    }
}

#[test]
fn a_wait_that_the_deadline_ends_says_so() {
    let limit = set("Deadline 300ms");
    let failure = failure(play_now(vec![limit, start("sleep 60"), expect("never")]));
    assert!(failure.message.contains("the tape's deadline of 300ms ended the wait"), "{failure:?}");
}

#[test]
fn a_wait_for_text_on_another_row_says_where_to_look() {
    let limit = set("WaitTimeout 200ms");
    let pattern = Some(TapePattern::Text(text("item")));
    let wait = TapeCommand::Wait { scope: WaitScope::Line, limit: None, pattern };
    let failure = failure(play_now(vec![limit, start("echo item; echo more; sleep 60"), wait]));
    assert!(failure.hint.is_some_and(|hint| hint.contains("`Wait+Screen`")));
}

#[test]
fn a_program_that_ignores_its_end_has_left_nothing() {
    let end =
        play_now(vec![start("trap '' HUP TERM; echo Ready; while :; do sleep 1; done"), expect("Ready")]);
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_link_leads_no_file_out_of_the_test() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    for (link, path) in [(victim.clone(), "link"), (outside.path().to_owned(), "link/victim")] {
        let make = TapeCommand::Run(text(&format!("ln -s {} link", link.display())));
        let write = TapeCommand::File { path: text(path), content: text("x") };
        let failure = failure(play_now(vec![make, write]));
        assert!(failure.message.contains("a symbolic link leads out"), "{}", failure.message);
        assert!(!victim.exists());
    }
}

#[test]
fn the_pauses_of_a_tape_count_for_its_usual_deadline() {
    let deadline = |commands| tape(commands).deadline().as_millis();
    assert_eq!(deadline(vec![enter()]), 60_050);
    let sleep = |s: u64| TapeCommand::Sleep(TapeTime::from_millis(s * 1000));
    assert_eq!(deadline(vec![sleep(70), typed("ab")]), 130_100);
    assert_eq!(deadline(vec![sleep(4000)]), 660_000);
    let own = set("Deadline 2000ms");
    assert_eq!(deadline(vec![own, sleep(4000)]), 2000);
}

#[test]
fn the_evidence_of_a_flood_is_its_end() {
    let limit = set("ExpectTimeout 50ms");
    let flood = "head -c 9000000 /dev/zero | tr '\\0' x; echo; echo over; read line";
    let dir = tempfile::tempdir().unwrap();
    let file = TapeFile { path: "t.tape".into(), name: "t".to_owned() };
    let commands = vec![start(flood), expect("over"), limit, expect("never")];
    let played = play(&file, &tape(commands), &options(dir.path()), None);
    let failure = failure(played.end);
    let cast = failure.evidence.iter().find(|file| file.kind == "cast").unwrap();
    let bytes = std::fs::read(&cast.path).unwrap();
    assert!((3 << 20..6 << 20).contains(&bytes.len()), "{} bytes", bytes.len());
    let screen = crate::testing::evidence_cast::last_screen(&bytes).unwrap();
    assert!(screen.lines().iter().any(|line| line == "over"), "{:?}", screen.lines());
    assert!(String::from_utf8_lossy(&bytes).contains("what came before is not kept"));
}

#[test]
fn a_text_that_looks_like_a_regular_expression_gets_a_hint() {
    let hint = |pattern| {
        let limit = set("ExpectTimeout 50ms");
        failure(play_now(vec![limit, start("echo four; read line"), expect(pattern)])).hint
    };
    assert!(hint("^four$").is_some_and(|hint| hint.contains("/…/")));
    assert!(hint("/fou[a-z]/").is_some_and(|hint| hint.contains("/…/")));
    for none in ["$", "five", "/tmp/"] {
        assert_eq!(hint(none), None);
    }
}

#[test]
fn a_text_that_stands_there_another_way_gets_a_hint() {
    let hint = |shown: &str, pattern| {
        let limit = set("ExpectTimeout 500ms");
        let program = start(&format!("printf '%s\\n' '{shown}'; read line"));
        failure(play_now(vec![limit, program, expect(pattern)])).hint.unwrap_or_default()
    };
    assert!(hint("Error: x", "error:").contains("`/(?i)error:/`"));
    assert!(hint("e\u{301}te\u{301} x", "\u{e9}t\u{e9}").contains("one character or two"));
    assert!(hint("\u{e9}t\u{e9} x", "e\u{301}te\u{301}").contains("one character or two"));
    assert_eq!(hint("\u{e4}t\u{e4}", "\u{e9}t\u{e9}"), "");
    assert!(hint("error", "error\\nhere").contains("$\"…\""));
    assert!(hint("a       b", "a\tb").starts_with("no tab"));
}

#[test]
fn the_answer_to_the_key_before_is_no_answer_to_the_last_one() {
    let head = "Set ExpectTimeout 500ms\nStart+Shell \"echo begin; read a; echo details; read b; read c\"\n";
    let wrong = format!("{head}Expect 'begin'\nEnter\nEnter\nExpect 'details'\n");
    let failure = failure(play_now(commands(&wrong)));
    assert!(failure.message.contains(OLD_TEXT), "{}", failure.message);
    let end = play_now(commands(&format!("{head}Expect 'begin'\nEnter\nExpect 'details'\nEnter\n")));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_shell_that_runs_a_script_has_no_prompt() {
    let failure = failure(play_now(commands("Start+Shell \"read x; sleep 1; echo $x\"\nReady\n")));
    assert!(failure.message.ends_with("runs a script, so it has no prompt that is known"), "{failure:?}");
    let end = play_now(commands("Start sh -i\nReady\n"));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_file_that_nobody_has_written_since_the_tape_did_is_a_warning() {
    let warnings = |program: &str| {
        let tape = format!(
            "File out.txt 'saved'\nStart+Shell \"read x; {program}; echo over; read y\"\nType 'go'\nEnter\n\
             Expect 'over'\nExpect+File out.txt 'saved'\n"
        );
        let played = play_whole(&tape);
        assert!(matches!(played.end, PlayEnd::Passed), "{:?}", played.end);
        played.warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>()
    };
    assert_eq!(warnings("true"), ["out.txt has not been written since line 4: \"saved\" was in it before"]);
    assert!(warnings("echo saved > out.txt").is_empty());
}

#[test]
fn a_shell_is_started_for_what_is_typed() {
    let end = play_now(vec![
        typed("false"),
        enter(),
        TapeCommand::Ready { limit: None },
        TapeCommand::Status(1),
        typed("echo $((6 * 7)) $PWD $HOME"),
        enter(),
        expect("42 "),
    ]);
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_process_that_is_left_fails_the_tape() {
    let commands = |leftovers| {
        vec![
            set(leftovers),
            start("setsid sh -c 'echo up; exec sleep 300' & read line"),
            expect("up"),
            enter(),
            exit(0),
        ]
    };
    let left = failure(play_now(commands("Leftovers fail")));
    assert_eq!(left.kind, FailureKind::Leftovers);
    assert!(left.message.contains("sleep 300"), "{}", left.message);
    let end = play_now(commands("Leftovers allow"));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_missing_program_is_no_failure_unless_all_are_required() {
    let dir = tempfile::tempdir().unwrap();
    let file = TapeFile { path: "t.tape".into(), name: "t".to_owned() };
    let tape = tape(vec![TapeCommand::Require("no-such-program".to_owned())]);
    let end = play(&file, &tape, &options(dir.path()), None).end;
    assert!(
        matches!(&end, PlayEnd::Skipped(reason) if reason == "no-such-program is not installed"),
        "{end:?}"
    );
    let all = PlayOptions { require_all: true, ..options(dir.path()) };
    assert_eq!(failure(play(&file, &tape, &all, None).end).kind, FailureKind::Command);
}

/// The commands of a tape that needs no other files.
fn commands(source: &str) -> Vec<TapeCommand> {
    let tape = parsed(source);
    assert!(tape.is_valid(), "{}", tape.report());
    tape.steps.into_iter().map(|step| step.command).collect()
}

fn parsed(source: &str) -> Tape {
    struct NoFiles;
    impl crate::core::tape::TapeFiles for NoFiles {
        fn read(&self, path: &str) -> Result<Vec<u8>, String> {
            Err(path.to_owned())
        }
    }
    let options = crate::core::tape::ParseOptions::default();
    crate::core::tape::parse("t.tape", source.as_bytes(), options, &NoFiles)
}

/// Twenty lines on a screen of five rows, the fourth of them red, and then a prompt.
const TWENTY_LINES: &str = r#"
Set Rows 5
Set Columns 40
Set ExpectTimeout 300ms
Start+Shell "for n in $(seq 1 20); do printf '\033[%dmline %d.\033[m\n' $((n == 4 ? 31 : 0)) $n; done; read a; echo got $a; read b; kill -SEGV $$"
Expect "line 20."
"#;

#[test]
fn a_viewport_that_is_scrolled_back_is_what_the_tape_looks_at() {
    let rest = r#"
ScrollUp 13
Expect+Row 1 /^line 4.$/
Expect+Row 5 /^line 8.$/
Expect+Not "line 20."
Wait+Screen /line 8[.]$/
Style "line 4." fg=red row=1
ScrollDown 2
Expect+Row 1 "line 6."
Gone "line 4."
ScrollDown 99
Expect "line 20."
ScrollUp 99
Expect+Row 1 "line 1."
Type "abc"
Enter
Expect+Row 4 "got abc"
Enter
Exit SEGV
"#;
    let end = play_now(commands(&format!("{TWENTY_LINES}{rest}")));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_viewport_stays_with_its_lines_while_others_come() {
    let source = r#"
Set Rows 3
Set ExpectTimeout 300ms
Start+Shell "mkfifo go; printf '1\n2\n3\n4\n5\n'; read a <go; printf '6\n7\n'; read b"
Expect "5"
ScrollUp 2
Expect+Row 1 /^2$/
Run "echo >go"
Expect+History "7"
Expect+Row 1 "x"
"#;
    let failure = failure(play_now(commands(source)));
    assert_eq!((failure.place.line, failure.command.as_str()), (9, "Expect+Row 1 \"x\""), "{failure:?}");
    let rows = failure.screen.map(|screen| screen.text_rows());
    assert_eq!(rows, Some(["2", "3", "4"].map(str::to_owned).to_vec()), "the failure shows the viewport");
}

#[test]
fn what_was_scrolled_back_to_is_old_where_it_was_there_before_the_input() {
    let rest = "Type 'x'\nEnter\nExpect 'got x'\nScrollUp 99\nExpect 'line 2.'\n";
    let failure = failure(play_now(commands(&format!("{TWENTY_LINES}{rest}"))));
    assert!(failure.message.contains("was on the screen before line"), "{}", failure.message);
}

#[test]
fn a_wrong_style_is_told_with_the_right_one() {
    let told = |style: &str| {
        let start = r#"Start sh -c "printf '\033[1;31mred\033[m plain'; read a""#;
        failure(play_now(commands(&format!("Set ExpectTimeout 200ms\n{start}\nStyle {style}")))).message
    };
    let message = told("'red' bold bg=blue");
    assert!(message.ends_with("\"red\" is bold fg=red, not bg=blue"), "{message}");
    let message = told("'plain' reverse");
    assert!(message.ends_with("\"plain\" is plain, not reverse"), "{message}");
    let message = told("/x*/ !bold");
    assert!(message.ends_with("/x*/ is not on the screen"), "an empty match: {message}");
}

/// A program that answers each line, after computing for a while, by moving its highlight down one row.
const SLOW_MENU: &str = r#"Start sh -c 'i=1; while :; do printf "\033[H\033[2J"; for n in 1 2 3; do if [ $n = $i ]; then printf "\033[7mitem$n\033[m\r\n"; else printf "item$n\r\n"; fi; done; printf "\033[$i;1H"; read line || exit; k=0; while [ $k -lt 100000 ]; do k=$((k+1)); done; i=$((i+1)); done'
Expect "item3"
Enter
"#;

#[test]
fn a_state_of_before_the_answer_does_not_count() {
    let wrong = |check: &str| {
        let head = "Set ExpectTimeout 500ms\nSet Settle 50ms\n";
        failure(play_now(commands(&format!("{head}{SLOW_MENU}{check}")))).message
    };
    assert!(wrong("Style 'item1' reverse").ends_with("\"item1\" is plain, not reverse"));
    assert!(wrong("Cursor 1,1").contains("it is at 2,1, not at 1,1"));
    for right in ["Style 'item2' reverse", "Cursor 2,1", "Expect x0 'item4'"] {
        let end = play_now(commands(&format!("{SLOW_MENU}{right}")));
        assert!(matches!(end, PlayEnd::Passed), "{right}: {end:?}");
    }
}

#[test]
fn what_comes_with_the_answer_has_not_gone_before_it() {
    let program = "Start sh -c 'read line; k=0; while [ $k -lt 100000 ]; do k=$((k+1)); done; printf Loading; sleep 0.3; printf \"\\r\\033[KDone\"; read line'";
    let played = play_whole(&format!("{program}\nEnter\nGone 'Loading'\nExpect 'Done'\n"));
    assert!(matches!(played.end, PlayEnd::Passed), "{:?}", played.end);
    assert!(played.warnings.iter().all(|warning| !warning.message.contains("was not there")));
    let played = play_whole(&format!("{program}\nEnter\nGone 'Laoding'\n"));
    let messages: Vec<_> = played.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(
        messages,
        ["\"Laoding\" was not there, so it cannot go; `Expect \"Laoding\"` before it makes sure"]
    );
}

#[test]
fn a_tape_that_ends_with_its_start_fails_if_the_program_ends_badly() {
    let busy = "k=0; while [ $k -lt 20000 ]; do k=$((k+1)); done";
    for end in ["exit 3", "kill -SEGV $$"] {
        let failure = failure(play_now(commands(&format!("Start sh -c '{busy}; {end}'\n"))));
        assert!(failure.message.ends_with("before the end of the tape"), "{end}: {}", failure.message);
        assert!(failure.command.starts_with("Start sh"), "{end}: {:?}", failure.command);
    }
    let end = play_now(commands("Start sh -c 'echo up; read line'\n"));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_crash_that_no_exit_checks_is_a_failure_and_a_bad_exit_code_a_warning() {
    let end = "\nExpect+Not 'nothing'\n";
    let failure = failure(play_now(commands(&format!("Start sh -c 'echo fine; kill -SEGV $$'{end}"))));
    assert!(
        failure.message.ends_with("ended with SIGSEGV before the end of the tape"),
        "{}",
        failure.message
    );
    assert_eq!(failure.hint.as_deref(), Some("`Exit SEGV` expects this signal"));
    let played = play_whole(&format!("Start sh -c 'echo fine; exit 3'{end}"));
    assert!(matches!(played.end, PlayEnd::Passed), "{:?}", played.end);
    assert!(
        played.warnings.iter().any(|warning| warning.message.ends_with("exit 3, which no `Exit` checks"))
    );
    assert!(play_whole("Start sh -c 'exit 3'\nExit 3\n").warnings.is_empty());
}

#[test]
fn a_region_is_still_while_the_rest_of_the_screen_is_not() {
    let spinner = r#"Start sh -c 'printf "\033[Hstill"; i=0; while :; do i=$((i+1)); printf "\033[5;1H%d" $i; sleep 0.01; done'"#;
    let head = format!("Set ExpectTimeout 2s\n{spinner}\nExpect 'still'\n");
    let end = play_now(commands(&format!("{head}Expect+Not+Region 1,1 3x80 'panic'\n")));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
    let failure = failure(play_now(commands(&format!("Set ExpectTimeout 300ms\n{spinner}\nSettle\n"))));
    assert!(
        failure.hint.is_some_and(|hint| hint.contains("`Settle except 3,1 1x80`")),
        "{}",
        failure.message
    );
}

#[test]
fn an_end_by_a_signal_is_named() {
    let told = |source: &str| {
        let failure = failure(play_now(commands(source)));
        (failure.message, failure.hint.unwrap_or_default())
    };
    let (message, hint) = told("Start sh -c 'kill -USR1 $$'\nExit 0");
    assert!(message.ends_with("ended with SIGUSR1, not exit 0"), "{message}");
    assert_eq!(hint, "`Exit USR1` expects this signal");
    let (_, hint) = told("Start sh -c 'exit 143'\nExit TERM");
    assert_eq!(hint, "a shell exits by itself if a signal ends its last command: `Exit 143`");
    let end = play_now(commands("Start sh -c 'kill -BUS $$'\nExit BUS"));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn an_input_after_the_end_of_the_program_is_a_failure() {
    let failure = failure(play_now(vec![start("exit 1"), exit(1), typed("x")]));
    assert_eq!(failure.kind, FailureKind::ProgramEnd);
    assert!(failure.message.contains("ended (exit 1) before this command"), "{}", failure.message);
}

#[test]
fn terminals_of_one_test_are_served_side_by_side() {
    let end = play_now(vec![
        start("read a; echo first $a"),
        TapeCommand::On("second".to_owned()),
        start("read b; echo second $b"),
        typed("two"),
        enter(),
        expect("second two"),
        exit(0),
        TapeCommand::On("main".to_owned()),
        typed("one"),
        enter(),
        expect("first one"),
        exit(0),
    ]);
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_snapshot_with_history_has_the_lines_above_the_screen() {
    crate::sys::process::become_subreaper();
    let dir = tempfile::tempdir().unwrap();
    let file = TapeFile { path: "t.tape".into(), name: "t".to_owned() };
    let snapshot = |name: &str, history| TapeCommand::Snapshot {
        name: name.to_owned(),
        region: None,
        style: false,
        cursor: true,
        history,
    };
    let tape = tape(vec![
        set("Rows 10"),
        start("seq 1 30; read line"),
        expect("30"),
        snapshot("screen", false),
        snapshot("all", true),
    ]);
    let options = PlayOptions { snapshots: SnapshotUse::Collect, ..options(dir.path()) };
    let played = play(&file, &tape, &options, None);
    assert!(matches!(played.end, PlayEnd::Passed), "{:?}", played.end);
    let files: Vec<String> = played.collected.iter().map(|(_, screen)| screen.to_string()).collect();
    let numbers = |from: u32| (from..=30).map(|number| format!("{number}\n")).collect::<String>();
    assert_eq!(files[0], format!("# hopty 1 80x10 cursor=10,1\n{}", numbers(22)));
    assert_eq!(files[1], format!("# hopty 1 80x31 cursor=31,1\n{}", numbers(1)));
}

#[test]
fn the_evidence_of_a_failure_lacks_what_the_tape_redacts() {
    crate::sys::process::become_subreaper();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.tape");
    let play_with = |rule: &str| {
        let lines = "File a \"id=4711 open\"\nStart+Shell \"cat a; sleep 60\"\nExpect \"id=4711 open\"\n\
                     Mark \"id=4711\"\nScreenshot shot.txt\nExpect@100ms \"id=4711 closed\"\n";
        std::fs::write(&path, format!("{rule}{lines}")).unwrap();
        let file = TapeFile { path: path.clone(), name: "t".to_owned() };
        let tape = crate::testing::runner::load(&file, false).tape.unwrap();
        let failure = failure(play(&file, &tape, &options(dir.path()), None).end);
        let read = |file: &crate::testing::outcome::EvidenceFile| {
            (file.path.clone(), std::fs::read_to_string(&file.path).unwrap())
        };
        let mut files = failure.evidence.iter().map(read).collect::<Vec<_>>();
        // Files that the tape has made are still there.
        let shot = dir.path().join("t/shot.txt");
        files.push((shot.clone(), std::fs::read_to_string(shot).unwrap()));
        files
    };
    let files = play_with("");
    assert_eq!(files.len(), 6, "{files:?}");
    assert!(files.iter().filter(|(_, text)| text.contains("4711")).count() >= 4, "{files:?}");
    for (path, text) in play_with("Set Redact /id=\\d+/ \"id=[ID]\"\n") {
        assert!(!text.contains("4711"), "{}: {text}", path.display());
        assert!(text.contains("open"), "{}: {text}", path.display());
    }
}

#[test]
fn the_value_of_a_variable_that_was_passed_is_told_nowhere() {
    crate::sys::process::become_subreaper();
    let (name, dir) = ("CARGO_MANIFEST_DIR", tempfile::tempdir().unwrap());
    let value = std::env::var(name).unwrap();
    let source = "Start+Shell \"stty -echo; printf Pass; read p; stty echo; printf Go; read q; echo; echo a${p}b; read r\"\n\
         Expect \"Pass\"\nPaste $\"${CARGO_MANIFEST_DIR}\"\nEnter\nExpect \"Go\"\nType $\"x ${CARGO_MANIFEST_DIR}\"\nEnter\n\
         Raw $\"${CARGO_MANIFEST_DIR}\"\nCopy $\"${CARGO_MANIFEST_DIR}\"\nPaste\nExpect@100ms \"nope\"\n";
    let file = TapeFile { path: "t.tape".into(), name: "t".to_owned() };
    let tape = tape(commands(source));
    let again = vec!["--fast".to_owned(), "--env".to_owned(), name.to_owned()];
    let options = PlayOptions { env: vec![name.to_owned()], again, ..options(dir.path()) };
    let told = failure(play(&file, &tape, &options, None).end);
    assert_eq!(told.again.as_deref(), Some("hopty test --fast --env CARGO_MANIFEST_DIR t.tape"));
    let variable = "${CARGO_MANIFEST_DIR}";
    let pasted = format!("Raw \"{variable}\"");
    assert_eq!(told.keys[1..], ["Enter", "x", "Space", variable, "Enter", pasted.as_str(), variable]);
    for file in &told.evidence {
        let text = String::from_utf8_lossy(&std::fs::read(&file.path).unwrap()).into_owned();
        assert!(!text.contains(&value), "{}: {text}", file.path.display());
    }
    let shown = redactions_of(&tape, &options.env).failure(told);
    assert!(!format!("{shown:?}").contains(&value), "{shown:?}");
    assert!(shown.screen.unwrap().text_rows().iter().any(|row| row.contains("a${CARGO_MANIFEST_DIR}b")));
}

#[test]
fn keys_that_the_program_hides_are_not_reported() {
    let source = "Start+Shell \"stty -echo; printf Pass; read p; stty echo; echo; echo in; read q\"\n\
                  Expect \"Pass\"\nType \"hunter2\"\nEnter\nExpect \"in\"\nExpect@50ms \"nope\"\n";
    assert_eq!(failure(play_now(commands(source))).keys, ["(hidden)", "Enter"]);
}

#[test]
fn a_status_is_that_of_the_last_input_in_this_terminal() {
    for source in [
        "Type 'false'\nEnter\nReady\nStatus 1\nType 'true'\nEnter\nStatus 1\n",
        "Type 'true'\nEnter\nReady\nOn second\nType 'false'\nEnter\nReady\nStatus 1\nOn main\nStatus 1\n",
    ] {
        let failure = failure(play_now(commands(source)));
        assert_eq!((failure.command.as_str(), failure.kind), ("Status 1", FailureKind::Check), "{failure:?}");
        assert_eq!(failure.place.line as usize, source.lines().count());
    }
}

#[test]
fn only_a_shell_has_a_prompt_to_be_ready_at() {
    let failure = failure(play_now(commands("Start sleep 60\nReady\n")));
    assert_eq!(failure.message, "sleep 60 is no shell, so it has no prompt that is known");
    assert!(failure.hint.is_some_and(|hint| hint.starts_with("`Expect`")));
    for program in
        ["Start sh", "Start+Shell 'exec sh'", "Start+Shell 'printf \"\\033]133;A\\007\"; exec sleep 60'"]
    {
        let end = play_now(commands(&format!("{program}\nReady\n")));
        assert!(matches!(end, PlayEnd::Passed), "{program}: {end:?}");
    }
}

#[test]
fn what_is_outside_of_the_screen_is_no_place() {
    for check in [
        "Expect+Not+Region 30,1 5x5 'panic'",
        "Expect+Not+Region 20,70 50x50 'panic'",
        "Style 30,90 1x1 !bold",
        "Snapshot q 30,1 5x5",
        "Click 30,90",
        "Hover 1,81",
    ] {
        let failure = failure(play_now(commands(&format!("Start cat\n{check}\n"))));
        let is_told = failure.message.contains("the screen has 24 rows and 80 columns, so");
        assert!(is_told, "{check}: {}", failure.message);
    }
    let end = play_now(commands("Start cat\nExpect+Not+Region 24,1 1x80 'panic'\n"));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_file_without_a_text_is_one_that_the_program_has_written() {
    let program =
        "Start sh -c 'read a; k=0; while [ $k -lt 100000 ]; do k=$((k+1)); done; echo secret >out; read b'\n";
    let told = |check: &str| {
        let head = "Set ExpectTimeout 1s\nFile out 'open'\n";
        failure(play_now(commands(&format!("{head}{program}Enter\n{check}\n")))).message
    };
    assert!(told("Expect+Not+File out 'secret'").contains("out contains"));
    assert!(told("Expect+Not+File oot 'secret'").contains("oot does not exist"));
    let end = play_now(commands(&format!("File out 'open'\n{program}Expect+Not+File out 'secret'\n")));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_count_is_taken_when_no_more_comes() {
    let more = "Start sh -c 'echo ERROR; echo ERROR; sleep 0.1; echo ERROR; read a'\n";
    let rings = r#"Start sh -c 'printf "\a"; sleep 0.1; printf "\a"; read a'
"#;
    for (program, check) in
        [(more, "Expect x2 'ERROR'"), (more, "Expect x0 'ERROR'"), (rings, "Bell 1"), (rings, "Bell 0")]
    {
        let failure = failure(play_now(commands(&format!("Set ExpectTimeout 1s\n{program}{check}\n"))));
        assert_eq!(failure.place.line, 3, "{check}: {failure:?}");
    }
    for (program, check) in [(more, "Expect x3 'ERROR'"), (rings, "Bell 2")] {
        let end = play_now(commands(&format!("{program}{check}\n")));
        assert!(matches!(end, PlayEnd::Passed), "{check}: {end:?}");
    }
}

#[test]
fn a_text_that_is_drawn_again_has_not_gone() {
    let program = r#"Start sh -c 'printf "STAYS"; read a; printf "\033[2J"; sleep 0.01; printf "\033[HSTAYS"; read b; printf "\033[2J"; read c'
"#;
    let head = format!("Set ExpectTimeout 1s\nSet Settle 200ms\n{program}Expect 'STAYS'\nEnter\n");
    let failure = failure(play_now(commands(&format!("{head}Gone 'STAYS'\n"))));
    assert!(failure.message.contains("is still"), "{}", failure.message);
    let end = play_now(commands(&format!("{head}Enter\nGone 'STAYS'\n")));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_shell_that_is_left_with_a_status_is_a_warning() {
    let played = play_whole("Type 'exit 3'\nEnter\nSleep 500ms\n");
    assert!(matches!(played.end, PlayEnd::Passed), "{:?}", played.end);
    assert!(
        played.warnings.iter().any(|warning| warning.message.contains("exit 3")),
        "{:?}",
        played.warnings
    );
    let end = play_now(commands("Start sh -c 'exit 3'\nSleep 500ms\n"));
    assert_eq!(failure(end).kind, FailureKind::ProgramEnd);
}

#[test]
fn a_pattern_with_a_blank_at_the_end_of_a_row_gets_a_hint() {
    let source = "Set ExpectTimeout 50ms\nStart sh -c 'printf \"> \"; read a'\nExpect+Line /^> $/\n";
    let hint = failure(play_now(commands(source))).hint;
    assert_eq!(hint.as_deref(), Some("rows have no blanks at their end: `/^>$/`"));
}

#[test]
fn a_pattern_for_files_that_no_shell_expands_gets_a_hint() {
    let source = "Set ExpectTimeout 1s\nStart ls nothing-*.txt\nExpect 'nothing-here.txt'\n";
    let hint = failure(play_now(commands(source))).hint;
    let wanted = "`Start` runs no shell, which would expand nothing-*.txt: write Start+Shell \"…\"";
    assert_eq!(hint.as_deref(), Some(wanted));
}

#[test]
fn a_wide_character_that_leaves_a_region_is_not_in_it() {
    let source = |cols: u16| format!("Start printf '日本語'\nExpect+Region 1,1 1x{cols} '日本語'\n");
    assert!(matches!(play_now(commands(&source(6))), PlayEnd::Passed));
    assert_eq!(failure(play_now(commands(&source(5)))).command, "Expect+Region 1,1 1x5 \"日本語\"");
}

#[test]
fn the_same_text_in_the_same_place_is_no_answer_however_long_it_was_away() {
    for pause in ["0", "0.001", "0.1"] {
        let erase = "printf \"\\033[2J\\033[H\"";
        let program =
            format!("Start sh -c 'printf Saved; read a; {erase}; sleep {pause}; printf Saved; read b'\n");
        let head = format!("Set ExpectTimeout 300ms\n{program}Expect 'Saved'\nEnter\n");
        let failure = failure(play_now(commands(&format!("{head}Expect 'Saved'\n"))));
        assert!(failure.message.contains("was on the screen before line 4"), "{pause}: {}", failure.message);
        assert!(failure.hint.unwrap_or_default().contains("`Gone \"Saved\"`"));
    }
    let steps = [
        "printf Saved; read a",
        r#"printf "\033[HSaving"; sleep 0.1; printf "\033[HSaved "; read b"#,
        r#"printf "\033[2J"; sleep 0.2; printf "\033[HSaved"; read c"#,
    ];
    let program = format!("Start sh -c '{}'\n", steps.join("; "));
    let checks =
        "Expect 'Saved'\nEnter\nExpect 'Saving'\nExpect 'Saved'\nEnter\nGone 'Saved'\nExpect 'Saved'\n";
    let end = play_now(commands(&(program + checks)));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_line_that_was_typed_ahead_of_a_busy_shell_is_no_answer() {
    let source = "Set ExpectTimeout 1s\nType 'sleep 0.3'\nEnter\nType 'true READY'\nEnter\nExpect 'READY'\n";
    let failure = failure(play_now(commands(source)));
    assert!(failure.message.ends_with("only as the echo of what was typed"), "{}", failure.message);
    let source = "Type 'sleep 0.3'\nEnter\nType 'echo READY'\nEnter\nExpect /^READY$/\n";
    let end = play_now(commands(source));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_line_feed_in_a_text_is_an_enter_of_its_own() {
    let played = |checked: &str| {
        play_whole(&format!(
            "Start+Shell \"PS1='> ' exec bash --noprofile --norc -i\"\n\
             Expect \">\"\n\
             Type $\"echo on{{e,ly}}; true READY\\n\"\n\
             Expect@300ms \"{checked}\"\n"
        ))
    };
    let failure = failure(played("READY").end);
    assert!(failure.message.contains(OLD_TEXT), "{failure:?}");
    assert!(failure.keys.ends_with(&["Y".to_owned(), "Enter".to_owned()]), "{failure:?}");
    assert!(matches!(played("one only").end, PlayEnd::Passed));
}

#[test]
fn the_first_key_waits_until_the_program_reads() {
    let end = play_whole(
        "Require perl\n\
         File question.pl <<END\n\
         use POSIX;\n\
         $|=1; print 'Ready?'; for (1..2e6) {}\n\
         my $modes = POSIX::Termios->new; $modes->getattr(0);\n\
         $modes->setlflag($modes->getlflag & ~(ICANON|ECHO)); $modes->setattr(0, TCSAFLUSH);\n\
         sysread STDIN, my $key, 9; print 'answered';\n\
         END\n\
         Start perl question.pl\nExpect \"Ready?\"\nEnter\nExpect@1s \"answered\"\n",
    )
    .end;
    assert!(matches!(end, PlayEnd::Passed | PlayEnd::Skipped(_)), "{end:?}");
}

#[test]
fn a_line_that_was_typed_before_the_program_reads_is_no_answer() {
    // Its line editor starts after a moment and would redraw earlier input.
    let source = "Set ExpectTimeout 300ms\n\
                  Start+Shell \"sleep 0.2; PS1='> ' exec bash --noprofile --norc -i\"\n\
                  Type '# READY'\nEnter\nExpect 'READY'\n";
    let failure = failure(play_now(commands(source)));
    assert!(failure.message.contains(OLD_TEXT), "{failure:?}");
    // A program that never reads can be typed into as well.
    let source = "Start sleep 60\nType 'abc'\nCtrl+C\nExit INT\n";
    let end = play_now(commands(source));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}

#[test]
fn a_wrong_check_is_told_with_what_would_find_it() {
    // In one write: number 7 is never on a screen that the player sees.
    let numbers = "Start+Shell 'x=$(seq 1 100); echo \"$x\"; read x'\nExpect '100'\n";
    for (source, message, hint) in [
        (
            "Start+Shell 'x=$(seq 1 100); echo \"$x\"; read x'\nExpect /^7$/".to_owned(),
            "not on the screen",
            "it has scrolled off the screen: `Expect+History /^7$/` finds it there",
        ),
        (format!("{numbers}Wait+Screen@300ms /^99$/"), "not on the screen", "in `Wait+Screen` `^` and `$` are"),
        (format!("{numbers}Expect x0 /^99$/"), "is on the screen once, not 0", ""),
        (format!("{numbers}Style /zebra\\d/ bold"), "/zebra\\d/ is not on the screen", ""),
        (
            "Start+Shell 'printf \"\\033]2;one\\007\"; read x'\nExpect+Title 'one'\nEnter\nExpect+Title 'one'"
                .to_owned(),
            "is in the title, but was there before line 4",
            "",
        ),
    ] {
        let failure = failure(play_now(commands(&format!("Set ExpectTimeout 300ms\n{source}\n"))));
        assert!(failure.message.contains(message), "{source}: {}", failure.message);
        assert!(failure.hint.unwrap_or_default().contains(hint), "{source}");
    }
    // Two inputs of one line.
    let mut played = tape(commands(
        "Set ExpectTimeout 300ms\nStart sh -c 'stty -echo -icanon; printf go; head -c 3; sleep 60'\nExpect 'go'\n\
         Type 'abc'\nEnter\nExpect 'abc'\n",
    ));
    played.steps[4].span.line = 4;
    crate::sys::process::become_subreaper();
    let dir = tempfile::tempdir().unwrap();
    let file = TapeFile { path: "t.tape".into(), name: "t".to_owned() };
    let failure = failure(play(&file, &played, &options(dir.path()), None).end);
    assert!(failure.message.contains("before the last input of line 4"), "{}", failure.message);
}

#[test]
fn a_file_that_is_no_program_gets_a_hint() {
    let failure = failure(play_now(commands("File a.sh 'exit 0'\nStart ./a.sh\n")));
    assert_eq!(failure.message, "cannot start ./a.sh: Permission denied");
    assert!(failure.hint.is_some_and(|hint| hint.ends_with("`Start sh ./a.sh`")));
}

#[test]
fn a_picture_that_is_not_where_the_tape_says_is_told_once() {
    let source = "Start+Shell 'echo ok; read x'\nExpect 'ok'\nScreenshot r/a.svg\nState r/b.json\n";
    let told: Vec<String> = play_whole(source).warnings.into_iter().map(|warning| warning.message).collect();
    assert!(told.len() == 1 && told[0].starts_with("r/a.svg is written with `--render`; now"), "{told:?}");
}

#[test]
fn what_a_person_would_not_see_or_mean_is_a_warning() {
    let source = "Start sh -c 'printf \"\\033[?1000h\\033[8mtoken\\033[m OK OK\"; read a'\nExpect 'token'\nClick 'OK'\n";
    let played = play_whole(source);
    assert!(matches!(played.end, PlayEnd::Passed), "{:?}", played.end);
    let told: Vec<&str> = played.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert!(told.iter().any(|message| message.starts_with("nobody can see \"token\"")), "{told:?}");
    assert!(told.contains(&"\"OK\" is on the screen 2 times; the first one was taken"), "{told:?}");
}

#[test]
fn a_program_that_sleeps_before_it_answers_has_not_settled() {
    let program = "Start sh -c 'printf old; read a; sleep 0.2; printf \"panic\\033[?2004h\"; read b'\n";
    for check in ["Expect+Not 'panic'", "Mode ?2004 off"] {
        let source = format!("Set ExpectTimeout 1s\n{program}Expect 'old'\nEnter\n{check}\n");
        let failure = failure(play_now(commands(&source)));
        assert_eq!(failure.place.line, 5, "{check}: {failure:?}");
    }
    let source = format!("{program}Expect 'old'\nEnter\nExpect+Not 'quiet'\n");
    let end = play_now(commands(&source));
    assert!(matches!(end, PlayEnd::Passed), "{end:?}");
}
