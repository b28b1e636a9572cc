//! The stand-in agent: a small program that behaves like Claude Code where hopty looks at it.
//!
//! It talks to the Messages API at `ANTHROPIC_BASE_URL` (normally the stand-in's), runs tools and hooks,
//! writes transcript, session and task files, draws the prompt box and the dialogs, and ends as Claude Code
//! ends. So the demo and most tests need no account, no network and no Claude; the same script can then drive
//! the real program. Behaviour is that of version 2.1.329 as measured, where it matters to a supervisor. It
//! has no sub-agents, no background shells, no automatic compaction, no status line, no pickers and no
//! first-run setup beyond the trust question.
//!
//! For tests it can misbehave: `HOPTY_AGENT_START_MS` (sleep before anything), `HOPTY_AGENT_SWALLOW_ENTERS`
//! (so many Enters are lost), `HOPTY_AGENT_EXIT_MS` (sleep on SIGTERM), `HOPTY_AGENT_IGNORE_TERM`,
//! `HOPTY_AGENT_CRASH_AFTER` (end without a word instead of one more request).

mod agent_draft;
mod agent_drawing;
mod agent_files;
mod agent_input;
mod agent_screen;
mod agent_shared;
mod agent_terminal;
mod app;
mod batch;
mod children;
mod engine;
mod fault;
mod hook_outcome;
mod hook_settings;
mod model_client;
mod options;
mod presence;
mod resumed_history;
mod task_tools;
mod tools;
mod transcript;
mod turn;

