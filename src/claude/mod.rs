//! Claude Code as a program on this machine: where it is, what it is given for one launch, what it says in
//! its files.

mod code_files;
pub mod find_claude;
pub mod plugin;
pub mod sessions_file;
pub mod settings_files;
pub mod slash_commands;
pub mod start_code;
