//! Notifications arrive: each event, by each way, and not where somebody is there.

#![allow(clippy::unwrap_used)]

mod support;

use std::time::Instant;

use hopty::fs::watch::Watcher;
use hopty::standin::script::{Script, ScriptedReply};
use serde_json::{Value, json};

use support::claude::Kind;
use support::program_files;
use support::world::World;
use support::{LIMIT, limits, wait, wait_for};

/// Each turn makes a file, which needs a permission, and says so.
fn makes_a_file() -> Script {
    Script::each(|request, _| match request.assistant_messages() % 2 {
        0 => ScriptedReply::bash("touch made").filling(1000),
        _ => ScriptedReply::text("Made.").filling(1000),
    })
}

/// A world in which each notification becomes a line of a file, and permissions are asked for.
fn world(kind: Kind, script: Script, after: &str) -> Option<World> {
    let mut world = World::new(kind, script)?;
    world.args.retain(|arg| arg != "--dangerously-skip-permissions");
    tell_file(&mut world, after);
    Some(world)
}

/// The command adds the variables to one file and then its input to another.
fn tell_file(world: &mut World, after: &str) {
    let variables = VARIABLES.map(|name| format!("\"${name}\"")).join(" ");
    let command = format!(
        r"printf '%s\t' {variables} >> '{0}.vars'; echo >> '{0}.vars'; cat >> '{0}'",
        world.home.join("told.jsonl").display()
    );
    world.set("HOPTY_NOTIFY_COMMAND", &command);
    world.set("HOPTY_NOTIFY_AFTER", after);
}

const VARIABLES: [&str; 5] = [
    "HOPTY_NOTIFY_EVENT", "HOPTY_NOTIFY_SESSION", "HOPTY_NOTIFY_TEXT", "HOPTY_NOTIFY_REASON",
    "HOPTY_NOTIFY_DIR",
];

fn whole_lines(world: &World, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(world.home.join(name)).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(str::to_owned).collect()
}

fn told(world: &World) -> Vec<Value> {
    whole_lines(world, "told.jsonl").iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn events_told(world: &World) -> Vec<String> {
    told(world).iter().map(|told| told["event"].as_str().unwrap().to_owned()).collect()
}

/// Waits for the `n`-th notification, from 1. Its variables say the same as its input.
fn wait_told(world: &World, n: usize) -> Value {
    let mut watcher = Watcher::new();
    watcher.add(&world.home);
    let until = Instant::now() + LIMIT;
    while told(world).len() < n {
        let left = until.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "waited in vain for notification {n}: {:?}\n{}", told(world), world.story());
        wait::changed_within(&world.home, &mut watcher, left);
    }
    let told = told(world).remove(n - 1);
    let variables: Vec<String> =
        whole_lines(world, "told.jsonl.vars")[n - 1].split('\t').map(str::to_owned).collect();
    let input = ["event", "session", "text", "reason", "dir"].map(|key| told[key].as_str().unwrap_or(""));
    assert_eq!(variables[..5], input, "the variables of {told}");
    assert_eq!(told["status"]["name"], told["session"]);
    told
}

/// The lines of the host's log about notifications.
fn complaints(world: &World) -> Vec<String> {
    let log = std::fs::read_to_string(world.session_dir().join("host.log")).unwrap_or_default();
    log.lines().filter(|line| line.contains("notification: ")).map(str::to_owned).collect()
}

fn start_detached(world: &World) {
    let mut args = vec!["--detached"];
    args.extend(world.args.iter().map(String::as_str));
    let mut term = world.terminal(&args);
    assert_eq!(term.wait_exit(), 0);
    world.ask(&["wait", "proj", "idle", "--timeout", "60s"]);
}

