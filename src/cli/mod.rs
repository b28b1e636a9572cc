//! The command line: who is meant, hopty or Claude, and one file for each verb.
//!
//! A first word that is one of hopty's verbs is hopty's; a word that is nearly one, or that other tools use
//! as a verb, is refused, so that it does not become a prompt that costs money. Everything else is Claude's.
//!
//! | file | what |
//! |---|---|
//! | `args`, `usage`, `read_config` | the words as clap reads them, what is said of others, and the configuration as it is found |
//! | `unknown_verb`, `version` | words that are no verbs, and the versions of both programs |
//! | `run`, `kept_options`, `conversation_in_use` | starting, also from a handoff, with the options of the conversation before, and never a conversation twice |
//! | `detach_and_stop`, `restart`, `status`, `list` | detach and stop; restart; status; `ls` |
//! | `attach_session`, `session_picker`, `join_session` | which session `hopty attach` means, the list from which a person picks one, and this terminal attached |
//! | `control`, `conversation` | which session or conversation is meant, and talking to its host |
//! | `restore`, `remove`, `systemd_unit` | sessions that ended: resumed after a restart of the machine, removed; the unit that does it |
//! | `send`, `ask`, `screen`, `record`, `record_tape`, `back`, `backup`, `rename`, `token_usage`, `events`, `replay`, `context`, `conversations`, `handoff`, `channel`, `config`, `check`, `test`, `test_watch`, `dash`, `demo`, `play` | verbs |
//! | `wait`, `wait_conditions` | `hopty wait`, and its words |
//! | `screen_rows`, `settle_wait`, `poll_until` | what is new on a session's screen, whether anything still moves, and looking until something is so |
//! | `completions`, `man` | what is made from the tree of verbs |
//! | `hook`, `statusline`, `slash` | what Claude calls |
//! | `error`, `notice`, `prose`, `table`, `pager` | words for people: failures, what is told unasked, sentences, rows, what is long |

#![deny(clippy::print_stderr, reason = "it panics where standard error is closed")]

mod args;
mod ask;
mod attach_session;
mod back;
mod backup;
mod channel;
mod check;
mod completions;
mod config;
mod context;
mod control;
mod conversation;
mod conversation_in_use;
mod conversations;
mod dash;
mod demo;
mod detach_and_stop;
mod error;
mod events;
mod handoff;
mod hook;
mod join_session;
mod kept_options;
mod list;
mod man;
mod notice;
mod pager;
mod play;
mod poll_until;
mod prose;
mod read_config;
mod record;
mod record_tape;
mod remove;
mod rename;
mod replay;
mod restart;
mod restore;
mod run;
mod screen;
mod screen_rows;
mod send;
mod session_picker;
mod settle_wait;
mod slash;
mod status;
mod statusline;
mod systemd_unit;
mod table;
mod test;
mod test_watch;
mod token_usage;
mod unknown_verb;
mod usage;
mod version;
mod wait;
mod wait_conditions;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};

use crate::client::start::Forked;
use crate::core::ids::SessionName;
use crate::fs::session;
use crate::testing::hook_probe::{self, HOOK_ARG};
use crate::testing::pause_window;
use crate::testing::test_pause::WINDOW_ARG;
use args::{Cli, Verb};
use config::ConfigVerb;
use error::VerbError;
use prose::fit;

/// What `hopty hook --help` says.
const HOOK: &str = "Claude calls `hopty hook EVENT` at each of its events, such as a prompt, a batch of tool \
                    calls and the end of a turn, with JSON on standard input. The session's hopty answers \
                    whether Claude goes on; outside of a session nothing happens.";
/// What `hopty statusline --help` says.
const STATUS_LINE: &str = "Claude calls `hopty statusline` to draw its status line, with JSON on standard \
                           input. It prints your own status line and hopty's part behind it \
                           (`terminal.segment`).";

