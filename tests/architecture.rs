//! The arrows of `src/lib.rs`, held: who may use whom, where each outside thing lives, and that
//! `docs/ARCHITECTURE.md` and the tables of modules name what exists.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[allow(dead_code)]
#[path = "support/skip.rs"]
mod skip;
mod source;

use std::collections::{BTreeMap, BTreeSet};

use source::{Names, Source, sources, text};

/// The layers, by top folder or file of `src`.
const PURE: &[&str] = &["core", "screen"];
const EDGES: &[&str] = &["pty", "tty", "ipc", "fs", "git", "claude", "sys"];
/// The edge that the others may use besides core: processes, files and descriptors are looked at in one way.
const COMMON: &str = "sys";
/// The shell, each with what of the shell it may use besides itself.
const SHELL: &[(&str, &[&str])] = &[
    ("host", &[]),
    // The client starts hosts, so it knows what a host is told at its start.
    ("client", &["host"]),
    ("dashboard", &[]),
    ("standin", &[]),
    ("demo", &["standin", "testing"]),
    ("recording", &[]),
    ("testing", &["recording", "standin"]),
    ("tape_recorder", &["testing"]),
    ("cli", &["host", "client", "dashboard", "standin", "demo", "testing", "tape_recorder", "recording"]),
    ("main", &["cli"]),
    ("lib", &[]),
];

/// What pure code may use from outside the crate. None of it reads a clock, a file or the environment, but
/// for the two calls of chrono that are looked for by name.
const PURE_CRATES: &[&str] = &[
    "alloc", "base64", "chrono", "memchr", "regex", "regex_syntax", "serde", "serde_json", "sha2",
    "simdutf8", "std", "strsim", "thiserror", "toml", "unicode_width", "vte",
];
/// What of std does I/O, reads a clock or the environment, or is shared state.
const IMPURE_STD: &[&str] = &[
    "std::env", "std::fs", "std::io", "std::net", "std::os", "std::process", "std::sync", "std::thread",
    "std::time",
];
/// Methods of `Path` that ask the file system.
const IMPURE_METHODS: &[&str] = &[
    "canonicalize", "exists", "is_dir", "is_file", "is_symlink", "metadata", "read_dir", "read_link",
    "symlink_metadata", "try_exists",
];

/// Crates that stand for one outside thing, and the one folder in which they are used.
const HOMES: &[(&str, &[&str])] = &[
    ("age", &["fs"]),
    ("clap", &["cli"]),
    ("crossterm", &["tty"]),
    ("flate2", &["fs"]),
    ("portable_pty", &["pty"]),
    ("ratatui", &["dashboard"]),
    // The stand-in agent is a program of its own with a loop of its own.
    ("signal_hook", &["sys", "standin"]),
    ("tar", &["fs"]),
    ("vte", &["screen"]),
    ("zstd", &["fs"]),
];