fn a_blocked_session_and_its_end_of_work_are_told(kind: Kind) {
    let Some(world) = world(kind, makes_a_file(), "0s") else { return };
    start_detached(&world);
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    let blocked = wait_told(&world, 1);
    assert_eq!(
        (&blocked["event"], &blocked["reason"]),
        (&"blocked".into(), &"permission".into()),
        "{blocked}"
    );
    assert_eq!((&blocked["session"], &blocked["status"]["state"]), (&"proj".into(), &"blocked".into()));
    assert_eq!(blocked["dir"].as_str(), world.project.to_str());
    world.ask(&["wait", "proj", "text=Do you want to proceed"]);
    // A dialog of the real program takes no key in its first moment.
    wait_for("the approval", || {
        world.ask(&["send", "proj", "--keys", "enter"]);
        world.hopty(&["wait", "proj", "idle", "--timeout", "3s"]).status.success().then_some(())
    });
    assert_eq!(wait_told(&world, 2)["event"], "idle");
    world.ask(&["stop", "proj"]);
    assert_eq!(told(&world).len(), 2, "somebody ended it: {:?}", told(&world));
    world.assert_nothing_left();
}

fn a_crash_is_told_and_an_end_that_nobody_asked_for(kind: Kind) {
    let Some(mut world) = world(kind, makes_a_file(), "0s") else { return };
    world.set("HOPTY_NOTIFY_EVENTS", "crashed,ended");
    world.set("HOPTY_RECOVERY_QUICK_DEATHS", "2");
    start_detached(&world);
    // Before the first prompt there is nothing to resume.
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    world.wait_state("blocked");
    let conversation = world.status()["conversation"].as_str().unwrap().to_owned();
    wait_for("the transcript", || (world.transcript(&conversation).len() > 1).then_some(()));
    let pid = world.status()["pid"].as_i64().unwrap();
    support::kill(i32::try_from(pid).unwrap(), nix::libc::SIGSEGV);
    assert_eq!(wait_told(&world, 1)["event"], "crashed");
    let again = wait_for("the next run", || world.status()["pid"].as_i64().filter(|now| *now != pid));
    support::kill(i32::try_from(again).unwrap(), nix::libc::SIGSEGV);
    let ended = wait_told(&world, 2);
    assert_eq!((&ended["event"], &ended["status"]["name"]), (&"ended".into(), &"proj".into()), "{ended}");
    // Nobody ended it where its host was told to end, as at a logout.
    start_detached(&world);
    let host = world.status()["host_pid"].as_i64().unwrap();
    support::kill(i32::try_from(host).unwrap(), nix::libc::SIGTERM);
    let ended = wait_told(&world, 3);
    assert!(ended["text"].as_str().unwrap().contains("The host was told to end"), "{ended}");
    world.assert_nothing_left();
}

fn a_usage_limit_and_its_end_are_told(kind: Kind) {
    let resets = limits::now() + 15;
    let script = Script::each(move |_, n| match n {
        0 => limits::step(kind, "seven_day", resets).filling(10_000),
        1 => limits::used_up("seven_day", resets),
        _ => ScriptedReply::text("One million.").filling(11_000),
    });
    let Some(mut world) = limits::subscribed(kind, script) else { return };
    tell_file(&mut world, "1s");
    world.set("HOPTY_RECOVERY_LIMIT_WAIT", "1s");
    limits::without_continuation(&world);
    start_detached(&world);
    world.ask(&["send", "proj", "Count to one million.", "--submit"]);
    let reached = wait_told(&world, 1);
    assert_eq!(reached["event"], "limit_reached", "{reached}");
    let text = reached["text"].as_str().unwrap();
    assert!(text.contains("weekly limit") && text.contains("resets at 20"), "{text}");
    let over = wait_told(&world, 2);
    assert_eq!(over["event"], "limit_over", "{over}");
    assert!(over["text"].as_str().unwrap().contains("has reset"), "{over}");
    assert_eq!(wait_told(&world, 3)["event"], "idle");
    world.ask(&["stop", "proj"]);
    assert_eq!(events_told(&world), ["limit_reached", "limit_over", "idle"], "each once");
    world.assert_nothing_left();
}

