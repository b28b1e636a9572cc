//! Where what the child writes is read into: it is written to the terminals from there, and waits there for
//! the screen model.

/// The size of a chunk in bytes. A master gives some 4 KiB a read, so a chunk serves many.
pub(in crate::host) const CHUNK: usize = 1 << 16;
/// The same in the middle of a flood, of which the screen lays out the less the more of it there is at once.
pub(in crate::host) const FLOOD_CHUNK: usize = 2 << 20;
/// Room in a chunk, in bytes, below which the next read gets a new one.
const ROOM_MIN: usize = 1 << 13;

/// Bytes as they were read.
#[derive(Debug)]
pub(in crate::host) struct OutputChunk {
    buffer: Box<[u8]>,
    pub filled: usize,
}

impl OutputChunk {
    /// An empty one.
    pub fn new() -> Self {
        OutputChunk { buffer: vec![0; CHUNK].into(), filled: 0 }
    }

    /// The same for a flood.
    pub fn of_flood() -> Self {
        OutputChunk { buffer: vec![0; FLOOD_CHUNK].into(), filled: 0 }
    }

    /// The same without what was read.
    pub fn emptied(self) -> Self {
        OutputChunk { filled: 0, ..self }
    }

    /// Whether it is one for a flood.
    pub fn is_of_flood(&self) -> bool {
        self.size() == FLOOD_CHUNK
    }

    /// What was read.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Where the next read goes.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
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
        self.buffer.len()
    }
}
