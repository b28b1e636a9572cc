//! From the arguments of the process to a verb and its exit code.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use super::args::{self, Cli, Verb};
use super::config::{self, ConfigVerb};
use super::error::VerbError;
use super::exit_codes::USAGE;
use super::prose::fit;
use super::{
    ask, attach_session, back, backup, channel, check, completions, context, conversations, dash, demo,
    detach_and_stop, events, handoff, hook, list, man, play, record, remove, rename, replay, restart,
    restore, run, screen, send, setup, slash, status, statusline, test, token_usage, unknown_verb,
    usage_error, version, wait,
};
use crate::client::start::Forked;
use crate::fs::session;
use crate::testing::hook_probe::{self, HOOK_ARG};
use crate::testing::pause_window;
use crate::testing::test_pause::WINDOW_ARG;

/// Runs the verb named by the arguments (without the program's name), or Claude, and returns the exit code.
pub fn main(args: Vec<OsString>) -> u8 {
    if let Some(code) = internal_verb(&args) {
        return code;
    }
    match args.first().and_then(|word| word.to_str()) {
        Some(word) if args::verbs().any(|verb| verb == word) => hopty_verb(&args),
        Some("--") => start(args.into_iter().skip(1).collect()),
        _ => match unknown_verb::refusal(&args, running_sessions) {
            Some(refused) => refused.print("", asks_json(&args)),
            None => start(args),
        },
    }
}

/// Runs a verb that Claude or hopty itself calls; `None` for any other word. It bypasses the parser, because
/// hooks run after every tool call and must be quick.
fn internal_verb(args: &[OsString]) -> Option<u8> {
    let verb = args.first()?.to_str()?;
    let word = |n: usize| args.get(n).and_then(|word| word.to_str());
    let words = || args.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    Some(match verb {
        crate::standin::AGENT_ARG => {
            u8::try_from(crate::standin::agent::main(&words().collect::<Vec<_>>())).unwrap_or(1)
        }
        HOOK_ARG => hook_probe::main(&words().collect::<Vec<_>>()),
        WINDOW_ARG => {
            let socket = args.get(1).map(PathBuf::from).unwrap_or_default();
            let shown = pause_window::run(&socket);
            shown.map_or_else(|error| VerbError::from(error).print("test", false), |()| 0)
        }
        "slash" => slash::main(&args.iter().skip(1).filter_map(|word| word.to_str()).collect::<Vec<_>>()),
        "hook" | "statusline" if matches!(word(1), Some("--help" | "-h")) => {
            let help = if verb == "hook" { hook::HELP } else { statusline::HELP };
            let _ = writeln!(std::io::stdout(), "{}", fit(help, 0));
            0
        }
        // Claude's hooks have no terminal; a person would wait for nothing.
        "hook" | "statusline" if std::io::stdin().is_terminal() => {
            VerbError::new(USAGE, "only Claude calls this verb, with JSON on standard input")
                .hint(format!("`hopty {verb} --help` explains it"))
                .print(verb, false)
        }
        "statusline" => statusline::main(word(1)),
        "hook" => hook::main(word(1), word(2)),
        _ => return None,
    })
}

/// Parses and runs one of hopty's verbs.
fn hopty_verb(args: &[OsString]) -> u8 {
    let json = asks_json(args);
    let host = if starts_session(args) {
        // Before anything is parsed, so that the host holds neither parser nor configuration.
        Some(Forked::new())
    } else {
        default_sigpipe();
        None
    };
    let asked = || usage_error::asked(args.iter().filter_map(|arg| arg.to_str()));
    let cli = match Cli::read(args) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            return usage_error::misused(&error, &asked()).print(&asked(), json);
        }
        Err(help) => {
            default_sigpipe();
            return help.print().map_or_else(|error| VerbError::from(error).print(&asked(), false), |()| 0);
        }
    };
    verb(cli.verb, host).unwrap_or_else(|error| error.print(&asked(), json))
}

/// Whether the verb starts a session: `run`, and `record -- COMMAND` without a tape.
fn starts_session(args: &[OsString]) -> bool {
    match args.first().and_then(|word| word.to_str()) {
        Some("run") => true,
        Some("record") => {
            let mut own = args.iter().take_while(|arg| *arg != "--");
            let is_tape = |arg: &OsString| *arg == "--tape" || arg.to_string_lossy().starts_with("--tape=");
            args.iter().any(|arg| arg == "--") && !own.any(is_tape)
        }
        _ => false,
    }
}

