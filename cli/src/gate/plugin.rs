//! The plugin's files: as this binary has them, and as they are on the disk.

use std::fmt;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::process::geteuid;
use sha2::{Digest, Sha256};

/// The plugin's id in OpenClaw.
pub const ID: &str = "openclaw-guard-gate";

/// The files, by name.
pub const FILES: [(&str, &str); 3] = [
    ("package.json", include_str!("assets/package.json")),
    ("openclaw.plugin.json", include_str!("assets/openclaw.plugin.json")),
    ("index.js", include_str!("assets/index.js")),
];

/// The largest file that is compared, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginState {
    /// The files are those of this binary.
    AsInstalled,
    /// There is no plugin.
    Absent,
    /// A file differs, is missing, or can be written by others; contains its name, and why.
    Changed(String, String),
}

impl fmt::Display for PluginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PluginState::AsInstalled => write!(f, "the plugin is as installed"),
            PluginState::Absent => {
                write!(
                    f,
                    "the plugin is not installed: no tool call is asked about (`openclaw-guard gate install`)"
                )
            }
            PluginState::Changed(file, why) => write!(
                f,
                "the plugin's {file} {why}: it may not ask about every call (`openclaw-guard gate install` writes it anew)"
            ),
        }
    }
}

/// The plugin's directory.
pub fn directory(state: &Path) -> PathBuf {
    state.join("guard/plugin")
}

/// The plugin's files on the disk, with their directory.
pub fn files(state: &Path) -> Vec<PathBuf> {
    let directory = directory(state);
    let files = FILES.iter().map(|(name, _)| directory.join(name));
    files.chain([directory.clone()]).collect()
}

/// The SHA-256 of a text, in hexadecimal digits.
pub fn hash(text: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// Compares what is on the disk with what this binary has.
pub fn state(state: &Path) -> PluginState {
    let directory = directory(state);
    if !directory.exists() {
        return PluginState::Absent;
    }
    let changed = |name: &str, why: String| PluginState::Changed(name.to_owned(), why);
    for (name, text) in FILES {
        match read(&directory.join(name)) {
            Ok(found) if found == text.as_bytes() => {}
            Ok(found) => return changed(name, format!("is another one (SHA-256 {})", &hash(&found)[..16])),
            Err(why) => return changed(name, why),
        }
    }
    PluginState::AsInstalled
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| format!("cannot be read ({error})"))?;
    let meta = file.metadata().map_err(|error| format!("cannot be read ({error})"))?;
    if meta.mode() & 0o022 != 0 {
        return Err("can be written by others".to_owned());
    }
    if meta.uid() != geteuid().as_raw() && meta.uid() != 0 {
        return Err("belongs to another user".to_owned());
    }
    let mut found = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut found).map_err(|error| format!("cannot be read ({error})"))?;
    Ok(found)
}
