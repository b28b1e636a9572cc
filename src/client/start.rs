//! Starting a host: hopty re-executes itself, gives its orders on a pipe and waits until the program runs.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::core::inherited::ErrorOutput;
use crate::host::start::{HOST_ARG, Launch, Ready};

/// Starts a host and waits until its program runs, or does not.
///
/// # Errors
/// When hopty cannot be executed again.
pub fn host(launch: &Launch, args: &[OsString]) -> io::Result<(Ready, Child)> {
    // The name by which it was started may have been replaced meanwhile; the running file itself cannot.
    let own = std::env::current_exe().ok().filter(|path| path.is_file()).unwrap_or_else(|| "/proc/self/exe".into());
    let mut command = Command::new(own);
    command.arg0("hopty").arg(HOST_ARG).arg("--").args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(match launch.errors {
        ErrorOutput::Redirected if !launch.detached => Stdio::inherit(),
        _ => Stdio::null(),
    });
    let mut child = command.spawn()?;
    if let Some(mut orders) = child.stdin.take() {
        // A host that ended at once says why in its answer, or by its silence.
        let _ = orders.write_all(&serde_json::to_vec(launch)?);
    }
    let mut line = String::new();
    if let Some(answers) = child.stdout.take() {
        BufReader::new(answers).read_line(&mut line)?;
    }
    let ready = serde_json::from_str(&line)
        .unwrap_or_else(|_| Ready::failed(125, "the host ended before the program ran", "the session's host.log may say why"));
    Ok((ready, child))
}
