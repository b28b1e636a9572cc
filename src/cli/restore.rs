//! `hopty restore`: resumes sessions that died with the machine, each conversation in its own directory,
//! detached.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::control::{
    HostControl, check_sessions_dir, not_renamed, parse_session_name, paths, unknown_session,
};
use super::error::{VerbError, YesNo, ask_yes_no, note, say, say_wrapped, visible};
use super::exit_codes::{FAILED, REFUSED};
use super::poll_until::{becomes_true, poll_until};
use super::status::ended;
use crate::core::claude::args::{NextRunArgs, OwnArgs, for_resume, with_name};
use crate::core::claude::permission::PermissionMode;
use crate::core::config::DurationMs;
use crate::core::ids::{ConversationId, SessionName};
use crate::core::status_types::{ExitKind, SessionStatus};
use crate::core::supervisor::ProgramKind;
use crate::core::supervisor::reported_state::SessionState;
use crate::core::text::shell_word::shell_word;
use crate::fs::archive::ArchiveStore;
use crate::fs::conversations::{Summaries, TranscriptFile};
use crate::fs::paths::Paths;
use crate::fs::session;

/// How long a host may take to say what it runs.
const COMMAND_ANSWER_LIMIT: Duration = Duration::from_millis(900);
/// How often hopty checks a session that it has started.
const RESTORED_POLL: Duration = Duration::from_millis(50);
/// How long a session that a person waits for may take to start.
const START_LIMIT: DurationMs = DurationMs::from_secs(60);
/// Options that neither run code nor extend what Claude may do.
const HARMLESS: [&str; 19] = [
    // Claude shows it in its footer, and a person who works with it wants it back after a reboot.
    "--dangerously-skip-permissions",
    "--model",
    "--fallback-model",
    "--effort",
    "--resume",
    "-r",
    "--continue",
    "-c",
    "--session-id",
    "--fork-session",
    "--name",
    "-n",
    "--verbose",
    "--ide",
    "--bare",
    "--safe-mode",
    "--strict-mcp-config",
    "--disallowedTools",
    "--disallowed-tools",
];
/// The beginning of the text that replaces a secret in a recorded command line.
const SECRET: &str = "[redacted";

#[derive(Debug)]
pub(super) struct RestoreSessionsOptions {
    /// The sessions; empty: all that died with the machine.
    pub names: Vec<String>,
    pub dry_run: bool,
    pub limit: usize,
    /// How long to wait for one to start before starting the next.
    pub timeout: DurationMs,
    pub as_json: bool,
}

/// A session that died and can be resumed, or the reason why not.
#[derive(Debug)]
pub(super) struct DeadSession {
    pub name: SessionName,
    pub status: SessionStatus,
    conversation: Option<ConversationId>,
    problem: Option<String>,
}

impl DeadSession {
    /// The options of its command line that may run code or extend the permission mode, by name. Any program
    /// of this user can have written them into its session.json, so a person must see them before it is
    /// resumed.
    pub(super) fn options_to_ask_for(&self) -> Vec<String> {
        options_to_ask_for(&self.status.command)
    }
}

