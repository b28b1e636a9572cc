//! The page: its frames, its policy and its markup.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::core::text::markup::escape_markup;
use crate::recording::film::{Film, FilmOptions};
use crate::recording::play_time::PlayTime;
use crate::recording::svg::theme_of;
use crate::recording::timeline::{CastLoadError, MarkKind, Timeline};
use crate::screen::picture::svg_row::is_followed;
use crate::screen::picture::theme::{PictureTheme, hex};
use crate::screen::{Attr, Hyperlink, Screen, StyledRun, Underline};

/// The most frames a second.
const FPS: u32 = 30;
/// The most frames; more would make the page slow.
const FRAMES_MAX: usize = 20_000;
/// The markup around the recording in the page.
const CAST_BEGINS: &str = "<script type=\"application/x-asciicast\" id=\"cast\">";
const CAST_ENDS: &str = "</script>";
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The content of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracePage {
    pub title: String,
    pub cast: Vec<u8>,
    /// The lines of a tape, in the order of execution.
    pub steps: Vec<TraceStep>,
    /// What failed, in words.
    pub failure: Option<String>,
    /// Expected and actual content, as lines of text.
    pub comparison: Option<String>,
}

/// An executed line of a tape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Its start, in µs since the start of the recording.
    pub at_us: u64,
    pub line: String,
    /// Its location, such as `tests/vim.tape:9`.
    pub source: String,
    pub outcome: TraceOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceOutcome {
    Passed,
    Failed,
    /// It was not executed.
    Skipped,
}

/// The page of a recording, with its player and the recording itself.
///
/// # Errors
/// When the recording cannot be read.
pub fn page(trace: &TracePage) -> Result<String, CastLoadError> {
    let timeline = Timeline::load(&trace.cast)?;
    let data = data(trace, &timeline).replace('<', "\\u003c");
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'",
        hash(STYLE),
        hash(SCRIPT)
    );
    let (title, cast) = (escape_markup(&trace.title), BASE64_STANDARD.encode(&trace.cast));
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"referrer\" \
         content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This page needs its own script. `hopty play` plays it without.</noscript>\n\
         {CAST_BEGINS}{cast}{CAST_ENDS}\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    ))
}

/// Whether the beginning of a page has the beginning of a recording in it.
pub fn has_cast(head: &[u8]) -> bool {
    memchr::memmem::find(head, CAST_BEGINS.as_bytes()).is_some()
}

/// The recording in a page made by hopty; `None` for another file.
pub fn cast_of_page(file: &[u8]) -> Option<Vec<u8>> {
    if !file.starts_with(b"<!doctype html>") {
        return None;
    }
    let from = memchr::memmem::find(file, CAST_BEGINS.as_bytes())? + CAST_BEGINS.len();
    let length = memchr::memmem::find(&file[from..], CAST_ENDS.as_bytes())?;
    BASE64_STANDARD.decode(&file[from..from + length]).ok()
}

