//! The first line of a recording.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::reader::CastFault;

/// The header of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CastHeader {
    /// The version of the format: 1, 2 or 3. hopty always writes 3.
    pub version: u8,
    /// Columns at the start.
    pub cols: u16,
    /// Rows at the start.
    pub rows: u16,
    /// The recording says 0x0, as asciinema 2 writes for a terminal without a size; it is played at 80x24.
    pub has_no_size: bool,
    /// The terminal's type, such as `xterm-256color`.
    pub term_type: Option<String>,
    /// The terminal's name and version, as it answers XTVERSION.
    pub term_version: Option<String>,
    /// The terminal's colours.
    pub theme: Option<CastTheme>,
    /// The start time, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// Players shorten longer pauses to this many seconds.
    pub idle_time_limit: Option<f64>,
    /// The command line that was recorded.
    pub command: Option<String>,
    pub title: Option<String>,
    /// Variables of the environment.
    pub env: BTreeMap<String, String>,
}

/// The colours of a recorded terminal, each as `#rrggbb`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CastTheme {
    /// The default foreground.
    pub fg: String,
    /// The default background.
    pub bg: String,
    /// The first 8 or 16 colours of the palette.
    pub palette: Vec<String>,
}

impl CastHeader {
    /// A header of version 3 for a terminal of this size.
    #[must_use]
    pub fn new(cols: u16, rows: u16) -> Self {
        CastHeader { version: 3, cols, rows, ..CastHeader::default() }
    }

    /// The header as the first line of a recording of version 3, with its line feed.
    pub fn line(&self) -> String {
        let theme = self.theme.as_ref();
        let theme = theme.map(|of| json!({"fg": of.fg, "bg": of.bg, "palette": of.palette.join(":")}));
        let term = object(&[
            ("cols", Some(json!(self.cols))),
            ("rows", Some(json!(self.rows))),
            ("type", self.term_type.as_ref().map(|name| json!(name))),
            ("version", self.term_version.as_ref().map(|name| json!(name))),
            ("theme", theme),
        ]);
        let rest = object(&[
            ("timestamp", self.timestamp.map(|at| json!(at))),
            ("idle_time_limit", self.idle_time_limit.map(|limit| json!(limit))),
            ("command", self.command.as_ref().map(|command| json!(command))),
            ("title", self.title.as_ref().map(|title| json!(title))),
            ("env", Some(json!(self.env)).filter(|_| !self.env.is_empty())),
        ]);
        let comma = if rest.is_empty() { "" } else { ", " };
        format!("{{\"version\": 3, \"term\": {{{term}}}{comma}{rest}}}\n")
    }

    /// Reads the header's object; fields that a player does not need may have any type.
    pub(super) fn read(value: &Value) -> Result<Self, CastFault> {
        let version = match value.get("version").and_then(Value::as_u64) {
            Some(version @ 1..=3) => version as u8,
            Some(other) => return Err(CastFault::Version(other)),
            None => return Err(CastFault::NotACast),
        };
        let term = value.get("term");
        let sides = match (version, term) {
            (3, Some(term)) => (term.get("cols"), term.get("rows")),
            (3, None) => (None, None),
            _ => (value.get("width"), value.get("height")),
        };
        let side =
            |side: Option<&Value>| side.and_then(Value::as_u64).and_then(|side| u16::try_from(side).ok());
        let (cols, rows, has_no_size) = match (side(sides.0), side(sides.1)) {
            (Some(0), Some(0)) => (80, 24, true),
            (Some(cols @ 1..), Some(rows @ 1..)) => (cols, rows, false),
            _ => return Err(CastFault::NoSize),
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let of_term = |key: &str| text(term.and_then(|term| term.get(key)));
        let theme = if version == 3 { term.and_then(|term| term.get("theme")) } else { value.get("theme") };
        let env = value.get("env").and_then(Value::as_object);
        Ok(CastHeader {
            version,
            cols,
            rows,
            has_no_size,
            term_type: of_term("type"),
            term_version: of_term("version"),
            theme: theme.and_then(CastTheme::read),
            timestamp: value
                .get("timestamp")
                .and_then(|at| at.as_u64().or_else(|| Some(at.as_f64()? as u64))),
            idle_time_limit: value
                .get("idle_time_limit")
                .and_then(Value::as_f64)
                .filter(|limit| *limit > 0.0),
            command: text(value.get("command")),
            title: text(value.get("title")),
            env: env
                .into_iter()
                .flatten()
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
        })
    }
}

/// The fields that have a value as an object, in this order: programs that look at the first bytes of a
/// file expect the version there.
fn object(fields: &[(&str, Option<Value>)]) -> String {
    let fields: Vec<String> =
        fields.iter().filter_map(|(key, value)| Some(format!("\"{key}\": {}", value.as_ref()?))).collect();
    fields.join(", ")
}

impl CastTheme {
    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let palette = text("palette")?.split(':').map(str::to_owned).collect();
        Some(CastTheme { fg: text("fg")?, bg: text("bg")?, palette })
    }
}
