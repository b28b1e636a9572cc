//! Starting: the drop-in form (`hopty [CLAUDE ARGS]`) and `hopty run`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::args::RunOptions;
use super::control::{bad_name, paths};
use super::conversations::before_cleanup;
use super::error::{Failed, YesNo, ask_person, ask_yes_no, note, say, visible};
use super::kept_options::KeptOptions;
use super::rename::bad_label;
use super::restore::{self, DeadSession};
use super::{attach_session, conversation_in_use, join_session, notice, read_config, screen, version};
use crate::claude::find_claude::{self, FileId, FindClaudeError, Search, find, next_depth};
use crate::claude::settings_files as hooks;
use crate::client::start::{Forked, Greeting};
use crate::client::{ClientOptions, RawTerminal};
use crate::core::claude::args::{ArgPiece, Grammar, LaunchMode, OwnArgs, Stream, classify};
use crate::core::claude::version_features::{ClaudeFeatures, HooksOff, offers};
use crate::core::config::{Archive, Config, ConfigSource, FlagValue, Problem, ProblemKind};
use crate::core::ids::{HandoffId, SessionName, change_labels};
use crate::core::inherited_state::{ErrorOutput, SignalState};
use crate::core::supervisor::Agent;
use crate::core::terminal::{Ahead, Size};
use crate::fs::free_space;
use crate::fs::paths::Paths;
use crate::fs::session::{is_alive, is_damaged, prepare_with_room};
use crate::host::start::{BeginWith, Launch, StartReport};
use crate::ipc::message::{Code, Record};
use crate::sys::inherited;
use crate::tty::raw;

/// How long a detached Claude may take to refuse an option or its value, and how many of its last lines are
/// told.
const REFUSAL: Duration = Duration::from_secs(2);
const SAID_LINES: usize = 3;
/// Options for which Claude accepts any value.
const TAKEN_AS_THEY_ARE: [&str; 5] =
    ["--add-dir", "--dangerously-skip-permissions", "--effort", "--model", "--name"];

/// A start in the making: what the host is told, which the steps fill in, and the program's arguments.
struct Start {
    paths: Paths,
    launch: Launch,
    args: Vec<OsString>,
}

impl Start {
    /// Of Claude in this directory, with nothing else asked for.
    fn new(paths: Paths, config: Config, args: Vec<OsString>) -> Start {
        let here = std::env::current_dir().unwrap_or_default();
        let last = here.file_name().unwrap_or_default().to_string_lossy();
        let launch = Launch {
            name: SessionName::for_directory(&last),
            numbered: true,
            title: None,
            labels: BTreeSet::new(),
            agent: Agent::Claude,
            program: PathBuf::new(),
            called: "claude".to_owned(),
            version: None,
            offers: ClaudeFeatures::default(),
            config,
            size: Size::cells(0, 0),
            termios: None,
            ahead: Ahead::default(),
            handoff: BeginWith::Fresh,
            detached: false,
            restored: false,
            signals: SignalState::default(),
            errors: ErrorOutput::Terminal,
            record: None,
            unplaced: None,
            messages: Vec::new(),
        };
        Start { paths, launch, args }
    }

    /// Whether it asks for what only a session can give; the program alone would be something else.
    fn needs_hopty(&self) -> bool {
        let Launch { detached, handoff, record, .. } = &self.launch;
        *detached || *handoff != BeginWith::Fresh || record.is_some()
    }

    /// Finds out whether a session can be kept, where the program could run without one.
    fn look_for_place(&mut self) {
        if !self.needs_hopty() {
            self.launch.unplaced = no_place(&self.paths);
        }
    }

    /// Tells the person something before Claude draws. The session keeps it, as Claude draws over it at once.
    fn tell(&mut self, text: String) {
        note(format_args!("hopty: {text}"));
        self.launch.messages.push(text);
    }

    /// The host that was forked; without one the program runs alone, if that is the same to the person.
    fn host(&self, forked: io::Result<Forked>) -> Result<Forked, Failed> {
        match forked {
            Ok(host) => Ok(host),
            Err(error) if self.needs_hopty() => Err(error.into()),
            Err(error) => Err(self.alone_because(&error, None)),
        }
    }

    /// The program takes hopty's place, and the person is told why; comes back only when that failed.
    fn alone_because(&self, why: &dyn std::fmt::Display, signals: Option<SignalState>) -> Failed {
        let called = if self.launch.agent == Agent::Claude { "Claude" } else { &self.launch.called };
        note(format_args!("hopty: {}; running {called} without hopty", visible(&why.to_string())));
        self.alone(signals)
    }

