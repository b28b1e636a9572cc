//! How much an archived conversation may claim, and how large the archive may become.

/// The largest archived conversation that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// The longest manifest, in bytes.
    pub manifest_bytes: u64,
    /// The longest summary in it, in bytes: what it holds takes many times as much memory.
    pub summary_bytes: u64,
    /// The most files.
    pub files: u64,
    /// The most bytes of all files together.
    pub total_bytes: u64,
    /// How many times longer than its compressed form a file may be. Transcripts have 3 to 200: Claude
    /// repeats whole messages in them.
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

/// How many of the archived conversations, the first ones first, must go so that the others fit into `limit`
/// bytes. `sizes` are their compressed lengths in bytes, the oldest first.
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
