//! What the first request of a new conversation shows: the block that hopty wrote, and the prompt that
//! follows it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use hopty::standin::request::ApiRequest;

use super::support::wait::wait_within;

const BEGIN: &str = "=== HANDOFF LOADED";
const END: &str = "=== END HANDOFF";

/// What came of a case.
pub struct Outcome {
    /// Of each hand-over, the first one first.
    pub briefs: Vec<Brief>,
    /// After the last one.
    pub screen: String,
    /// Every later text of the last conversation.
    pub later: String,
}

impl Outcome {
    pub fn last(&self) -> &Brief {
        self.briefs.last().expect("a case has a hand-over")
    }
}

/// One brief.
pub struct Brief {
    /// From `=== HANDOFF LOADED` to the line with the last `=== END HANDOFF`.
    pub block: String,
    /// The prompt that follows it.
    pub prompt: String,
    flat: String,
    named: OnceLock<Vec<String>>,
    /// The conversation that it is about.
    pub old: String,
    pub home: PathBuf,
    pub project: PathBuf,
}

/// Whether a request begins a conversation with a brief, or goes on with one.
pub fn has_brief(request: &ApiRequest) -> bool {
    told(request).is_some()
}

/// The text with the brief. What a hook says stands in a reminder; a person who quotes a brief does not.
fn told(request: &ApiRequest) -> Option<String> {
    let is_told = |text: &String| text.starts_with("<system-reminder>") && text.contains(BEGIN);
    request.texts().into_iter().map(|(_, text)| text).find(is_told)
}

impl Brief {
    /// Of the first request of a conversation; `old` is the conversation before it.
    pub fn of(first: &ApiRequest, old: &str, home: &Path, project: &Path) -> Brief {
        let text = told(first).expect("a brief");
        Brief::new(&text, &first.first_prompt().unwrap_or_default(), old, home, project)
    }

    /// Of what a hook said and the prompt that follows it.
    pub fn new(text: &str, prompt: &str, old: &str, home: &Path, project: &Path) -> Brief {
        let from = text.find(BEGIN).unwrap_or(0);
        let to = text.rfind(END).filter(|at| *at > from).unwrap_or(text.len());
        let to = text[to..].find('\n').map_or(text.len(), |end| to + end);
        let (block, prompt) = (text[from..to].to_owned(), prompt.to_owned());
        // What the prompt says stands above everything in the block.
        let flat = flat(&format!("{prompt}\n{block}"));
        let (home, project) = (home.to_owned(), project.to_owned());
        Brief { block, prompt, flat, named: OnceLock::new(), old: old.to_owned(), home, project }
    }

    /// All of it in one line: without signs of quotation, and each gap one space.
    pub fn flat(&self) -> &str {
        &self.flat
    }

    /// The lines of the prompt and of the block.
    pub fn lines(&self) -> impl Iterator<Item = &str> + Clone {
        self.prompt.lines().chain(self.block.lines())
    }

    pub fn find(&self, text: &str) -> Option<usize> {
        self.flat.find(&flat(text))
    }

    pub fn has(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// Whether one of `signs`, in any case, stands within two hundred characters of `text`.
    pub fn near(&self, text: &str, signs: &[&str]) -> bool {
        let text = flat(text);
        self.flat.match_indices(&text).any(|(at, _)| {
            let edge = |mut at: usize| {
                while !self.flat.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            let (from, to) =
                (edge(at.saturating_sub(200)), edge((at + text.len() + 200).min(self.flat.len())));
            let around =
                self.flat[from..at].to_lowercase() + "\n" + &self.flat[at + text.len()..to].to_lowercase();
            signs.iter().any(|sign| around.contains(sign))
        })
    }

    /// The files that are named by an absolute path, and those in a directory that is, as long as it is no
    /// part of the project and not above it. What is about to be written is waited for.
    pub fn named(&self) -> &[String] {
        self.named.get_or_init(|| self.find_named())
    }

    fn find_named(&self) -> Vec<String> {
        let text = format!("{}\n{}", self.prompt, self.block);
        let mut found: Vec<String> = Vec::new();
        for word in text.split(|c: char| c.is_whitespace() || "\"'`()<>[]{},;|".contains(c)) {
            let Some(path) = self.path(word) else { continue };
            // The copy of a transcript is written after the hand-over.
            if path.starts_with(&self.home) && path.extension().is_some_and(|end| end == "gz") {
                wait_within(Duration::from_secs(3), || path.exists().then_some(()));
            }
            if path.is_file() {
                found.push(path.display().to_string());
            } else if path.is_dir() && !self.project.starts_with(&path) && !path.starts_with(&self.project) {
                let entries =
                    std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
                found.extend(entries.filter(|path| path.is_file()).map(|path| path.display().to_string()));
            }
        }
        found.sort();
        found.dedup();
        found
    }

    fn path(&self, word: &str) -> Option<PathBuf> {
        let word = word.trim_end_matches(['.', ':', '*', '!', '?']);
        let path = match (word.find("~/"), word.find('/')) {
            (Some(at), _) => self.home.join(&word[at + 2..]),
            (None, Some(at)) => PathBuf::from(&word[at..]),
            (None, None) => return None,
        };
        // With a line behind it: `/a/b.rs:12-30`.
        let text = path.to_str()?;
        let (file, line) = text.rsplit_once(':').unwrap_or((text, ""));
        let path =
            if line.starts_with(|c: char| c.is_ascii_digit()) { PathBuf::from(file) } else { path.clone() };
        (path.components().count() > 2).then_some(path)
    }

    /// Whether a file that is named and ends with `ending` holds `text`, also as a JSON string.
    pub fn in_named(&self, ending: &str, text: &str) -> bool {
        let escaped = serde_json::to_string(text).unwrap();
        let escaped = &escaped[1..escaped.len() - 1];
        self.named().iter().filter(|path| path.ends_with(ending)).any(|path| {
            let content = content(Path::new(path));
            content.contains(text) || content.contains(escaped)
        })
    }
}

fn content(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    let mut text = Vec::new();
    let _ = flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn flat(text: &str) -> String {
    let words =
        text.lines().flat_map(|line| line.trim_start_matches(['>', '|', '│', ' ']).split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}
