//! `hopty slash`: the commands that Claude's slash commands run (`claude::slash_commands`). The output
//! becomes part of a prompt. It contains no `@`, because Claude would load the file named after it, and text
//! from files is made safe.
//!
//! Claude shows errors to the person and sends nothing to its model.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::control::{Rule, dir_of, live_session, outer_session, paths};
use super::error::{VerbError, say};
use super::exit_codes::{FAILED, USAGE};
use super::target_conversation::{ConversationTarget, find_target};
use crate::core::claude::line_context::LineContext;
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::compat::MemoryLayout;
use crate::core::config::Config;
use crate::core::file_edit::{FileEdit, FileEdits};
use crate::core::handoff::capture::{Capture, HandoffOrigin, Lists};
use crate::core::handoff::manifest_entry::HandoffKind;
use crate::core::ids::{Channel, SessionName};
use crate::core::text::safe_text::{cut_bytes, cut_words, safe, safe_line, without_imports};
use crate::core::text::shell_word::shell_word;
use crate::core::time::age;
use crate::fs::edits::{self, Disk};
use crate::fs::paths::Paths;
use crate::fs::{registry, whole_transcript};
use crate::git::ask_git::GitLimits;
use crate::sys::clock::Clock;

/// The most output, in bytes: Claude takes 30,000 characters of a command's output.
const PRINTED: usize = 24 << 10;

/// Returns the exit code. `words`: the command and its argument.
pub(super) fn main(words: &[&str]) -> u8 {
    let done = SlashPlace::new().and_then(|place| match words {
        ["save"] => place.save(None),
        ["save-to", path] => place.save(Some(Path::new(path))),
        ["context"] => place.save_context(),
        ["latest"] => place.latest(),
        ["pending"] => Ok(place.pending()),
        ["list"] => Ok(place.list()),
        ["discard"] => place.discard(),
        ["reviewed", name] => place.reviewed(name),
        ["handoff"] => place.hand_over(),
        ["status"] => place.status(),
        _ => Err(VerbError::new(USAGE, "only Claude's slash commands call this verb")
            .hint("they are in the `/` menu of a Claude that hopty runs")),
    });
    let printed = done.and_then(|text| {
        say(format_args!("{}", cut_bytes(&without_imports(text.trim_end()), PRINTED)))?;
        Ok(0)
    });
    printed.unwrap_or_else(|failed| failed.print("slash", false))
}

struct SlashPlace {
    paths: Paths,
    config: Config,
    session: Option<SessionName>,
    project: PathBuf,
}

impl SlashPlace {
    fn new() -> Result<Self, VerbError> {
        let paths = paths()?;
        let config = super::read_config::valid(&paths, &[])?;
        let session = outer_session(&paths);
        let own = session.as_ref().and_then(|name| dir_of(&paths, name));
        let project = own.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
        Ok(SlashPlace { paths, config, session, project })
    }

    /// The conversation that the command runs in.
    fn capture(&self) -> Result<Capture, VerbError> {
        let (path, conversation) = match find_target(&self.paths, None, Rule::Careful)? {
            ConversationTarget::Transcript(found) => (Some(found.path), None),
            ConversationTarget::Session(_, status) => {
                (status.transcript.map(PathBuf::from), status.conversation)
            }
        };
        let path = path.ok_or_else(|| {
            VerbError::new(FAILED, "this conversation has no transcript yet")
                .hint("Claude writes it with the first prompt")
        })?;
        let mut of = self.read(&path)?;
        of.origin.conversation = conversation.unwrap_or(of.origin.conversation);
        of.git = crate::git::ask_git::of_work(&self.project, None, GitLimits::of(&self.config.handoff));
        Ok(of)
    }

    /// The handoff's facts from a transcript.
    fn read(&self, path: &Path) -> Result<Capture, VerbError> {
        let mut facts = TranscriptFacts::new();
        let mut at = LineContext { conversation: None, dir: None, now: None };
        whole_transcript::lines(path, |line| {
            facts.feed(line);
            at.follow(line);
        })
        .map_err(|e| VerbError::new(FAILED, e.to_string()).hint("try again in a moment"))?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let conversation = at.conversation.or(stem).ok_or_else(|| {
            VerbError::new(FAILED, "this is not a conversation transcript").about(path.display())
        })?;
        let origin = HandoffOrigin {
            conversation,
            channel: registry::channel_of(&self.paths.claude, &self.project)
                .unwrap_or_else(|_| Channel::global()),
            kind: HandoffKind::Manual,
            created_at: Clock::wall(),
            working_dir: self.project.display().to_string(),
            transcript: path.display().to_string(),
            session: self.session.clone(),
            pid: std::process::id(),
            predecessor: None,
        };
        let mut of = Capture::new(origin, &facts);
        of.lists = Lists::of(&self.config.handoff);
        of.situation.reason = "a slash command requested it".to_owned();
        // The command itself is the open tool call.
        of.situation.open_tools.clear();
        of.situation.turn_ended = true;
        Ok(of)
    }

    /// Writes the active context, then the session document.
    fn save(&self, to: Option<&Path>) -> Result<String, VerbError> {
        let (of, now, memory) = (self.capture()?, Clock::wall(), self.memory());
        make(memory.save_context(&of, now))?;
        let (path, changes) = match to.map(|path| self.project.join(path)) {
            None => memory.save_document(&of, now),
            Some(path) => {
                let document = FileEdit::Create(path.clone(), MemoryLayout::document(&of, now));
                (path, vec![Ok(document)])
            }
        };
        make(changes)?;
        Ok(format!(
            "active context: {}\nsession document: {}\n{}",
            path_for_prompt(&memory.context()),
            path_for_prompt(&path),
            self.pending()
        ))
    }

