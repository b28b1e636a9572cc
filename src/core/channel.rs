//! Which channel a directory's handoffs are kept under (checklist 53, 54, K20).
//!
//! The registry is `C/channel-registry.json`. A directory belongs to the entry whose path is its longest ancestor, by
//! whole components: `/home/j/junipr2` is not under `/home/j/junipr`. Links must be resolved before; nothing is looked
//! up here.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Serialize;

use super::ids::Channel;

/// `{"registry": {DIR: CHANNEL}}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Registry {
    /// Directory to channel name. A name that is no channel is read over, and kept when the file is written again.
    pub registry: BTreeMap<String, String>,
}

impl Registry {
    /// Reads the file's text.
    ///
    /// # Errors
    /// When the text is not JSON of this form.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let mut file: BTreeMap<String, serde_json::Value> = serde_json::from_str(text)?;
        let registry = file.remove("registry").map(serde_json::from_value).transpose()?;
        Ok(Self { registry: registry.unwrap_or_default() })
    }

    /// The file's text.
    #[must_use]
    pub fn render(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// The channel of `dir`, an absolute path with its links resolved; `global` when no entry covers it.
    #[must_use]
    pub fn channel_of(&self, dir: &Path) -> Channel {
        self.registry
            .iter()
            .filter(|(path, _)| covers(Path::new(path), dir))
            .filter_map(|(path, name)| Some((Path::new(path).components().count(), name.parse().ok()?)))
            .max_by_key(|(length, _)| *length)
            .map_or_else(Channel::global, |(_, channel)| channel)
    }

    /// Puts `dir` and everything below it under `channel`.
    pub fn set(&mut self, dir: &Path, channel: &Channel) {
        self.registry.insert(dir.to_string_lossy().into_owned(), channel.to_string());
    }
}

/// Whether `path` is `dir` or an ancestor of it. A relative path, or one with `..`, covers nothing.
fn covers(path: &Path, dir: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir) && dir.starts_with(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dir: &str) -> String {
        let text = r#"{"registry": {"/home/j/junipr": "jun", "/home/j/junipr/sub/": "deep", "/home/j": "j", "rel": "rel",
            "/home/k": "../x", "/home/j/../l": "up"}, "other": 1}"#;
        Registry::parse(text).unwrap().channel_of(Path::new(dir)).to_string()
    }

    #[test]
    fn the_longest_ancestor_wins_by_components() {
        for (dir, channel) in [
            ("/home/j/junipr", "jun"),
            ("/home/j/junipr/x", "jun"),
            ("/home/j/junipr2", "j"),
            ("/home/j/junipr/sub/y", "deep"),
            ("/home/j/junipr/subs", "jun"),
            ("/home", "global"),
            ("/home/k/x", "global"),
            ("/home/l", "global"),
            ("rel", "global"),
        ] {
            assert_eq!(of(dir), channel, "{dir}");
        }
    }

    #[test]
    fn a_registry_is_written_as_it_is_read() {
        let mut registry = Registry::default();
        registry.set(Path::new("/p"), &"chan".parse().unwrap());
        assert_eq!(registry.render(), "{\n  \"registry\": {\n    \"/p\": \"chan\"\n  }\n}\n");
        assert_eq!(Registry::parse(&registry.render()).unwrap(), registry);
        assert!(Registry::parse("[]").is_err());
    }
}
