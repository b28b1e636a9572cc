//! Limits of an archived conversation, and of the whole archive.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    pub manifest_bytes: u64,
    /// In bytes: parsed, it takes many times as much memory.
    pub summary_bytes: u64,
    pub files: u64,
    pub total_bytes: u64,
    /// The highest compression ratio of a file. Transcripts have 3 to 200, because Claude repeats whole
    /// messages.
    pub ratio: u64,
    /// Files up to this length may have any ratio, in bytes.
    pub ratio_from: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        ArchiveLimits {
            manifest_bytes: 64 << 20,
            summary_bytes: 1 << 20,
            files: 200_000,
            total_bytes: 64 << 30,
            ratio: 5_000,
            ratio_from: 64 << 20,
        }
    }
}

/// How many archived conversations, from the first one on, must be deleted so that the others fit into
/// `limit` bytes. `sizes`: their compressed lengths in bytes, the oldest first.
pub fn over_limit(sizes: &[u64], limit: u64) -> usize {
    let mut total = sizes.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    sizes
        .iter()
        .take_while(|bytes| {
            let is_over = total > limit;
            total -= **bytes;
            is_over
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_until_the_others_fit() {
        for (sizes, limit, gone) in [
            (&[][..], 0, 0),
            (&[1], 0, 1),
            (&[5, 3, 2], 10, 0),
            (&[5, 3, 2], 9, 1),
            (&[5, 3, 2], 5, 1),
            (&[5, 3, 2], 4, 2),
            (&[5, 3, 2], 0, 3),
        ] {
            assert_eq!(over_limit(sizes, limit), gone, "{sizes:?} {limit}");
        }
    }
}
