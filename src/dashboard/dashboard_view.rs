//! Draws the model on a terminal of any size. Pure: a model and a frame in, cells out.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Position, Rect, Size};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};
use unicode_width::UnicodeWidthStr;

use super::dashboard_model::{DashAction, DashState, InputMode};
use super::preview::Preview;
use super::session_row::SessionRow;
use crate::core::ids::SessionName;
use crate::core::text::column_fit::{ColumnNeed, ColumnRank, fit_columns};
use crate::core::text::ellipsis::{begin_of, end_of_path, session_name_cols};
use crate::core::text::word_wrap::wrap_words;

/// How many rows a message gets.
const MESSAGE_ROWS: u16 = 3;
/// Below this number of rows the preview has a line above it instead of a frame.
const LOW: u16 = 16;

/// The least columns of a directory and of a topic.
const SUBJECT_LEAST: usize = 12;
/// The columns of these two that take precedence over numbers.
const ENOUGH: usize = 20;
/// Enough columns of a state with its reason, and the least.
const STATE_ENOUGH: usize = 32;
const STATE_LEAST: usize = 20;
/// While a dialog can be answered, the rows that it gets before the list has more than [`LIST_LEAST`].
const DIALOG_ROWS: u16 = 16;
const LIST_LEAST: u16 = 3;
/// Below this number of columns only the state is shown.
const STATE_CUT: usize = 14;
/// From this width on, the state has its reason.
const WITH_REASON: u16 = 70;
/// From this width on, the bar is longer.
const WIDE: u16 = 110;

/// Keys, what they do, and a shorter form for a narrow line.
const KEYS: [(&str, &str, &str); 11] = [
    ("up, down, j, k", "select a session; so do click and wheel", "select; click, wheel"),
    ("PgUp, PgDn, g, G", "ten up, ten down; first, last session", "ten; first, last"),
    ("Tab, 1 to 9", "next that waits for you; answer its dialog", "next blocked; answer it"),
    ("Enter", "attach this terminal to it", "attach"),
    ("r, s", "hand over to a fresh one, stop it (ask)", "hand over, stop (ask)"),
    ("i or :", "send a prompt to its agent", "send a prompt"),
    ("n", "start a session in a directory", "new session"),
    ("w, e", "what it did and why; include ended ones", "its log; ended ones"),
    ("/", "filter; Escape shows all", "filter"),
    ("?", "this page", "this page"),
    ("q, Ctrl+L", "quit, the sessions keep running; redraw", "quit; redraw"),
];

pub fn draw(model: &DashState, frame: &mut Frame<'_>) {
    let area = frame.area();
    let ([head, body, foot], list) = parts(model, area);
    frame.render_widget(header(model, head.width, usize::from(list - 1)), head);
    if model.count() == 0 {
        let text = if model.is_listed {
            vec![
                "No session is running.",
                "",
                "Run `hopty` in a project to start one,",
                "or `hopty run -- PROGRAM`.",
            ]
        } else {
            vec![]
        };
        let lines: Vec<Line<'_>> = text.into_iter().map(Line::raw).collect();
        frame.render_widget(Paragraph::new(lines).alignment(Alignment::Center), middle(body, 40, 4));
    } else {
        let [list, preview] = Layout::vertical([Constraint::Length(list), Constraint::Min(0)]).areas(body);
        draw_list(model, frame, list);
        draw_preview(model, frame, preview);
    }
    draw_foot(model, frame, foot);
    if let InputMode::Log(name, lines, first) = &model.mode {
        draw_log(name, lines, *first, frame, body);
    }
    if model.mode == InputMode::Help {
        draw_help(frame, area);
    }
}

/// The areas of header, body and footer, and how many rows of the body the list has.
fn parts(model: &DashState, area: Rect) -> ([Rect; 3], u16) {
    let most = MESSAGE_ROWS.min(area.height / 3).max(1);
    let foot = message(model).map_or(1, |(text, _)| message_rows(&text, area.width, most).len());
    let foot = Constraint::Length(u16::try_from(foot).unwrap_or(1));
    let parts: [Rect; 3] = Layout::vertical([Constraint::Length(1), Constraint::Min(0), foot]).areas(area);
    // The header of the list, and at most half of the available rows.
    let wanted = u16::try_from(model.shown().len()).unwrap_or(u16::MAX).saturating_add(1).max(2);
    let list = wanted.min((parts[1].height / 2).max(2));
    let is_tight = model.answers().is_some() && parts[1].height.saturating_sub(list) < DIALOG_ROWS;
    (parts, if is_tight { list.min(LIST_LEAST) } else { list })
}

