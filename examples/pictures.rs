//! Makes the pictures of the README again, with `hopty` from the same build:
//!
//! ```sh
//! just pictures      # writes docs/pictures/demo.svg and docs/pictures/dash.svg
//! ```
//!
//! The demo is recorded as it plays. The dashboard shows three sessions of the stand-in for Claude, of which
//! one waits for permission. Nothing of the person's own is read: both have a home and a runtime directory of
//! their own.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use hopty::core::cast::{CastEvent, CastEventKind, CastHeader, CastWriter};
use hopty::recording::moment::Moment;
use hopty::recording::play_time::PlayTime;
use hopty::recording::svg::{AnimationRange, animated_svg};
use hopty::recording::timeline::Timeline;
use hopty::screen::Screen;
use hopty::standin::api::Api;
use hopty::standin::home;
use hopty::standin::script::{Script, ScriptedReply};
use hopty::testing::test_terminal::{ProgramUnderTest, PumpEnd, TapEvent, TestTerminal};

const KEY: &str = "sk-ant-test-0123456789-abcdefghijklmnopqrst";
/// The demo's terminal and the dashboard's, in columns and rows.
const DEMO: (u16, u16) = (100, 30);
const DASH: (u16, u16) = (100, 24);
/// How long anything is waited for.
const LIMIT: Duration = Duration::from_secs(90);

/// The sessions of the dashboard: name, prompt, arguments of Claude.
const SESSIONS: [(&str, &str, &[&str]); 3] = [
    ("docs", "Write down how the valves are tested.", &[]),
    ("inventory", "List what is in store, shelf by shelf.", &["--dangerously-skip-permissions"]),
    ("rocket", "Make the rocket pass all six stages.", &[]),
];

fn main() -> anyhow::Result<()> {
    let to = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "docs/pictures".to_owned()));
    std::fs::create_dir_all(&to)?;
    let own = std::env::current_exe()?;
    let hopty = own.parent().and_then(Path::parent).context("no build directory")?.join("hopty");
    ensure!(hopty.exists(), "{} is missing: `cargo build` first", hopty.display());
    demo(&hopty, &to.join("demo.svg"))?;
    dash(&hopty, &to.join("dash.svg"))
}

/// A home and a runtime directory, and the environment in them.
fn world(root: &Path) -> anyhow::Result<(PathBuf, Vec<(OsString, OsString)>)> {
    let (home, run) = (root.join("home"), root.join("run"));
    for dir in [&home, &run] {
        std::fs::create_dir(dir)?;
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
    }
    let mut env: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), home.clone().into()),
        ("XDG_RUNTIME_DIR".into(), run.into()),
        ("TERM".into(), "xterm-256color".into()),
        ("LANG".into(), "C.UTF-8".into()),
        ("SHELL".into(), "/bin/sh".into()),
    ];
    env.extend(std::env::var_os("PATH").map(|path| ("PATH".into(), path)));
    Ok((home, env))
}

/// Waits until the screen is as wanted, or the program ends.
fn wait_until(terminal: &mut TestTerminal, mut done: impl FnMut(&Screen) -> bool) -> anyhow::Result<()> {
    let until = Instant::now() + LIMIT;
    while !done(terminal.screen()) {
        match terminal.pump(Some(until)) {
            PumpEnd::Ended(_) => break,
            PumpEnd::Frame(_) => {}
            _ => bail!("waited in vain; the screen shows:\n{}", terminal.screen().lines().join("\n")),
        }
    }
    Ok(())
}

/// Records a program until the screen is as wanted, or it ends. Gives the asciicast.
fn record(program: &ProgramUnderTest, done: impl FnMut(&Screen) -> bool) -> anyhow::Result<Vec<u8>> {
    let events = Arc::new(Mutex::new(Vec::new()));
    let mut terminal = TestTerminal::start(program)?;
    let tapped = Arc::clone(&events);
    terminal.set_tap(Box::new(move |at, event| {
        if let TapEvent::Output(bytes) = event {
            let kind = CastEventKind::Output(bytes.to_vec());
            let event = CastEvent { at_us: at.as_micros() as u64, kind };
            tapped.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        }
    }));
    wait_until(&mut terminal, done)?;
    terminal.finish();
    let mut lines = CastHeader::new(program.cols, program.rows).line().into_bytes();
    let mut writer = CastWriter::new();
    for event in events.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        writer.event(event, &mut lines);
    }
    writer.finish(&mut lines);
    Ok(lines)
}

