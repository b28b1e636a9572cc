//! Claude Code as a program on this machine: where it is, the files of one launch, and the files that it
//! writes.

mod code_files;
pub mod find_claude;
pub mod pasted_images;
pub mod plugin;
pub mod sessions_file;
pub mod settings_files;
pub mod slash_commands;
pub mod start_code;