/// The person's own hook changes settings when Claude is asked to end.
fn a_hand_over_that_is_held_is_told(kind: Kind) {
    let script = Script::each(|request, _| match request.continued_handoff() {
        Some(id) => ScriptedReply::text(format!("Continuing from handoff {id}.")).filling(3000),
        None => ScriptedReply::text("Hello.").filling(3000),
    });
    let Some(mut world) = World::new(kind, script) else { return };
    tell_file(&mut world, "0s");
    world.set("HOPTY_NOTIFY_EVENTS", "blocked,handover_held,handover_failed,crashed");
    let plant = "mkdir -p .claude; echo '{\"env\":{\"PLANTED\":\"1\"}}' > .claude/settings.local.json";
    let path = world.claude_dir().join("settings.json");
    let mut own: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    own["hooks"] = json!({"SessionEnd": [{"hooks": [{"type": "command", "command": plant}]}]});
    std::fs::write(path, own.to_string()).unwrap();
    start_detached(&world);
    world.ask(&["send", "proj", "Hello?", "--submit"]);
    world.ask(&["wait", "proj", "text=Hello\\."]);
    world.ask(&["wait", "proj", "idle"]);
    world.ask(&["restart", "proj"]);
    let held = wait_told(&world, 1);
    assert_eq!(held["event"], "handover_held", "{held}");
    let text = held["text"].as_str().unwrap();
    assert!(text.contains(".claude/settings.local.json: env added"), "{text}");
    assert_eq!(
        (&held["status"]["phase"], &held["status"]["waiting_for"]),
        (&json!("held"), &json!("settings"))
    );
    world.ask(&["restart", "proj", "--wait"]);
    world.ask(&["stop", "proj"]);
    assert_eq!(events_told(&world), ["handover_held"], "once, and the hand-over went well");
    world.assert_nothing_left();
}

/// Claude changes settings, so a level may not hand over.
fn a_hand_over_that_changed_settings_stop_is_told_as_held(kind: Kind) {
    let plant = "mkdir -p .claude; echo '{\"env\":{\"PLANTED\":\"1\"}}' > .claude/settings.json";
    let script = Script::each(move |request, _| match request.assistant_messages() {
        0 => ScriptedReply::bash(plant).filling(100_000),
        1 => ScriptedReply::bash("echo more").filling(190_000),
        _ => ScriptedReply::text("Done with it.").filling(195_000),
    });
    let Some(mut world) = World::new(kind, script) else { return };
    tell_file(&mut world, "0s");
    world.set("HOPTY_NOTIFY_EVENTS", "blocked,handover_held,handover_failed,idle");
    start_detached(&world);
    world.ask(&["send", "proj", "Plant a variable.", "--submit"]);
    let held = wait_told(&world, 1);
    assert_eq!(held["event"], "handover_held", "{held}");
    let text = held["text"].as_str().unwrap();
    assert!(
        text.starts_with("Held the hand-over requested by a context level: ")
            && text.contains("settings.json: env added")
            && text.contains("`hopty restart` in another terminal"),
        "{text}"
    );
    assert_eq!(wait_told(&world, 2)["event"], "idle");
    world.ask(&["stop", "proj"]);
    assert_eq!(told(&world).len(), 2, "{:?}", told(&world));
    world.assert_nothing_left();
}

/// The store cannot be used, so there is nothing to hand over with.
fn a_hand_over_that_fails_is_told(kind: Kind) {
    let script = Script::each(|_, _| ScriptedReply::text("Hello.").filling(3000));
    let Some(mut world) = World::new(kind, script) else { return };
    tell_file(&mut world, "0s");
    world.set("HOPTY_NOTIFY_EVENTS", "blocked,handover_held,handover_failed");
    std::fs::write(world.claude_dir().join("handoff"), "a file").unwrap();
    start_detached(&world);
    world.ask(&["send", "proj", "Hello?", "--submit"]);
    world.ask(&["wait", "proj", "text=Hello\\."]);
    world.ask(&["wait", "proj", "idle"]);
    world.ask(&["restart", "proj"]);
    let failed = wait_told(&world, 1);
    assert_eq!(failed["event"], "handover_failed", "{failed}");
    let text = failed["text"].as_str().unwrap();
    assert!(text.starts_with("Cancelled the hand-over requested by `hopty restart`: "), "{text}");
    world.ask(&["stop", "proj"]);
    assert_eq!(told(&world).len(), 1, "{:?}", told(&world));
    world.assert_nothing_left();
}

