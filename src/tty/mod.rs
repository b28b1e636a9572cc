//! The person's terminal: its modes and size, handing it to the host, and giving unread input back.

pub mod borrowed_terminal;
pub mod full_screen;
pub mod full_screen_page;
pub mod modes;
pub mod page_keys;
pub mod passphrase;
pub mod raw;
pub mod unread_input;

/// Whether the terminal that `TERM` names can do more than print lines.
pub fn can_draw() -> bool {
    !matches!(std::env::var("TERM").unwrap_or_default().as_str(), "" | "dumb")
}

/// Whether `NO_COLOR` is not set; an empty value counts as not set (no-color.org).
pub fn wants_colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
