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
        for (id, client) in &mut self.clients {
            if client.watches() && !matches!(client.view, ClientView::Stale { .. }) {
                client.put_picture(*id, bytes, scene);
            }
        }
        true
    }
}