fn a_turn_that_is_interrupted_is_not_told_as_finished(kind: Kind) {
    let Some(mut world) = world(kind, makes_a_file(), "1500ms") else { return };
    world.set("HOPTY_NOTIFY_EVENTS", "idle");
    start_detached(&world);
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    world.ask(&["wait", "proj", "text=Do you want to proceed"]);
    // A dialog of the real program takes no key in its first moment.
    wait_for("the refusal", || {
        world.ask(&["send", "proj", "--keys", "escape"]);
        world.hopty(&["wait", "proj", "idle", "--timeout", "3s"]).status.success().then_some(())
    });
    wait_for("the reason", || {
        world.ask(&["why", "proj"]).contains(": you interrupted Claude.").then_some(())
    });
    // Longer than the delay.
    assert!(!world.hopty(&["wait", "proj", "busy", "--timeout", "3s"]).status.success());
    assert!(told(&world).is_empty(), "{:?}", told(&world));
    world.ask(&["send", "proj", "Say it.", "--submit"]);
    assert_eq!(wait_told(&world, 1)["event"], "idle");
    let why = world.ask(&["why", "proj"]);
    assert!(why.contains(": Claude finished its turn."), "{why}");
    world.ask(&["stop", "proj"]);
    assert_eq!(events_told(&world), ["idle"]);
    world.assert_nothing_left();
}

support::both! {
    a_blocked_session_and_its_end_of_work_are_told,
    a_turn_that_is_interrupted_is_not_told_as_finished,
    a_crash_is_told_and_an_end_that_nobody_asked_for,
    a_usage_limit_and_its_end_are_told,
    a_hand_over_that_is_held_is_told,
    a_hand_over_that_changed_settings_stop_is_told_as_held,
    a_hand_over_that_fails_is_told,
}

/// The real program writes no transcript when it is told so; the stand-in agent always does.
#[test]
fn a_turn_that_is_not_in_the_transcript_is_told_once() {
    let Some(mut world) = world(Kind::Real, Script::each(|_, _| ScriptedReply::text("Hello.")), "0s") else {
        return;
    };
    world.set("CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1");
    world.set("HOPTY_NOTIFY_EVENTS", "transcript");
    start_detached(&world);
    world.ask(&["send", "proj", "Hello?", "--submit"]);
    let told_of = wait_told(&world, 1);
    assert_eq!(told_of["event"], "transcript", "{told_of}");
    assert!(told_of["text"].as_str().unwrap().contains("is not in its transcript"), "{told_of}");
    // The fresh conversation would never hear of that turn.
    let refused = world.hopty(&["restart", "proj", "--wait"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && said.contains("Claude's last turn is not in its transcript"),
        "{said}"
    );
    let answer = world.hopty(&["answer", "proj"]);
    let said = String::from_utf8_lossy(&answer.stderr).into_owned();
    assert!(said.contains("Claude has not written its answer to the transcript"), "{said}");
    world.ask(&["stop", "proj"]);
    assert_eq!(told(&world).len(), 1);
    world.assert_nothing_left();
}

#[test]
fn attached_terminals_ring() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    world.set("HOPTY_NOTIFY_TERMINAL", "osc9,osc99,osc777,bell");
    world.set("HOPTY_NOTIFY_EVENTS", "blocked");
    let term = world.start(&[]);
    term.wait_box();
    let before = world.hopty(&["screen", "proj"]).stdout;
    term.submit("Make it.");
    let text = "Claude waits for your answer (permission)";
    for sequence in [
        format!("\x1b]9;hopty: proj: {text}\x07"),
        format!("\x1b]99;;hopty: proj: {text}\x1b\\"),
        format!("\x1b]777;notify;hopty: proj;{text}\x07\x07"),
    ] {
        wait_for("the notification", || {
            String::from_utf8_lossy(&term.bytes()).contains(&sequence).then_some(())
        });
    }
    assert_ne!(before, world.hopty(&["screen", "proj"]).stdout, "the dialog is drawn");
    term.send("\r");
    world.wait_state("idle");
    world.leave(term);
}

