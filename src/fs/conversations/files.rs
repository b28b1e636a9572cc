//! All files that Claude keeps for one conversation.
//!
//! Besides the transcript, Claude has directories and files with the conversation's id in their name, in
//! several places below its own directory (measured on 2.0.76 to 2.1.332). Files that conversations share
//! (`history.jsonl`, `paste-cache`, `shell-snapshots`) belong to none.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::agents::is_old_agent;
use super::transcripts::{FileState, TranscriptFile};
use crate::core::claude::line_context::LineContext;
use crate::core::conversation::file_role::FileRole;
use crate::core::ids::ConversationId;
use crate::fs::paths::Paths;
use crate::sys::safe_file::{self, FileRule, is_absent};

/// How deep directories are searched.
const DEPTH: usize = 16;
/// The most files of one conversation that are listed; more are an error.
const FILES: usize = 200_000;
/// How much of an old sub-agent's file is read to find its conversation, in bytes.
const FIRST: u64 = 64 << 10;

/// One file of a conversation: a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationFile {
    pub path: PathBuf,
    /// Its path below Claude's directory, such as `tasks/ID/1.json`.
    pub below_claude: PathBuf,
    pub role: FileRole,
    /// Its state when it was listed.
    pub state: FileState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationFiles {
    pub id: ConversationId,
    pub transcript: TranscriptFile,
    /// All of its files: the transcript first, then by role and path.
    pub files: Vec<ConversationFile>,
    /// Its directories, parents first, without `C/projects/PROJECT`; empty ones are included.
    pub dirs: Vec<PathBuf>,
    /// Entries that are not files: links, FIFOs, devices. None of them was opened.
    pub odd: Vec<PathBuf>,
}

impl ConversationFiles {
    /// The files of the conversation of `transcript`. Its directories are read; of other files, only the
    /// old sub-agents beside the transcript are opened. `plan` is the name of its plan, if a summary knows
    /// it.
    ///
    /// # Errors
    /// When a directory cannot be read, or there are too many files: nothing is left out silently.
    pub fn of(paths: &Paths, transcript: &TranscriptFile, plan: Option<&str>) -> io::Result<Self> {
        Self::among(paths, transcript, plan, &mut OldAgents::default())
    }

    /// The same for one of many conversations, whose old sub-agents are read only once.
    ///
    /// # Errors
    /// As [`ConversationFiles::of`].
    pub fn among(
        paths: &Paths,
        transcript: &TranscriptFile,
        plan: Option<&str>,
        agents: &mut OldAgents,
    ) -> io::Result<Self> {
        let id = &transcript.id;
        let mut found = ConversationFiles {
            id: id.clone(),
            transcript: transcript.clone(),
            files: Vec::new(),
            dirs: Vec::new(),
            odd: Vec::new(),
        };
        let add =
            |found: &mut Self, path: PathBuf, role: FileRole| found.add(&paths.claude, path, role, DEPTH);
        add(&mut found, transcript.path.clone(), FileRole::Transcript)?;
        add(&mut found, transcript.project_dir().join(id.as_str()), FileRole::Sidecar)?;
        for agent in agents.of(transcript)? {
            add(&mut found, agent, FileRole::OldAgent)?;
        }
        for (role, dir) in FileRole::id_directories() {
            add(&mut found, paths.claude.join(dir).join(id.as_str()), role)?;
        }
        for todo in entries(&paths.claude.join("todos"))? {
            let name = todo.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.starts_with(id.as_str()) && name.ends_with(".json")) {
                add(&mut found, todo, FileRole::Todos)?;
            }
        }
        if let Some(plan) = plan.filter(|plan| is_plain(plan)) {
            add(&mut found, paths.claude.join("plans").join(format!("{plan}.md")), FileRole::Plan)?;
        }
        add(&mut found, paths.claude.join("debug").join(format!("{id}.txt")), FileRole::DebugLog)?;
        found.files.sort_by(|a, b| a.role.cmp(&b.role).then_with(|| a.path.cmp(&b.path)));
        Ok(found)
    }

    fn add(&mut self, claude: &Path, path: PathBuf, role: FileRole, depth: usize) -> io::Result<()> {
        let meta = match std::fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(about(&path, &error)),
        };
        if meta.is_dir() {
            if depth == 0 {
                return Err(io::Error::other(format!("{} has too many directories", path.display())));
            }
            self.dirs.push(path.clone());
            return entries(&path)?
                .into_iter()
                .try_for_each(|entry| self.add(claude, entry, role, depth - 1));
        }
        if !meta.is_file() {
            self.odd.push(path);
            return Ok(());
        }
        if self.files.len() == FILES {
            return Err(io::Error::other(format!("conversation {} has more than {FILES} files", self.id)));
        }
        let below_claude = path.strip_prefix(claude).unwrap_or(&path).to_owned();
        self.files.push(ConversationFile { path, below_claude, role, state: FileState::of(&meta) });
        Ok(())
    }
}

/// The files of old sub-agents, by folder and by the conversation that their lines name. There may be
/// thousands, so many conversations share this list.
#[derive(Debug, Default)]
pub struct OldAgents {
    folders: HashMap<PathBuf, HashMap<ConversationId, Vec<PathBuf>>>,
}

