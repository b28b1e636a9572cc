//! Reading a text byte by byte.

/// Where `part`, which is a piece of `whole`, begins in it, in bytes.
pub(super) fn offset_in(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

/// The end of the run of bytes that are `in_set`, from `from` on.
pub(super) fn run_end(bytes: &[u8], from: usize, in_set: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|b| !in_set(*b)).map_or(bytes.len(), |n| from + n)
}

/// Whether a word can begin at `at`: not in the middle of another, but after an escaped newline or a percent
/// code.
pub(super) fn begins_word(bytes: &[u8], at: usize) -> bool {
    let back = |n: usize| at.checked_sub(n).map(|i| bytes[i]);
    match back(1) {
        None => true,
        Some(b) if !b.is_ascii_alphanumeric() => true,
        Some(b'n' | b'r' | b't' | b'b' | b'f') if back(2) == Some(b'\\') => true,
        Some(b) if b.is_ascii_hexdigit() => {
            back(3) == Some(b'%') || (back(6) == Some(b'\\') && back(5) == Some(b'u'))
        }
        Some(_) => false,
    }
}
