//! Draws rows of text: the conversation, the prompt box, the dialogs.
//!
//! Symbols and words are those of the real program where hopty or a test looks at them: the box symbol with
//! its no-break space between two rules, the footer, the permission and trust questions (screens of
//! 2.1.329).

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::agent_draft::AgentDraft;
use super::agent_screen::Block;
use super::agent_shared::{ConversationItem, PermissionQuestion};
use super::options::{AgentPermissionMode, VERSION};

const DIM: &str = "\x1b[38;5;246m";
const PLAIN: &str = "\x1b[39m";

/// The most rows of a tool's result.
const MAX_RESULT_ROWS: usize = 5;

/// The options of the trust question; the first is selected at the start.
pub(super) const TRUST: [&str; 2] = ["No, exit", "Yes, I trust this folder"];

/// Marks the cursor while rows are cut; a noncharacter, which no text contains.
const CURSOR: char = '\u{fdd0}';

/// Cuts a text into rows of `cols` columns, between words if possible; the first row starts with `first`,
/// the others with `rest`. A space at which a row ends stays on it, or is dropped if the row is full
/// (measured on the prompt box).
pub(super) fn wrap(text: &str, first: &str, rest: &str, cols: usize) -> Vec<String> {
    let room = cols.saturating_sub(rest.width()).max(1);
    let mut rows = Vec::new();
    for line in text.split('\n') {
        // Control characters of tools and models must not reach the terminal.
        let line: String =
            line.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect();
        for row in wrap_line(&line, room) {
            rows.push(format!("{}{row}", if rows.is_empty() { first } else { rest }));
        }
    }
    rows
}

fn wrap_line(line: &str, room: usize) -> Vec<String> {
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    let mut next = |row: &mut String, used: &mut usize| {
        rows.push(std::mem::take(row));
        *used = 0;
    };
    for (n, word) in line.split(' ').enumerate() {
        if n > 0 {
            if used >= room {
                next(&mut row, &mut used);
            } else {
                row.push(' ');
                used += 1;
            }
        }
        let width: usize = word.chars().map(columns).sum();
        if width <= room && used > 0 && used + width > room {
            next(&mut row, &mut used);
        }
        // A word that is longer than a row starts at its position and is cut.
        for c in word.chars() {
            if used + columns(c) > room && used > 0 {
                next(&mut row, &mut used);
            }
            row.push(c);
            used += columns(c);
        }
    }
    next(&mut row, &mut used);
    rows
}

fn columns(c: char) -> usize {
    if c == CURSOR { 0 } else { c.width().unwrap_or(0) }
}

/// The rows of an item of the conversation; all but results have an empty row above.
pub(super) fn shown(shown: &ConversationItem, cols: usize) -> Vec<String> {
    let (text, first, rest) = match shown {
        ConversationItem::Prompt(text) => (text, "❯ ", "  "),
        ConversationItem::Text(text) | ConversationItem::Tool(text) => (text, "● ", "  "),
        ConversationItem::Notice(text) => (text, "", "  "),
        ConversationItem::Result(text) => {
            let mut rows = wrap(text, "  ⎿  ", "     ", cols);
            if rows.len() > MAX_RESULT_ROWS {
                let more = rows.len() - MAX_RESULT_ROWS;
                rows.truncate(MAX_RESULT_ROWS);
                rows.push(format!("     … +{more} lines (ctrl+o to expand)"));
            }
            return rows;
        }
    };
    let mut rows = vec![String::new()];
    rows.extend(wrap(text, first, rest, cols));
    rows
}

/// The welcome message.
pub(super) fn welcome(model: &str, cwd: &str, cols: usize) -> Vec<String> {
    let lines = format!("Claude Code v{VERSION} (stand-in)\n{model} · API Usage Billing\n{cwd}");
    wrap(&lines, "   ", "   ", cols)
}

/// What is drawn below the conversation.
pub(super) struct BottomView<'a> {
    pub(super) cols: usize,
    pub(super) draft: &'a AgentDraft,
    /// The permission mode, named in the footer.
    pub(super) mode: AgentPermissionMode,
    /// The seconds of the running turn, and the number of the animation's frame.
    pub(super) busy: Option<(u64, usize)>,
    /// Queued prompts.
    pub(super) queued: &'a [String],
    /// A text in the footer instead of the mode.
    pub(super) hint: Option<&'a str>,
}

