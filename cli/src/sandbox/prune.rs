//! `sandbox prune`

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use clap::Args;
use guard_openclaw::approvals_store::below;
use guard_policy::text::{shown, shown_json};
use guard_supervisor::config::Paths;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, unlinkat};
use rustix::io::Errno;
use serde::Serialize;

use super::SandboxError;
use super::scratch::{FILES, LOCK, SandboxesDirectory, open_lock, record};

/// What to remove.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard sandbox prune --dry-run\n  \
    openclaw-guard sandbox prune --idle 1h --max-age 30d\n  \
    openclaw-guard sandbox prune --json | jq -r '.[] | select(.removed) | .path'\n\n\
    Removes the directories of `sandbox run --backend guard` that are idle or old. TIME is a number and\n\
    s, m, h or d. A directory in which a command runs is kept. No link is followed. Containers, and\n\
    the sandboxes of OpenClaw itself, are OpenClaw's to remove.\n\n\
    Exit status: 0; 1 something could not be removed, with a line on stderr; 125 error.")]
pub struct PruneArgs {
    /// Remove directories that no command has used for this long
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time)]
    idle: Duration,
    /// Remove directories that are older than this
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = time)]
    max_age: Duration,
    /// Remove nothing, and print what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Print a JSON array of objects: path, scope, idleSeconds, ageSeconds, inUse, removed
    #[arg(long)]
    json: bool,
}

/// The seconds of each unit of a time.
const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];
/// The maximum depth of directories that are removed. Each level holds a descriptor.
const MAX_DEPTH: usize = 500;

fn time(text: &str) -> Result<Duration, String> {
    let read = || {
        let (letter, seconds) = UNITS.into_iter().find(|(letter, _)| text.ends_with(*letter))?;
        let digits = text.strip_suffix(letter)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = digits.parse().ok().filter(|_| is_number)?;
        number.checked_mul(seconds).map(Duration::from_secs)
    };
    read().ok_or_else(|| "must be a number and s, m, h or d, such as 24h".to_owned())
}

/// A directory of a scope.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrunedScope {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    idle_seconds: u64,
    age_seconds: u64,
    in_use: bool,
    removed: bool,
    #[serde(skip)]
    problem: Option<String>,
}

pub fn prune(options: &Options, arguments: &PruneArgs) -> Result<Exit, SandboxError> {
    let paths = Paths::find(options)?;
    let mut pruned = Vec::new();
    if let Some(all) = SandboxesDirectory::open(&paths.state_directory)? {
        let mut names: Vec<Vec<u8>> = names(all.as_fd())?.into_iter().map(|(name, _)| name).collect();
        names.sort();
        pruned.extend(names.iter().map(|name| scope(&all, name, arguments)));
    }
    let text = if arguments.json {
        let json = serde_json::to_string_pretty(&pruned).unwrap_or_default();
        shown_json(&json).into_owned() + "\n"
    } else {
        let gone = pruned.iter().filter(|one| one.removed);
        let verb = if arguments.dry_run { "would remove" } else { "removed" };
        gone.map(|one| shown(format!("{verb} {}", one.path).as_bytes()) + "\n").collect()
    };
    std::io::stdout().write_all(text.as_bytes())?;
    let mut exit = Exit::Success;
    for one in &pruned {
        if let Some(problem) = &one.problem {
            let line = format!("openclaw-guard: {} is left: {problem}; remove it yourself", one.path);
            eprintln!("{}", shown(line.as_bytes()));
            exit = Exit::Wrong;
        }
    }
    Ok(exit)
}

/// Looks at one scope, and removes it if it is due.
fn scope(all: &SandboxesDirectory, name: &[u8], arguments: &PruneArgs) -> PrunedScope {
    let path = all.path.join(std::ffi::OsStr::from_bytes(name)).to_string_lossy().into_owned();
    let mut found = PrunedScope {
        path,
        scope: None,
        idle_seconds: 0,
        age_seconds: 0,
        in_use: false,
        removed: false,
        problem: None,
    };
    if let Err(error) = look(all, name, arguments, &mut found) {
        found.problem = Some(error.to_string());
    }
    found
}

