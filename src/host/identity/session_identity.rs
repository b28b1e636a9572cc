//! The name, the directories and the start of the session.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::core::claude::args::OwnArgs;
use crate::core::compat::{LayoutPlace, SessionLogContext};
use crate::core::handoff::capture::HandoffOrigin;
use crate::core::handoff::manifest_entry::HandoffKind;
use crate::core::ids::{Channel, ConversationId, HandoffId, LABEL_HINT, SessionName, change_labels};
use crate::core::input::prefix_command::{ORDERS, Order};
use crate::core::redact::redact_words;
use crate::core::supervisor::ProgramKind;
use crate::core::text::safe_text::safe_line;
use crate::core::text::word_wrap::wrap_words;
use crate::core::time::{Stamp, WallTime};
use crate::fs::paths::Paths;
use crate::fs::session::{self, NameLock};
use crate::host::cast_recording::CastSubject;
use crate::host::observer::SessionFiles;
use crate::host::start::Launch;
use crate::host::start::session_dir::PrivateStateDir;
use crate::ipc::message::{Code, RequestError};
use crate::sys::clock::Clock;

/// The name, the directories and the start of the session.
#[derive(Debug)]
pub struct SessionIdentity {
    pub launch: Launch,
    /// The person's own arguments, and what hopty reads from them.
    pub args: Vec<OsString>,
    pub own: OwnArgs,
    /// Where the program works, and the channel of that directory.
    pub dir: PathBuf,
    pub channel: Channel,
    pub paths: Paths,
    pub claim: NameLock,
    /// The session's own directory, used if the person's state directory cannot be.
    pub private: Option<PrivateStateDir>,
    /// When the session began.
    pub began: WallTime,
    /// The wall clock time of stamp 0 by today's clock: later than `began` by the time that the machine has
    /// slept, because stamps stop meanwhile.
    pub zero: WallTime,
}

/// How far wall clock and stamps may drift apart before `zero` is corrected, in ms: less is only rounding.
const DRIFT_MS: u64 = 1000;

impl SessionIdentity {
    pub fn name(&self) -> &SessionName {
        &self.claim.name
    }

    pub fn is_claude(&self) -> bool {
        self.launch.agent == ProgramKind::Claude
    }

    /// The wall clock time of a stamp of the session.
    pub fn wall(&self, stamp: Stamp) -> WallTime {
        self.zero.after(stamp.0)
    }

    /// Follows the wall clock, which keeps running while the machine sleeps, and may be set.
    pub fn keep_time(&mut self, now: Stamp, wall: WallTime) {
        if wall.0.abs_diff(self.wall(now).0) > DRIFT_MS {
            self.zero = WallTime(wall.0.saturating_sub_unsigned(now.0));
        }
    }

    /// The command as a person would type it, without secrets.
    pub fn command(&self) -> Vec<String> {
        let mut command = vec![self.launch.called.clone()];
        command.extend(self.args.iter().map(|arg| arg.to_string_lossy().into_owned()));
        redact_words(&command)
    }

    /// The program with the arguments of a run, without secrets.
    pub fn command_of(&self, args: &[OsString]) -> Vec<String> {
        let words =
            std::iter::once(self.launch.program.as_os_str()).chain(args.iter().map(OsString::as_os_str));
        words.map(OsStr::to_string_lossy).map(Cow::into_owned).collect()
    }

    /// The session, for a scan of its files.
    pub fn session_files(&self, socket: &Path) -> SessionFiles {
        SessionFiles {
            dir: self.dir.clone(),
            name: self.name().clone(),
            session_dir: self.claim.dir.clone(),
            socket: socket.to_owned(),
        }
    }

    /// The file with the last screen of a session that ended without a client.
    pub fn last_screen(&self) -> PathBuf {
        self.paths.last_screen(self.name())
    }

    /// Whether `record.auto` asks for a recording, which needs a directory that outlives the session.
    pub fn records_itself(&self) -> bool {
        self.launch.config.record.auto && self.private.is_none()
    }

    /// The directory for recordings without a file name.
    pub fn recordings(&self) -> PathBuf {
        self.claim.dir.join(session::RECORDINGS)
    }

    /// The session, for its recording.
    pub fn cast_subject(&self) -> CastSubject {
        CastSubject {
            name: self.name().clone(),
            command: self.command().join(" "),
            recordings: self.recordings(),
            outlives: self.private.is_none(),
            auto_max_bytes: self.launch.config.record.max_bytes,
        }
    }

    /// The notice that the session could not take the requested name.
    pub fn name_notice(&self) -> Option<String> {
        let (wanted, name) = (&self.launch.name, self.name());
        let asked = self.launch.title.is_some() && name != wanted;
        asked.then(|| format!("the name {wanted} is taken: this session is {name}"))
    }

