//! `hopty conversations show`: prints a conversation, or writes it in a format to share.

use std::io::Read;

use serde_json::{Value, json};

use super::conversations_args::ShowOptions;
use super::kept_transcripts::kept_sources;
use super::named_conversation::named_conversation;
use crate::cli::control::paths;
use crate::cli::error::{VerbError, note};
use crate::cli::exit_codes::FAILED;
use crate::cli::pager::Pager;
use crate::cli::table;
use crate::core::archive::ArchiveLimits;
use crate::core::claude::line_splitter::LineSplitter;
use crate::core::conversation::entry::{Entry, EntryReader, Speaker, ToolCall};
use crate::core::conversation::name::ConversationName;
use crate::core::conversation::pages::{
    PageHead, PageOptions, html_end, html_entry, html_head, markdown_entry, markdown_head,
};
use crate::core::conversation::summary::ConversationSummary;
use crate::core::text::visible::escaped;
use crate::core::time::WallTime;
use crate::fs::archive::ArchivedConversation;
use crate::fs::conversations::search_transcripts::{TranscriptPlace, TranscriptSource};
use crate::fs::conversations::{AgentTranscript, Summaries, TranscriptFile, Transcripts, live_sources};
use crate::fs::paths::Paths;
use crate::sys::clock::local;
use crate::tty::wants_colors;

/// Bytes that are read at once.
const PIECE: usize = 256 << 10;
/// The longest line that is printed, in bytes; longer ones are counted.
const LINE_CAP: usize = 64 << 20;

trait ConversationFormat {
    fn head(&mut self, file: &dyn TranscriptSource, summary: &ConversationSummary) -> String;
    fn entry(&mut self, entry: &Entry) -> String;
    fn end(&mut self) -> String;
}

pub(super) fn show(options: &ShowOptions) -> Result<u8, VerbError> {
    let paths = paths()?;
    let (source, summary) = found(&paths, &options.which)?;
    let page = PageOptions {
        redacts: !options.no_redact,
        with_tools: options.tools,
        with_thinking: options.thinking,
    };
    let plain = !(options.json || options.markdown || options.html);
    let mut pager = Pager::open(plain);
    let mut form: Box<dyn ConversationFormat> = if options.json {
        Box::new(JsonForm { options: page, is_first: true })
    } else if options.markdown {
        Box::new(MarkdownForm { options: page, before: None })
    } else if options.html {
        Box::new(HtmlForm { options: page })
    } else {
        let colors = pager.is_terminal && wants_colors();
        Box::new(TextForm { options: page, colors, before: None })
    };
    let read = write(&mut *form, &mut pager, &*source, &summary);
    pager.finish();
    let skipped = read.map_err(|error| {
        VerbError::new(FAILED, error.to_string()).about(source.path().display()).hint("check its permissions")
    })?;
    if skipped > 0 {
        note(format_args!("hopty: {skipped} lines of more than {} MB are left out", LINE_CAP >> 20));
    }
    Ok(0)
}

/// The conversation that is named: Claude's own transcript, or a kept one by its id or the beginning of it.
fn found(paths: &Paths, which: &str) -> Result<(Box<dyn TranscriptSource>, ConversationSummary), VerbError> {
    let failed = match named_conversation(paths, which) {
        Ok(file) => {
            let mut summaries = Summaries::load(paths);
            let summary = summaries.read_whole(&file);
            summaries.save();
            return Ok((live_sources(vec![file]).remove(0), summary));
        }
        Err(failed) => failed,
    };
    let is_meant = |id: &str| match ConversationName::read(which) {
        ConversationName::Id(whole) => whole.as_str() == id,
        ConversationName::IdPrefix(begin) => id.starts_with(&begin),
        ConversationName::Title(_) => false,
    };
    let known = Transcripts::all(paths).files.into_iter().map(|file| file.id).collect();
    let mut kept = kept_sources(paths, known);
    kept.retain(|source| is_meant(source.id().as_str()));
    match <[Box<dyn TranscriptSource>; 1]>::try_from(kept) {
        Ok([source]) => Ok((source, ConversationSummary::default())),
        Err(_) => Err(failed),
    }
}