/// The spinner, the queue, the prompt box and the footer.
pub(super) fn bottom(view: &BottomView<'_>) -> Block {
    let mut rows = vec![String::new()];
    for prompt in view.queued {
        rows.extend(wrap(prompt, "❯ ", "  ", view.cols));
        rows.push(fit("  ⎿  Queued · ctrl+x ctrl+s to send now", view.cols));
        rows.push(String::new());
    }
    if let Some((seconds, frame)) = view.busy {
        let sign = ['·', '✢', '✳', '✶', '✻', '✽'][frame % 6];
        rows.push(fit(&format!("{sign} Working… ({seconds}s)"), view.cols));
        rows.push(String::new());
    }
    let rule = "─".repeat(view.cols);
    rows.push(rule.clone());
    let cursor = rows.len() + input(view, &mut rows);
    rows.push(rule);
    rows.push(fit(&footer(view), view.cols));
    Block { rows, cursor }
}

/// Draws the box; returns the row of the cursor in it.
fn input(view: &BottomView<'_>, rows: &mut Vec<String>) -> usize {
    if view.draft.is_empty() && !view.queued.is_empty() {
        rows.push(fit("❯\u{a0}\x1b[2mPress up to edit queued messages\x1b[22m", view.cols));
        return 0;
    }
    let (before, after) = view.draft.shown();
    // At the end of a line the cursor is on a space of its own.
    let space = if after.is_empty() || after.starts_with('\n') { " " } else { "" };
    let marked = format!("{before}{CURSOR}{space}{after}");
    // Two columns at the right stay empty (measured).
    let mut all = wrap(&marked, "❯\u{a0}", "  ", view.cols.saturating_sub(2));
    let row = all.iter().position(|line| line.contains(CURSOR)).unwrap_or(0);
    if let Some((before, after)) = all[row].split_once(CURSOR) {
        let mut after = after.chars();
        let under = after.next().unwrap_or(' ');
        all[row] = format!("{before}\x1b[7m{under}\x1b[27m{}", after.as_str());
    }
    rows.extend(all);
    row
}

fn footer(view: &BottomView<'_>) -> String {
    if let Some(hint) = view.hint {
        return format!("  {DIM}{hint}{PLAIN}");
    }
    if view.draft.has_fold() {
        return format!("  {DIM}paste again to expand{PLAIN}");
    }
    let interrupt = if view.busy.is_some() { " · esc to interrupt" } else { "" };
    let mode = match view.mode {
        AgentPermissionMode::Default if view.busy.is_some() => "⏸ manual mode on",
        AgentPermissionMode::Default => "⏸ manual mode on · ? for shortcuts",
        AgentPermissionMode::AcceptEdits => "⏵⏵ accept edits on (shift+tab to cycle)",
        AgentPermissionMode::Plan => "⏸ plan mode on (shift+tab to cycle)",
        AgentPermissionMode::Bypass => "⏵⏵ bypass permissions on (shift+tab to cycle)",
    };
    format!("  {DIM}{mode}{interrupt}{PLAIN}")
}

/// The question whether to trust this directory.
pub(super) fn trust(cwd: &str, chosen: usize, cols: usize) -> Block {
    let mut rows = vec![String::new(), "─".repeat(cols), " Accessing workspace:".into(), String::new()];
    rows.extend(wrap(cwd, " ", " ", cols));
    rows.push(String::new());
    let check = "Quick safety check: Is this a project you created or one you trust? (Like your own code, a \
                 well-known open source project, or work from your team). If not, take a moment to review \
                 what's in this folder first.";
    rows.extend(wrap(check, " ", " ", cols));
    for row in
        ["", " Claude Code'll be able to read, edit, and execute files here.", "", " Security guide", ""]
    {
        rows.push(fit(row, cols));
    }
    let cursor = rows.len() + chosen;
    rows.extend(options(&TRUST.map(str::to_owned), chosen, cols));
    rows.push(String::new());
    rows.push(fit(" Enter to confirm · Esc to cancel", cols));
    Block { rows, cursor }
}

/// The question whether a tool may run, in place of the box.
pub(super) fn permission(question: &PermissionQuestion, cwd: &str, chosen: usize, cols: usize) -> Block {
    let text = |key: &str| question.input[key].as_str().unwrap_or("").to_owned();
    let path = text("file_path");
    let name = path.rsplit('/').next().unwrap_or("").to_owned();
    let (title, detail, body, ask, always) = match question.tool.as_str() {
        "Write" => (
            "Create file",
            name.clone(),
            text("content"),
            format!("Do you want to create {name}?"),
            "Yes, and switch to accept edits (auto-approve file edits and common file commands) for this \
             session (shift+tab)"
                .to_owned(),
        ),
        "Edit" => (
            "Edit file",
            name.clone(),
            text("new_string"),
            format!("Do you want to make this edit to {name}?"),
            "Yes, and switch to accept edits (auto-approve file edits and common file commands) for this \
             session (shift+tab)"
                .to_owned(),
        ),
        _ => (
            "Bash command",
            text("description"),
            text("command"),
            "Do you want to proceed?".to_owned(),
            format!("Yes, and always allow access to {cwd} from this project"),
        ),
    };
    let mut rows = vec![String::new(), "─".repeat(cols), fit(&format!(" {title}"), cols)];
    rows.extend(wrap(&detail, " ", " ", cols));
    let dashes = "╌".repeat(cols);
    rows.push(dashes.clone());
    rows.extend(wrap(&body, " ", " ", cols));
    rows.push(dashes);
    rows.extend(wrap(&ask, " ", " ", cols));
    let cursor = rows.len() + chosen;
    let numbered: Vec<String> = ["Yes".to_owned(), always, "No".to_owned()]
        .iter()
        .enumerate()
        .map(|(n, option)| format!("{}. {option}", n + 1))
        .collect();
    rows.extend(options(&numbered, chosen, cols));
    rows.push(String::new());
    rows.push(fit(" Esc to cancel · Tab to amend", cols));
    Block { rows, cursor }
}

