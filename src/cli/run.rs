//! Starting: the drop-in form (`hopty [CLAUDE ARGS]`) and `hopty run`.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::args::RunOptions;
use super::control::{named, paths};
use super::error::{Failed, say, visible};
use super::{notice, session, settings, usage};
use crate::claude::find::{self, FileId, FindError, Search, find, next_depth};
use crate::claude::settings as hooks;
use crate::client::start::{Forked, Greeting};
use crate::client::{Hold, Options};
use crate::core::claude::args::{Grammar, Invocation, Piece, Stream, classify, facts};
use crate::core::claude::offers::{Off, Offers, offers};
use crate::core::config::{Config, FlagValue};
use crate::core::ids::SessionName;
use crate::core::supervisor::Agent;
use crate::core::terminal::{Ahead, Size};
use crate::fs::paths::Paths;
use crate::fs::room;
use crate::host::start::{Begin, Launch, Ready};
use crate::io::inherited;
use crate::tty::raw;

/// What a start is asked for besides the program.
#[derive(Debug, Default)]
struct Wish {
    name: Option<SessionName>,
    detached: bool,
    handoff: Begin,
    no_inject: bool,
}

/// `hopty [CLAUDE ARGS...]`.
pub(super) fn drop_in(args: Vec<OsString>) -> Result<u8, Failed> {
    let (wish, args) = take_options(args);
    let Ok(paths) = paths() else {
        if is_session(&wish, &args) {
            let _ = writeln!(std::io::stderr(), "hopty: HOME is not set to an absolute path; Claude runs without hopty");
        }
        return Err(exec(&find_claude(None, &settings::load_homeless())?, &args));
    };
    let host = if is_session(&wish, &args) { Some(Forked::new()?) } else { None };
    let (config, problems) = settings::load(&paths, &[]);
    // A bad file must not keep anyone from Claude, and adds nothing to what a script gets that runs Claude alone.
    for problem in problems.iter().filter(|_| host.is_some()) {
        let _ = writeln!(std::io::stderr(), "hopty: {problem}; going on with the default");
    }
    // It may well be a prompt, and what is no verb is Claude's.
    let near = args.first().and_then(|word| word.to_str()).and_then(|word| Some((word, usage::mistyped(word)?)));
    let program = find_claude(Some(&paths.home), &config).map_err(|failed| match near {
        Some((word, verb)) => {
            let hint = format!("`{word}` is no verb (the nearest is `hopty {verb}`), and Claude is not there: {}", failed.help());
            failed.hint(hint)
        }
        None => failed,
    })?;
    if let Some((word, verb)) = near {
        let _ = writeln!(
            std::io::stderr(),
            "hopty: `{word}` is no verb and goes to Claude as a prompt (the nearest verb is `hopty {verb}`)"
        );
    }
    claude(&paths, config, wish, program, args, host)
}

/// Whether hopty has a part in what Claude is started for.
fn is_session(wish: &Wish, args: &[OsString]) -> bool {
    let stream = |terminal: bool| if terminal || wish.detached { Stream::Terminal } else { Stream::Other };
    words(args).is_some_and(|words| {
        let (stdin, stdout) = (stream(std::io::stdin().is_terminal()), stream(std::io::stdout().is_terminal()));
        classify(&words, stdin, stdout) == Invocation::Interactive
    })
}

/// The arguments as text; `None` where one is no UTF-8.
fn words(args: &[OsString]) -> Option<Vec<String>> {
    args.iter().map(|arg| arg.to_str().map(str::to_owned)).collect()
}

/// hopty's own two options of the drop-in form, wherever they are options: what stands behind an option that takes a value
/// is its value.
fn take_options(args: Vec<OsString>) -> (Wish, Vec<OsString>) {
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut wish = Wish::default();
    let mut taken = Vec::new();
    for piece in Grammar::new().parse(&words) {
        let Piece::Unknown { at } = piece else { continue };
        match words[at].as_str() {
            "--detached" => wish.detached = true,
            "--handoff" => wish.handoff = Begin::Pending,
            word => match word.strip_prefix("--handoff=") {
                Some(id) => wish.handoff = Begin::From(id.to_owned()),
                None => continue,
            },
        }
        taken.push(at);
    }
    let rest = args.into_iter().enumerate().filter(|(at, _)| !taken.contains(at)).map(|(_, arg)| arg);
    (wish, rest.collect())
}

