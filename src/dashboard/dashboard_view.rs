//! What the model looks like on a terminal of any size. Pure: a model and a frame in, cells out.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Position, Rect, Size};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use super::dashboard_model::{DashAction, DashState, InputMode};
use super::preview::Preview;
use super::row::SessionRow;
use crate::core::ellipsis::{begin_of, end_of_path, session_name_cols};

/// Rows below which the preview has a line above it instead of a frame around it.
const LOW: u16 = 16;

/// Columns that a directory has at least, and what a session is about.
const LEAST: u16 = 12;
/// Columns of a terminal from which on a state has its reason and since when it lasts.
const WITH_REASON: u16 = 70;
/// Columns from which on there is room for the numbers of restarts and clients.
const WIDE: u16 = 110;

/// How full the context is, with a bar or without.
const FULL: Column = ("FULL", 5, |row, _| meter(row, 0));
const BAR_OF_5: Column = ("CONTEXT", 9, |row, _| meter(row, 5));
const BAR_OF_10: Column = ("CONTEXT", 14, |row, _| meter(row, 10));

/// Keys, what they do, and the same in a few words for where a line is short.
const KEYS: [(&str, &str, &str); 11] = [
    ("up, down, j, k", "select a session; so do click and wheel", "select; click, wheel"),
    ("PgUp, PgDn, g, G", "ten up, ten down; first, last session", "ten; first, last"),
    ("Tab, 1 to 9", "next that waits for you; answer its dialog", "next blocked; answer it"),
    ("Enter", "attach this terminal to it", "attach"),
    ("r, s", "hand over to a fresh one, stop it (both ask)", "hand over, stop (ask)"),
    ("i or :", "send a prompt to its agent", "send a prompt"),
    ("n", "start a session in a directory", "new session"),
    ("w, e", "what it did and why; include ended ones", "its log; ended ones"),
    ("/", "filter; Escape shows all", "filter"),
    ("?", "this page", "this page"),
    ("q, Ctrl+L", "quit, the sessions keep running; redraw", "quit; redraw"),
];

