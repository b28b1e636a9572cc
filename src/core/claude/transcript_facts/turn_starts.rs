//! The places of the person's last prompts, to which the person can go back, and how much each part knew
//! there.
//!
//! After Esc Esc the conversation continues from an earlier line, and the lines of the abandoned branch stay
//! in the file. Each line names the line before it (`parentUuid`). A prompt with the parent of an earlier
//! prompt takes its place, and everything since then was taken back (measured on 2.1.332). No other shape
//! counts: where parents are missing or point elsewhere, all lines of the file count.

use super::bounded_memory::LastItems;
use super::claude_answers::ClaudeAnswersMark;
use crate::core::claude::tasks::Tasks;

/// How many prompts back the person can go.
const TURN_CAP: usize = 32;

/// How much each part knew when the person typed a prompt.
#[derive(Clone, Debug)]
pub(super) struct ConversationMark {
    /// The number of prompts.
    pub prompts: u64,
    /// The number of prompts and answers.
    pub exchanges: u64,
    pub decisions: u64,
    pub answers: ClaudeAnswersMark,
    pub tasks: Tasks,
}

#[derive(Clone, Debug)]
struct TurnStart {
    uuid: Option<String>,
    parent: String,
    mark: ConversationMark,
}

/// The places of the last prompts, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnStarts(LastItems<TurnStart, TURN_CAP>);

impl TurnStarts {
    /// How much the parts knew before each prompt, oldest first.
    pub fn marks(&self) -> impl DoubleEndedIterator<Item = &ConversationMark> {
        self.0.iter().map(|start| &start.mark)
    }

    /// A prompt follows the line `parent`. If an earlier prompt did, the person went back to it: the prompts
    /// since then are forgotten, and what the parts knew at that place is returned.
    pub fn go_back(&mut self, uuid: Option<&str>, parent: &str) -> Option<ConversationMark> {
        let is_place = |start: &&TurnStart| start.parent == parent && start.uuid.as_deref() != uuid;
        let mark = self.0.iter().find(is_place)?.mark.clone();
        self.0.retain(|start| start.mark.prompts < mark.prompts);
        Some(mark)
    }

    pub fn put(&mut self, uuid: Option<String>, parent: String, mark: ConversationMark) {
        self.0.put(TurnStart { uuid, parent, mark });
    }
}

#[cfg(test)]
mod tests {
    use super::super::claude_answers::ClaudeAnswers;
    use super::*;

    fn mark(prompts: u64) -> ConversationMark {
        let answers = ClaudeAnswers::default().mark();
        ConversationMark { prompts, exchanges: 0, decisions: 0, answers, tasks: Tasks::default() }
    }

    #[test]
    fn a_prompt_with_the_parent_of_an_earlier_one_takes_its_place() {
        let mut starts = TurnStarts::default();
        for (n, parent) in ["p0", "p1", "p2"].into_iter().enumerate() {
            starts.put(Some(format!("u{n}")), parent.to_owned(), mark(n as u64));
        }
        assert!(starts.go_back(Some("u3"), "p3").is_none());
        assert!(starts.go_back(Some("u1"), "p1").is_none(), "a line that stands twice is no way back");
        assert_eq!(starts.go_back(Some("u3"), "p1").map(|mark| mark.prompts), Some(1));
        assert_eq!(starts.marks().map(|mark| mark.prompts).collect::<Vec<_>>(), [0]);
        for n in 0..2 * TURN_CAP {
            starts.put(None, n.to_string(), mark(n as u64));
        }
        assert_eq!(starts.marks().count(), TURN_CAP);
        assert!(starts.go_back(None, "40").is_none(), "without an id it may be the same line");
    }
}