/// Every word that looks like an option counts, wherever it is.
fn options_to_ask_for(command: &[String]) -> Vec<String> {
    let narrow = |mode: &str| matches!(mode, "default" | "manual" | "plan");
    let (mut words, mut found) = (command.iter().skip(1).peekable(), Vec::new());
    while let Some(word) = words.next() {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let is_mode = name == "--permission-mode";
        let next = words.peek().map(|next| next.as_str());
        let is_harmless = HARMLESS.contains(&name) || is_mode && value.or(next).is_some_and(narrow);
        if name.starts_with('-') && !is_harmless && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}

pub(super) fn restore(options: &RestoreSessionsOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    check_sessions_dir(&paths)?;
    let wanted = options.names.iter().map(|name| parse_session_name(name)).collect::<Result<Vec<_>, _>>()?;
    if wanted.is_empty() && !options.as_json {
        super::list::note_damaged(&paths);
    }
    let mut found = if wanted.is_empty() { dead_with_machine(&paths) } else { of_names(&paths, &wanted)? };
    if found.is_empty() && !options.as_json {
        note(format_args!("nothing to restore: no session died with the machine"));
        let killed = killed_sessions(&paths);
        if !killed.is_empty() && (options.dry_run || !resumes_killed(&killed)?) {
            note(format_args!("{}", killed_hint(&killed)));
            return Ok(0);
        }
        found = with_obstacles(&paths, killed);
    }
    let (mut results, mut started, mut failed) = (Vec::new(), 0, false);
    for dead in found {
        let (result, why) = match &dead.problem {
            Some(problem) => ("skipped", problem.clone()),
            None if started >= options.limit => ("waits", format!("more than {} at once", options.limit)),
            None if options.dry_run => match asks_for(&dead) {
                Some(why) => ("restorable", format!("{why}: {}", asks_first(&dead))),
                None => ("restorable", String::new()),
            },
            None if !is_agreed(&dead, options.as_json)? => {
                let why = asks_for(&dead).unwrap_or_default();
                ("skipped", format!("{why}: {}", asks_first(&dead)))
            }
            None => match start(&paths, &dead, options.timeout) {
                Ok(()) => ("restored", String::new()),
                Err(_) if is_resumed(&paths, &dead) => {
                    ("running", "another `hopty restore` has just resumed it".to_owned())
                }
                Err(why) => ("failed", why),
            },
        };
        started += usize::from(matches!(result, "restored" | "restorable"));
        failed |= result == "failed" || result == "skipped" && !wanted.is_empty();
        if options.as_json {
            results.push(object(&dead, result, &why));
        } else {
            print_result(&dead, result, &why)?;
        }
    }
    if options.as_json {
        say(format_args!("{}", Value::from(results)))?;
    } else if options.dry_run && started > 0 {
        note(format_args!(
            "hint: `hopty restore` starts them, detached; Claude waits for your prompt in each"
        ));
    }
    Ok(u8::from(failed))
}

/// The question before a session is resumed, if there is one.
fn asks_for(dead: &DeadSession) -> Option<String> {
    let options = dead.options_to_ask_for();
    (!options.is_empty()).then(|| format!("its command line has {}", options.join(", ")))
}

fn asks_first(dead: &DeadSession) -> String {
    format!("`hopty restore {}` in a terminal asks you first", dead.name)
}

/// Asks the person to agree to options beyond resuming.
fn is_agreed(dead: &DeadSession, as_json: bool) -> Result<bool, VerbError> {
    let Some(options) = asks_for(dead) else { return Ok(true) };
    if as_json || !super::run::in_terminal() {
        return Ok(false);
    }
    ask_yes_no(&format!("hopty: {}: {}. Resume it?", dead.name, visible(&options)), YesNo::No)
}

/// Columns of the longest result.
const RESULT: usize = "restorable".len();

fn print_result(dead: &DeadSession, result: &str, why: &str) -> std::io::Result<()> {
    let about = about(&dead.status).map(|about| format!("  {about}")).unwrap_or_default();
    let why = if why.is_empty() { String::new() } else { format!(": {}", visible(why)) };
    say_wrapped(format_args!("{result:<RESULT$}  {}  {}{about}{why}", dead.name, visible(&dead.status.dir)))
}

fn object(dead: &DeadSession, result: &str, why: &str) -> Value {
    let why = if why.is_empty() { None } else { Some(why) };
    json!({"name": dead.name.as_str(), "dir": dead.status.dir,
        "conversation": dead.conversation,
        "result": result, "why": why})
}

/// The session's topic in a few words.
pub(super) fn about(status: &SessionStatus) -> Option<String> {
    status.about().map(|about| visible(&about))
}

/// Whether a session ended with the machine before its last start. A lost session of an older version, which
/// recorded no boot, may have died at any time.
pub(super) fn died_with_machine(status: &SessionStatus) -> bool {
    let lost = status.exit.as_ref().is_some_and(|exit| exit.kind.is(ExitKind::Lost));
    let died = lost || status.machine.shutdown;
    session::is_of_another_boot(status) && status.agent.is(ProgramKind::Claude) && died
}

/// How a person continues an ended session, if Claude can. A killed one keeps its name, options and labels.
pub(super) fn restore_hint(name: &SessionName, last: &SessionStatus) -> Option<String> {
    if session::waits_for_restore(last) {
        return Some(format!("`hopty restore {name}` resumes it"));
    }
    session::resumable(last).map(|id| format!("`hopty --resume {id}` resumes its conversation"))
}

/// A hint about sessions whose hosts were killed since the machine was started.
pub(super) fn killed(paths: &Paths) -> Option<String> {
    Some(killed_sessions(paths)).filter(|found| !found.is_empty()).map(|found| killed_hint(&found))
}

fn killed_sessions(paths: &Paths) -> Vec<(SessionName, SessionStatus)> {
    ended_sessions(paths, |last| session::waits_for_restore(last) && !died_with_machine(last))
}

fn killed_hint(found: &[(SessionName, SessionStatus)]) -> String {
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let them = if names.len() == 1 { "it" } else { "them" };
    format!("hint: {}: `hopty restore {}` resumes {them}", were_killed(found), names.join(" "))
}

fn were_killed(found: &[(SessionName, SessionStatus)]) -> String {
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [name] => format!("the host of {name} was killed"),
        names => format!("the hosts of {} were killed", names.join(", ")),
    }
}

