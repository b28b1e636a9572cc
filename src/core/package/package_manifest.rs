//! The manifest: what a package has, with lengths and hashes.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{FORMAT, PackageError, PackageLimits, PackageName, VERSION};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageKind {
    /// Conversations that go to another machine.
    Conversations,
    /// Everything that hopty keeps.
    Backup,
}

impl fmt::Display for PackageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PackageKind::Conversations => "conversations",
            PackageKind::Backup => "a backup",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageFile {
    pub name: PackageName,
    /// Its length in bytes.
    pub bytes: u64,
    /// The SHA-256 of its content, 64 hexadecimal digits.
    pub sha256: String,
    /// When it was written last, in milliseconds since 1970.
    #[serde(default)]
    pub modified_ms: u64,
    /// Whether it is a program that its owner may run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PackageManifest {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    pub kind: PackageKind,
    /// The version of the hopty that wrote it.
    pub hopty: String,
    /// When it was written, in milliseconds since 1970.
    pub created_ms: u64,
    /// What only this kind of package knows.
    #[serde(default)]
    pub info: Value,
    /// Its files, in the order in which they follow.
    pub files: Vec<PackageFile>,
}

impl PackageManifest {
    /// A manifest of this version.
    #[must_use]
    pub fn new(kind: PackageKind, created_ms: u64, info: Value, files: Vec<PackageFile>) -> Self {
        PackageManifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            kind,
            hopty: env!("CARGO_PKG_VERSION").to_owned(),
            created_ms,
            info,
            files,
        }
    }

    /// Reads a manifest and checks everything that can be known from it alone.
    ///
    /// # Errors
    /// When it is none, has another version, names a file that must not be there, or exceeds a limit.
    pub fn parse(bytes: &[u8], limits: &PackageLimits) -> Result<Self, PackageError> {
        let none = |why: &dyn fmt::Display| PackageError::NotAPackage(format!("its manifest: {why}"));
        // The version first: a later one may have another form.
        let head: Head<'_> = serde_json::from_slice(bytes).map_err(|error| none(&error))?;
        if head.format != FORMAT {
            return Err(none(&"another format"));
        }
        if head.version != u64::from(VERSION) {
            return Err(PackageError::Version(head.version));
        }
        let info = head.info.map_or(0, |info| info.get().len() as u64);
        within("bytes of its list", info, limits.info_bytes)?;
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| none(&error))?;
        manifest.check(limits)?;
        Ok(manifest)
    }

    /// Checks names, lengths and numbers.
    ///
    /// # Errors
    /// The first of them that is wrong.
    pub fn check(&self, limits: &PackageLimits) -> Result<(), PackageError> {
        within("files", self.files.len() as u64, limits.files)?;
        let mut names: HashSet<&str> = HashSet::with_capacity(self.files.len());
        let mut total: u64 = 0;
        for file in &self.files {
            file.name.check()?;
            if !names.insert(file.name.as_str()) {
                return Err(PackageError::Duplicate(file.name.to_string()));
            }
            let is_hash = file.sha256.len() == 64
                && file.sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            if !is_hash {
                return Err(PackageError::Hash(file.name.to_string()));
            }
            within("bytes of one file", file.bytes, limits.file_bytes)?;
            total = total.saturating_add(file.bytes);
        }
        within("bytes of all files", total, limits.total_bytes)?;
        let mut directories = self.files.iter().flat_map(|file| file.name.directories());
        match directories.find(|dir| names.contains(dir)) {
            Some(both) => Err(PackageError::Duplicate(both.to_owned())),
            None => Ok(()),
        }
    }

    /// The bytes of all files together.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// As it is written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

/// What every version of a manifest has.
#[derive(Deserialize)]
struct Head<'a> {
    format: String,
    version: u64,
    #[serde(default, borrow)]
    info: Option<&'a RawValue>,
}

fn within(what: &'static str, found: u64, limit: u64) -> Result<(), PackageError> {
    match found > limit {
        true => Err(PackageError::Limit { what, found, limit }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::PackageNameError;
    use super::*;

    fn file(name: &str, bytes: u64) -> Value {
        json!({"name": name, "bytes": bytes, "sha256": "0".repeat(64)})
    }

    fn parse(files: &[Value]) -> Result<PackageManifest, PackageError> {
        let limits = PackageLimits { files: 3, file_bytes: 10, total_bytes: 15, ..Default::default() };
        let manifest = json!({
            "format": FORMAT, "version": 1, "kind": "conversations", "hopty": "0", "created_ms": 1,
            "files": files, "later": "ignored",
        });
        PackageManifest::parse(manifest.to_string().as_bytes(), &limits)
    }

    #[test]
    fn it_reads_what_it_writes() {
        let manifest = parse(&[file("a/b", 1), file("a/c", 2)]).unwrap();
        let again = PackageManifest::parse(&manifest.to_bytes(), &PackageLimits::default()).unwrap();
        assert_eq!(again, manifest);
        assert_eq!(again.total_bytes(), 3);
    }

    #[test]
    fn names_that_collide_or_escape_are_refused() {
        let duplicate = |name: &str| Err(PackageError::Duplicate(name.to_owned()));
        assert_eq!(parse(&[file("a", 1), file("a", 1)]), duplicate("a"));
        assert_eq!(parse(&[file("a/b/c", 1), file("a", 1)]), duplicate("a"));
        let escapes = PackageError::Name { name: "../a".to_owned(), why: PackageNameError::Escapes };
        assert_eq!(parse(&[file("../a", 1)]), Err(escapes));
        assert!(parse(&[file("a", 1), file("a.b", 1), file("ab/c", 1)]).is_ok());
    }

    #[test]
    fn more_than_a_limit_is_refused() {
        let limit = |files: &[Value]| match parse(files) {
            Err(PackageError::Limit { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(limit(&["a", "b", "c", "d"].map(|name| file(name, 1))), "files");
        assert_eq!(limit(&[file("a", 11)]), "bytes of one file");
        assert_eq!(limit(&[file("a", 10), file("b", 6)]), "bytes of all files");
        assert_eq!(limit(&[file("a", 9), file("b", u64::MAX)]), "bytes of one file");
        // What it holds takes 16 times as much memory.
        let list = format!("[{}0]", "0,".repeat(1 << 19));
        let manifest = format!(r#"{{"format":"{FORMAT}","version":1,"info":{list},"files":0}}"#);
        let parsed = PackageManifest::parse(manifest.as_bytes(), &PackageLimits::default());
        assert!(matches!(parsed, Err(PackageError::Limit { what: "bytes of its list", .. })));
    }

    #[test]
    fn other_versions_and_other_things_are_refused() {
        let of = |text: &str| PackageManifest::parse(text.as_bytes(), &PackageLimits::default());
        let later = r#"{"format":"hopty-package","version":2,"files":{"a":1}}"#;
        assert_eq!(of(later), Err(PackageError::Version(2)));
        for text in
            ["", "{}", "[]", r#"{"format":"x","version":1}"#, r#"{"format":"hopty-package","version":1}"#]
        {
            assert!(matches!(of(text), Err(PackageError::NotAPackage(_))), "{text}");
        }
        let mut bad = file("a", 1);
        bad["sha256"] = json!("zz");
        assert_eq!(parse(&[bad]), Err(PackageError::Hash("a".to_owned())));
    }
}
