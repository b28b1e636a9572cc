//! The reports of sub-agents: of an agent in the background from a notification, of any other from the answer
//! of its tool.

use std::collections::HashSet;

use super::bounded_memory::LastItems;
use super::call_answer::CallAnswer;
use super::last_message::TextBlock;
use crate::core::claude::lenient_json::ends;
use crate::core::handoff::handoff_answers::LONG_ANSWER;
use crate::core::text::safe_text::cut_words;

/// How many reports are kept, the newest.
pub const REPORT_CAP: usize = 40;
/// The number of reports that are kept in full, and the beginning and the end of the others, in bytes each.
const LONG_REPORTS: usize = 12;
const SHORT_ENDS: usize = 600;
/// How much is kept of the beginning and of the end of a report, in bytes each.
const ENDS: usize = 8 << 10;
/// How much is kept of an agent's purpose, and of a path, in bytes.
const LINE_CAP: usize = 1000;

/// The final report of a sub-agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentReport {
    /// The id of the agent, or of the call that started it.
    pub id: String,
    /// Claude's summary line: `Agent "Profile the job" completed`.
    pub about: String,
    /// The beginning and the end of the report, at most 16 KiB.
    pub text: String,
    /// The file with the whole report, if Claude names one.
    pub file: Option<String>,
    /// Claude has written about it at length since.
    pub summed_up: bool,
}

#[derive(Clone, Debug, Default)]
pub struct AgentReports(LastItems<AgentReport, REPORT_CAP>);

impl AgentReports {
    /// The reports, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &AgentReport> {
        self.0.iter()
    }

    /// Takes a notification. A report from the queue is written again on its own line.
    pub(super) fn take_notification(&mut self, text: &str) {
        self.put(AgentReport::of_notification(text));
    }

    /// Takes the answer of a tool.
    pub(super) fn take_answer(&mut self, answer: &CallAnswer<'_>) {
        self.put(AgentReport::of_answer(answer));
    }

    /// Claude's message got this text. Only what is new in it is looked at: a message may have many blocks.
    pub(super) fn take_text(&mut self, block: &TextBlock<'_>) {
        if is_long(block.whole) {
            let untold = self.0.iter_mut().filter(|report| !report.summed_up);
            untold.for_each(|report| report.summed_up = report.is_named_in(block.text));
        }
    }

    /// Keeps a report, and drops the earlier report of the same agent.
    fn put(&mut self, report: Option<AgentReport>) {
        let Some(report) = report else { return };
        self.0.retain(|known| known.id != report.id);
        self.0.put(report);
        let older = self.iter().count().saturating_sub(LONG_REPORTS);
        self.0.iter_mut().take(older).for_each(|one| one.text = ends(&one.text, SHORT_ENDS, SHORT_ENDS));
    }
}

impl AgentReport {
    /// The report in a notification, if it contains one.
    fn of_notification(text: &str) -> Option<Self> {
        let (head, rest) = text.strip_prefix("<task-notification>")?.split_once("<result>")?;
        let body = rest.rsplit_once("</result>").map_or(rest, |(body, _)| body);
        let tag = |name: &str| {
            let (_, rest) = head.split_once(&format!("<{name}>"))?;
            let (inner, _) = rest.split_once(&format!("</{name}>"))?;
            Some(cut_words(inner.trim(), LINE_CAP).to_owned()).filter(|inner| !inner.is_empty())
        };
        Self {
            id: tag("task-id").unwrap_or_default(),
            about: unescaped(&tag("summary").unwrap_or_default()),
            text: unescaped(body),
            file: tag("output-file"),
            summed_up: false,
        }
        .kept()
    }

    /// The report in the answer of a tool; `None` if it is not an agent's, or if the agent still runs.
    fn of_answer(answer: &CallAnswer<'_>) -> Option<Self> {
        let call = answer.passed().filter(|call| matches!(call.name.as_str(), "Agent" | "Task"))?;
        let goes_on = answer.detail.is_some_and(|detail| detail.running.is_some())
            || answer.result.text.starts_with("Async agent launched");
        if goes_on {
            return None;
        }
        let about = call.input.about.as_deref().unwrap_or_default();
        Self {
            id: call.id.clone(),
            about: format!("Agent \"{}\" completed", cut_words(about, LINE_CAP)),
            text: answer.result.text.clone(),
            file: None,
            summed_up: false,
        }
        .kept()
    }

    /// Whether a text of Claude's sums up this report: it is long, and contains one of the report's names,
    /// paths or numbers. A report without any counts as summed up by the first long text.
    pub fn is_told_in(&self, text: &str) -> bool {
        is_long(text) && self.is_named_in(text)
    }