/// Asks whether to resume the sessions of killed hosts; without a terminal they stay.
fn resumes_killed(found: &[(SessionName, SessionStatus)]) -> Result<bool, VerbError> {
    let them = if found.len() == 1 { "it" } else { "them" };
    Ok(super::run::in_terminal()
        && ask_yes_no(&format!("hopty: {}. Resume {them}?", were_killed(found)), YesNo::Yes)?)
}

/// Sessions of a killed host or machine that `hopty restore` would resume, also if their conversation must
/// first return to its place.
pub(super) fn resumable(paths: &Paths) -> Vec<SessionName> {
    let found = ended_sessions(paths, |last| died_with_machine(last) || session::was_killed(last));
    let found = with_obstacles(paths, found).into_iter();
    // A directory may return with its disk.
    let stays = |dead: &DeadSession| {
        dead.conversation.is_some() || transcript_elsewhere(paths, &dead.status).is_some()
    };
    found.filter(stays).map(|dead| dead.name).collect()
}

/// Where the conversation of a session is that is not in its place; `None` if it is lost.
fn transcript_elsewhere(paths: &Paths, last: &SessionStatus) -> Option<String> {
    let id = last.conversation.as_ref().filter(|_| session::resumable(last).is_none())?;
    if let Some(file) = paths.find_transcript(id).and_then(|path| TranscriptFile::at(&path)) {
        let summary = Summaries::load(paths).read(std::slice::from_ref(&file)).pop();
        let to = summary.and_then(|summary| summary.dir);
        return Some(match to {
            Some(dir) => format!(
                "its conversation was moved: `cd {} && hopty --resume {id}` resumes it",
                shell_word(&dir)
            ),
            None => format!("its conversation was moved to {}", file.project_dir().display()),
        });
    }
    let (archived, _) = ArchiveStore::new(&paths.archive(), &paths.claude).entries();
    archived
        .iter()
        .any(|entry| entry.conversation == *id)
        .then(|| format!("its conversation is archived: `hopty conversations restore {id}` brings it back"))
}

/// Whether `hopty restore NAME` resumes this session, as far as files can tell.
pub(super) fn can_resume(paths: &Paths, name: &SessionName) -> bool {
    !session::is_alive(&paths.session(name))
        && ended(paths, name).is_some_and(|last| {
            let is_claude = last.agent.is(ProgramKind::Claude);
            is_claude && session::resumable(&last).is_some() && Path::new(&last.dir).is_dir()
        })
}

/// How many sessions died with the machine and can be resumed.
pub(super) fn restorable(paths: &Paths) -> usize {
    dead_with_machine(paths).iter().filter(|dead| dead.problem.is_none()).count()
}

/// The session of `dir` that died last and can be resumed.
pub(super) fn last_dead_in(paths: &Paths, dir: &Path) -> Option<DeadSession> {
    let found = ended_sessions(paths, |last| Path::new(&last.dir) == dir && session::waits_for_restore(last));
    with_obstacles(paths, found).into_iter().find(|dead| dead.problem.is_none())
}