    /// Sets the name of the next conversation.
    pub fn rename_conversation(&mut self, name: Option<&str>) {
        self.launch.title = name.map(safe_line).or(self.launch.title.take());
    }

    /// Adds labels and removes others; all of them or none. Returns whether that changes them.
    pub fn change_labels(&mut self, add: &[String], remove: &[String]) -> Result<bool, RequestError> {
        let mut labels = self.launch.labels.clone();
        change_labels(&mut labels, add, remove)
            .map_err(|error| RequestError::new(Code::BadRequest, error.to_string(), LABEL_HINT))?;
        let differ = labels != self.launch.labels;
        self.launch.labels = labels;
        Ok(differ)
    }

    /// The origin of a record made now.
    pub fn origin(
        &self,
        conversation: ConversationId,
        kind: HandoffKind,
        transcript: Option<&Path>,
        predecessor: Option<HandoffId>,
    ) -> HandoffOrigin {
        HandoffOrigin {
            conversation,
            channel: self.channel.clone(),
            kind,
            created_at: Clock::wall(),
            working_dir: self.dir.display().to_string(),
            transcript: transcript.map(|path| path.display().to_string()).unwrap_or_default(),
            session: Some(self.claim.name.clone()),
            pid: std::process::id(),
            predecessor,
        }
    }

    /// Where layouts are written. `pid`: the program, if one runs.
    pub fn layout_place(&self, pid: Option<u32>, transcript: Option<&Path>) -> LayoutPlace {
        LayoutPlace {
            project: self.dir.clone(),
            claude: self.paths.claude.clone(),
            channel: self.channel.clone(),
            pid: pid.unwrap_or_else(std::process::id),
            transcript: transcript.map(Path::to_owned),
        }
    }

    /// The session, for the log of decisions. `code`: how the last run ended.
    pub fn about(&self, restarts: u32, code: u8) -> SessionLogContext {
        SessionLogContext {
            pid: std::process::id(),
            dir: self.dir.display().to_string(),
            channel: self.channel.to_string(),
            command: String::new(),
            before: String::new(),
            restarts,
            code,
        }
    }