fn running_sessions() -> Vec<String> {
    session::live_names(&run::paths_or_nowhere()).iter().map(ToString::to_string).collect()
}

/// Whether errors are printed as JSON, too. Options after `run` may be the program's.
fn asks_json(args: &[OsString]) -> bool {
    let mut own = args.iter().take_while(|arg| *arg != "--");
    args.first().is_some_and(|verb| verb != "run") && own.any(|arg| arg == "--json")
}

fn verb(verb: Verb, host: Option<std::io::Result<Forked>>) -> Result<u8, VerbError> {
    match verb {
        Verb::Run(options) => run::program(options, None, host.unwrap_or_else(Forked::new)),
        Verb::Ls(options) => list::ls(&options),
        Verb::Attach(options) => attach_session::attach(options.name.as_deref(), options.read_only),
        Verb::Detach { all: true, json, .. } => detach_and_stop::detach_all(json),
        Verb::Stop { all: true, yes, kill, json, .. } => detach_and_stop::stop_all(yes, kill, json),
        Verb::Detach { name, client, json, .. } => detach_and_stop::detach(name.as_deref(), client, json),
        Verb::Back { name, now, json } => back::back(name.as_deref(), now, json),
        Verb::Label { name, changes, json } => rename::label(&name, &changes, json),
        Verb::Rename { words, json } => rename::rename(&words, json),
        Verb::Restart(options) => restart::restart(&options),
        Verb::Stop { names, kill, json, .. } => detach_and_stop::stop(&names, kill, json),
        Verb::Send(options) => send::send(&options),
        Verb::Ask(options) => ask::ask(options),
        Verb::Answer(options) => ask::answer(&options),
        Verb::Wait(options) => wait::wait(&options),
        Verb::Status { name, json } => status::status(name.as_deref(), json),
        Verb::Screen { name, history, form } => screen::screen(name.as_deref(), history, form),
        Verb::Record(options) => record::record(options, host),
        Verb::Mark { words, json } => record::mark(&words, json),
        Verb::ScreenDump { cols, rows, form } => screen::dump((cols, rows), form),
        Verb::Events { name, follow, .. } | Verb::Log { name, follow, json: true } => {
            events::events(name.as_deref(), follow)
        }
        Verb::Log { name, follow, json: false } => events::log(name.as_deref(), follow),
        Verb::Why { name, json } => events::why(name.as_deref(), json),
        Verb::Handoff { verb } => handoff::handoff(&verb),
        Verb::Usage(options) => token_usage::usage(&options),
        Verb::Backup { verb } => backup::backup(verb),
        Verb::Conversations { verb } => conversations::conversations(&verb),
        Verb::Context(options) => context::context(&options),
        Verb::Channel { verb: Some(verb), .. } => channel::verb(&verb),
        Verb::Channel { verb: None, path, json } => channel::channel(path.as_deref(), json),
        Verb::Dash => dash::dash(),
        Verb::Replay { journal, json } => replay::replay(&journal, json),
        Verb::Demo { keep } => demo::demo(keep),
        Verb::Play(options) => play::play(&options),
        Verb::Config { verb: Some(verb), .. } => config::verb(&verb),
        Verb::Config { verb: None, json } => config::verb(&ConfigVerb::Show { json }),
        Verb::Test(args) => test::test(&args),
        Verb::Check { json } => check::check(json),
        Verb::Completions { shell } => completions::completions(shell),
        Verb::Man { verb, roff } => man::man(&verb, roff),
        Verb::Restore { names, dry_run, max, timeout, json } => {
            let limit = usize::try_from(max).unwrap_or(usize::MAX);
            restore::restore(&restore::RestoreSessionsOptions {
                names,
                dry_run,
                limit,
                timeout,
                as_json: json,
            })
        }
        Verb::Rm { names, .. } => remove::remove(&names),
        Verb::Prune { older, dry_run } => remove::prune(older, dry_run),
        Verb::Setup { yes } => setup::setup(yes),
        Verb::Unsetup => setup::unsetup(),
        Verb::Version { json } => version::version(json),
    }
}

/// Starts Claude in a session, or replaces hopty with Claude if the arguments start no session.
fn start(args: Vec<OsString>) -> u8 {
    run::drop_in(args).unwrap_or_else(|error| error.print("", false))
}

/// `hopty events | head` ends quietly, like any other program in a pipe.
pub(super) fn default_sigpipe() {
    crate::sys::signals::set_disposition(nix::libc::SIGPIPE, false);
}