/// Claude under `host`, or without hopty where there is none.
fn claude(
    paths: &Paths,
    mut config: Config,
    wish: Wish,
    program: PathBuf,
    args: Vec<OsString>,
    host: Option<Forked>,
) -> Result<u8, Failed> {
    let Some(host) = host else { return Err(exec(&program, &args)) };
    if !wish.detached
        && wish.handoff == Begin::Fresh
        && let Some(e) = no_place(paths)
    {
        // No place for a session is no reason to keep anyone from Claude.
        let _ = writeln!(std::io::stderr(), "hopty: there is no place for a session ({e}); Claude runs without hopty");
        host.dismiss();
        return Err(exec(&program, &args));
    }
    config.hooks.inject &= !wish.no_inject;
    let version = find::version_on_disk(&program);
    let offers = offers(version.as_deref(), hooks_off(paths, &config, &words(&args).unwrap_or_default()));
    if let Some(limited) = &offers.limited {
        let _ = writeln!(std::io::stderr(), "hopty: {limited}");
    }
    if !wish.detached
        && let Some(alone) = notice::without_terminal(paths)
    {
        let _ = writeln!(std::io::stderr(), "hopty: {alone}");
    }
    if wish.handoff == Begin::Fresh {
        for told in notice::at_start(paths) {
            let _ = writeln!(std::io::stderr(), "hopty: {told}");
        }
    }
    begin(paths, config, wish, Chosen { agent: Agent::Claude, program, called: "claude".to_owned(), version, offers, args }, host)
}

/// Why no session can be kept.
fn no_place(paths: &Paths) -> Option<String> {
    let refused = crate::fs::session::prepare(paths).err().map(|e| e.to_string());
    refused.or_else(|| room::lack(&paths.state, room::FOR_SESSION))
}

/// Claude takes hopty's place; comes back only when that failed. Nothing is changed, but that a shell script which may
/// lead back here is counted.
fn exec(program: &Path, args: &[OsString]) -> Failed {
    let mut command = Command::new(program);
    command.args(args);
    if let (true, Ok(depth)) = (find::may_lead_back(program), next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref())) {
        command.env("HOPTY_DEPTH", depth.to_string());
    }
    become_it(command, program, "check its permissions and its interpreter, or install Claude again")
}

/// The program takes hopty's place; comes back only when that failed.
fn become_it(mut command: Command, program: &Path, hint: &str) -> Failed {
    inherited::pass_on(&mut command);
    let error = command.exec();
    let failed = match error.kind() {
        std::io::ErrorKind::NotFound if !program.exists() => Failed::new(127, "no such program"),
        std::io::ErrorKind::NotFound => Failed::new(126, "its interpreter or loader is missing"),
        _ => Failed::new(126, format!("it could not be executed: {error}")),
    };
    failed.about(program.display()).hint(hint)
}

/// Whether a person is at the keyboard and sees what is written; else there is no terminal to hold.
pub(super) fn in_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// What keeps hooks from running, as far as can be seen before the start.
pub(super) fn hooks_off(paths: &Paths, config: &Config, args: &[String]) -> Option<Off> {
    let own = facts(args);
    let here = std::env::current_dir().unwrap_or_default();
    match own {
        _ if !config.hooks.inject => Some(Off::NotInjected),
        _ if own.bare => Some(Off::Bare),
        _ if own.safe_mode => Some(Off::SafeMode),
        _ => {
            let (sources, flag) = (own.setting_sources.as_deref(), own.settings.as_deref());
            hooks::hooks_off(&paths.claude_settings(&here), sources, flag).then_some(Off::Settings)
        }
    }
}

/// Claude's program, found or configured.
///
/// # Errors
/// Exit code 126 or 127 where it is not there, 125 where it leads back here.
pub(super) fn find_claude(home: Option<&Path>, config: &Config) -> Result<PathBuf, Failed> {
    let configured = Some(Path::new(&config.program.claude)).filter(|path| !path.as_os_str().is_empty());
    let path = std::env::var_os("PATH");
    let search = Search { configured, home, path: path.as_deref(), own: FileId::of_this_program() };
    next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref()).map_err(|e| {
        Failed::new(125, e.to_string())
            .about("claude")
            .hint("something starts hopty again and again in place of claude: set program.claude to the real one")
    })?;
    find(&search).map_err(|e| {
        let code = if matches!(e, FindError::NotExecutable { .. }) { 126 } else { 127 };
        Failed::new(code, e.to_string()).about("claude").hint(e.hint())
    })
}

