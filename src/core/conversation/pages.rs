//! A conversation in formats to share: Markdown, and one self-contained page of HTML.
//!
//! Both are made piece by piece, so that a long conversation needs little memory. In the page all messages
//! are text and never markup: every character with a meaning in HTML is escaped, and the page may run no
//! script and load nothing.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::entry::{Entry, Speaker, ToolCall};
use crate::core::redact::redact;
use crate::core::text::markup::escape_markup;
use crate::core::text::safe_text::{fenced, without_sequences};
use crate::core::text::visible::{is_hidden, visible};
use crate::core::time::WallTime;

/// What a shared conversation contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageOptions {
    /// Replace secrets.
    pub redacts: bool,
    /// Include input and results of tools.
    pub with_tools: bool,
    /// Include Claude's thinking.
    pub with_thinking: bool,
}

/// The head of a shared conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageHead {
    pub title: String,
    /// Names and values.
    pub facts: Vec<(&'static str, String)>,
}

impl PageOptions {
    /// Text of a transcript for people: without escape sequences and secrets, hidden characters made visible.
    /// Newlines and tabs stay.
    #[must_use]
    pub fn clean(self, text: &str) -> String {
        let text = without_sequences(text);
        let text: Cow<'_, str> = if self.redacts { redact(&text).into() } else { text };
        let text = text.replace("\r\n", "\n");
        if !text.chars().any(|c| is_hidden(c) && !matches!(c, '\n' | '\t')) {
            return text;
        }
        let parts = text.split_inclusive(['\n', '\t']).map(|part| {
            let end = part.len() - usize::from(part.ends_with(['\n', '\t']));
            visible(&part[..end]) + &part[end..]
        });
        parts.collect()
    }

    /// The same on one line.
    #[must_use]
    pub fn clean_line(self, text: &str) -> String {
        self.clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The speaker, for a heading.
fn name(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Person => "You",
        Speaker::Claude => "Claude",
        Speaker::Thinking => "Claude, thinking",
        Speaker::Program => "Not typed by you",
    }
}

fn time(at: Option<WallTime>) -> String {
    at.map(|at| at.plain() + " UTC").unwrap_or_default()
}

fn images(count: usize) -> &'static str {
    match count {
        0 => "",
        1 => "[an image]",
        _ => "[images]",
    }
}

/// The input of a call as indented JSON.
fn input(call: &ToolCall) -> String {
    serde_json::to_string_pretty(&call.input).unwrap_or_default()
}

pub fn markdown_head(head: &PageHead, options: PageOptions) -> String {
    let mut out = format!("# {}\n\n", plain_line(&options.clean_line(&head.title)));
    for (fact, value) in &head.facts {
        let _ = writeln!(out, "- {fact}: {}", plain_line(&options.clean_line(value)));
    }
    out
}

/// An entry as Markdown. `before`: the last speaker, so that a heading is not repeated.
pub fn markdown_entry(entry: &Entry, before: Option<Speaker>, options: PageOptions) -> String {
    match entry {
        Entry::Said { speaker: Speaker::Thinking, .. } if !options.with_thinking => String::new(),
        Entry::Said { speaker, at, text, images: count } => {
            let mut out = String::new();
            if before != Some(*speaker) {
                let at = at.map(|at| format!(" ({})", time(Some(at)))).unwrap_or_default();
                let _ = write!(out, "\n## {}{at}\n", name(*speaker));
            }
            let text = options.clean(text);
            // Claude writes Markdown; other text is kept as it is.
            match speaker {
                Speaker::Claude => {
                    let _ = write!(out, "\n{}\n", escape_html(text.trim()));
                }
                _ => {
                    let _ = write!(out, "\n{}", fenced(text.trim()));
                }
            }
            if *count > 0 {
                let _ = write!(out, "\n{}\n", images(*count));
            }
            out
        }
        Entry::Tool(call) => {
            let mut out =
                format!("\n- {}\n", code(&options.clean_line(&format!("{} {}", call.name, call.about()))));
            let outcome = options.clean_line(&call.outcome());
            let _ = writeln!(out, "  {}", plain_line(&outcome));
            if options.with_tools {
                let _ = write!(out, "\n{}", fenced(&options.clean(&input(call))));
                if let Some(answer) = &call.answer {
                    let _ = write!(out, "\n{}", fenced(&options.clean(&answer.text)));
                }
            }
            out
        }
        Entry::Note { text, .. } => format!("\n*{}*\n", plain_line(&options.clean_line(text))),
    }
}

