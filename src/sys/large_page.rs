//! Memory for much at once, straight from the system and back to it.

use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// The size of a large page in bytes, on x86-64 and on most of ARM64.
pub const LARGE_PAGE: usize = 2 << 20;

/// What is mapped for it: wherever that begins, a whole one is in it.
const MAPPED: NonZeroUsize = NonZeroUsize::new(2 * LARGE_PAGE).unwrap();

/// As many bytes as a large page has, zero at first, and in one where the system has such: to touch 4 KiB for the first time then
/// costs 0.1 µs instead of 1.3, where the processor has that memory in its cache (a virtual machine with Linux 6.18), of the 40 in which a
/// terminal hands on so many. It counts, as a whole, once any of it is touched.
#[derive(Debug)]
pub struct LargePage {
    mapping: NonNull<c_void>,
}

impl LargePage {
    /// A new one.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a new mapping at no certain place is in nobody's way.
        let mapping = unsafe { mmap_anonymous(None, MAPPED, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_PRIVATE)? };
        let page = LargePage { mapping };
        #[cfg(target_os = "linux")]
        {
            use nix::sys::mman::{MmapAdvise, madvise};
            // SAFETY: it is this mapping's. Where the system has none, small pages do.
            let _ = unsafe { madvise(page.start().cast(), LARGE_PAGE, MmapAdvise::MADV_HUGEPAGE) };
        }
        Ok(page)
    }

    fn start(&self) -> NonNull<u8> {
        let first = self.mapping.cast::<u8>();
        // SAFETY: less than a large page further on is within the mapping, which is two long.
        unsafe { first.add(first.align_offset(LARGE_PAGE)) }
    }
}

impl Deref for LargePage {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is this value's alone and lives as long, and what nobody wrote reads as zero.
        unsafe { std::slice::from_raw_parts(self.start().as_ptr(), LARGE_PAGE) }
    }
}

impl DerefMut for LargePage {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start().as_ptr(), LARGE_PAGE) }
    }
}

impl Drop for LargePage {
    fn drop(&mut self) {
        // SAFETY: nobody has a reference into it any more.
        let _ = unsafe { munmap(self.mapping, MAPPED.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_there_and_zero_and_where_a_large_page_begins() {
        let mut page = LargePage::new().unwrap();
        assert_eq!((page.len(), page.as_ptr().align_offset(LARGE_PAGE)), (LARGE_PAGE, 0));
        assert!(page.iter().all(|byte| *byte == 0));
        page.fill(7);
        assert_eq!((page.first(), page.last()), (Some(&7), Some(&7)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_goes_back_to_the_system() {
        let mapped = || std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
        let before = mapped();
        for _ in 0..2000 {
            LargePage::new().unwrap()[0] = 1;
        }
        // Other tests run beside this one: half of what all of them were.
        assert!(mapped() < before + 1000 * MAPPED.get() / 4096);
    }
}