/// Who may open files for reading in another way than `safe_file`, and why.
const OPENERS: &[(&str, &str)] = &[
    ("src/cli/conversations/import.rs", "a package that a person names may come through a pipe"),
    ("src/cli/handoff/create.rs", "a summary that a person names may come through a pipe"),
    ("src/cli/play.rs", "a recording that a person names may come through a pipe"),
    ("src/cli/replay.rs", "a journal that a person names may come through a pipe"),
    ("src/fs/atomic.rs", "a directory that is synced"),
    ("src/pty/spawn.rs", "a program that was just found to be one"),
    ("src/sys/fault_injection.rs", "tests only"),
    ("src/sys/process.rs", "/proc"),
    ("src/sys/process_activity.rs", "/proc"),
    ("src/testing/isolation.rs", "directories, which are locked"),
];
/// The way into `core::compat`: what happened in a session goes in, what to write comes out. The list may
/// only get shorter.
const COMPAT_DOOR: &[(&str, &str)] = &[
    ("SessionCompat", "what happens in a session"),
    ("SessionLogContext", "goes in: what is known of the session"),
    ("Material", "goes in: the handoff that was saved"),
    ("CompatWork", "comes out: what to write"),
    ("LayoutPlace", "where it is written; by `hopty handoff create` without a session"),
    ("MemoryReason", "why a transcript is copied"),
    ("MemoryLayout", "the copies that wait, and what Claude's slash commands write"),
    ("WatchedFiles", "files to read when they change"),
    ("FileReport", "comes out: what they say"),
    ("CurrentSession", "`.current-session`; `hopty handoff session` writes it without a session"),
];
/// Functions that nothing in `src` calls, and who does.
const OUTSIDE: &[(&str, &str)] = &[
    ("at_level", "benches/archive.rs"),
    ("every_tape_is_listed", "a test that a macro of the library writes"),
    ("filling_loop", "scripts of tests for the stand-in"),
    ("snapshot_with_styles", "whoever tests with the library"),
    ("streamed_over_ms", "scripts of tests for the stand-in"),
    ("visit_unit", "serde, through a macro"),
    ("wait_for_main", "tests of what the stand-in was asked"),
    ("with_subagents", "scripts of tests for the stand-in"),
];
/// How the names of the files in `src` end.
const KINDS_OF_FILES: &[&str] = &[".rs", ".toml", ".txt", ".md", ".css", ".js", ".json", "/LICENSE"];
/// Calls that open a file by its name and read whatever it is.
const OPENS: &[&str] = &["fs::read(", "fs::read_to_string(", "File::open(", "fs::copy("];

