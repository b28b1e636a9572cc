//! Starts sessions: the drop-in form (`hopty [CLAUDE ARGS]`) and `hopty run`.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::args::RunOptions;
use super::control::{invalid_name, paths};
use super::conversations::before_cleanup;
use super::error::{VerbError, YesNo, ask_person, ask_yes_no, note, say, visible};
use super::exit_codes::{FAILED, INTERNAL, NO_PROGRAM, NOT_EXECUTABLE, USAGE};
use super::handoff_options::HandoffOptions;
use super::rename::bad_label;
use super::restore::{self, DeadSession};
use super::{attach_session, conversation_in_use, join_session, notice, read_config, screen, version};
use crate::claude::find_claude::{self, FileId, FindClaudeError, Search, find, next_depth};
use crate::claude::settings_files as hooks;
use crate::client::start::{Forked, Greeting};
use crate::client::{ClientOptions, RawTerminal};
use crate::core::claude::args::{ArgPiece, Grammar, LaunchMode, OwnArgs, Stream, classify};
use crate::core::claude::version_features::{HooksOff, offers};
use crate::core::config::{Archive, Config, ConfigSource, FlagValue, Problem, ProblemKind};
use crate::core::ids::{HandoffId, SessionName, change_labels};
use crate::core::inherited_state::SignalState;
use crate::core::supervisor::ProgramKind;
use crate::core::terminal::Size;
use crate::fs::free_space;
use crate::fs::paths::Paths;
use crate::fs::session::{is_alive, is_damaged, prepare_with_room};
use crate::host::start::{BeginWith, Launch, StartReport};
use crate::ipc::message::{Code, Record};
use crate::sys::inherited;
use crate::tty::raw;

/// How long a detached Claude may take to reject an option or its value, and how many of its last lines are
/// printed.
const REFUSAL: Duration = Duration::from_secs(2);
const SAID_LINES: usize = 3;
/// Options for which Claude accepts any value.
const ANY_VALUE: [&str; 5] = ["--add-dir", "--dangerously-skip-permissions", "--effort", "--model", "--name"];

/// A start that is being prepared: what the host gets, and the program's arguments.
struct Start {
    paths: Paths,
    launch: Launch,
    args: Vec<OsString>,
}

impl Start {
    /// Claude in this directory, with no options.
    fn new(paths: Paths, config: Config, args: Vec<OsString>) -> Start {
        let here = std::env::current_dir().unwrap_or_default();
        let last = here.file_name().unwrap_or_default().to_string_lossy();
        let name = SessionName::for_directory(&last);
        let launch = Launch { numbered: true, ..Launch::new(name, ProgramKind::Claude, config) };
        Start { paths, launch, args }
    }

    /// Whether only a session can do what was asked, and not the program alone.
    fn needs_session(&self) -> bool {
        let Launch { detached, handoff, record, .. } = &self.launch;
        *detached || *handoff != BeginWith::Fresh || record.is_some()
    }

    /// Checks whether a session can be kept, if the program could run without one.
    fn check_session_dir(&mut self) {
        if !self.needs_session() {
            self.launch.unplaced = no_session_dir(&self.paths);
        }
    }

    /// Prints a line before Claude draws. Claude draws over it at once, so the session keeps it too.
    fn announce(&mut self, text: String) {
        note(format_args!("hopty: {text}"));
        self.launch.messages.push(text);
    }

    /// The host; if it could not be forked, the program runs alone if that does what was asked.
    fn host(&self, forked: io::Result<Forked>) -> Result<Forked, VerbError> {
        match forked {
            Ok(host) => Ok(host),
            Err(error) if self.needs_session() => Err(error.into()),
            Err(error) => Err(self.exec_with_notice(&error, None)),
        }
    }