/// What is told later shows that the delay of what a key dropped is over.
#[test]
fn a_key_in_the_meantime_keeps_it_silent() {
    let world = world(Kind::StandIn, makes_a_file(), "1500ms").unwrap();
    let term = world.start(&[]);
    term.wait_box();
    term.submit("Make it.");
    world.wait_state("blocked");
    term.wait_text("Do you want to proceed");
    term.send("\r");
    let idle = wait_told(&world, 1);
    assert_eq!(idle["event"], "idle", "{idle}");
    world.leave(term);
    assert_eq!(events_told(&world), ["idle"]);
}

/// A time zone in which it is now `clock`, in seconds after midnight.
fn time_zone(clock: i64) -> String {
    let day = i64::try_from(limits::now()).unwrap() % 86_400;
    // POSIX counts west of Greenwich.
    let west = (day - clock).rem_euclid(86_400);
    // At most 24 hours either way.
    format!("TST+{:02}:{:02}:{:02}", west / 3600, west / 60 % 60, west % 60)
}

#[test]
fn in_quiet_hours_nothing_is_told() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    world.set("TZ", &time_zone(3 * 3600));
    world.set("HOPTY_NOTIFY_QUIET_HOURS", "22:00-07:30");
    world.set("HOPTY_RECOVERY_QUICK_DEATHS", "1");
    start_detached(&world);
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    world.ask(&["wait", "proj", "blocked"]);
    let pid = world.status()["pid"].as_i64().unwrap();
    support::kill(i32::try_from(pid).unwrap(), nix::libc::SIGKILL);
    world.ask(&["wait", "proj", "exit"]);
    world.assert_nothing_left();
    assert!(told(&world).is_empty(), "blocked, crashed and ended: {:?}", told(&world));
}

/// The dialog that was answered is not told at their end, the one that stands is.
#[test]
fn at_the_end_of_quiet_hours_what_is_still_true_is_told() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    let left = 12;
    world.set("TZ", &time_zone(7 * 3600 + 30 * 60 - left));
    world.set("HOPTY_NOTIFY_QUIET_HOURS", "22:00-07:30");
    let began = Instant::now();
    start_detached(&world);
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    world.ask(&["wait", "proj", "blocked"]);
    world.ask(&["send", "proj", "--keys", "enter"]);
    world.ask(&["wait", "proj", "idle"]);
    world.ask(&["send", "proj", "Make it again.", "--submit"]);
    world.ask(&["wait", "proj", "blocked"]);
    let happened = began.elapsed();
    let blocked = wait_told(&world, 1);
    assert_eq!(blocked["event"], "blocked", "{blocked}");
    assert!(began.elapsed().as_secs() + 2 >= u64::try_from(left).unwrap(), "after {:?}", began.elapsed());
    assert!(happened.as_secs() < u64::try_from(left).unwrap(), "the machine is too slow: {happened:?}");
    world.ask(&["stop", "proj"]);
    assert_eq!(events_told(&world), ["blocked"]);
    world.assert_nothing_left();
}

/// Answers the dialog, and has it asked again: two events of each kind.
fn twice_blocked(world: &World) {
    start_detached(world);
    for prompt in ["Make it.", "Make it again."] {
        world.ask(&["send", "proj", prompt, "--submit"]);
        world.ask(&["wait", "proj", "blocked"]);
        world.ask(&["send", "proj", "--keys", "enter"]);
        world.ask(&["wait", "proj", "idle"]);
    }
}

