//! Where the observer is, what its next look is for, and who waits for it.

use std::path::PathBuf;

use serde_json::Value;

use super::observer::{Observer, Order, Seen};
use crate::core::ids::ConversationId;
use crate::core::time::Stamp;
use crate::fs::watch::Watcher;

/// How often the transcript is looked at while a hook waits for its lines, in ms: Claude's own flush comes every 100.
const AWAIT_LOOK_MS: u64 = 5;
/// After how long a look that does not come back is told, in ms.
const HANGS_MS: u64 = 10_000;

/// The looks at Claude's files. One goes on at a time; what is wanted meanwhile is one more.
#[derive(Debug)]
pub(super) struct Looks {
    /// Here, or lent for a look.
    observer: Option<Box<Observer>>,
    /// What the next look is to do, and whether there is to be one.
    order: Order,
    wanted: bool,
    /// Looks that were begun, and the last one that has come back.
    begun: u64,
    seen: u64,
    /// When the observer was lent.
    lent: Stamp,
    polls: bool,
    told_hanging: bool,
    asking: Vec<Asking>,
    /// Calls of hooks so far.
    calls: u64,
}

/// Who waits for a look at what Claude has written.
#[derive(Debug)]
pub(super) struct Asking {
    /// The look that will do.
    look: u64,
    until: Stamp,
    pub connection: u64,
    pub request: u64,
    pub what: Asked,
}

/// What for.
#[derive(Debug)]
pub(super) enum Asked {
    /// A hook's call; `believed` when the transcript that it names may be one.
    Hook { number: u64, event: String, payload: Value, believed: bool },
    /// `hopty context`.
    Context,
}

impl Looks {
    pub fn new(observer: Observer) -> Self {
        Looks {
            observer: Some(Box::new(observer)),
            order: Order::default(),
            wanted: false,
            begun: 0,
            seen: 0,
            lent: Stamp(0),
            polls: false,
            told_hanging: false,
            asking: Vec::new(),
            calls: 0,
        }
    }

    pub fn is_observer_here(&self) -> bool {
        self.observer.is_some()
    }

    /// When the last look began.
    pub fn lent(&self) -> Stamp {
        self.lent
    }

    /// Whether nothing tells of changes.
    pub fn polls(&self) -> bool {
        self.polls
    }

    /// What tells of changes, while nobody looks already.
    pub fn watcher(&self) -> Option<&Watcher> {
        self.observer.as_deref().map(Observer::watcher)
    }

    /// There is to be a look; gives what it is to do.
    pub fn want(&mut self) -> &mut Order {
        self.wanted = true;
        &mut self.order
    }

    /// The observer with its order, when it is here and there is to be a look; `lines` while a hook waits for lines.
    pub fn lend(&mut self, now: Stamp, lines: bool) -> Option<(Box<Observer>, Order)> {
        let due = self.wanted || (lines && now >= self.lent.after(AWAIT_LOOK_MS));
        if !due {
            return None;
        }
        let observer = self.observer.take()?;
        self.wanted = false;
        self.begun += 1;
        self.lent = now;
        Some((observer, std::mem::take(&mut self.order)))
    }

    pub fn came_back(&mut self, observer: Box<Observer>, seen: &Seen) {
        self.observer = Some(observer);
        self.seen = self.begun;
        self.polls = seen.polls;
        for asking in &mut self.asking {
            if let Asked::Hook { number, believed, .. } = &mut asking.what {
                *believed |= seen.believed.contains(number);
            }
        }
    }

    /// A number for a hook's call; the next look says whether the path that it names may be its transcript.
    pub fn check(&mut self, named: Option<(PathBuf, ConversationId)>) -> u64 {
        self.calls += 1;
        self.order.named.extend(named.map(|(path, of)| (self.calls, path, of)));
        self.calls
    }

    /// Somebody waits for a look that begins from now on.
    pub fn ask(&mut self, until: Stamp, connection: u64, request: u64, what: Asked) {
        self.wanted = true;
        self.asking.push(Asking { look: self.begun + 1, until, connection, request, what });
    }

