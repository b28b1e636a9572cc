//! Starting: the drop-in form (`hopty [CLAUDE ARGS]`) and `hopty run`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::args::RunOptions;
use super::control::{named, paths};
use super::conversations::before_cleanup;
use super::error::{Failed, ask_person, note, say, visible};
use super::kept_options::KeptOptions;
use super::rename::bad_label;
use super::restore::{self, DeadSession};
use super::{attach_session, conversation_in_use, notice, session, settings, version};
use crate::claude::find::{self, FileId, FindClaudeError, Search, find, next_depth};
use crate::claude::settings as hooks;
use crate::client::start::{Forked, Greeting};
use crate::client::{ClientOptions, Hold};
use crate::core::claude::args::{ArgPiece, Grammar, LaunchMode, OwnArgs, Stream, classify, facts};
use crate::core::claude::version_features::{ClaudeFeatures, HooksOff, offers};
use crate::core::config::{Config, ConfigSource, FlagValue, Problem, ProblemKind};
use crate::core::ids::{Label, SessionName, change_labels};
use crate::core::inherited::SignalState;
use crate::core::supervisor::Agent;
use crate::core::terminal::{Ahead, Size};
use crate::fs::paths::Paths;
use crate::fs::session::prepare_with_room;
use crate::host::start::{BeginWith, Launch, StartReport};
use crate::ipc::message::Record;
use crate::sys::inherited;
use crate::tty::raw;

/// What a start is asked for besides the program.
#[derive(Debug, Default)]
struct StartOptions {
    name: Option<SessionName>,
    labels: BTreeSet<Label>,
    detached: bool,
    restored: bool,
    handoff: BeginWith,
    no_inject: bool,
    record: Option<Record>,
}

impl StartOptions {
    /// Whether it asks for what only a session can give; the program alone would be something else.
    fn needs_hopty(&self) -> bool {
        self.detached || self.handoff != BeginWith::Fresh || self.record.is_some()
    }
}

/// `hopty [CLAUDE ARGS...]`.
pub(super) fn drop_in(args: Vec<OsString>) -> Result<u8, Failed> {
    let (wish, args) = take_options(args);
    let paths = any_paths();
    let host = if is_session(&wish, &args) { Some(Forked::new()) } else { None };
    let resolved = settings::resolved(Some(&paths), &[]);
    let ignored = settings::ignored(&resolved);
    let (config, problems) = (resolved.config, resolved.problems);
    // A bad file must not keep anyone from Claude, and adds nothing to what a script gets that runs Claude
    // alone.
    let unplaced = if host.is_some() && !wish.needs_hopty() { no_place(&paths) } else { None };
    // In such a home it is one more thing that cannot be had.
    let of_home = |kind: &ProblemKind| unplaced.is_some() && matches!(kind, ProblemKind::Unreadable(_));
    let to_say = |problem: &&Problem| host.is_some() && !of_home(&problem.kind);
    let mut messages = StartMessages::default();
    let told: Vec<&Problem> = problems.iter().filter(to_say).collect();
    told.iter().for_each(|problem| messages.tell(format!("{problem}; using the default")));
    // A file that cannot be read is no mistake in what it says, and no repository may keep Claude waiting.
    let own_file = paths.config_file();
    let is_own = |at: &ConfigSource| match at {
        ConfigSource::File { path, .. } => Path::new(path) == own_file,
        ConfigSource::Variable(_) | ConfigSource::Flag(_) => true,
    };
    let mistaken =
        told.iter().any(|problem| !matches!(problem.kind, ProblemKind::Unreadable(_)) && is_own(&problem.at));
    for line in ignored.iter().filter(|_| host.is_some()) {
        messages.tell(line.to_string());
    }
    if mistaken && !wish.detached {
        wait_for_enter();
    }
    let program = match find_claude(Some(&paths.home), &config) {
        Ok(program) => program,
        Err(failed) => return version::instead_of_claude(&args, &failed).unwrap_or(Err(failed)),
    };
    version::introduce_claude(&args);
    claude(&paths, config, wish, (program, args), host, (unplaced, messages))
}

