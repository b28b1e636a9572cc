//! The state of a git work tree, read without running anything that the work tree or its configuration names.
//!
//! Two walls (`docs/adr/0009-git-in-a-private-directory.md`). git never sees the repository's own directory:
//! `repository` finds it, `private_git_dir` makes another one beside it that links to the data and has a
//! configuration of ours, with the few harmless keys that `git_config_keys` takes over. And git runs in a
//! `sandbox` in which the kernel lets it start no process and open no socket. Where either cannot be had, git
//! is not run, and the error says so. `ask_git` is what others ask.

pub mod ask_git;
mod git_config_keys;
mod git_program;
mod git_run;
mod key_files;
mod new_files;
mod private_git_dir;
mod repository;
mod sandbox;
