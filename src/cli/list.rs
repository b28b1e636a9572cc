//! `hopty ls`.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::control::{HostControl, no_session_hint, parse_session_name, paths};
use super::error::{VerbError, note, say, visible};
use super::exit_codes::USAGE;
use super::rename::bad_label;
use super::restore::{about, can_resume, killed, restorable};
use super::status;
use super::table::{self, TableStyle};
use crate::core::context_level::Level;
use crate::core::ids::{Label, SessionName};
use crate::core::input::plain_keys::PlainKey;
use crate::core::process_change::Signal;
use crate::core::status_types::{ExitKind, Rfc3339, SessionStatus};
use crate::core::supervisor::reported_state::SessionState;
use crate::core::text::column_fit::ColumnRank;
use crate::core::text::ellipsis::{begin_of, session_name_cols};
use crate::core::text::nearest_word::nearest_word;
use crate::core::text::plural::plural;
use crate::core::text::shell_word::shell_line;
use crate::fs::paths::Paths;
use crate::fs::session::ListedSession;
use crate::sys::clock::{ahead, elapsed};
use crate::tty::full_screen::{self, BEGIN, UNDO};
use crate::tty::full_screen_page::FullScreenPage;

/// A host that does not answer within this is `unresponsive`.
pub(super) const PATIENCE: Duration = Duration::from_millis(200);
/// How often `--watch` refreshes, in ms.
const WATCH_MS: u64 = 2000;
/// The widest topic of a session, in columns.
const ABOUT: usize = 60;
/// The widest branch name, in columns.
const BRANCH: usize = 24;
/// The widest and the narrowest state column: `blocked (permission)`.
const STATE_COLS: (usize, usize) = (32, 20);
/// The same for a text, and for a directory.
const TEXT_COLS: (usize, usize) = (28, table::LAST_CELL_LEAST);

#[derive(Debug, Args)]
pub(super) struct ListOptions {
    /// Only these sessions
    pub sessions: Vec<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Print a line for tmux's status line (`tmux`), or one for each session after a template such as
    /// '{name} {state}'
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Refresh the list every two seconds
    #[arg(long, short, conflicts_with_all = ["json", "names"])]
    pub watch: bool,
    /// Only sessions with this label
    #[arg(long, value_name = "LABEL", conflicts_with = "names")]
    pub label: Option<String>,
    /// Include ended sessions
    #[arg(long, short)]
    pub all: bool,
    /// Print only the names, one per line, without asking the hosts
    #[arg(long, conflicts_with = "json")]
    pub names: bool,
    /// Of the names, only those of ended sessions
    #[arg(long, requires = "names", conflicts_with = "all")]
    pub ended: bool,
    /// Of the names, only those of sessions that `hopty restore` can resume
    #[arg(long, requires = "names", conflicts_with_all = ["all", "ended"])]
    pub restorable: bool,
}

/// The beginning of `hopty ls --help`.
pub(super) fn long_about() -> String {
    format!("List sessions, those that wait for you first\n\nFields of a format: {}.", field_names())
}

pub(super) fn ls(options: &ListOptions) -> Result<u8, VerbError> {
    if options.names {
        return names(options);
    }
    let template =
        options.format.as_deref().filter(|format| *format != TMUX).map(Template::read).transpose()?;
    if !options.watch {
        return list(options, template.as_ref());
    }
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(
            VerbError::new(USAGE, "--watch needs a terminal").hint("`hopty events --follow` is for scripts")
        );
    }
    watch(options, template.as_ref())
}

/// Draws the list again and again on the alternate screen, so that the terminal's contents come back at the
/// end.
fn watch(options: &ListOptions, template: Option<&Template>) -> Result<u8, VerbError> {
    let mut page = FullScreenPage::open(BEGIN, UNDO)?;
    loop {
        // The new list first, so that the old one stays on the screen until then.
        let listing = Listing::of(options, template, ask(options)?)?;
        page.draw(&listing.page(full_screen::size()))?;
        let pressed = match page.wait(Some(WATCH_MS))? {
            Ok(pressed) => pressed,
            Err(signal) => return Ok(Signal(signal).exit_code()),
        };
        for key in pressed {
            match key {
                PlainKey::Char('q') => return Ok(0),
                PlainKey::Cancel => return Ok(Signal::INT.exit_code()),
                _ => {}
            }
        }
    }
}

