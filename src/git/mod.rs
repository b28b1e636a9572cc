//! The state of a git work tree, read without running anything that the work tree or its configuration
//! names.
//!
//! There are two barriers (`docs/adr/0009-git-in-a-private-directory.md`). First, git never sees the
//! repository's own directory: `repository` finds it, and `private_git_dir` creates another one that links
//! to its data, with a configuration of ours that has only the harmless keys of `git_config_keys`. Second,
//! git runs in a `sandbox` in which the kernel lets it start no process and open no socket. If either is
//! impossible, git is not run, and the error says so. `ask_git` is the interface.

pub mod ask_git;
mod git_config_keys;
mod git_program;
mod git_run;
mod key_files;
mod new_files;
mod private_git_dir;
mod repository;
mod sandbox;
