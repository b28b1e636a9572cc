//! State between two calls of the parser.

/// The most bytes of a request for a setting that are kept: one more than any known request has.
const REQUEST_MAX: usize = 3;

/// The parser's state, as far as its calls show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallbackState {
    /// The setting that the child is querying (DECRQSS).
    pub setting_request: Option<Vec<u8>>,
    /// It is in a device control string.
    pub in_device_control: bool,
    /// `ESC k` starts a window name, as in GNU screen and tmux.
    pub takes_window_names: bool,
    /// A window name has just started.
    pub in_window_name: bool,
    /// The parser has called since this was cleared.
    pub called: bool,
    /// It has returned to text (the ground state) since this was cleared.
    pub in_ground: bool,
}

impl CallbackState {
    /// Adds a byte to a request for a setting.
    pub fn request_byte(&mut self, byte: u8) {
        if let Some(request) = self.setting_request.as_mut().filter(|request| request.len() < REQUEST_MAX) {
            request.push(byte);
        }
    }

    /// RIS: clears everything unfinished.
    pub fn reset(&mut self) {
        self.setting_request = None;
        self.in_device_control = false;
        self.in_window_name = false;
    }

    /// Call before the parser reads on.
    pub fn clear_calls(&mut self) {
        (self.called, self.in_ground) = (false, false);
    }
}
