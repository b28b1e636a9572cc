//! Old directories with their new ones.

/// Maps a directory and everything below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathMap {
    /// The longest old path first, so that the nearest directory counts.
    pairs: Vec<(String, String)>,
}

impl PathMap {
    /// From pairs of absolute directories, old and new. A pair of equal ones keeps the paths below it.
    #[must_use]
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        let trim = |path: String| path.trim_end_matches('/').to_owned();
        let mut pairs: Vec<(String, String)> = pairs
            .into_iter()
            .map(|(old, new)| (trim(old), trim(new)))
            .filter(|(old, _)| old.starts_with('/'))
            .collect();
        pairs.sort_by_key(|(old, _)| std::cmp::Reverse(old.len()));
        PathMap { pairs }
    }

    /// The new path; `None` if it is unchanged.
    pub fn apply(&self, path: &str) -> Option<String> {
        let (old, new) = self.pairs.iter().find(|(old, _)| is_at_or_below(path, old))?;
        let rest = &path[old.len()..];
        let moved = if new.is_empty() && rest.is_empty() { "/".to_owned() } else { format!("{new}{rest}") };
        (moved != path).then_some(moved)
    }
}

pub(super) fn is_at_or_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_and_what_is_below_it_get_the_new_name() {
        let pair = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        let map = PathMap::new([pair("/a/b", "/x"), pair("/a/b/keep", "/a/b/keep"), pair("/a/b/in/", "/y/")]);
        let to = |path: &str| map.apply(path);
        assert_eq!(to("/a/b").as_deref(), Some("/x"));
        assert_eq!(to("/a/b/c d").as_deref(), Some("/x/c d"));
        assert_eq!(to("/a/b/in/c").as_deref(), Some("/y/c"), "the nearest counts");
        for same in ["/a/bc", "/a", "a/b", "", "/a/b/keep/c", "/z/a/b"] {
            assert_eq!(to(same), None, "{same}");
        }
        let root = PathMap::new([pair("/a", "/")]);
        assert_eq!((root.apply("/a").as_deref(), root.apply("/a/b").as_deref()), (Some("/"), Some("/b")));
        assert_eq!(PathMap::new([pair("", "/x"), pair("rel", "/x")]).apply("/a"), None);
    }
}