/// `hopty run -- PROGRAM ARGS`.
pub(super) fn program(options: RunOptions, host: Forked) -> Result<u8, Failed> {
    let paths = paths()?;
    let limit = options.max_restarts.map(|n| n.to_string());
    let flags: Vec<FlagValue<'_>> =
        limit.iter().map(|value| FlagValue { flag: "--max-restarts", key: "restart.max_restarts", value }).collect();
    let config = settings::valid(&paths, &flags)?;
    // Also where it will not be needed, so that a script that works without a terminal works in one.
    let name = options.name.as_deref().map(named).transpose()?;
    let mut words = options.program.into_iter();
    let called = words.next().unwrap_or_default();
    let args: Vec<OsString> = words.collect();
    let wish = Wish { name, detached: options.detached, handoff: Begin::Fresh, no_inject: options.no_inject };
    if called == OsStr::new("claude") {
        let host = if is_session(&wish, &args) {
            Some(host)
        } else {
            host.dismiss();
            None
        };
        let program = find_claude(Some(&paths.home), &config)?;
        return claude(&paths, config, wish, program, args, host);
    }
    next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref())
        .map_err(|e| Failed::new(125, e.to_string()).hint("something starts hopty again and again"))?;
    let shown = called.to_string_lossy().into_owned();
    let program = in_path(&called).ok_or_else(|| {
        let hint = match shown.starts_with('-') {
            true => "it is no option either: `hopty run --help` lists those, and the program stands behind them",
            false => "check the name and PATH",
        };
        Failed::new(127, "no such program").about(&shown).hint(hint)
    })?;
    if !wish.detached && !in_terminal() {
        let mut command = Command::new(&program);
        command.arg0(&called).args(&args);
        return Err(become_it(command, &program, "check that it is a program, its permissions and its interpreter"));
    }
    let chosen = Chosen { agent: Agent::Plain, program, called: shown, version: None, offers: Offers::default(), args };
    begin(&paths, config, wish, chosen, host)
}

/// Where a name leads, as execvp looks for it.
fn in_path(name: &OsStr) -> Option<PathBuf> {
    if name.to_string_lossy().contains('/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH")?;
    let files: Vec<PathBuf> = std::env::split_paths(&path).map(|dir| dir.join(name)).filter(|file| file.is_file()).collect();
    let runs = |file: &&PathBuf| nix::unistd::access(*file, nix::unistd::AccessFlags::X_OK).is_ok();
    files.iter().find(runs).or(files.first()).cloned()
}

/// The program that is started.
struct Chosen {
    agent: Agent,
    program: PathBuf,
    called: String,
    version: Option<String>,
    offers: Offers,
    args: Vec<OsString>,
}

fn begin(paths: &Paths, config: Config, wish: Wish, chosen: Chosen, host: Forked) -> Result<u8, Failed> {
    let Chosen { agent, program, called, version, offers, args } = chosen;
    let here = std::env::current_dir()
        .map_err(|e| Failed::new(125, format!("the working directory is gone: {e}")).hint("change to one that exists"))?;
    let last = here.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let numbered = wish.name.is_none();
    let name = wish.name.unwrap_or_else(|| SessionName::for_directory(&last));
    let signals = inherited::signals();
    // Held from here on: what is typed until the program has its terminal must not be shown by both.
    let (mut hold, ahead) =
        if wish.detached { (None, Ahead::default()) } else { Hold::take_with_ahead().map(|(h, a)| (Some(h), a))? };
    let fixed = config.terminal.detached_size;
    let size = if wish.detached { Size::cells(fixed.cols, fixed.rows) } else { raw::size() };
    let termios = hold.as_ref().map(|hold| hold.found().clone());
    let launch = Launch {
        name,
        numbered,
        agent,
        program,
        called,
        version,
        offers,
        config,
        size,
        termios,
        ahead,
        handoff: wish.handoff,
        detached: wish.detached,
        signals,
        errors: inherited::error_output(),
    };
    let pid = host.pid();
    let (ready, socket) = host.launch(&launch, &args, hold.as_mut())?;
    let name = match ready {
        Ready::Up { name, told } => {
            told.iter().for_each(|line| eprintln!("hopty: {}", visible(line)));
            name
        }
        Ready::Failed { code, message, hint } => return Err(Failed::new(code, message).hint(hint)),
    };
    if wish.detached {
        // Whoever does not read the name has the session all the same.
        let _ = say(format_args!("{name}"));
        return Ok(0);
    }
    session::join(paths, &name, socket, Greeting::Done { host: pid }, Options::default(), hold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hopty_s_own_options_are_taken_only_where_they_are_options() {
        let of = |line: &str| {
            let (wish, rest) = take_options(line.split_whitespace().map(OsString::from).collect());
            let rest: Vec<String> = rest.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
            (wish.detached, wish.handoff, rest.join(" "))
        };
        let from = |id: &str| Begin::From(id.to_owned());
        for (line, detached, handoff, rest) in [
            ("--detached", true, Begin::Fresh, ""),
            ("--model opus --detached fix", true, Begin::Fresh, "--model opus fix"),
            ("--handoff fix", false, Begin::Pending, "fix"),
            ("--handoff=HO-1 --detached", true, from("HO-1"), ""),
            ("--append-system-prompt --detached", false, Begin::Fresh, "--append-system-prompt --detached"),
            ("--model=x -- --detached --handoff", false, Begin::Fresh, "--model=x -- --detached --handoff"),
        ] {
            assert_eq!(of(line), (detached, handoff, rest.to_owned()), "{line}");
        }
    }
}