/// Writes the conversation until the reader closes the pipe. Returns the number of lines that were too long.
fn write(
    form: &mut dyn ConversationFormat,
    pager: &mut Pager,
    file: &dyn TranscriptSource,
    summary: &ConversationSummary,
) -> std::io::Result<u64> {
    let mut source = file.open()?;
    let mut lines = LineSplitter::with_cap(LINE_CAP);
    let mut reader = EntryReader::new();
    let mut piece = vec![0; PIECE];
    let mut text = form.head(file, summary);
    loop {
        let n = source.read(&mut piece)?;
        if n == 0 {
            break;
        }
        lines.feed(&piece[..n], |line| reader.line(line, |entry| text.push_str(&form.entry(&entry))));
        if !pager.write(&text)? {
            return Ok(lines.too_long());
        }
        text.clear();
    }
    reader.line(lines.tail(), |entry| text.push_str(&form.entry(&entry)));
    reader.finish(|entry| text.push_str(&form.entry(&entry)));
    text.push_str(&form.end());
    pager.write(&text)?;
    Ok(lines.too_long())
}

/// A time in UTC, for formats to share.
fn universal(at: WallTime) -> String {
    at.plain() + " UTC"
}

/// How many sub-agents the conversation had; `None` without any.
fn sub_agents(file: &dyn TranscriptSource) -> Option<String> {
    let count = match file.place() {
        TranscriptPlace::Live => {
            let own = TranscriptFile::at(file.path())?;
            AgentTranscript::of([&own]).iter().filter(|agent| agent.owner().as_ref() == Some(&own.id)).count()
        }
        TranscriptPlace::Archived => {
            let archived = ArchivedConversation::open(file.path(), &ArchiveLimits::default()).ok()?;
            archived.manifest.agents().count()
        }
        TranscriptPlace::HandedOver => 0,
    };
    (count > 0).then(|| count.to_string())
}

/// The title and the facts above the conversation.
fn head(
    file: &dyn TranscriptSource,
    summary: &ConversationSummary,
    time: fn(WallTime) -> String,
) -> PageHead {
    let title = summary.heading().unwrap_or_else(|| "A conversation".to_owned());
    let cost = summary.figures().and_then(|(figures, _)| {
        let more = if figures.tokens_without_cost > 0 { " or more" } else { "" };
        figures.cost().map(|usd| format!("${usd:.2}{more}, as Claude reported it"))
    });
    let facts = [
        ("conversation", Some(file.id().to_string())),
        ("project", summary.dir.clone()),
        ("branch", summary.branch.clone()),
        ("forked from", summary.forked_from.as_ref().map(ToString::to_string)),
        ("begun", summary.begun_at.map(time)),
        ("last used", summary.last_at.map(time)),
        ("model", summary.model.clone()),
        ("cost", cost),
        ("sub-agents", sub_agents(file)),
    ];
    PageHead { title, facts: facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect() }
}

/// Text, for a terminal or a program.
struct TextForm {
    options: PageOptions,
    colors: bool,
    before: Option<Speaker>,
}

impl TextForm {
    fn paint(&self, number: &str, text: &str) -> String {
        table::paint(self.colors, number, text)
    }

    fn tool(&self, call: &ToolCall) -> String {
        let line = self.options.clean_line(&format!("{} {}", call.name, call.about()));
        let outcome = self.options.clean_line(&call.outcome());
        let failed = call.answer.as_ref().is_some_and(|answer| answer.is_error);
        let mut out = format!(
            "  {} {}\n",
            self.paint("36", &format!("* {line}")),
            self.paint(if failed { "31" } else { "2" }, &format!("-> {outcome}"))
        );
        if self.options.with_tools {
            let input = serde_json::to_string_pretty(&call.input).unwrap_or_default();
            let answer = call.answer.as_ref().map(|answer| answer.text.as_str()).unwrap_or_default();
            for (sign, text) in [("<", input.as_str()), (">", answer)] {
                for line in self.options.clean(text).lines() {
                    out.push_str(&format!("    {} {line}\n", self.paint("2", sign)));
                }
            }
        }
        out
    }
}

impl ConversationFormat for TextForm {
    fn head(&mut self, file: &dyn TranscriptSource, summary: &ConversationSummary) -> String {
        let head = head(file, summary, local);
        let mut out = self.paint("1", &self.options.clean_line(&head.title)) + "\n";
        for (name, value) in &head.facts {
            out.push_str(&self.paint("2", &format!("{name}: {}", self.options.clean_line(value))));
            out.push('\n');
        }
        out
    }