/// Which row of the list is in this row of the terminal, both counted from 0.
pub fn row_at(model: &DashState, size: Size, row: u16) -> Option<usize> {
    let ([_, body, _], list) = parts(model, Rect::new(0, 0, size.width, size.height));
    let at = row.checked_sub(body.y + 1).filter(|at| *at + 1 < list)?;
    let at = first_shown(model, usize::from(list - 1)) + usize::from(at);
    (at < model.shown().len()).then_some(at)
}

/// The first row of the list that is shown: the selected one is in the middle, as far as the ends of the
/// list allow.
fn first_shown(model: &DashState, height: usize) -> usize {
    let chosen = model.chosen().map_or(0, |(at, _)| at);
    chosen.saturating_sub(height / 2).min(model.shown().len().saturating_sub(height))
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// `room`: the number of rows of the list.
fn header(model: &DashState, width: u16, room: usize) -> Line<'static> {
    let (count, shown) = (model.count(), model.shown().len());
    let what = if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") };
    let mut text = format!(" hopty  {what}");
    if !model.filter.is_empty() {
        text.push_str(&format!(", {shown} with \"{}\"", model.filter));
    }
    let blocked = model.blocked();
    if blocked > 0 {
        text.push_str(&format!(", {blocked} blocked"));
    }
    if let (Some((at, _)), true) = (model.chosen(), shown > room) {
        text.push_str(&format!("  {}/{shown}", at + 1));
    }
    Line::styled(fit(&text, width), bold().add_modifier(Modifier::REVERSED))
}

struct ListColumn {
    heading: &'static str,
    need: ColumnNeed,
    /// The content of a row's cell, for this many columns.
    cell: fn(&SessionRow, u16) -> Vec<Span<'static>>,
}

/// The columns that fit, with their widths.
fn columns(model: &DashState, width: u16) -> Vec<(ListColumn, u16)> {
    use ColumnRank::{Major, Minor, Stays};
    let shown = model.shown();
    let widest = |text: fn(&SessionRow) -> &str, heading: &str, most: usize| {
        let widths = shown.iter().map(|row| text(row).width());
        widths.max().unwrap_or(0).max(heading.len()).min(most)
    };
    let name = widest(|row| row.name.as_str(), "SESSION", session_name_cols(usize::from(width)));
    // On a narrow terminal the line above the preview shows what the selected session waits for.
    let least = if width < WITH_REASON { widest(|row| &row.state, "STATE", 12) } else { STATE_LEAST };
    let state = widest(|row| &row.state_words, "STATE", 60);
    let since = widest(|row| &row.since, "FOR", 6);
    let age = widest(|row| &row.age, "AGE", 6);
    let claude_model = widest(|row| &row.model, "MODEL", 16);
    let branch = widest(|row| &row.branch, "BRANCH", 24);
    let tasks = widest(|row| &row.tasks, "TASKS", 9);
    let bar = if width < WIDE { 9 } else { 14 };
    let labels = widest(|row| &row.labels, "LABELS", 16);
    let text = |most, rank| ColumnNeed::text(most, ENOUGH, SUBJECT_LEAST, rank);
    let dir = widest(|row| &row.dir, "DIRECTORY", 40);
    let about = widest(|row| &row.about, "ABOUT", usize::MAX);
    let column = |heading, need, cell| ListColumn { heading, need, cell };
    let mut all = vec![
        column("SESSION", ColumnNeed::fixed(name, Stays), |row, _| raw(row.name.as_str())),
        column("STATE", ColumnNeed::text(state, STATE_ENOUGH, least, Stays), state_cell),
        column("FOR", ColumnNeed::fixed(since, Major(1)), |row, _| raw(&row.since)),
        column("AGE", ColumnNeed::fixed(age, Minor(3)), |row, _| raw(&row.age)),
        column("CONTEXT", ColumnNeed::text(bar, 9, 7, Major(2)), meter),
        column("MODEL", ColumnNeed::fixed(claude_model, Minor(1)), |row, _| raw(&row.model)),
        column("BRANCH", ColumnNeed::fixed(branch, Minor(2)), |row, _| raw(&row.branch)),
        column("TASKS", ColumnNeed::fixed(tasks, Major(6)), |row, _| raw(&row.tasks)),
        column("LABELS", ColumnNeed::fixed(labels, Major(5)), |row, _| raw(&row.labels)),
        column("RESTARTS", ColumnNeed::fixed(8, Minor(5)), |row, _| raw(&row.restarts.to_string())),
        column("CLIENTS", ColumnNeed::fixed(7, Minor(4)), |row, _| raw(&row.clients.to_string())),
        column("DIRECTORY", text(dir, Major(3)), |row, width| {
            raw(&end_of_path(&row.dir, usize::from(width)))
        }),
        column("ABOUT", text(about, Major(4)), |row, _| raw(&row.about)),
    ];
    for column in &mut all {
        let tells = |row: &&SessionRow| {
            let text: String = (column.cell)(row, u16::MAX).iter().map(|span| span.content.trim()).collect();
            !matches!(text.as_str(), "" | "-" | "0")
        };
        column.need.is_blank = !shown.iter().any(tells);
    }
    // A column that is empty for all sessions needs no heading.
    let needs_cells = |heading: &str| matches!(heading, "LABELS" | "ABOUT" | "MODEL" | "BRANCH" | "TASKS");
    all.retain(|column| !column.need.is_blank || !needs_cells(column.heading));
    let needs: Vec<ColumnNeed> = all.iter().map(|column| column.need).collect();
    // The selection mark is in front of the columns.
    let mut widths = fit_columns(&needs, usize::from(width.saturating_sub(1)));
    give_back(&shown, &all, &mut widths);
    let fitted = all.into_iter().zip(widths);
    let shown = fitted.filter_map(|(column, width)| Some((column, width?)));
    shown.map(|(column, width)| (column, u16::try_from(width).unwrap_or(u16::MAX))).collect()
}