    /// Nobody hears the answer any more.
    pub fn forget(&mut self, connection: u64) {
        self.asking.retain(|asking| asking.connection != connection);
    }

    /// The connections of hooks' calls that wait. They wait no longer.
    pub fn drop_hooks(&mut self) -> Vec<u64> {
        let is_hook = |asking: &mut Asking| matches!(asking.what, Asked::Hook { .. });
        self.asking.extract_if(.., is_hook).map(|asking| asking.connection).collect()
    }

    /// The next one whose look has come, or whose patience is over.
    pub fn next_due(&mut self, now: Stamp) -> Option<Asking> {
        let at = self.asking.iter().position(|asking| asking.look <= self.seen || asking.until <= now)?;
        Some(self.asking.remove(at))
    }

    /// Whether a look does not come back; once.
    pub fn hangs(&mut self, now: Stamp) -> bool {
        let hangs = self.observer.is_none() && !self.told_hanging && now >= self.lent.after(HANGS_MS);
        self.told_hanging |= hangs;
        hangs
    }

    /// When there is something to do: a look to begin, somebody to let go on, or to say that the disk hangs.
    pub fn deadline(&self, now: Stamp, lines: bool) -> Option<Stamp> {
        let here = self.observer.is_some();
        let wanted = (here && self.wanted).then_some(now);
        let awaited = (here && lines).then(|| self.lent.after(AWAIT_LOOK_MS));
        let hangs = (!here && !self.told_hanging).then(|| self.lent.after(HANGS_MS));
        let patience = self.asking.iter().map(|asking| asking.until).min();
        [wanted, awaited, hangs, patience].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::Config;
    use crate::core::time::WallTime;
    use crate::fs::paths::Paths;

    fn looks(dir: &std::path::Path) -> Looks {
        let paths = Paths::from_env(|name| (name == "HOME").then(|| dir.into())).unwrap();
        Looks::new(Observer::new(&paths, &Config::default(), true, WallTime(0)))
    }

    #[test]
    fn who_asks_while_a_look_goes_on_waits_for_the_next_one() {
        let home = tempfile::tempdir().unwrap();
        let mut looks = looks(home.path());
        looks.ask(Stamp(100), 1, 1, Asked::Context);
        let (observer, _) = looks.lend(Stamp(0), false).unwrap();
        looks.ask(Stamp(100), 2, 1, Asked::Context);
        assert!(looks.lend(Stamp(1), false).is_none() && looks.next_due(Stamp(1)).is_none());
        looks.came_back(observer, &Seen::default());
        assert_eq!(looks.next_due(Stamp(2)).map(|asking| asking.connection), Some(1));
        assert!(looks.next_due(Stamp(2)).is_none());
        let (observer, _) = looks.lend(Stamp(2), false).unwrap();
        looks.came_back(observer, &Seen::default());
        assert_eq!(looks.next_due(Stamp(3)).map(|asking| asking.connection), Some(2));
        assert!(looks.lend(Stamp(3), false).is_none() && looks.deadline(Stamp(3), false).is_none());
    }

    #[test]
    fn a_look_that_does_not_come_back_holds_nobody_and_is_told_once() {
        let home = tempfile::tempdir().unwrap();
        let mut looks = looks(home.path());
        looks.ask(Stamp(100), 1, 1, Asked::Context);
        let _away = looks.lend(Stamp(0), false).unwrap();
        assert_eq!(looks.deadline(Stamp(1), true), Some(Stamp(100)));
        assert!(looks.next_due(Stamp(99)).is_none() && looks.next_due(Stamp(100)).is_some());
        assert_eq!(looks.deadline(Stamp(101), true), Some(Stamp(HANGS_MS)));
        assert!(!looks.hangs(Stamp(HANGS_MS - 1)) && looks.hangs(Stamp(HANGS_MS)) && !looks.hangs(Stamp(HANGS_MS)));
        assert_eq!(looks.deadline(Stamp(HANGS_MS), true), None);
    }
}
