//! The processes of a place, as `/proc` knows them: found by an environment variable that all of them
//! inherit.

use std::fs;

/// The variable; its value is the place's own.
pub const VARIABLE: &str = "HOPTY_BENCH_PLACE";

/// What threads have used up to now, summed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// On a processor, in ns.
    pub cpu: u64,
    /// Ready to run, without a processor, in ns.
    pub waited: u64,
    /// Context switches, wanted or not.
    pub switches: u64,
    /// Threads that are there now.
    pub threads: u64,
}

impl Usage {
    /// What came after an earlier look.
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            waited: self.waited.saturating_sub(earlier.waited),
            switches: self.switches.saturating_sub(earlier.switches),
            threads: self.threads,
        }
    }
}

/// Every process with the variable at this value.
pub fn of(value: &str) -> Vec<i32> {
    let wanted = format!("{VARIABLE}={value}\0").into_bytes();
    let mut found: Vec<i32> = numbers("/proc")
        .filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.windows(wanted.len()).any(|part| part == wanted)
        })
        .collect();
    found.sort_unstable();
    found
}

/// What all threads of these processes have used.
pub fn usage(pids: &[i32]) -> Usage {
    let mut sum = Usage::default();
    for pid in pids {
        for tid in numbers(&format!("/proc/{pid}/task")) {
            let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).unwrap_or_default();
            let mut fields = text.split_whitespace().map(|field| field.parse::<u64>().unwrap_or(0));
            sum.cpu += fields.next().unwrap_or(0);
            sum.waited += fields.next().unwrap_or(0);
            sum.switches += fields.next().unwrap_or(0);
            sum.threads += 1;
        }
    }
    sum
}

/// Proportional set size of these processes together, in KiB: memory that they share with others counts in
/// parts.
pub fn pss(pids: &[i32]) -> u64 {
    memory(pids, &["Pss:"])
}

/// Memory that these processes share with nobody, in KiB.
pub fn private(pids: &[i32]) -> u64 {
    memory(pids, &["Private_Clean:", "Private_Dirty:"])
}

fn memory(pids: &[i32], fields: &[&str]) -> u64 {
    let of_one = |pid: &i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let of_field = |line: &str| {
            let rest = fields.iter().find_map(|field| line.strip_prefix(field))?;
            rest.trim().trim_end_matches(" kB").parse::<u64>().ok()
        };
        text.lines().filter_map(of_field).sum::<u64>()
    };
    pids.iter().map(of_one).sum()
}

fn numbers(dir: &str) -> impl Iterator<Item = i32> {
    fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
