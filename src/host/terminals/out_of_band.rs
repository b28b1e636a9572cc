//! Sequences of hopty's own for attached terminals: notifications and bells.

use super::Terminals;
use super::client_view::ClientView;
use super::scene::Scene;

impl Terminals {
    /// Writes sequences that draw nothing to every attached terminal that can take them. False if the program
    /// is in the middle of a sequence, which they would break: try again later.
    pub fn ring(&mut self, bytes: &[u8], scene: &mut Scene<'_>) -> bool {
        let between = scene.run.as_mut().is_none_or(|run| {
            run.model.look(|screen| screen.dump_with(0).unfinished.is_empty()).unwrap_or(false)
        });
        if !between {
            return false;
        }
        let wrapped = through_tmux(bytes);
        for (id, client) in &mut self.clients {
            if client.watches() && !matches!(client.view, ClientView::Stale { .. }) {
                client.put_picture(*id, if client.is_in_tmux() { &wrapped } else { bytes }, scene);
            }
        }
        true
    }
}

/// The sequences wrapped for tmux, which otherwise drops notifications (and passes these on with
/// `allow-passthrough`). A bell is left to tmux.
fn through_tmux(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    let mut rest = bytes;
    while let Some(from) = memchr::memmem::find(rest, b"\x1b]") {
        let bell = memchr::memchr(0x07, &rest[from..]).map(|at| from + at + 1);
        let terminator = memchr::memmem::find(&rest[from..], b"\x1b\\").map(|at| from + at + 2);
        let end = bell.into_iter().chain(terminator).min().unwrap_or(rest.len());
        out.extend_from_slice(&rest[..from]);
        out.extend_from_slice(b"\x1bPtmux;");
        for byte in &rest[from..end] {
            out.extend_from_slice(if *byte == 0x1b { b"\x1b\x1b" } else { std::slice::from_ref(byte) });
        }
        out.extend_from_slice(b"\x1b\\");
        rest = &rest[end..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_gets_notifications_wrapped_and_bells_as_they_are() {
        let bytes = b"\x1b]9;h\\i\x07\x07\x1b]99;;hi\x1b\\";
        let wrapped = b"\x1bPtmux;\x1b\x1b]9;h\\i\x07\x1b\\\x07\x1bPtmux;\x1b\x1b]99;;hi\x1b\x1b\\\x1b\\";
        assert_eq!(through_tmux(bytes), wrapped);
        assert_eq!(through_tmux(b"\x07"), b"\x07");
    }
}
