//! What the kernel keeps git from: starting processes, opening sockets, making files.
//!
//! A second wall, behind [`super::private`]: it holds for what nobody thought of.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::libc::{self, c_long, c_ulong, sock_filter, sock_fprog};

/// How the kernel names this architecture (`AUDIT_ARCH_*`), whose numbers of calls the filter knows.
#[cfg(target_arch = "x86_64")]
const ARCH: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCH: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const ARCH: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const ARCH: Option<u32> = None;

/// What begins another process, reaches another host, or does either past a filter (rings, other programs' memory).
const FORBIDDEN: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_execveat,
    libc::SYS_socket,
    libc::SYS_socketpair,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    libc::SYS_io_uring_setup,
    libc::SYS_ptrace,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
];
/// Numbers from here on are those of the x32 calls.
const X32: u32 = 0x4000_0000;
/// Offsets in the kernel's `seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;
/// The most memory of its own that a git may have, in bytes.
const MEMORY: u64 = 4 << 30;

/// What [`confine`] fails with where the kernel has no such filters.
pub(super) const UNAVAILABLE: i32 = libc::ENOTSUP;

/// Has `command` run without the right to start a process, to open a socket or to make a file. Threads stay possible.
///
/// Starting it fails with [`UNAVAILABLE`] where this cannot be had.
pub(super) fn confine(command: &mut Command) {
    let filter = filter();
    // SAFETY: between fork and exec only system calls are made, on memory that was allocated before.
    unsafe {
        command.pre_exec(move || {
            for (which, most) in [(libc::RLIMIT_CORE, 0), (libc::RLIMIT_DATA, MEMORY)] {
                // One that cannot be set is lower already.
                let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
                libc::setrlimit(which, &raw const limit);
            }
            install(&filter).map_err(|()| io::Error::from_raw_os_error(UNAVAILABLE))
        });
    }
}

fn install(filter: &[sock_filter]) -> Result<(), ()> {
    if filter.is_empty() {
        return Err(());
    }
    let program = sock_fprog { len: u16::try_from(filter.len()).map_err(|_| ())?, filter: filter.as_ptr().cast_mut() };
    let (on, none, mode): (c_ulong, c_ulong, c_ulong) = (1, 0, libc::SECCOMP_MODE_FILTER.into());
    // SAFETY: the kernel copies the program, which outlives the call, and does not write to it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(()) }
}

/// The filter as the kernel's small machine runs it for every call; empty where the architecture is not known.
fn filter() -> Vec<sock_filter> {
    let Some(arch) = ARCH else { return Vec::new() };
    let code = |class: u32, how: u32| u16::try_from(class | how).unwrap_or_default();
    let load = |at: u32| sock_filter { code: code(libc::BPF_LD, libc::BPF_W | libc::BPF_ABS), jt: 0, jf: 0, k: at };
    let answer = |k: u32| sock_filter { code: code(libc::BPF_RET, libc::BPF_K), jt: 0, jf: 0, k };
    // Skips the answer that follows it unless the condition holds.
    let unless = |how: u32, k: u32| sock_filter { code: code(libc::BPF_JMP, how | libc::BPF_K), jt: 0, jf: 1, k };
    let number = |call: c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let error = |errno: i32| answer(libc::SECCOMP_RET_ERRNO | errno.unsigned_abs());
    let refuse = error(libc::EPERM);

    // Another architecture's calls have other numbers: a program of such a one gets nothing done.
    let mut program = vec![load(ARCH_AT), sock_filter { jt: 1, jf: 0, ..unless(libc::BPF_JEQ, arch) }, refuse];
    program.extend([load(NUMBER_AT), unless(libc::BPF_JGE, X32), refuse]);
    for call in FORBIDDEN {
        program.extend([unless(libc::BPF_JEQ, number(*call)), refuse]);
    }
    // Their flags lie in memory, where a filter cannot look. C libraries then use the older call.
    for call in [libc::SYS_clone3, libc::SYS_openat2] {
        program.extend([unless(libc::BPF_JEQ, number(call)), error(libc::ENOSYS)]);
    }
    // A refusal of those calls whose argument has, or has not, one of these bits.
    let bits = |call: c_long, argument: u32, bits: i32, if_set: bool, refusal: sock_filter| {
        let (jt, jf) = if if_set { (0, 1) } else { (1, 0) };
        [
            sock_filter { jt: 0, jf: 4, ..unless(libc::BPF_JEQ, number(call)) },
            load(ARGUMENTS_AT + 8 * argument),
            sock_filter { jt, jf, ..unless(libc::BPF_JSET, bits.unsigned_abs()) },
            refusal,
            answer(libc::SECCOMP_RET_ALLOW),
        ]
    };
    // A thread is no process.
    program.extend(bits(libc::SYS_clone, 0, libc::CLONE_THREAD, false, refuse));
    // git writes only files that it makes: it takes the lock of an index even when it is told to take none.
    #[cfg(target_arch = "x86_64")]
    program.extend(bits(libc::SYS_open, 1, libc::O_CREAT, true, error(libc::EROFS)));
    program.extend(bits(libc::SYS_openat, 2, libc::O_CREAT, true, error(libc::EROFS)));
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confined(script: &str) -> std::process::Output {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        confine(&mut command);
        command.output().unwrap()
    }

    #[test]
    fn a_confined_program_runs_and_starts_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let ran = dir.path().join("ran");
        assert_eq!(confined("echo out; exit 3").status.code(), Some(3));
        for script in ["touch RAN; true", "(echo x > RAN)", "touch RAN & wait", "x=$(touch RAN)", "echo x | touch RAN"] {
            let output = confined(&script.replace("RAN", ran.to_str().unwrap()));
            assert!(!ran.exists(), "{script}: {output:?}");
        }
    }

    #[test]
    fn a_confined_program_writes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let output = confined(&format!("echo x > {}", dir.path().join("file").display()));
        assert!(String::from_utf8_lossy(&output.stderr).contains("Read-only"), "{output:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
