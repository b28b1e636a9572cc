//! The `hopty` program: see the library's page for how it is made.
//!
//! Its `main` is C's, without Rust's runtime before it: `docs/adr/0007-no-runtime-before-main.md`.

#![no_main]

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

/// What the C library calls. A panic that nobody caught gives 101, as under Rust's runtime.
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    hopty::sys::inherited::note();
    let args = (1..usize::try_from(count).unwrap_or(0)).map(|n| {
        // SAFETY: C gives `count` strings, each with its NUL, for as long as the program runs.
        let word = unsafe { CStr::from_ptr(*words.add(n)) };
        OsStr::from_bytes(word.to_bytes()).to_owned()
    });
    let args: Vec<OsString> = args.collect();
    let code = std::panic::catch_unwind(|| hopty::cli::main(args)).unwrap_or(101);
    // Writes out what is still buffered, which returning would not.
    std::process::exit(code.into())
}