/// The demo up to where it leaves its screen.
fn demo(hopty: &Path, to: &Path) -> anyhow::Result<()> {
    let root = tempfile::Builder::new().prefix("hopty-").tempdir()?;
    let (home, env) = world(root.path())?;
    let mut program = ProgramUnderTest::new([hopty.as_os_str(), "demo".as_ref()]);
    (program.env, program.cwd, (program.cols, program.rows)) = (env, home, DEMO);
    let mut began = false;
    let cast = record(&program, |screen| {
        began |= screen.alternate();
        began && !screen.alternate()
    })?;
    let timeline = Timeline::load(&cast)?;
    let time = PlayTime::new(&timeline, Some(2_000_000));
    let (mut moment, mut shown) = (Moment::new(&timeline), Vec::new());
    moment.seek(0);
    loop {
        if moment.screen().alternate()
            && moment.screen().lines().iter().any(|line| line.contains("conversation"))
        {
            shown.push(moment.at_us());
        }
        if !moment.step_forward() {
            break;
        }
    }
    let (Some(from_us), Some(to_us)) = (shown.first().copied(), shown.last().copied()) else {
        bail!("the demo showed nothing");
    };
    let film = animated_svg(&timeline, AnimationRange { time: &time, from_us, to_us });
    ensure!(film.fits_to_us.is_none(), "{} bytes are too many", film.svg.len());
    println!("{}: {} frames, {} bytes", to.display(), film.frames, film.svg.len());
    Ok(std::fs::write(to, film.svg)?)
}

/// The dashboard with its sessions, as soon as each is in the state that the picture is about.
fn dash(hopty: &Path, to: &Path) -> anyhow::Result<()> {
    let root = tempfile::Builder::new().prefix("hopty-").tempdir()?;
    let (home, mut env) = world(root.path())?;
    let api = Api::start(Script::each(|request, _| {
        let steps = request.assistant_messages() as u64 + 1;
        if request.contains(SESSIONS[2].1) {
            // An answer that needs no permission comes first: while the question stands, the transcript does
            // not have the one that asks.
            if steps == 1 {
                let input = serde_json::json!({"file_path": "stage_5.toml"});
                return ScriptedReply::tool("Read", input).saying("Which stages pass?").filling(94_000);
            }
            // The question of an edit shows no path of this machine.
            let input = serde_json::json!({"file_path": "stage_5.toml", "old_string": "pressure_bar = 40",
                "new_string": "pressure_bar = 55"});
            return ScriptedReply::tool("Edit", input)
                .saying("Four of the six stages pass; stage 5 needs more pressure.")
                .filling(96_000);
        }
        if request.contains(SESSIONS[1].1) {
            return ScriptedReply::bash("sleep 600").saying("Shelf 3 of 12.").filling(40_000 + steps * 8_000);
        }
        ScriptedReply::text(
            "The valves are tested with water first, then with nitrogen; docs/valves.md has the steps.",
        )
        .filling(31_000)
    }))?;
    let claude = root.path().join("claude");
    std::fs::write(&claude, format!("#!/bin/sh\nexec '{}' __agent \"$@\"\n", hopty.display()))?;
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755))?;
    let pairs = home::environment(&home, &api.url(), KEY);
    env.extend(pairs.into_iter().map(|(name, value)| (name.into(), value.into())));
    env.push(("HOPTY_PROGRAM_CLAUDE".into(), claude.into()));
    let run = |dir: &Path, args: &[&str]| {
        let mut command = Command::new(hopty);
        command.args(args).env_clear().envs(env.iter().cloned()).current_dir(dir).stdin(Stdio::null());
        command.output()
    };
    let made = sessions(&home, &run).and_then(|()| {
        let mut program = ProgramUnderTest::new([hopty.as_os_str(), "dash".as_ref()]);
        (program.env, program.cwd, (program.cols, program.rows)) = (env.clone(), home.clone(), DASH);
        let mut terminal = TestTerminal::start(&program)?;
        let shows = |screen: &Screen, words: &[&str]| {
            let text = screen.lines().join("\n");
            words.iter().all(|word| text.contains(word))
        };
        // The context of each is known, too.
        let is_whole = |screen: &Screen| {
            let rows = screen.lines();
            let has = |name: &str| rows.iter().any(|row| row.contains(name) && row.contains('%'));
            SESSIONS.iter().all(|(name, ..)| has(name))
        };
        wait_until(&mut terminal, |screen| shows(screen, &["blocked", "busy", "idle"]) && is_whole(screen))?;
        // To the one that is blocked.
        terminal.send(b"\t")?;
        wait_until(&mut terminal, |screen| shows(screen, &["blocked", "busy", "idle", "Do you want to"]))?;
        let svg = terminal.screen().svg(hopty::screen::PictureLines::Screen);
        terminal.finish();
        println!("{}: {} bytes", to.display(), svg.len());
        Ok(std::fs::write(to, svg)?)
    });
    for (name, ..) in SESSIONS {
        let _ = run(&home, &["stop", name, "--kill"]);
    }
    made
}

/// Starts the sessions and waits until the first is idle, the second busy and the third blocked.
fn sessions(
    home: &Path,
    run: &dyn Fn(&Path, &[&str]) -> std::io::Result<std::process::Output>,
) -> anyhow::Result<()> {
    for ((name, prompt, args), state) in SESSIONS.into_iter().zip(["idle", "busy", "blocked"]) {
        let dir = home.join(name);
        std::fs::create_dir(&dir)?;
        home::seed(home, &dir, KEY)?;
        let done = run(&dir, &[&["--detached", "--model", "claude-sonnet-4-5"], args, &[prompt]].concat())?;
        ensure!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        let done = run(&dir, &["wait", name, state, "--timeout", "30s"])?;
        ensure!(done.status.success(), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    }
    Ok(())
}
