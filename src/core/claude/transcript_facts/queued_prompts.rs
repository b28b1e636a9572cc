//! Claude's queue: prompts that wait until its turn ends.

use super::bounded_memory::LastItems;
use crate::core::claude::prompts::is_foreign;
use crate::core::text::safe_text::cut_words;

/// The most queued prompts, and the length of each, in bytes.
const QUEUE_CAP: (usize, usize) = (256, 64 << 10);
/// How many prompts that the model scheduled are kept.
const SCHEDULED_CAP: usize = 64;
/// How much of each of them is kept, in bytes.
pub(in crate::core::claude) const SCHEDULED_BYTES: usize = 4096;

/// The queue, and the prompts that the model scheduled to enter it.
#[derive(Clone, Debug, Default)]
pub struct QueuedPrompts {
    waiting: Vec<String>,
    /// The beginnings of the prompts that the model scheduled.
    scheduled: LastItems<String, SCHEDULED_CAP>,
}

impl QueuedPrompts {
    /// The person's waiting prompts, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let is_persons = |prompt: &&str| is_typed(prompt) && !self.is_scheduled(prompt);
        self.waiting.iter().map(String::as_str).filter(is_persons)
    }

    /// Whether the model scheduled this prompt (CronCreate, ScheduleWakeup). Neither its line in the queue
    /// nor its hook says so (2.1.332).
    pub fn is_scheduled(&self, prompt: &str) -> bool {
        let prompt = prompt.trim();
        self.scheduled
            .iter()
            .map(|begin| begin.trim())
            .any(|begin| prompt == begin || begin.len() + 8 > SCHEDULED_BYTES && prompt.starts_with(begin))
    }

    pub(super) fn schedule(&mut self, prompt: &str) {
        if !prompt.trim().is_empty() {
            self.scheduled.put(prompt.to_owned());
        }
    }

    /// Takes an operation of the queue. Returns the person's prompt that Claude takes into the running turn,
    /// because it gets no line of its own (measured).
    pub(super) fn take_operation(&mut self, operation: &str, content: Option<&str>) -> Option<String> {
        // Prompts are kept and compared at the same length.
        let content = content.map(|content| cut_words(content, QUEUE_CAP.1));
        let at = content.and_then(|content| self.waiting.iter().position(|prompt| prompt == content));
        match operation {
            "enqueue" => {
                let content = content.filter(|_| self.waiting.len() < QUEUE_CAP.0);
                self.waiting.extend(content.map(str::to_owned));
            }
            "dequeue" => {
                if let Some(at) = at.or((!self.waiting.is_empty()).then_some(0)) {
                    self.waiting.remove(at);
                }
            }
            "remove" if content.is_none() => {
                self.waiting.pop();
            }
            "remove" => return at.map(|at| self.waiting.remove(at)).filter(|prompt| is_typed(prompt)),
            "popAll" => self.waiting.clear(),
            _ => {}
        }
        None
    }
}

/// Whether a person typed a queued text: Claude queues its own notices, too.
fn is_typed(prompt: &str) -> bool {
    !is_foreign(prompt) && !prompt.starts_with("Your claude.ai usage limit has reset.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(queue: &QueuedPrompts) -> Vec<&str> {
        queue.iter().collect()
    }

    #[test]
    fn only_the_persons_waiting_prompts_are_listed() {
        let mut queue = QueuedPrompts::default();
        for prompt in ["a", "<task-notification>x", "b"] {
            assert_eq!(queue.take_operation("enqueue", Some(prompt)), None);
        }
        assert_eq!(all(&queue), ["a", "b"]);
        assert_eq!(queue.take_operation("remove", Some("b")).as_deref(), Some("b"));
        assert_eq!(queue.take_operation("remove", Some("<task-notification>x")), None);
        assert_eq!(queue.take_operation("remove", Some("b")), None);
        assert_eq!(all(&queue), ["a"]);
        queue.take_operation("dequeue", None);
        queue.take_operation("dequeue", None);
        assert_eq!(queue.iter().count(), 0);
        queue.schedule("c");
        queue.schedule(" ");
        for prompt in ["c", "d", "e"] {
            queue.take_operation("enqueue", Some(prompt));
        }
        assert_eq!(all(&queue), ["d", "e"]);
        assert!(queue.is_scheduled("c\n") && !queue.is_scheduled("d") && !queue.is_scheduled(""));
        queue.take_operation("remove", None);
        assert_eq!(all(&queue), ["d"]);
        queue.take_operation("popAll", None);
        assert!(queue.waiting.is_empty());
    }

    #[test]
    fn it_is_bounded() {
        let mut queue = QueuedPrompts::default();
        let long = "word ".repeat(40_000);
        (0..300).for_each(|_| drop(queue.take_operation("enqueue", Some(&long))));
        assert_eq!(queue.iter().count(), QUEUE_CAP.0);
        assert!(queue.iter().all(|prompt| prompt.len() <= QUEUE_CAP.1));
        assert!(queue.take_operation("remove", Some(&long)).is_some(), "it is known by its beginning");
    }
}
