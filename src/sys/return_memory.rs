//! Returning unused memory to the system.

/// Returns memory that the allocator keeps for later use: after a burst that is megabytes, in a process that
/// runs for weeks.
#[cfg(target_env = "gnu")]
pub fn release_heap() {
    // SAFETY: it takes a number, and only touches free memory.
    unsafe { nix::libc::malloc_trim(0) };
}

/// Other allocators do this themselves.
#[cfg(not(target_env = "gnu"))]
pub fn release_heap() {}

/// How far below the caller the stack is returned, in bytes: deeper than a start goes (60 KiB, measured), and
/// less than the gap that the kernel keeps free below a stack (1 MiB).
const STACK: usize = 256 << 10;

/// Returns the stack below the caller to the system. A start and a request go deeper than the loop that then
/// waits for weeks (48 and 20 KiB, measured).
#[inline(never)]
pub fn release_stack() {
    const PAGE: usize = 4096;
    /// Bytes that stay: this function and its system call use them.
    const OWN: usize = 512;
    let here = 0_u8;
    let end = (std::ptr::from_ref(&here) as usize - OWN) & !(PAGE - 1);
    // SAFETY: nothing lives below the frame of a running function, and the pages read as zero when they are
    // used again. Nothing else is mapped that close below a stack; unmapped parts are skipped.
    unsafe { nix::libc::madvise((end - STACK) as *mut nix::libc::c_void, STACK, nix::libc::MADV_DONTNEED) };
}
