//! OSC 8 hyperlinks. A cell has the number of its link; the table has each link once.
//!
//! Numbers are internal: two screens are equal if their cells have the same links, whatever the numbers.
//! Unused links are removed only when there is no room for a new one; if all are in use, text gets no link.
//!
//! Erased cells have no link. The link is saved with the pen (DECSC), as in alacritty; SGR leaves it as it
//! is.

use std::collections::BTreeMap;

/// The most links of a screen and its scrollback. A style has room for numbers up to 16383.
const LINKS_MAX: usize = 4096;

/// The most bytes of all links.
const BYTES_MAX: usize = 256 * 1024;

/// The most bytes of an address; longer ones are ignored.
const URI_MAX: usize = 2083;

/// The most bytes of an `id`; a longer one is dropped.
const ID_MAX: usize = 250;

/// The most parts after a command's number. `vte` keeps no more, so further parts are unknown.
pub const PARTS_MAX: usize = 15;

/// The sequence that ends a link.
pub const CLOSING: &str = "\x1b]8;;\x1b\\";

/// The hyperlink of a text (OSC 8), without control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hyperlink(Box<str>);

impl Hyperlink {
    /// Reads the parts after the number 8; `None` for an empty or invalid address.
    pub(in crate::screen) fn read(parts: &[&[u8]]) -> Option<Self> {
        let (params, address) = parts.split_first().filter(|_| parts.len() < PARTS_MAX)?;
        let uri = printable(address, URI_MAX)?;
        let id = params.split(|byte| *byte == b':').find_map(|param| param.strip_prefix(b"id="));
        let id = id.and_then(|id| printable(&[id], ID_MAX)).map(|id| format!("id={id}")).unwrap_or_default();
        Some(Self(format!("{id};{uri}").into()))
    }

    /// The address, at most 2083 bytes.
    pub fn uri(&self) -> &str {
        self.0.split_once(';').map_or("", |(_, uri)| uri)
    }

    /// The id shared by the parts of one link, at most 250 bytes; `None` without one.
    pub fn id(&self) -> Option<&str> {
        self.0.split_once(';')?.0.strip_prefix("id=")
    }

    /// Its size in bytes.
    pub(in crate::screen) fn len(&self) -> usize {
        self.0.len()
    }

    /// The sequence that begins it.
    pub(in crate::screen) fn opening(&self) -> String {
        format!("\x1b]8;{}\x1b\\", self.0)
    }
}

/// Joins text that was split at semicolons; `None` if it is empty, too long, or contains characters that
/// cannot be sent again.
pub fn printable(parts: &[&[u8]], max: usize) -> Option<String> {
    let text = String::from_utf8(parts.join(&b';')).ok()?;
    let is_sent = |ch: char| !ch.is_control() && ch != char::REPLACEMENT_CHARACTER;
    (!text.is_empty() && text.len() <= max && text.chars().all(is_sent)).then_some(text)
}

/// The links of a screen.
#[derive(Clone, Debug, Default)]
pub struct Hyperlinks {
    /// Number 1 is the first; `None` is unused.
    all: Vec<Option<Hyperlink>>,
    numbers: BTreeMap<Hyperlink, u16>,
    free: Vec<u16>,
    bytes: usize,
    /// How many links will be refused before the next search for unused ones.
    pause: usize,
    /// A link was opened and not closed. The pen may still have none: the link was refused, or the cursor was
    /// restored since, where terminals differ.
    pub open: bool,
}

/// Equal if every number means the same link.
impl PartialEq for Hyperlinks {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all && self.open == other.open
    }
}

impl Hyperlinks {
    /// The link of a number.
    pub fn get(&self, number: u16) -> Option<&Hyperlink> {
        self.all.get(usize::from(number).checked_sub(1)?)?.as_ref()
    }

    /// An empty table with the same open state.
    pub fn without_numbers(&self) -> Self {
        Self { open: self.open, ..Self::default() }
    }

    /// A flag for every number, all unset, to mark the used ones.
    pub fn unused(&self) -> Vec<bool> {
        vec![false; self.all.len() + 1]
    }

    /// How many there are, and their bytes.
    #[cfg(test)]
    pub fn taken(&self) -> (usize, usize) {
        (self.numbers.len(), self.bytes)
    }

    fn has_room(&self, link: &Hyperlink) -> bool {
        self.numbers.len() < LINKS_MAX && self.bytes + link.len() <= BYTES_MAX
    }

    /// The number of a link, 0 if there is no room for it.
    pub fn number(&mut self, link: &Hyperlink) -> u16 {
        if let Some(number) = self.numbers.get(link) {
            return *number;
        }
        if !self.has_room(link) {
            return 0;
        }
        self.bytes += link.len();
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() as u16
        });
        self.all[usize::from(number) - 1] = Some(link.clone());
        self.numbers.insert(link.clone(), number);
        number
    }

    /// Whether to search for unused links. After a search that found nearly all in use, the next ones are
    /// delayed.
    pub fn is_due(&mut self, link: &Hyperlink) -> bool {
        if self.numbers.contains_key(link) || self.has_room(link) {
            return false;
        }
        self.pause = self.pause.saturating_sub(1);
        self.pause == 0
    }

    /// Drops all links but those of which `used` is true.
    pub fn retain(&mut self, used: &[bool]) {
        let (count, bytes) = (self.numbers.len(), self.bytes);
        for (at, place) in
            self.all.iter_mut().enumerate().filter(|(at, _)| !used.get(at + 1).is_some_and(|used| *used))
        {
            if let Some(link) = place.take() {
                self.bytes -= link.len();
                self.numbers.remove(&link);
                self.free.push(at as u16 + 1);
            }
        }
        let many = count - self.numbers.len() >= LINKS_MAX / 4 || bytes - self.bytes >= BYTES_MAX / 4;
        self.pause = if many { 0 } else { LINKS_MAX / 4 };
    }
}
