//! Finds front matter of an agent's file that can run code, through hooks or MCP servers.
//!
//! The YAML is not parsed. Front matter that cannot contain either key in any spelling is ignored; any other
//! counts as a whole.

/// The front matter: everything up to a line of three dashes, or the whole file without such a line. Claude
/// may end it earlier. `None` if the file begins with something else.
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

/// Whether the front matter may define hooks or servers: it contains the key, or a character with which YAML
/// can spell or repeat a key in another way.
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