    /// Says why, and replaces hopty with the program; returns only if that fails.
    fn exec_with_notice(&self, why: &dyn std::fmt::Display, signals: Option<SignalState>) -> VerbError {
        let called = if self.launch.agent == ProgramKind::Claude { "Claude" } else { &self.launch.called };
        note(format_args!("hopty: {}; running {called} without hopty", visible(&why.to_string())));
        self.exec_program(signals)
    }

    /// Replaces hopty with the program; returns only if that fails. The environment is unchanged, except for
    /// a counter when the program is a shell script that may lead back to hopty.
    fn exec_program(&self, signals: Option<SignalState>) -> VerbError {
        let Launch { program, called, agent, .. } = &self.launch;
        let mut command = Command::new(program);
        command.args(&self.args);
        let hint = match agent {
            ProgramKind::Claude => {
                if let (true, Ok(depth)) = (
                    find_claude::may_lead_back(program),
                    next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref()),
                ) {
                    command.env("HOPTY_DEPTH", depth.to_string());
                }
                "check its permissions and its interpreter, or reinstall Claude"
            }
            ProgramKind::Plain => {
                command.arg0(called);
                "check its permissions and its interpreter"
            }
        };
        inherited::pass_on(&mut command, signals);
        let error = command.exec();
        let failed = match error.kind() {
            std::io::ErrorKind::NotFound if !program.exists() => {
                VerbError::new(NO_PROGRAM, "no such program")
            }
            std::io::ErrorKind::NotFound => {
                VerbError::new(NOT_EXECUTABLE, "its interpreter or loader is missing")
            }
            _ => VerbError::new(NOT_EXECUTABLE, format!("hopty cannot execute it: {error}")),
        };
        failed.about(program.display()).hint(hint)
    }
}

/// `hopty [CLAUDE ARGS...]`.
pub(super) fn drop_in(args: Vec<OsString>) -> Result<u8, VerbError> {
    let (detached, handoff, args) = take_options(args);
    let paths = paths_or_nowhere();
    let host = is_session(detached, &args).then(Forked::new);
    let resolved = read_config::resolved(Some(&paths), &[]);
    let ignored = read_config::ignored(&resolved);
    let mut start = Start::new(paths, resolved.config, args);
    (start.launch.detached, start.launch.handoff) = (detached, handoff);
    // A mistake in the configuration must not keep anyone from Claude, and adds nothing to the output of a
    // script that runs Claude alone.
    if host.is_some() {
        start.check_session_dir();
    }
    // In such a home it is just one more thing that fails.
    let is_unplaced = start.launch.unplaced.is_some();
    let of_home = |kind: &ProblemKind| is_unplaced && matches!(kind, ProblemKind::Unreadable(_));
    let to_say = |problem: &&Problem| host.is_some() && !of_home(&problem.kind);
    let told: Vec<&Problem> = resolved.problems.iter().filter(to_say).collect();
    told.iter().for_each(|problem| start.announce(format!("{problem}{}", problem.in_its_place())));
    // A file that cannot be read contains no mistake, and no repository may delay Claude.
    let own_file = start.paths.config_file();
    let is_own = |at: &ConfigSource| match at {
        ConfigSource::File { path, .. } => Path::new(path) == own_file,
        ConfigSource::Variable(_) | ConfigSource::Flag(_) => true,
    };
    let mistaken =
        told.iter().any(|problem| !matches!(problem.kind, ProblemKind::Unreadable(_)) && is_own(&problem.at));
    for line in ignored.iter().filter(|_| host.is_some()) {
        start.announce(line.to_string());
    }
    if mistaken && !detached {
        wait_for_enter();
    }
    start.launch.program = match find_claude(Some(&start.paths.home), &start.launch.config) {
        Ok(program) => program,
        Err(failed) => return version::instead_of_claude(&start.args, &failed).unwrap_or(Err(failed)),
    };
    version::introduce_claude(&start.args);
    if reads_pipe_into_prompt(&start.args, io::stdin().is_terminal(), io::stdout().is_terminal())
        && io::stderr().is_terminal()
    {
        note(format_args!("hopty: standard input is no terminal: Claude runs without hopty"));
        note(format_args!("hint: put the text into the prompt: `hopty \"explain this: $(cat FILE)\"`"));
    }
    start_claude(start, host)
}

