//! Commands from inside a session: the prefix key and a key after it.

use crate::core::draft::units;
use crate::core::input::prefix_command::{Order, is_release, order};
use crate::core::input::{InputClass, InputPiece};
use crate::core::supervisor::event::Event;
use crate::core::supervisor::question::AskAnswer;
use crate::core::word_wrap::wrap_words;
use crate::host::Host;
use crate::host::jobs::no_conversation_page;

impl Host {
    /// Takes commands out of a client's input; the rest goes to the child.
    pub(in crate::host) fn take_orders(&mut self, id: u64, pieces: &[InputPiece]) {
        for piece in pieces {
            let Some(client) = self.client_mut(id) else { return };
            let (whole, bytes) = client.input.cut(piece);
            match (piece.class, client.input.armed) {
                // Its beginning was passed on before it was recognized.
                _ if !whole => self.pass_on(id, piece.class, bytes),
                (InputClass::Prefix, false) => client.input.armed = true,
                (InputClass::Prefix, true) => {
                    client.input.armed = false;
                    self.pass_on(id, InputClass::Typed, bytes);
                }
                (InputClass::Report, _) | (_, false) => self.pass_on(id, piece.class, bytes),
                (InputClass::Paste, true) => {
                    client.input.armed = false;
                    self.pass_on(id, InputClass::Paste, bytes);
                }
                (class, true) => {
                    let mut keys = keys(&bytes);
                    // The release of the prefix key is not passed on.
                    let released = keys.iter().take_while(|key| is_release(key)).count();
                    keys.drain(..released);
                    if keys.is_empty() {
                        continue;
                    }
                    client.input.armed = false;
                    let key = keys.remove(0);
                    self.obey(id, &key);
                    self.pass_on(id, class, keys.concat());
                }
            }
        }
    }

    /// A key on a page of hopty's own: the page closes. The keys that the page lists work there as after the
    /// prefix key, which may be pressed again first.
    pub(in crate::host) fn leave_page(&mut self, id: u64, pieces: &[InputPiece]) {
        let Some(client) = self.client_mut(id) else { return };
        let cut: Vec<(InputClass, Vec<u8>)> =
            pieces.iter().map(|piece| (piece.class, client.input.cut(piece).1)).collect();
        let any = cut.iter().any(|(class, _)| *class != InputClass::Report);
        let key = cut
            .into_iter()
            .find(|(class, _)| !matches!(class, InputClass::Report | InputClass::Prefix))
            .map(|(_, bytes)| bytes);
        if !any {
            return;
        }
        client.input.armed = key.is_none();
        self.on_terminals(|terminals, scene| terminals.redraw(id, scene));
        if let Some(key) = key.as_deref().map(keys).and_then(|keys| keys.into_iter().next()) {
            self.obey(id, &key);
        }
    }

    fn pass_on(&mut self, id: u64, class: InputClass, bytes: Vec<u8>) {
        let may = self.client_mut(id).is_some_and(|client| !client.read_only);
        if may && !bytes.is_empty() {
            self.tell_keys(id, class, bytes.len() as u64);
            self.give_part(id, class, bytes);
        }
    }

    /// An unknown key after the prefix does nothing: it was not meant for the child.
    fn obey(&mut self, id: u64, key: &[u8]) {
        let Some(client) = self.terminals.client(id) else { return };
        let (size, read_only) = (client.size, client.read_only);
        match order(key) {
            Some(Order::Detach) if self.session.private.is_some() => {
                let text = "\x1b[1mhopty\x1b[m no terminal could attach to this session again, so hopty does \
                            not detach this one.\n\nPress any key to return.";
                let text = wrap_words(text, 0, usize::from(size.drawn().0));
                self.on_terminals(|terminals, scene| terminals.show_page(id, &text, scene));
            }
            Some(Order::Detach) => self.detach(id),
            Some(Order::Redraw) => self.on_terminals(|terminals, scene| terminals.redraw(id, scene)),
            Some(Order::Help) => {
                let text = self.session.help_page(usize::from(size.drawn().0));
                self.on_terminals(|terminals, scene| terminals.show_page(id, &text, scene));
            }
            Some(Order::Notices) => {
                self.on_terminals(|terminals, scene| terminals.show_notices(id, size, scene));
                self.segment_may_differ();
            }
            Some(Order::Before) => match self.recorder.supervisor.conversation_before() {
                Some(conversation) => self.jobs.read_conversation(id, conversation, size),
                None => {
                    let text = no_conversation_page(size);
                    self.on_terminals(|terminals, scene| terminals.show_page(id, &text, scene));
                }
            },
            // A client that only watches decides nothing.
            Some(Order::HandOver | Order::Snooze) if read_only => {}
            Some(Order::HandOver) => self.hand_over_by_key(),
            Some(Order::Snooze) => self.events.push_back(Event::Ask { answer: AskAnswer::Snooze }),
            None => {}
        }
    }
}

/// Splits bytes into keys; characters typed in one go are separate keys.
fn keys(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    for unit in units(bytes) {
        match std::str::from_utf8(&unit.bytes) {
            Ok(text) if !text.contains('\x1b') => {
                keys.extend(text.chars().map(|c| c.to_string().into_bytes()))
            }
            _ => keys.push(unit.bytes),
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_one_by_one() {
        assert_eq!(keys(b"dx"), [b"d".to_vec(), b"x".to_vec()]);
        assert_eq!(
            keys("ä\x1b[A\x1b[100u".as_bytes()),
            ["ä".as_bytes().to_vec(), b"\x1b[A".to_vec(), b"\x1b[100u".to_vec()]
        );
    }
}
