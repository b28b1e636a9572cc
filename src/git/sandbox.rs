//! Keeps git from starting processes, opening sockets, signalling others, and changing files, by a kernel
//! filter.
//!
//! This is the second barrier, behind [`super::private_git_dir`]: it also stops what nobody thought of. It
//! does allow `execve`, which starts git itself; the new program runs under the same filter.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::libc::{self, c_long, c_ulong, sock_filter, sock_fprog};
use nix::sys::prctl::set_no_new_privs;
use nix::sys::resource::{Resource, setrlimit};

/// The kernel's name of this architecture (`AUDIT_ARCH_*`), whose call numbers the filter knows.
#[cfg(target_arch = "x86_64")]
const ARCH: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCH: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const ARCH: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const ARCH: Option<u32> = None;

/// Calls that start a process, reach or slow another host or process, or bypass a filter (rings, other
/// programs' memory, files by handle).
const FORBIDDEN: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_execveat,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_io_uring_setup,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_create,
    libc::SYS_fanotify_init,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_mq_open,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
    libc::SYS_timer_create,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgctl,
    libc::SYS_vmsplice,
    libc::SYS_personality,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_delete_module,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_open_by_handle_at,
];
/// Calls that create, move, remove or change a file.
const CHANGES: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    // The newest architecture has only the second of the two.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_mknodat,
    libc::SYS_mkdirat,
    libc::SYS_symlinkat,
    libc::SYS_linkat,
    libc::SYS_unlinkat,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];
/// Calls that a process may use only on itself.
const OWN: &[c_long] = &[libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill];
/// Calls of which some requests are refused: their number, which argument names the request, and the
/// requests. They make the kernel signal another process, or change a file's attributes.
const REQUESTS: &[(c_long, u32, &[u32])] = &[
    (
        libc::SYS_fcntl,
        1,
        &[libc::F_SETOWN.unsigned_abs(), F_SETSIG, F_SETOWN_EX, libc::F_SETLEASE.unsigned_abs(), F_NOTIFY],
    ),
    (
        libc::SYS_ioctl,
        1,
        // FIOASYNC, FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCSPGRP, TIOCSIG, TIOCLINUX, FS_IOC_SETFLAGS,
        // FS_IOC_FSSETXATTR, FICLONE, FICLONERANGE.
        &[
            0x5452, 0x8901, 0x8902, 0x5412, 0x5410, 0x4004_5436, 0x541c, 0x4008_6602, 0x401c_5820,
            0x4004_9409, 0x4020_940d,
        ],
    ),
];
/// Commands of `fcntl` that choose whom a descriptor signals, and how (`libc` has no names for them here).
const F_SETSIG: u32 = 10;
const F_SETOWN_EX: u32 = 15;
const F_NOTIFY: u32 = 1026;
/// Placeholder in a filter for the id of the process that it is installed in.
const OWN_PROCESS: u32 = u32::MAX;
/// Calls with this number or a higher one are newer than this list.
const NEWER: u32 = 452;
/// The first number of the x32 calls.
const X32: u32 = 0x4000_0000;
/// Offsets in the kernel's `seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;
/// The most memory that git may use, in bytes.
const MEMORY: u64 = 4 << 30;

/// The error of [`confine`] on a kernel without such filters.
pub(super) const UNAVAILABLE: i32 = libc::ENOTSUP;

/// Keeps `command` from starting a process, opening a socket, signalling others, and changing files.
/// Threads and reading remain possible, and writing to descriptors that are already open (its output).
///
/// Starting it fails with [`UNAVAILABLE`] if the kernel has no filters.
pub(super) fn confine(command: &mut Command) {
    let mut filter = filter();
    // SAFETY: between fork and exec only system calls are made, on memory that was allocated before.
    unsafe {
        command.pre_exec(move || {
            for (which, most) in
                [(Resource::RLIMIT_CORE, 0), (Resource::RLIMIT_FSIZE, 0), (Resource::RLIMIT_DATA, MEMORY)]
            {
                // A limit that cannot be set is already lower.
                let _ = setrlimit(which, most, most);
            }
            let own = std::process::id();
            filter.iter_mut().filter(|step| step.k == OWN_PROCESS).for_each(|step| step.k = own);
            install(&filter).map_err(|()| io::Error::from_raw_os_error(UNAVAILABLE))
        });
    }
}

