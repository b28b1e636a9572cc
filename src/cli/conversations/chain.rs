//! `hopty conversations chain`: one task through all its hand-overs.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::conversations_args::ChainOptions;
use super::fold_white_space;
use super::named_conversation::named_conversation;
use super::open_conversations::{OpenBy, OpenConversations};
use crate::cli::control::paths;
use crate::cli::error::{VerbError, note, say, visible, working_dir};
use crate::cli::exit_codes::FAILED;
use crate::cli::prose::fit;
use crate::core::context_level::Fill;
use crate::core::conversation::handover_links::{ChainStep, HandoverLink, HandoverLinks};
use crate::core::conversation::summary::ConversationSummary;
use crate::core::ids::ConversationId;
use crate::core::redact::redact;
use crate::core::text::safe_text::thousands;
use crate::core::time::WallTime;
use crate::fs::archive::ArchiveStore;
use crate::fs::conversations::{Summaries, TranscriptFile, Transcripts, handover_links};
use crate::fs::paths::Paths;
use crate::fs::project::project_of;
use crate::ipc::message::Code;
use crate::sys::clock::local;

/// A conversation of the chain, with the files that exist.
struct Link<'a> {
    step: ChainStep,
    transcript: Option<&'a TranscriptFile>,
    summary: ConversationSummary,
    open: Option<&'a OpenBy>,
    is_archived: bool,
}

pub(super) fn chain(options: &ChainOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let all = Transcripts::all(&paths);
    let mut summaries = Summaries::load(&paths);
    let read = summaries.read(&all.files);
    summaries.save();
    let mut links = handover_links(&paths, true);
    // The fresh conversation names the handoff that it continued from, even if everything else is gone. Its
    // forks repeat that.
    for (file, summary) in all.files.iter().zip(&read) {
        match (&summary.forked_from, &summary.handoff) {
            (Some(source), _) => links.forked(&file.id, source),
            (None, Some(handoff)) => add_by_name(&mut links, handoff, file, &all.files),
            (None, None) => {}
        }
    }
    let id = chain_conversation(&paths, options.which.as_deref(), &all.files, &read, &links)?;
    let open = OpenConversations::look(&paths);
    let store = ArchiveStore::new(&paths.archive(), &paths.claude);
    let archived: HashSet<ConversationId> =
        store.entries().0.into_iter().map(|entry| entry.conversation).collect();
    let found: Vec<Link<'_>> = links
        .chain(&id)
        .into_iter()
        .map(|step| {
            let at = all.files.iter().position(|file| file.id == step.id);
            Link {
                transcript: at.map(|at| &all.files[at]),
                summary: at.map(|at| read[at].clone()).unwrap_or_default(),
                open: open.get(&step.id),
                is_archived: archived.contains(&step.id),
                step,
            }
        })
        .collect();
    if options.json {
        let list: Vec<Value> = found.iter().map(Link::json).collect();
        say(format_args!("{}", json!(list)))?;
        return Ok(0);
    }
    for (number, link) in (1..).zip(&found) {
        link.print(number, link.step.id == id)?;
    }
    if found.len() == 1 {
        note(format_args!("this conversation was not handed over, and no hand-over began it"));
    }
    Ok(0)
}

/// Adds a handoff that no file has any more: its id contains the time and the beginning of the conversation's
/// id.
fn add_by_name(
    links: &mut HandoverLinks,
    handoff: &crate::core::ids::HandoffId,
    file: &TranscriptFile,
    all: &[TranscriptFile],
) {
    links.continued(handoff, &file.id);
    if links.has_both_ends(handoff) {
        return;
    }
    let mut begins = all.iter().filter(|from| handoff.as_str().ends_with(from.id.short()));
    let (Some(from), None) = (begins.next(), begins.next()) else { return };
    links.add(HandoverLink {
        handoff: handoff.clone(),
        from: from.id.clone(),
        to: Some(file.id.clone()),
        at: handoff.made_at().unwrap_or_default(),
        kind: "unknown".to_owned(),
        reason: None,
        tokens: None,
        session: None,
    });
}