fn raw(text: &str) -> Vec<Span<'static>> {
    vec![Span::raw(text.to_owned())]
}

/// Gives the columns that directories do not use to the topics.
fn give_back(shown: &[&SessionRow], all: &[ListColumn], widths: &mut [Option<usize>]) {
    let place = |heading: &str| all.iter().position(|column| column.heading == heading);
    if let (Some(dir), Some(about)) = (place("DIRECTORY"), place("ABOUT"))
        && let (Some(of_dir), Some(of_about)) = (widths[dir], widths[about])
    {
        let cut = shown.iter().map(|row| end_of_path(&row.dir, of_dir).width()).max().unwrap_or(0);
        let cut = cut.max("DIRECTORY".len()).min(of_dir);
        let most = shown.iter().map(|row| row.about.width()).max().unwrap_or(0).max("ABOUT".len());
        widths[dir] = Some(cut);
        widths[about] = Some((of_about + of_dir - cut).min(most));
    }
}

/// The state, with its reason if there is space.
fn state_cell(row: &SessionRow, width: u16) -> Vec<Span<'static>> {
    let width = usize::from(width);
    let whole = row.state_words.width() <= width || width >= STATE_CUT;
    let text = if whole { begin_of(&row.state_words, width) } else { row.state.clone() };
    vec![Span::styled(text, state_style(&row.state))]
}

fn state_style(state: &str) -> Style {
    match state {
        "busy" => Style::new().fg(Color::Yellow),
        "blocked" => bold().fg(Color::Magenta),
        "idle" => Style::new().fg(Color::Green),
        "unresponsive" => bold().fg(Color::Red),
        _ => Style::new(),
    }
}

/// The context usage in percent, with a bar if there is space.
fn meter(row: &SessionRow, width: u16) -> Vec<Span<'static>> {
    let cells = usize::from(width).saturating_sub(4);
    let cells = if cells < 5 { 0 } else { cells };
    let Some(percent) = row.percent else {
        return vec![Span::styled(format!("{:>1$}", "-", if cells == 0 { 4 } else { 1 }), dim())];
    };
    let color = match row.level.unwrap_or_default().color() {
        31 => Color::Red,
        33 => Color::Yellow,
        _ => Color::Green,
    };
    let full = (usize::from(percent) * cells).div_ceil(100).min(cells);
    let mut spans = Vec::new();
    if cells > 0 {
        // In the selected row, which is in reverse video, the full part would look like the empty one.
        let bar = |text: String, style: Style| Span::styled(text, style.remove_modifier(Modifier::REVERSED));
        spans.push(bar("█".repeat(full), Style::new().fg(color)));
        spans.push(bar("░".repeat(cells - full), dim()));
    }
    spans.push(Span::styled(
        format!("{percent:>3}%"),
        if cells == 0 { Style::new().fg(color) } else { Style::new() },
    ));
    spans
}