    /// The program takes hopty's place; comes back only when that failed. Nothing is changed, but that a
    /// shell script which may lead back here is counted.
    fn alone(&self, signals: Option<SignalState>) -> Failed {
        let Launch { program, called, agent, .. } = &self.launch;
        let mut command = Command::new(program);
        command.args(&self.args);
        let hint = match agent {
            Agent::Claude => {
                if let (true, Ok(depth)) = (
                    find_claude::may_lead_back(program),
                    next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref()),
                ) {
                    command.env("HOPTY_DEPTH", depth.to_string());
                }
                "check its permissions and its interpreter, or reinstall Claude"
            }
            Agent::Plain => {
                command.arg0(called);
                "check its permissions and its interpreter"
            }
        };
        inherited::pass_on(&mut command, signals);
        let error = command.exec();
        let failed = match error.kind() {
            std::io::ErrorKind::NotFound if !program.exists() => Failed::new(127, "no such program"),
            std::io::ErrorKind::NotFound => Failed::new(126, "its interpreter or loader is missing"),
            _ => Failed::new(126, format!("hopty cannot execute it: {error}")),
        };
        failed.about(program.display()).hint(hint)
    }
}

/// `hopty [CLAUDE ARGS...]`.
pub(super) fn drop_in(args: Vec<OsString>) -> Result<u8, Failed> {
    let (detached, handoff, args) = take_options(args);
    let paths = any_paths();
    let host = is_session(detached, &args).then(Forked::new);
    let resolved = read_config::resolved(Some(&paths), &[]);
    let ignored = read_config::ignored(&resolved);
    let mut start = Start::new(paths, resolved.config, args);
    (start.launch.detached, start.launch.handoff) = (detached, handoff);
    // A bad file must not keep anyone from Claude, and adds nothing to what a script gets that runs Claude
    // alone.
    if host.is_some() {
        start.look_for_place();
    }
    // In such a home it is one more thing that cannot be had.
    let is_unplaced = start.launch.unplaced.is_some();
    let of_home = |kind: &ProblemKind| is_unplaced && matches!(kind, ProblemKind::Unreadable(_));
    let to_say = |problem: &&Problem| host.is_some() && !of_home(&problem.kind);
    let told: Vec<&Problem> = resolved.problems.iter().filter(to_say).collect();
    told.iter().for_each(|problem| start.tell(format!("{problem}{}", problem.in_its_place())));
    // A file that cannot be read is no mistake in what it says, and no repository may keep Claude waiting.
    let own_file = start.paths.config_file();
    let is_own = |at: &ConfigSource| match at {
        ConfigSource::File { path, .. } => Path::new(path) == own_file,
        ConfigSource::Variable(_) | ConfigSource::Flag(_) => true,
    };
    let mistaken =
        told.iter().any(|problem| !matches!(problem.kind, ProblemKind::Unreadable(_)) && is_own(&problem.at));
    for line in ignored.iter().filter(|_| host.is_some()) {
        start.tell(line.to_string());
    }
    if mistaken && !detached {
        wait_for_enter();
    }
    start.launch.program = match find_claude(Some(&start.paths.home), &start.launch.config) {
        Ok(program) => program,
        Err(failed) => return version::instead_of_claude(&start.args, &failed).unwrap_or(Err(failed)),
    };
    version::introduce_claude(&start.args);
    claude(start, host)
}