/// A line of Markdown without markup.
fn plain_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn code(line: &str) -> String {
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// Claude's Markdown with HTML escaped outside of code blocks, in which it is text anyway. Each block is
/// moved to the beginning of a line: in a list or a quotation, Markdown could end it before its fence does,
/// and the rest would be HTML.
fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut open: Option<CodeFence<'_>> = None;
    for line in text.split_inclusive('\n') {
        let fence = CodeFence::of(line);
        match &open {
            None => match fence {
                Some(fence) => {
                    out.push_str(&line[fence.indent..]);
                    open = Some(fence);
                }
                None => out.push_str(&line.replace('<', "&lt;")),
            },
            Some(begin) if fence.as_ref().is_some_and(|end| end.closes(begin)) => {
                let _ = writeln!(out, "{}", begin.run);
                open = None;
            }
            Some(begin) => {
                let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
                out.push_str(&line[blanks.min(begin.indent)..]);
            }
        }
    }
    // A block that was left open must not contain what follows.
    if let Some(begin) = open {
        let _ = write!(out, "\n{}", begin.run);
    }
    out
}

/// A line that may begin or end a block of code.
struct CodeFence<'a> {
    /// The spaces before it.
    indent: usize,
    /// Three or more of either character.
    run: &'a str,
    /// The text after it.
    info: &'a str,
}

impl<'a> CodeFence<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let from = line.trim_start_matches([' ', '\t']);
        let sign = from.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = from.trim_start_matches(sign);
        let run = &from[..from.len() - info.len()];
        let is_fence = run.len() >= 3 && (sign == '~' || !info.contains('`'));
        is_fence.then(|| CodeFence { indent: line.len() - from.len(), run, info })
    }

    fn closes(&self, begin: &CodeFence<'_>) -> bool {
        self.run.starts_with(begin.run) && self.info.trim().is_empty()
    }
}

/// The style of the page, which has no script.
const STYLE: &str = include_str!("conversation_page.css");

pub fn html_head(head: &PageHead, options: PageOptions) -> String {
    let title = escape_markup(&options.clean_line(&head.title));
    let facts: String = head
        .facts
        .iter()
        .map(|(fact, value)| {
            format!("<dt>{}</dt><dd>{}</dd>", escape_markup(fact), escape_markup(&options.clean_line(value)))
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" \
         content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n\
         <h1>{title}</h1>\n<dl>{facts}</dl>\n</header>\n<main>\n"
    )
}

pub fn html_end() -> &'static str {
    "</main>\n</body>\n</html>\n"
}