fn list(options: &ListOptions, template: Option<&Template>) -> Result<u8, VerbError> {
    let sessions = ask(options)?;
    if options.all && !options.json {
        note_damaged(&paths()?);
    }
    print(options, template, sessions)
}

fn ask(options: &ListOptions) -> Result<Vec<SessionStatus>, VerbError> {
    let paths = paths()?;
    super::control::check_sessions_dir(&paths)?;
    let wanted = options
        .sessions
        .iter()
        .map(|name| parse_session_name(name))
        .collect::<Result<Vec<SessionName>, _>>()?;
    let mut known = crate::fs::session::list(&paths);
    if let Some(missing) = wanted.iter().find(|name| !known.iter().any(|known| known.name == **name)) {
        // The same error as any verb that takes a name.
        super::control::any_session(&paths, Some(missing.as_str()))?;
    }
    known.retain(|session| match wanted.is_empty() {
        true => session.is_alive || options.all,
        false => wanted.contains(&session.name),
    });
    let found = statuses(&paths, known);
    let label: Option<Label> =
        options.label.as_deref().map(str::parse).transpose().map_err(|error| bad_label(&error))?;
    // One may have ended since it was found alive.
    let with_ended = options.all || !wanted.is_empty();
    let meant = |status: &SessionStatus| {
        (with_ended || !status.is(SessionState::Ended))
            && label.as_ref().is_none_or(|label| status.labels.iter().any(|own| own == label.as_str()))
    };
    Ok(found.into_iter().filter(meant).collect())
}

/// The status of each session. All hosts are asked at the same time, so that a slow one delays only itself.
pub(super) fn statuses(paths: &Paths, sessions: Vec<ListedSession>) -> Vec<SessionStatus> {
    let asked: Vec<_> = sessions
        .into_iter()
        .map(|ListedSession { name, is_alive }| {
            let paths = paths.clone();
            thread::spawn(move || {
                if !is_alive {
                    crate::fs::session::remove_stale_socket(&paths, &name);
                    return status::ended(&paths, &name);
                }
                let answer = HostControl::connect(&paths, &name, Some(PATIENCE))
                    .and_then(|mut control| control.status());
                answer.ok().or_else(|| status::unresponsive(&paths, &name))
            })
        })
        .collect();
    asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
}

fn print(
    options: &ListOptions,
    template: Option<&Template>,
    sessions: Vec<SessionStatus>,
) -> Result<u8, VerbError> {
    if options.json {
        say(format_args!("{}", Value::from_iter(sessions.iter().map(with_branch))))?;
        return Ok(0);
    }
    let listing = Listing::of(options, template, sessions)?;
    listing.lines.iter().try_for_each(|line| say(format_args!("{line}")))?;
    listing.notes.iter().for_each(|line| note(format_args!("{line}")));
    Ok(0)
}

/// The output of the verb, and its messages.
#[derive(Default)]
struct Listing {
    lines: Vec<String>,
    notes: Vec<String>,
}

