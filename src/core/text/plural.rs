/// `1 file`, `2 files`, `0 files`, for a noun whose plural ends in `s`.
pub fn plural(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", plural_end(number as u64))
}

/// The ending of such a noun: nothing for one, else `s`.
pub fn plural_end(number: u64) -> &'static str {
    if number == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_thing_has_no_s() {
        assert_eq!([0, 1, 2].map(|n| plural(n, "file")), ["0 files", "1 file", "2 files"]);
    }
}
