//! What reading has to remember between two calls of the parser.

/// Most bytes of a request for a setting that are kept: one more than any has that is known.
const REQUEST_MAX: usize = 3;

/// Where the parser is, as far as its calls tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallbackState {
    /// The setting that the child is asking for (DECRQSS).
    pub setting_request: Option<Vec<u8>>,
    /// It is in a device control string.
    pub in_device_control: bool,
    /// `ESC k` begins a name for the window, as in GNU screen and tmux.
    pub takes_window_names: bool,
    /// One has just begun.
    pub in_window_name: bool,
    /// The parser has called since this was cleared.
    pub called: bool,
    /// It has come back to text (the ground state) since this was cleared.
    pub in_ground: bool,
}

impl CallbackState {
    /// One more byte of a request for a setting.
    pub fn request_byte(&mut self, byte: u8) {
        if let Some(request) = self.setting_request.as_mut().filter(|request| request.len() < REQUEST_MAX) {
            request.push(byte);
        }
    }

    /// RIS: nothing is open any more.
    pub fn reset(&mut self) {
        self.setting_request = None;
        self.in_device_control = false;
        self.in_window_name = false;
    }

    /// Before the parser reads on.
    pub fn clear_calls(&mut self) {
        (self.called, self.in_ground) = (false, false);
    }
}
