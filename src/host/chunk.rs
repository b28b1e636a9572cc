//! Where what the child writes is read into: it is written to the terminals from there, and waits there for the screen model.

/// The size of a chunk in bytes. A master gives some 4 KiB a read, so a chunk serves many.
pub(super) const CHUNK: usize = 1 << 16;
/// The same in the middle of a flood, of which the screen lays out the less the more of it there is at once.
pub(super) const FLOOD_CHUNK: usize = 1 << 20;
/// Room in a chunk, in bytes, below which the next read gets a new one.
const ROOM_MIN: usize = 1 << 13;

/// Bytes as they were read.
#[derive(Debug)]
pub(super) struct Chunk {
    pub bytes: Box<[u8]>,
    pub filled: usize,
}

impl Chunk {
    /// An empty one of so many bytes.
    pub fn new(size: usize) -> Self {
        Chunk { bytes: vec![0; size].into(), filled: 0 }
    }

    /// Where the next read goes.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// The first `length` bytes of the room were read.
    pub fn took(&mut self, length: usize) -> &[u8] {
        let from = self.filled;
        self.filled = (from + length).min(self.bytes.len());
        &self.bytes[from..self.filled]
    }

    /// Whether another read is worth while.
    pub fn has_room(&self) -> bool {
        self.bytes.len() - self.filled >= ROOM_MIN
    }
}
