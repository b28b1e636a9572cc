//! `hopty handoff create`: a handoff from a transcript and the work tree, without a model.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::handoff_args::{ChannelAndFormat, CreateOptions};
use super::handoff_output::{answer, object};
use super::handoff_place::{HandoffPlace, channel_of};
use super::handoff_store_error::store_failed;
use crate::cli::control::Rule;
use crate::cli::error::{VerbError, note};
use crate::cli::exit_codes::{FAILED, USAGE};
use crate::cli::target_conversation::{ConversationTarget, find_target};
use crate::core::claude::line_context;
use crate::core::claude::transcript_facts::TranscriptFacts;
use crate::core::compat::{LayoutPlace, Material};
use crate::core::handoff::capture::{Capture, HandoffOrigin, Lists};
use crate::core::handoff::manifest_entry::HandoffKind;
use crate::core::ids::{ConversationId, HandoffId, SessionName};
use crate::core::status_types::SessionStatus;
use crate::core::time::WallTime;
use crate::fs::edits::{self, Disk};
use crate::fs::whole_transcript;
use crate::git::ask_git::GitLimits;
use crate::sys::clock::Clock;
use crate::sys::safe_file::{self, FileRule};

/// The longest summary, in bytes.
const SUMMARY_CAP: u64 = 32 << 10;

/// The longest `state.json` of a record that is read, in bytes.
const STATE_CAP: u64 = 16 << 20;

/// The sources of a handoff.
struct HandoffSource {
    transcript: Option<PathBuf>,
    conversation: Option<ConversationId>,
    dir: Option<String>,
    /// The directory that the conversation moved to, if its transcript names another.
    moved_to: Option<String>,
    /// The session that runs the conversation, with its status.
    session: Option<(SessionName, SessionStatus)>,
    facts: TranscriptFacts,
}

/// Refuses a transcript that is a link, if no person named it: a program may have put it there, and it would
/// lead to another conversation.
fn not_linked(path: PathBuf) -> Result<PathBuf, VerbError> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => Err(VerbError::new(FAILED, "the transcript is a symbolic link")
            .about(path.display())
            .hint("name the file that it leads to with `--transcript PATH` if that is the conversation")),
        _ => Ok(path),
    }
}

impl HandoffSource {
    fn find(place: &HandoffPlace, given: Option<&Path>) -> Result<Self, VerbError> {
        let mut source = HandoffSource {
            transcript: None,
            conversation: None,
            dir: None,
            moved_to: None,
            session: None,
            facts: TranscriptFacts::new(),
        };
        match given.map(Path::to_owned) {
            Some(path) => source.transcript = Some(std::path::absolute(&path).unwrap_or(path)),
            None => match find_target(&place.paths, None, Rule::Careful)? {
                ConversationTarget::Transcript(found) => source.transcript = Some(not_linked(found.path)?),
                ConversationTarget::Session(name, status) => {
                    source.transcript =
                        status.transcript.as_ref().map(|path| not_linked(PathBuf::from(path))).transpose()?;
                    source.conversation = status.conversation.clone();
                    source.dir = Some(status.dir.clone());
                    source.session = Some((name, *status));
                }
            },
        }
        if let Some(path) = &source.transcript {
            let stem = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            let mut at = line_context::LineContext {
                conversation: source.conversation.or(stem),
                dir: source.dir,
                now: None,
            };
            let facts = &mut source.facts;
            let read = whole_transcript::lines(path, |line| {
                facts.feed(line);
                at.follow(line);
            });
            let hint = match source.session {
                Some(_) => "Claude writes it shortly after the first prompt: try again then",
                None => "use `--transcript` to name another one",
            };
            read.map_err(|e| VerbError::new(FAILED, e.to_string()).hint(hint))?;
            source.moved_to = at.dir.as_deref().and_then(|dir| at.moved_from(dir));
            (source.conversation, source.dir) = (at.conversation, at.dir);
        }
        Ok(source)
    }

    /// The facts of the transcript and the session.
    fn capture(
        &self,
        place: &HandoffPlace,
        options: &CreateOptions,
        conversation: ConversationId,
        kind: HandoffKind,
        dir: &Path,
    ) -> Capture {
        let status = self.session.as_ref().map(|(_, status)| status);
        let transcript = self.transcript.as_ref().map(|path| path.display().to_string());
        let mut capture = Capture::new(
            HandoffOrigin {
                channel: options.at.channel.clone().unwrap_or_else(|| channel_of(&place.paths, dir)),
                kind,
                created_at: Clock::wall(),
                working_dir: dir.display().to_string(),
                transcript: transcript.unwrap_or_default(),
                session: self.session.as_ref().map(|(name, _)| name.clone()),
                pid: std::process::id(),
                predecessor: status
                    .and_then(|status| Some(status.handoff.as_ref()?.id.clone()))
                    .or_else(|| place.store.begun_from(&conversation)),
                conversation,
            },
            &self.facts,
        );
        capture.lists = Lists::of(&place.config.handoff);
        capture.situation.reason = "`hopty handoff create` requested it".to_owned();
        capture.situation.window = status.map(|status| status.context.window).filter(|window| *window > 0);
        capture.situation.moved_to.clone_from(&self.moved_to);
        if self.session.is_none() {
            // Any program can write such a file; its mode is not the person's choice.
            capture.situation.permission_mode = None;
        }
        capture
    }
}