impl OldAgents {
    /// Those beside a transcript that name its conversation.
    fn of(&mut self, transcript: &TranscriptFile) -> io::Result<Vec<PathBuf>> {
        let dir = transcript.project_dir();
        if !self.folders.contains_key(dir) {
            let mut agents: HashMap<ConversationId, Vec<PathBuf>> = HashMap::new();
            for path in entries(dir)? {
                if path.file_name().and_then(|name| name.to_str()).is_some_and(is_old_agent)
                    && let Some(owner) = conversation_of(&path)
                {
                    agents.entry(owner).or_default().push(path);
                }
            }
            self.folders.insert(dir.to_owned(), agents);
        }
        Ok(self.folders.get(dir).and_then(|agents| agents.get(&transcript.id)).cloned().unwrap_or_default())
    }
}

/// The conversation that a file's first lines name.
pub(super) fn conversation_of(path: &Path) -> Option<ConversationId> {
    std::fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
    let file = safe_file::open(path, FileRule::of_claude(u64::MAX)).ok()??;
    let mut lines = BufReader::new(io::Read::take(file, FIRST));
    let (mut place, mut line) = (LineContext::default(), Vec::new());
    while place.conversation.is_none() && lines.read_until(b'\n', &mut line).ok()? > 0 {
        place.learn(&line);
        line.clear();
    }
    place.conversation
}

/// The paths in a directory, by name; none if it is not a directory.
fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(about(dir, &error)),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>().map_err(|error| about(dir, &error))?;
    paths.sort();
    Ok(paths)
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Whether a name from a transcript is a plain file name.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

#[cfg(test)]
pub(in crate::fs) mod tests {
    use super::*;

    /// Paths below one directory: Claude's in `claude`, hopty's state in `state`.
    pub(in crate::fs) fn paths(base: &Path) -> Paths {
        Paths {
            state: base.join("state"),
            config: base.join("config"),
            data: base.join("data"),
            claude: base.join("claude"),
            home: base.to_owned(),
        }
    }

    #[test]
    fn everything_with_its_id_belongs_to_a_conversation() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let id = "c74cc080-94b9-4841-b82f-a62cfb8efdc0";
        let other = "d74cc080-94b9-4841-b82f-a62cfb8efdc0";
        let put = |path: &str, text: &str| {
            let path = paths.claude.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let names = [
            format!("projects/-p/{id}.jsonl"),
            format!("projects/-p/{id}/subagents/agent-1.jsonl"),
            format!("projects/-p/{id}/tool-results/t.txt"),
            "projects/-p/agent-a1.jsonl".to_owned(),
            format!("tasks/{id}/1.json"),
            format!("todos/{id}-agent-{id}.json"),
            format!("file-history/{id}/x@v1"),
            format!("session-env/{id}/hook-1.sh"),
            format!("image-cache/{id}/1.png"),
            format!("uploads/{id}/u"),
            "plans/sleepy-cat.md".to_owned(),
            format!("debug/{id}.txt"),
        ];
        for name in &names {
            put(name, &format!("{{\"sessionId\":\"{id}\",\"cwd\":\"/p\"}}\n"));
        }
        put("projects/-p/agent-a2.jsonl", &format!("{{\"sessionId\":\"{other}\"}}\n"));
        put(&format!("projects/-p/{other}.jsonl"), "{}\n");
        put(&format!("todos/{other}-agent-{other}.json"), "[]");
        std::fs::create_dir(paths.claude.join(format!("projects/-p/{id}/empty"))).unwrap();
        std::os::unix::fs::symlink("/etc", paths.claude.join(format!("projects/-p/{id}/link"))).unwrap();
        nix::unistd::mkfifo(&paths.claude.join("projects/-p/agent-a3.jsonl"), nix::sys::stat::Mode::S_IRWXU)
            .unwrap();
        let transcript = TranscriptFile::at(&paths.claude.join(&names[0])).unwrap();
        let found = ConversationFiles::of(&paths, &transcript, Some("sleepy-cat")).unwrap();
        let listed: Vec<_> =
            found.files.iter().map(|file| file.below_claude.to_str().unwrap().to_owned()).collect();
        assert_eq!(listed, names);
        assert_eq!(found.odd, [paths.claude.join(format!("projects/-p/{id}/link"))]);
        assert!(found.dirs.contains(&paths.claude.join(format!("projects/-p/{id}/empty"))));
        assert!(found.files.iter().all(|f| f.state.bytes == std::fs::metadata(&f.path).unwrap().len()));
        let hostile = ConversationFiles::of(&paths, &transcript, Some("../projects/-p/agent-a2")).unwrap();
        assert!(hostile.files.iter().all(|file| file.role != FileRole::Plan));
        // The old sub-agents of a folder are read once for all of its conversations.
        let second = TranscriptFile::at(&paths.claude.join(format!("projects/-p/{other}.jsonl"))).unwrap();
        let mut agents = OldAgents::default();
        let count = |transcript: &TranscriptFile, agents: &mut OldAgents| {
            let found = ConversationFiles::among(&paths, transcript, None, agents).unwrap();
            found.files.iter().filter(|file| file.role == FileRole::OldAgent).count()
        };
        assert_eq!(count(&transcript, &mut agents), 1);
        put("projects/-p/agent-a4.jsonl", &format!("{{\"sessionId\":\"{other}\"}}\n"));
        assert_eq!((count(&second, &mut agents), count(&second, &mut OldAgents::default())), (1, 2));
    }
}
