//! The documents are held to the code: samples parse, tables are complete, names and paths exist.
//!
//! `HOPTY_WRITE_TABLES=1 cargo test --test docs` writes the tables that are made from the code again.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod source;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use hopty::claude::plugin;
use hopty::core::claude::environment;
use hopty::core::config::{Config, KEYS, ProjectMay};
use hopty::core::journal::JournalLine;
use hopty::core::status_types::{
    ClientStatus, ContextStatus, ExitStatus, HandoverStatus, LimitsStatus, MachineStatus, SessionStatus,
    WorkStatus,
};
use hopty::core::supervisor::action::{Action, Decision};
use hopty::core::supervisor::event::Event;
use hopty::core::supervisor::handover_question::AskAnswer;
use hopty::core::tape;
use hopty::core::terminal::{Modes, Size};
use hopty::ipc::answers::{
    AcceptAnswer, AttachAnswer, BackAnswer, ContextAnswer, DetachAnswer, EventsAnswer, HookReply,
    LabelAnswer, RecordAnswer, RenameAnswer, RestartAnswer, ScreenAnswer, SendAnswer, SnoozeAnswer,
    WaitAnswer, WatchAnswer,
};
use hopty::ipc::message::{
    Answer, Attach, ClientHello, Code, HostHello, Record, Request, Send, Wait, WaitFor, Watch, hook_line,
    parse_request, request_line,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use source::{Names, Token, blocks, files, quoted, root, sources, text};

/// Every page that is checked.
fn pages() -> Vec<String> {
    let mut all = files("docs", ".md");
    all.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned));
    all
}

/// The rows of the table whose heading row begins with `head`, each as its cells.
fn table(page: &str, head: &str) -> Vec<Vec<String>> {
    let page = text(page);
    let mut lines = page.lines().skip_while(|line| !line.starts_with(&format!("| {head} |")));
    assert!(lines.next().is_some() && lines.next().is_some(), "there is no table with the heading {head}");
    let row = |line: &str| line.replace("\\|", "\u{1}").trim_matches('|').split('|').map(cell).collect();
    lines.take_while(|line| line.starts_with('|')).map(row).collect()
}

fn cell(text: &str) -> String {
    text.trim().trim_matches('`').replace('\u{1}', "|")
}

