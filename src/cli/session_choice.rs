//! Which session `hopty attach` without a name means.

use super::control::{Rule, check_sessions_dir, live_session, nearest};
use super::detach_and_stop::live_names;
use super::error::VerbError;
use super::list;
use crate::core::ids::SessionName;
use crate::core::status_types::SessionStatus;
use crate::fs::paths::Paths;
use crate::fs::session::ListedSession;

/// What `hopty attach` without a name may mean.
#[derive(Debug, PartialEq)]
pub(super) enum AttachChoice {
    One(SessionName),
    /// A person picks from the list. The first `here` of them run in this directory.
    Several {
        sessions: Vec<SessionStatus>,
        here: usize,
    },
}

/// The only session that is running, or the only one of this directory; of several here, the one that is
/// detached.
pub(super) fn choose_session(paths: &Paths) -> Result<AttachChoice, VerbError> {
    check_sessions_dir(paths)?;
    let names = live_names(paths)?;
    let here = nearest(paths, &names);
    match (here.as_slice(), names.as_slice()) {
        ([one], _) | ([], [one]) => Ok(AttachChoice::One(one.clone())),
        // The error says what else can be done.
        ([], []) => live_session(paths, None, Rule::Any).map(AttachChoice::One),
        _ => {
            let alive = names.into_iter().map(|name| ListedSession { name, is_alive: true });
            Ok(choice(list::statuses(paths, alive.collect()), &here))
        }
    }
}

fn choice(sessions: Vec<SessionStatus>, here: &[SessionName]) -> AttachChoice {
    let (mut of_here, mut others): (Vec<SessionStatus>, Vec<SessionStatus>) =
        sessions.into_iter().partition(|session| here.iter().any(|name| name.as_str() == session.name));
    let mut detached = of_here.iter().filter(|session| session.clients.is_empty());
    if let (Some(one), None) = (detached.next(), detached.next())
        && let Ok(name) = one.name.parse()
    {
        return AttachChoice::One(name);
    }
    of_here.sort_by_key(|session| !list::needs_person(session));
    others.sort_by_key(|session| !list::needs_person(session));
    let here = of_here.len();
    of_here.append(&mut others);
    AttachChoice::Several { sessions: of_here, here }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::status_types::ClientStatus;
    use crate::core::supervisor::reported_state::SessionState;

    fn session(name: &str, clients: usize, state: SessionState) -> SessionStatus {
        SessionStatus {
            name: name.to_owned(),
            state: state.into(),
            clients: vec![ClientStatus::default(); clients],
            ..SessionStatus::default()
        }
    }

    #[test]
    fn the_only_detached_session_of_several_is_chosen() {
        let (idle, blocked) = (SessionState::Idle, SessionState::Blocked);
        let here: Vec<SessionName> = ["b", "c"].map(|name| name.parse().unwrap()).to_vec();
        let found =
            choice(vec![session("a", 0, blocked), session("b", 1, idle), session("c", 0, idle)], &here);
        assert_eq!(found, AttachChoice::One("c".parse().unwrap()), "one elsewhere does not count");
        // Several are detached, or none: a person picks. Sessions of this directory come first, blocked ones
        // before the others.
        for clients in [0, 1] {
            let sessions = vec![
                session("a", 0, idle),
                session("b", clients, idle),
                session("c", clients, blocked),
                session("d", 0, blocked),
            ];
            let AttachChoice::Several { sessions, here } = choice(sessions, &here) else {
                panic!("{clients}")
            };
            let names: Vec<&str> = sessions.iter().map(|session| session.name.as_str()).collect();
            assert_eq!((here, names), (2, vec!["c", "b", "d", "a"]));
        }
        let AttachChoice::Several { here, .. } =
            choice(vec![session("a", 0, idle), session("b", 0, idle)], &[])
        else {
            panic!("one elsewhere is not simply taken");
        };
        assert_eq!(here, 0);
    }
}