    fn is_named_in(&self, text: &str) -> bool {
        let mut marked = marked_words(&self.text).peekable();
        marked.peek().is_none() || {
            let told: HashSet<&str> = marked_words(text).collect();
            marked.any(|word| told.contains(word))
        }
    }

    fn kept(mut self) -> Option<Self> {
        self.text = ends(self.text.trim(), ENDS, ENDS);
        (!self.text.is_empty()).then_some(self)
    }
}

fn is_long(text: &str) -> bool {
    text.chars().nth(LONG_ANSWER).is_some()
}

/// The words of a text that are a path, a number or a name of code.
fn marked_words(text: &str) -> impl Iterator<Item = &str> {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    let words = text.split(move |c| !in_word(c)).map(|word| word.trim_matches(['.', '/', '-']));
    words.filter(|word| {
        word.len() > 2 && word.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | '/'))
    })
}

/// Undoes the escapes that Claude (2.1.332) writes in a notification.
pub(super) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::claude::transcript_line::{ResultDetail, ToolInput, ToolResult, ToolUse};

    #[test]
    fn a_notification_has_a_report_where_an_agent_ended() {
        let text = "<task-notification>\n<task-id>a4b</task-id>\n<output-file>/run/a4b.output</output-file>\n\
                    <status>completed</status>\n<summary>Agent \"Profile\" completed</summary>\n<result>It is \
                    </result> the \
                    index.</result>\n<usage>1</usage>\n</task-notification>";
        let report = AgentReport::of_notification(text).unwrap();
        assert_eq!(
            (report.id.as_str(), report.about.as_str(), report.text.as_str(), report.file.as_deref()),
            ("a4b", "Agent \"Profile\" completed", "It is </result> the index.", Some("/run/a4b.output"))
        );
        let escaped = text.replace("It is", "f(b: &amp;Vec&lt;u8&gt;) of &amp;lt; is");
        assert!(
            AgentReport::of_notification(&escaped).unwrap().text.starts_with("f(b: &Vec<u8>) of &lt; is")
        );
        let shell =
            "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>";
        assert_eq!(AgentReport::of_notification(shell), None);
        assert_eq!(AgentReport::of_notification("say <task-notification><result>x</result>"), None);
        let long = AgentReport::of_notification(&text.replace("index", &"x ".repeat(90_000))).unwrap();
        assert!(long.text.len() <= 2 * ENDS + 64 && long.text.starts_with("It is"));
    }

    #[test]
    fn a_report_is_summed_up_by_what_names_something_of_it() {
        let report = |text: &str| AgentReport { text: text.into(), ..AgentReport::default() };
        let callers = report("The lock has 14 callers; the worst is handlers/ylva.ts.");
        let long = |text: &str| format!("{text} {}", "and more of it ".repeat(30));
        assert!(callers.is_told_in(&long("The worst one is handlers/ylva.ts:")));
        assert!(!callers.is_told_in("The worst one is handlers/ylva.ts."), "it is short");
        assert!(!callers.is_told_in(&long("The invoice page had 14 causes.")));
        assert!(report("It is the index.").is_told_in(&long("It was the index.")), "it names nothing");
    }

    #[test]
    fn an_agents_answer_is_its_report_unless_it_goes_on() {
        let input = ToolInput { about: Some("Check the history".into()), ..ToolInput::default() };
        let call = ToolUse { id: "t".into(), name: "Task".into(), input };
        let of = |name: &str, text: &str, is_error, running: Option<&str>| {
            let result = ToolResult { id: "t".into(), is_error, text: text.to_owned() };
            let detail = ResultDetail { running: running.map(str::to_owned), ..ResultDetail::default() };
            let call = ToolUse { name: name.into(), ..call.clone() };
            AgentReport::of_answer(&CallAnswer { call: Some(&call), result: &result, detail: Some(&detail) })
        };
        let report = of("Task", "Since commit 9f3c1ab7.", false, None).unwrap();
        assert_eq!(
            (report.about.as_str(), report.text.as_str()),
            ("Agent \"Check the history\" completed", "Since commit 9f3c1ab7.")
        );
        assert!(of("Agent", "Since commit 9f3c1ab7.", false, None).is_some());
        assert_eq!(of("Agent", "Async agent launched successfully.", false, None), None);
        assert_eq!(of("Agent", "launched", false, Some("a1")), None);
        assert_eq!(of("Bash", "x", false, None), None);
        assert_eq!(of("Task", "no such agent", true, None), None);
    }
}
