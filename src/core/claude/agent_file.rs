//! What of an agent's file may run code: the front matter, where it may bring hooks or servers.
//!
//! It is not parsed. What cannot hold either of the two keys, however it is written, is passed over;
//! everything else counts whole.

/// The front matter of an agent's file: up to a line of three dashes alone, or all of it where there is no
/// such line. Claude may see the end earlier. `None` where the file begins with something else.
pub fn front_matter(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let inner = text.strip_prefix("---")?;
    let mut at = 0;
    for (number, line) in inner.split_inclusive('\n').enumerate() {
        if number > 0 && line.trim_end() == "---" {
            return Some(&inner[..at]);
        }
        at += line.len();
    }
    Some(inner)
}

/// Whether front matter may have hooks or servers: it has the key, or a character by which YAML writes or
/// repeats one in another way.
pub fn may_run_code(front: &str) -> bool {
    let lower = front.to_ascii_lowercase();
    ["hooks", "mcpservers"].iter().any(|key| lower.contains(key))
        || front.contains(['\\', '{', '&', '*', '!', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_ends_with_a_line_of_dashes() {
        for (text, expected) in [
            ("---\nname: a\n---\nbody", Some("\nname: a\n")),
            ("\u{feff}\n---\r\nname: a\r\n---  \r\nbody\n---\n", Some("\r\nname: a\r\n")),
            ("---\ndescription: a --- b\nhooks: x\n---\n", Some("\ndescription: a --- b\nhooks: x\n")),
            ("---\na: |\n  ---\nhooks: x\n---\n", Some("\na: |\n  ---\nhooks: x\n")),
            ("---\nname: a\nhooks: x\n", Some("\nname: a\nhooks: x\n")),
            ("name: a\n---\nhooks: x\n---\n", None),
            ("", None),
        ] {
            assert_eq!(front_matter(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_key_that_is_written_in_another_way_counts() {
        for (front, expected) in [
            ("name: a\ntools: Read, Bash\ndescription: is kind", false),
            ("hooks:\n  Stop: x", true),
            ("\"hooks\": x", true),
            ("mcpServers: [x]", true),
            ("\"\\u0068ooks\": x", true),
            ("{name: a}", true),
            ("? name\n: a", true),
            ("x: &x y\n*x : z", true),
            ("!!str name: a", true),
        ] {
            assert_eq!(may_run_code(front), expected, "{front}");
        }
    }
}