/// A dialog's symbol is followed by a plain space: only the box has the no-break space.
fn options(options: &[String], chosen: usize, cols: usize) -> Vec<String> {
    let sign = |n| if n == chosen { "❯" } else { " " };
    options.iter().enumerate().map(|(n, option)| fit(&format!(" {} {option}", sign(n)), cols)).collect()
}

/// Cuts a text to `cols` columns, not counting escape sequences.
fn fit(text: &str, cols: usize) -> String {
    let (mut width, mut out, mut inside) = (0, String::new(), false);
    for c in text.chars() {
        if c == '\x1b' || inside {
            inside = c == '\x1b' || c == '[' || !c.is_ascii_alphabetic();
            out.push(c);
            continue;
        }
        width += c.width().unwrap_or(0);
        if width <= cols {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(draft: &AgentDraft) -> BottomView<'_> {
        BottomView { cols: 20, draft, mode: AgentPermissionMode::Bypass, busy: None, queued: &[], hint: None }
    }

    #[test]
    fn the_box_is_between_two_rules_with_its_own_symbol() {
        let mut draft = AgentDraft::default();
        let block = bottom(&view(&draft));
        let rule = "─".repeat(20);
        assert_eq!(block.rows[1..4], [rule.as_str(), "❯\u{a0}\x1b[7m \x1b[27m", &rule]);
        assert_eq!(block.cursor, 2);
        draft.insert("first\nsecond line which is long");
        let block = bottom(&view(&draft));
        assert_eq!(block.rows[2..5], ["❯\u{a0}first", "  second line ", "  which is long\x1b[7m \x1b[27m"]);
        draft.home();
        let block = bottom(&view(&draft));
        assert_eq!((block.rows[3].as_str(), block.cursor), ("  \x1b[7ms\x1b[27mecond line ", 3));
    }

    #[test]
    fn rows_are_never_wider_than_the_screen_and_carry_no_control_bytes() {
        let text = "\x1b]0;evil\x07日本語日本語日本語\tx";
        for cols in 1..12 {
            for row in wrap(text, "● ", "  ", cols) {
                assert!(!row.contains(['\x1b', '\x07', '\t']), "{row:?}");
                assert!(row.width() <= cols.max(4), "{cols}: {row:?}");
            }
        }
        assert_eq!(fit("  \x1b[38;5;246mabcdef\x1b[39m", 4), "  \x1b[38;5;246mab\x1b[39m");
    }

    #[test]
    fn dialogs_have_their_words_and_a_plain_space_after_the_sign() {
        let (reply, _answers) = std::sync::mpsc::channel();
        let input = serde_json::json!({"command": "touch q", "description": "x"});
        let question = PermissionQuestion { tool: "Bash".into(), input, reply };
        let rows = permission(&question, "/p", 0, 80).rows;
        assert!(
            rows.contains(&" Do you want to proceed?".to_owned()) && rows.contains(&" ❯ 1. Yes".to_owned())
        );
        let rows = trust("/p", 0, 80).rows;
        assert!(
            rows.contains(&" ❯ No, exit".to_owned())
                && rows.contains(&"   Yes, I trust this folder".to_owned())
        );
    }

    #[test]
    fn rows_break_between_words_and_within_long_words() {
        let text = format!("one two three {}", "w".repeat(20));
        assert_eq!(
            wrap(&text, "- ", "  ", 10),
            ["- one two ", "  three ww", "  wwwwwwww", "  wwwwwwww", "  ww"]
        );
    }

    #[test]
    fn long_results_are_cut() {
        let rows = shown(&ConversationItem::Result("1\n2\n3\n4\n5\n6\n7".into()), 80);
        assert_eq!(
            (rows.len(), rows[0].as_str(), rows[5].as_str()),
            (6, "  ⎿  1", "     … +2 lines (ctrl+o to expand)")
        );
    }
}