impl Listing {
    fn of(
        options: &ListOptions,
        template: Option<&Template>,
        mut sessions: Vec<SessionStatus>,
    ) -> Result<Listing, VerbError> {
        // Sessions that need a person come first, then by name.
        sessions.sort_by_key(|session| !needs_person(session));
        if let Some(template) = template {
            let lines = sessions.iter().map(|session| template.line(session)).collect();
            return Ok(Listing { lines, ..Listing::default() });
        }
        if options.format.is_some() {
            let words: Vec<String> = sessions.iter().map(for_tmux).collect();
            return Ok(Listing { lines: vec![words.join("   ")], ..Listing::default() });
        }
        let paths = paths()?;
        if sessions.is_empty() {
            let notes = match &options.label {
                Some(label) => vec![none_with(label, &paths)],
                None => {
                    let ended = !options.all && !crate::fs::session::list(&paths).is_empty();
                    let none = format!("no session is running; {}", no_session_hint(ended));
                    [vec![none], to_restore(&paths)].concat()
                }
            };
            return Ok(Listing { notes, ..Listing::default() });
        }
        let any_ended = sessions.iter().any(|session| session.is(SessionState::Ended));
        let look = TableStyle::of_output();
        let rows = table_of(&sessions, options.all || any_ended, look.cols);
        let color = |row: usize, column: usize| {
            let session = row.checked_sub(1).filter(|_| look.colors).map(|at| &sessions[at])?;
            match rows[0][column].as_str() {
                _ if column == STATE => state_color(session),
                "CONTEXT" => {
                    session.context.known_percent()?;
                    session.context.level.known().map(Level::color)
                }
                _ => None,
            }
        };
        let suspended = sessions.iter().filter_map(|session| {
            let way = session.continue_hint()?;
            Some(format!("hint: {} is suspended: {}", visible(&session.name), visible(&way)))
        });
        let notes = suspended.chain(to_restore(&paths)).collect();
        Ok(Listing { lines: table::lines(&rows, color), notes })
    }

    /// The rows of a screen; the last one says how to quit.
    fn page(&self, (cols, rows): (u16, u16)) -> Vec<String> {
        let room = usize::from(rows).saturating_sub(1);
        let notes = self.notes.iter().map(|line| begin_of(line, cols.into()));
        let mut page: Vec<String> = self.lines.iter().cloned().chain(notes).collect();
        page.resize(room, String::new());
        page.push("q ends this list".to_owned());
        page
    }
}

/// The message that no session has this label, with the one that may be meant.
fn none_with(label: &str, paths: &Paths) -> String {
    let read = |known: ListedSession| crate::fs::session::status(&paths.session(&known.name)).ok()?;
    let known = crate::fs::session::list(paths).into_iter().filter_map(read);
    let known: Vec<String> = known.flat_map(|status| status.labels).collect();
    let hint = match nearest_word(label, known.iter().map(String::as_str)) {
        Some(near) if near != label => format!("did you mean {}?", visible(near)),
        _ => "`hopty label NAME LABEL` adds one".to_owned(),
    };
    format!("no session has label {}; {hint}", visible(label))
}

pub(super) fn note_damaged(paths: &Paths) {
    for name in crate::fs::session::damaged(paths) {
        note(format_args!(
            "hopty: {name}: its session.json is damaged; `hopty rm {name}` removes the session"
        ));
    }
}

/// Sessions that wait for `hopty restore`. Every list has them, because after a reboot a person looks for
/// them.
fn to_restore(paths: &Paths) -> Vec<String> {
    let died = match restorable(paths) {
        0 => None,
        died => Some(format!(
            "{} died with the machine: `hopty restore` resumes {}",
            plural(died, "session"),
            if died == 1 { "it" } else { "them" }
        )),
    };
    died.into_iter().chain(killed(paths)).collect()
}

/// The table for a terminal of `cols` columns, or for a program (`None`).
fn table_of(sessions: &[SessionStatus], ends: bool, cols: Option<usize>) -> Vec<Vec<String>> {
    // The exit columns are only for lists with ended sessions.
    let ends: &[(&str, ColumnText)] = if ends { &[("EXIT", exit), ("ENDED", ended_ago)] } else { &[] };
    let any = |told: fn(&SessionStatus) -> bool| sessions.iter().any(told);
    let columns = FIRST.iter().chain(ends).chain(REST).filter(|(head, _)| match *head {
        "LABELS" => any(|session| !session.labels.is_empty()),
        "TASKS" => any(|session| session.work.tasks > 0),
        "BRANCH" => any(|session| branch(session) != "-"),
        "ABOUT" => cols.is_none() || any(|session| about(session).is_some()),
        _ => true,
    });
    fitted(sessions, &columns.collect::<Vec<_>>(), cols)
}

