//! Starts the agent and runs it in a terminal, or for one prompt (`--print`).

use std::collections::VecDeque;
use std::env;
use std::io::{self, IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::json;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use uuid::Uuid;

use super::agent_files::AgentDirs;
use super::agent_screen::{AgentScreen, Renderer};
use super::agent_shared::{
    AgentEvent, AgentPrompt, AgentShared, AgentState, EventSender, PayloadScope, lock,
};
use super::agent_terminal::AgentTerminal;
use super::app::{App, Parts};
use super::children::Children;
use super::engine::{Engine, PromptSource};
use super::hook_settings::Hooks;
use super::model_client::{Cancel, ModelClient};
use super::options::{AgentBegin, Options, ParsedCommandLine};
use super::presence::Presence;
use super::transcript::{Chain, Persistence, TranscriptOutput};
use super::{agent_shared, app, options};

/// The longest prompt that is read from a pipe, in bytes.
const MAX_INPUT: u64 = 10 * 1024 * 1024;

/// Runs the agent with Claude Code's command line (without the program's name); returns the exit code.
pub fn main(args: &[String]) -> i32 {
    let options = match options::parse(args) {
        ParsedCommandLine::Run(options) => options,
        ParsedCommandLine::Say(text) => {
            println!("{text}");
            return 0;
        }
        ParsedCommandLine::Fail(text) => return fail(&text),
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

/// An agent before it touches the terminal.
struct Started {
    shared: Arc<AgentShared>,
    events: mpsc::Receiver<AgentEvent>,
    wake: UnixStream,
}

/// Finds the conversation, and creates everything that the threads share.
fn start(options: Options) -> Result<Started, String> {
    let error = |e: io::Error| format!("Error: {e}");
    let world = AgentDirs::from_env();
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
    // If inherited from another agent's tool or hook, it disables the files (measured).
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
        live: Mutex::new(AgentState {
            session,
            prompt_id: None,
            mode: options.mode,
            may_bypass: options.may_bypass,
            granted: false,
            place: world.cwd.clone(),
        }),
        post: EventSender::new(sender, waker),
        options,
        world,
    };
    Ok(Started { shared: Arc::new(shared), events, wake })
}

/// Answers one prompt without a terminal. Shows no dialog, not even about trust, as in the real program.
fn print(started: Started) -> i32 {
    let shared = started.shared;
    let mut text = shared.options.prompt.clone().unwrap_or_default();
    if !io::stdin().is_terminal() {
        let mut piped = String::new();
        // Input that is not text is ignored; the prompt itself remains.
        let _ = io::stdin().take(MAX_INPUT).read_to_string(&mut piped);
        text = [text, piped].into_iter().filter(|t| !t.trim().is_empty()).collect::<Vec<_>>().join("\n");
    }
    if text.trim().is_empty() {
        lock(&shared.presence).vanish();
        return fail(
            "Error: Input must be provided either through stdin or as a prompt argument when using --print",
        );
    }
    // Nobody can be asked, so everything that needs permission is refused.
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