/// The data for the script, as JSON.
fn data(trace: &TracePage, timeline: &Timeline) -> String {
    let theme = theme_of(timeline);
    let time = PlayTime::new(timeline, None);
    let options =
        FilmOptions { time: &time, from_us: 0, to_us: timeline.duration_us(), fps: FPS, frames: FRAMES_MAX };
    let mut rows = RowData { theme: &theme, styles: Vec::new() };
    let film = Film::shoot(timeline, options, |screen, row| rows.row(screen, row));
    let ms = |us: u64| us as f64 / 1000.0;
    let marks = timeline.marks().iter().map(|mark| match &mark.kind {
        MarkKind::Marker(label) => json!([ms(mark.at_us), "marker", label]),
        MarkKind::Input(bytes) => json!([ms(mark.at_us), "input", bytes.escape_ascii().to_string()]),
        MarkKind::Exit(status) => json!([ms(mark.at_us), "exit", format!("exit {status}")]),
    });
    let steps = trace.steps.iter().map(|step| {
        let outcome = match step.outcome {
            TraceOutcome::Passed => "passed",
            TraceOutcome::Failed => "failed",
            TraceOutcome::Skipped => "skipped",
        };
        json!({"at": ms(step.at_us), "line": step.line, "source": step.source, "outcome": outcome})
    });
    let row_list: Vec<&str> = film.rows.iter().map(|row| if row.is_empty() { "[]" } else { row }).collect();
    let rest = json!({
        "title": trace.title,
        "size": [film.size.0, film.size.1],
        "fg": hex(theme.fg),
        "bg": hex(theme.bg),
        "duration": ms(film.duration_us),
        "cut": film.is_cut,
        "damage": timeline.damage(),
        "styles": rows.styles,
        "frames": frames(&film),
        "marks": marks.collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
        "failure": trace.failure,
        "comparison": trace.comparison,
    });
    // A tree of all rows would be many times as large as their text.
    format!("{{\"rows\":[{}],{}", row_list.join(","), rest.to_string().trim_start_matches('{'))
}

/// Each frame as its time in ms, its columns, its cursor (column, row, shape) and its rows: all of them, or
/// pairs of index and row for those that differ from the previous frame.
fn frames(film: &Film) -> Vec<Value> {
    let mut last: &[u32] = &[];
    let mut frames = Vec::with_capacity(film.frames.len());
    for frame in &film.frames {
        let cursor = &frame.cursor;
        let shape = if cursor.visible { cursor.shape.name() } else { "" };
        let rows = &frame.rows;
        let differs = rows.len() == last.len();
        let changes: Vec<u32> = if differs {
            let pairs = rows.iter().zip(last).enumerate().filter(|(_, (new, old))| new != old);
            pairs.flat_map(|(at, (new, _))| [at as u32, *new]).collect()
        } else {
            rows.clone()
        };
        let at = frame.at_us as f64 / 1000.0;
        frames.push(json!([at, frame.cols, [cursor.col, cursor.row, shape], u8::from(differs), changes]));
        last = rows;
    }
    frames
}

/// Rows as runs: text, the number of its style, and its link.
struct RowData<'a> {
    theme: &'a PictureTheme,
    styles: Vec<Value>,
}

impl RowData<'_> {
    fn row(&mut self, screen: &Screen, row: u16) -> String {
        let runs = screen.row_runs(row);
        if runs.is_empty() {
            return String::new();
        }
        let runs: Vec<Value> = runs
            .iter()
            .map(|run| {
                let style = self.style(run);
                match run.link.as_ref().map(Hyperlink::uri).filter(|uri| is_followed(uri)) {
                    Some(uri) => json!([run.text, style, uri]),
                    None => json!([run.text, style]),
                }
            })
            .collect();
        Value::Array(runs).to_string()
    }

    /// The number of a style: text, background, line colour, and names of its attributes.
    fn style(&mut self, run: &StyledRun) -> usize {
        let (fg, bg) = self.theme.pair(&run.style);
        let fg = if fg == self.theme.fg { String::new() } else { hex(fg) };
        let line = self.theme.rgb(run.style.underline_color).map(hex).unwrap_or_default();
        let mut names: Vec<&str> =
            [Attr::Bold, Attr::Dim, Attr::Italic, Attr::Hidden, Attr::Strike, Attr::Overline]
                .into_iter()
                .filter(|attr| run.style.has(*attr))
                .map(Attr::name)
                .collect();
        names.extend(match run.style.underline {
            Underline::None => None,
            Underline::Single => Some("solid"),
            Underline::Double => Some("double"),
            Underline::Curly => Some("wavy"),
            Underline::Dotted => Some("dotted"),
            Underline::Dashed => Some("dashed"),
        });
        let style = json!([fg, bg.map(hex).unwrap_or_default(), line, names.join(" ")]);
        self.styles.iter().position(|known| *known == style).unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        })
    }
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod html_tests;