/// Whether hopty has a part in what Claude is started for.
fn is_session(wish: &StartOptions, args: &[OsString]) -> bool {
    let stream = |terminal: bool| if terminal || wish.detached { Stream::Terminal } else { Stream::Other };
    words(args).is_some_and(|words| {
        let (stdin, stdout) =
            (stream(std::io::stdin().is_terminal()), stream(std::io::stdout().is_terminal()));
        classify(&words, stdin, stdout) == LaunchMode::Interactive
    })
}

/// The arguments as text; `None` where one is no UTF-8.
pub(super) fn words(args: &[OsString]) -> Option<Vec<String>> {
    args.iter().map(|arg| arg.to_str().map(str::to_owned)).collect()
}

/// hopty's own two options of the drop-in form, wherever they are options: what stands behind an option that
/// takes a value is its value.
fn take_options(args: Vec<OsString>) -> (StartOptions, Vec<OsString>) {
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let mut wish = StartOptions::default();
    let mut taken = Vec::new();
    for piece in Grammar::new().parse(&words) {
        let ArgPiece::Unknown { at } = piece else { continue };
        match words[at].as_str() {
            "--detached" => wish.detached = true,
            "--handoff" => wish.handoff = BeginWith::Pending,
            word => match word.strip_prefix("--handoff=") {
                Some(id) => wish.handoff = BeginWith::From(id.to_owned()),
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
    wish: StartOptions,
    (program, args): (PathBuf, Vec<OsString>),
    host: Option<io::Result<Forked>>,
    (unplaced, mut messages): (Option<String>, StartMessages),
) -> Result<u8, Failed> {
    let host = match host {
        None => return Err(exec(&program, &args, None)),
        Some(Err(error)) if wish.needs_hopty() => return Err(error.into()),
        Some(Err(error)) => {
            tell_alone("Claude", &error);
            return Err(exec(&program, &args, None));
        }
        Some(Ok(host)) => host,
    };
    if let Err(failed) = conversation_in_use::refuse(paths, &words(&args).unwrap_or_default()) {
        host.dismiss();
        return Err(failed);
    }
    config.hooks.inject &= !wish.no_inject;
    let own = facts(&words(&args).unwrap_or_default());
    // A conversation that is resumed keeps its own name, unless the person gives it another.
    let asked = wish.name.as_ref().filter(|_| !own.picks_conversation).map(ToString::to_string);
    let here = std::env::current_dir().unwrap_or_default();
    let kept = KeptOptions::of(paths, &wish.handoff, &own, &here);
    if !kept.args.is_empty() {
        messages.tell(format!("as in the conversation before: {}", kept.args.join(" ")));
    }
    let args: Vec<OsString> = kept.args.into_iter().map(OsString::from).chain(args).collect();
    let title = own.name.clone().or(asked).filter(|title| !title.is_empty()).or(kept.title);
    let version = find::version_on_disk(&program);
    let offers = offers(version.as_deref(), hooks_off(paths, &config, &words(&args).unwrap_or_default()));
    if let Some(limited) = &offers.limited {
        messages.tell(limited.to_string());
    }
    if !wish.detached && unplaced.is_none() {
        let asks = config.terminal.offer_attach && may_mean_another(&wish, &own) && person_is_here();
        match session_of_before(paths, asks, &mut messages)? {
            None => {}
            Some(SessionOfBefore::Detached(name)) => {
                host.dismiss();
                return attach_session::attach(Some(name.as_str()), false);
            }
            Some(SessionOfBefore::Died(dead)) => {
                host.dismiss();
                restore::resume(paths, &dead)?;
                return attach_session::attach(Some(dead.name.as_str()), false);
            }
        }
    }
    // Where there is no place for a session, that is what there is to say.
    if wish.handoff == BeginWith::Fresh && unplaced.is_none() {
        for told in notice::at_start(paths) {
            messages.tell(told);
        }
    }
    let called = "claude".to_owned();
    begin(
        paths,
        config,
        wish,
        Chosen { agent: Agent::Claude, program, called, version, title, offers, args, unplaced, messages },
        host,
    )
}

/// What a person is told before Claude draws. The session keeps it, as Claude draws over it at once.
#[derive(Debug, Default)]
struct StartMessages(Vec<String>);

impl StartMessages {
    fn tell(&mut self, text: String) {
        note(format_args!("hopty: {text}"));
        self.0.push(text);
    }
}

/// Whether somebody reads what is said now and can answer it.
fn person_is_here() -> bool {
    in_terminal() && std::io::stderr().is_terminal()
}

/// A mistake in the configuration is not to be drawn over before it is read.
fn wait_for_enter() {
    if person_is_here() {
        let _ = ask_person("hopty: Enter starts Claude anyway, Ctrl+C lets you correct it first.");
    }
}

/// Whether a start may mean a session that runs here: it brings no prompt and names no conversation.
fn may_mean_another(wish: &StartOptions, own: &OwnArgs) -> bool {
    let plain = own.prompt.is_none() && own.name.is_none() && !own.picks_conversation && !own.forks;
    plain && wish.name.is_none() && !wish.needs_hopty() && std::env::var_os("HOPTY_SESSION").is_none()
}

/// A session that a person has meant by a start in its directory.
enum SessionOfBefore {
    /// It runs, and no terminal shows it.
    Detached(SessionName),
    /// It died, and can be resumed.
    Died(Box<DeadSession>),
}

/// Which session of this directory a person wants rather than a new one. With `asks` a person answers, else
/// `messages` tells of it.
fn session_of_before(
    paths: &Paths,
    asks: bool,
    messages: &mut StartMessages,
) -> io::Result<Option<SessionOfBefore>> {
    let detached = notice::without_terminal(paths);
    if let Some((name, others)) = detached.split_first() {
        if !asks {
            messages.tell(format!(
                "{name} is already running here, detached: `hopty attach {name}`. Starting another session."
            ));
            return Ok(None);
        }
        let question = match others {
            [] => format!("{name} is running here, detached. Attach to it?"),
            [other] => format!("{name} and {other} are running here, detached. Attach to {name}?"),
            more => {
                let n = more.len();
                format!("{name} and {n} others are running here, detached. Attach to {name}?")
            }
        };
        let said = yes(&question)?;
        return Ok(said.then(|| SessionOfBefore::Detached(name.clone())));
    }
    let Some(dead) = std::env::current_dir().ok().and_then(|dir| restore::died_in(paths, &dir)) else {
        return Ok(None);
    };
    let name = &dead.name;
    let about = restore::about(&dead.status).map(|about| format!(" ({about})")).unwrap_or_default();
    let why = if restore::died_with_machine(&dead.status) { "died with the machine" } else { "was killed" };
    if asks {
        if yes(&format!("{name}{about} {why}. Resume it?"))? {
            return Ok(Some(SessionOfBefore::Died(Box::new(dead))));
        }
        messages.tell(format!("`hopty restore {name}` resumes it later; `hopty rm {name}` removes it"));
        return Ok(None);
    }
    messages
        .tell(format!("{name}{about} {why}: `hopty restore {name}` resumes it. Starting another session."));
    Ok(None)
}

/// Asks a person; Enter is a yes.
fn yes(question: &str) -> io::Result<bool> {
    let answer = ask_person(&format!("hopty: {question} [Y/n]"))?;
    Ok(answer.is_some_and(|answer| matches!(answer.as_str(), "" | "y" | "Y" | "yes")))
}

/// Why no session can be kept.
fn no_place(paths: &Paths) -> Option<String> {
    if !paths.is_known() {
        return Some("HOME is not set to an absolute path".to_owned());
    }
    prepare_with_room(paths).err().map(|e| e.to_string())
}

/// Lets every other process go first.
pub(super) fn be_nice() {
    let _ = rustix::process::nice(19);
}

/// hopty's directories, where there is no home ones that nothing is in.
pub(super) fn any_paths() -> Paths {
    let var = |name: &str| std::env::var_os(name);
    Paths::from_env(var).unwrap_or_else(|| Paths::nowhere(var))
}

/// That a program runs as it would without hopty, and why.
fn tell_alone(called: &str, why: &dyn std::fmt::Display) {
    note(format_args!("hopty: {}; running {called} without hopty", visible(&why.to_string())));
}

/// Claude takes hopty's place; comes back only when that failed. Nothing is changed, but that a shell script
/// which may lead back here is counted.
fn exec(program: &Path, args: &[OsString], signals: Option<SignalState>) -> Failed {
    let mut command = Command::new(program);
    command.args(args);
    if let (true, Ok(depth)) =
        (find::may_lead_back(program), next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref()))
    {
        command.env("HOPTY_DEPTH", depth.to_string());
    }
    become_it(command, program, signals, "check its permissions and its interpreter, or reinstall Claude")
}

/// The program takes hopty's place; comes back only when that failed.
fn become_it(mut command: Command, program: &Path, signals: Option<SignalState>, hint: &str) -> Failed {
    inherited::pass_on(&mut command, signals);
    let error = command.exec();
    let failed = match error.kind() {
        std::io::ErrorKind::NotFound if !program.exists() => Failed::new(127, "no such program"),
        std::io::ErrorKind::NotFound => Failed::new(126, "its interpreter or loader is missing"),
        _ => Failed::new(126, format!("hopty cannot execute it: {error}")),
    };
    failed.about(program.display()).hint(hint)
}

/// Whether a person is at the keyboard and sees what is written; else there is no terminal to hold.
pub(super) fn in_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// What keeps hooks from running, as far as can be seen before the start.
pub(super) fn hooks_off(paths: &Paths, config: &Config, args: &[String]) -> Option<HooksOff> {
    let own = facts(args);
    let here = std::env::current_dir().unwrap_or_default();
    match own {
        _ if !config.hooks.inject => Some(HooksOff::NotInjected),
        _ if own.bare => Some(HooksOff::Bare),
        _ if own.safe_mode => Some(HooksOff::SafeMode),
        _ => {
            let (sources, flag) = (own.setting_sources.as_deref(), own.settings.as_deref());
            hooks::hooks_off(&paths.claude_settings(&here), sources, flag).then_some(HooksOff::Settings)
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
            .hint("hopty keeps starting itself: set program.claude to the real Claude")
    })?;
    find(&search).map_err(|e| {
        let code = if matches!(e, FindClaudeError::NotExecutable { .. }) { 126 } else { 127 };
        Failed::new(code, e.to_string()).about("claude").hint(e.hint())
    })
}

/// `hopty run -- PROGRAM ARGS`, and `hopty record -- PROGRAM ARGS`.
pub(super) fn program(
    options: RunOptions,
    record: Option<Record>,
    host: io::Result<Forked>,
) -> Result<u8, Failed> {
    let paths = if options.detached { paths()? } else { any_paths() };
    let limit = options.max_restarts.map(|n| n.to_string());
    let flags: Vec<FlagValue<'_>> = limit
        .iter()
        .map(|value| FlagValue { flag: "--max-restarts", key: "restart.max_restarts", value })
        .collect();
    let resolved = settings::resolved(Some(&paths), &flags);
    settings::all_right(&resolved.problems)?;
    let mut messages = StartMessages::default();
    settings::ignored(&resolved).iter().for_each(|line| messages.tell(line.to_string()));
    let config = resolved.config;
    // Also where it will not be needed, so that a script that works without a terminal works in one.
    let name = options.name.as_deref().map(named).transpose()?;
    let mut words = options.program.into_iter();
    let called = words.next().unwrap_or_default();
    let args: Vec<OsString> = words.collect();
    let mut labels = BTreeSet::new();
    change_labels(&mut labels, &options.labels, &[]).map_err(|error| bad_label(&error))?;
    let wish = StartOptions {
        name,
        labels,
        detached: options.detached,
        restored: options.restored,
        handoff: BeginWith::Fresh,
        no_inject: options.no_inject,
        record,
    };
    if wish.record.is_some() && !wish.detached && !in_terminal() {
        return Err(Failed::new(2, "standard input and output must be a terminal")
            .hint("use --detached to record without one"));
    }
    if called == OsStr::new("claude") {
        let host = if is_session(&wish, &args) {
            Some(host)
        } else {
            let _ = host.map(Forked::dismiss);
            if wish.record.is_some() {
                return Err(Failed::new(2, "with these arguments Claude has no terminal to record")
                    .hint("record an interactive session"));
            }
            None
        };
        let program = find_claude(Some(&paths.home), &config)?;
        let unplaced = if host.is_some() && !wish.needs_hopty() { no_place(&paths) } else { None };
        return claude(&paths, config, wish, (program, args), host, (unplaced, messages));
    }
    next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref())
        .map_err(|e| Failed::new(125, e.to_string()).hint("hopty keeps starting itself"))?;
    let shown = called.to_string_lossy().into_owned();
    let program = in_path(&called)
        .ok_or_else(|| Failed::new(127, "no such program").about(&shown).hint("check the name and PATH"))?;
    let unplaced = no_place(&paths).filter(|_| !wish.needs_hopty());
    let (offers, version) = (ClaudeFeatures::default(), None);
    let (agent, title) = (Agent::Plain, None);
    let chosen = Chosen { agent, program, called: shown, version, title, offers, args, unplaced, messages };
    if !wish.detached && !in_terminal() {
        return Err(chosen.alone(None));
    }
    match host {
        Ok(host) => begin(&paths, config, wish, chosen, host),
        Err(error) if wish.needs_hopty() => Err(error.into()),
        Err(error) => {
            tell_alone(&chosen.called, &error);
            Err(chosen.alone(None))
        }
    }
}

/// Where a name leads, as execvp looks for it.
fn in_path(name: &OsStr) -> Option<PathBuf> {
    if name.to_string_lossy().contains('/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH")?;
    let files: Vec<PathBuf> =
        std::env::split_paths(&path).map(|dir| dir.join(name)).filter(|file| file.is_file()).collect();
    let runs = |file: &&PathBuf| nix::unistd::access(*file, nix::unistd::AccessFlags::X_OK).is_ok();
    files.iter().find(runs).or(files.first()).cloned()
}

/// The program that is started.
struct Chosen {
    agent: Agent,
    program: PathBuf,
    called: String,
    version: Option<String>,
    /// How the person calls the session's conversation.
    title: Option<String>,
    offers: ClaudeFeatures,
    args: Vec<OsString>,
    /// Why no session can be kept.
    unplaced: Option<String>,
    /// What the person has been told so far.
    messages: StartMessages,
}

impl Chosen {
    /// It takes hopty's place; comes back only when that failed.
    fn alone(&self, signals: Option<SignalState>) -> Failed {
        if self.agent == Agent::Claude {
            return exec(&self.program, &self.args, signals);
        }
        let mut command = Command::new(&self.program);
        command.arg0(&self.called).args(&self.args);
        become_it(command, &self.program, signals, "check its permissions and its interpreter")
    }
}

fn begin(
    paths: &Paths,
    config: Config,
    wish: StartOptions,
    chosen: Chosen,
    host: Forked,
) -> Result<u8, Failed> {
    let here = std::env::current_dir().unwrap_or_default();
    let last = here.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let numbered = wish.name.is_none();
    let titled = chosen.title.as_deref().and_then(SessionName::for_title);
    let wanted = wish.name.clone().or(titled).unwrap_or_else(|| SessionName::for_directory(&last));
    let signals = inherited::signals();
    let alone = |why: &dyn std::fmt::Display| {
        tell_alone(if chosen.agent == Agent::Claude { "Claude" } else { &chosen.called }, why);
        chosen.alone(Some(signals))
    };
    // Held from here on: what is typed until the program has its terminal must not be shown by both.
    let held = if wish.detached {
        Ok((None, Ahead::default()))
    } else {
        Hold::take_with_ahead().map(|(h, a)| (Some(h), a))
    };
    let (mut hold, ahead) = match held {
        Ok(held) => held,
        Err(error) => {
            host.dismiss();
            return Err(alone(&error));
        }
    };
    let fixed = config.terminal.detached_size;
    let size = if wish.detached { Size::cells(fixed.cols, fixed.rows) } else { raw::size() };
    let termios = hold.as_ref().map(|hold| hold.found().clone());
    let launch = Launch {
        name: wanted.clone(),
        numbered,
        title: chosen.title.clone(),
        labels: wish.labels.clone(),
        agent: chosen.agent,
        program: chosen.program.clone(),
        called: chosen.called.clone(),
        version: chosen.version.clone(),
        offers: chosen.offers.clone(),
        config,
        size,
        termios,
        ahead,
        handoff: wish.handoff.clone(),
        detached: wish.detached,
        restored: wish.restored,
        signals,
        errors: inherited::error_output(),
        record: wish.record.clone(),
        unplaced: chosen.unplaced.clone(),
        messages: chosen.messages.0.clone(),
    };
    let pid = host.pid();
    let (ready, socket) = host.launch(&launch, &chosen.args, hold.as_mut())?;
    let archive =
        (chosen.agent == Agent::Claude && chosen.unplaced.is_none()).then(|| launch.config.archive.clone());
    let mut paths = paths.clone();
    let name = match ready {
        StartReport::Up { name, told, state } => {
            if name == wanted
                && wish.name.is_none()
                && chosen.title.as_deref().is_some_and(|title| title != name.as_str())
            {
                note(format_args!("hopty: this session is {name}"));
            }
            for line in told {
                note(format_args!("hopty: {}", visible(&line)));
            }
            paths.state = state.map_or(paths.state, PathBuf::from);
            name
        }
        // hopty itself failed, and the program did not run.
        StartReport::Failed { code: 125, message, .. } if !wish.needs_hopty() => {
            drop((hold, socket));
            return Err(alone(&message));
        }
        StartReport::Failed { code, message, hint } => return Err(Failed::new(code, message).hint(hint)),
    };
    if wish.detached {
        // Whoever does not read the name has the session all the same.
        let _ = say(format_args!("{name}"));
        archive.iter().for_each(|config| drop(before_cleanup(&paths, config)));
        return Ok(0);
    }
    if let Some(config) = archive.clone() {
        let paths = paths.clone();
        // Claude runs already, and this terminal is not to wait for a look at thousands of files.
        let _ = std::thread::Builder::new().name("archive".to_owned()).spawn(move || {
            if let Some(mut child) = before_cleanup(&paths, &config) {
                let _ = child.wait();
            }
        });
    }
    let ended =
        session::join(&paths, &name, socket, Greeting::Done { host: pid }, ClientOptions::default(), hold);
    archive.iter().for_each(|config| drop(before_cleanup(&paths, config)));
    ended
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
        let from = |id: &str| BeginWith::From(id.to_owned());
        for (line, detached, handoff, rest) in [
            ("--detached", true, BeginWith::Fresh, ""),
            ("--model opus --detached fix", true, BeginWith::Fresh, "--model opus fix"),
            ("--handoff fix", false, BeginWith::Pending, "fix"),
            ("--handoff=HO-1 --detached", true, from("HO-1"), ""),
            (
                "--append-system-prompt --detached",
                false,
                BeginWith::Fresh,
                "--append-system-prompt --detached",
            ),
            (
                "--model=x -- --detached --handoff",
                false,
                BeginWith::Fresh,
                "--model=x -- --detached --handoff",
            ),
        ] {
            assert_eq!(of(line), (detached, handoff, rest.to_owned()), "{line}");
        }
    }
}