/// The table to pick a session from, for a terminal of `cols` columns or for a program.
pub(super) fn picker_table(sessions: &[SessionStatus], cols: Option<usize>) -> Vec<Vec<String>> {
    let known = sessions.iter().any(|session| about(session).is_some());
    let shown = |head: &str| match head {
        "NAME" | "STATE" | "FOR" | "DIRECTORY" => true,
        "ABOUT" => known,
        _ => false,
    };
    let columns: Vec<_> = FIRST.iter().chain(REST).filter(|(head, _)| shown(head)).collect();
    fitted(sessions, &columns, cols)
}

fn fitted(
    sessions: &[SessionStatus],
    columns: &[&(&str, ColumnText)],
    cols: Option<usize>,
) -> Vec<Vec<String>> {
    let cell_of = |session: &SessionStatus, (head, cell): &(&str, ColumnText)| match (*head, cols) {
        ("NAME", Some(cols)) => begin_of(&cell(session), session_name_cols(cols)),
        ("BRANCH", Some(_)) => begin_of(&cell(session), BRANCH),
        _ => cell(session),
    };
    let mut rows: Vec<Vec<String>> = vec![columns.iter().map(|(head, _)| (*head).to_owned()).collect()];
    rows.extend(
        sessions.iter().map(|session| columns.iter().map(|column| cell_of(session, column)).collect()),
    );
    if let Some(cols) = cols {
        let topic = sessions.iter().any(|session| about(session).is_some());
        table::fit_ranked(&mut rows, cols, |head| column_rule(head, topic));
    }
    rows
}

/// When a column is dropped for lack of room, and the widths that it may be cut to. `topic`: there is a
/// column with the topics, which says more than the directory.
fn column_rule(head: &str, topic: bool) -> (ColumnRank, Option<(usize, usize)>) {
    use ColumnRank::{Major, Minor, Stays};
    match head {
        "STATE" => (Stays, Some(STATE_COLS)),
        "RESTARTS" => (Minor(7), None),
        "RUN" => (Minor(6), None),
        "CLIENTS" => (Minor(5), None),
        "AGE" => (Minor(4), None),
        "BRANCH" => (Minor(3), None),
        "MODEL" => (Minor(2), None),
        "DIRECTORY" => (if topic { Minor(1) } else { Major(5) }, Some(TEXT_COLS)),
        "TASKS" => (Major(7), None),
        "LABELS" => (Major(6), None),
        "ABOUT" => (Major(5), Some(TEXT_COLS)),
        "ENDED" => (Major(4), None),
        "EXIT" => (Major(3), None),
        "CONTEXT" => (Major(2), None),
        "FOR" => (Major(1), None),
        _ => (Stays, None),
    }
}

/// Whether a session waits for a person or its state is unknown.
pub(super) fn needs_person(session: &SessionStatus) -> bool {
    matches!(session.state.known(), Some(SessionState::Blocked | SessionState::Unresponsive))
}

/// The word of `--format` for tmux's status line.
const TMUX: &str = "tmux";
/// The widest name in it, in columns.
const TMUX_NAME: usize = 24;

fn for_tmux(session: &SessionStatus) -> String {
    let clean = |text: &str| visible(text).replace('#', "##");
    let name = clean(&begin_of(&session.name, TMUX_NAME));
    match (session.state.known(), session.waits_for(ahead)) {
        (Some(SessionState::Blocked), on) => {
            format!("#[fg=magenta,bold]{name} {}#[default]", clean(on.as_deref().unwrap_or("blocked")))
        }
        (Some(SessionState::Unresponsive), _) => format!("#[fg=red]{name} unresponsive#[default]"),
        _ => {
            let context = session.context.known_percent().map(|n| format!(" {n}%")).unwrap_or_default();
            format!("{name} {}{context}", clean(&session.state_word()))
        }
    }
}

/// `--format`: a text with `{FIELD}`s.
struct Template(Vec<(String, Option<ColumnText>)>);

