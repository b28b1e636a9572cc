//! Links the unwinder into the program, where that can be done.
//!
//! Rust's standard library takes it from `libgcc_s.so.1`, the only shared library besides the C library. Loading that costs each
//! start of `hopty` 0.12 ms of 1.09 (`docs/PERFORMANCE.md`, "The hook command"), and each host some pages of its own.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let linux_gnu = target("OS") == "linux" && target("ENV") == "gnu";
    // A static program has the unwinder already.
    let is_static = target("FEATURE").split(',').any(|feature| feature == "crt-static");
    if linux_gnu && !is_static && std::env::var("HOST") == std::env::var("TARGET") && linker_has("libgcc_eh.a") {
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// Whether the C compiler that links has this library of its own. It prints the name alone for what it does not have.
fn linker_has(library: &str) -> bool {
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let Ok(output) = Command::new(linker).arg(format!("-print-file-name={library}")).output() else { return false };
    Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute()
}
