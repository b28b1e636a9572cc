//! Text for terminals and people: what is safe to print, how wide it is, and where it is cut or wrapped.

pub mod column_fit;
pub mod ellipsis;
mod escape_markers;
pub mod markup;
pub mod nearest_word;
pub mod plural;
pub mod safe_text;
pub mod shell_word;
pub mod squeeze;
pub mod visible;
pub mod word_wrap;
