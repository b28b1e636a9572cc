//! Who may ask for what: other users nothing, what runs inside the session only what it needs.

use serde_json::Value;

use super::support::claude::hopty;
use super::support::nobody;
use super::support::text;
use super::{assert_fails, end_all, support, world};

#[test]
fn another_user_is_refused_by_both_sides() {
    let world = world();
    let Some(program) = nobody::give(&world) else { return };
    let started =
        nobody::command(&world, &program, &["run", "--name", "one", "--detached", "--", "sleep", "1000"])
            .output()
            .unwrap();
    assert_eq!(text(&started.stdout), "one\n", "{}", text(&started.stderr));
    // Root may open the socket, but it is not root's session.
    let mut socket = std::os::unix::net::UnixStream::connect(world.state_dir().join("run/one.sock")).unwrap();
    use std::io::{Read, Write};
    let _ = socket.write_all(b"{\"hopty\":1}\n{\"id\":1,\"do\":\"stop\",\"kill\":true}\n");
    let mut said = String::new();
    let _ = socket.read_to_string(&mut said);
    assert_eq!(said, "", "not a word to another user");
    assert_fails(&world.hopty(&["stop", "one"]), 125, "another user listens there");
    let stopped = nobody::command(&world, &program, &["stop", "one"]).output().unwrap();
    assert!(stopped.status.success(), "{}", text(&stopped.stderr));
    world.assert_nothing_left();
}

/// How a process may hang on the session: the child itself, a child of it, one whose parent is gone, one that
/// left the session, and one that did both.
const WAYS: [(&str, &str); 5] = [
    ("child", "exec \"$0\" \"$@\""),
    ("grandchild", "\"$0\" \"$@\"; exit $?"),
    ("orphan", "(LEFT=1 \"$0\" \"$@\" & ) ; sleep 1000"),
    ("own session", "setsid -w \"$0\" \"$@\"; exit $?"),
    ("daemon", "(LEFT=1 setsid \"$0\" \"$@\" & ) ; sleep 1000"),
];

/// Verbs and what they give to who hangs on the session.
const VERBS: [(&str, &str); 18] = [
    ("send inner text", "4"),
    ("send inner --keys enter", "4"),
    ("send inner text --submit", "4"),
    ("wait inner text=.*", "0"),
    ("wait inner exit --timeout 1ms", "1"),
    ("stop inner", "4"),
    ("stop inner --kill", "4"),
    ("restart inner --wait", "4"),
    ("detach inner", "4"),
    ("handoff snooze inner", "4"),
    ("context inner", "4"),
    ("log inner", "0"),
    ("status inner --json", "0"),
    ("ls --json", "0"),
    ("screen inner", "0"),
    ("why inner", "0"),
    ("events inner", "0"),
    ("hook Stop", "0"),
];

#[test]
fn what_runs_inside_may_ask_and_may_not_end_or_type() {
    for (way, shell) in WAYS {
        let world = world();
        let (out, log) = (world.project.join("codes"), world.project.join("said"));
        let mut script = String::new();
        for (verb, _) in VERBS {
            script.push_str(&format!(
                "'{}' {verb} >>'{}' 2>&1 </dev/null; echo $? >>'{}'; ",
                hopty().display(),
                log.display(),
                out.display()
            ));
        }
        // In a terminal of its own, and as if it did not know where it runs: the host sees it all the same.
        script.push_str(&format!(
            "script -qec \"env -u HOPTY_SESSION '{}' attach inner\" /dev/null >>'{}' 2>&1 </dev/null; echo \
             $? >>'{}'; ",
            hopty().display(),
            log.display(),
            out.display()
        ));
        script.push_str("[ $LEFT ] || exec sleep 1000");
        world.run_detached("inner", &["sh", "-c", shell, "sh", "-c", &script]);
        let codes = support::wait_for(&format!("the verbs from {way}"), || {
            std::fs::read_to_string(&out).ok().filter(|codes| codes.lines().count() == VERBS.len() + 1)
        });
        let wanted: Vec<&str> = VERBS.iter().map(|(_, code)| *code).chain(["4"]).collect();
        let said = std::fs::read_to_string(&log).unwrap();
        assert_eq!(codes.lines().collect::<Vec<_>>(), wanted, "from {way}: {said}");
        assert_eq!(said.matches("a command inside the session may not").count(), 8, "from {way}: {said}");
        assert_eq!(said.matches("a command inside the session cannot wait").count(), 1, "from {way}: {said}");
        let status: Value = serde_json::from_str(&world.ask(&["status", "inner", "--json"])).unwrap();
        assert_eq!((&status["state"], &status["run"]), (&"unknown".into(), &1.into()), "from {way}");
        end_all(&world);
    }
}

#[test]
fn what_runs_inside_learns_the_name_of_no_terminal() {
    let world = world();
    let out = world.project.join("out");
    let script = format!(
        "until '{0}' status proj --json | grep '\"leader\": *true' >/dev/null; do sleep 0.1; done; '{0}' status proj \
         --json >'{1}.new'; mv '{1}.new' '{1}'; exec sleep 1000",
        hopty().display(),
        out.display()
    );
    let _term = world.terminal(&["run", "--name", "proj", "--", "sh", "-c", &script]);
    let status = support::wait_for("the status", || std::fs::read_to_string(&out).ok());
    let tty = |status: &Value| status["clients"][0]["tty"].clone();
    assert_eq!(tty(&serde_json::from_str(&status).unwrap()), Value::Null, "{status}");
    assert!(tty(&world.status()).as_str().unwrap().starts_with("/dev/"));
    end_all(&world);
}

#[test]
fn a_restart_of_its_own_is_accepted() {
    let world = world();
    let out = world.project.join("out");
    let ask =
        format!("if [ $HOPTY_RUN = 1 ]; then '{}' restart >'{}' 2>&1; fi", hopty().display(), out.display());
    let mut term =
        world.terminal(&["run", "--", "sh", "-c", &format!("echo run $HOPTY_RUN; {ask}; exec sleep 1000")]);
    term.wait_text("run 2");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "restart of proj requested\n");
    assert!(
        world
            .decisions()
            .iter()
            .any(|d| d["kind"] == "restart.requested" && d["sentence"].as_str().unwrap().contains("inside"))
    );
    end_all(&world);
    term.wait_exit();
}

#[test]
fn nobody_attaches_a_session_inside_itself() {
    let world = world();
    let program = hopty();
    let script = format!(
        "'{0}' attach; echo code $?; env -u HOPTY_SESSION '{0}' attach proj; echo code $?; exec cat",
        program.display()
    );
    let mut term = world.terminal(&["run", "--", "sh", "-c", &script]);
    term.wait_for("both answers", |s| s.lines().iter().filter(|l| *l == "code 4").count() == 2);
    let shown = term.lines().join("\n");
    assert!(shown.contains("hopty: attach: ") && shown.contains("may not attach"), "{shown}");
    term.send("still\r");
    term.wait_for("the echo of cat", |s| s.lines().iter().filter(|l| **l == "still").count() == 2);
    end_all(&world);
    term.wait_exit();
    term.assert_whole();
}

/// A session inside a session is another one: its own child does not hang on it.
#[test]
fn a_session_inside_a_session_is_its_own() {
    let world = world();
    let program = hopty();
    let script = format!(
        "'{0}' run --name inner --detached -- sleep 1000; '{0}' stop inner; echo code $?; exec cat",
        program.display()
    );
    let mut term = world.terminal(&["run", "--name", "outer", "--", "sh", "-c", &script]);
    term.wait_text("code 0");
    end_all(&world);
    term.wait_exit();
}