use std::collections::VecDeque;
use std::env;
use std::io::{self, IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::json;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use uuid::Uuid;

use agent_files::World;
use agent_screen::{AgentScreen, Renderer};
use agent_shared::{AgentEvent, AgentPrompt, AgentShared, Live, PayloadScope, Post};
use agent_terminal::AgentTerminal;
use app::{App, Parts};
use children::Children;
use engine::{Engine, PromptSource};
use hook_settings::Hooks;
use model_client::{Cancel, ModelClient};
use options::{AgentBegin, Options, Parsed};
use presence::Presence;
use transcript::{Chain, Persistence, TranscriptOutput};

/// Longest prompt that is read from a pipe, in bytes.
const MAX_INPUT: u64 = 10 * 1024 * 1024;

/// Runs the agent with Claude Code's command line (without the program's name); returns the exit code.
pub fn main(args: &[String]) -> i32 {
    let options = match options::parse(args) {
        Parsed::Run(options) => options,
        Parsed::Say(text) => {
            println!("{text}");
            return 0;
        }
        Parsed::Fail(text) => return fail(&text),
    };
    thread::sleep(Duration::from_millis(app::number("HOPTY_AGENT_START_MS").unwrap_or(0) as u64));
    let prints = options.print || !io::stdin().is_terminal() || !io::stdout().is_terminal();
    match start(options) {
        Ok(started) if prints => print(started),
        Ok(started) => interact(started).unwrap_or_else(|e| fail(&format!("Error: {e}"))),
        Err(text) => fail(&text),
    }
}

fn fail(text: &str) -> i32 {
    eprintln!("{text}");
    1
}

/// What is there before the terminal is touched.
struct Started {
    shared: Arc<AgentShared>,
    events: mpsc::Receiver<AgentEvent>,
    wake: UnixStream,
}

/// Finds the conversation and everything that the threads share.
fn start(options: Options) -> Result<Started, String> {
    let error = |e: io::Error| format!("Error: {e}");
    let world = World::from_env();
    let session = match &options.begin {
        AgentBegin::New(None) => Uuid::new_v4().to_string(),
        AgentBegin::New(Some(id)) if world.transcript(id).exists() => {
            return Err(format!("Error: Session ID {id} is already in use."));
        }
        AgentBegin::New(Some(id)) => id.clone(),
        AgentBegin::Resume(id) if world.transcript(id).exists() => id.clone(),
        AgentBegin::Resume(id) => return Err(format!("No conversation found with session ID: {id}")),
        AgentBegin::Continue => world.newest_conversation().ok_or("No conversation found to continue")?,
    };
    // Inherited from another agent's tool or hook, it silences the files (measured).
    let forced = env::var_os("CLAUDE_CODE_FORCE_SESSION_PERSISTENCE").is_some();
    let child = env::var_os("CLAUDE_CODE_CHILD_SESSION").is_some() && !forced;
    let persistence = if child { Persistence::Off } else { Persistence::On };
    let (sender, events) = mpsc::channel();
    let (wake, waker) = UnixStream::pair().map_err(error)?;
    wake.set_nonblocking(true).and_then(|()| waker.set_nonblocking(true)).map_err(error)?;
    let shared = AgentShared {
        hooks: Hooks::load(&world, options.settings.as_deref(), &options.plugin_dirs),
        client: ModelClient::from_env(),
        children: Children::default(),
        cancel: Cancel::default(),
        transcript: TranscriptOutput::new(world.transcript(&session), persistence),
        presence: Mutex::new(Presence::new(&world.config.join("sessions"), persistence)),
        queue: Mutex::new(VecDeque::new()),
        chain: Mutex::new(Chain::new(&session, &world.cwd.to_string_lossy(), &world.git_branch())),
        live: Mutex::new(Live {
            session,
            prompt_id: None,
            mode: options.mode,
            may_bypass: options.may_bypass,
            granted: false,
            place: world.cwd.clone(),
        }),
        post: Post::new(sender, waker),
        options,
        world,
    };
    Ok(Started { shared: Arc::new(shared), events, wake })
}

/// Answers one prompt without a terminal. No dialog, not even about trust, as in the real program.
fn print(started: Started) -> i32 {
    let shared = started.shared;
    let mut text = shared.options.prompt.clone().unwrap_or_default();
    if !io::stdin().is_terminal() {
        let mut piped = String::new();
        // What is not text is not taken; the prompt itself still stands.
        let _ = io::stdin().take(MAX_INPUT).read_to_string(&mut piped);
        text = [text, piped].into_iter().filter(|t| !t.trim().is_empty()).collect::<Vec<_>>().join("\n");
    }
    if text.trim().is_empty() {
        lock(&shared.presence).vanish();
        return fail(
            "Error: Input must be provided either through stdin or as a prompt argument when using --print",
        );
    }
    // Nobody can be asked: what would need a yes is refused.
    thread::spawn(move || {
        for event in started.events {
            if let AgentEvent::Ask(question) = event {
                let _ = question.reply.send(agent_shared::PermissionAnswer::No);
            }
        }
    });
    let mut engine = Engine::new(Arc::clone(&shared));
    engine.start();
    engine.turn(&AgentPrompt { shown: text.clone(), text, contexts: Vec::new() }, PromptSource::Typed);
    shared.transcript.end();
    shared.fire("SessionEnd", PayloadScope::Session, "other", json!({"reason": "other"}));
    lock(&shared.presence).vanish();
    println!("{}", engine.last_text);
    i32::from(engine.failed)
}

/// Runs in the terminal.
fn interact(started: Started) -> io::Result<i32> {
    let shared = started.shared;
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGWINCH, SIGCONT])?;
    let for_signals = Arc::clone(&shared);
    thread::spawn(move || {
        for signal in signals.forever() {
            for_signals.post.send(AgentEvent::Signal(signal));
        }
    });
    let terminal = AgentTerminal::raw()?;
    let fullscreen = env::var("CLAUDE_CODE_NO_FLICKER").is_ok_and(|v| v == "1");
    let renderer = if fullscreen { Renderer::Fullscreen } else { Renderer::Inline };
    let screen = AgentScreen::new(renderer, terminal.size());
    let (commands, orders) = mpsc::channel();
    let parts =
        Parts { shared, terminal, screen, commands, orders, events: started.events, wake: started.wake };
    Ok(App::new(parts).run())
}

/// Locks; a thread that panicked while it held the lock left nothing that could not be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
