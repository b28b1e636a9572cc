//! OSC 8: what text leads to. A cell has the number of its link, the table has each link once.
//!
//! Numbers are never told: two screens are the same when their cells lead to the same, whatever the numbers.
//! A link that nothing uses any more leaves the table only when there is no room for a new one; where all are
//! in use, text has none.
//!
//! Text that is erased leaves no link behind. The link is saved with the pen (DECSC), as in alacritty; SGR
//! leaves it as it is.

use std::collections::BTreeMap;

/// Most links of a screen and its history. A style has room for numbers up to 16383.
const LINKS_MAX: usize = 4096;

/// Most bytes of all links together.
const BYTES_MAX: usize = 256 * 1024;

/// Most bytes of an address; what is longer leads nowhere.
const URI_MAX: usize = 2083;

/// Most bytes of an `id`; a longer one is left out.
const ID_MAX: usize = 250;

/// Parts behind a command's number. `vte` keeps no more than so many: what stood behind them is not known.
pub const PARTS_MAX: usize = 15;

/// The sequence that ends a link.
pub const CLOSING: &str = "\x1b]8;;\x1b\\";

/// What a run of text leads to (OSC 8). Without control characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hyperlink(Box<str>);

impl Hyperlink {
    /// Reads what follows the number 8; `None` for an empty address, and for one that is not kept.
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

    /// The name that parts of one link have in common, at most 250 bytes; `None` without one.
    pub fn id(&self) -> Option<&str> {
        self.0.split_once(';')?.0.strip_prefix("id=")
    }

    /// Its bytes.
    pub(in crate::screen) fn len(&self) -> usize {
        self.0.len()
    }

    /// The sequence that begins it.
    pub(in crate::screen) fn opening(&self) -> String {
        format!("\x1b]8;{}\x1b\\", self.0)
    }
}

/// The text that was cut at semicolons; `None` if it is empty, too long, or has what cannot be sent again.
pub fn printable(parts: &[&[u8]], max: usize) -> Option<String> {
    let text = String::from_utf8(parts.join(&b';')).ok()?;
    let is_sent = |ch: char| !ch.is_control() && ch != char::REPLACEMENT_CHARACTER;
    (!text.is_empty() && text.len() <= max && text.chars().all(is_sent)).then_some(text)
}

/// The links of a screen.
#[derive(Clone, Debug, Default)]
pub struct Hyperlinks {
    /// Number 1 is the first; `None` is free.
    all: Vec<Option<Hyperlink>>,
    numbers: BTreeMap<Hyperlink, u16>,
    free: Vec<u16>,
    bytes: usize,
    /// So many links will be refused before it is looked again which ones are in use.
    pause: usize,
    /// A link was begun and not ended. The pen may have none all the same: one that is not kept, or the
    /// cursor was restored since, for which terminals differ.
    pub open: bool,
}

/// Equal when every number stands for the same.
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

    /// A table without links, of which one is begun as here.
    pub fn without_numbers(&self) -> Self {
        Self { open: self.open, ..Self::default() }
    }

    /// For every number whether it is in use: none is so far.
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

    /// Whether it is time to look which links are in use. When nearly all are, it is not done again for each
    /// further one.
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
