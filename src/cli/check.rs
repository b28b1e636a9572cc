//! `hopty check`: finds what is missing and says how to fix it.
//!
//! It examines what a start here would use: Claude, its hooks, the configuration, the directories for
//! sessions and handoffs, the terminal, tmux, git, and the running hosts. It changes nothing.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::unistd::{AccessFlags, access};
use serde_json::{Value, json};

use super::config::how_many_set;
use super::control::HostControl;
use super::conversations::size;
use super::error::{VerbError, say, visible};
use super::list::PATIENCE;
use super::table::TableStyle;
use super::{notice, read_config, run};
use crate::claude::find_claude;
use crate::core::claude::environment::REMOVED;
use crate::core::claude::version_features::{HooksOff, offers};
use crate::core::config::Config;
use crate::core::ids::Channel;
use crate::core::text::plural::plural;
use crate::core::text::word_wrap::wrap_words;
use crate::fs::archive::ArchiveStore;
use crate::fs::paths::Paths;
use crate::fs::{free_space, registry, session};
use crate::sys::program_search::command_outside_of_projects;
use crate::tty::{can_draw, raw};

/// How long Claude may take to print its version if no file has it.
const VERSION: Duration = Duration::from_secs(5);
/// Columns and rows below which Claude's own dialogs are cut.
const SMALL: (u16, u16) = (40, 10);
/// Conversations that Claude deletes within this many days are reported.
const SOON_DAYS: u64 = 7;
/// The column of the findings, in columns.
const INDENT: usize = 22;
const NARROW: usize = 50;
const NARROW_INDENT: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grade {
    /// Nothing to do.
    Good,
    /// It works, but something is missing.
    Note,
    /// Something does not work.
    Bad,
}

impl Grade {
    fn word(self) -> &'static str {
        match self {
            Grade::Good => "ok",
            Grade::Note => "note",
            Grade::Bad => "bad",
        }
    }

    /// The SGR parameters of its word.
    fn color(self) -> &'static str {
        match self {
            Grade::Good => "32",
            Grade::Note => "33",
            Grade::Bad => "1;31",
        }
    }
}

struct Finding {
    about: &'static str,
    grade: Grade,
    found: String,
    fix: Option<String>,
}

impl Finding {
    /// The finding for a terminal of `cols` columns, or for a file.
    fn text(&self, cols: Option<usize>) -> String {
        let (word, found) = (self.grade.word(), visible(&self.found));
        let wrap =
            |text: String, indent| cols.map_or_else(|| text.clone(), |cols| wrap_words(&text, indent, cols));
        let (head, indent) = match cols.is_some_and(|cols| cols < NARROW) {
            true => (format!("{word:<5} {}\n{:NARROW_INDENT$}{found}", self.about, ""), NARROW_INDENT),
            false => (format!("{word:<5} {:<15} {found}", self.about), INDENT),
        };
        let fix = self.fix.iter().map(|fix| format!("\n{:indent$}-> {}", "", visible(fix)));
        wrap(head, indent) + &fix.map(|fix| wrap(fix, indent + 3)).collect::<String>()
    }
}

fn good(about: &'static str, found: impl Into<String>) -> Finding {
    Finding { about, grade: Grade::Good, found: found.into(), fix: None }
}

fn note(about: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { about, grade: Grade::Note, found: found.into(), fix: Some(fix.into()) }
}

fn bad(about: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { about, grade: Grade::Bad, found: found.into(), fix: Some(fix.into()) }
}

pub(super) fn check(as_json: bool) -> Result<u8, VerbError> {
    let paths = run::paths_or_nowhere();
    let resolved = read_config::resolved(Some(&paths), &[]);
    let mut found = claude(&paths, &resolved.config);
    for (n, problem) in (1..).zip(&resolved.problems) {
        let finding = bad(
            "configuration",
            problem.to_string(),
            "correct it; `hopty config show` shows what is in force",
        );
        // All have the same fix: print it once, after the last.
        found.push(if n == resolved.problems.len() { finding } else { Finding { fix: None, ..finding } });
    }
    if resolved.problems.is_empty() {
        found.push(good("configuration", how_many_set(&resolved)));
    }
    found.extend([place(&paths), handoffs(&paths), transcripts(&paths)]);
    found.extend([archive(&paths, &resolved.config), hosts(&paths)]);
    found.extend(terminal());
    found.extend(tmux());
    found.push(git());
    found.extend(resolved.config.notify.desktop.then(desktop));
    found.push(environment());
    if as_json {
        say(format_args!("{}", Value::from_iter(found.iter().map(object))))?;
    } else {
        let colors = TableStyle::of_output().colors;
        let cols = raw::columns(std::io::stdout());
        found.iter().try_for_each(|finding| print(finding, colors, cols))?;
    }
    Ok(u8::from(found.iter().any(|finding| finding.grade == Grade::Bad)))
}