/// Whether Claude starts interactively, and so in a session.
fn is_session(detached: bool, args: &[OsString]) -> bool {
    is_interactive(args, detached || io::stdin().is_terminal(), detached || io::stdout().is_terminal())
}

/// Whether Claude reads its standard input into the first prompt and goes on at the terminal.
fn reads_pipe_into_prompt(args: &[OsString], stdin: bool, stdout: bool) -> bool {
    !stdin && is_interactive(args, true, stdout)
}

/// Whether Claude starts interactively; `stdin` and `stdout`: whether these are terminals.
fn is_interactive(args: &[OsString], stdin: bool, stdout: bool) -> bool {
    let stream = |terminal: bool| if terminal { Stream::Terminal } else { Stream::Other };
    words(args)
        .is_some_and(|words| classify(&words, stream(stdin), stream(stdout)) == LaunchMode::Interactive)
}

/// The arguments as text; `None` if one is not UTF-8.
pub(super) fn words(args: &[OsString]) -> Option<Vec<String>> {
    args.iter().map(|arg| arg.to_str().map(str::to_owned)).collect()
}

/// Takes hopty's own options of the drop-in form, `--detached` and `--handoff`, out of the arguments, but not
/// out of the value of another option.
fn take_options(args: Vec<OsString>) -> (bool, BeginWith, Vec<OsString>) {
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let (mut detached, mut handoff) = (false, BeginWith::Fresh);
    let mut taken = Vec::new();
    for piece in Grammar::new().parse(&words) {
        let ArgPiece::Unknown { at } = piece else { continue };
        match words[at].as_str() {
            "--detached" => detached = true,
            // An id that follows is its value: as a prompt it would mean nothing.
            "--handoff" => match words.get(at + 1).filter(|next| next.parse::<HandoffId>().is_ok()) {
                Some(id) => {
                    handoff = BeginWith::From(id.clone());
                    taken.push(at + 1);
                }
                None => handoff = BeginWith::Pending,
            },
            word => match word.strip_prefix("--handoff=") {
                Some(id) => handoff = BeginWith::From(id.to_owned()),
                None => continue,
            },
        }
        taken.push(at);
    }
    let rest = args.into_iter().enumerate().filter(|(at, _)| !taken.contains(at)).map(|(_, arg)| arg);
    (detached, handoff, rest.collect())
}

/// Runs Claude under `host`, or without hopty.
fn start_claude(mut start: Start, host: Option<io::Result<Forked>>) -> Result<u8, VerbError> {
    let host = match host {
        None => return Err(start.exec_program(None)),
        Some(forked) => start.host(forked)?,
    };
    let given = words(&start.args).unwrap_or_default();
    if let Err(failed) = conversation_in_use::refuse(&start.paths, &given) {
        host.dismiss();
        return Err(failed);
    }
    let own = OwnArgs::of(&given);
    let here = std::env::current_dir().unwrap_or_default();
    let options_before = HandoffOptions::of(&start.paths, &start.launch.handoff, &own, &here);
    if !options_before.args.is_empty() {
        start.announce(format!("as in the conversation before: {}", options_before.args.join(" ")));
    }
    start.args.splice(..0, options_before.args.into_iter().map(OsString::from));
    let launch = &mut start.launch;
    // A resumed conversation keeps its name, unless the person gives it another.
    let asked = (!launch.numbered && !own.picks_conversation).then(|| launch.name.to_string());
    launch.title = own.name.clone().or(asked).filter(|title| !title.is_empty()).or(options_before.title);
    launch.version = find_claude::version_on_disk(&launch.program);
    let hooks_off = hooks_off(&start.paths, &launch.config, &words(&start.args).unwrap_or_default());
    launch.offers = offers(launch.version.as_deref(), hooks_off);
    // Without a directory for the session, that message says so.
    let is_in_other_line = start.launch.unplaced.is_some() && start.launch.offers.no_handover.is_some();
    if let Some(limited) = start.launch.offers.limited.as_ref().filter(|_| !is_in_other_line) {
        start.announce(limited.to_string());
    }
    if !start.launch.detached && start.launch.unplaced.is_none() {
        match session_of_before(&mut start, &own) {
            Err(failed) => {
                host.dismiss();
                return Err(failed);
            }
            Ok(None) => {}
            Ok(Some(SessionOfBefore::Detached(name))) => {
                host.dismiss();
                return attach_session::attach(Some(name.as_str()), false);
            }
            Ok(Some(SessionOfBefore::Died(dead))) => {
                host.dismiss();
                restore::resume(&start.paths, &dead)?;
                return attach_session::attach(Some(dead.name.as_str()), false);
            }
        }
    }
    // Without a directory for the session, that is the message.
    if start.launch.handoff == BeginWith::Fresh && start.launch.unplaced.is_none() {
        notice::at_start(&start.paths, &start.launch.offers)
            .into_iter()
            .for_each(|told| start.announce(told));
    }
    launch_in_host(start, host)
}

