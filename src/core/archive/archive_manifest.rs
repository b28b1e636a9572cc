//! The manifest of an archived conversation: its files with their lengths, hashes and times.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ArchiveError, ArchiveLimits};
use crate::core::conversation::file_role::FileRole;
use crate::core::ids::ConversationId;
use crate::core::time::WallTime;

pub const FORMAT: &str = "hopty-archive";
/// The version of the format that this hopty writes, and the only one that it reads.
pub const VERSION: u64 = 1;
/// The longest name, in bytes.
const NAME_BYTES: usize = 2048;
/// The longest part between two slashes, in bytes, as in every file system.
const PART_BYTES: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedFile {
    /// Its path below Claude's directory, such as `projects/-home-u-web/ID.jsonl`.
    pub name: String,
    pub bytes: u64,
    /// 64 hexadecimal digits.
    pub sha256: String,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: u64,
    /// Its permissions, such as 0o600.
    pub mode: u32,
    /// The offset of its frame, in bytes.
    pub offset: u64,
    /// The length of its frame, in bytes.
    pub packed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArchiveManifest {
    pub format: String,
    pub version: u64,
    pub conversation: ConversationId,
    /// The directory below `projects` that it was in.
    pub project: String,
    pub archived_at: WallTime,
    /// The version of the hopty that archived it.
    pub hopty: String,
    /// The summary for a list.
    #[serde(default)]
    pub summary: Value,
    /// The transcript comes first.
    pub files: Vec<ArchivedFile>,
}

impl ArchivedFile {
    /// Whether it is a script that hooks wrote for Claude's shell to source (`session-env`). Archives of
    /// older versions have them. They are never restored: hooks write them again.
    pub fn is_hook_script(&self) -> bool {
        self.name.starts_with("session-env/")
    }
}

impl ArchiveManifest {
    /// A manifest of this version without files.
    #[must_use]
    pub fn new(conversation: ConversationId, project: String, archived_at: WallTime, summary: Value) -> Self {
        ArchiveManifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            conversation,
            project,
            archived_at,
            hopty: env!("CARGO_PKG_VERSION").to_owned(),
            summary,
            files: Vec::new(),
        }
    }

    /// The name of the conversation's transcript.
    pub fn transcript_name(project: &str, conversation: &ConversationId) -> String {
        format!("projects/{project}/{conversation}.jsonl")
    }

    pub fn transcript(&self) -> Option<&ArchivedFile> {
        self.files.first()
    }

    pub fn agents(&self) -> impl Iterator<Item = &ArchivedFile> {
        let below = format!("projects/{}/{}/subagents/", self.project, self.conversation);
        let beside = format!("projects/{}/agent-", self.project);
        self.files.iter().skip(1).filter(move |file| {
            file.name.ends_with(".jsonl") && (file.name.starts_with(&below) || file.name.starts_with(&beside))
        })
    }

    pub fn by_name(&self) -> HashMap<&str, &ArchivedFile> {
        self.files.iter().map(|file| (file.name.as_str(), file)).collect()
    }

    /// The length of all files before compression.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }

    /// The files that are restored, the transcript first: all but the scripts of hooks.
    pub fn restored(&self) -> impl Iterator<Item = &ArchivedFile> {
        self.files.iter().filter(|file| !file.is_hook_script())
    }

    /// Whether `name` is a path below Claude's directory that belongs to this conversation and to no other,
    /// so that a manifest cannot name settings or another conversation.
    pub fn owns(&self, name: &str) -> bool {
        let id = self.conversation.as_str();
        let project = format!("projects/{}/", self.project);
        let below = |dir: &str| name.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        is_plain(name)
            && is_plain(&self.project)
            && !self.project.contains('/')
            && (name == Self::transcript_name(&self.project, &self.conversation)
                || below(&format!("{project}{id}"))
                || name
                    .strip_prefix(&format!("{project}agent-"))
                    .is_some_and(|rest| rest.ends_with(".jsonl") && !rest.contains('/'))
                || FileRole::id_directories().any(|(_, dir)| below(&format!("{dir}/{id}")))
                || name == format!("debug/{id}.txt")
                || name
                    .strip_prefix("plans/")
                    .is_some_and(|rest| rest.ends_with(".md") && !rest.contains('/'))
                || name
                    .strip_prefix("todos/")
                    .is_some_and(|rest| rest.starts_with(id) && !rest.contains('/')))
    }

    /// Parses a manifest and checks it as far as it can be checked alone. `end`: the offset of its frame in
    /// bytes; the files are before it.
    ///
    /// # Errors
    /// When it is no manifest, has another version, names a file that does not belong there, or exceeds a
    /// limit.
    pub fn parse(bytes: &[u8], end: u64, limits: &ArchiveLimits) -> Result<Self, ArchiveError> {
        let damaged = |error: serde_json::Error| ArchiveError::Manifest(error.to_string());
        // The version first, because a later one may have another form.
        let head: ArchiveHead<'_> = serde_json::from_slice(bytes).map_err(damaged)?;
        if head.format != FORMAT {
            return Err(ArchiveError::Manifest("it has another format".to_owned()));
        }
        if head.version != VERSION {
            return Err(ArchiveError::Version(head.version));
        }
        let summary = head.summary.map_or(0, |summary| summary.get().len() as u64);
        within("bytes of its summary", summary, limits.summary_bytes)?;
        let manifest: Self = serde_json::from_slice(bytes).map_err(damaged)?;
        manifest.check(end, limits)?;
        Ok(manifest)
    }

    fn check(&self, end: u64, limits: &ArchiveLimits) -> Result<(), ArchiveError> {
        within("files", self.files.len() as u64, limits.files)?;
        let first = self.files.first().map(|file| file.name.as_str());
        if first != Some(&Self::transcript_name(&self.project, &self.conversation)) {
            return Err(ArchiveError::Name(first.unwrap_or_default().to_owned()));
        }
        let mut names: HashSet<&str> = HashSet::with_capacity(self.files.len());
        let mut offset = 0;
        for file in &self.files {
            if !self.owns(&file.name) {
                return Err(ArchiveError::Name(file.name.clone()));
            }
            if !names.insert(&file.name) {
                return Err(ArchiveError::Duplicate(file.name.clone()));
            }
            let place_end = file.offset.checked_add(file.packed);
            if file.offset != offset || place_end.is_none_or(|at| at > end) {
                return Err(ArchiveError::Place(file.name.clone()));
            }
            offset += file.packed;
            if file.bytes > limits.ratio_from {
                within("times its compressed length", file.bytes / file.packed.max(1), limits.ratio)?;
            }
        }
        if offset != end {
            return Err(ArchiveError::Place("its manifest".to_owned()));
        }
        within("bytes of all files", self.total_bytes(), limits.total_bytes)?;
        let above = |name: &'_ str| -> Vec<String> {
            name.match_indices('/').map(|(at, _)| name[..at].to_owned()).collect()
        };
        match self.files.iter().flat_map(|file| above(&file.name)).find(|dir| names.contains(dir.as_str())) {
            Some(both) => Err(ArchiveError::Duplicate(both)),
            None => Ok(()),
        }
    }

    /// Whether this has everything that `earlier` has: every file of it with the same content or more.
    /// `begins`: whether a file of this one begins with that many bytes of that hash.
    pub fn covers(&self, earlier: &ArchiveManifest, begins: impl Fn(&str, u64, &str) -> bool) -> bool {
        let files = self.by_name();
        earlier.restored().all(|old| {
            files.get(old.name.as_str()).is_some_and(|new| {
                (new.bytes == old.bytes && new.sha256 == old.sha256)
                    || (new.bytes >= old.bytes && begins(&old.name, old.bytes, &old.sha256))
            })
        })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Whether a name stays below its directory and has only usual characters.
fn is_plain(name: &str) -> bool {
    name.len() <= NAME_BYTES
        && !name.chars().any(char::is_control)
        && name.split('/').all(|part| !matches!(part, "" | "." | "..") && part.len() <= PART_BYTES)
}

/// The part that every version of a manifest has.
#[derive(Deserialize)]
struct ArchiveHead<'a> {
    format: String,
    version: u64,
    #[serde(default, borrow)]
    summary: Option<&'a RawValue>,
}