fn print(finding: &Finding, colors: bool, cols: Option<usize>) -> std::io::Result<()> {
    let (word, text) = (finding.grade.word(), finding.text(cols));
    match text.strip_prefix(word).filter(|_| colors) {
        Some(rest) => say(format_args!("\x1b[{}m{word}\x1b[m{rest}", finding.grade.color())),
        None => say(format_args!("{text}")),
    }
}

fn object(finding: &Finding) -> Value {
    json!({"about": finding.about, "state": finding.grade.word(), "found": finding.found, "fix": finding.fix})
}

/// The Claude that a start would run, and what it supports.
fn claude(paths: &Paths, config: &Config) -> Vec<Finding> {
    let program = match run::find_claude(Some(&paths.home), config) {
        Ok(program) => program,
        Err(failed) => return vec![bad("claude", failed.cause(), failed.help())],
    };
    let version = find_claude::version(&program, VERSION);
    let which = match &version {
        Ok(version) => good("claude", format!("{version}, {}", program.display())),
        Err(error) => {
            note("claude", error.to_string(), "`hopty` starts it anyway, as if it were the newest version")
        }
    };
    let off = run::hooks_off(paths, config, &[]);
    let fix = match &off {
        Some(HooksOff::Unwritable { .. }) => "see to its permissions, or free some room there",
        _ => {
            "update Claude, and remove `disableAllHooks` from its settings and `hooks.inject = false` from \
             hopty's"
        }
    };
    let offers = offers(version.ok().as_deref(), off);
    let hooks = match offers.limited {
        None => good("hooks", "hopty passes its hooks to Claude at each launch; it changes no file"),
        Some(limited) => note("hooks", limited, fix),
    };
    vec![which, hooks]
}

/// The directory of the sessions.
fn place(paths: &Paths) -> Finding {
    let shown = paths.state.display();
    if !paths.is_known() {
        return bad(
            "sessions",
            "HOME is not set to an absolute path",
            "set HOME: until then no verb can find a session",
        );
    }
    if let Err(error) = session::prepare(paths) {
        return bad("sessions", error.to_string(), error.hint());
    }
    let closed = [paths.state.clone(), paths.sessions(), paths.run()].into_iter().find(|dir| !writable(dir));
    let full = free_space::space_problem(&paths.state, free_space::FOR_SESSION);
    match closed {
        None if full.is_some() => bad(
            "sessions",
            full.unwrap_or_default(),
            "free some space: until then Claude starts without hopty",
        ),
        Some(dir) => bad(
            "sessions",
            format!("{} cannot be written", dir.display()),
            "check its permissions, and that its disk is writable",
        ),
        None => match session::damaged(paths).first() {
            Some(name) => bad(
                "sessions",
                format!("the session.json of {name} is damaged"),
                format!("`hopty rm {name}` removes the session; its conversation stays"),
            ),
            None => good("sessions", format!("kept in {shown}")),
        },
    }
}