impl Template {
    fn read(text: &str) -> Result<Template, VerbError> {
        let text = text.replace("\\t", "\t").replace("\\n", "\n");
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            let (field, behind) = behind.split_once('}').ok_or_else(|| {
                VerbError::new(USAGE, "a field lacks its `}`").about(&text).hint("write fields as {name}")
            })?;
            let cell = FIELDS.iter().find(|(name, _)| *name == field).map(|(_, cell)| *cell);
            parts.push((before.to_owned(), Some(cell.ok_or_else(|| unknown_field(field))?)));
            rest = behind;
        }
        if parts.is_empty() {
            let hint = match nearest_word(&text, ["tmux"]) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("a format is `tmux`, or a text with fields in braces: {}", field_names()),
            };
            return Err(VerbError::new(USAGE, "the format has no field").about(&text).hint(hint));
        }
        parts.push((rest.to_owned(), None));
        Ok(Template(parts))
    }

    fn line(&self, session: &SessionStatus) -> String {
        let part = |(before, cell): &(String, Option<ColumnText>)| {
            before.clone() + &cell.map(|cell| cell(session)).unwrap_or_default()
        };
        self.0.iter().map(part).collect()
    }
}

fn unknown_field(field: &str) -> VerbError {
    let names = || FIELDS.iter().map(|(name, _)| *name);
    let longer = || names().find(|name| field.starts_with(name));
    let hint = match nearest_word(field, names()).or_else(longer) {
        Some(near) => format!("did you mean {{{near}}}?"),
        None => format!("a format is `tmux`, or a text with fields in braces: {}", field_names()),
    };
    VerbError::new(USAGE, "unknown field in the format").about(field).hint(hint)
}

fn field_names() -> String {
    FIELDS.map(|(name, _)| name).join(", ")
}

/// The SGR number of a session's state, as on the dashboard: sessions that need a person stand out.
pub(super) fn state_color(session: &SessionStatus) -> Option<u8> {
    match session.state.known()? {
        SessionState::Idle => Some(32),
        SessionState::Busy => Some(33),
        SessionState::Blocked => Some(35),
        SessionState::Unresponsive => Some(31),
        SessionState::Starting | SessionState::Stopped | SessionState::Ended | SessionState::Unknown => None,
    }
}

/// Prints the names alone, from the sessions' directory: for shell completion, which has no time to ask
/// hosts.
fn names(options: &ListOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    for ListedSession { name, is_alive } in crate::fs::session::list(&paths) {
        let is_wanted = match () {
            () if options.restorable => can_resume(&paths, &name),
            () if options.ended => !is_alive,
            () => options.all || is_alive,
        };
        if is_wanted {
            say(format_args!("{name}"))?;
        }
    }
    Ok(0)
}

/// The text of one column.
type ColumnText = fn(&SessionStatus) -> String;

/// The index of the state's column.
pub(super) const STATE: usize = 1;