fn within(what: &'static str, found: u64, limit: u64) -> Result<(), ArchiveError> {
    match found > limit {
        true => Err(ArchiveError::Limit { what, found, limit }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";

    fn file(name: &str, offset: u64, packed: u64) -> Value {
        json!({"name": name, "bytes": 10, "sha256": "00", "modified_ns": 1, "mode": 384,
               "offset": offset, "packed": packed})
    }

    fn main_file() -> Value {
        file(&format!("projects/-home-u/{ID}.jsonl"), 0, 5)
    }

    fn parse_in(project: &str, files: &[Value], end: u64) -> Result<ArchiveManifest, ArchiveError> {
        let manifest = json!({
            "format": FORMAT, "version": 1, "conversation": ID, "project": project, "archived_at": 1,
            "hopty": "0", "later": true, "files": files,
        });
        ArchiveManifest::parse(manifest.to_string().as_bytes(), end, &ArchiveLimits::default())
    }

    fn parse(files: &[Value], end: u64) -> Result<ArchiveManifest, ArchiveError> {
        parse_in("-home-u", files, end)
    }

    #[test]
    fn it_reads_what_it_writes() {
        let manifest = parse(&[main_file(), file(&format!("tasks/{ID}/1.json"), 5, 3)], 8).unwrap();
        let again = ArchiveManifest::parse(&manifest.to_bytes(), 8, &ArchiveLimits::default()).unwrap();
        assert_eq!(again, manifest);
        assert_eq!(again.total_bytes(), 20);
    }

    #[test]
    fn only_files_of_the_conversation_are_taken() {
        let ours = [
            format!("projects/-home-u/{ID}/subagents/agent-1.jsonl"),
            format!("projects/-home-u/{ID}/x"),
            format!("file-history/{ID}/a@v1"),
            format!("todos/{ID}-agent-{ID}.json"),
            "projects/-home-u/agent-a1.jsonl".to_owned(),
            "plans/sleepy-cat.md".to_owned(),
            format!("debug/{ID}.txt"),
        ];
        for name in &ours {
            assert!(parse(&[main_file(), file(name, 5, 1)], 6).is_ok(), "{name}");
        }
        let others = [
            "settings.json".to_owned(),
            "/etc/passwd".to_owned(),
            "plans/../settings.md".to_owned(),
            "commands/x.md".to_owned(),
            "projects/-home-u/agent-a/x.jsonl".to_owned(),
            format!("projects/-home-u/{ID}/../../../settings.json"),
            format!("projects/-home-u/{ID}"),
            format!("projects/-home-u/{ID}/"),
            format!("projects/-home-u/{ID}/a//b"),
            format!("projects/-home-u/{ID}/a\u{1b}b"),
            format!("projects/-home-v/{ID}.jsonl"),
            format!("projects/-home-u/{}.jsonl", ID.replace('c', "d")),
            format!("tasks/{ID}"),
            format!("tasks/{ID}x/1"),
            format!("todos/{ID}/../../x"),
            format!("projects/-home-u/{ID}/{}", "a".repeat(256)),
        ];
        for name in others {
            let read = parse(&[main_file(), file(&name, 5, 1)], 6);
            assert_eq!(read, Err(ArchiveError::Name(name.clone())), "{name}");
        }
        for project in ["..", "", "a/b", "."] {
            let name = format!("projects/{project}/{ID}.jsonl");
            assert!(parse_in(project, &[file(&name, 0, 5)], 5).is_err(), "{project}");
        }
        assert!(matches!(parse(&[], 0), Err(ArchiveError::Name(_))));
        assert!(matches!(parse(&[file("settings.json", 0, 5)], 5), Err(ArchiveError::Name(_))));
    }

    #[test]
    fn files_lie_one_after_another_and_each_once() {
        let task = |offset, packed| file(&format!("tasks/{ID}/1"), offset, packed);
        let place = |read: Result<_, ArchiveError>| matches!(read, Err(ArchiveError::Place(_)));
        assert!(parse(&[main_file(), task(5, 1)], 6).is_ok());
        for (offset, packed, end) in
            [(4, 1, 6), (6, 1, 7), (5, 1, 7), (5, 2, 6), (u64::MAX, 2, 6), (5, u64::MAX, 6)]
        {
            assert!(place(parse(&[main_file(), task(offset, packed)], end)), "{offset} {packed} {end}");
        }
        let twice = parse(&[main_file(), task(5, 1), task(6, 1)], 7);
        assert!(matches!(twice, Err(ArchiveError::Duplicate(_))));
        let below = file(&format!("tasks/{ID}/1/2"), 6, 1);
        assert!(matches!(parse(&[main_file(), task(5, 1), below], 7), Err(ArchiveError::Duplicate(_))));
    }

    #[test]
    fn more_than_a_limit_is_refused() {
        let mut bomb = main_file();
        bomb["bytes"] = json!(1_u64 << 30);
        assert!(matches!(
            parse(&[bomb], 5),
            Err(why @ ArchiveError::Limit { what: "times its compressed length", .. })
                if why.hint().contains("a conversation of yours stays where it is")
        ));
        let mut large = main_file();
        (large["bytes"], large["packed"]) = (json!(1_u64 << 40), json!(1_u64 << 38));
        assert!(matches!(
            parse(&[large], 1 << 38),
            Err(ArchiveError::Limit { what: "bytes of all files", .. })
        ));
        let summary = format!("[{}0]", "0,".repeat(1 << 19));
        let manifest = format!(r#"{{"format":"{FORMAT}","version":1,"summary":{summary},"files":0}}"#);
        assert!(matches!(
            ArchiveManifest::parse(manifest.as_bytes(), 0, &ArchiveLimits::default()),
            Err(ArchiveError::Limit { what: "bytes of its summary", .. })
        ));
    }

    #[test]
    fn other_versions_and_other_things_are_refused() {
        let of = |text: &str| ArchiveManifest::parse(text.as_bytes(), 0, &ArchiveLimits::default());
        assert_eq!(of(r#"{"format":"hopty-archive","version":2}"#), Err(ArchiveError::Version(2)));
        for text in
            ["", "{}", "[]", r#"{"format":"x","version":1}"#, r#"{"format":"hopty-archive","version":1}"#]
        {
            assert!(matches!(of(text), Err(ArchiveError::Manifest(_))), "{text}");
        }
    }

    #[test]
    fn a_later_one_covers_an_earlier_one_if_nothing_is_lost() {
        let name = format!("tasks/{ID}/1");
        let earlier = parse(&[main_file(), file(&name, 5, 1)], 6).unwrap();
        let mut later = earlier.clone();
        assert!(later.covers(&earlier, |_, _, _| false), "the same");
        later.files[0].bytes = 20;
        later.files[0].sha256 = "11".to_owned();
        assert!(later.covers(&earlier, |_, bytes, sha256| (bytes, sha256) == (10, "00")), "it has grown");
        assert!(!later.covers(&earlier, |_, _, _| false), "another beginning");
        later.files.pop();
        assert!(!later.covers(&earlier, |_, _, _| true), "a file is missing");
        assert!(earlier.covers(&later, |_, _, _| true) == (earlier.files[0].bytes >= 20));
    }
}
