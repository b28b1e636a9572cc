//! Returning unused memory to the system.

/// Returns memory that the allocator keeps for later: after a burst that is megabytes, in a process that runs
/// for weeks.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_back() {
    // SAFETY: it takes a number, and only looks at memory that is free.
    unsafe { nix::libc::malloc_trim(0) };
}

/// Other allocators decide that themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}
