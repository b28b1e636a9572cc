//! OSC 8: what text leads to. A cell has the number of its link, the table has each link once.
//!
//! Numbers are never told: two screens are the same when their cells lead to the same, whatever the numbers. A link that
//! nothing uses any more leaves the table only when there is no room for a new one; where all are in use, text has none.
//!
//! Text that is erased leaves no link behind. The link is saved with the pen (DECSC), as in alacritty; SGR leaves it as it is.

use std::collections::BTreeMap;

use super::packed_style::Look;
use crate::screen::terminal::Terminal;

/// Most links of a screen and its history. A look has room for numbers up to 16383.
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
pub struct Link(Box<str>);

impl Link {
    /// Reads what follows the number 8; `None` for an empty address, and for one that is not kept.
    fn read(parts: &[&[u8]]) -> Option<Self> {
        let (params, address) = parts.split_first().filter(|_| parts.len() < PARTS_MAX)?;
        let uri = printable(address, URI_MAX)?;
        let id = params.split(|byte| *byte == b':').find_map(|param| param.strip_prefix(b"id="));
        let id = id.and_then(|id| printable(&[id], ID_MAX)).map(|id| format!("id={id}")).unwrap_or_default();
        Some(Self(format!("{id};{uri}").into()))
    }

    /// The address, at most 2083 bytes.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.0.split_once(';').map_or("", |(_, uri)| uri)
    }

    /// The name that parts of one link have in common, at most 250 bytes; `None` without one.
    #[must_use]
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
pub struct Links {
    /// Number 1 is the first; `None` is free.
    all: Vec<Option<Link>>,
    numbers: BTreeMap<Link, u16>,
    free: Vec<u16>,
    bytes: usize,
    /// So many links will be refused before it is looked again which ones are in use.
    pause: usize,
}

/// Equal when every number stands for the same.
impl PartialEq for Links {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all
    }
}

impl Links {
    /// The link of a number.
    pub fn get(&self, number: u16) -> Option<&Link> {
        self.all.get(usize::from(number).checked_sub(1)?)?.as_ref()
    }

    /// How many there are, and their bytes.
    #[cfg(test)]
    pub fn taken(&self) -> (usize, usize) {
        (self.numbers.len(), self.bytes)
    }

    fn has_room(&self, link: &Link) -> bool {
        self.numbers.len() < LINKS_MAX && self.bytes + link.len() <= BYTES_MAX
    }

    /// The number of a link, 0 if there is no room for it.
    fn number(&mut self, link: &Link) -> u16 {
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

    /// Whether it is time to look which links are in use. When nearly all are, it is not done again for each further one.
    fn is_due(&mut self, link: &Link) -> bool {
        if self.numbers.contains_key(link) || self.has_room(link) {
            return false;
        }
        self.pause = self.pause.saturating_sub(1);
        self.pause == 0
    }

    /// Drops all links but those of which `used` is true.
    fn retain(&mut self, used: &[bool]) {
        let (count, bytes) = (self.numbers.len(), self.bytes);
        for (at, place) in self.all.iter_mut().enumerate().filter(|(at, _)| !used.get(at + 1).is_some_and(|used| *used)) {
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

impl Terminal {
    /// OSC 8, without its number.
    pub fn set_link(&mut self, parts: &[&[u8]]) {
        if parts.len() < 2 {
            return;
        }
        let number = Link::read(parts).map_or(0, |link| {
            if self.links.is_due(&link) {
                let used = self.used_links();
                self.links.retain(&used);
            }
            self.links.number(&link)
        });
        self.caret.look.set_link(number);
    }

    /// Which numbers stand in a cell, a line of the history, a pen or a saved pen.
    fn used_links(&self) -> Vec<bool> {
        let mut used = vec![false; self.links.all.len() + 1];
        let mut mark = |look: Look| {
            if let Some(place) = used.get_mut(usize::from(look.link())) {
                *place = true;
            }
        };
        for page in [&self.page, &self.hidden] {
            page.grid.rows().iter().flat_map(|row| row.stored()).for_each(|cell| mark(cell.look()));
            mark(page.saved.look);
        }
        mark(self.caret.look);
        self.history.lines().flat_map(|line| line.looks()).for_each(mark);
        used
    }

    /// Whether both are the same, whatever numbers their links have.
    pub fn is_same(&self, other: &Self) -> bool {
        if self.links == other.links { self == other } else { self.renumbered() == other.renumbered() }
    }

    /// The same with numbers in the order in which links are met.
    fn renumbered(&self) -> Self {
        let mut new = self.clone();
        let mut links = Links::default();
        let mut renumber = |look: &mut Look| {
            if let Some(link) = self.links.get(look.link()) {
                look.set_link(links.number(link));
            }
        };
        renumber(&mut new.caret.look);
        for page in [&mut new.page, &mut new.hidden] {
            renumber(&mut page.saved.look);
            for at in 0..page.grid.rows().len() {
                page.grid.row_mut(at).into_iter().flat_map(|row| &mut row.cells).for_each(|cell| cell.change_look(&mut renumber));
            }
        }
        new.history.lines_mut().for_each(|line| line.change_looks(&mut renumber));
        new.links = links;
        new
    }
}