fn folder(source: &Source) -> &str {
    source.file.trim_start_matches("src/").split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

/// Every path of every file, with the file and its folder.
fn uses(sources: &[Source]) -> Vec<(&Source, &str, Vec<String>)> {
    sources
        .iter()
        .flat_map(|source| source.paths().into_iter().map(move |path| (source, folder(source), path)))
        .collect()
}

/// The first part of a path within this crate; empty for the crate itself.
fn within(path: &[String]) -> Option<&str> {
    match path.split_first() {
        Some((first, rest)) if first == "crate" || first == "hopty" => {
            Some(rest.first().map_or("", String::as_str))
        }
        _ => None,
    }
}

fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

#[test]
fn every_folder_has_its_place() {
    for source in sources() {
        let name = folder(&source);
        let known =
            PURE.contains(&name) || EDGES.contains(&name) || SHELL.iter().any(|(shell, _)| *shell == name);
        assert!(
            known,
            "{}: give it a place in the picture of src/lib.rs and in tests/architecture.rs",
            source.file
        );
    }
}

/// A leftover of a merge shows every line twice to who searches.
#[test]
fn src_has_only_files_that_belong_there() {
    let is_known = |file: &String| KINDS_OF_FILES.iter().any(|end| file.ends_with(end));
    let odd: Vec<String> = source::files("src", "").into_iter().filter(|file| !is_known(file)).collect();
    none(&odd, "these files do not belong into src");
}

#[test]
fn nothing_is_used_against_the_arrows() {
    let sources = sources();
    let mut wrong = Vec::new();
    for (source, own, path) in uses(&sources) {
        let Some(to) = within(&path) else { continue };
        let below = |to: &str| PURE.contains(&to) || EDGES.contains(&to);
        let allowed = to == own
            || match SHELL.iter().find(|(shell, _)| *shell == own) {
                Some(("lib", _)) => true,
                Some((_, others)) => below(to) || others.contains(&to),
                // An edge may use core and the common edge, and no other edge nor the screen; core and screen
                // do not know each other.
                None => EDGES.contains(&own) && (to == "core" || to == COMMON),
            };
        if !allowed {
            wrong.push(format!("{}: {}", source.file, path.join("::")));
        }
    }
    none(&wrong, "these go against the picture of src/lib.rs");
}

#[test]
fn core_and_screen_are_pure() {
    let sources = sources();
    let mut crates = dependencies();
    crates.push("libc".to_owned());
    let mut wrong = Vec::new();
    for (source, own, path) in uses(&sources) {
        if !PURE.contains(&own) {
            continue;
        }
        let whole = path.join("::");
        let first = path[0].as_str();
        let outside = crates.iter().any(|name| name == first) && !PURE_CRATES.contains(&first);
        let impure = IMPURE_STD.iter().any(|bad| whole == *bad || whole.starts_with(&format!("{bad}::")));
        let all_of_std = whole == "std" || whole == "std::*";
        let clock = path.iter().any(|part| part == "Local") || whole.ends_with("Utc::now");
        if outside || impure || all_of_std || clock {
            wrong.push(format!("{}: {whole}", source.file));
        }
    }
    for source in sources.iter().filter(|source| PURE.contains(&folder(source))) {
        let has = |what: &str, found: bool| found.then(|| format!("{}: {what}", source.file));
        let macros = source.words_before('!');
        wrong.extend(
            ["print", "println", "eprint", "eprintln", "dbg", "thread_local"]
                .iter()
                .filter_map(|m| has(m, macros.contains(m))),
        );
        let calls = source.words_before('(');
        wrong.extend(IMPURE_METHODS.iter().filter_map(|m| has(m, calls.contains(m))));
        wrong.extend(has("a static", source.tokens.contains(&source::Token::Word("static".to_owned()))));
    }
    none(&wrong, "core and screen do no I/O and read no clock, no environment and no global");
}

#[test]
fn each_outside_crate_has_one_home() {
    let sources = sources();
    let mut wrong = Vec::new();
    for (source, own, path) in uses(&sources) {
        if let Some((_, homes)) = HOMES.iter().find(|(name, _)| *name == path[0])
            && !homes.contains(&own)
        {
            wrong.push(format!("{}: {}", source.file, path.join("::")));
        }
    }
    none(&wrong, "these crates are used outside the edge that they belong to");
}

#[test]
fn files_are_read_in_one_way() {
    let mut wrong = Vec::new();
    for source in sources() {
        let own = folder(&source);
        // The stand-ins are programs of their own, which read what they wrote.
        if ["standin", "demo"].contains(&own)
            || source.file.ends_with("_tests.rs")
            || source.file.ends_with("/tests.rs")
        {
            continue;
        }
        let whole = text(&source.file);
        let tests = ["#[cfg(test)]\nmod ", "#[cfg(test)]\npub(super) mod "]
            .iter()
            .find_map(|begin| whole.find(begin));
        let code = &whole[..tests.unwrap_or(whole.len())];
        let called =
            |call: &str| code.match_indices(call).any(|(at, _)| !code[..at].ends_with(char::is_alphanumeric));
        let opens = OPENS.iter().any(|call| called(call));
        let may = OPENERS.iter().any(|(file, _)| *file == source.file);
        if opens && !may {
            wrong.push(format!("{}: use safe_file", source.file));
        } else if may && !opens {
            wrong.push(format!("{}: take it out of OPENERS", source.file));
        }
    }
    none(&wrong, "a file may be a FIFO, a device or endless by the time it is opened");
}

#[test]
fn the_forms_of_other_tools_have_one_door() {
    let sources = sources();
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (source, _, path) in uses(&sources) {
        if let ["crate", "core", "compat", name, ..] = path.iter().map(String::as_str).collect::<Vec<_>>()[..]
            && !source.file.starts_with("src/core/compat/")
        {
            if !COMPAT_DOOR.iter().any(|(door, _)| *door == name) {
                wrong.push(format!("{}: {}", source.file, path.join("::")));
            }
            used.insert(name.to_owned());
        }
    }
    let idle = COMPAT_DOOR.iter().filter(|(door, _)| !used.contains(*door));
    wrong.extend(idle.map(|(door, _)| format!("take {door} out of COMPAT_DOOR")));
    none(&wrong, "only what COMPAT_DOOR names leads into core::compat");
}

/// A reader greps for a name and finds one thing.
#[test]
fn each_type_has_a_name_of_its_own() {
    let sources = sources();
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in &sources {
        for name in source.declared_types() {
            homes.entry(name).or_default().push(&source.file);
        }
    }
    assert!(homes.len() > 1000, "only {} types are seen", homes.len());
    let shared = homes.iter().filter(|(_, files)| files.len() > 1);
    let shared: Vec<String> = shared.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    none(&shared, "give each of these types a name of its own");
}

/// The compiler misses no caller of what is public in a library, and so does not tell what is dead.
#[test]
fn every_function_has_a_caller() {
    let sources = sources();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    sources.iter().flat_map(Source::words).for_each(|word| *times.entry(word).or_default() += 1);
    let wrong: Vec<String> = sources
        .iter()
        .flat_map(|source| source.functions().into_iter().map(move |name| (source, name)))
        .filter(|(_, name)| times[name] == 1 && !OUTSIDE.iter().any(|(outside, _)| outside == name))
        .map(|(source, name)| format!("{}: {name}", source.file))
        .collect();
    none(&wrong, "these functions are named nowhere but where they are declared");
    let unneeded: Vec<String> = OUTSIDE
        .iter()
        .filter(|(name, _)| times.get(name) != Some(&1))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    none(&unneeded, "these have a caller by now, or are gone");
}

/// rustfmt keeps code within the width, and no comment.
#[test]
fn no_comment_is_wider_than_the_code() {
    const WIDTH: usize = 110;
    let mut wide = Vec::new();
    for file in ["src", "tests"].iter().flat_map(|dir| source::files(dir, ".rs")) {
        let content = text(&file);
        let is_wide = |line: &str| line.chars().count() > WIDTH && line.trim_start().starts_with("//");
        // A row of a table is one line, and so is an address.
        let must_be = |line: &str| line.contains(" | ") || line.contains("://");
        let lines = content.lines().enumerate().filter(|(_, line)| is_wide(line) && !must_be(line));
        wide.extend(lines.map(|(at, _)| format!("{file}:{}", at + 1)));
    }
    none(&wide, "break these comments at 110 columns");
}

#[test]
fn every_dependency_is_used() {
    let sources = sources();
    let paths = uses(&sources);
    for name in dependencies() {
        assert!(
            paths.iter().any(|(.., path)| path[0] == name),
            "nothing uses {name}: take it out of Cargo.toml"
        );
    }
}

/// The names under `[dependencies]`.
fn dependencies() -> Vec<String> {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    manifest["dependencies"].as_table().unwrap().keys().map(|name| name.replace('-', "_")).collect()
}

#[test]
fn the_functions_that_architecture_names_exist() {
    let names = Names::read(&sources());
    let page = text("docs/ARCHITECTURE.md");
    let is_path =
        |word: &str| word.contains("::") && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
    let named: Vec<String> = source::quoted(&page).into_iter().filter(|word| is_path(word)).collect();
    assert!(named.len() > 40, "only {} functions are named", named.len());
    let gone: Vec<String> =
        named.into_iter().filter(|path| !path.starts_with("std::") && !names.has(path)).collect();
    none(&gone, "docs/ARCHITECTURE.md names what is not in src");
}

#[test]
fn the_files_that_architecture_names_exist() {
    let page = text("docs/ARCHITECTURE.md");
    let tops = ["src/", "docs/", "fixtures/", "tests/"];
    let named: Vec<String> = source::quoted(&page)
        .into_iter()
        .filter(|word| tops.iter().any(|top| word.starts_with(top)))
        .collect();
    assert!(named.len() > 40, "only {} files are named", named.len());
    let gone: Vec<String> = named.into_iter().filter(|path| !source::root().join(path).exists()).collect();
    none(&gone, "docs/ARCHITECTURE.md names files that do not exist");
}

/// A table at the top of a module names its files: each one that exists, and no other.
#[test]
fn the_tables_of_modules_are_whole() {
    let mut wrong = Vec::new();
    for path in source::files("src", "/mod.rs") {
        let text = text(&path);
        let rows = text.lines().filter_map(|line| line.strip_prefix("//! | ")?.split('|').next());
        let named: BTreeSet<&str> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        if named.is_empty() {
            continue;
        }
        let (mut modules, mut tested) = (BTreeSet::new(), false);
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [.., "mod", name] = words[..]
                && let Some(name) = name.strip_suffix(';')
                && !tested
            {
                modules.insert(name);
            }
            tested = line.trim() == "#[cfg(test)]";
        }
        let gone = named.difference(&modules).filter(|name| !is_test_module(&text, name));
        wrong.extend(gone.map(|name| format!("{path}: there is no module {name}")));
        wrong.extend(modules.difference(&named).map(|name| format!("{path}: {name} is in no row")));
    }
    none(&wrong, "the tables at the top of modules name the modules that there are");
}

