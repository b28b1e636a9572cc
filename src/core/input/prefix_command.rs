//! hopty's own commands: the key after the prefix key.

use super::key_sequences;

/// What the key after the prefix key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `d`: detach this client; the session keeps running.
    Detach,
    /// `?`: show the commands.
    Help,
    /// `b`: show the end of the conversation before the last hand-over.
    Before,
    /// `l`: redraw the screen.
    Redraw,
    /// `n`: show hopty's recent notices.
    Notices,
    /// `r`: hand over now, like `hopty restart`.
    HandOver,
    /// `s`: no context level hands over for a while, like `hopty handoff snooze`.
    Snooze,
}

/// Every command: its key, and its description for the help and the documentation.
pub const ORDERS: [(char, Order, &str); 7] = [
    ('d', Order::Detach, "detach; the session keeps running"),
    ('b', Order::Before, "show the end of the conversation before the hand-over"),
    ('l', Order::Redraw, "redraw the screen"),
    ('n', Order::Notices, "show hopty's last notices"),
    ('r', Order::HandOver, "hand over at the next safe point"),
    ('s', Order::Snooze, "snooze automatic hand-overs"),
    ('?', Order::Help, "show these keys"),
];

/// The command of a key, as a plain byte or in the kitty protocol's form; `None` for every other key.
pub fn order(key: &[u8]) -> Option<Order> {
    let key = match key {
        [byte] => char::from(*byte),
        sequence => key_sequences::plain(sequence.strip_prefix(b"\x1b[")?.strip_suffix(b"u")?)?,
    };
    ORDERS.iter().find(|(known, ..)| *known == key).map(|(_, order, _)| *order)
}

/// Whether the bytes only report a released key (kitty protocol, event 3).
pub fn is_release(key: &[u8]) -> bool {
    let body = key.strip_prefix(b"\x1b[").and_then(|rest| rest.split_last());
    body.is_some_and(|(_, body)| key_sequences::event(body) == 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_every_form() {
        for form in ["d", "\x1b[100u", "\x1b[100;1u", "\x1b[100;1:1u", "\x1b[100:68;1;100u", "\x1b[100;65u"] {
            assert_eq!(order(form.as_bytes()), Some(Order::Detach), "{form:?}");
        }
        for form in ["?", "\x1b[47:63;2u", "\x1b[63u", "\x1b[47:63;2;63u"] {
            assert_eq!(order(form.as_bytes()), Some(Order::Help), "{form:?}");
        }
        for other in ["", "x", "D", "\x1b", "\x1b[100;5u", "\x1b[A", "dd", "\x1b[100;1:3u"] {
            assert_eq!(order(other.as_bytes()), None, "{other:?}");
        }
        assert!(is_release(b"\x1b[92;5:3u") && is_release(b"\x1b[1;1:3A"));
        assert!(!is_release(b"\x1b[92;5u") && !is_release(b"d"));
    }

    #[test]
    fn no_key_means_two_things() {
        for (n, (key, ..)) in ORDERS.iter().enumerate() {
            assert!(ORDERS[n + 1..].iter().all(|(other, ..)| other != key));
            assert_eq!(order(&[u8::try_from(*key).unwrap()]), Some(ORDERS[n].1));
        }
    }
}
