//! The library, tested with programs that exist everywhere.

use std::fs;

use regex::Regex;

use super::*;
use crate::screen::Attr;

fn shell(script: &str) -> TerminalBuilder {
    Terminal::new("sh").args(["-c", script]).size(40, 8)
}

#[test]
fn a_program_is_typed_into_and_looked_at() -> TestResult {
    let mut t =
        shell("cat note; printf '\\n\\033[1;31mname?\\033[m '; read name; echo \"hello $name\"; read more")
            .file("note", "from a file\n")
            .start()?;
    t.expect("name?")?.wait_for("from a file")?;
    t.style("name?")?.fg("red")?.bold()?.bg("default")?.not(Attr::Dim)?;
    t.type_text("Ada")?.key("enter")?;
    t.expect(Regex::new("(?m)^hello A[a-z]+$").unwrap())?;
    assert!(t.screen().text_rows().contains(&"hello Ada".to_owned()));
    t.key("ctrl-d")?.exit(1)?;
    Ok(())
}

#[test]
fn a_failure_shows_the_screen_and_keeps_it() {
    let mut t =
        shell("echo ready; read x; echo four; read y").timeout(Duration::from_millis(300)).start().unwrap();
    t.expect("ready").unwrap();
    t.type_text("go").unwrap().key("enter").unwrap();
    t.wait_for("four").unwrap();
    // Text from before the last input is no answer to it.
    let failure = t.expect("ready").map(drop).unwrap_err();
    let text = failure.to_string();
    for part in [
        "library/library_terminal_tests.rs:",
        "expect \"ready\"",
        "screen now 40x8",
        "│four",
        "keys since the start: g o Enter",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let kept: Vec<String> =
        failure.details().evidence.iter().map(|file| file.path.display().to_string()).collect();
    assert_eq!(kept.len(), 3, "{kept:?}");
    let cast = fs::read_to_string(&kept[2]).unwrap();
    let header: serde_json::Value = serde_json::from_str(cast.lines().next().unwrap()).unwrap();
    assert_eq!(header["version"], serde_json::json!(3));
    assert!(cast.contains("four\\r\\n"), "{cast}");
    fs::remove_dir_all(Path::new(&kept[0]).parent().unwrap()).unwrap();
}

#[test]
fn the_evidence_of_a_failure_lacks_what_the_test_redacts() {
    let kept = |builder: TerminalBuilder| {
        let mut t = builder.timeout(Duration::from_millis(200)).start().unwrap();
        t.expect("open").unwrap();
        let failure = t.expect("closed").map(drop).unwrap_err();
        let files = &failure.details().evidence;
        let texts: Vec<String> = files.iter().map(|file| fs::read_to_string(&file.path).unwrap()).collect();
        fs::remove_dir_all(files[0].path.parent().unwrap()).unwrap();
        texts
    };
    let program = || shell("echo id=4711 open; read x");
    let plain = kept(program());
    assert!(plain.len() == 3 && plain.iter().all(|text| text.contains("4711")), "{plain:?}");
    let redacted = kept(program().redact(Regex::new(r"id=\d+").unwrap(), "id=[ID]"));
    assert_eq!(redacted.len(), 3);
    assert!(redacted.iter().all(|text| !text.contains("4711") && text.contains("open")), "{redacted:?}");
}

/// Removes the evidence of a failure.
fn forget(failure: &TestFailure) {
    let _ = fs::remove_dir_all(failure.details().evidence[0].path.parent().unwrap());
}

#[test]
fn what_was_typed_or_pasted_is_old_after_enter() {
    let mut t = Terminal::new("bash").args(["--noprofile", "--norc"]).env("PS1", "> ").start().unwrap();
    t.expect(">").unwrap();
    t.type_text("echo on{e,ly}; true READY\n").unwrap().expect("one only").unwrap();
    t.limit = Duration::from_millis(300);
    let failure = t.expect("READY").map(drop).unwrap_err();
    assert!(failure.to_string().contains("keys since the start: e c h o Space"), "{failure}");
    assert!(failure.to_string().contains("R E A D Y Enter"), "{failure}");
    t.paste("true STEADY").unwrap().key("enter").unwrap();
    let failure = t.expect("STEADY").map(drop).unwrap_err();
    forget(&failure);
}

#[test]
fn a_key_is_sent_when_the_program_has_answered_the_one_before() {
    let script = "stty -icanon -echo; echo ready
                  while :; do key=$(dd bs=64 count=1 2>/dev/null); echo \"<${key#?}>\"; done";
    let mut t = shell(script).start().unwrap();
    t.expect("ready").unwrap();
    t.key("down").unwrap().key("up").unwrap().key("left").unwrap().expect("<[D>").unwrap();
    assert_eq!(t.screen().text_rows()[..4], ["ready", "<[B>", "<[A>", "<[D>"]);
    t.limit = Duration::from_millis(300);
    t.key("down").unwrap().key("up").unwrap();
    let failure = t.expect("<[B>").map(drop).unwrap_err();
    forget(&failure);
}

#[test]
fn an_input_after_the_end_of_the_program_fails() {
    let mut t = shell("exit 3").start().unwrap();
    t.exit(3).unwrap();
    for failure in [t.key("enter").map(drop), t.type_text("a").map(drop)].map(Result::unwrap_err) {
        assert!(failure.to_string().contains("the program ended (exit 3) before this step"), "{failure}");
        forget(&failure);
    }
}

#[test]
fn an_end_that_was_not_expected_is_told_at_once() {
    let mut t = shell("exit 3").start().unwrap();
    let failure = t.expect("never").map(drop).unwrap_err();
    assert_eq!(failure.details().kind, FailureKind::ProgramEnd, "{failure}");
    let failure = t.exit(0).map(drop).unwrap_err();
    assert!(failure.to_string().contains("exit"), "{failure}");
    t.exit(3).unwrap();
    let missing = Terminal::new("/no/such/program").start().map(drop).unwrap_err();
    assert!(missing.to_string().contains("no such program"), "{missing}");
    let dir = failure.details().evidence[0].path.parent().unwrap().to_owned();
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn keys_and_styles_that_are_wrong_are_told() {
    let mut t = shell("echo plain; read x").start().unwrap();
    let failure = t.style("plain").and_then(StyleCheck::bold).map(drop).unwrap_err();
    assert!(failure.to_string().contains("\"plain\" on row 1, 1-5 has no style"), "{failure}");
    let failure = t.key("hyper-q").map(drop).unwrap_err();
    assert_eq!(failure.details().kind, FailureKind::Command);
    let dir = failure.details().evidence[0].path.parent().unwrap().to_owned();
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_snapshot_is_compared_in_the_directory_of_the_tests() {
    let root = tempfile::tempdir().unwrap();
    let mut t = shell("echo \"in $PWD at 12:00:01\"; read x").start().unwrap();
    t.root = root.path().to_owned();
    t.expect("at 12").unwrap();
    let file = root.path().join("tests/screens/snapshots").join(format!("{}__first.snap", t.name));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "# hopty 1 40x8\nin [DIR] at [TIME]\n").unwrap();
    t.snapshot("first").unwrap();
    t.snapshots = None;
    fs::write(&file, "# hopty 1 40x8\nin [DIR] at noon\n").unwrap();
    let failure = t.snapshot("first").map(drop).unwrap_err().to_string();
    for part in ["UPDATE_SNAPSHOTS=1", "-in [DIR] at noon", "+in [DIR] at [TIME]"] {
        assert!(failure.contains(part), "{part:?} in {failure}");
    }
}

#[test]
fn the_environment_says_what_is_written() {
    let of = |vars: &[(&str, &str)]| {
        let vars: Vec<(String, String)> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Update::of_env(move |name| {
            vars.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        })
    };
    assert_eq!(of(&[]), Update::Propose);
    assert_eq!(of(&[("CI", "true")]), Update::Nothing);
    assert_eq!(of(&[("CI", "true"), ("UPDATE_SNAPSHOTS", "1")]), Update::All);
    assert_eq!(of(&[("UPDATE_SNAPSHOTS", "0"), ("INSTA_UPDATE", "no")]), Update::Nothing);
    assert_eq!(of(&[("INSTA_UPDATE", "unseen"), ("CI", "true")]), Update::New);
}