    /// The page with the keys behind the prefix key, on a terminal of this size: a low one has room for
    /// little else. `watches`: the client is read-only.
    pub fn help_page(&self, (cols, rows): (u16, u16), watches: bool) -> String {
        let (cols, rows) = (usize::from(cols), usize::from(rows));
        let prefix = self.launch.config.terminal.prefix.to_string();
        let title = format!("\x1b[1mhopty\x1b[m session {}", self.claim.name);
        let mut text = String::new();
        let keys = ORDERS.iter().filter_map(|(key, order, does)| {
            let does = match order {
                Order::HandOver | Order::Snooze if watches => return None,
                Order::Before | Order::Snooze if !self.is_claude() => return None,
                Order::HandOver if !self.is_claude() => "restart the program",
                _ => *does,
            };
            Some((key.to_string(), does))
        });
        let own = (!watches).then(|| (prefix.clone(), "send the key to the program"));
        for (key, does) in keys.chain(own) {
            let blanks = " ".repeat(prefix.len() - key.len());
            let line = format!("  \x1b[1m{key}\x1b[m{blanks}  {does}");
            text.push_str(&wrap_words(&line, prefix.len() + 4, cols));
            text.push('\n');
        }
        let end = "\nFrom another terminal: hopty ls, attach, detach, status, restart, stop\n\nThese keys work \
                   here, too. Press any other key to return.";
        let whole = format!("{title}\n\n{prefix}, then\n{text}{}", wrap_words(end, 0, cols));
        if whole.lines().count() <= rows {
            return whole;
        }
        let low = format!("{title}: {prefix}, then\n{text}Press any other key to return.");
        let lines: Vec<&str> = low.lines().collect();
        match lines.len().checked_sub(rows.max(1)) {
            None | Some(0) => low,
            Some(_) => {
                let shown = lines[..rows.saturating_sub(1)].join("\n");
                format!("{shown}\n… Any other key returns.").trim_start().to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::Config;
    use crate::fs::session;
    use crate::host::observer::OwnFiles;

    /// A session that is called `rocket`, below this home.
    fn rocket(home: &Path) -> SessionIdentity {
        let paths = Paths::from_env(|name| (name == "HOME").then(|| home.into())).unwrap();
        session::prepare(&paths).unwrap();
        let launch = Launch::of_test("rocket", ProgramKind::Claude, Config::default());
        SessionIdentity {
            args: vec!["--api-key".into(), "sk-ant-api03-secretsecretsecretsecret".into()],
            own: OwnArgs::default(),
            dir: home.join("project"),
            channel: Channel::global(),
            claim: session::claim(&paths, &launch.name, false).unwrap(),
            paths,
            private: None,
            began: WallTime(1000),
            zero: WallTime(1000),
            launch,
        }
    }

    #[test]
    fn the_help_lists_the_keys_that_do_something() {
        let home = tempfile::tempdir().unwrap();
        let mut session = rocket(home.path());
        let keys = |page: String| {
            let of_line =
                |line: &str| line.strip_prefix("  \x1b[1m")?.split("\x1b[m").next().map(str::to_owned);
            page.lines().filter_map(of_line).collect::<Vec<_>>().join(" ")
        };
        let size = (80, 24);
        assert_eq!(keys(session.help_page(size, false)), "d b l n r s ? ctrl-\\");
        assert_eq!(keys(session.help_page(size, true)), "d b l n ?");
        for low in [(80, 24), (50, 12), (80, 10)] {
            let page = session.help_page(low, false);
            assert_eq!(keys(page.clone()), "d b l n r s ? ctrl-\\", "{low:?}");
            assert!(page.lines().count() <= usize::from(low.1), "{low:?}: {page}");
            assert!(page.contains("session rocket") && page.contains("any other key"), "{low:?}: {page}");
        }
        for rows in 1..10 {
            let page = session.help_page((50, rows), false);
            assert_eq!(page.lines().count(), usize::from(rows), "{page}");
            assert!(page.ends_with("… Any other key returns."), "it says that there is more: {page}");
        }
        session.launch.agent = ProgramKind::Plain;
        assert_eq!(keys(session.help_page(size, false)), "d l n r ? ctrl-\\");
        assert!(session.help_page(size, false).contains("restart the program"));
    }

    #[test]
    fn labels_are_changed_all_or_none() {
        let home = tempfile::tempdir().unwrap();
        let mut session = rocket(home.path());
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(session.change_labels(&words(&["a", "b"]), &[]), Ok(true));
        assert_eq!(session.change_labels(&words(&["a"]), &[]), Ok(false), "it has it");
        let failed = session.change_labels(&words(&["c", "no label"]), &words(&["a"]));
        assert_eq!(failed.unwrap_err().code, Code::BadRequest);
        assert_eq!(session.launch.labels.len(), 2);
        assert_eq!(session.change_labels(&[], &words(&["a", "b"])), Ok(true));
    }

    #[test]
    fn the_command_of_a_recording_tells_no_secret() {
        let home = tempfile::tempdir().unwrap();
        let subject = rocket(home.path()).cast_subject();
        assert!(subject.command.starts_with("claude --api-key "), "{}", subject.command);
        assert!(!subject.command.contains("secretsecret") && subject.outlives, "{}", subject.command);
    }

    #[test]
    fn a_conversation_keeps_its_name_until_there_is_another() {
        let home = tempfile::tempdir().unwrap();
        let mut session = rocket(home.path());
        session.rename_conversation(Some("parser\x1b[2J"));
        session.rename_conversation(None);
        assert!(session.launch.title.as_ref().is_some_and(|title| title.starts_with("parser")));
        assert!(!session.launch.title.unwrap().contains('\x1b'));
    }

    #[test]
    fn what_is_missing_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let session = rocket(home.path());
        let lock = session.claim.lock_id();
        let whole = OwnFiles { socket: true, lock, journal: Some((1, 2)) };
        assert!(lock.is_some() && !session.misses(&whole, Some((1, 2))) && !session.misses(&whole, None));
        assert!(session.misses(&OwnFiles { socket: false, ..whole }, None));
        assert!(session.misses(&OwnFiles { lock: None, ..whole }, None));
        assert!(session.misses(&OwnFiles { lock: Some((0, 0)), ..whole }, None), "another one's");
        assert!(session.misses(&OwnFiles { journal: Some((1, 3)), ..whole }, Some((1, 2))));
    }

    #[test]
    fn a_stamp_of_the_session_has_its_time_of_day() {
        let home = tempfile::tempdir().unwrap();
        let mut session = rocket(home.path());
        assert_eq!(session.wall(Stamp(500)), WallTime(1500));
        session.keep_time(Stamp(500), WallTime(1501));
        assert_eq!(session.wall(Stamp(500)), WallTime(1500), "rounding");
        // The machine slept for an hour.
        session.keep_time(Stamp(600), WallTime(3_601_600));
        assert_eq!(session.wall(Stamp(700)), WallTime(3_601_700));
        assert_eq!(session.began, WallTime(1000));
    }
}