/// The conversation that is named, even if its transcript is gone; by default the one that this command runs
/// in, or the last one of this directory.
fn chain_conversation(
    paths: &Paths,
    word: Option<&str>,
    files: &[TranscriptFile],
    summaries: &[ConversationSummary],
    links: &HandoverLinks,
) -> Result<ConversationId, VerbError> {
    if let Some(word) = word {
        return match word.parse::<ConversationId>() {
            Ok(id) if links.handover_into(&id).is_some() || !links.handovers_from(&id).is_empty() => Ok(id),
            _ => named_conversation(paths, word).map(|file| file.id),
        };
    }
    let of_claude = std::env::var("CLAUDE_CODE_SESSION_ID").ok().and_then(|id| id.parse().ok());
    if let Some(id) = of_claude {
        return Ok(id);
    }
    let here = project_of(&working_dir()?);
    let is_here = |summary: &ConversationSummary| {
        summary.dir.as_ref().is_some_and(|dir| project_of(std::path::Path::new(dir)) == here)
    };
    let here = files.iter().zip(summaries).filter(|(_, summary)| is_here(summary));
    here.max_by_key(|(file, summary)| summary.last_at.unwrap_or_else(|| file.state.modified()))
        .map(|(file, _)| file.id.clone())
        .ok_or_else(|| {
            VerbError::new(FAILED, "no conversation is known in this directory")
                .called(Code::NotFound)
                .hint("give a conversation: `hopty conversations chain ID`")
        })
}

impl Link<'_> {
    fn print(&self, number: usize, is_meant: bool) -> std::io::Result<()> {
        let indent = 4 + 2 * self.step.branch.min(8);
        let pad = " ".repeat(indent);
        if let Some(link) = &self.step.handover_into {
            say(format_args!("{}", fit(&format!("{pad}| {}", handover(link)), indent + 2)))?;
        }
        if let Some(source) = &self.step.forked_from {
            say(format_args!("{pad}| forked from {}", source.short()))?;
        }
        let mark = if is_meant { '>' } else { ' ' };
        let title = self.summary.heading().map(|heading| fold_white_space(&heading)).unwrap_or_default();
        let branch = "  ".repeat(self.step.branch.min(8));
        say(format_args!(
            "{}",
            fit(format!("{mark}{number:>2} {branch}{}  {title}", self.step.id).trim_end(), indent)
        ))?;
        let times = match (self.summary.begun_at, self.summary.last_at) {
            (Some(begun), Some(last)) => format!("{} to {}", local(begun), local(last)),
            _ => String::new(),
        };
        let state = match (self.open, self.transcript) {
            (Some(by), _) => format!("open now: {}", by.words()),
            (None, Some(_)) => format!("hopty --resume {}", self.step.id),
            (None, None) if self.is_archived => {
                format!("archived: hopty conversations restore {}", self.step.id)
            }
            (None, None) => "its transcript is gone".to_owned(),
        };
        let parts: Vec<String> = [times, state].into_iter().filter(|part| !part.is_empty()).collect();
        say(format_args!("{}", fit(&format!("{pad}{}", parts.join("; ")), indent)))
    }

    fn json(&self) -> Value {
        json!({
            "id": self.step.id,
            "branch": self.step.branch,
            "forked_from": self.step.forked_from,
            "project": self.summary.dir,
            "title": self.summary.title(),
            "first_prompt": self.summary.first_prompt,
            "begun_at": self.summary.begun_at.map(WallTime::rfc3339_s),
            "used_at": self.summary.last_at.map(WallTime::rfc3339_s),
            "transcript": self.transcript.map(|file| file.path.to_string_lossy()),
            "archived": self.is_archived,
            "open": self.open.map(OpenBy::json),
            "begun_by": self.step.handover_into.as_ref().map(|link| json!({
                "handoff": link.handoff, "from": link.from, "at": link.at.rfc3339_s(), "type": link.kind,
                "reason": link.reason.as_deref().map(redact), "session": link.session,
                "tokens": link.tokens.map(|(used, _)| used), "window": link.tokens.map(|(_, window)| window),
            })),
        })
    }
}

/// Such as `HO-...: 2026-11-20 15:10:00, 82 % of 200,000 tokens, auto: the level ...`.
fn handover(link: &HandoverLink) -> String {
    let mut parts = vec![local(link.at)];
    if let Some((tokens, window)) = link.tokens.filter(|(_, window)| *window > 0) {
        let percent = Fill { tokens, window, bytes: 0 }.percent();
        parts.push(format!("{percent} % of {} tokens", thousands(window)));
    }
    parts.extend(link.session.as_ref().map(|name| format!("session {name}")));
    let why = link.reason.as_deref().map(visible).unwrap_or_default();
    let why = if why.is_empty() { link.kind.clone() } else { format!("{}: {why}", link.kind) };
    format!("{}: {}; {why}", link.handoff, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_over_has_the_percentage_that_the_log_has() {
        let link = HandoverLink {
            handoff: "HO-20261120-142950-c74cc080".parse().unwrap(),
            from: "c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap(),
            to: None,
            at: WallTime(0),
            kind: "auto".to_owned(),
            reason: None,
            tokens: Some((165_000, 200_000)),
            session: None,
        };
        assert!(handover(&link).contains(", 83 % of 200,000 tokens"), "{}", handover(&link));
    }
}