pub fn html_entry(entry: &Entry, options: PageOptions) -> String {
    match entry {
        Entry::Said { speaker: Speaker::Thinking, .. } if !options.with_thinking => String::new(),
        Entry::Said { speaker, at, text, images: count } => format!(
            "<section class=\"{}\"><h2>{} <time>{}</time></h2><pre>{}{}</pre></section>\n",
            speaker.word(),
            name(*speaker),
            time(*at),
            escape_markup(options.clean(text).trim()),
            images(*count)
        ),
        Entry::Tool(call) => {
            let line = options.clean_line(&format!("{} {}", call.name, call.about()));
            let outcome = options.clean_line(&call.outcome());
            let failed = call.answer.as_ref().is_some_and(|answer| answer.is_error);
            let class = if failed { "tool failed" } else { "tool" };
            let summary = format!("{} <small>{}</small>", escape_markup(&line), escape_markup(&outcome));
            if !options.with_tools {
                return format!("<p class=\"{class}\">{summary}</p>\n");
            }
            let answer = call.answer.as_ref().map(|answer| options.clean(&answer.text)).unwrap_or_default();
            format!(
                "<details class=\"{class}\"><summary>{summary}</summary><pre>{}</pre><pre>{}</pre>\
                 </details>\n",
                escape_markup(&options.clean(&input(call))),
                escape_markup(&answer)
            )
        }
        Entry::Note { at, text } => format!(
            "<p class=\"note\">{} <time>{}</time></p>\n",
            escape_markup(&options.clean_line(text)),
            time(*at)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::conversation::entry::ToolAnswer;
    use serde_json::json;

    const ALL: PageOptions = PageOptions { redacts: true, with_tools: true, with_thinking: true };

    const HOSTILE: &str = "</pre><script>alert(1)</script><img src=x \
                           onerror=\"alert('2')\">\u{1b}[2J\u{1b}]0;t\u{7}\u{202e}\u{9b}1m\n```\n# not a \
                           heading\n<!-- ghp_0123456789abcdefghijABCDEFGHIJ012345 -->";

    fn hostile() -> Vec<Entry> {
        let said = |speaker| Entry::Said { speaker, at: None, text: HOSTILE.to_owned(), images: 1 };
        let call = |is_error| {
            Entry::Tool(Box::new(ToolCall {
                id: HOSTILE.to_owned(),
                at: None,
                name: HOSTILE.to_owned(),
                input: json!({"command": HOSTILE, HOSTILE: HOSTILE}),
                answer: Some(ToolAnswer { text: HOSTILE.to_owned(), is_error, images: 0 }),
            }))
        };
        let mut entries: Vec<Entry> =
            [Speaker::Person, Speaker::Claude, Speaker::Thinking, Speaker::Program].map(said).into();
        entries.extend([call(true), call(false), Entry::Note { at: None, text: HOSTILE.to_owned() }]);
        entries
    }

    #[test]
    fn nothing_of_a_transcript_is_markup_in_a_page() {
        let head = PageHead { title: HOSTILE.to_owned(), facts: vec![("directory", HOSTILE.to_owned())] };
        for with_tools in [true, false] {
            let options = PageOptions { with_tools, ..ALL };
            let mut page = html_head(&head, options);
            page.extend(hostile().iter().map(|entry| html_entry(entry, options)));
            page.push_str(html_end());
            for tag in ["<script", "<img", "<!--", "</pre><s"] {
                assert!(!page.contains(tag), "{tag}: {page}");
            }
            assert!(!page.contains("ghp_0123"), "secrets are replaced");
            assert!(
                page.chars().all(|c| !is_hidden(c) || matches!(c, '\n' | '\t')),
                "nothing hidden is left"
            );
            assert_eq!(page.matches("<pre>").count(), page.matches("</pre>").count());
            let open = PageOptions { redacts: false, ..options };
            assert!(html_entry(&hostile()[0], open).contains("ghp_0123"), "unless that is asked for");
        }
    }

    #[test]
    fn nothing_of_a_transcript_leaves_its_place_in_markdown() {
        let head = PageHead { title: HOSTILE.to_owned(), facts: vec![("directory", HOSTILE.to_owned())] };
        let mut page = markdown_head(&head, ALL);
        let mut before = None;
        for entry in hostile() {
            page.push_str(&markdown_entry(&entry, before, ALL));
            before = if let Entry::Said { speaker, .. } = entry { Some(speaker) } else { before };
        }
        let mut fence: Option<&str> = None;
        for line in page.lines() {
            let run = &line[..line.len() - line.trim_start_matches('`').len()];
            match fence {
                None if run.len() >= 3 => fence = Some(run),
                Some(open) if run == open && line == run => fence = None,
                None => {
                    assert!(
                        !line.contains("<script") || line.contains("\\<script") || line.starts_with("- `"),
                        "{line}"
                    );
                    assert!(!line.starts_with("# not"), "{line}");
                }
                _ => {}
            }
        }
        assert_eq!(fence, None, "every fence is closed");
        assert!(
            page.chars().all(|c| !is_hidden(c) || matches!(c, '\n' | '\t')) && !page.contains("ghp_0123")
        );
    }

    #[test]
    fn one_speaker_gets_one_heading() {
        let said =
            |text: &str| Entry::Said { speaker: Speaker::Claude, at: None, text: text.to_owned(), images: 0 };
        assert_eq!(markdown_entry(&said("one"), None, ALL), "\n## Claude\n\none\n");
        assert_eq!(markdown_entry(&said("two"), Some(Speaker::Claude), ALL), "\ntwo\n");
        assert_eq!(code("a`b"), "``a`b``");
    }

    #[test]
    fn no_fence_lets_html_through() {
        for (text, quieted) in [
            ("a <b>\n```\n<b>", "a &lt;b>\n```\n<b>\n```"),
            ("```\n<b>\n```\n<b>", "```\n<b>\n```\n&lt;b>"),
            ("`~`\n<b>", "`~`\n&lt;b>"),
            ("``` a`b\n<b>", "``` a`b\n&lt;b>"),
            ("> ```\n<b>", "> ```\n&lt;b>"),
            ("- ```\n<b>", "- ```\n&lt;b>"),
            ("~~~\n```\n~~~ \n<b>", "~~~\n```\n~~~\n&lt;b>"),
            // Markdown ends a block in a list at a line with less indentation.
            ("- x\n  ```sh\n  a <b\n    c\n<b>", "- x\n```sh\na <b\n  c\n<b>\n```"),
            ("- x\n  ```\n  <b>\n  ```\n<b>", "- x\n```\n<b>\n```\n&lt;b>"),
            (" ```\nx\n```\n<b>", "```\nx\n```\n&lt;b>"),
            ("```\nx\n   ````\n<b>", "```\nx\n```\n&lt;b>"),
            ("x\n\t```\n\t\ty", "x\n```\n\ty\n```"),
        ] {
            assert_eq!(escape_html(text), quieted, "{text:?}");
        }
    }
}