/// The columns before and after those of how a session ended.
const FIRST: &[(&str, ColumnText)] = &[("NAME", |session| text(&session.name)), ("STATE", state)];
const REST: &[(&str, ColumnText)] = &[
    ("LABELS", |session| if session.labels.is_empty() { "-".to_owned() } else { labels(session) }),
    ("FOR", state_age),
    ("AGE", session_age),
    ("RUN", |session| session.run.to_string()),
    ("CONTEXT", context),
    ("TASKS", tasks),
    ("MODEL", model),
    ("BRANCH", branch),
    ("RESTARTS", |session| session.restarts.to_string()),
    ("CLIENTS", |session| session.clients.len().to_string()),
    ("ABOUT", |session| about(session).map_or_else(|| "-".to_owned(), |about| begin_of(&about, ABOUT))),
    ("DIRECTORY", |session| text(&session.dir)),
];
/// The fields of a template.
const FIELDS: [(&str, ColumnText); 23] = [
    ("name", |session| visible(&session.name)),
    ("labels", labels),
    ("state", |session| visible(&session.state_word())),
    ("reason", |session| visible(session.waiting_for.as_deref().unwrap_or_default())),
    ("subject", |session| visible(session.waiting_subject.as_deref().unwrap_or_default())),
    ("for", state_age),
    ("context", context),
    ("tasks", tasks),
    ("model", model),
    ("about", |session| about(session).unwrap_or_default()),
    ("title", |session| visible(session.work.title.as_deref().unwrap_or_default())),
    ("prompt", |session| visible(session.work.prompt.as_deref().unwrap_or_default())),
    ("task", |session| visible(session.work.task.as_deref().unwrap_or_default())),
    ("cost", |session| session.work.cost_usd.map_or_else(|| "-".to_owned(), |usd| format!("{usd:.2}"))),
    ("age", session_age),
    ("branch", branch),
    ("dir", |session| visible(&session.dir)),
    ("command", |session| visible(&shell_line(&session.command))),
    ("clients", |session| session.clients.len().to_string()),
    ("run", |session| session.run.to_string()),
    ("restarts", |session| session.restarts.to_string()),
    ("conversation", |session| session.conversation.as_ref().map(ToString::to_string).unwrap_or_default()),
    ("why", |session| visible(&session.why)),
];

fn labels(session: &SessionStatus) -> String {
    visible(&session.labels.join(","))
}

fn state_age(session: &SessionStatus) -> String {
    let at = session.state_since.filter(|_| !session.is(SessionState::Ended));
    at.map_or_else(|| "-".to_owned(), |at| elapsed(at.0))
}

fn session_age(session: &SessionStatus) -> String {
    session.started_at.map_or_else(|| "-".to_owned(), |at| elapsed(at.0))
}

/// The status with the git branch of the session's directory, which hosts do not know.
fn with_branch(session: &SessionStatus) -> Value {
    let mut object = session.json();
    object["branch"] = json!(crate::git::ask_git::branch(Path::new(&session.dir)));
    object
}

/// The git branch of the directory, or the commit.
fn branch(session: &SessionStatus) -> String {
    let checkout = crate::git::ask_git::checkout(Path::new(&session.dir));
    checkout.map_or_else(|| "-".to_owned(), |branch| text(&branch))
}

fn tasks(session: &SessionStatus) -> String {
    let work = &session.work;
    if work.tasks == 0 { "-".to_owned() } else { format!("{}/{}", work.tasks_done, work.tasks) }
}

/// The model's name without the parts that all of Claude's models share.
fn model(session: &SessionStatus) -> String {
    session
        .work
        .model
        .as_deref()
        .map_or_else(|| "-".to_owned(), |model| text(model.trim_start_matches("claude-")))
}

fn text(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { visible(text) }
}

fn state(session: &SessionStatus) -> String {
    begin_of(&text(&session.state_words(ahead)), ABOUT)
}

fn context(session: &SessionStatus) -> String {
    session.context.known_percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"))
}

/// The exit code or the signal's name; `lost` if the host died.
fn exit(session: &SessionStatus) -> String {
    let Some(exit) = &session.exit else { return "-".to_owned() };
    match (exit.signal, exit.code) {
        (Some(number), _) => Signal(number).name(),
        (None, _) if exit.kind.is(ExitKind::Lost) => "lost".to_owned(),
        (None, code) => code.map_or_else(|| "-".to_owned(), |code| code.to_string()),
    }
}