/// Resumes a session that died, detached.
///
/// # Errors
/// When it does not start.
pub(super) fn resume(paths: &Paths, dead: &DeadSession) -> Result<(), VerbError> {
    let hint = format!("`hopty restore {}` tries it again", dead.name);
    start(paths, dead, START_LIMIT).map_err(|why| VerbError::new(FAILED, why).about(&dead.name).hint(hint))
}

fn dead_with_machine(paths: &Paths) -> Vec<DeadSession> {
    with_obstacles(paths, ended_sessions(paths, died_with_machine))
}

/// Ended sessions that match, the last used first, without those whose conversation a person has resumed
/// otherwise.
fn ended_sessions(
    paths: &Paths,
    wanted: impl Fn(&SessionStatus) -> bool,
) -> Vec<(SessionName, SessionStatus)> {
    let names = session::ended_names(paths).into_iter();
    let all: Vec<_> = names.filter_map(|name| ended(paths, &name).map(|last| (name, last))).collect();
    let went_on = |last: &SessionStatus| {
        let later = |other: &SessionStatus| {
            other.conversation == last.conversation && other.state_since > last.state_since && !wanted(other)
        };
        last.conversation.is_some() && all.iter().any(|(_, other)| later(other))
    };
    let mut found: Vec<_> = all.iter().filter(|(_, last)| wanted(last) && !went_on(last)).cloned().collect();
    found.sort_by_key(|(_, last)| std::cmp::Reverse(last.state_since));
    found
}

fn of_names(paths: &Paths, names: &[SessionName]) -> Result<Vec<DeadSession>, VerbError> {
    let mut found = Vec::new();
    for name in names {
        not_renamed(paths, name)?;
        if session::is_alive(&paths.session(name)) {
            return Err(VerbError::new(REFUSED, "the session is running")
                .about(name)
                .hint(format!("`hopty attach {name}` attaches to it")));
        }
        let status = ended(paths, name).ok_or_else(|| match session::is_damaged(&paths.session(name)) {
            true => VerbError::new(FAILED, "its session.json is damaged")
                .about(name)
                .hint(format!("`hopty rm {name}` removes the session; its conversation stays")),
            false => unknown_session(paths, name),
        })?;
        found.push((name.clone(), status));
    }
    Ok(with_obstacles(paths, found))
}

/// Finds what prevents each session from being resumed. A conversation is resumed only once, whichever
/// session ran it.
fn with_obstacles(paths: &Paths, found: Vec<(SessionName, SessionStatus)>) -> Vec<DeadSession> {
    if found.is_empty() {
        return Vec::new();
    }
    let mut taken = running_conversations(paths);
    let judge = |(name, status): (SessionName, SessionStatus)| {
        let conversation = session::resumable(&status).cloned();
        let problem = match &conversation {
            _ if !status.agent.is(ProgramKind::Claude) => Some("hopty can only resume Claude".to_owned()),
            None => Some(transcript_elsewhere(paths, &status).unwrap_or_else(|| {
                "it has no conversation to resume: no prompt was submitted, or the transcript was deleted"
                    .to_owned()
            })),
            Some(_) if !Path::new(&status.dir).is_dir() => Some("its directory is gone".to_owned()),
            Some(_) if status.command.iter().any(|word| word.contains(SECRET)) => {
                Some("its command line had a secret, which hopty did not store".to_owned())
            }
            Some(id) if taken.contains(id) => Some("another session runs its conversation".to_owned()),
            Some(id) => {
                taken.push(id.clone());
                None
            }
        };
        DeadSession { name, status, conversation, problem }
    };
    found.into_iter().map(judge).collect()
}

/// The conversations of live sessions.
fn running_conversations(paths: &Paths) -> Vec<ConversationId> {
    let of = |name: SessionName| {
        let answer =
            HostControl::connect(paths, &name, Some(COMMAND_ANSWER_LIMIT)).and_then(|mut host| host.status());
        answer.ok().or_else(|| super::status::unresponsive(paths, &name))?.conversation
    };
    session::live_names(paths).into_iter().filter_map(of).collect()
}

