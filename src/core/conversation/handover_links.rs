//! One task through all its hand-overs: which conversation continued which.
//!
//! Several places know of a hand-over (the manifest of a channel, the record of the handoff, the journal of
//! the session, the first prompt of the fresh conversation), and none of them is kept forever. The chain is
//! made of the links from all of them.

use std::collections::{HashMap, HashSet};

use crate::core::ids::{ConversationId, HandoffId, SessionName};
use crate::core::time::WallTime;

/// The longest chain.
const LENGTH: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoverLink {
    pub handoff: HandoffId,
    pub from: ConversationId,
    /// The conversation that continued; none if nobody loaded the handoff, or it is unknown.
    pub to: Option<ConversationId>,
    pub at: WallTime,
    /// The type of the handoff: `auto`, `manual`, `signal`, `crash`.
    pub kind: String,
    /// A sentence.
    pub reason: Option<String>,
    /// Tokens in use, and the size of the context window.
    pub tokens: Option<(u64, u64)>,
    pub session: Option<SessionName>,
}

/// All known hand-overs; each handoff once.
#[derive(Clone, Debug, Default)]
pub struct HandoverLinks {
    links: HashMap<HandoffId, HandoverLink>,
    /// The source of each fork.
    forks: HashMap<ConversationId, ConversationId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainStep {
    pub id: ConversationId,
    /// The number of branches between the first conversation and this one: 0 for the main line.
    pub branch: usize,
    /// None for the first conversation.
    pub handover_into: Option<HandoverLink>,
    /// The source of a fork, if no hand-over began the conversation.
    pub forked_from: Option<ConversationId>,
}

impl HandoverLinks {
    /// Adds what one place knows of a handoff. Known fields stay, and missing ones are filled in.
    pub fn add(&mut self, link: HandoverLink) {
        let Some(known) = self.links.get_mut(&link.handoff) else {
            self.links.insert(link.handoff.clone(), link);
            return;
        };
        known.to = known.to.take().or(link.to);
        known.reason = known.reason.take().or(link.reason);
        known.tokens = known.tokens.or(link.tokens);
        known.session = known.session.take().or(link.session);
    }

    /// Adds that `to` continued from `handoff`, if the handoff itself is known.
    pub fn continued(&mut self, handoff: &HandoffId, to: &ConversationId) {
        if let Some(link) = self.links.get_mut(handoff) {
            link.to = link.to.take().or_else(|| Some(to.clone()));
        }
    }

    /// Adds that `fork` was forked from `source`.
    pub fn forked(&mut self, fork: &ConversationId, source: &ConversationId) {
        self.forks.insert(fork.clone(), source.clone());
    }

    /// Whether this handoff and the conversation that continued from it are known.
    pub fn has_both_ends(&self, handoff: &HandoffId) -> bool {
        self.links.get(handoff).is_some_and(|link| link.to.is_some())
    }

    /// The hand-over that began a conversation; the newest of several.
    pub fn handover_into(&self, id: &ConversationId) -> Option<&HandoverLink> {
        let begun = self.links.values().filter(|link| link.to.as_ref() == Some(id) && link.from != *id);
        begun.max_by(|a, b| (a.at, &a.handoff).cmp(&(b.at, &b.handoff)))
    }

    /// The hand-overs of a conversation that another continued from, oldest first.
    pub fn handovers_from(&self, id: &ConversationId) -> Vec<&HandoverLink> {
        let leaves = |link: &&HandoverLink| link.from == *id && link.to.as_ref().is_some_and(|to| to != id);
        let mut out: Vec<&HandoverLink> = self.links.values().filter(leaves).collect();
        out.sort_by(|a, b| (a.at, &a.handoff).cmp(&(b.at, &b.handoff)));
        out
    }

