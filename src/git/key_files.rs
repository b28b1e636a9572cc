//! Files whose names suggest that they hold credentials or keys. They are left out of patches.

use std::collections::BTreeSet;

use crate::core::backup::is_secret;

/// The reason in notes.
pub(super) const WHY: &str = "may hold a key, by its name";

/// Directories in which programs keep keys under any name.
const KEY_DIRECTORIES: [&[u8]; 3] = [b".ssh", b".aws", b".gnupg"];

/// Whether a path, plain or as git quotes it, is that of such a file.
pub(super) fn is_key_file(path: &[u8]) -> bool {
    is_secret(&name(path)) || path.split(|byte| *byte == b'/').any(|part| KEY_DIRECTORIES.contains(&part))
}

fn name(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    let name = text.rsplit('/').next().unwrap_or_default();
    name.trim_end_matches('"').to_owned()
}

/// Removes such files from a git patch, including those that were renamed from such a name; their names are
/// added to `left_out`. Outside of headers no line of a patch starts like one of a header.
pub(super) fn without_key_files(patch: Vec<u8>, left_out: &mut BTreeSet<String>) -> Vec<u8> {
    let mut is_left_out = false;
    let mut new = Vec::with_capacity(patch.len());
    let mut part = 0;
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let after = |begins: &[&[u8]]| {
            let path = begins.iter().find_map(|begin| line.strip_prefix(*begin))?;
            Some(path.strip_suffix(b"\n").unwrap_or(path))
        };
        let first = after(&[b"diff --git ", b"diff --cc ", b"diff --combined "]);
        if first.is_some() {
            (is_left_out, part) = (false, new.len());
        }
        if let Some(path) = first.or_else(|| after(&[b"rename from ", b"copy from "]))
            && is_key_file(path)
        {
            is_left_out = true;
            new.truncate(part);
            left_out.insert(name(path));
        }
        if !is_left_out {
            new.extend_from_slice(line);
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_key_files_go() {
        let part =
            |path: &str, text: &str| format!("diff --git a/{path} b/{path}\n@@ -1 +1 @@\n-x\n+{text}\n");
        let (first, last) = (part("a b/main.rs", "diff --git a/x b/.env"), part("z", "1"));
        let keys = part("b/.env", "KEY=1") + "diff --git \"a/n\\n.pem\" \"b/n\\n.pem\"\n+x\n";
        let merged = "diff --cc id_rsa\nindex 1,2..3\n++x\n";
        let renamed = "diff --git a/d/prod.env b/settings.txt\nsimilarity index 90%\nrename from d/prod.env\n\
                       rename to settings.txt\n@@ -1 +1,2 @@\n KEY=1\n+rename from x\n";
        let below = part(".ssh/config", "1");
        let patch = format!("{first}{keys}{merged}{renamed}{below}{last}");
        let mut left_out = BTreeSet::new();
        let new = without_key_files(patch.into_bytes(), &mut left_out);
        assert_eq!(String::from_utf8(new).unwrap(), format!("{first}{last}"));
        assert_eq!(
            left_out.into_iter().collect::<Vec<_>>(),
            [".env", "config", "id_rsa", "n\\n.pem", "prod.env"]
        );
    }
}
