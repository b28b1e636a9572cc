//! Laws over random input, and examples that need the whole screen.

mod claude;
mod dump;
mod inputs;
mod laws;
mod links;
mod resize;
