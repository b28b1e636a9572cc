//! The first line of a recording.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::reader::CastFault;

/// The header of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CastHeader {
    /// Version of the format: 1, 2 or 3. hopty writes 3, whatever is given here.
    pub version: u8,
    /// Columns at the start.
    pub cols: u16,
    /// Rows at the start.
    pub rows: u16,
    /// The terminal's type, such as `xterm-256color`.
    pub term_type: Option<String>,
    /// The terminal's name and version, as it answers XTVERSION.
    pub term_version: Option<String>,
    /// The terminal's colours.
    pub theme: Option<CastTheme>,
    /// When it began, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// Players shorten longer pauses to this many seconds.
    pub idle_time_limit: Option<f64>,
    /// The command line that was recorded.
    pub command: Option<String>,
    /// The title.
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
    #[must_use]
    pub fn line(&self) -> String {
        let mut term = Map::new();
        term.insert("cols".to_owned(), json!(self.cols));
        term.insert("rows".to_owned(), json!(self.rows));
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                term.insert(key.to_owned(), value);
            }
        };
        put("type", self.term_type.as_ref().map(|name| json!(name)));
        put("version", self.term_version.as_ref().map(|name| json!(name)));
        put(
            "theme",
            self.theme
                .as_ref()
                .map(|theme| json!({"fg": theme.fg, "bg": theme.bg, "palette": theme.palette.join(":")})),
        );
        let mut header = Map::new();
        header.insert("version".to_owned(), json!(3));
        header.insert("term".to_owned(), Value::Object(term));
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                header.insert(key.to_owned(), value);
            }
        };
        put("timestamp", self.timestamp.map(|at| json!(at)));
        put("idle_time_limit", self.idle_time_limit.map(|limit| json!(limit)));
        put("command", self.command.as_ref().map(|command| json!(command)));
        put("title", self.title.as_ref().map(|title| json!(title)));
        put("env", (!self.env.is_empty()).then(|| json!(self.env)));
        format!("{}\n", Value::Object(header))
    }

    /// Reads the header's object; a field that a player can do without may be of any type.
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
        let side = |side: Option<&Value>| {
            side.and_then(Value::as_u64).and_then(|side| u16::try_from(side).ok()).filter(|side| *side > 0)
        };
        let (Some(cols), Some(rows)) = (side(sides.0), side(sides.1)) else {
            return Err(CastFault::NoSize);
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let of_term = |key: &str| text(term.and_then(|term| term.get(key)));
        let theme = if version == 3 { term.and_then(|term| term.get("theme")) } else { value.get("theme") };
        let env = value.get("env").and_then(Value::as_object);
        Ok(CastHeader {
            version,
            cols,
            rows,
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

impl CastTheme {
    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let palette = text("palette")?.split(':').map(str::to_owned).collect();
        Some(CastTheme { fg: text("fg")?, bg: text("bg")?, palette })
    }
}
