//! The `hopty` program: see the library's page for how it is made.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    ExitCode::from(hopty::cli::main(args))
}