fn look(
    all: &SandboxesDirectory,
    name: &[u8],
    arguments: &PruneArgs,
    found: &mut PrunedScope,
) -> std::io::Result<()> {
    let directory = all.scope(name)?;
    // A guard that was killed while it made the directory has left no lock. The lock is made here then, and a
    // guard that comes to use the directory waits for it.
    let lock = match open_lock(directory.as_fd(), OFlags::empty()) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            open_lock(directory.as_fd(), OFlags::CREATE)?
        }
        lock => lock?,
    };
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            found.in_use = true;
            return Ok(());
        }
        done => done?,
    }
    let now = guard_openclaw::clock::now_ms() / 1000;
    let used = u64::try_from(fstat(&lock)?.st_mtime).unwrap_or_default();
    let lock = File::from(lock);
    // A scope whose record cannot be read counts as made when it was last used.
    let record = record(&lock).ok().flatten();
    let made = record.as_ref().map_or(used, |record| record.created_at_ms / 1000);
    found.scope = record.map(|record| record.scope);
    (found.idle_seconds, found.age_seconds) = (now.saturating_sub(used), now.saturating_sub(made));
    let is_due =
        found.idle_seconds >= arguments.idle.as_secs() || found.age_seconds >= arguments.max_age.as_secs();
    if !is_due || !all.is_at(name, &directory)? {
        return Ok(());
    }
    if !arguments.dry_run {
        remove(all, name, directory)?;
    }
    found.removed = true;
    Ok(())
}

/// Removes a scope, its lock last: until the lock is gone, nobody else can use the scope.
fn remove(all: &SandboxesDirectory, name: &[u8], directory: OwnedFd) -> std::io::Result<()> {
    for (below, kind) in names(directory.as_fd())? {
        if below != LOCK.as_bytes() && below != FILES.as_bytes() {
            remove_entry(directory.as_fd(), &below, kind, 0)?;
        }
    }
    remove_entry(directory.as_fd(), FILES.as_bytes(), FileType::Directory, 0)?;
    unlinkat(&directory, LOCK, AtFlags::empty())?;
    Ok(unlinkat(all.as_fd(), name, AtFlags::REMOVEDIR)?)
}

/// Removes a name with everything below it. A link is removed and not followed.
fn remove_entry(parent: BorrowedFd<'_>, name: &[u8], kind: FileType, depth: usize) -> std::io::Result<()> {
    if kind == FileType::Directory {
        if depth > MAX_DEPTH {
            return Err(std::io::Error::other(format!("it is more than {MAX_DEPTH} directories deep")));
        }
        match opened(parent, name) {
            Ok(directory) => {
                for (below, kind) in names(directory.as_fd())? {
                    remove_entry(directory.as_fd(), &below, kind, depth + 1)?;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
        return Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?);
    }
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory to empty it. A command may have removed its own rights to the directory.
fn opened(parent: BorrowedFd<'_>, name: &[u8]) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    match below(parent, name, flags, Mode::empty()) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let held = below(parent, name, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
            // The mode is set by the descriptor, because chmod(2) would follow a link.
            let path = format!("/proc/self/fd/{}", held.as_raw_fd());
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
            below(parent, name, flags, Mode::empty())
        }
        opened => {
            let opened = opened?;
            if fstat(&opened)?.st_mode & 0o300 != 0o300 {
                rustix::fs::fchmod(&opened, Mode::RWXU)?;
            }
            Ok(opened)
        }
    }
}

fn names(directory: BorrowedFd<'_>) -> std::io::Result<Vec<(Vec<u8>, FileType)>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            kind => kind,
        };
        names.push((name.to_vec(), kind));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        for (text, seconds) in [("0s", 0), ("90s", 90), ("5m", 300), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "h", "24", "+1h", "-1h", "1.5h", "1w", "1 h", "99999999999999999999d", "９h"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
