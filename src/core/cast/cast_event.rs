//! The events of a recording.

/// An event of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CastEvent {
    /// Microseconds since the recording began.
    pub at_us: u64,
    pub kind: CastEventKind,
}

/// The kind of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CastEventKind {
    /// The program wrote these bytes (`o`).
    Output(Vec<u8>),
    /// A person typed these bytes (`i`).
    Input(Vec<u8>),
    /// The terminal was resized (`r`).
    Resize { cols: u16, rows: u16 },
    /// A marker, with its label (`m`).
    Marker(String),
    /// The program ended with this exit code (`x`).
    Exit(i32),
    /// An event with a code or data that hopty does not know.
    Other {
        /// The event's code.
        code: char,
        data: String,
    },
}

impl CastEventKind {
    /// The event with this code and these data.
    pub(super) fn new(code: char, data: Vec<u8>) -> Self {
        match code {
            'o' => return CastEventKind::Output(data),
            'i' => return CastEventKind::Input(data),
            _ => {}
        }
        let data = String::from_utf8(data).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into());
        let known = match code {
            'r' => data.split_once('x').and_then(|(cols, rows)| {
                let (cols, rows) = (side(cols)?, side(rows)?);
                Some(CastEventKind::Resize { cols, rows })
            }),
            'x' => data.trim().parse().ok().map(CastEventKind::Exit),
            'm' => return CastEventKind::Marker(data),
            _ => None,
        };
        known.unwrap_or(CastEventKind::Other { code, data })
    }
}

fn side(text: &str) -> Option<u16> {
    text.trim().parse().ok().filter(|side| *side > 0)
}
