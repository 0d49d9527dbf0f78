//! The peak of this process's resident memory, as Linux reports it.
//!
//! isl allocates in C, so a counting Rust allocator would miss half of it. Writing 5 to `clear_refs` resets the peak
//! to what is resident now. Elsewhere than on Linux nothing is measured.

use std::fs;

use nestegg_driver::config::MemoryProbe;

/// The probe for [`nestegg_driver::config::Config::memory_probe`].
pub const PROBE: MemoryProbe = MemoryProbe { start, peak };

fn start() {
    // Where the system does not know this, the peak is not known either.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