/// A directory with a `notify-send` that is this script.
fn with_desktop(world: &mut World, script: &str) {
    let bin = world.root.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("notify-send");
    program_files::write(&program, script);
    world.set("HOPTY_NOTIFY_DESKTOP", "true");
    world.set("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
}

#[test]
fn the_desktop_is_told() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    let shown = world.home.join("shown");
    with_desktop(&mut world, &format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{}'\n", shown.display()));
    world.set("HOPTY_NOTIFY_COMMAND", "");
    world.set("HOPTY_NOTIFY_EVENTS", "blocked");
    start_detached(&world);
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    let wanted = ["--app-name=hopty", "--", "hopty: proj", "Claude waits for your answer (permission)"];
    wait_for("the desktop", || (whole_lines(&world, "shown") == wanted).then_some(()));
    world.ask(&["stop", "proj"]);
    assert_eq!(complaints(&world), Vec::<String>::new());
    world.assert_nothing_left();
}

/// A repository may bring a `notify-send` along, and a person's `PATH` may lead there. Then there is none,
/// which is logged once, and `hopty check` says what to do.
#[test]
fn no_program_of_a_project_shows_a_notification() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    let ran = world.home.join("ran");
    with_desktop(&mut world, &format!("#!/bin/sh\necho ran >> '{}'\n", ran.display()));
    let theirs = world.project.join("bin");
    std::fs::rename(world.root.path().join("bin"), &theirs).unwrap();
    // What else is in these directories may be a `notify-send` of the machine's.
    let tools = world.root.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    for tool in ["sh", "cat"] {
        std::os::unix::fs::symlink(format!("/bin/{tool}"), tools.join(tool)).unwrap();
    }
    world.set("PATH", &format!("{}:{}:bin", theirs.display(), tools.display()));
    world.set("HOPTY_NOTIFY_COMMAND", "");
    twice_blocked(&world);
    let missing = "notify-send is not installed, so `notify.desktop` shows nothing";
    wait_for("the complaint", || complaints(&world).iter().any(|line| line.contains(missing)).then_some(()));
    let found = String::from_utf8(world.hopty(&["check"]).stdout).unwrap();
    assert!(found.contains(missing) && found.contains("libnotify-bin"), "{found}");
    world.ask(&["stop", "proj"]);
    assert_eq!(complaints(&world).len(), 1, "{:?}", complaints(&world));
    assert!(!ran.exists(), "nothing of the repository ran");
    world.assert_nothing_left();
}

/// A command that is missing, one that fails and a desktop without its service cost a line each, however
/// often they are needed.
#[test]
fn what_fails_is_logged_once_and_nothing_stops() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    let runs = world.home.join("runs");
    let command = format!(
        "echo ran >> '{}'; case $HOPTY_NOTIFY_EVENT in blocked) exit 7;; *) /nowhere/command;; esac",
        runs.display()
    );
    world.set("HOPTY_NOTIFY_COMMAND", &command);
    with_desktop(&mut world, "#!/bin/sh\nexit 1\n");
    twice_blocked(&world);
    wait_for("two events of two kinds", || (whole_lines(&world, "runs").len() == 4).then_some(()));
    world.ask(&["stop", "proj"]);
    world.assert_nothing_left();
    let complaints = complaints(&world);
    for said in
        ["notify.command exited with 7", "notify.command exited with 127", "notify-send exited with 1"]
    {
        assert_eq!(
            complaints.iter().filter(|line| line.ends_with(said)).count(),
            1,
            "{said}: {complaints:?}"
        );
    }
    assert_eq!(complaints.len(), 3, "{complaints:?}");
}

/// No second one is started beside it, the session answers meanwhile, and the next is told afterwards.
#[test]
fn a_command_that_hangs_is_killed_and_logged_once() {
    let mut world = world(Kind::StandIn, makes_a_file(), "0s").unwrap();
    let pids = world.home.join("pids");
    let hang = format!("echo $$ >> '{}'; exec sleep 1000", pids.display());
    world.set(
        "HOPTY_NOTIFY_COMMAND",
        &format!("[ $HOPTY_NOTIFY_EVENT = idle ] || {{ {hang}; }}; cat >> told.jsonl"),
    );
    start_detached(&world);
    world.ask(&["send", "proj", "Make it.", "--submit"]);
    let pid = wait_for("the command", || whole_lines(&world, "pids").first()?.parse::<i32>().ok());
    world.ask(&["send", "proj", "--keys", "enter"]);
    world.ask(&["wait", "proj", "idle", "--timeout", "5s"]);
    assert!(wait::ends_within(pid, LIMIT), "it is killed");
    wait_for("the next one", || std::fs::read_to_string(world.project.join("told.jsonl")).ok());
    assert_eq!(whole_lines(&world, "pids").len(), 1);
    world.ask(&["stop", "proj"]);
    world.assert_nothing_left();
    let complaints = complaints(&world);
    assert!(
        complaints.len() == 1
            && complaints[0].ends_with("notify.command took longer than 10 s and was killed"),
        "{complaints:?}"
    );
}