fn install(filter: &[sock_filter]) -> Result<(), ()> {
    if filter.is_empty() {
        return Err(());
    }
    let program =
        sock_fprog { len: u16::try_from(filter.len()).map_err(|_| ())?, filter: filter.as_ptr().cast_mut() };
    set_no_new_privs().map_err(drop)?;
    let mode: c_ulong = libc::SECCOMP_MODE_FILTER.into();
    // SAFETY: the kernel copies the program, which outlives the call, and does not write to it.
    let done = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
    if done == 0 { Ok(()) } else { Err(()) }
}

/// The filter as a program of the kernel's BPF machine, run for every call; empty for an unknown
/// architecture.
fn filter() -> Vec<sock_filter> {
    let Some(arch) = ARCH else { return Vec::new() };
    let code = |class: u32, how: u32| u16::try_from(class | how).unwrap_or_default();
    let load =
        |at: u32| sock_filter { code: code(libc::BPF_LD, libc::BPF_W | libc::BPF_ABS), jt: 0, jf: 0, k: at };
    let answer = |k: u32| sock_filter { code: code(libc::BPF_RET, libc::BPF_K), jt: 0, jf: 0, k };
    // Skips the following return unless the condition holds.
    let unless =
        |how: u32, k: u32| sock_filter { code: code(libc::BPF_JMP, how | libc::BPF_K), jt: 0, jf: 1, k };
    let number = |call: c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let error = |errno: i32| answer(libc::SECCOMP_RET_ERRNO | errno.unsigned_abs());
    let refuse = error(libc::EPERM);

    // Calls of another architecture have other numbers: they are all refused.
    let mut program =
        vec![load(ARCH_AT), sock_filter { jt: 1, jf: 0, ..unless(libc::BPF_JEQ, arch) }, refuse];
    program.extend([load(NUMBER_AT), unless(libc::BPF_JGE, X32), refuse]);
    for call in FORBIDDEN {
        program.extend([unless(libc::BPF_JEQ, number(*call)), refuse]);
    }
    for call in CHANGES {
        program.extend([unless(libc::BPF_JEQ, number(*call)), error(libc::EROFS)]);
    }
    // Their flags are in memory, which a filter cannot read. C libraries then use the older call.
    for call in [libc::SYS_clone3, libc::SYS_openat2] {
        program.extend([unless(libc::BPF_JEQ, number(call)), error(libc::ENOSYS)]);
    }
    program.extend([unless(libc::BPF_JGE, NEWER), error(libc::ENOSYS)]);
    // A thread is not a process.
    program.extend([
        sock_filter { jt: 0, jf: 4, ..unless(libc::BPF_JEQ, number(libc::SYS_clone)) },
        load(ARGUMENTS_AT),
        unless(libc::BPF_JSET, libc::CLONE_THREAD.unsigned_abs()),
        answer(libc::SECCOMP_RET_ALLOW),
        refuse,
    ]);
    // git takes the lock of an index even when it is told not to. At its start it opens `/dev/null` for
    // reading and writing, to check that its first three descriptors are open: the first open of this kind
    // gets `/dev/null` for reading.
    let writes = |call: c_long, argument: u32| {
        [
            sock_filter { jt: 0, jf: 6, ..unless(libc::BPF_JEQ, number(call)) },
            load(ARGUMENTS_AT + 8 * argument),
            unless(libc::BPF_JSET, (libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY).unsigned_abs()),
            error(libc::EROFS),
            unless(libc::BPF_JSET, libc::O_RDWR.unsigned_abs()),
            error(0),
            answer(libc::SECCOMP_RET_ALLOW),
        ]
    };
    #[cfg(target_arch = "x86_64")]
    program.extend(writes(libc::SYS_open, 1));
    program.extend(writes(libc::SYS_openat, 2));
    // It may end itself: that is how `abort` works.
    for call in OWN {
        program.extend([
            sock_filter { jt: 0, jf: 4, ..unless(libc::BPF_JEQ, number(*call)) },
            load(ARGUMENTS_AT),
            unless(libc::BPF_JEQ, OWN_PROCESS),
            answer(libc::SECCOMP_RET_ALLOW),
            refuse,
        ]);
    }
    for (call, argument, requests) in REQUESTS {
        let skip = u8::try_from(1 + 2 * requests.len()).unwrap_or(u8::MAX);
        program.push(sock_filter { jt: 0, jf: skip, ..unless(libc::BPF_JEQ, number(*call)) });
        program.push(load(ARGUMENTS_AT + 8 * argument));
        for request in *requests {
            program.extend([unless(libc::BPF_JEQ, *request), refuse]);
        }
        // The next comparison is with the number again.
        program.push(load(NUMBER_AT));
    }
    // Without O_ASYNC no descriptor signals anybody.
    program.extend([
        sock_filter { jt: 0, jf: 6, ..unless(libc::BPF_JEQ, number(libc::SYS_fcntl)) },
        load(ARGUMENTS_AT + 8),
        sock_filter { jt: 0, jf: 3, ..unless(libc::BPF_JEQ, libc::F_SETFL.unsigned_abs()) },
        load(ARGUMENTS_AT + 16),
        unless(libc::BPF_JSET, libc::O_ASYNC.unsigned_abs()),
        refuse,
        answer(libc::SECCOMP_RET_ALLOW),
    ]);
    // The limits of another process: its id is 0 or its own.
    program.extend([
        sock_filter { jt: 0, jf: 6, ..unless(libc::BPF_JEQ, number(libc::SYS_prlimit64)) },
        load(ARGUMENTS_AT),
        unless(libc::BPF_JEQ, 0),
        answer(libc::SECCOMP_RET_ALLOW),
        unless(libc::BPF_JEQ, OWN_PROCESS),
        answer(libc::SECCOMP_RET_ALLOW),
        refuse,
    ]);
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
        for script in
            ["touch RAN; true", "(echo x > RAN)", "touch RAN & wait", "x=$(touch RAN)", "echo x | touch RAN"]
        {
            let output = confined(&script.replace("RAN", ran.to_str().unwrap()));
            assert!(!ran.exists(), "{script}: {output:?}");
        }
    }

    #[test]
    fn a_confined_program_makes_writes_moves_and_removes_no_file() {
        let dir = tempfile::tempdir().unwrap();
        for (script, refusal) in [
            ("echo x > new", "Read-only"),
            ("exec mknod new p", "Read-only"),
            ("exec mkdir new", "Read-only"),
            ("exec ln -s old new", "Read-only"),
            ("exec ln old new", "Read-only"),
            ("exec dd if=other of=old conv=nocreat,notrunc", "Read-only"),
            ("exec dd if=other of=old conv=nocreat,notrunc oflag=append", "Read-only"),
            ("exec truncate -c -s 0 old", "Read-only"),
            ("exec mv old new", "Read-only"),
            ("exec rm old", "Read-only"),
            ("exec rmdir empty", "Read-only"),
            ("exec chmod 777 old", "Read-only"),
            ("exec chown 0:0 old", "Read-only"),
            ("exec touch -c -d @1 old", "Read-only"),
            ("kill -9 OTHER", "not permitted"),
        ] {
            let inside = dir.path();
            std::fs::write(inside.join("old"), "as it was").unwrap();
            std::fs::write(inside.join("other"), "x").unwrap();
            std::fs::create_dir_all(inside.join("empty")).unwrap();
            let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
            let look = || {
                let mut all: Vec<_> =
                    std::fs::read_dir(inside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                all.sort();
                let meta = std::fs::metadata(inside.join("old")).unwrap();
                let times = (
                    std::os::unix::fs::MetadataExt::ctime_nsec(&meta),
                    meta.modified().unwrap(),
                    meta.permissions(),
                );
                (all, std::fs::read(inside.join("old")).unwrap(), times)
            };
            let before = look();
            let script =
                format!("cd '{}'; {}", inside.display(), script.replace("OTHER", &other.id().to_string()));
            let output = confined(&script);
            assert!(!output.status.success(), "{script}: {output:?}");
            assert!(String::from_utf8_lossy(&output.stderr).contains(refusal), "{script}: {output:?}");
            assert_eq!(look(), before, "{script}");
            assert!(other.try_wait().unwrap().is_none(), "{script}");
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }

    /// Runs `does`, which no ordinary program does, in a confined child.
    fn confined_child(does: impl Fn() -> bool + Send + Sync + 'static) -> bool {
        let mut command = Command::new("true");
        command.stdin(std::process::Stdio::null());
        confine(&mut command);
        // SAFETY: `does` makes system calls only.
        unsafe {
            command.pre_exec(
                move || if does() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPROTO)) },
            );
        }
        command.status().is_ok_and(|status| status.success())
    }

    #[test]
    fn opening_for_reading_and_writing_opens_dev_null() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old");
        std::fs::write(&path, "as it was").unwrap();
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        let errno = || io::Error::last_os_error().raw_os_error();
        assert!(confined_child(move || {
            // SAFETY: system calls on a name and a text that outlive them.
            unsafe {
                let fd = libc::open(name.as_ptr(), libc::O_RDWR);
                fd == 0 && libc::write(fd, c"x".as_ptr().cast(), 1) == -1 && errno() == Some(libc::EBADF)
            }
        }));
        assert_eq!(std::fs::read(&path).unwrap(), b"as it was");
    }

    #[test]
    fn no_descriptor_of_a_confined_program_signals_or_slows_another() {
        use nix::libc::{fcntl, ioctl, rlimit, syscall};
        let errno = || io::Error::last_os_error().raw_os_error();
        let refused = move |done: i64| done == -1 && errno() == Some(libc::EPERM);
        let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = i32::try_from(other.id()).unwrap();
        assert!(confined_child(move || {
            let mut pipe = [0; 2];
            let mut limit = rlimit { rlim_cur: 0, rlim_max: 0 };
            let owner = [1, pid];
            // SAFETY: system calls on numbers and on values that outlive them.
            unsafe {
                libc::pipe(pipe.as_mut_ptr()) == 0
                    && refused(fcntl(pipe[0], libc::F_SETOWN, pid).into())
                    && refused(fcntl(pipe[0], F_SETOWN_EX.cast_signed(), owner.as_ptr()).into())
                    && refused(fcntl(pipe[0], F_SETSIG.cast_signed(), libc::SIGKILL).into())
                    && refused(fcntl(pipe[0], libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK).into())
                    && refused(ioctl(pipe[0], 0x5452, &raw const pid).into())
                    && refused(ioctl(pipe[0], 0x8901, &raw const pid).into())
                    && refused(syscall(libc::SYS_setpriority, 0, pid, 19))
                    && refused(syscall(libc::SYS_prlimit64, pid, 7, &raw const limit, 0))
                    && refused(syscall(libc::SYS_sched_setaffinity, pid, 8, &raw const limit))
                    && refused(syscall(libc::SYS_pidfd_open, pid, 0))
                    // What git and its libraries do.
                    && fcntl(pipe[0], libc::F_SETFL, libc::O_NONBLOCK) == 0
                    && fcntl(pipe[0], libc::F_SETFD, libc::FD_CLOEXEC) == 0
                    && fcntl(pipe[0], libc::F_DUPFD_CLOEXEC, 3) > 2
                    && libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0
            }
        }));
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_confined_program_signals_itself_alone() {
        // SAFETY: signal 0 and a number.
        assert!(confined_child(|| unsafe { libc::kill(libc::getpid(), 0) == 0 && libc::raise(0) == 0 }));
        // SAFETY: as above.
        assert!(confined_child(|| unsafe {
            libc::kill(libc::getppid(), 0) == -1 && libc::kill(-1, 0) == -1 && libc::kill(0, 0) == -1
        }));
    }
}
