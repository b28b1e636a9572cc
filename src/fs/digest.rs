//! Reads files in blocks, and computes SHA-256.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

use crate::core::hex::hex;

/// How much is read at a time, in bytes.
const BLOCK: usize = 1 << 17;

/// Passes all of `content` in blocks to `take`.
///
/// # Errors
/// Read errors, mapped by `failed`, and errors of `take`.
pub(super) fn each_block<E>(
    content: &mut (impl Read + ?Sized),
    failed: impl FnOnce(io::Error) -> E,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = vec![0; BLOCK];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => take(&buffer[..n])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// The length in bytes of the remaining content, and its SHA-256 in lower-case hexadecimal.
///
/// # Errors
/// When it cannot be read.
pub(super) fn length_and_sha256(content: &mut (impl Read + ?Sized)) -> io::Result<(u64, String)> {
    let (mut bytes, mut hash) = (0, Sha256::new());
    each_block(
        content,
        |error| error,
        |block| {
            bytes += block.len() as u64;
            hash.update(block);
            Ok(())
        },
    )?;
    Ok((bytes, hex(&hash.finalize())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that is interrupted before each block, and fails at its end.
    struct Flaky<'a> {
        blocks: &'a [&'a [u8]],
        interrupts: bool,
        fails: bool,
    }

    impl Read for Flaky<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.interrupts = !self.interrupts;
            if self.interrupts {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match self.blocks.split_first() {
                Some((block, rest)) => {
                    buffer[..block.len()].copy_from_slice(block);
                    self.blocks = rest;
                    Ok(block.len())
                }
                None if self.fails => Err(io::Error::other("gone")),
                None => Ok(0),
            }
        }
    }

    #[test]
    fn interrupted_reads_continue_and_failures_are_reported() {
        let mut whole = Flaky { blocks: &[b"a", b"bc"], interrupts: false, fails: false };
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(length_and_sha256(&mut whole).unwrap(), (3, sum.to_owned()));
        let mut torn = Flaky { blocks: &[b"abc"], interrupts: false, fails: true };
        assert_eq!(length_and_sha256(&mut torn).unwrap_err().to_string(), "gone");
    }
}
