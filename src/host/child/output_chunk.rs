//! The buffer for the child's output: terminals are written from it, and the screen model is fed from it
//! later.

/// The size of a chunk in bytes. A master returns some 4 KiB per read, so a chunk serves many reads.
pub(in crate::host) const CHUNK: usize = 1 << 16;
/// The size during a flood: the more output the screen model gets at once, the less of it it has to lay out.
pub(in crate::host) const FLOOD_CHUNK: usize = 2 << 20;
/// Free space in a chunk, in bytes, below which the next read gets a new one.
const ROOM_MIN: usize = 1 << 13;

#[derive(Debug)]
pub(in crate::host) struct OutputChunk {
    buffer: Box<[u8]>,
    pub filled: usize,
}

impl OutputChunk {
    pub fn new() -> Self {
        OutputChunk { buffer: vec![0; CHUNK].into(), filled: 0 }
    }

    /// An empty chunk for a flood.
    pub fn of_flood() -> Self {
        OutputChunk { buffer: vec![0; FLOOD_CHUNK].into(), filled: 0 }
    }

    /// An empty chunk of the same size.
    pub fn emptied(self) -> Self {
        OutputChunk { filled: 0, ..self }
    }

    /// Whether it is a chunk for a flood.
    pub fn is_of_flood(&self) -> bool {
        self.size() == FLOOD_CHUNK
    }

    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// The space for the next read.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.filled..]
    }

    /// The first `length` bytes of that space were read.
    pub fn took(&mut self, length: usize) {
        self.filled += length.min(self.room().len());
    }

    /// The last `length` bytes of the content.
    pub fn latest(&self, length: usize) -> &[u8] {
        let bytes = self.bytes();
        &bytes[bytes.len().saturating_sub(length)..]
    }

    /// Whether there is enough space for another read.
    pub fn has_room(&self) -> bool {
        self.size() - self.filled >= ROOM_MIN
    }

    /// Its capacity, in bytes.
    pub fn size(&self) -> usize {
        self.buffer.len()
    }
}
