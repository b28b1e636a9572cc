//! How much a package may have: it may come from anybody.

/// The largest package that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackageLimits {
    /// The longest manifest, in bytes.
    pub manifest_bytes: u64,
    /// The longest `info` in it, in bytes: what it holds takes many times as much memory.
    pub info_bytes: u64,
    /// The most files.
    pub files: u64,
    /// The longest file, in bytes.
    pub file_bytes: u64,
    /// The most bytes of all files together.
    pub total_bytes: u64,
    /// How many times longer than the compressed stream its content may be. Gzip itself cannot do more than
    /// 1032; conversations have 5 to 40.
    pub ratio: u64,
    /// Bytes that are unpacked before `ratio` is looked at.
    pub ratio_from: u64,
}

impl Default for PackageLimits {
    fn default() -> Self {
        PackageLimits {
            manifest_bytes: 64 << 20,
            info_bytes: 1 << 20,
            files: 200_000,
            file_bytes: 16 << 30,
            total_bytes: 64 << 30,
            ratio: 300,
            ratio_from: 64 << 20,
        }
    }
}
