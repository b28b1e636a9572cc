//! Memory that was needed for a moment, given back to the system.

/// Gives back what the allocator keeps for later: after a burst that is megabytes, in a process that lives for weeks.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_back() {
    // SAFETY: it takes a number, and only looks at memory that is free.
    unsafe { nix::libc::malloc_trim(0) };
}

/// How far below the caller the stack is given back, in bytes: deeper than a start has been seen to go (60 KiB), and less than
/// the gap that the kernel keeps free below a stack (1 MiB).
#[cfg(target_os = "linux")]
const STACK: usize = 256 << 10;

/// Gives back the stack below the caller: a start and a request reach deeper than the loop that waits for weeks does (measured:
/// 48 and 20 KiB).
#[cfg(target_os = "linux")]
#[inline(never)]
pub fn give_back_stack() {
    const PAGE: usize = 4096;
    /// Bytes that stay: this function and the system call that it makes stand on them.
    const OWN: usize = 512;
    let here = 0_u8;
    let end = (std::ptr::from_ref(&here) as usize - OWN) & !(PAGE - 1);
    // SAFETY: what lies below the frame of a running function is nobody's, and reads as zero when it is used again. Nothing
    // else is mapped that near below a stack, and a part that is not mapped is passed over.
    unsafe { nix::libc::madvise((end - STACK) as *mut nix::libc::c_void, STACK, nix::libc::MADV_DONTNEED) };
}

/// Other systems swap it out.
#[cfg(not(target_os = "linux"))]
pub fn give_back_stack() {}

/// Other allocators decide that themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}