pub(super) fn create(place: &HandoffPlace, options: &CreateOptions) -> Result<u8, VerbError> {
    let kind = HandoffKind::from_word(&options.kind).ok_or_else(|| {
        VerbError::new(USAGE, "unknown type").about(&options.kind).hint("use auto, manual, signal or crash")
    })?;
    let summary = options.summary_file.as_deref().map(summary).transpose()?;
    // Settling shows which handoff the conversation was continued from.
    super::settle(&place.paths, &place.store, None);
    let source = HandoffSource::find(place, options.transcript.as_deref())?;
    let conversation = source.conversation.clone().ok_or_else(|| {
        VerbError::new(FAILED, "hopty cannot tell which conversation this is")
            .hint("name its transcript with `--transcript PATH`")
    })?;
    let here = std::env::current_dir().unwrap_or_default();
    let dir = source.dir.as_ref().map_or(here, PathBuf::from);
    let status = source.session.as_ref().map(|(_, status)| status);
    let mut capture = source.capture(place, options, conversation, kind, &dir);
    capture.summary = summary;
    let limits = GitLimits::of(&place.config.handoff);
    let moved = capture.situation.moved_to.as_deref();
    capture.git = crate::git::ask_git::of_written(&dir, moved, &capture.files.written, limits);
    capture.memory_keeper = crate::fs::servers::memory_keeper(&place.paths, &dir);
    let material = Material::of(&capture);
    let channel = capture.origin.channel.clone();
    let at = LayoutPlace {
        project: dir,
        claude: place.paths.claude.clone(),
        channel: capture.origin.channel.clone(),
        pid: status.and_then(|status| u32::try_from(status.pid?).ok()).unwrap_or(capture.origin.pid),
        transcript: Some(PathBuf::from(&capture.origin.transcript)).filter(|path| path.is_absolute()),
    };
    let saved =
        place.store.make().and_then(|()| place.store.save(capture, place.keeping())).map_err(store_failed)?;
    let material = material.saved(&saved.entry);
    for failed in edits::make_each(at.write(&place.config.handoff.views, &material, &Disk, Clock::wall())) {
        note(format_args!("hopty: {failed}"));
    }
    let copied = place.config.handoff.copy_transcript.then(|| saved.document.headers.id.clone());
    if let (Some(id), Some(path)) = (copied, transcript_of(&saved.record_dir)) {
        // The handoff is complete without the copy.
        if let Err(error) = place.store.compress_transcript(&id, &path) {
            note(format_args!("hopty: the transcript could not be copied: {error}"));
        }
    }
    let kept =
        status.and_then(limit).map(|until| place.store.postpone_expiry(&channel, Clock::wall(), until));
    if let Some(Err(error)) = &kept {
        note(format_args!("hopty: the handoff may expire during the usage limit: {error}"));
    }
    let entry = kept.and_then(|_| place.store.show(&saved.id).ok()).map_or(saved.entry, |shown| shown.entry);
    answer(options.at.json, &object(&entry), saved.id.as_str())
}

/// When the usage limit resets that the session waits for: until then no handoff can be loaded.
fn limit(status: &SessionStatus) -> Option<WallTime> {
    Some(status.limits.reached.as_ref()?.resets_at?.0)
}

/// The path of the transcript in a record.
fn transcript_of(record: &Path) -> Option<PathBuf> {
    let state: Value =
        serde_json::from_slice(&safe_file::read(&record.join("state.json"), FileRule::own(STATE_CAP)).ok()??)
            .ok()?;
    let path = state["transcript_path"].as_str().filter(|path| !path.is_empty())?;
    Some(PathBuf::from(path))
}

/// Reads a summary from a file or from standard input.
fn summary(from: &Path) -> Result<String, VerbError> {
    // One byte more than allowed, to find a summary that is too long.
    let read = if from == Path::new("-") {
        safe_file::first_bytes(std::io::stdin(), SUMMARY_CAP + 1)
    } else {
        std::fs::File::open(from).and_then(|file| safe_file::first_bytes(file, SUMMARY_CAP + 1))
    };
    let bytes = read.map_err(|e| {
        let failed =
            VerbError::new(FAILED, format!("hopty cannot read the summary: {e}")).about(from.display());
        failed.hint("use `--summary-file FILE`, or `-` for standard input")
    })?;
    if bytes.len() as u64 > SUMMARY_CAP {
        return Err(VerbError::new(USAGE, format!("the summary is longer than {SUMMARY_CAP} bytes"))
            .about(from.display())
            .hint("keep the summary short; put long text into files and name them"));
    }
    String::from_utf8(bytes).map_err(|_| {
        VerbError::new(USAGE, "the summary is not UTF-8")
            .about(from.display())
            .hint("convert it to UTF-8, or leave it out")
    })
}

/// Prints the id that a handoff made now would have.
pub(super) fn new_id(place: &HandoffPlace, at: &ChannelAndFormat) -> Result<u8, VerbError> {
    let conversation = match find_target(&place.paths, None, Rule::Careful)? {
        ConversationTarget::Session(_, status) => status.conversation,
        ConversationTarget::Transcript(found) => {
            found.path.file_stem().and_then(|stem| stem.to_str()?.parse().ok())
        }
    };
    let conversation: ConversationId = conversation.ok_or_else(|| {
        VerbError::new(FAILED, "hopty cannot tell which conversation this is")
            .hint("run this in a session or in its directory")
    })?;
    let id = HandoffId::new(Clock::wall(), &conversation);
    answer(at.json, &json!({"id": id, "session_id": conversation}), id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_that_is_a_link_is_not_taken_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("a.jsonl"), dir.path().join("b.jsonl"));
        std::fs::write(&file, "{}\n").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(not_linked(file.clone()).unwrap(), file);
        assert!(not_linked(link).is_err());
        // A missing file is reported by its reader.
        assert!(not_linked(dir.path().join("c.jsonl")).is_ok());
    }
}