/// Draws the model.
pub fn draw(model: &DashState, frame: &mut Frame<'_>) {
    let area = frame.area();
    let ([head, body, foot], list) = parts(model, area);
    frame.render_widget(header(model, head.width, usize::from(list - 1)), head);
    if model.count() == 0 {
        let text = if model.looked {
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
    if let InputMode::Log(lines, first) = &model.mode {
        draw_log(lines, *first, frame, body);
    }
    if model.mode == InputMode::Help {
        draw_help(frame, area);
    }
}

/// Heading, body and foot, and how many rows of the body the list has.
fn parts(model: &DashState, area: Rect) -> ([Rect; 3], u16) {
    let parts: [Rect; 3] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    // The heading, and never more than half of what is there.
    let wanted = u16::try_from(model.shown().len()).unwrap_or(u16::MAX).saturating_add(1).max(2);
    (parts, wanted.min((parts[1].height / 2).max(2)))
}

/// Which row of the list stands in this row of the terminal, both from 0.
#[must_use]
pub fn row_at(model: &DashState, size: Size, row: u16) -> Option<usize> {
    let ([_, body, _], list) = parts(model, Rect::new(0, 0, size.width, size.height));
    let at = row.checked_sub(body.y + 1).filter(|at| *at + 1 < list)?;
    let at = first_shown(model, usize::from(list - 1)) + usize::from(at);
    (at < model.shown().len()).then_some(at)
}

/// The first row of the list that is shown: the chosen one in the middle, as far as the ends of the list
/// allow.
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

/// `room`: how many rows the list has.
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

/// The columns of the list, by what there is room for: heading, width, and what of a row stands in so many
/// columns.
type Column = (&'static str, u16, fn(&SessionRow, u16) -> Vec<Span<'static>>);

fn columns(model: &DashState, width: u16) -> Vec<Column> {
    let shown = model.shown();
    let widest = |text: fn(&SessionRow) -> String, heading: &str, most: u16| {
        let widths = shown.iter().map(|row| text(row).width());
        u16::try_from(widths.max().unwrap_or(0).max(heading.len())).unwrap_or(most).min(most)
    };
    let most = u16::try_from(session_name_cols(usize::from(width))).unwrap_or(u16::MAX);
    let name = widest(|row| row.name.to_string(), "SESSION", most);
    let mut all: Vec<Column> = vec![("SESSION", name, |row, _| vec![Span::raw(row.name.to_string())])];
    // On a narrow terminal the line above the picture says what the chosen one waits for.
    all.push(if width < WITH_REASON {
        ("STATE", widest(|row| row.state.clone(), "STATE", 12), |row, _| {
            vec![Span::styled(row.state.clone(), state_style(&row.state))]
        })
    } else {
        let most = if width < WIDE { 22 } else { 40 };
        ("STATE", widest(SessionRow::state_with_reason, "STATE", most), |row, _| {
            vec![Span::styled(row.state_with_reason(), state_style(&row.state))]
        })
    });
    let left =
        |all: &[Column]| width.saturating_sub(all.iter().map(|(_, width, _)| width + 2).sum::<u16>() + 1);
    let since: Column =
        ("FOR", widest(|row| row.since.clone(), "FOR", 6), |row, _| vec![Span::raw(row.since.clone())]);
    if width >= WITH_REASON && left(&all) >= since.1 + 2 + FULL.1 + 2 + LEAST {
        all.push(since);
    }
    let any_about = shown.iter().any(|row| !row.about.is_empty());
    let both = if any_about { LEAST + 2 + LEAST } else { LEAST };
    let room = left(&all);
    let fits = |column: Column, others: u16| room >= column.1 + 2 + others;
    // What a session is about says more of it than a bar.
    all.push(if width >= WIDE && fits(BAR_OF_10, both) {
        BAR_OF_10
    } else if fits(BAR_OF_5, both) || !fits(FULL, both) && fits(BAR_OF_5, LEAST) {
        BAR_OF_5
    } else {
        FULL
    });
    let labels = widest(|row| row.labels.clone(), "LABELS", 16);
    if shown.iter().any(|row| !row.labels.is_empty()) && left(&all) >= labels + 2 + both {
        all.push(("LABELS", labels, |row, _| vec![Span::raw(row.labels.clone())]));
    }
    // Where a session works and on what says more of it than these numbers.
    if width >= WIDE && left(&all) >= 8 + 2 + 7 + 2 + both {
        all.push(("RESTARTS", 8, |row, _| vec![Span::raw(row.restarts.to_string())]));
        all.push(("CLIENTS", 7, |row, _| vec![Span::raw(row.clients.to_string())]));
    }
    let room = left(&all);
    if room < LEAST {
        if width < WITH_REASON && since.1 <= room {
            all.push(since);
        }
        return all;
    }
    let about = widest(|row| row.about.clone(), "ABOUT", u16::MAX);
    let with_about = any_about && room >= both;
    // What one of the two does not need is the other's; else each has half of it.
    let most = if with_about { (room - 2).saturating_sub(about).max((room - 2) / 2) } else { room };
    let most = most.min(40);
    let cut = shown.iter().map(|row| end_of_path(&row.dir, usize::from(most)).width()).max().unwrap_or(0);
    let dir = u16::try_from(cut.max("DIRECTORY".len())).unwrap_or(most);
    all.push(("DIRECTORY", dir, |row, width| vec![Span::raw(end_of_path(&row.dir, usize::from(width)))]));
    if with_about {
        all.push(("ABOUT", about.min(room - 2 - dir), |row, _| vec![Span::raw(row.about.clone())]));
    }
    all
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

/// The context as a bar of so many cells and in percent; a bar of 0 is none.
fn meter(row: &SessionRow, cells: usize) -> Vec<Span<'static>> {
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
    let heading = columns.iter().map(|(heading, width, _)| Span::raw(format!("{}  ", pad(heading, *width))));
    let heading: Vec<Span<'_>> = std::iter::once(Span::raw(" ")).chain(heading).collect();
    let shown = model.shown();
    let height = usize::from(area.height.saturating_sub(1));
    let chosen = model.chosen().map_or(0, |(at, _)| at);
    let first = first_shown(model, height);
    let mut lines = vec![Line::from(heading).style(dim())];
    for (at, row) in shown.iter().enumerate().skip(first).take(height) {
        let mut spans = vec![Span::raw(if at == chosen { "›" } else { " " })];
        for (_, width, cell) in &columns {
            spans.extend(cut(cell(row, *width), *width));
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
        // Before the first answer Claude's title is its name.
        Preview::Shown { screen, .. }
            if !screen.title().is_empty()
                && (row.about.is_empty() || !screen.title().ends_with("Claude Code")) =>
        {
            format!(" {}: {} ", row.name, super::row::clean(screen.title()))
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
    let what = match row.subject.as_str() {
        "" => row.waits_for.clone(),
        subject => format!("{} ({subject})", row.waits_for),
    };
    let text = match (what.as_str(), row.since.as_str()) {
        ("", _) => row.last.clone(),
        (what, "") => format!("waits for {what}"),
        (what, since) => format!("waits for {what}; blocked for {since}"),
    };
    let [last, picture] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(inner);
    frame.render_widget(Line::styled(fit(&text, last.width), dim()), last);
    let lines = match &model.preview {
        Preview::Missing(why) => vec![Line::styled(format!("no preview: {}", super::row::clean(why)), dim())],
        Preview::Shown { of, degraded: true, .. } if *of == row.name => {
            vec![Line::styled("no preview: the session's screen model has failed", dim())]
        }
        Preview::Shown { of, .. } if *of == row.name => model.preview.lines(picture.height),
        _ => Vec::new(),
    };
    frame.render_widget(Paragraph::new(lines), picture);
}

fn draw_foot(model: &DashState, frame: &mut Frame<'_>, area: Rect) {
    let mut input = |head: String, text: &str, hint: &str| {
        // The end of what is typed stays in sight.
        let room = usize::from(area.width).saturating_sub(head.width() + 1);
        let mut seen = text;
        while seen.width() > room {
            seen = seen.char_indices().nth(1).map_or("", |(at, _)| &seen[at..]);
        }
        let col = u16::try_from(head.width() + seen.width()).unwrap_or(u16::MAX);
        let rest = usize::from(area.width).saturating_sub(usize::from(col) + 3);
        let hint = if hint.width() <= rest { format!("   {hint}") } else { String::new() };
        let line = Line::from(vec![
            Span::styled(head, bold()),
            Span::raw(seen.to_owned()),
            Span::styled(hint, dim()),
        ]);
        frame.render_widget(line, area);
        frame.set_cursor_position(Position::new(area.x + col.min(area.width.saturating_sub(1)), area.y));
    };
    match &model.mode {
        InputMode::Directory(dir) => {
            input("new session in: ".to_owned(), dir, "Enter starts, Escape cancels")
        }
        InputMode::Log(..) => {
            frame.render_widget(Line::styled("up, down scroll   any other key closes", dim()), area);
        }
        InputMode::Filter => input("/".to_owned(), &model.filter, "Enter keeps the filter, Escape shows all"),
        InputMode::Line { to, text } => input(format!("to {to}: "), text, "Enter sends, Escape cancels"),
        InputMode::Sure(action) => {
            let what = match action {
                DashAction::Stop(name) => format!("Stop {name} for good?"),
                DashAction::Restart(name) if model.is_agent(name) => {
                    format!("Hand {name} over to a fresh conversation?")
                }
                DashAction::Restart(name) => format!("Restart {name}? It is not an agent."),
                _ => "Sure?".to_owned(),
            };
            frame.render_widget(
                Line::styled(fit(&format!("{what} y / n"), area.width), bold().fg(Color::Red)),
                area,
            );
        }
        InputMode::Refused(why) => {
            let line = Line::styled(fit(&format!("{why} (Enter)"), area.width), bold().fg(Color::Red));
            frame.render_widget(line, area);
        }
        _ if !model.notice.is_empty() => {
            frame.render_widget(Line::styled(fit(&model.notice, area.width), bold()), area)
        }
        _ => {
            let answers = model
                .answers()
                .map(|count| if count == 1 { "1 answer".to_owned() } else { format!("1-{count} answer") });
            let mut words = vec![
                "q quit",
                "? keys",
                "Enter attach",
                "/ filter",
                "r restart",
                "s stop",
                "i send",
                "n new",
                "w log",
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
                if text.width() + gap.len() + word.len() < usize::from(area.width) {
                    text.push_str(gap);
                    text.push_str(word);
                }
            }
            frame.render_widget(Line::styled(text, dim()), area);
        }
    }
}

/// What a session has done, newest first.
fn draw_log(lines: &[String], first: usize, frame: &mut Frame<'_>, area: Rect) {
    let block = Block::bordered().title(Span::styled(" newest first ", bold()));
    let text: Vec<Line<'_>> = lines.iter().skip(first).map(|line| Line::raw(line.as_str())).collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: false }).block(block), area);
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width >= 60;
    let words = |(key, what, short): &(&'static str, &'static str, &'static str)| {
        Line::from(vec![
            Span::styled(format!("{key:<17}"), bold()),
            Span::raw(if wide { *what } else { *short }),
        ])
    };
    // Where there is no row for all, who reads this needs the key for it the least.
    let keys = KEYS.iter().filter(|(key, ..)| usize::from(area.height) >= KEYS.len() || *key != "?");
    let lines: Vec<Line<'_>> = keys.map(words).collect();
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    // Where a frame would take rows that the keys need, there is none.
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

/// A text cut to `width` columns, an ellipsis where something was cut, blanks behind it.
fn pad(text: &str, width: u16) -> String {
    let text = fit(text, width);
    let missing = usize::from(width).saturating_sub(text.width());
    text + &" ".repeat(missing)
}

fn fit(text: &str, width: u16) -> String {
    begin_of(text, usize::from(width))
}

/// Spans cut and padded to `width` columns together.
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
