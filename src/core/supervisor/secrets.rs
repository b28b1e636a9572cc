//! Secrets in an event's texts: names of files, errors, the text of a dialog. They are removed before the
//! event is handled, because decisions are shown to people and journals may be shared.

use super::event::Event;
use crate::core::redact::redact;

impl Event {
    /// The event without secrets in its texts.
    #[must_use]
    pub fn redacted(mut self) -> Event {
        let clean = |text: &mut String| *text = redact(text);
        match &mut self {
            Event::Limited { what } => clean(what),
            Event::SaveFailed { error } => clean(error),
            Event::DirectoryGone { dir } => clean(dir),
            Event::CouldNotStart { gone, .. } => gone.iter_mut().for_each(clean),
            Event::Detached { why, .. } => clean(why),
            Event::Status { waiting_for, .. } => waiting_for.iter_mut().for_each(clean),
            Event::Choice { dialog, .. } => clean(dialog),
            Event::Settings { changed } => changed.iter_mut().for_each(clean),
            Event::Hook { hook, .. } => hook.asks.iter_mut().chain(&mut hook.error).for_each(clean),
            _ => {}
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_of_others_words_has_no_secret() {
        let what = "the manifest /home/u/password=hunter22x7Q/m.json cannot be read".to_owned();
        let Event::Limited { what } = (Event::Limited { what }).redacted() else { panic!("another event") };
        assert!(!what.contains("hunter22") && what.contains("[redacted: "), "{what}");
    }
}
