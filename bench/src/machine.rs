//! The machine that was measured.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::world;

/// The properties of the machine that matter to a reader. Nothing identifies the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The processor's name, from /proc/cpuinfo.
    pub processor: String,
    /// The number of processors.
    pub processors: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The file system of the working directory.
    pub files: String,
}

impl Machine {
    /// Describes this machine, and the file system of `directory`. Unknown values are empty or 0.
    pub fn this(directory: &Path) -> Machine {
        let value = |file: &str, key: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
            line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        let kilobytes = value("/proc/meminfo", "MemTotal");
        let kilobytes: u64 = kilobytes.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        Machine {
            processor: value("/proc/cpuinfo", "model name"),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
            memory_mib: kilobytes / 1024,
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            files: world::file_system(directory).to_owned(),
        }
    }
}