/// Whether another Claude has resumed it since.
fn is_resumed(paths: &Paths, dead: &DeadSession) -> bool {
    // A host that has just taken the name answers a moment later.
    becomes_true(Instant::now() + COMMAND_ANSWER_LIMIT, RESTORED_POLL, || {
        dead.conversation.as_ref().is_some_and(|id| running_conversations(paths).contains(id))
    })
}

/// Starts a session and waits for Claude, so that not all of them start at once.
fn start(paths: &Paths, dead: &DeadSession, limit: DurationMs) -> Result<(), String> {
    let (status, name) = (&dead.status, &dead.name);
    let id = dead.conversation.clone().ok_or("it has no conversation to resume")?;
    let own: Vec<String> = status.command.iter().skip(1).cloned().collect();
    // The conversation has its own name, which may have changed.
    let own = with_name(&own, None);
    let said = OwnArgs::of(&own);
    let names_mode = said.permission_mode.is_some() || said.skips_permissions;
    let next = NextRunArgs {
        session_id: id,
        model: None,
        switched: None,
        // Otherwise Claude takes the mode from the transcript, which any program of this user can write.
        permission_mode: (!names_mode).then_some(PermissionMode::Default),
        plugin_dir: None,
        settings: None,
    };
    let hopty = std::env::current_exe().map_err(|e| format!("hopty cannot find its own program: {e}"))?;
    let done = Command::new(hopty)
        .args(["run", "--detached", "--restored", "--name", name.as_str()])
        .args(status.labels.iter().map(|label| format!("--label={label}")))
        .args(before(status).map(|before| format!("--before={before}")))
        .args(["--", "claude"])
        .args(for_resume(&own, &next))
        .current_dir(&status.dir)
        // The command may run inside another session.
        .env_remove("HOPTY_SESSION")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let line = said.lines().next().unwrap_or("hopty could not start it");
        let line = line.strip_prefix("hopty: ").unwrap_or(line);
        return Err(line.trim_start_matches(&format!("run: {name}: ")).to_owned());
    }
    match ends_at_start(paths, name, Duration::from_millis(limit.ms())) {
        true => Err(format!("it ended at once: `hopty why {name}` says how")),
        false => Ok(()),
    }
}

/// The conversation to which `hopty back` returned, if Claude can resume it in the session's directory.
fn before(status: &SessionStatus) -> Option<&ConversationId> {
    let project = Path::new(status.transcript.as_ref()?).parent()?;
    status.before.as_ref().filter(|before| project.join(format!("{before}.jsonl")).is_file())
}

/// Whether a session that was just started ends before Claude waits or works; checked for at most `limit`.
pub(super) fn ends_at_start(paths: &Paths, name: &SessionName, limit: Duration) -> bool {
    let look = || {
        let now =
            HostControl::connect(paths, name, Some(COMMAND_ANSWER_LIMIT)).and_then(|mut host| host.status());
        Ok(match now.ok().and_then(|status| status.state.known()) {
            _ if !session::is_alive(&paths.session(name)) => Some(true),
            Some(SessionState::Starting | SessionState::Ended) | None => None,
            Some(_) => Some(false),
        })
    };
    poll_until(Instant::now() + limit, RESTORED_POLL, look).ok().flatten().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_run_code_or_widen_the_mode_are_asked_for() {
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            options_to_ask_for(&words).join(" ")
        };
        for line in [
            "claude",
            "claude --model opus -r --verbose --permission-mode plan",
            "claude --permission-mode=default fix the tests",
        ] {
            assert_eq!(of(line), "", "{line}");
        }
        for (line, expected) in [
            ("claude --dangerously-skip-permissions --settings {}", "--settings"),
            ("claude --settings={} --permission-mode=acceptEdits", "--settings --permission-mode"),
            ("claude --permission-mode acceptEdits", "--permission-mode"),
            ("claude --permission-mode", "--permission-mode"),
            ("claude --model --plugin-dir /x", "--plugin-dir"),
            ("claude --mcp-config x --mcp-config y --new-option", "--mcp-config --new-option"),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }
}
