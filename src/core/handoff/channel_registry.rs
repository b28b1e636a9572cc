//! The channel of each directory.
//!
//! The registry is `C/channel-registry.json`. A directory belongs to the entry whose path is its longest
//! ancestor, by whole components: `/home/j/junipr2` is not below `/home/j/junipr`. The caller resolves links.

use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};
use thiserror::Error;

use crate::core::ids::Channel;

const FIELD: &str = "registry";

#[derive(Debug, Error)]
pub enum BadRegistry {
    #[error("it is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it is not of the form {{\"registry\": {{DIRECTORY: CHANNEL}}}}")]
    Form,
}

/// `{"registry": {DIR: CHANNEL}}`; other content of the file is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Registry {
    file: Map<String, Value>,
}

impl Registry {
    /// Parses the file.
    ///
    /// # Errors
    /// When the text is not JSON of this form.
    pub fn parse(text: &str) -> Result<Self, BadRegistry> {
        let Value::Object(file) = serde_json::from_str(text)? else { return Err(BadRegistry::Form) };
        match file.get(FIELD) {
            None | Some(Value::Object(_)) => Ok(Self { file }),
            Some(_) => Err(BadRegistry::Form),
        }
    }

    pub fn render(&self) -> String {
        serde_json::to_string_pretty(&self.file).map(|text| text + "\n").unwrap_or_default()
    }

    /// Every entry of the file: a directory and its value.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.file
            .get(FIELD)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(dir, name)| (dir.as_str(), name))
    }

    /// The entry that covers `dir`, an absolute path without links: the longest ancestor, as the file spells
    /// it. `resolve` returns the path of an entry without links, if it can. Entries without a valid channel
    /// are skipped.
    pub fn covering(
        &self,
        dir: &Path,
        resolve: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Option<(&str, Channel)> {
        let sound = self.entries().filter(|(path, _)| is_sound(Path::new(path)));
        let named = sound.filter_map(|(path, name)| Some((path, name.as_str()?.parse().ok()?)));
        named
            .filter_map(|(path, channel): (&str, Channel)| {
                let real = resolve(Path::new(path)).unwrap_or_else(|| PathBuf::from(path));
                dir.starts_with(&real).then(|| (real.components().count(), path, channel))
            })
            .max_by_key(|(length, ..)| *length)
            .map(|(_, path, channel)| (path, channel))
    }

    /// Puts `dir`, an absolute path without links, and everything below it under `channel`, and replaces
    /// entries for the same directory.
    pub fn set(&mut self, dir: &str, channel: &Channel, resolve: impl Fn(&Path) -> Option<PathBuf>) {
        let entries = self.file.entry(FIELD).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(entries) = entries {
            let same =
                |path: &str| resolve(Path::new(path)).as_deref().unwrap_or(Path::new(path)) == Path::new(dir);
            entries.retain(|path, _| !(is_sound(Path::new(path)) && same(path)));
            entries.insert(dir.to_owned(), Value::String(channel.to_string()));
        }
    }
}

/// A relative path or one with `..` covers nothing.
fn is_sound(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dir: &str) -> String {
        let text = r#"{"registry": {"/home/j/junipr": "jun", "/home/j/junipr/sub/": "deep", "/home/j": "j", "rel": "rel",
            "/home/k": "../x", "/home/j/../l": "up", "/home/m": 7, "/home/n": ["x"], "": "empty", "/link": "linked"}, "other": 1}"#;
        let resolve =
            |path: &Path| (path == Path::new("/link")).then(|| PathBuf::from("/home/j/junipr/real"));
        let registry = Registry::parse(text).unwrap();
        registry
            .covering(Path::new(dir), resolve)
            .map_or_else(|| "global".to_owned(), |(_, channel)| channel.to_string())
    }

    #[test]
    fn item_053_the_longest_ancestor_wins_by_components() {
        for (dir, channel) in [
            ("/home/j/junipr", "jun"),
            ("/home/j/junipr/x", "jun"),
            ("/home/j/junipr2", "j"),
            ("/home/j/junipr/sub/y", "deep"),
            ("/home/j/junipr/subs", "jun"),
            ("/home/j/junipr/real/z", "linked"),
            ("/home", "global"),
            ("/home/k/x", "global"),
            ("/home/l", "global"),
            ("/home/m", "global"),
            ("/home/n", "global"),
            ("rel", "global"),
        ] {
            assert_eq!(of(dir), channel, "{dir}");
        }
    }

    #[test]
    fn a_registry_is_written_as_it_is_read() {
        let mut registry = Registry::default();
        registry.set("/p", &"chan".parse().unwrap(), |_| None);
        assert_eq!(registry.render(), "{\n  \"registry\": {\n    \"/p\": \"chan\"\n  }\n}\n");
        assert_eq!(Registry::parse(&registry.render()).unwrap(), registry);
        for text in ["[]", "1", "{\"registry\":[]}", "{\"registry\":7}", "{", ""] {
            assert!(Registry::parse(text).is_err(), "{text}");
        }
        assert!(Registry::parse("{}").unwrap().covering(Path::new("/p"), |_| None).is_none());
    }

    #[test]
    fn unknown_content_of_a_registry_is_kept() {
        let text = r#"{"registry": {"/p/": "old", "/q": 7, "rel": "x", "/r": "../x"}, "more": {"a": [1]}}"#;
        let mut registry = Registry::parse(text).unwrap();
        registry.set("/p", &"new".parse().unwrap(), |_| None);
        let now: Value = serde_json::from_str(&registry.render()).unwrap();
        assert_eq!(
            now,
            serde_json::json!({"registry": {"/p": "new", "/q": 7, "rel": "x", "/r": "../x"},
                "more": {"a": [1]}})
        );
    }
}
