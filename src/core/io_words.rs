//! System errors for people, without the number of the error.

use std::fmt::Display;

/// The text of `error` without ` (os error 2)` and without the temporary file name of a failed write, which
/// tell a person nothing.
pub fn io_words(error: impl Display) -> String {
    let mut text = error.to_string();
    let mut from = 0;
    while let Some(at) = text[from..].find(" (os error ").map(|at| from + at) {
        let digits = at + " (os error ".len();
        let number = text[digits..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| digits + n);
        if number > digits && text[number..].starts_with(')') {
            text.replace_range(at..=number, "");
            from = at;
        } else {
            from = digits;
        }
    }
    // The text of an error that did not come from the system.
    let mut text = text.replace("entity not found", "No such file or directory");
    // tempfile names the file that it could not create; the message already names the wanted one.
    if let Some(at) = text.find(" at path \"").filter(|_| text.contains("/.hopty-") && text.ends_with('"')) {
        text.truncate(at);
    }
    text
}

/// The beginning of the names of hopty's temporary files.
pub const TEMPORARY: &str = ".hopty-tmp-";

#[cfg(test)]
mod tests {
    use std::io::Error;

    use super::*;

    #[test]
    fn a_number_of_an_error_is_left_out_and_nothing_else() {
        assert_eq!(io_words(Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(io_words(Error::from(std::io::ErrorKind::NotFound)), "No such file or directory");
        let two = "a: No such file (os error 2), and b: Permission denied (os error 13)";
        assert_eq!(io_words(two), "a: No such file, and b: Permission denied");
        for same in ["x (os error )", "x (os error 2", "x (os error two)", "it said (os error "] {
            assert_eq!(io_words(same), same);
        }
        let of_tempfile = "No such file or directory (os error 2) at path \"/nowhere/.hopty-tmp-vqXnWb\"";
        assert_eq!(io_words(of_tempfile), "No such file or directory");
        assert_eq!(io_words("refused at path \"/p\""), "refused at path \"/p\"");
    }
}