#[test]
fn the_table_of_the_command_line_names_every_verb() {
    let names = Names::read(&sources());
    let page = text("src/cli/mod.rs");
    let kebab = |verb: &String| {
        let capital =
            |(at, c): (usize, char)| if at > 0 && c.is_uppercase() { format!("-{c}") } else { c.into() };
        verb.char_indices().map(capital).collect::<String>().to_lowercase()
    };
    let verbs = names.enums["cli::args::Verb"].iter().map(kebab);
    let missing: Vec<String> = verbs.filter(|verb| !page.contains(&format!("`{verb}`"))).collect();
    none(&missing, "the table at the top of src/cli/mod.rs does not say where these verbs are");
}

fn is_test_module(text: &str, name: &str) -> bool {
    text.contains(&format!("#[cfg(test)]\nmod {name};"))
}

#[test]
fn the_reader_of_source_sees_what_it_must() {
    let source = Source {
        file: "src/sys/poll.rs".to_owned(),
        module: vec!["sys".to_owned(), "poll".to_owned()],
        lines: 0,
        tokens: source::tokens(
            r##"use crate::{fs::{a, b as c}, git}; // use crate::host;
            use super::super::tty; fn f() { let s = r#"use std::net;"#; let c = '"'; std::fs::read('a'); super::fd::x::<u8>() }
            mod inner { use super::super::clock::*; } /* std::env /* nested */ */ fn g(x: &'static str) { let _ = b"std::io"; }"##,
        ),
    };
    let paths: Vec<String> = source.paths().into_iter().map(|path| path.join("::")).collect();
    let want = [
        "crate::fs::a", "crate::fs::b", "crate::git", "crate::sys::clock::*", "crate::sys::fd::x",
        "crate::tty", "std::fs::read",
    ];
    assert_eq!(paths, want);
    let source = Source {
        tokens: source::tokens(
            "pub struct A { of: impl Fn() } impl Iterator for A { type Item = u8; } type B = A; \
             trait C { type Error; } fn f() -> impl C { enum D { E } type F = D; }",
        ),
        ..source
    };
    assert_eq!(source.declared_types(), ["A", "B", "C", "D", "F"]);
}

#[test]
fn a_skipped_test_is_noted_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("notes");
    assert_eq!(skip::listed(&file), Vec::<String>::new());
    for (test, reason) in [("b two", "not root"), ("a one", "no\nmounts"), ("b two", "not root")] {
        skip::note(&file, test, reason);
    }
    assert_eq!(skip::listed(&file), ["a one: no mounts", "b two: not root"]);
    assert_eq!(skip::test_name(), "architecture a_skipped_test_is_noted_by_name");
    let unnamed = std::thread::spawn(skip::test_name).join().unwrap();
    assert!(unnamed.starts_with("architecture "), "{unnamed}");
}
