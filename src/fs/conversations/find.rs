//! Finds the conversation that a person names.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::summaries::Summaries;
use super::transcripts::{TranscriptFile, Transcripts};
use crate::core::conversation::name::{ConversationName, titled};
use crate::fs::paths::Paths;
use crate::sys::clock::local_date;

/// The most candidates that a hint names.
const NAMED: usize = 8;

/// Why a word does not name exactly one conversation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FindError {
    /// No conversation has this id, prefix of an id, or title.
    #[error("no conversation has this id or title")]
    None,
    /// Several match.
    #[error("{} conversations have this id or title", .0.len())]
    Several(Vec<TranscriptFile>),
    /// The path is not a transcript.
    #[error("this is not a conversation transcript (ID.jsonl)")]
    NoTranscript(PathBuf),
}

impl FindError {
    /// What a person can do about it.
    pub fn hint(&self) -> String {
        match self {
            FindError::None => {
                "`hopty conversations ls --all` lists the conversations of all projects".to_owned()
            }
            FindError::NoTranscript(_) => "transcripts are in projects/ in Claude's directory".to_owned(),
            FindError::Several(files) => {
                // Only the path distinguishes the same id in two projects.
                let same = files.iter().all(|file| file.id == files[0].id);
                let name = |file: &TranscriptFile| {
                    let project = file.path.parent().and_then(Path::file_name).unwrap_or_default();
                    match same {
                        true => file.path.display().to_string(),
                        false => format!(
                            "{} ({}, {})",
                            file.id,
                            local_date(file.state.modified()),
                            project.to_string_lossy()
                        ),
                    }
                };
                let names: Vec<String> = files.iter().take(NAMED).map(name).collect();
                let more = if files.len() > NAMED { ", ..." } else { "" };
                format!("which one? {}{more}", names.join(", "))
            }
        }
    }
}

/// The conversation that `word` names: by the path of its transcript, its id, a prefix of its id (four
/// characters or more), or a part of its name in lists
/// ([`ConversationSummary::heading`](crate::core::conversation::summary::ConversationSummary::heading)).
/// Reads the start and end of transcripts only to compare names.
///
/// # Errors
/// When none matches, or more than one.
pub fn find(paths: &Paths, word: &str) -> Result<TranscriptFile, FindError> {
    let path = Path::new(word);
    if word.contains('/') || word.ends_with(".jsonl") {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        return TranscriptFile::at(&path).ok_or(FindError::NoTranscript(path));
    }
    let all = Transcripts::all(paths).files;
    let with_id = |is: &dyn Fn(&str) -> bool| {
        all.iter().filter(|file| is(file.id.as_str())).cloned().collect::<Vec<TranscriptFile>>()
    };
    let found = match ConversationName::read(word) {
        ConversationName::Id(id) => with_id(&|known| known == id.as_str()),
        ConversationName::IdPrefix(prefix) => {
            let found = with_id(&|known| known.starts_with(&prefix));
            if found.is_empty() { of_title(paths, word, &all) } else { found }
        }
        ConversationName::Title(_) => of_title(paths, word, &all),
    };
    match <[TranscriptFile; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(none) if none.is_empty() => Err(FindError::None),
        Err(several) => Err(FindError::Several(several)),
    }
}

fn of_title(paths: &Paths, word: &str, all: &[TranscriptFile]) -> Vec<TranscriptFile> {
    let mut summaries = Summaries::load(paths);
    let read = summaries.read(all);
    summaries.save();
    let known: Vec<(String, &TranscriptFile)> =
        read.iter().zip(all).filter_map(|(summary, file)| Some((summary.heading()?, file))).collect();
    let titles = known.iter().map(|(title, file)| (title.as_str(), *file));
    titled(word, titles).into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::conversations::files::tests::paths;

    #[test]
    fn a_conversation_is_found_by_id_prefix_path_or_title() {
        let root = tempfile::tempdir().unwrap();
        let paths = paths(root.path());
        let id = |n: u32| format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0");
        let put = |project: &str, n: u32, title: &str| {
            let dir = paths.claude.join("projects").join(project);
            std::fs::create_dir_all(&dir).unwrap();
            let path = dir.join(format!("{}.jsonl", id(n)));
            std::fs::write(&path, format!("{{\"type\":\"ai-title\",\"aiTitle\":\"{title}\"}}\n")).unwrap();
            path
        };
        let (first, _, _) =
            (put("-a", 0xabc1, "Fix it"), put("-a", 0xabd2, "Other"), put("-b", 0xabd2, "Other"));
        let by = |word: &str| find(&paths, word).map(|file| file.path);
        for word in [&id(0xabc1), "0000abc", "fix", "FIX IT", first.to_str().unwrap()] {
            assert_eq!(by(word).as_deref(), Ok(first.as_path()), "{word}");
        }
        for word in [&id(0xabd2), "0000", "other"] {
            assert!(matches!(by(word), Err(FindError::Several(_))), "{word}");
        }
        let hint = by("0000").unwrap_err().hint();
        let written = std::fs::metadata(&first).unwrap().modified().unwrap();
        let day = chrono::DateTime::<chrono::Local>::from(written).date_naive();
        assert!(hint.contains(&format!("{} ({day}, -a)", id(0xabc1))), "ids where they differ: {hint}");
        assert!(by("other").unwrap_err().hint().contains("/-b/"), "paths where they do not");
        // Lists name a conversation without a title by its first prompt.
        let third = put("-b", 0xacc3, "");
        let prompt = r#"{"type":"user","message":{"role":"user","content":"hi there\nand more"}}"#;
        std::fs::write(&third, format!("{prompt}\n")).unwrap();
        for word in ["hi there and more", "Hi there"] {
            assert_eq!(by(word).as_deref(), Ok(third.as_path()), "{word}");
        }
        assert_eq!(by("nothing"), Err(FindError::None));
        assert_eq!(by(""), Err(FindError::None));
        assert!(matches!(by("./none.jsonl"), Err(FindError::NoTranscript(_))));
        std::os::unix::fs::symlink("/dev/zero", root.path().join(format!("{}.jsonl", id(7)))).unwrap();
        let link = root.path().join(format!("{}.jsonl", id(7)));
        assert!(matches!(by(link.to_str().unwrap()), Err(FindError::NoTranscript(_))));
    }
}
