//! Links the C library and the unwinder into the program, where that can be done.
//!
//! A start of `hopty` without shared libraries takes a fifth less time
//! (`docs/adr/0008-no-shared-libraries.md`). Rust has a switch for it, `-C target-feature=+crt-static`, which
//! cannot be set for one program from here: who sets it, either way, is obeyed.
//!
//! It does not need `anyhow`: a library that is missing changes how hopty is linked and is no error, and a
//! folder of cargo's own that cannot be written to is cargo's failure.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries that Rust's standard library asks the linker for. The unwinder's shared one has a static one of
/// another name.
const LIBRARIES: [(&str, &str); 7] = [
    ("libc.a", "libc.a"),
    ("libm.a", "libm.a"),
    ("libdl.a", "libdl.a"),
    ("libpthread.a", "libpthread.a"),
    ("librt.a", "librt.a"),
    ("libutil.a", "libutil.a"),
    ("libgcc_s.a", "libgcc_eh.a"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let native = std::env::var("HOST") == std::env::var("TARGET");
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    // Whoever decides how programs are linked or loaded, or wants a library that must be a shared one.
    let decided = ["crt-static", "relocation-model", "prefer-dynamic", "sanitizer"]
        .iter()
        .any(|flag| flags.contains(flag));
    if target("OS") != "linux" || target("ENV") != "gnu" || !native || decided {
        return;
    }
    // What a static program that is loaded anywhere starts with.
    let start = linker_file("rcrt1.o");
    let group: Option<Vec<PathBuf>> =
        ["libc.a", "libgcc_eh.a", "libgcc.a"].into_iter().map(linker_file).collect();
    match (start, group) {
        (Some(_), Some(group)) => link_statically(&group),
        (_, _) if linker_file("libgcc_eh.a").is_some() => {
            println!("cargo::rustc-link-lib=static:-bundle=gcc_eh")
        }
        _ => {}
    }
}

/// Lets the linker find, under the names that it is asked for, libraries of ours that name the static ones.
///
/// They are scripts of one line: the C library and the compiler's need each other, so that each of them
/// stands for all.
fn link_statically(group: &[PathBuf]) {
    let folder = Path::new(&std::env::var_os("OUT_DIR").expect("cargo gives a build script its folder"))
        .join("static");
    std::fs::create_dir_all(&folder).expect("a build script's folder can be written to");
    let group: Vec<String> = group.iter().map(|path| path.display().to_string()).collect();
    for (asked, file) in LIBRARIES {
        let Some(library) = linker_file(file) else { continue };
        let script = format!("GROUP ( {} {} )\n", library.display(), group.join(" "));
        std::fs::write(folder.join(asked), script).expect("a build script's folder can be written to");
    }
    println!("cargo::rustc-link-arg-bins=-L{}", folder.display());
    println!("cargo::rustc-link-arg-bins=-static-pie");
}

/// Where the C compiler that links has this file. It prints the name alone for what it does not have.
fn linker_file(name: &str) -> Option<PathBuf> {
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(linker).arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    path.is_absolute().then_some(path)
}
