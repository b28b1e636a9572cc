//! The end of an archived conversation: it has the length and hash of the manifest, and proves that the file
//! is complete.

use sha2::{Digest, Sha256};

use super::{ArchiveError, ArchiveLimits};

/// The length of the seal in bytes: the manifest's hash and length, and a mark.
pub const SEAL_BYTES: usize = 32 + 4 + MARK.len();
/// The last bytes of each file.
const MARK: &[u8; 16] = b"hopty-archive-1\n";
/// The magic number of a frame that zstd skips; one of sixteen.
const SKIPPABLE: u32 = 0x184D_2A5A;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The manifest ends where the seal begins.
    pub manifest_bytes: u64,
    sha256: [u8; 32],
}

impl Seal {
    /// The frame with a manifest and its seal; `None` if it is too long for a frame.
    pub fn frame(manifest: &[u8]) -> Option<Vec<u8>> {
        let length = u32::try_from(manifest.len()).ok()?;
        let content = length.checked_add(u32::try_from(SEAL_BYTES).ok()?)?;
        let mut frame = Vec::with_capacity(manifest.len() + SEAL_BYTES + 8);
        frame.extend(SKIPPABLE.to_le_bytes());
        frame.extend(content.to_le_bytes());
        frame.extend(manifest);
        frame.extend(Sha256::digest(manifest));
        frame.extend(length.to_le_bytes());
        frame.extend(MARK);
        Some(frame)
    }

    /// Parses the seal in the last bytes of a file of `total` bytes.
    ///
    /// # Errors
    /// When there is none, or the manifest is longer than the file or than allowed.
    pub fn read(last: &[u8], total: u64, limits: &ArchiveLimits) -> Result<Seal, ArchiveError> {
        let seal = last.last_chunk::<SEAL_BYTES>().ok_or(ArchiveError::NoSeal)?;
        let rest = seal.strip_suffix(MARK).ok_or(ArchiveError::NoSeal)?;
        let (sha256, length) = rest.split_first_chunk::<32>().ok_or(ArchiveError::NoSeal)?;
        let length = length.first_chunk::<4>().ok_or(ArchiveError::NoSeal)?;
        let manifest_bytes = u64::from(u32::from_le_bytes(*length));
        if manifest_bytes > limits.manifest_bytes {
            let (what, found, limit) = ("bytes of its manifest", manifest_bytes, limits.manifest_bytes);
            return Err(ArchiveError::Limit { what, found, limit });
        }
        let seal = Seal { manifest_bytes, sha256: *sha256 };
        if seal.frame_bytes() > total { Err(ArchiveError::NoSeal) } else { Ok(seal) }
    }

    /// The length of the frame that it ends, in bytes.
    pub fn frame_bytes(&self) -> u64 {
        8 + self.manifest_bytes + SEAL_BYTES as u64
    }

    /// Checks a frame whose length is [`Seal::frame_bytes`], and returns the manifest in it.
    ///
    /// # Errors
    /// When it is another frame, or the manifest has another hash.
    pub fn open<'a>(&self, frame: &'a [u8]) -> Result<&'a [u8], ArchiveError> {
        let damaged = |why: &str| ArchiveError::Manifest(why.to_owned());
        let (magic, rest) = frame.split_first_chunk::<4>().ok_or(ArchiveError::NoSeal)?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(ArchiveError::NoSeal)?;
        let is_whole = u32::from_le_bytes(*magic) == SKIPPABLE
            && u32::from_le_bytes(*length) as usize == rest.len()
            && rest.len() as u64 == self.frame_bytes() - 8;
        if !is_whole {
            return Err(damaged("its frame has another length"));
        }
        let manifest = &rest[..rest.len() - SEAL_BYTES];
        if Sha256::digest(manifest).as_slice() != self.sha256 {
            return Err(damaged("it has another hash"));
        }
        Ok(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_from_its_frame() {
        let limits = ArchiveLimits::default();
        for manifest in [&b"{}"[..], b"", &[7; 10_000]] {
            let frame = Seal::frame(manifest).unwrap();
            let seal = Seal::read(&frame, frame.len() as u64, &limits).unwrap();
            assert_eq!(seal.frame_bytes(), frame.len() as u64);
            assert_eq!(seal.open(&frame).unwrap(), manifest);
        }
    }

    #[test]
    fn every_byte_that_is_missing_or_wrong_is_noticed() {
        let limits = ArchiveLimits::default();
        let whole = Seal::frame(b"{\"a\":1}").unwrap();
        let read = |frame: &[u8]| {
            let seal = Seal::read(frame, frame.len() as u64, &limits)?;
            let at = frame.len() - usize::try_from(seal.frame_bytes()).unwrap();
            seal.open(&frame[at..]).map(<[u8]>::to_vec)
        };
        assert_eq!(read(&whole).unwrap(), b"{\"a\":1}");
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "cut at {end}");
        }
        for at in 0..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 0x10;
            assert!(read(&bad).is_err(), "changed at {at}");
        }
    }

    #[test]
    fn a_manifest_that_claims_too_much_is_refused() {
        let limits = ArchiveLimits { manifest_bytes: 5, ..Default::default() };
        let frame = Seal::frame(b"123456").unwrap();
        let read = Seal::read(&frame, frame.len() as u64, &limits);
        assert!(matches!(read, Err(ArchiveError::Limit { found: 6, limit: 5, .. })));
        let short = Seal::read(&frame, frame.len() as u64 - 1, &ArchiveLimits::default());
        assert_eq!(short, Err(ArchiveError::NoSeal));
    }
}
