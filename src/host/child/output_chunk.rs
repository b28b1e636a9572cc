//! Where what the child writes is read into: it is written to the terminals from there, and waits there for the screen model.

use crate::sys::large_page::{LARGE_PAGE, LargePage};

/// The size of a chunk in bytes. A master gives some 4 KiB a read, so a chunk serves many.
pub(in crate::host) const CHUNK: usize = 1 << 16;
/// The same in the middle of a flood, of which the screen lays out the less the more of it there is at once.
pub(in crate::host) const FLOOD_CHUNK: usize = LARGE_PAGE;
/// Room in a chunk, in bytes, below which the next read gets a new one.
const ROOM_MIN: usize = 1 << 13;

/// Its memory.
#[derive(Debug)]
enum Room {
    Small(Box<[u8]>),
    Large(LargePage),
}

/// Bytes as they were read.
#[derive(Debug)]
pub(in crate::host) struct OutputChunk {
    room: Room,
    pub filled: usize,
}

impl OutputChunk {
    /// An empty one.
    pub fn new() -> Self {
        OutputChunk { room: Room::Small(vec![0; CHUNK].into()), filled: 0 }
    }

    /// The same for a flood, where there is memory for it.
    pub fn of_flood() -> Self {
        LargePage::new().map_or_else(|_| Self::new(), |page| OutputChunk { room: Room::Large(page), filled: 0 })
    }

    /// The same without what was read.
    pub fn emptied(self) -> Self {
        OutputChunk { filled: 0, ..self }
    }

    /// Whether it is one for a flood.
    pub fn is_of_flood(&self) -> bool {
        matches!(self.room, Room::Large(_))
    }

    /// What was read.
    pub fn bytes(&self) -> &[u8] {
        match &self.room {
            Room::Small(bytes) => &bytes[..self.filled],
            Room::Large(page) => &page[..self.filled],
        }
    }

    /// Where the next read goes.
    pub fn room(&mut self) -> &mut [u8] {
        let filled = self.filled;
        match &mut self.room {
            Room::Small(bytes) => &mut bytes[filled..],
            Room::Large(page) => &mut page[filled..],
        }
    }

    /// The first `length` bytes of the room were read.
    pub fn took(&mut self, length: usize) {
        self.filled += length.min(self.room().len());
    }

    /// The last `length` bytes that were read.
    pub fn latest(&self, length: usize) -> &[u8] {
        let bytes = self.bytes();
        &bytes[bytes.len().saturating_sub(length)..]
    }

    /// Whether another read is worth while.
    pub fn has_room(&self) -> bool {
        self.size() - self.filled >= ROOM_MIN
    }

    /// How much it holds at most, in bytes.
    pub fn size(&self) -> usize {
        if self.is_of_flood() { FLOOD_CHUNK } else { CHUNK }
    }
}