fn writable(dir: &Path) -> bool {
    access(dir, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

/// The directory of the handoffs.
fn handoffs(paths: &Paths) -> Finding {
    let here = std::env::current_dir().unwrap_or_default();
    match notice::wrong(paths, &here) {
        Some(why) => bad("handoffs", why, "fix this: until then hopty cannot save a handoff"),
        None => {
            let channel = registry::channel_of(&paths.claude, &here).unwrap_or_else(|_| Channel::global());
            good(
                "handoffs",
                format!("kept in {}, channel {channel} here", paths.claude.join("handoff").display()),
            )
        }
    }
}

/// How long Claude keeps transcripts, and how many it is about to delete: it checks at each start, and a
/// conversation without its transcript cannot be resumed.
fn transcripts(paths: &Paths) -> Finding {
    let period = read_config::cleanup_period_here(paths);
    let days = period.days;
    let (all, going) = ages(&paths.claude.join("projects")).fold((0, 0), |(all, going), age| {
        (all + 1, going + u64::from(age.saturating_add(SOON_DAYS) >= days))
    });
    let kept = match all {
        0 => "no transcript yet".to_owned(),
        all => plural(all, "transcript"),
    };
    let who = period.origin_words();
    let found = format!("{kept}; Claude deletes one after {days} days without use ({who})");
    if going == 0 {
        return good("transcripts", found);
    }
    note(
        "transcripts",
        format!("{found}, {going} of them within the next {SOON_DAYS} days"),
        "to keep them: hopty conversations archive, or a larger `cleanupPeriodDays` in Claude's \
         settings.json",
    )
}

fn archive(paths: &Paths, config: &Config) -> Finding {
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let (entries, damaged) = store.entries();
    let held: u64 = entries.iter().map(|entry| entry.packed_bytes).sum();
    let limit = config.archive.max_mb.saturating_mul(1 << 20);
    let count = entries.iter().filter(|entry| entry.number == 0).count();
    let found =
        format!("{}, {} of {} (`archive.max_mb`)", plural(count, "conversation"), size(held), size(limit));
    if let Some(first) = damaged.first() {
        let more =
            if damaged.len() > 1 { format!(", and {} more", damaged.len() - 1) } else { String::new() };
        return note("archive", format!("{found}; {first}{more}"), first.hint());
    }
    if held >= limit {
        let fix = "raise archive.max_mb, or run `hopty conversations archive --prune --yes`";
        return note("archive", format!("{found}: hopty archives nothing more"), fix);
    }
    if held >= limit / 10 * 9 {
        let fix = "raise archive.max_mb: a full archive takes nothing more";
        return note("archive", found, fix);
    }
    good("archive", found)
}

/// The days since each transcript was last written.
fn ages(projects: &Path) -> impl Iterator<Item = u64> {
    let files = std::fs::read_dir(projects).into_iter().flatten().flatten();
    let files = files.flat_map(|dir| std::fs::read_dir(dir.path()).into_iter().flatten().flatten());
    files.filter(|file| file.path().extension().is_some_and(|ext| ext == "jsonl")).filter_map(|file| {
        let age = file.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
        Some(age.as_secs() / 86_400)
    })
}

fn hosts(paths: &Paths) -> Finding {
    let alive = session::live_names(paths);
    let mute = |name: &&_| {
        let answer = HostControl::connect(paths, name, Some(PATIENCE)).and_then(|mut host| host.status());
        answer.is_err()
    };
    let mute: Vec<String> = alive.iter().filter(mute).map(ToString::to_string).collect();
    if mute.is_empty() {
        return good(
            "hosts",
            match alive.len() {
                0 => "none is running".to_owned(),
                1 => "1 is running and answers".to_owned(),
                n => format!("{n} are running and all answer"),
            },
        );
    }
    let fix = format!(
        "it may be stopped or busy: try again, then `kill -CONT` the host_pid that `hopty status {} --json` \
         prints",
        mute[0]
    );
    bad("hosts", format!("no answer from {}", mute.join(", ")), fix)
}

fn terminal() -> Vec<Finding> {
    let term = std::env::var("TERM").unwrap_or_default();
    let mut found = Vec::new();
    if !run::in_terminal() {
        let what = "standard input or output is not a terminal";
        found.push(note(
            "terminal",
            what,
            "without a terminal, `hopty ARGS` runs `claude ARGS`, and `--detached` starts a session",
        ));
    } else if !can_draw() {
        found.push(bad(
            "terminal",
            format!("TERM={term} cannot draw a screen"),
            "set TERM to your terminal's type, such as xterm-256color",
        ));
    } else {
        let size = raw::size();
        let is = format!("{term}, {}x{}", size.cols, size.rows);
        let small = (1..SMALL.0).contains(&size.cols) || (1..SMALL.1).contains(&size.rows);
        found.push(if small {
            note("terminal", is, "make it larger: Claude cuts its dialogs in a terminal this small")
        } else {
            good("terminal", is)
        });
    }
    if let Some(name) = std::env::var_os("HOPTY_SESSION") {
        let what = format!("this shell runs inside session {}", name.display());
        found.push(note("terminal", what, "to attach, use a terminal outside the session"));
    }
    found
}

/// Settings of `docs/TMUX.md` that are missing in the tmux around this terminal.
fn tmux() -> Vec<Finding> {
    if std::env::var_os("TMUX").is_none() {
        return Vec::new();
    }
    let asked = "#{extended-keys} #{focus-events} #{allow-passthrough} #{escape-time}";
    let ask = |mut tmux: Command| {
        tmux.args(["display-message", "-p", asked]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()
    };
    let text = command_outside_of_projects("tmux")
        .and_then(ask)
        .filter(|answer| answer.status.success())
        .map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned());
    let values: Vec<&str> = text.as_deref().unwrap_or_default().trim_end().split(' ').collect();
    let [keys, focus, through, escape] = values[..] else {
        return vec![note(
            "tmux",
            "tmux does not report its options",
            "Claude needs extended-keys, focus-events and allow-passthrough on, and escape-time 10",
        )];
    };
    let on = |value: &str| matches!(value, "1" | "on" | "always" | "all");
    let late = escape.parse::<u32>().is_ok_and(|ms| ms > 100);
    let missing = [
        (!on(keys), "tmux does not pass on Shift+Enter", "set -s extended-keys on"),
        (!on(focus), "tmux does not report focus to Claude", "set -g focus-events on"),
        (!on(through), "tmux does not pass on notifications", "set -g allow-passthrough on"),
        (late, "tmux delays Escape", "set -s escape-time 10"),
    ];
    let found: Vec<Finding> = missing
        .into_iter()
        .filter(|(is, ..)| *is)
        .map(|(_, what, line)| note("tmux", what, format!("add to ~/.tmux.conf: {line}")))
        .collect();
    if found.is_empty() { vec![good("tmux", "set up as Claude needs it")] } else { found }
}

fn git() -> Finding {
    let project = std::env::current_dir().unwrap_or_else(|_| "/".into());
    match crate::git::ask_git::version(&project, Duration::from_secs(5)) {
        Ok(version) => good("git", version),
        Err(error) => note(
            "git",
            error.to_string(),
            "install git 2.32 or later: a handoff then has branch, status and changes",
        ),
    }
}

/// The program that `notify.desktop` runs, and the bus that it needs.
fn desktop() -> Finding {
    let about = "desktop";
    let Some(program) = command_outside_of_projects("notify-send") else {
        let fix = "install it (package libnotify-bin on Debian and Ubuntu, libnotify elsewhere), or set \
                   `notify.terminal` or `notify.command`";
        return note(about, "notify-send is not installed, so `notify.desktop` shows nothing", fix);
    };
    let socket = std::env::var_os("XDG_RUNTIME_DIR").map(|dir| Path::new(&dir).join("bus"));
    if std::env::var_os("DBUS_SESSION_BUS_ADDRESS").is_some() || socket.is_some_and(|bus| bus.exists()) {
        return good(about, Path::new(program.get_program()).display().to_string());
    }
    let fix = "`notify.terminal` and `notify.command` work without one, also over SSH";
    note(about, "there is no session bus here, so `notify.desktop` shows nothing", fix)
}

/// Variables that a Claude under hopty does not get, and those that it gets in addition.
fn environment() -> Finding {
    let removed: Vec<&str> = REMOVED.into_iter().filter(|name| std::env::var_os(name).is_some()).collect();
    let adds = "Claude gets CLAUDE_CODE_DISABLE_AGENT_VIEW=1 and HOPTY_*";
    match removed.as_slice() {
        [] => good("environment", adds),
        removed => good("environment", format!("{adds}; hopty removes {}", removed.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_narrow_terminal_what_was_found_stands_below_its_name() {
        let finding = note("tmux", "tmux does not pass on Shift+Enter", "add a line to ~/.tmux.conf");
        assert_eq!(
            finding.text(Some(32)),
            "note  tmux\n    tmux does not pass on\n    Shift+Enter\n    -> add a line to\n       \
             ~/.tmux.conf"
        );
        assert_eq!(
            finding.text(Some(60)),
            "note  tmux            tmux does not pass on Shift+Enter\n                      -> add a line to \
             ~/.tmux.conf"
        );
        assert_eq!(finding.text(None), finding.text(Some(80)));
    }
}