/// Whether a person reads the output now and can answer.
fn can_ask_person() -> bool {
    in_terminal() && std::io::stderr().is_terminal()
}

/// Waits, so that Claude does not draw over the message before it is read.
fn wait_for_enter() {
    if can_ask_person() {
        let _ = ask_person("hopty: Enter starts Claude anyway, Ctrl+C lets you correct it first.");
    }
}

/// Whether a person may mean a running session: the start has no prompt and names no conversation.
fn may_mean_running(start: &Start, own: &OwnArgs) -> bool {
    let plain = own.prompt.is_none() && own.name.is_none() && !own.picks_conversation && !own.forks;
    plain && start.launch.numbered && !start.needs_session() && std::env::var_os("HOPTY_SESSION").is_none()
}

/// A session of this directory that a person chose instead of a new one.
enum SessionOfBefore {
    /// It is running without a terminal.
    Detached(SessionName),
    /// It died and can be resumed.
    Died(Box<DeadSession>),
}

/// Asks whether the person wants a session of this directory instead of a new one; without a terminal it
/// prints a notice.
fn session_of_before(start: &mut Start, own: &OwnArgs) -> Result<Option<SessionOfBefore>, VerbError> {
    let asks = start.launch.config.terminal.offer_attach && may_mean_running(start, own) && can_ask_person();
    let detached = notice::detached_sessions(&start.paths);
    if let Some((name, others)) = detached.split_first() {
        if !asks {
            start.announce(format!(
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
        let said = ask_yes_no(&format!("hopty: {question}"), YesNo::Yes)?;
        return Ok(said.then(|| SessionOfBefore::Detached(name.clone())));
    }
    let Some(dead) = std::env::current_dir().ok().and_then(|dir| restore::last_dead_in(&start.paths, &dir))
    else {
        return Ok(None);
    };
    let name = &dead.name;
    let about = restore::about(&dead.status).map(|about| format!(" ({about})")).unwrap_or_default();
    let why = if restore::died_with_machine(&dead.status) { "died with the machine" } else { "was killed" };
    if asks {
        // From its session.json, which any program of this user can have written.
        let (with, enter) = match dead.options_to_ask_for().as_slice() {
            [] => (String::new(), YesNo::Yes),
            options => (format!(" with {}", visible(&options.join(", "))), YesNo::No),
        };
        if ask_yes_no(&format!("hopty: {name}{about} {why}. Resume it{with}?"), enter)? {
            return Ok(Some(SessionOfBefore::Died(Box::new(dead))));
        }
        start.announce(format!("`hopty restore {name}` resumes it later; `hopty rm {name}` removes it"));
        return Ok(None);
    }
    start.announce(format!(
        "{name}{about} {why}: `hopty restore {name}` resumes it. Starting another session."
    ));
    Ok(None)
}

/// Why no session can be kept.
fn no_session_dir(paths: &Paths) -> Option<String> {
    if !paths.is_known() {
        return Some("HOME is not set to an absolute path".to_owned());
    }
    prepare_with_room(paths).err().map(|e| e.to_string())
}

/// Lowers this process's priority below every other.
pub(super) fn lower_priority() {
    let _ = rustix::process::nice(19);
}

/// hopty's directories; without a home, paths that do not exist.
pub(super) fn paths_or_nowhere() -> Paths {
    let var = |name: &str| std::env::var_os(name);
    Paths::from_env(var).unwrap_or_else(|| Paths::without_home(var))
}

/// Whether a person is at the keyboard and sees the output.
pub(super) fn in_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// What disables hooks, as far as hopty can tell before the start.
pub(super) fn hooks_off(paths: &Paths, config: &Config, args: &[String]) -> Option<HooksOff> {
    let own = OwnArgs::of(args);
    let here = std::env::current_dir().unwrap_or_default();
    let closed =
        |name: &str| free_space::write_problem(&paths.claude.join(name)).filter(|_| paths.is_known());
    if let Some(why) = closed("plugins") {
        let handover = ["projects", "handoff"].into_iter().all(|name| closed(name).is_none());
        return Some(HooksOff::Unwritable { why, handover });
    }
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

/// Claude's program, from the configuration or PATH.
///
/// # Errors
/// Exit code 126 or 127 if it is not there, 125 if it leads back to hopty.
pub(super) fn find_claude(home: Option<&Path>, config: &Config) -> Result<PathBuf, VerbError> {
    let configured = Some(Path::new(&config.program.claude)).filter(|path| !path.as_os_str().is_empty());
    let path = std::env::var_os("PATH");
    let search = Search { configured, home, path: path.as_deref(), own: FileId::of_this_program() };
    next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref()).map_err(|e| {
        VerbError::new(INTERNAL, e.to_string())
            .about("claude")
            .hint("hopty keeps starting itself: set program.claude to the real Claude")
    })?;
    find(&search).map_err(|e| {
        let code = if matches!(e, FindClaudeError::NotExecutable { .. }) { 126 } else { 127 };
        VerbError::new(code, e.to_string()).about("claude").hint(e.hint())
    })
}

/// `hopty run -- PROGRAM ARGS`, and `hopty record -- PROGRAM ARGS`.
pub(super) fn program(
    options: RunOptions,
    record: Option<Record>,
    host: io::Result<Forked>,
) -> Result<u8, VerbError> {
    let paths = if options.detached { paths()? } else { paths_or_nowhere() };
    let limit = options.max_restarts.map(|n| n.to_string());
    let flags: Vec<FlagValue<'_>> = limit
        .iter()
        .map(|value| FlagValue { flag: "--max-restarts", key: "restart.max_restarts", value })
        .collect();
    let resolved = read_config::resolved(Some(&paths), &flags);
    read_config::all_right(&resolved.problems)?;
    let ignored = read_config::ignored(&resolved);
    let mut words = options.program.into_iter();
    let called = words.next().unwrap_or_default();
    let mut start = Start::new(paths, resolved.config, words.collect());
    ignored.iter().for_each(|line| start.announce(line.to_string()));
    // Checked even if the name is not needed, so that a script that works without a terminal works in one.
    if let Some(name) = &options.name {
        (start.launch.name, start.launch.numbered) = (name.parse().map_err(|_| invalid_name(name))?, false);
    }
    let launch = &mut start.launch;
    change_labels(&mut launch.labels, &options.labels, &[]).map_err(|error| bad_label(&error))?;
    (launch.detached, launch.restored, launch.record) = (options.detached, options.restored, record);
    launch.before = options.before;
    if launch.record.is_some() && !launch.detached && !in_terminal() {
        return Err(VerbError::new(USAGE, "standard input and output must be a terminal")
            .hint("use --detached to record without one"));
    }
    if called == OsStr::new("claude") {
        launch.config.hooks.inject &= !options.no_inject;
        return run_claude(start, host, options.detached);
    }
    next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref())
        .map_err(|e| VerbError::new(INTERNAL, e.to_string()).hint("hopty keeps starting itself"))?;
    launch.agent = ProgramKind::Plain;
    launch.called = called.to_string_lossy().into_owned();
    launch.program = in_path(&called).ok_or_else(|| {
        VerbError::new(NO_PROGRAM, "no such program").about(&launch.called).hint("check the name and PATH")
    })?;
    start.check_session_dir();
    if !options.detached && !in_terminal() {
        return Err(start.exec_program(None));
    }
    let host = start.host(host)?;
    launch_in_host(start, host)
}

/// `hopty run -- claude`, and `hopty record -- claude`.
fn run_claude(mut start: Start, host: io::Result<Forked>, detached: bool) -> Result<u8, VerbError> {
    let host = if is_session(detached, &start.args) {
        Some(host)
    } else {
        let _ = host.map(Forked::dismiss);
        if start.launch.record.is_some() {
            return Err(VerbError::new(USAGE, "with these arguments Claude has no terminal to record")
                .hint("record an interactive session"));
        }
        None
    };
    start.launch.program = find_claude(Some(&start.paths.home), &start.launch.config)?;
    if host.is_some() {
        start.check_session_dir();
    }
    start_claude(start, host)
}

/// The file that execvp would run for a name.
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

/// When dropped, archives conversations that Claude would delete soon: the session has ended or has no
/// terminal.
struct ArchiveAtEnd {
    paths: Paths,
    config: Archive,
}

impl ArchiveAtEnd {
    /// Archives now, too. Claude is already running, so this terminal does not wait until thousands of files
    /// are checked.
    fn also_now(&self) {
        let (paths, config) = (self.paths.clone(), self.config.clone());
        let _ = std::thread::Builder::new().name("archive".to_owned()).spawn(move || {
            if let Some(mut child) = before_cleanup(&paths, &config) {
                let _ = child.wait();
            }
        });
    }
}

impl Drop for ArchiveAtEnd {
    fn drop(&mut self) {
        drop(before_cleanup(&self.paths, &self.config));
    }
}

/// Reports that a detached Claude rejected an option or its value, which otherwise no person would see.
/// Without such an option it does not wait.
fn check_refusal(paths: &Paths, name: &SessionName, args: &[OsString]) -> Result<(), VerbError> {
    let args = words(args).unwrap_or_default();
    let may_be_refused = |piece: &ArgPiece| match piece {
        ArgPiece::Option { name, .. } => !ANY_VALUE.contains(&name.as_str()),
        ArgPiece::Unknown { .. } => true,
        _ => false,
    };
    if !Grammar::new().parse(&args).iter().any(may_be_refused)
        || !restore::ends_at_start(paths, name, REFUSAL)
    {
        return Ok(());
    }
    let said = screen::last_lines(paths, name, SAID_LINES).join(" ");
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    Err(VerbError::new(FAILED, format!("the session ended at once{said}"))
        .called(Code::Ended)
        .about(name)
        .hint(format!("`hopty screen {name}` shows its last screen, `hopty why {name}` says how it ended")))
}

/// This terminal in raw mode, or `None` for a detached session. The launch gets the session's size and the
/// input typed so far.
fn take_terminal(launch: &mut Launch) -> io::Result<Option<RawTerminal>> {
    if launch.detached {
        let fixed = launch.config.terminal.detached_size;
        launch.size = Size::cells(fixed.cols, fixed.rows);
        return Ok(None);
    }
    let (hold, ahead) = RawTerminal::take_with_ahead()?;
    (launch.size, launch.termios, launch.ahead) = (raw::size(), Some(hold.modes_before().clone()), ahead);
    Ok(Some(hold))
}

/// Has the host start the program, and attaches this terminal.
fn launch_in_host(mut start: Start, host: Forked) -> Result<u8, VerbError> {
    let launch = &mut start.launch;
    if let Some(titled) = launch.title.as_deref().and_then(SessionName::for_title).filter(|_| launch.numbered)
    {
        launch.name = titled;
    }
    let dir = start.paths.session(&launch.name);
    if is_damaged(&dir) && !is_alive(&dir) {
        let text =
            format!("the session.json of the last session {} is damaged; this one replaces it", launch.name);
        start.announce(text);
    }
    let launch = &mut start.launch;
    launch.signals = inherited::signals();
    launch.errors = inherited::error_output();
    // From here on, so that input typed before the program has its terminal is not echoed twice.
    let mut hold = match take_terminal(launch) {
        Ok(hold) => hold,
        Err(error) => {
            host.dismiss();
            return Err(start.exec_with_notice(&error, Some(start.launch.signals)));
        }
    };
    let pid = host.pid();
    let (ready, socket) = host.launch(&start.launch, &start.args, hold.as_mut())?;
    let name = match ready {
        StartReport::Up { name, told, state } => {
            let Launch { numbered, title, name: wanted, .. } = &start.launch;
            let is_other = |title: &str| title != name.as_str();
            if name == *wanted && *numbered && title.as_deref().is_some_and(is_other) {
                note(format_args!("hopty: this session is {name}"));
            }
            for line in told {
                note(format_args!("hopty: {}", visible(&line)));
            }
            if let Some(state) = state {
                start.paths.state = PathBuf::from(state);
            }
            name
        }
        // hopty itself failed, and the program did not run.
        StartReport::Failed { code: 125, message, .. } if !start.needs_session() => {
            drop((hold, socket));
            return Err(start.exec_with_notice(&message, Some(start.launch.signals)));
        }
        StartReport::Failed { code, message, hint } => return Err(VerbError::new(code, message).hint(hint)),
    };
    let Start { paths, launch, args } = start;
    let archives = launch.agent == ProgramKind::Claude && launch.unplaced.is_none();
    let archive = archives.then(|| ArchiveAtEnd { paths: paths.clone(), config: launch.config.archive });
    if launch.detached {
        if launch.agent == ProgramKind::Claude {
            check_refusal(&paths, &name, &args)?;
        }
        // If nobody reads the name, the session still runs.
        let _ = say(format_args!("{name}"));
        return Ok(0);
    }
    archive.iter().for_each(ArchiveAtEnd::also_now);
    join_session::join(&paths, &name, socket, Greeting::Done { host: pid }, ClientOptions::default(), hold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_as_the_input_of_an_interactive_claude_is_known() {
        let args = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(reads_pipe_into_prompt(&args("explain"), false, true));
        for (line, stdin, stdout) in
            [("explain", true, true), ("explain", false, false), ("-p explain", false, true)]
        {
            assert!(!reads_pipe_into_prompt(&args(line), stdin, stdout), "{line}");
        }
    }

    #[test]
    fn hopty_s_own_options_are_taken_only_where_they_are_options() {
        let of = |line: &str| {
            let (detached, handoff, rest) =
                take_options(line.split_whitespace().map(OsString::from).collect());
            let rest: Vec<String> = rest.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
            (detached, handoff, rest.join(" "))
        };
        let from = |id: &str| BeginWith::From(id.to_owned());
        for (line, detached, handoff, rest) in [
            ("--detached", true, BeginWith::Fresh, ""),
            ("--model opus --detached fix", true, BeginWith::Fresh, "--model opus fix"),
            ("--handoff fix", false, BeginWith::Pending, "fix"),
            ("--handoff=HO-1 --detached", true, from("HO-1"), ""),
            ("--handoff HO-20261126-162435-4eb32e85 fix", false, from("HO-20261126-162435-4eb32e85"), "fix"),
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
