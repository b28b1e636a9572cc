//! What writing does to the screen: text and control characters, erasing and shifting, and skipping lines that nobody will see.

mod erase;
mod print;
mod skip_ahead;
mod write;

pub use erase::Extent;
#[cfg(test)]
pub use skip_ahead::WORTH;