    fn save_context(&self) -> Result<String, VerbError> {
        make(self.memory().save_context(&self.capture()?, Clock::wall()))?;
        Ok(format!("active context: {}\n{}", path_for_prompt(&self.memory().context()), self.pending()))
    }

    fn memory(&self) -> MemoryLayout<'_> {
        MemoryLayout { project: &self.project, files: &Disk }
    }

    /// The backup that waits to be resumed.
    fn backup(&self) -> Option<PathBuf> {
        let (copy, stale) = self.memory().pending();
        let _ = edits::make(stale);
        copy
    }

    fn pending(&self) -> String {
        match self.backup() {
            Some(path) => format!("a backup waits: {}\n", path_for_prompt(&path)),
            None => "no backup waits\n".to_owned(),
        }
    }

    /// That backup, as a record; otherwise the newest session document.
    fn latest(&self) -> Result<String, VerbError> {
        if let Some(copy) = self.backup() {
            let name = copy.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let hopty = crate::claude::plugin::this_binary();
            let settle = format!("{} slash reviewed {name}", shell_word(&hopty.to_string_lossy()));
            let record = MemoryLayout::document(&self.read(&copy)?, Clock::wall());
            return Ok(format!(
                "a backup waits: {}\nactive context: {}\n\n{}\n\n(end of the record) When it is taken up, \
                 run: {settle}\n",
                path_for_prompt(&copy),
                path_for_prompt(&self.memory().context()),
                cut_words(&record, PRINTED - 4096).trim_end(),
            ));
        }
        let newest = self.memory().documents().into_iter().next();
        Ok(match newest {
            Some(newest) => {
                format!("no backup waits\nthe newest session document: {}\n", path_for_prompt(&newest.path))
            }
            None => "no backup waits, and no session document is in .claude/memory\n\
                     hint: `/document-and-save` writes one; `hopty handoff list` shows handoffs\n"
                .to_owned(),
        })
    }

    fn list(&self) -> String {
        let (mut text, now) = (self.pending(), Clock::wall());
        let found = self.memory().documents();
        if found.is_empty() {
            text.push_str("no session document is in .claude/memory\n");
        }
        for document in found {
            let ago = age(now.0.saturating_sub(document.written.0));
            let _ = writeln!(
                text,
                "{}  {ago} ago  {} bytes  {}",
                path_for_prompt(&document.path),
                document.bytes,
                document.title
            );
        }
        text
    }

    fn discard(&self) -> Result<String, VerbError> {
        let Some(settled) = self.backup().and_then(|_| self.memory().discard()) else {
            return Ok("no backup waited: nothing was deleted\n".to_owned());
        };
        make(settled.changes)?;
        let deleted = path_for_prompt(&settled.path);
        Ok(match settled.next {
            None => format!("deleted: {deleted}\nno backup waits any more\n"),
            Some(other) => {
                format!("deleted: {deleted}\nan earlier backup waits now: {}\n", path_for_prompt(&other))
            }
        })
    }

    fn reviewed(&self, name: &str) -> Result<String, VerbError> {
        let Some(settled) = self.backup().and_then(|_| self.memory().reviewed(name)) else {
            return Ok("no backup of this name waits: nothing was changed\n".to_owned());
        };
        make(settled.changes)?;
        Ok(match settled.next {
            None => "no backup waits any more; the file is kept\n".to_owned(),
            Some(other) => format!("an earlier backup waits now: {}\n", path_for_prompt(&other)),
        })
    }

    fn hand_over(&self) -> Result<String, VerbError> {
        let name = live_session(&self.paths, None, Rule::Careful)?;
        super::restart::request_restart(&self.paths, &name)?;
        Ok(format!("hand-over of {name} requested: it comes when this turn ends\n"))
    }

    fn status(&self) -> Result<String, VerbError> {
        let name = live_session(&self.paths, None, Rule::Careful)?;
        let status = super::status::status_of(&self.paths, &name)?;
        let mut text = format!(
            "session   {name}, run {}, restarts: {}, terminals: {}\ndirectory {}\n",
            status.run,
            status.restarts,
            status.clients.len(),
            safe_line(&status.dir)
        );
        let context = &status.context;
        let _ = writeln!(
            text,
            "context   {} of {} tokens ({} %)",
            context.tokens, context.window, context.percent
        );
        if let Some(next) = &status.next_handover {
            let _ = writeln!(text, "hand-over {}", safe_line(&next.why));
        }
        if let Some(handoff) = &status.handoff {
            let _ = writeln!(text, "begun from {}", handoff.id);
        }
        let _ = writeln!(text, "why       {}", safe_line(&status.why));
        text.push_str("commands  /handoff hands over now; ctrl-\\ ? lists hopty's keys\n");
        Ok(text)
    }
}

fn make(changes: FileEdits) -> Result<(), VerbError> {
    let hint = "hopty overwrites no file: choose another path";
    edits::make(changes).map_err(|error| VerbError::new(FAILED, error).hint(hint))
}

/// A path on one line, safe for a prompt.
fn path_for_prompt(path: &Path) -> String {
    safe(&path.to_string_lossy()).replace('\n', " ")
}
