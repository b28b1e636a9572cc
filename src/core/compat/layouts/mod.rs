//! Layouts: a handoff in the file formats of other tools, for people who keep using them.
//!
//! They are written only if `handoff.views` names them. The record stays the truth: nothing reads a layout
//! back as a handoff. All text comes from `state.json`, so it is safe to print and free of secrets; only the
//! raw copies of layout `memory` are the transcript's own bytes. Text in, text out: `layout_place` says which
//! files change, and `fs::edits` changes them.

pub mod acm;
mod layout_material;
pub mod layout_place;
pub mod memory;
pub mod memory_layout;
pub mod orchestrator;
pub mod pid;
pub mod state_yaml;

#[cfg(test)]
pub(in crate::core::compat) use layout_material::tests::material;
pub use layout_material::{Material, checkpoint};
