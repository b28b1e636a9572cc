//! Frames: tag `u8`, length `u32` little endian, payload. Pure.

/// The largest payload, in bytes.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// The tags. Numbers below 0x80 come from the client.
pub mod tag {
    /// No payload; one descriptor is attached to its first byte.
    pub const TERMINAL: u8 = 0x01;
    /// Bytes typed (relay).
    pub const INPUT: u8 = 0x02;
    /// Columns, rows, width and height in pixels, as `u16` little endian.
    pub const RESIZE: u8 = 0x03;
    /// The client is about to stop or to leave.
    pub const RELEASE: u8 = 0x04;
    /// The client is raw and in the foreground again.
    pub const RESUME: u8 = 0x05;
    /// The client wants to detach.
    pub const DETACH: u8 = 0x06;
    /// One signal number, to be passed on to the child's process group.
    pub const SIGNAL: u8 = 0x07;
    /// The client's terminal is gone. A later addition; `DETACH` follows for hosts that skip it.
    pub const HANGUP: u8 = 0x08;
    /// Bytes to show (relay).
    pub const OUTPUT: u8 = 0x80;
    /// The host reads and writes the terminal from now on.
    pub const TAKEN: u8 = 0x81;
    /// The host cannot take the terminal: use INPUT and OUTPUT. Payload: the reason.
    pub const RELAY: u8 = 0x82;
    /// Everything is written, the terminal is closed, and its modes are undone.
    pub const RELEASED: u8 = 0x84;
    /// The child is stopped: restore the terminal and stop.
    pub const SUSPEND: u8 = 0x85;
    /// The last frame: JSON `{"why","exit","message","unread"}`.
    pub const BYE: u8 = 0x86;
    /// A notice to the person: JSON `{"kind","text"}`.
    pub const NOTICE: u8 = 0x87;
    /// What the client must write if the host dies: the sequences that undo the modes that are set. A later
    /// addition; older clients skip it.
    pub const UNDO: u8 = 0x88;
    /// One byte: 1, send no more INPUT for now, because the child has enough unread; 0, continue. A later
    /// addition; older clients skip it.
    pub const HOLD: u8 = 0x89;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub tag: u8,
    /// The payload, at most [`MAX_PAYLOAD`] bytes.
    pub payload: Vec<u8>,
}

impl Frame {
    /// A frame with a payload, cut to the limit.
    #[must_use]
    pub fn new(tag: u8, payload: &[u8]) -> Self {
        Frame { tag, payload: payload[..payload.len().min(MAX_PAYLOAD)].to_vec() }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(5 + self.payload.len());
        bytes.push(self.tag);
        bytes.extend_from_slice(&u32::try_from(self.payload.len()).unwrap_or(0).to_le_bytes());
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// The first complete frame of `bytes` and its length; `Ok(None)` if it is incomplete.
    ///
    /// # Errors
    /// When its length exceeds the limit: the stream cannot be read any further.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Frame, usize)>, TooLarge> {
        let Some((head, rest)) = bytes.split_first_chunk::<5>() else { return Ok(None) };
        let len = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if len > MAX_PAYLOAD {
            return Err(TooLarge(len));
        }
        Ok(rest.get(..len).map(|payload| (Frame { tag: head[0], payload: payload.to_vec() }, 5 + len)))
    }
}

/// A frame or a line over the limit, with its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {0} bytes is over the limit of 1 MiB")]
pub struct TooLarge(pub usize);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn encoded_frames_decode_to_the_same(tag: u8, payload in prop::collection::vec(any::<u8>(), 0..300),
            cut in 0usize..305) {
            let frame = Frame::new(tag, &payload);
            let bytes = frame.encode();
            let part = &bytes[..cut.min(bytes.len())];
            let decoded = Frame::decode(part).unwrap();
            if part.len() < bytes.len() {
                prop_assert_eq!(decoded, None);
            } else {
                prop_assert_eq!(decoded, Some((frame, bytes.len())));
            }
        }
    }

    #[test]
    fn a_huge_length_is_refused_before_it_is_buffered() {
        assert!(Frame::decode(&[2, 0xff, 0xff, 0xff, 0xff]).is_err());
    }
}