fn ended_ago(session: &SessionStatus) -> String {
    let ago = |at: Rfc3339| format!("{} ago", elapsed(at.0));
    session.ended_at.map_or_else(|| "-".to_owned(), ago)
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn session(name: &str, state: SessionState, on: Option<&str>, prompt: Option<&str>) -> SessionStatus {
        SessionStatus {
            name: name.to_owned(),
            state: state.into(),
            waiting_for: on.map(str::to_owned),
            dir: format!("/home/user/work/projects/{name}"),
            work: crate::core::status_types::WorkStatus {
                prompt: prompt.map(str::to_owned),
                tasks: 6,
                tasks_done: 4,
                model: Some("claude-sonnet-4-5".to_owned()),
                ..Default::default()
            },
            ..SessionStatus::default()
        }
    }

    #[test]
    fn the_table_fits_and_keeps_what_matters() {
        let long = "Make the rocket pass all six stages, and write down what was wrong with each of them.";
        let sessions = [
            session("a-session-name", SessionState::Blocked, Some("permission"), Some(long)),
            session("other", SessionState::Busy, None, None),
        ];
        for cols in [40, 60, 80, 100, 120, 200] {
            let rows = table_of(&sessions, false, Some(cols));
            let lines = table::lines(&rows, |_, _| None);
            assert!(lines.iter().all(|line| line.width() <= cols), "{cols}: {lines:#?}");
            assert!(lines[1].starts_with("a-session-name  blocked (permission)"), "{cols}: {lines:#?}");
        }
        let at = |cols| table::lines(&table_of(&sessions, false, Some(cols)), |_, _| None).join("\n");
        assert!(at(80).contains("Make the rocket") && !at(80).contains("/home"), "{}", at(80));
        assert!(at(200).contains("4/6") && at(200).contains("sonnet-4-5") && at(200).contains("/home/user"));
        assert!(table_of(&sessions, false, None)[0].ends_with(&["DIRECTORY".to_owned()]));
    }

    /// The longest name that is allowed has 48 characters.
    #[test]
    fn a_long_name_takes_no_column_from_the_others() {
        let name = "a-rather-long-name-of-a-session-that-goes-on-and";
        let minute = crate::sys::clock::Clock::wall().0.saturating_sub(60_000);
        let mut long =
            session(name, SessionState::Blocked, Some("permission"), Some("Fix the parser, then rest."));
        long.state_since = Some(Rfc3339(crate::core::time::WallTime(minute)));
        long.context.percent = 85;
        long.context.tokens_from = crate::core::context_usage::TokensFrom::Transcript.into();
        let table = |cols| {
            let rows = table_of(std::slice::from_ref(&long), false, cols);
            table::lines(&rows, |_, _| None)
        };
        assert_eq!(
            table(Some(80)),
            [
                "NAME                      STATE                 FOR    CONTEXT  ABOUT",
                "a-rather-long-name-of-a…  blocked (permission)  1 min  85 %     Fix the parser,…"
            ]
        );
        assert_eq!(
            table(Some(40)),
            ["NAME            STATE", "a-rather-long…  blocked (permission)"],
            "the reason stands with its state"
        );
        assert_eq!(table(Some(30)), ["NAME            STATE", "a-rather-long…  blocked (perm…"]);
        assert!(table(None)[1].starts_with(name), "a pipe gets it whole");
        assert_eq!(Template::read("{name}").unwrap().line(&long), name);
    }

    #[test]
    fn a_template_calls_a_state_as_the_table_does() {
        let mut plain = session("p", SessionState::Unknown, None, None);
        plain.agent = crate::core::supervisor::ProgramKind::Plain.into();
        assert_eq!(Template::read("{name} {state}").unwrap().line(&plain), "p running");
        assert_eq!(state(&plain), "running");
    }

    #[test]
    fn how_a_session_ended_goes_before_how_long_and_how_full() {
        let ago = |ms| Some(Rfc3339(crate::core::time::WallTime(crate::sys::clock::Clock::wall().0 - ms)));
        let mut idle = session("proj", SessionState::Idle, None, None);
        idle.state_since = ago(60_000);
        idle.context.percent = 42;
        idle.context.tokens_from = crate::core::context_usage::TokensFrom::Transcript.into();
        let mut ended = session("old", SessionState::Ended, None, None);
        ended.ended_at = ago(60_000);
        ended.exit = Some(crate::core::status_types::ExitStatus { code: Some(3), ..Default::default() });
        let table =
            |cols| table::lines(&table_of(&[idle.clone(), ended.clone()], true, Some(cols)), |_, _| None);
        assert_eq!(table(40)[0], "NAME  STATE  EXIT  FOR    CONTEXT", "{:?}", table(40));
        assert_eq!(table(30)[0], "NAME  STATE  FOR    CONTEXT");
        assert!(table(80)[0].contains("ENDED"), "{:?}", table(80));
    }

    #[test]
    fn what_a_permission_is_for_goes_before_everything_that_says_less() {
        let minute = crate::sys::clock::Clock::wall().0.saturating_sub(60_000);
        let mut asks =
            session("rocket-science", SessionState::Blocked, Some("permission"), Some("Rocket science"));
        asks.state_since = Some(Rfc3339(crate::core::time::WallTime(minute)));
        asks.started_at = asks.state_since;
        asks.waiting_subject = Some("Bash: touch x7".to_owned());
        asks.context.percent = 2;
        asks.context.tokens_from = crate::core::context_usage::TokensFrom::Transcript.into();
        asks.work.tasks = 0;
        asks.run = 1;
        let mut idle = asks.clone();
        (idle.name, idle.state) = ("p2".to_owned(), SessionState::Idle.into());
        (idle.waiting_for, idle.waiting_subject) = (None, None);
        let table = |sessions: &[SessionStatus], cols| {
            table::lines(&table_of(sessions, false, cols), |_, _| None).join("\n")
        };
        let both = [asks.clone(), idle];
        assert_eq!(
            table(&both, Some(40)),
            "NAME            STATE\n\
             rocket-science  blocked: Bash: touch x7\n\
             p2              idle"
        );
        assert_eq!(
            table(&both, Some(80)),
            "NAME            STATE                    FOR    CONTEXT  ABOUT\n\
             rocket-science  blocked: Bash: touch x7  1 min  2 %      Rocket science\n\
             p2              idle                     1 min  2 %      Rocket science"
        );
        // A long text is cut before a column is dropped.
        let command = "git push --force-with-lease origin a-branch-with-a-rather-long-name and-another";
        asks.waiting_subject = Some(format!("Bash: {command}"));
        asks.work.prompt = Some(format!("run {command}"));
        let wide = table(&[asks.clone()], Some(200));
        for column in ["FOR", "AGE", "CONTEXT", "MODEL", "ABOUT", "DIRECTORY"] {
            assert!(wide.contains(column), "{column}: {wide}");
        }
        for gone in ["TASKS", "RESTARTS", "CLIENTS", "RUN"] {
            assert!(!wide.contains(gone), "{gone} tells nothing: {wide}");
        }
        assert!(wide.contains("blocked: Bash: git push --force-with-lease"), "{wide}");
        assert!(wide.contains("/home/user/work/projects/rocket-science"), "{wide}");
        assert!(
            table(&[asks.clone()], None).contains("blocked: Bash: git push"),
            "a pipe has the same words"
        );
        asks.waiting_subject = None;
        assert_eq!(table_of(&[asks], false, None)[1][STATE], "blocked (permission)");
    }

    #[test]
    fn a_template_has_fields_and_tmux_gets_its_own_signs() {
        let blocked = session("a#b", SessionState::Blocked, Some("permission"), Some("Go."));
        assert_eq!(for_tmux(&blocked), "#[fg=magenta,bold]a##b permission#[default]");
        let long = session("a-rather-long-name-of-a-session-that-goes-on", SessionState::Idle, None, None);
        assert_eq!(for_tmux(&long), "a-rather-long-name-of-a… idle");
        let template = Template::read("{name}: {state}\\t{about} {tasks}.").unwrap();
        assert_eq!(template.line(&blocked), "a#b: blocked\tGo. 4/6.");
        for (text, near) in [
            ("{nam}", "did you mean {name}?"),
            ("{directory}", "did you mean {dir}?"),
            ("{xyzzy}", "a format is"),
            ("json", "a format is"),
            ("{name", "write fields"),
        ] {
            let failed = Template::read(text).map(|_| ()).unwrap_err();
            assert!(failed.help().contains(near), "{text}: {}", failed.help());
        }
    }
}
