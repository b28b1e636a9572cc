//! The transcripts of sub-agents: `C/projects/PROJECT/ID/subagents/*.jsonl`; up to 2.0.x
//! `C/projects/PROJECT/agent-*.jsonl`.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::files::conversation_of;
use super::transcripts::{FileState, TranscriptFile};
use crate::core::ids::ConversationId;
use crate::fs::paths::Paths;

/// How deep directories are searched.
const DEPTH: usize = 8;

/// The transcript of one sub-agent: a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTranscript {
    /// The conversation whose directory it is in; that of an old one is known only from its lines.
    pub conversation: Option<ConversationId>,
    pub path: PathBuf,
    /// Its state when it was listed.
    pub state: FileState,
}

impl AgentTranscript {
    /// All of them, including those whose conversation is gone. Links are not followed.
    pub fn all(paths: &Paths) -> Vec<Self> {
        let mut found = Vec::new();
        // `projects` itself may be a link to another disk.
        for (project, meta) in listed(&paths.claude.join("projects")) {
            if meta.is_dir() {
                add_project(&project, &mut found);
            }
        }
        found
    }

    /// Those of these conversations, and all old ones beside them.
    pub fn of<'a>(transcripts: impl IntoIterator<Item = &'a TranscriptFile>) -> Vec<Self> {
        let (mut found, mut projects) = (Vec::new(), BTreeSet::new());
        for transcript in transcripts {
            let dir = transcript.project_dir();
            add_below(&dir.join(transcript.id.as_str()).join("subagents"), &transcript.id, DEPTH, &mut found);
            projects.insert(dir);
        }
        for entry in
            projects.into_iter().flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten())
        {
            if entry.file_name().to_str().is_some_and(is_old_agent)
                && let Ok(meta) = entry.metadata()
                && meta.is_file()
            {
                let (path, state) = (entry.path(), FileState::of(&meta));
                found.push(AgentTranscript { conversation: None, path, state });
            }
        }
        found
    }

    /// The same file as a transcript of the conversation that called it.
    #[must_use]
    pub fn into_file(self) -> Option<TranscriptFile> {
        Some(TranscriptFile { id: self.owner()?, path: self.path, state: self.state })
    }

    /// The conversation that called it. An old one must be opened to find out.
    pub fn owner(&self) -> Option<ConversationId> {
        self.conversation.clone().or_else(|| conversation_of(&self.path))
    }
}

/// Whether a file's name is that of a sub-agent's transcript beside those of conversations.
pub(super) fn is_old_agent(name: &str) -> bool {
    name.starts_with("agent-") && name.ends_with(".jsonl")
}

fn add_project(dir: &Path, found: &mut Vec<AgentTranscript>) {
    for (path, meta) in entries(dir) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if meta.is_file() && is_old_agent(name) {
            found.push(AgentTranscript { conversation: None, state: FileState::of(&meta), path });
        } else if meta.is_dir()
            && let Ok(id) = name.parse::<ConversationId>()
        {
            add_below(&path.join("subagents"), &id, DEPTH, found);
        }
    }
}

fn add_below(dir: &Path, id: &ConversationId, depth: usize, found: &mut Vec<AgentTranscript>) {
    for (path, meta) in entries(dir) {
        if meta.is_dir() && depth > 0 {
            add_below(&path, id, depth - 1, found);
        } else if meta.is_file() && path.extension().is_some_and(|end| end == "jsonl") {
            let conversation = Some(id.clone());
            found.push(AgentTranscript { conversation, state: FileState::of(&meta), path });
        }
    }
}

/// The entries of a directory that is not a link, by path.
fn entries(dir: &Path) -> Vec<(PathBuf, Metadata)> {
    if dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) { listed(dir) } else { Vec::new() }
}

/// The entries of a directory, by path.
fn listed(dir: &Path) -> Vec<(PathBuf, Metadata)> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut entries: Vec<(PathBuf, Metadata)> =
        entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?))).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::conversations::files::tests::paths;

    #[test]
    fn those_of_both_places_are_found_with_their_conversation_and_no_link_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let id = |n: u32| format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0");
        let projects = paths.claude.join("projects");
        let put = |path: &str, of: &str| {
            let path = projects.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, format!("{{\"sessionId\":\"{of}\",\"isSidechain\":true}}\n")).unwrap();
        };
        put(&format!("-p/{}.jsonl", id(1)), &id(1));
        put(&format!("-p/{}/subagents/agent-a.jsonl", id(1)), &id(1));
        put(&format!("-p/{}/subagents/deep/er/agent-b.jsonl", id(1)), &id(1));
        put(&format!("-p/{}/subagents/agent-a.meta.json", id(1)), &id(1));
        put(&format!("-p/{}/tool-results/t.jsonl", id(1)), &id(1));
        put(&format!("-p/{}/subagents/agent-c.jsonl", id(2)), &id(2));
        put("-p/agent-d.jsonl", &id(3));
        std::os::unix::fs::symlink(projects.join("-p"), projects.join("-q")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", projects.join(format!("-p/{}/subagents/x.jsonl", id(1))))
            .unwrap();
        let named = |agents: Vec<AgentTranscript>| -> Vec<(String, String)> {
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut named: Vec<(String, String)> = agents
                .into_iter()
                .map(|agent| (name(&agent.path), agent.owner().unwrap().short().to_owned()))
                .collect();
            named.sort();
            named
        };
        let of = |name: &str, n: u32| (format!("agent-{name}.jsonl"), format!("{n:08x}"));
        assert_eq!(named(AgentTranscript::all(&paths)), [of("a", 1), of("b", 1), of("c", 2), of("d", 3)]);
        // For example to another disk.
        std::fs::rename(&projects, root.path().join("disk")).unwrap();
        std::os::unix::fs::symlink(root.path().join("disk"), &projects).unwrap();
        assert_eq!(AgentTranscript::all(&paths).len(), 4);
        let file = TranscriptFile::at(&projects.join(format!("-p/{}.jsonl", id(1)))).unwrap();
        assert_eq!(named(AgentTranscript::of([&file])), [of("a", 1), of("b", 1), of("d", 3)]);
    }
}
