//! The keys of git's configuration that are copied from the person's and the repository's configuration.
//!
//! This is an allow list: no key that runs something is on it, whether known or not. The keys on it only
//! determine how files are compared and which remote branch a branch follows.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::ask_git::GitError;

/// How files are compared, listed and shown. None of them names a program.
const PLAIN: [&str; 21] = [
    "core.attributesfile", "core.autocrlf", "core.checkstat", "core.eol", "core.excludesfile",
    "core.filemode", "core.ignorecase", "core.precomposeunicode", "core.sparsecheckout",
    "core.sparsecheckoutcone", "core.symlinks", "core.trustctime", "diff.algorithm", "diff.context",
    "diff.indentheuristic", "diff.interhunkcontext", "diff.renamelimit", "diff.renames", "index.sparse",
    "status.renamelimit", "status.renames",
];
/// Extensions of the repository format that do not concern a reader.
const SILENT: [&str; 7] = [
    "noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees", "worktreeconfig",
    "compatobjectformat",
];
/// The longest value that is copied, in bytes.
const VALUE_CAP: usize = 4096;
/// The most keys that are copied.
const KEYS_CAP: usize = 64;

/// A key and its value, as `git config --list -z` prints them: section and name in lower case.
type Pair<'a> = (&'a str, &'a [u8]);

/// All keys in one output of `git config --list -z`. Keys that are not UTF-8 are ignored.
#[derive(Debug, Default)]
pub(super) struct GitKeys(Vec<u8>);

impl GitKeys {
    pub(super) fn new(listed: Vec<u8>) -> Self {
        Self(listed)
    }

    /// Appends `others`, which take precedence.
    pub(super) fn then(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    fn pairs(&self) -> impl DoubleEndedIterator<Item = Pair<'_>> {
        let whole = self.0.split(|byte| *byte == 0).filter(|field| !field.is_empty());
        whole.filter_map(|field| {
            let end = field.iter().position(|byte| *byte == b'\n');
            // A key without an equals sign is true.
            let (key, value) = end.map_or((field, &b"true"[..]), |end| (&field[..end], &field[end + 1..]));
            Some((std::str::from_utf8(key).ok()?, value))
        })
    }