/// Whether hopty has a part in what Claude is started for.
fn is_session(detached: bool, args: &[OsString]) -> bool {
    let stream = |terminal: bool| if terminal || detached { Stream::Terminal } else { Stream::Other };
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

/// hopty's own two options of the drop-in form, `--detached` and `--handoff`, wherever they are options: what
/// stands behind an option that takes a value is its value.
fn take_options(args: Vec<OsString>) -> (bool, BeginWith, Vec<OsString>) {
    let words: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let (mut detached, mut handoff) = (false, BeginWith::Fresh);
    let mut taken = Vec::new();
    for piece in Grammar::new().parse(&words) {
        let ArgPiece::Unknown { at } = piece else { continue };
        match words[at].as_str() {
            "--detached" => detached = true,
            // With an id behind it, it is that one: as a prompt an id would mean nothing.
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

/// Claude under `host`, or without hopty where there is none.
fn claude(mut start: Start, host: Option<io::Result<Forked>>) -> Result<u8, Failed> {
    let host = match host {
        None => return Err(start.alone(None)),
        Some(forked) => start.host(forked)?,
    };
    let given = words(&start.args).unwrap_or_default();
    if let Err(failed) = conversation_in_use::refuse(&start.paths, &given) {
        host.dismiss();
        return Err(failed);
    }
    let own = OwnArgs::of(&given);
    let here = std::env::current_dir().unwrap_or_default();
    let kept = KeptOptions::of(&start.paths, &start.launch.handoff, &own, &here);
    if !kept.args.is_empty() {
        start.tell(format!("as in the conversation before: {}", kept.args.join(" ")));
    }
    start.args.splice(..0, kept.args.into_iter().map(OsString::from));
    let launch = &mut start.launch;
    // A conversation that is resumed keeps its own name, unless the person gives it another.
    let asked = (!launch.numbered && !own.picks_conversation).then(|| launch.name.to_string());
    launch.title = own.name.clone().or(asked).filter(|title| !title.is_empty()).or(kept.title);
    launch.version = find_claude::version_on_disk(&launch.program);
    let hooks_off = hooks_off(&start.paths, &launch.config, &words(&start.args).unwrap_or_default());
    launch.offers = offers(launch.version.as_deref(), hooks_off);
    // A session without a place says it in the line about that.
    let is_told_later = start.launch.unplaced.is_some() && start.launch.offers.no_handover.is_some();
    if let Some(limited) = start.launch.offers.limited.as_ref().filter(|_| !is_told_later) {
        start.tell(limited.to_string());
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
    // Where there is no place for a session, that is what there is to say.
    if start.launch.handoff == BeginWith::Fresh && start.launch.unplaced.is_none() {
        notice::at_start(&start.paths, &start.launch.offers).into_iter().for_each(|told| start.tell(told));
    }
    begin(start, host)
}

/// Whether a person reads the output now and can answer.
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
fn may_mean_another(start: &Start, own: &OwnArgs) -> bool {
    let plain = own.prompt.is_none() && own.name.is_none() && !own.picks_conversation && !own.forks;
    plain && start.launch.numbered && !start.needs_hopty() && std::env::var_os("HOPTY_SESSION").is_none()
}

/// A session that a person has meant by a start in its directory.
enum SessionOfBefore {
    /// It runs, and no terminal shows it.
    Detached(SessionName),
    /// It died, and can be resumed.
    Died(Box<DeadSession>),
}

/// Which session of this directory a person wants rather than a new one. Who cannot be asked is told of it.
fn session_of_before(start: &mut Start, own: &OwnArgs) -> Result<Option<SessionOfBefore>, Failed> {
    let asks = start.launch.config.terminal.offer_attach && may_mean_another(start, own) && person_is_here();
    let detached = notice::without_terminal(&start.paths);
    if let Some((name, others)) = detached.split_first() {
        if !asks {
            start.tell(format!(
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
    let Some(dead) = std::env::current_dir().ok().and_then(|dir| restore::died_in(&start.paths, &dir)) else {
        return Ok(None);
    };
    let name = &dead.name;
    let about = restore::about(&dead.status).map(|about| format!(" ({about})")).unwrap_or_default();
    let why = if restore::died_with_machine(&dead.status) { "died with the machine" } else { "was killed" };
    if asks {
        // Its session.json says so, which any program of this user can have written.
        let (with, enter) = match dead.options_to_ask_for().as_slice() {
            [] => (String::new(), YesNo::Yes),
            options => (format!(" with {}", visible(&options.join(", "))), YesNo::No),
        };
        if ask_yes_no(&format!("hopty: {name}{about} {why}. Resume it{with}?"), enter)? {
            return Ok(Some(SessionOfBefore::Died(Box::new(dead))));
        }
        start.tell(format!("`hopty restore {name}` resumes it later; `hopty rm {name}` removes it"));
        return Ok(None);
    }
    start.tell(format!("{name}{about} {why}: `hopty restore {name}` resumes it. Starting another session."));
    Ok(None)
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
    Paths::from_env(var).unwrap_or_else(|| Paths::without_home(var))
}

/// Whether a person is at the keyboard and sees what is written; else there is no terminal to hold.
pub(super) fn in_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// What keeps hooks from running, as far as can be seen before the start.
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
    let resolved = read_config::resolved(Some(&paths), &flags);
    read_config::all_right(&resolved.problems)?;
    let ignored = read_config::ignored(&resolved);
    let mut words = options.program.into_iter();
    let called = words.next().unwrap_or_default();
    let mut start = Start::new(paths, resolved.config, words.collect());
    ignored.iter().for_each(|line| start.tell(line.to_string()));
    // Also where it will not be needed, so that a script that works without a terminal works in one.
    if let Some(name) = &options.name {
        (start.launch.name, start.launch.numbered) = (name.parse().map_err(|_| bad_name(name))?, false);
    }
    let launch = &mut start.launch;
    change_labels(&mut launch.labels, &options.labels, &[]).map_err(|error| bad_label(&error))?;
    (launch.detached, launch.restored, launch.record) = (options.detached, options.restored, record);
    let records = launch.record.is_some();
    if records && !launch.detached && !in_terminal() {
        return Err(Failed::new(2, "standard input and output must be a terminal")
            .hint("use --detached to record without one"));
    }
    if called == OsStr::new("claude") {
        launch.config.hooks.inject &= !options.no_inject;
        let host = if is_session(options.detached, &start.args) {
            Some(host)
        } else {
            let _ = host.map(Forked::dismiss);
            if records {
                return Err(Failed::new(2, "with these arguments Claude has no terminal to record")
                    .hint("record an interactive session"));
            }
            None
        };
        start.launch.program = find_claude(Some(&start.paths.home), &start.launch.config)?;
        if host.is_some() {
            start.look_for_place();
        }
        return claude(start, host);
    }
    next_depth(std::env::var("HOPTY_DEPTH").ok().as_deref())
        .map_err(|e| Failed::new(125, e.to_string()).hint("hopty keeps starting itself"))?;
    launch.agent = Agent::Plain;
    launch.called = called.to_string_lossy().into_owned();
    launch.program = in_path(&called).ok_or_else(|| {
        Failed::new(127, "no such program").about(&launch.called).hint("check the name and PATH")
    })?;
    start.look_for_place();
    if !options.detached && !in_terminal() {
        return Err(start.alone(None));
    }
    let host = start.host(host)?;
    begin(start, host)
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

/// Has conversations archived that Claude would delete soon, when the session has ended or has no terminal.
struct ArchiveAtEnd {
    paths: Paths,
    config: Archive,
}

impl ArchiveAtEnd {
    /// Now, too. Claude runs already, and this terminal is not to wait for a look at thousands of files.
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

/// Of a detached Claude nobody sees that it refuses an option or its value. Where there is none, its start is
/// not waited for.
fn refused(paths: &Paths, name: &SessionName, args: &[OsString]) -> Result<(), Failed> {
    let args = words(args).unwrap_or_default();
    let may_be_refused = |piece: &ArgPiece| match piece {
        ArgPiece::Option { name, .. } => !TAKEN_AS_THEY_ARE.contains(&name.as_str()),
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
    Err(Failed::new(1, format!("the session ended at once{said}"))
        .called(Code::Ended)
        .about(name)
        .hint(format!("`hopty screen {name}` shows its last screen, `hopty why {name}` says how it ended")))
}

fn begin(mut start: Start, host: Forked) -> Result<u8, Failed> {
    let launch = &mut start.launch;
    if let Some(titled) = launch.title.as_deref().and_then(SessionName::for_title).filter(|_| launch.numbered)
    {
        launch.name = titled;
    }
    let dir = start.paths.session(&launch.name);
    if is_damaged(&dir) && !is_alive(&dir) {
        let text =
            format!("the session.json of the last session {} is damaged; this one replaces it", launch.name);
        start.tell(text);
    }
    let launch = &mut start.launch;
    launch.signals = inherited::signals();
    launch.errors = inherited::error_output();
    // Held from here on: what is typed until the program has its terminal must not be shown by both.
    let held = if launch.detached { Ok(None) } else { RawTerminal::take_with_ahead().map(Some) };
    let mut hold = match held {
        Ok(None) => {
            let fixed = launch.config.terminal.detached_size;
            launch.size = Size::cells(fixed.cols, fixed.rows);
            None
        }
        Ok(Some((hold, ahead))) => {
            (launch.size, launch.termios, launch.ahead) = (raw::size(), Some(hold.found().clone()), ahead);
            Some(hold)
        }
        Err(error) => {
            host.dismiss();
            return Err(start.alone_because(&error, Some(start.launch.signals)));
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
        StartReport::Failed { code: 125, message, .. } if !start.needs_hopty() => {
            drop((hold, socket));
            return Err(start.alone_because(&message, Some(start.launch.signals)));
        }
        StartReport::Failed { code, message, hint } => return Err(Failed::new(code, message).hint(hint)),
    };
    let Start { paths, launch, args } = start;
    let archives = launch.agent == Agent::Claude && launch.unplaced.is_none();
    let archive = archives.then(|| ArchiveAtEnd { paths: paths.clone(), config: launch.config.archive });
    if launch.detached {
        if launch.agent == Agent::Claude {
            refused(&paths, &name, &args)?;
        }
        // Whoever does not read the name has the session all the same.
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