    /// The chain of `id`, oldest first. If a conversation was handed over more than once, the last hand-over
    /// is the main line, and the others follow as branches, as do its forks.
    pub fn chain(&self, id: &ConversationId) -> Vec<ChainStep> {
        let mut seen = HashSet::new();
        let mut first = id;
        // Forged or repeated ids could form a cycle.
        while seen.insert(first.clone())
            && let Some(before) =
                self.handover_into(first).map(|link| &link.from).or_else(|| self.forks.get(first))
            && !seen.contains(before)
        {
            first = before;
        }
        let mut forks: HashMap<&ConversationId, Vec<&ConversationId>> = HashMap::new();
        for (fork, source) in self.forks.iter().filter(|(fork, _)| self.handover_into(fork).is_none()) {
            forks.entry(source).or_default().push(fork);
        }
        forks.values_mut().for_each(|of| of.sort());
        let mut steps = Vec::new();
        let mut seen = HashSet::new();
        let mut branches = vec![(first.clone(), None::<HandoverLink>, 0)];
        while let Some((id, handover_into, branch)) = branches.pop() {
            if steps.len() == LENGTH || !seen.insert(id.clone()) {
                continue;
            }
            let mut next: Vec<_> = self
                .handovers_from(&id)
                .into_iter()
                .filter_map(|link| Some((link.to.clone()?, Some(link.clone()), branch + 1)))
                .collect();
            if let Some(main) = next.last_mut() {
                main.2 = branch;
            }
            branches
                .extend(forks.get(&id).into_iter().flatten().map(|fork| ((*fork).clone(), None, branch + 1)));
            branches.extend(next);
            let forked_from = if handover_into.is_none() { self.forks.get(&id).cloned() } else { None };
            steps.push(ChainStep { id, branch, handover_into, forked_from });
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> ConversationId {
        format!("{n:08x}-94b9-4841-b82f-a62cfb8efdc0").parse().unwrap()
    }

    fn link(from: u32, to: Option<u32>, minute: u32) -> HandoverLink {
        let at = WallTime::parse(&format!("2026-11-20T14:{minute:02}:00Z")).unwrap();
        HandoverLink {
            handoff: HandoffId::new(at, &id(from)),
            from: id(from),
            to: to.map(id),
            at,
            kind: "auto".to_owned(),
            reason: None,
            tokens: None,
            session: None,
        }
    }

    fn chain(links: &[HandoverLink], of: u32) -> Vec<(u32, usize)> {
        let mut all = HandoverLinks::default();
        links.iter().cloned().for_each(|link| all.add(link));
        let number = |step: ChainStep| (u32::from_str_radix(step.id.short(), 16).unwrap(), step.branch);
        all.chain(&id(of)).into_iter().map(number).collect()
    }

    #[test]
    fn a_chain_is_the_same_from_each_of_its_conversations() {
        let links = [link(2, Some(3), 20), link(1, Some(2), 10), link(3, None, 30), link(7, Some(8), 5)];
        for of in 1..=3 {
            assert_eq!(chain(&links, of), [(1, 0), (2, 0), (3, 0)], "{of}");
        }
        assert_eq!(chain(&links, 9), [(9, 0)], "alone");
    }

    #[test]
    fn the_last_hand_over_is_the_main_line_and_others_are_branches() {
        let links = [link(1, Some(2), 10), link(1, Some(3), 20), link(2, Some(4), 15), link(3, Some(5), 30)];
        assert_eq!(chain(&links, 4), [(1, 0), (3, 0), (5, 0), (2, 1), (4, 1)]);
    }

    #[test]
    fn forks_are_branches_of_their_source() {
        let mut all = HandoverLinks::default();
        all.add(link(1, Some(2), 10));
        for (fork, source) in [(5, 2), (4, 1), (3, 1), (6, 5), (2, 9)] {
            all.forked(&id(fork), &id(source));
        }
        for of in 1..=6 {
            let steps = all.chain(&id(of));
            let number = |id: &ConversationId| u32::from_str_radix(id.short(), 16).unwrap();
            let found: Vec<_> = steps
                .iter()
                .map(|step| (number(&step.id), step.branch, step.forked_from.as_ref().map(number)))
                .collect();
            let wanted = [
                (1, 0, None),
                (2, 0, None),
                (5, 1, Some(2)),
                (6, 2, Some(5)),
                (4, 1, Some(1)),
                (3, 1, Some(1)),
            ];
            assert_eq!(found, wanted, "{of}");
        }
        all.forked(&id(7), &id(8));
        all.forked(&id(8), &id(7));
        assert_eq!(all.chain(&id(7)).len(), 2, "a ring ends");
    }

    #[test]
    fn rings_end() {
        assert_eq!(chain(&[link(1, Some(2), 10), link(2, Some(1), 20)], 1).len(), 2);
        assert_eq!(chain(&[link(1, Some(1), 10)], 1), [(1, 0)]);
    }

    #[test]
    fn several_places_tell_of_one_hand_over() {
        let mut all = HandoverLinks::default();
        let half = link(1, None, 10);
        all.continued(&half.handoff, &id(9));
        all.add(half.clone());
        all.add(HandoverLink { reason: Some("why".to_owned()), tokens: Some((8, 10)), ..half.clone() });
        assert!(!all.has_both_ends(&half.handoff));
        all.continued(&half.handoff, &id(2));
        all.continued(&half.handoff, &id(3));
        let known = all.handover_into(&id(2)).unwrap();
        assert_eq!((known.reason.as_deref(), known.tokens), (Some("why"), Some((8, 10))));
    }
}