    /// The values of a key; the last one counts.
    pub(super) fn all<'a>(&'a self, key: &'a str) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        self.pairs().filter(move |(name, _)| *name == key).map(|(_, value)| value)
    }

    pub(super) fn last<'a>(&'a self, key: &'a str) -> Option<&'a [u8]> {
        self.all(key).next_back()
    }

    /// Whether a key is set to true.
    pub(super) fn is_true(&self, key: &str) -> bool {
        self.last(key).is_some_and(|value| {
            ["true", "yes", "on", "1"].iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
        })
    }

    /// The keys that may be copied, in order; of branches, only the remote branch that `branch` follows.
    pub(super) fn harmless(&self, branch: Option<&str>) -> Vec<(String, OsString)> {
        let mut wanted: Vec<String> = PLAIN.map(str::to_owned).to_vec();
        if let Some(branch) = branch {
            let [remote, merge] = ["remote", "merge"].map(|key| format!("branch.{branch}.{key}"));
            let followed = self.last(&remote).and_then(|name| std::str::from_utf8(name).ok());
            wanted.extend(followed.map(|name| format!("remote.{name}.fetch")));
            wanted.extend([remote, merge]);
        }
        let pairs = self
            .pairs()
            .filter(|(key, value)| wanted.iter().any(|one| one == key) && value.len() <= VALUE_CAP);
        pairs
            .take(KEYS_CAP)
            .map(|(key, value)| (key.to_owned(), OsString::from_vec(value.to_vec())))
            .collect()
    }

    /// The repository format as a configuration file.
    ///
    /// # Errors
    /// When the format is not known here.
    pub(super) fn format(&self) -> Result<String, GitError> {
        let version = self.last("core.repositoryformatversion").unwrap_or(b"0");
        let unknown = |what: &str| GitError::Failed(format!("unknown format: {what}"));
        let mut text = "[core]\n\tbare = false\n".to_owned();
        match version.trim_ascii() {
            b"0" => return Ok(text + "\trepositoryformatversion = 0\n"),
            b"1" => text += "\trepositoryformatversion = 1\n[extensions]\n",
            other => return Err(unknown(&String::from_utf8_lossy(other))),
        }
        for (key, value) in self.pairs() {
            let Some(name) = key.strip_prefix("extensions.") else { continue };
            // Only constants are written: a value could add lines of its own.
            let word = match (name, value) {
                ("objectformat", b"sha1") => "sha1",
                ("objectformat", b"sha256") => "sha256",
                ("refstorage", b"files") => "files",
                ("refstorage", b"reftable") => "reftable",
                (silent, _) if SILENT.contains(&silent) => continue,
                _ => return Err(unknown(key)),
            };
            text += &format!("\t{name} = {word}\n");
        }
        Ok(text)
    }

    /// Whether the person trusts a work tree of another user (`safe.directory`).
    pub(super) fn trusts(&self, top: &OsStr) -> bool {
        self.all("safe.directory").fold(false, |trusted, value| match value {
            b"" => false,
            b"*" => true,
            value => {
                trusted
                    || value == top.as_bytes()
                    || value
                        .strip_suffix(b"*")
                        .is_some_and(|above| above.ends_with(b"/") && top.as_bytes().starts_with(above))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> GitKeys {
        GitKeys::new(text.replace('|', "\0").into_bytes())
    }

    #[test]
    fn only_keys_on_the_list_pass() {
        let listed = keys(
            "core.autocrlf\ninput|core.fsmonitor\n/evil|filter.core.autocrlf\n/evil|filter.a.clean\n/evil|core.autocrlf.x\n/evil|\
             core.filemode|remote.origin.fetch\n+a:b|remote.evil.fetch\n+c:d|remote.origin.uploadpack\n/evil|\
             branch.m=x.y.remote\norigin|branch.m=x.y.merge\nrefs/heads/up|branch.other.remote\nevil|diff.renames\ncopies\nand more|",
        );
        let taken = listed.harmless(Some("m=x.y"));
        let names: Vec<&str> = taken.iter().map(|(key, _)| key.as_str()).collect();
        let expected = [
            "core.autocrlf", "core.filemode", "remote.origin.fetch", "branch.m=x.y.remote",
            "branch.m=x.y.merge", "diff.renames",
        ];
        assert_eq!(names, expected);
        assert_eq!((taken[1].1.to_str(), taken[5].1.to_str()), (Some("true"), Some("copies\nand more")));
        assert_eq!(listed.harmless(None).len(), 3);
        assert!(keys(&format!("core.eol\n{}|", "x".repeat(5000))).harmless(None).is_empty());
    }

    #[test]
    fn a_format_is_written_anew_or_refused() {
        let format = |text: &str| keys(text).format().map_err(|error| error.to_string());
        let first = "[core]\n\tbare = false\n\trepositoryformatversion = 0\n";
        assert_eq!(format("").unwrap(), first);
        assert_eq!(format("extensions.anything\n1|").unwrap(), first);
        let second = format(
            "core.repositoryformatversion\n1|extensions.objectformat\nsha256|extensions.partialclone\norigin|",
        );
        assert!(second.unwrap().ends_with("= 1\n[extensions]\n\tobjectformat = sha256\n"));
        for odd in [
            "extensions.objectformat\nsha256\n[core]\nfsmonitor=x|",
            "extensions.new\ntrue|",
            "extensions.refstorage\nfiles:x|",
        ] {
            assert!(
                format(&format!("core.repositoryformatversion\n1|{odd}"))
                    .unwrap_err()
                    .contains("unknown format"),
                "{odd}"
            );
        }
        assert!(format("core.repositoryformatversion\n2|").is_err());
    }

    #[test]
    fn trust_in_the_work_trees_of_others_is_the_persons_to_give() {
        let trusts = |text: &str| keys(text).trusts(OsStr::new("/srv/a/b"));
        assert!(!trusts("") && !trusts("safe.directory\n/srv/a|") && !trusts("safe.directory\n/srv/a*|"));
        for value in ["*", "/srv/a/b", "/srv/*", "/srv/a/*"] {
            assert!(trusts(&format!("safe.directory\n{value}|")), "{value}");
            assert!(!trusts(&format!("safe.directory\n{value}|safe.directory\n|")), "{value} is taken back");
        }
    }
}