fn draw_list(model: &DashState, frame: &mut Frame<'_>, area: Rect) {
    let columns = columns(model, area.width);
    let heading =
        columns.iter().map(|(column, width)| Span::raw(format!("{}  ", pad(column.heading, *width))));
    let heading: Vec<Span<'_>> = std::iter::once(Span::raw(" ")).chain(heading).collect();
    let shown = model.shown();
    let height = usize::from(area.height.saturating_sub(1));
    let chosen = model.chosen().map_or(0, |(at, _)| at);
    let first = first_shown(model, height);
    let mut lines = vec![Line::from(heading).style(dim())];
    for (at, row) in shown.iter().enumerate().skip(first).take(height) {
        let mut spans = vec![Span::raw(if at == chosen { "›" } else { " " })];
        for (column, width) in &columns {
            spans.extend(cut((column.cell)(row, *width), *width));
            spans.push(Span::raw("  "));
        }
        let used: usize = spans.iter().map(Span::width).sum();
        spans.push(Span::raw(" ".repeat(usize::from(area.width).saturating_sub(used))));
        let style = if row.state == super::dashboard_model::ENDED && at != chosen {
            dim()
        } else if at == chosen {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            Style::new()
        };
        lines.push(Line::from(spans).style(style));
    }
    if shown.is_empty() {
        lines.push(Line::styled(" no session matches; Escape shows all", dim()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_preview(model: &DashState, frame: &mut Frame<'_>, area: Rect) {
    let Some((_, row)) = model.chosen() else { return };
    let title = match &model.preview {
        // Claude's title before the first answer is its own name.
        Preview::Shown { screen, .. }
            if !screen.title().is_empty()
                && (row.about.is_empty() || !screen.title().ends_with("Claude Code")) =>
        {
            format!(" {}: {} ", row.name, super::session_row::clean(screen.title()))
        }
        _ if !row.about.is_empty() => format!(" {}: {} ", row.name, row.about),
        _ => format!(" {}: {} ", row.name, row.command),
    };
    let borders = if area.height < LOW { Borders::TOP } else { Borders::ALL };
    let block = Block::new()
        .borders(borders)
        .border_style(dim())
        .title(Span::styled(fit(&title, area.width.saturating_sub(2)), bold()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [last, picture] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
    frame.render_widget(Line::styled(fit(&row.why, last.width), dim()), last);
    let lines = match &model.preview {
        Preview::Missing(why) => {
            vec![Line::styled(format!("no preview: {}", super::session_row::clean(why)), dim())]
        }
        Preview::Shown { of, degraded: true, .. } if *of == row.name => {
            vec![Line::styled("no preview: the session's screen model has failed", dim())]
        }
        Preview::Shown { of, .. } if *of == row.name => model.preview.lines(picture.height),
        _ => Vec::new(),
    };
    frame.render_widget(Paragraph::new(lines), picture);
}

/// The message or the question in the footer.
fn message(model: &DashState) -> Option<(String, Style)> {
    let red = bold().fg(Color::Red);
    match &model.mode {
        InputMode::Confirm(action) => {
            let what = match action {
                DashAction::Stop(name) => format!("Stop {name} for good?"),
                DashAction::Restart(name) if model.is_agent(name) => {
                    format!("Hand {name} over to a fresh conversation?")
                }
                DashAction::Restart(name) => format!("Restart {name}? It is not an agent."),
                _ => "Sure?".to_owned(),
            };
            Some((format!("{what} y / n"), red))
        }
        InputMode::Refused(why) => Some((format!("{why} (Enter)"), red)),
        InputMode::List if !model.notice.is_empty() => Some((model.notice.clone(), bold())),
        _ => None,
    }
}

/// A message on as many rows as it needs, `most` at most.
fn message_rows(text: &str, width: u16, most: u16) -> Vec<String> {
    let wrapped = wrap_words(text, 0, usize::from(width.max(1)));
    let mut rows: Vec<String> = wrapped.lines().map(str::to_owned).collect();
    let most = usize::from(most.max(1));
    if rows.len() > most {
        let last = rows.split_off(most - 1).join(" ");
        rows.push(last);
    }
    rows.iter().map(|row| fit(row, width)).collect()
}

fn draw_foot(model: &DashState, frame: &mut Frame<'_>, area: Rect) {
    if let Some((text, style)) = message(model) {
        let rows =
            message_rows(&text, area.width, area.height).into_iter().map(|row| Line::styled(row, style));
        return frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), area);
    }
    let line = match &model.mode {
        InputMode::Directory(dir) => {
            return draw_input("new session in: ", dir, "Enter starts, Escape cancels", frame, area);
        }
        InputMode::Filter => {
            return draw_input("/", &model.filter, "Enter keeps the filter, Escape shows all", frame, area);
        }
        InputMode::Line { to, text } => {
            return draw_input(&format!("to {to}: "), text, "Enter sends, Escape cancels", frame, area);
        }
        InputMode::Log(..) => Line::styled("up, down scroll   any other key closes", dim()),
        _ => Line::styled(keys_line(model, area.width), dim()),
    };
    frame.render_widget(line, area);
}

/// A line that is being typed, with the cursor at its end.
fn draw_input(head: &str, text: &str, hint: &str, frame: &mut Frame<'_>, area: Rect) {
    // The end of the text stays visible.
    let room = usize::from(area.width).saturating_sub(head.width() + 1);
    let mut seen = text;
    while seen.width() > room {
        seen = seen.char_indices().nth(1).map_or("", |(at, _)| &seen[at..]);
    }
    let col = u16::try_from(head.width() + seen.width()).unwrap_or(u16::MAX);
    let rest = usize::from(area.width).saturating_sub(usize::from(col) + 3);
    let hint = if hint.width() <= rest { format!("   {hint}") } else { String::new() };
    let line = Line::from(vec![
        Span::styled(head.to_owned(), bold()),
        Span::raw(seen.to_owned()),
        Span::styled(hint, dim()),
    ]);
    frame.render_widget(line, area);
    frame.set_cursor_position(Position::new(area.x + col.min(area.width.saturating_sub(1)), area.y));
}

/// The keys that fit into this width.
fn keys_line(model: &DashState, width: u16) -> String {
    let answers = model
        .answers()
        .map(|count| if count == 1 { "1 answer".to_owned() } else { format!("1-{count} answer") });
    let mut words = vec![
        "q quit", "? keys", "Enter attach", "/ filter", "r restart", "s stop", "i send", "n new", "w log",
        "e ended",
    ];
    if model.blocked() > 0 {
        words.insert(1, "Tab next blocked");
        if let Some(answers) = &answers {
            words.insert(1, answers);
        }
    }
    let mut text = String::new();
    for word in words {
        let gap = if text.is_empty() { "" } else { "   " };
        if text.width() + gap.len() + word.len() < usize::from(width) {
            text.push_str(gap);
            text.push_str(word);
        }
    }
    text
}

/// The indentation of a log line's continuation, in columns.
const LOG_INDENT: usize = 2;

/// A session's log, newest first.
fn draw_log(name: &SessionName, lines: &[String], first: usize, frame: &mut Frame<'_>, area: Rect) {
    let block = Block::bordered().title(Span::styled(format!(" {name}: newest first "), bold()));
    let cols = usize::from(area.width.saturating_sub(2)).max(1);
    let broken: Vec<String> =
        lines.iter().skip(first).map(|line| wrap_words(line, LOG_INDENT, cols)).collect();
    let text: Vec<Line<'_>> = broken.iter().flat_map(|line| line.lines().map(Line::raw)).collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text).block(block), area);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width >= 60;
    let words = |(key, what, short): &(&'static str, &'static str, &'static str)| {
        Line::from(vec![
            Span::styled(format!("{key:<17}"), bold()),
            Span::raw(if wide { *what } else { *short }),
        ])
    };
    // If not all rows fit, drop the key that the reader has just used.
    let keys = KEYS.iter().filter(|(key, ..)| usize::from(area.height) >= KEYS.len() || *key != "?");
    let lines: Vec<Line<'_>> = keys.map(words).collect();
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    // No frame if it would take rows that the keys need.
    let framed = wide && area.height > height + 1;
    let area =
        middle(area, if wide { 62 } else { area.width }, if framed { height + 2 } else { area.height });
    let block =
        if framed { Block::bordered().title(" keys (any key closes this page) ") } else { Block::new() };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// An area of this size in the middle of another, cut to it.
fn middle(of: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(of.width), height.min(of.height));
    Rect { x: of.x + (of.width - width) / 2, y: of.y + (of.height - height) / 2, width, height }
}

/// A text cut to `width` columns with an ellipsis, or padded with blanks.
fn pad(text: &str, width: u16) -> String {
    let text = fit(text, width);
    let missing = usize::from(width).saturating_sub(text.width());
    text + &" ".repeat(missing)
}

fn fit(text: &str, width: u16) -> String {
    begin_of(text, usize::from(width))
}

/// Spans cut and padded to `width` columns in total.
fn cut(spans: Vec<Span<'static>>, width: u16) -> Vec<Span<'static>> {
    let mut left = width;
    let mut out = Vec::new();
    for span in spans {
        let text = fit(&span.content, left);
        left = left.saturating_sub(u16::try_from(text.width()).unwrap_or(u16::MAX));
        out.push(Span::styled(text, span.style));
    }
    out.push(Span::raw(" ".repeat(usize::from(left))));
    out
}
