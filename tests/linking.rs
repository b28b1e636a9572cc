//! How the program is linked: `docs/adr/0008-no-shared-libraries.md`.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::path::Path;
use std::process::Command;

/// A program header that names a loader (ELF-64, `PT_INTERP`).
const LOADER: u32 = 3;

/// Whether the program header of an ELF-64 file of this machine's byte order has an entry of this kind.
fn has_header(file: &[u8], kind: u32) -> bool {
    let number = |at: usize, bytes: usize| {
        let mut whole = [0; 8];
        whole[..bytes].copy_from_slice(&file[at..at + bytes]);
        usize::try_from(u64::from_le_bytes(whole)).unwrap()
    };
    let (table, size, count) = (number(0x20, 8), number(0x36, 2), number(0x38, 2));
    (0..count).any(|n| number(table + n * size, 4) == kind as usize)
}

#[test]
fn where_the_machine_has_a_static_c_library_the_program_needs_no_loader() {
    let file = |name: &str| {
        let output = Command::new("cc").arg(format!("-print-file-name={name}")).output().unwrap();
        Path::new(String::from_utf8(output.stdout).unwrap().trim()).is_absolute()
    };
    let possible = ["rcrt1.o", "libc.a", "libgcc_eh.a"].into_iter().all(file);
    let usual = std::env::var_os("RUSTFLAGS").is_none() && cfg!(all(target_os = "linux", target_env = "gnu"));
    let program = std::fs::read(env!("CARGO_BIN_EXE_hopty")).unwrap();
    if usual {
        assert_eq!(has_header(&program, LOADER), !possible);
    }
    // This test is linked as Rust links.
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert!(!usual || has_header(&own, LOADER));
}