/// The variants of an enum, as the JSON writes them.
fn kinds(of: &str) -> BTreeSet<String> {
    let names = Names::read(&sources());
    names.enums[of].iter().map(|name| snake(name)).collect()
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

/// Reads a sample and writes it again: what a field is called, and that none is missing or too many.
fn holds<T: DeserializeOwned + Serialize>(sample: &Value) -> Result<(), String> {
    let read: T = serde_json::from_value(sample.clone()).map_err(|e| format!("{e}: {sample}"))?;
    let again = serde_json::to_value(&read).map_err(|e| e.to_string())?;
    if again == *sample { Ok(()) } else { Err(format!("reads as {again}, and not as {sample}")) }
}

#[test]
fn every_key_of_the_configuration_is_there() {
    let defaults = toml::Table::try_from(Config::default()).unwrap();
    let rows = table("docs/CONFIG.md", "key");
    let mut wrong = Vec::new();
    for key in KEYS {
        let default = &defaults[key.section][key.name];
        let project = match key.project {
            ProjectMay::NotSet => "no".to_owned(),
            ProjectMay::Set => "yes".to_owned(),
            ProjectMay::SetAbove(floor) => floor.to_string(),
            ProjectMay::SetOnly(words) | ProjectMay::Tighten(words) => {
                words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ")
            }
        };
        let want = [
            key.path(),
            inline(default),
            key.kind.allowed().trim_start_matches("must be ").to_owned(),
            project,
        ];
        match rows.iter().find(|row| row[0] == want[0]) {
            None => wrong.push(format!("there is no row for {}: | `{}` |  |", want[0], want.join("` | `"))),
            Some(row) if row[..4] != want => wrong.push(format!("{:?} should be {want:?}", &row[..4])),
            Some(row) if row[4].is_empty() => wrong.push(format!("{} has no meaning", want[0])),
            Some(_) => {}
        }
    }
    none(&wrong, "docs/CONFIG.md");
    assert_eq!(rows.len(), KEYS.len(), "there is a row for a key that is none");
}

/// Pages may name a decision of the journal or a file in the same form.
#[test]
fn every_key_that_a_page_names_exists() {
    let decisions = text("src/core/supervisor/action.rs");
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let mut wrong = Vec::new();
    for page in pages().into_iter().filter(|page| page != "CHANGELOG.md") {
        for code in text(&page).split('`').skip(1).step_by(2) {
            let name = code.split([' ', '=']).next().unwrap_or_default();
            let Some((section, key)) = name.split_once('.').filter(|(_, key)| is_word(key)) else { continue };
            let exists = KEYS.iter().any(|known| known.section == section && known.name == key)
                || decisions.contains(&format!("\"{name}\""))
                || ["md", "json", "jsonl", "toml", "yaml", "sh", "log", "gz", "patch"].contains(&key);
            if KEYS.iter().any(|known| known.section == section) && !exists {
                wrong.push(format!("{page}: {name}"));
            }
        }
    }
    none(&wrong, "these keys are in no configuration");
}

/// A value as it stands behind `key =`.
fn inline(value: &toml::Value) -> String {
    match value {
        toml::Value::Table(table) => {
            let parts: Vec<String> =
                table.iter().map(|(name, value)| format!("{name} = {}", inline(value))).collect();
            format!("{{ {} }}", parts.join(", "))
        }
        toml::Value::Float(n) if n.fract() == 0.0 => format!("{n:.0}"),
        other => other.to_string(),
    }
}

#[test]
fn every_request_has_a_sample_that_is_read() {
    let page = text("docs/PROTOCOL.md");
    let (mut requests, mut wrong, mut asked) = (BTreeSet::new(), Vec::new(), None);
    let mut answered = BTreeSet::new();
    for line in blocks(&page, "json") {
        let value: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        if let Some(kind) = value["do"].as_str() {
            match parse_request(line.as_bytes()) {
                Ok((id, request)) => {
                    assert_eq!(Some(id), value["id"].as_u64());
                    asked = Some(request);
                }
                Err((_, failure)) => wrong.push(format!("{}: {line}", failure.message)),
            }
            requests.insert(kind.to_owned());
        } else if value["role"].is_string() {
            wrong.extend(holds::<ClientHello>(&value).err());
        } else if value["hopty"].is_number() {
            wrong.extend(holds::<HostHello>(&value).err());
        } else {
            let answer: Answer =
                serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert!(answer.id > 0 && (answer.ok.is_some() != answer.error.is_some()), "{line}");
            if let Some(ok) = answer.ok {
                let asked = asked.as_ref().unwrap();
                wrong.extend(is_answer(asked, &ok).err().map(|error| format!("{line}: {error}")));
                answered.insert(json!(asked)["do"].to_string());
            }
        }
    }
    none(&wrong, "docs/PROTOCOL.md");
    assert_eq!(requests, request_names(), "every request, and no other");
    assert_eq!(answered.len(), requests.len(), "every request shows its answer");
}

fn request_names() -> BTreeSet<String> {
    let mut names = kinds("ipc::message::Request");
    assert!(names.remove("unknown"));
    names
}

/// Whether a sample is an answer to this request: it is read, and written with all that it has.
fn is_answer(to: &Request, sample: &Value) -> Result<(), String> {
    match to {
        Request::Status => SessionStatus::from_json(sample.clone()).map(drop).ok_or("no object".to_owned()),
        Request::Context => holds::<ContextAnswer>(sample),
        Request::Events => holds::<EventsAnswer>(sample),
        Request::Restart { .. } => holds::<AcceptAnswer>(sample).or(holds::<RestartAnswer>(sample)),
        Request::Back { .. } => holds::<BackAnswer>(sample),
        Request::Ask { .. } => holds::<SnoozeAnswer>(sample),
        Request::Stop { .. } => holds::<AcceptAnswer>(sample),
        Request::Send(_) | Request::Answer { .. } => holds::<SendAnswer>(sample),
        Request::Screen { .. } => holds::<ScreenAnswer>(sample),
        // The session object is shortened here, and described below.
        Request::Wait(_) if sample["session"].is_object() => {
            let read: WaitAnswer = serde_json::from_value(sample.clone()).map_err(|e| e.to_string())?;
            let name = read.session.map(|session| json!(session.name));
            (name.as_ref() == sample["session"].get("name")).then_some(()).ok_or("no session".to_owned())
        }
        Request::Wait(_) => holds::<WaitAnswer>(sample),
        Request::Watch(_) => holds::<WatchAnswer>(sample),
        Request::Attach(_) => holds::<AttachAnswer>(sample),
        Request::Detach { .. } => holds::<DetachAnswer>(sample),
        Request::Rename { .. } => holds::<RenameAnswer>(sample),
        Request::Label { .. } => holds::<LabelAnswer>(sample),
        Request::Record(_) | Request::Mark { .. } => holds::<RecordAnswer>(sample),
        Request::Hook { .. } => holds::<HookReply>(sample),
        Request::Unknown => Err("nobody answers it".to_owned()),
    }
}

/// What a client of this version sends. Hosts that were started by another version read these lines, so a
/// line may gain a field and change in nothing else.
#[test]
fn every_request_goes_over_the_wire_as_before() {
    let word = |text: &str| text.to_owned();
    let modes = Modes { iflag: 1, oflag: 2, cflag: 3, lflag: 4, line: 0, cc: vec![3, 28], speed: (15, 15) };
    let attach = Attach {
        size: Size::cells(120, 40),
        read_only: false,
        term: word("xterm"),
        pid: 4250,
        tty: Some(word("/dev/pts/3")),
        termios: Some(modes),
        raw: None,
        env: [(word("SSH_AUTH_SOCK"), word("/x"))].into(),
        redraw: true,
    };
    let mark = "118.1.42".parse().ok();
    let lines = [
        (Request::Status, r#"{"do":"status","id":1}"#),
        (Request::Context, r#"{"do":"context","id":1}"#),
        (Request::Events, r#"{"do":"events","id":1}"#),
        (
            Request::Restart { now: true, no_handoff: false, wait: false },
            r#"{"do":"restart","id":1,"no_handoff":false,"now":true,"wait":false}"#,
        ),
        (Request::Back { now: false }, r#"{"do":"back","id":1,"now":false}"#),
        (Request::Ask { answer: AskAnswer::Snooze }, r#"{"answer":"snooze","do":"ask","id":1}"#),
        (Request::Stop { kill: true }, r#"{"do":"stop","id":1,"kill":true}"#),
        (
            Request::Send(Send { text: Some(word("ls\r")), mark: true, ..Send::default() }),
            r#"{"do":"send","id":1,"mark":true,"submit":false,"text":"ls\r"}"#,
        ),
        (
            Request::Send(Send { base64: Some(word("AAE=")), ..Send::default() }),
            r#"{"base64":"AAE=","do":"send","id":1,"submit":false}"#,
        ),
        (
            Request::Send(Send { keys: Some(vec![word("enter")]), submit: true, ..Send::default() }),
            r#"{"do":"send","id":1,"keys":["enter"],"submit":true}"#,
        ),
        (
            Request::Answer { dialog: word("permission"), option: 2 },
            r#"{"dialog":"permission","do":"answer","id":1,"option":2}"#,
        ),
        (Request::Screen { history: true }, r#"{"do":"screen","history":true,"id":1}"#),
        (
            Request::Wait(Wait { wanted: WaitFor::Idle, since: 120, after: None, mark, timeout_ms: 2000 }),
            r#"{"after":null,"do":"wait","for":"idle","id":1,"mark":"118.1.42","since":120,"timeout_ms":2000}"#,
        ),
        (
            Request::Watch(Watch {
                state: true,
                entered: Some(118),
                screen: false,
                after: Some(1_099_511_627_812),
                mark: None,
                timeout_ms: 0,
            }),
            r#"{"after":1099511627812,"do":"watch","entered":118,"id":1,"mark":null,"screen":false,"state":true,"timeout_ms":0}"#,
        ),
        (
            Request::Attach(attach),
            r#"{"cols":120,"do":"attach","env":{"SSH_AUTH_SOCK":"/x"},"id":1,"pid":4250,"raw":null,"read_only":false,"redraw":true,"rows":40,"term":"xterm","termios":{"cc":[3,28],"cflag":3,"iflag":1,"lflag":4,"line":0,"oflag":2,"speed":[15,15]},"tty":"/dev/pts/3","xpixel":0,"ypixel":0}"#,
        ),
        (Request::Detach { client: None }, r#"{"client":null,"do":"detach","id":1}"#),
        (Request::Rename { name: word("rocket") }, r#"{"do":"rename","id":1,"name":"rocket"}"#),
        (
            Request::Label { add: vec![word("work")], remove: vec![word("old")] },
            r#"{"add":["work"],"do":"label","id":1,"remove":["old"]}"#,
        ),
        (
            Request::Record(Record { file: Some(word("/x.cast")), input: true, ..Record::default() }),
            r#"{"append":false,"do":"record","file":"/x.cast","id":1,"input":true,"max_bytes":null,"overwrite":false,"stop":false}"#,
        ),
        (Request::Mark { label: word("passed") }, r#"{"do":"mark","id":1,"label":"passed"}"#),
    ];
    let mut sent = BTreeSet::new();
    for (request, line) in lines {
        assert_eq!(request_line(1, &request), format!("{line}\n"));
        assert_eq!(parse_request(line.as_bytes()).unwrap(), (1, request), "{line}");
        sent.insert(serde_json::from_str::<Value>(line).unwrap()["do"].as_str().unwrap().to_owned());
    }
    // A hook's line is put together around Claude's own JSON.
    let hook = Request::Hook { event: word("Stop"), payload: json!({"a": [1]}), run: Some(2) };
    let line = hook_line("Stop", 2, "{\"a\": [1]}").unwrap();
    assert_eq!(line, "{\"id\":1,\"do\":\"hook\",\"run\":2,\"event\":\"Stop\",\"payload\":{\"a\": [1]}}\n");
    assert_eq!(parse_request(line.as_bytes()).unwrap(), (1, hook));
    sent.insert(word("hook"));
    assert_eq!(sent, request_names(), "every request has its line here");
}

#[test]
fn every_error_code_and_frame_is_there() {
    let codes: BTreeSet<String> = table("docs/PROTOCOL.md", "code")
        .into_iter()
        .map(|row| {
            let code: Code = serde_json::from_value(Value::from(row[0].as_str()))
                .unwrap_or_else(|e| panic!("{e}: {row:?}"));
            assert_eq!(code.exit().to_string(), row[1], "{row:?}");
            row[0].clone()
        })
        .collect();
    assert_eq!(codes, kinds("ipc::message::Code"));
    let written: BTreeSet<String> =
        table("docs/PROTOCOL.md", "tag").into_iter().map(|row| format!("{} {}", row[0], row[1])).collect();
    let frames = source::tokens(&text("src/ipc/frame.rs"));
    let word = |token: &Token| if let Token::Word(word) = token { word.clone() } else { String::new() };
    let made: BTreeSet<String> = frames
        .windows(6)
        .filter(|t| word(&t[0]) == "const" && word(&t[3]) == "u8")
        .map(|t| format!("{} {}", word(&t[5]).trim_start_matches("0x"), word(&t[1])))
        .collect();
    assert!(made.len() > 10, "{made:?}");
    assert_eq!(written, made, "tag and name of every frame");
}

/// A session that runs for as long as this lives.
struct Session(tempfile::TempDir);

impl Session {
    fn hopty(&self, args: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hopty"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.0.path());
        let done = command.stdin(Stdio::null()).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.hopty(&["stop", "--kill", "doc"]);
    }
}

#[test]
fn the_session_object_is_as_it_is_described() {
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let words = |cell: &str| cell.split("` `").map(str::to_owned).collect::<BTreeSet<_>>();
    let rows = table("docs/PROTOCOL.md", "field");
    let written: BTreeSet<String> = rows.iter().flat_map(|row| words(&row[0])).collect();
    assert_eq!(written, keys(&SessionStatus::default().json()), "the keys of the type");
    let row = |field: &str| rows.iter().find(|row| row[0].starts_with(field)).unwrap();
    let context = keys(&serde_json::to_value(ContextStatus::default()).unwrap());
    assert_eq!(words(&row("context")[1]), context);
    let parts = [
        ("machine", serde_json::to_value(MachineStatus::default()).unwrap()),
        ("work", serde_json::to_value(WorkStatus::default()).unwrap()),
        ("limits", serde_json::to_value(LimitsStatus::default()).unwrap()),
        ("next_handover", serde_json::to_value(HandoverStatus::default()).unwrap()),
        ("size` `clients", serde_json::to_value(ClientStatus::default()).unwrap()),
        ("exit` `ended_at", serde_json::to_value(ExitStatus::default()).unwrap()),
    ];
    for (field, part) in parts {
        let described = &row(field)[1];
        let missing: Vec<String> =
            keys(&part).into_iter().filter(|key| !described.contains(&format!("{key}`"))).collect();
        none(&missing, &format!("docs/PROTOCOL.md does not name these keys of {field}"));
    }
    // What a host sends is that type, and has nothing more.
    let session = Session(tempfile::tempdir().unwrap());
    session.hopty(&["run", "--detached", "--name", "doc", "--", "sleep", "1000"]);
    let found: Value = serde_json::from_str(&session.hopty(&["status", "--json", "doc"])).unwrap();
    assert_eq!(written, keys(&found));
    assert_eq!(SessionStatus::from_json(found.clone()).unwrap().json(), found);
}

#[test]
fn every_line_of_a_journal_has_a_sample_that_is_read() {
    let page = text("docs/EVENTS.md");
    let (mut events, mut actions, mut decisions, mut wrong) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), Vec::new());
    for line in blocks(&page, "json") {
        let value: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        wrong.extend(
            serde_json::from_value::<JournalLine>(value.clone()).err().map(|e| format!("{e}: {line}")),
        );
        let kind = |part: &str| value[part]["kind"].as_str().unwrap_or_default().to_owned();
        if !value["event"].is_null() {
            wrong.extend(holds::<Event>(&value["event"]).err());
            events.insert(kind("event"));
        } else if !value["action"].is_null() {
            wrong.extend(holds::<Action>(&value["action"]).err());
            actions.insert(kind("action"));
        } else if !value["decision"].is_null() {
            wrong.extend(holds::<Decision>(&value["decision"]).err());
            decisions.insert(kind("decision"));
        } else {
            assert!(value["open"]["journal"].is_number(), "{line}");
        }
    }
    none(&wrong, "docs/EVENTS.md");
    assert_eq!(events, kinds("core::supervisor::event::Event"));
    let mut all_actions = kinds("core::supervisor::action::Action");
    // Its line is the decision itself.
    all_actions.remove("decide");
    assert_eq!(actions, all_actions);
    let named: BTreeSet<String> =
        table("docs/EVENTS.md", "decision").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(decisions, named, "every decision of the table has a sample");
    let known: BTreeSet<String> =
        kinds("core::supervisor::action::DecisionKind").iter().map(|kind| kind.replace('_', "")).collect();
    assert_eq!(named.iter().map(|kind| kind.replace(['_', '.'], "")).collect::<BTreeSet<_>>(), known);
}

#[test]
fn every_hook_is_there() {
    let rows = table("docs/HOOKS.md", "event");
    let written: Vec<[String; 3]> =
        rows.into_iter().map(|row| [row[0].clone(), row[1].clone(), row[2].clone()]).collect();
    let from =
        |event: &str| if plugin::OLD.iter().any(|(old, _)| *old == event) { "2.0.76" } else { "2.1.197" };
    let made: Vec<[String; 3]> = plugin::FULL
        .iter()
        .map(|(event, seconds)| [(*event).to_owned(), seconds.to_string(), from(event).to_owned()])
        .collect();
    assert_eq!(written, made);
    let page = quoted(&text("docs/HOOKS.md"));
    assert!(
        plugin::OLD.iter().all(|(event, _)| page.iter().any(|word| word == event)),
        "what old versions get"
    );
}

#[test]
fn every_variable_is_there() {
    let page = text("docs/TERMINAL.md");
    let section = |head: &str| page.split(head).nth(1).unwrap().split("\n\n").take(2).collect::<String>();
    let removed: Vec<String> = quoted(&section("Removed, because"))
        .into_iter()
        .filter(|name| name.chars().all(|c| c.is_uppercase() || c == '_'))
        .collect();
    assert_eq!(removed, environment::REMOVED);
    let add =
        environment::Additions { claude: true, no_flicker: Some("1"), ..environment::Additions::default() };
    let made: Vec<String> =
        environment::of_child([], &add).into_iter().map(|(name, _)| name.into_string().unwrap()).collect();
    let written: Vec<String> =
        table("docs/TERMINAL.md", "variable").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(written, made);
}

/// A row of the table of cases: its name, and whether it runs on the stand-in and on the real Claude.
type Case = [String; 3];

/// The cases of the main job: those in the list that makes two tests of each, and those on one agent alone,
/// which say why in the comment above them.
fn cases() -> Vec<Case> {
    let main = text("tests/chain/main.rs");
    let (_, list) = main.split_once("\nboth! {\n").unwrap();
    let shown = |name: &str| name.trim().replace('_', " ");
    let yes = || "yes".to_owned();
    let mut found: Vec<Case> = list
        .lines()
        .take_while(|line| *line != "}")
        .map(|name| [shown(name.trim_end_matches(',')), yes(), yes()])
        .collect();
    for file in files("tests/chain", ".rs") {
        let content = text(&file);
        let lines: Vec<&str> = content.lines().collect();
        for (n, _) in lines.iter().enumerate().filter(|(_, line)| **line == "#[test]") {
            let name = lines[n + 1].trim_start_matches("fn ").split('(').next().unwrap();
            let why: Vec<&str> =
                lines[..n].iter().rev().map_while(|line| line.strip_prefix("/// ")).collect();
            assert!(!why.is_empty(), "{file}: `{name}` runs on one agent alone and does not say why");
            let no = format!("no: {}", why.into_iter().rev().collect::<Vec<_>>().join(" "));
            let real =
                lines[n..].iter().take_while(|line| **line != "}").any(|line| line.contains("Kind::Real"));
            let (stand_in, real) = if real { (no, yes()) } else { (yes(), no) };
            found.push([shown(name), stand_in, real]);
        }
    }
    found
}

#[test]
fn the_table_of_cases_is_the_list_of_cases() {
    let all = cases();
    let both = all.iter().filter(|[_, stand_in, real]| stand_in == "yes" && real == "yes").count();
    assert!(both >= 15, "at least 15 cases run on both");
    let rows: String = all.iter().map(|case| format!("| {} |\n", case.join(" | "))).collect();
    let want = format!("| case | stand-in | real |\n|---|---|---|\n{rows}");
    holds_table("cases", &want);
}

#[test]
fn the_table_of_conformance_is_the_list_of_its_cases() {
    let mut rows = String::new();
    for file in files("tests/conformance", ".rs") {
        let content = text(&file);
        let lines: Vec<&str> = content.lines().collect();
        let tests = lines.windows(2).filter(|pair| pair[0] == "#[test]");
        let names: Vec<String> = tests
            .filter_map(|pair| Some(pair[1].strip_prefix("fn ")?.split('(').next()?.replace('_', " ")))
            .collect();
        let page: Vec<&str> =
            lines.iter().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        if !names.is_empty() {
            let noun = Path::new(&file).file_stem().unwrap().to_str().unwrap();
            rows.push_str(&format!("| `{noun}` | {} | {} |\n", page.join(" "), names.join("; ")));
        }
    }
    holds_table("conformance", &format!("| file | what | cases |\n|---|---|---|\n{rows}"));
}

/// That the table `name` of docs/TESTING.md is `want`, or writes it where that is asked for.
fn holds_table(name: &str, want: &str) {
    let (begin, end) =
        (format!("<!-- {name}: made by `just tables` -->\n"), format!("<!-- end of {name} -->"));
    static ONE_WRITES: Mutex<()> = Mutex::new(());
    let _turn = ONE_WRITES.lock();
    let page = text("docs/TESTING.md");
    let (head, rest) = page.split_once(&begin).unwrap();
    let (found, tail) = rest.split_once(&end).unwrap();
    if found != want && std::env::var_os("HOPTY_WRITE_TABLES").is_some() {
        std::fs::write(root().join("docs/TESTING.md"), format!("{head}{begin}{want}{end}{tail}")).unwrap();
    } else {
        assert_eq!(found, want, "docs/TESTING.md is behind; `just tables` writes its table");
    }
}

/// Bytes as one writes them down, with a space before every control character; the bar is a sign of the
/// table.
fn shown(bytes: &str) -> String {
    let mut out = String::new();
    for ch in bytes.chars() {
        match ch {
            '\u{1b}' => out.push_str(" ESC"),
            '\u{7}' => out.push_str(" BEL"),
            '\u{e}' => out.push_str(" SO"),
            '\u{f}' => out.push_str(" SI"),
            ' ' => out.push_str(" SP "),
            ch => out.push(ch),
        }
    }
    format!("`{}`", out.trim())
}

#[test]
fn the_table_of_what_is_undone_is_the_codes_own() {
    const BEGIN: &str = "<!-- undone: made by `just tables` -->\n";
    const END: &str = "<!-- end of undone -->";
    let mut want = "| what | why here, and so | on | off |\n|---|---|---|---|\n".to_owned();
    for step in hopty::screen::UNDO_STEPS {
        for (n, (on, off)) in step.examples.iter().enumerate() {
            let (what, why) = if n == 0 { (step.what, step.why) } else { ("", "") };
            want.push_str(&format!("| {what} | {why} | {} | {} |\n", shown(on), shown(off)));
        }
    }
    let page = text("docs/TERMINAL.md");
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (found, tail) = rest.split_once(END).unwrap();
    if found != want && std::env::var_os("HOPTY_WRITE_TABLES").is_some() {
        std::fs::write(root().join("docs/TERMINAL.md"), format!("{head}{BEGIN}{want}{END}{tail}")).unwrap();
    } else {
        assert_eq!(found, want, "docs/TERMINAL.md is behind; `just tables` writes its table");
    }
}

#[test]
fn every_example_of_the_page_on_tapes_parses() {
    struct NoFiles;
    impl tape::TapeFiles for NoFiles {
        fn read(&self, path: &str) -> Result<Vec<u8>, String> {
            if path == "setup.tape" { Ok(b"Enter".to_vec()) } else { Err("no such file".to_owned()) }
        }
    }
    let page = text("docs/TAPES.md");
    let (page, _) = page.split_once("## Differences").unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let mut examples: Vec<String> = rows.map(|(example, _)| example.replace("\\|", "|")).collect();
    let blocks = page.split("```tape\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    examples.extend(blocks.map(str::to_owned));
    assert!(examples.len() > 120, "only {} examples", examples.len());
    let mut words = BTreeSet::new();
    for example in &examples {
        let read = tape::parse("TAPES.md", example.as_bytes(), tape::ParseOptions::default(), &NoFiles);
        assert!(read.is_valid() && read.warnings.is_empty(), "{example}\n{}", read.report());
        words.extend(example.split(|c: char| !c.is_alphanumeric()).map(str::to_owned));
    }
    words.extend(quoted(page));
    let missing: Vec<String> = tape::command_words()
        .chain(tape::setting_names())
        .filter(|word| !words.contains(*word))
        .map(str::to_owned)
        .collect();
    none(&missing, "docs/TAPES.md does not show these");
}

#[test]
fn what_documents_point_to_exists() {
    let mut wrong = Vec::new();
    for page in pages() {
        let content = text(&page);
        let dir = Path::new(&page).parent().unwrap().to_path_buf();
        for link in content.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if !link.contains("://") && !target.is_empty() && !root().join(&dir).join(target).exists() {
                wrong.push(format!("{page}: {link}"));
            }
        }
        let is_path = |word: &str| {
            ["src/", "tests/", "docs/", "fixtures/", ".ci/"].iter().any(|start| word.starts_with(start))
        };
        let plain = |word: &str| {
            !word.contains([' ', '*', '<', '{'])
                && word.chars().all(|c| !c.is_uppercase() || word.ends_with(".md"))
        };
        for word in quoted(&content).into_iter().filter(|word| is_path(word) && plain(word)) {
            if !root().join(&word).exists() {
                wrong.push(format!("{page}: `{word}`"));
            }
        }
    }
    none(&wrong, "these lead nowhere");
}

#[test]
fn ci_runs_every_test_of_the_readmes_command() {
    let readme = text("README.md");
    let commands = blocks(&readme, "sh");
    for command in ["cargo run -- demo", "cargo test"] {
        assert!(commands.iter().any(|line| line.starts_with(command)), "README has no `{command}`");
    }
    // In several streams: the units, every binary that there is, and the documentation.
    let ci = text(".ci/run");
    for part in [
        "longest=(chain lib ",
        "[ \"$1\" != lib ] || target=(--lib)",
        "for path in tests/*.rs tests/*/main.rs; do",
        "names=(\"${longest[@]}\")",
        "names+=(\"$name\")",
        "cargo test --locked --test zz_skipped",
        "cargo test --locked --doc",
    ] {
        assert!(ci.contains(part), "`.ci/run` lacks {part:?}");
    }
}

#[test]
fn every_attack_and_promise_of_the_security_page_names_tests_that_exist() {
    let code = |dirs: &[&str]| {
        dirs.iter().flat_map(|dir| files(dir, ".rs")).map(|file| text(&file)).collect::<String>()
    };
    let page = text("docs/SECURITY.md");
    for (head, least, code) in
        [("| attack |", 30, code(&["tests", "src"])), ("| promise | test |", 10, code(&["tests", "src"]))]
    {
        let rows: Vec<&str> = page
            .lines()
            .skip_while(|line| !line.starts_with(head))
            .take_while(|line| line.starts_with('|'))
            .collect();
        assert!(rows.len() >= least + 2, "{} rows", rows.len());
        for row in &rows[2..] {
            let names = quoted(row.trim_matches('|').rsplit(" | ").next().unwrap_or_default());
            let missing: Vec<&String> =
                names.iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
            assert!(!names.is_empty() && missing.is_empty(), "{row}: there is no test {missing:?}");
        }
    }
    for (page, link) in [("README.md", "(docs/SECURITY.md)"), ("docs/PROTOCOL.md", "(SECURITY.md)")] {
        let promises = text(page);
        let section = if page == "README.md" { "## Promises" } else { "## Who may ask for what" };
        let section = promises
            .split(section)
            .nth(1)
            .and_then(|rest| rest.split("\n## ").next())
            .unwrap_or_default()
            .to_owned();
        assert!(section.contains(link), "{page} points to no tests of its promises");
    }
}