/// Everything: from the arguments (without the program's name) to the exit code.
pub fn main(args: Vec<OsString>) -> u8 {
    let first = args.first().and_then(|word| word.to_str());
    match first {
        Some(crate::standin::AGENT_ARG) => {
            let words: Vec<String> = args.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
            return u8::try_from(crate::standin::agent::main(&words)).unwrap_or(1);
        }
        Some(verb @ ("hook" | "statusline"))
            if args.get(1).is_some_and(|arg| arg == "--help" || arg == "-h") =>
        {
            let _ =
                writeln!(std::io::stdout(), "{}", fit(if verb == "hook" { HOOK } else { STATUS_LINE }, 0));
            return 0;
        }
        // Claude gives no terminal; a person would wait for nothing.
        Some(verb @ ("hook" | "statusline")) if std::io::stdin().is_terminal() => {
            let hint = format!("`hopty {verb} --help` explains it");
            return VerbError::new(2, "only Claude calls this verb, with JSON on standard input")
                .hint(hint)
                .print(verb, false);
        }
        // Run after every tool call: nothing else comes before them.
        Some(HOOK_ARG) => {
            let words: Vec<String> = args.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
            return hook_probe::main(&words);
        }
        Some("slash") => {
            let words: Vec<&str> = args.iter().skip(1).filter_map(|word| word.to_str()).collect();
            return slash::main(&words);
        }
        Some(WINDOW_ARG) => {
            let socket = args.get(1).map(std::path::PathBuf::from).unwrap_or_default();
            let shown = pause_window::run(&socket);
            return shown.map_or_else(|error| VerbError::from(error).print("test", false), |()| 0);
        }
        Some("statusline") => return statusline::main(args.get(1).and_then(|own| own.to_str())),
        Some("hook") => {
            return hook::main(
                args.get(1).and_then(|event| event.to_str()),
                args.get(2).and_then(|ms| ms.to_str()),
            );
        }
        Some(word) if args::verbs().any(|verb| verb == word) => {}
        Some("--") => return start(args.into_iter().skip(1).collect()),
        _ => {
            if let Some(refused) = unknown_verb::refusal(&args, runs_session) {
                return refused.print("", asks_json(&args));
            }
            return start(args);
        }
    }
    let json = asks_json(&args);
    let starts = match first {
        Some("run") => true,
        Some("record") => {
            let own: Vec<_> = args.iter().take_while(|arg| *arg != "--").collect();
            let is_tape = |arg: &&OsString| *arg == "--tape" || arg.to_string_lossy().starts_with("--tape=");
            own.len() < args.len() && !own.iter().any(is_tape)
        }
        _ => false,
    };
    let host = if starts {
        // Before anything is parsed, so that the host holds neither parser nor configuration.
        Some(Forked::new())
    } else {
        default_sigpipe();
        None
    };
    let asked = || usage::asked(args.iter().filter_map(|arg| arg.to_str()));
    let cli = match Cli::read(&args) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return usage::misused(&error, &asked()).print(&asked(), json),
        Err(help) => {
            default_sigpipe();
            return help.print().map_or_else(|error| VerbError::from(error).print(&asked(), false), |()| 0);
        }
    };
    verb(cli.verb, host).unwrap_or_else(|failed| failed.print(&asked(), json))
}

/// Whether a session of this name runs.
fn runs_session(name: &str) -> bool {
    let name = name.parse::<SessionName>().ok();
    name.is_some_and(|name| session::is_alive(&run::any_paths().session(&name)))
}

/// Whether errors are wanted as JSON, too. The options behind `run` may be the program's.
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
        Verb::Restart { name, now, no_handoff, wait, json } => {
            restart::restart(name.as_deref(), now, no_handoff, wait, json)
        }
        Verb::Stop { name, kill, .. } => detach_and_stop::stop(name.as_deref(), kill),
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
        Verb::Setup { yes } => systemd_unit::setup(yes),
        Verb::Unsetup => systemd_unit::unsetup(),
        Verb::Version { json } => version::version(json),
    }
}

/// In place of Claude.
fn start(args: Vec<OsString>) -> u8 {
    run::drop_in(args).unwrap_or_else(|failed| failed.print("", false))
}

/// `hopty events | head` ends quietly, like any other program in a pipe.
fn default_sigpipe() {
    crate::sys::signals::set_disposition(nix::libc::SIGPIPE, false);
}