    fn entry(&mut self, entry: &Entry) -> String {
        match entry {
            Entry::Said { speaker: Speaker::Thinking, .. } if !self.options.with_thinking => String::new(),
            Entry::Said { speaker, at, text, images } => {
                let mut out = "\n".to_owned();
                if self.before != Some(*speaker) {
                    let (name, color) = match speaker {
                        Speaker::Person => ("You", "1;34"),
                        Speaker::Claude => ("Claude", "1;32"),
                        Speaker::Thinking => ("Claude, thinking", "2"),
                        Speaker::Program => ("Not typed by you", "1;2"),
                    };
                    let at = at.map(local).unwrap_or_default();
                    out.push_str(&format!("{}  {}\n", self.paint(color, name), self.paint("2", &at)));
                }
                self.before = Some(*speaker);
                out.push_str(self.options.clean(text).trim_matches('\n'));
                out.push_str(if *images > 0 { "\n[with images]\n" } else { "\n" });
                out
            }
            Entry::Tool(call) => self.tool(call),
            Entry::Note { at, text } => {
                let at = at.map(|at| format!(" ({})", local(at))).unwrap_or_default();
                format!("\n{}\n", self.paint("33", &format!("- {}{at}", self.options.clean_line(text))))
            }
        }
    }

    fn end(&mut self) -> String {
        String::new()
    }
}

struct MarkdownForm {
    options: PageOptions,
    before: Option<Speaker>,
}

impl ConversationFormat for MarkdownForm {
    fn head(&mut self, file: &dyn TranscriptSource, summary: &ConversationSummary) -> String {
        markdown_head(&head(file, summary, universal), self.options)
    }

    fn entry(&mut self, entry: &Entry) -> String {
        let text = markdown_entry(entry, self.before, self.options);
        if let Entry::Said { speaker, .. } = entry
            && !text.is_empty()
        {
            self.before = Some(*speaker);
        }
        text
    }

    fn end(&mut self) -> String {
        String::new()
    }
}

struct HtmlForm {
    options: PageOptions,
}

impl ConversationFormat for HtmlForm {
    fn head(&mut self, file: &dyn TranscriptSource, summary: &ConversationSummary) -> String {
        html_head(&head(file, summary, universal), self.options)
    }

    fn entry(&mut self, entry: &Entry) -> String {
        html_entry(entry, self.options)
    }

    fn end(&mut self) -> String {
        html_end().to_owned()
    }
}

/// One JSON object; the entries are in the list `entries`.
struct JsonForm {
    options: PageOptions,
    is_first: bool,
}

impl JsonForm {
    fn text(&self, text: &str) -> String {
        if self.options.redacts { crate::core::redact::redact(text) } else { text.to_owned() }
    }

    /// The value with every text in it redacted.
    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (self.text(name), self.value(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn object(&self, entry: &Entry) -> Option<Value> {
        let at = |at: &Option<WallTime>| at.map(WallTime::rfc3339_ms);
        match entry {
            Entry::Said { speaker: Speaker::Thinking, .. } if !self.options.with_thinking => None,
            Entry::Said { speaker, at: when, text, images } => Some(json!({
                "kind": speaker.word(), "at": at(when), "text": self.text(text), "images": images,
            })),
            Entry::Tool(call) => {
                let mut object = json!({
                    "kind": "tool", "at": at(&call.at), "id": call.id, "tool": call.name,
                    "about": self.text(&call.about()), "outcome": self.text(&call.outcome()),
                    "failed": call.answer.as_ref().map(|answer| answer.is_error),
                });
                if self.options.with_tools {
                    object["input"] = self.value(&call.input);
                    object["answer"] = json!(call.answer.as_ref().map(|answer| self.text(&answer.text)));
                }
                Some(object)
            }
            Entry::Note { at: when, text } => {
                Some(json!({"kind": "note", "at": at(when), "text": self.text(text)}))
            }
        }
    }
}

impl ConversationFormat for JsonForm {
    fn head(&mut self, file: &dyn TranscriptSource, summary: &ConversationSummary) -> String {
        let head = json!({
            "id": file.id(),
            "transcript": file.path().to_string_lossy(),
            "project": summary.dir,
            "forked_from": summary.forked_from,
            "title": summary.title().map(|title| self.text(title)),
            "begun_at": summary.begun_at.map(WallTime::rfc3339_s),
            "used_at": summary.last_at.map(WallTime::rfc3339_s),
            "model": summary.model,
        });
        let head = escaped(&head.to_string());
        format!("{},\"entries\":[", head.trim_end_matches('}'))
    }

    fn entry(&mut self, entry: &Entry) -> String {
        let Some(object) = self.object(entry) else { return String::new() };
        let before = if std::mem::take(&mut self.is_first) { "\n" } else { ",\n" };
        format!("{before}{}", escaped(&object.to_string()))
    }

    fn end(&mut self) -> String {
        "\n]}\n".to_owned()
    }
}
