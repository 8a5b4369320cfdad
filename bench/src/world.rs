//! The files that are worked on: a temporary directory with a repository, a source tree, policies, and its own home.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::mount::MsFlags;
use tempfile::TempDir;

use crate::error::{Context, Error};

/// The number of files in the repository.
const FILES: usize = 20_000;
/// The number of files in each of its directories.
const EACH: usize = 20;
/// The number of files in the source tree.
const SOURCES: usize = 2_000;

/// A temporary directory. Its large parts are created when first needed.
pub struct World {
    directory: TempDir,
    repository: OnceCell<PathBuf>,
    source: OnceCell<PathBuf>,
    new: std::cell::Cell<usize>,
}

impl World {
    /// Creates the directory: in the given one, else in memory, else in the system's temporary directory. Call it
    /// before privileges are dropped.
    ///
    /// # Errors
    /// When something cannot be written.
    pub fn new(parent: Option<&Path>) -> Result<World, Error> {
        let parent = parent.map_or_else(default_directory, Path::to_owned);
        let directory = tempfile::Builder::new()
            .prefix("guard-bench")
            .tempdir_in(&parent)
            .context(|| format!("cannot make a directory in {}", parent.display()))?;
        let world = World {
            directory,
            repository: OnceCell::new(),
            source: OnceCell::new(),
            new: std::cell::Cell::new(0),
        };
        let parts = [
            world.work(),
            world.home(),
            world.state(),
            world.other_home(),
            world.temporary(),
            world.programs(),
        ];
        for part in parts {
            fs::create_dir(&part).context(|| part.display().to_string())?;
        }
        furnish(&world.home())?;
        furnish(&world.other_home())?;
        // The caller is a copy in this directory, so that a policy can name it without knowing where cargo built it.
        let own = std::env::current_exe().context(|| "cannot find this program".into())?;
        fs::copy(own, world.caller()).context(|| world.caller().display().to_string())?;
        Ok(world)
    }

    /// The directory that contains all others.
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// The current directory of commands, where they write.
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// `OPENCLAW_STATE_DIR`.
    pub fn state(&self) -> PathBuf {
        self.root().join("state")
    }

    /// `HOME` of runs under policies that nobody has. The guard records there what earlier runs could write, and looks at
    /// programs in such places more closely: a run under `/**: rwx` would slow all later ones down.
    pub fn other_home(&self) -> PathBuf {
        self.root().join("other-home")
    }

    /// `TMPDIR`. In the workspace, because a policy of `init` would ask about another directory than /tmp.
    pub fn temporary(&self) -> PathBuf {
        self.work().join("tmp")
    }

    /// The directory of the caller. It is in the workspace, too, whose programs may start under each policy.
    pub fn programs(&self) -> PathBuf {
        self.work().join("programs")
    }

    /// The copy of this program that makes calls.
    pub fn caller(&self) -> PathBuf {
        self.programs().join("guard-bench")
    }

    /// Creates a new empty directory. The caller removes it.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn fresh(&self) -> Result<PathBuf, Error> {
        self.new.set(self.new.get() + 1);
        let path = self.work().join(format!("fresh{}", self.new.get()));
        fs::create_dir(&path).context(|| path.display().to_string())?;
        Ok(path)
    }

    /// A command in this world: in its directories, and with no variables other than these, `PATH` and a locale.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.work())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", self.home())
            .env("OPENCLAW_STATE_DIR", self.state())
            .env("TMPDIR", self.temporary())
            .stdin(Stdio::null());
        command
    }

    /// A git repository with 20,000 small committed files in 1,000 directories.
    ///
    /// # Errors
    /// When git is missing or fails.
    pub fn repository(&self) -> Result<&Path, Error> {
        created(&self.repository, || {
            let path = self.work().join("repository");
            eprintln!("guard-bench: making a repository of {FILES} files");
            tree(&path, FILES, 200)?;
            for arguments in [
                &["init", "-q"][..],
                &["add", "."],
                &["commit", "-q", "-m", "all"],
                &["repack", "-adq"],
                &["status"],
            ] {
                self.git(&path, arguments)?;
            }
            Ok(path)
        })
    }

    /// A tree of 2,000 files of 4 KiB, like a program's source.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn source(&self) -> Result<&Path, Error> {
        created(&self.source, || {
            let path = self.work().join("source");
            tree(&path, SOURCES, 4096)?;
            Ok(path)
        })
    }

    fn git(&self, directory: &Path, arguments: &[&str]) -> Result<(), Error> {
        let output = self
            .command("git")
            .current_dir(directory)
            .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"])
            .args(arguments)
            .output()
            .context(|| "git".into())?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::new(format!("git {}: {}", arguments.join(" "), output.stderr.escape_ascii())))
    }
}

/// Makes what is in most homes.
fn furnish(home: &Path) -> Result<(), Error> {
    for directory in [".ssh", ".config/git", ".cache/pip", ".cargo/registry", ".npm", ".local/share"] {
        let path = home.join(directory);
        fs::create_dir_all(&path).context(|| path.display().to_string())?;
    }
    for file in [".bashrc", ".profile", ".bash_history", ".gitconfig", ".ssh/id_ed25519"] {
        let path = home.join(file);
        fs::write(&path, "").context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Mounts a directory in memory, so that the guard is measured and not the disk: ext4 takes up to a millisecond to
/// create a file where many were removed recently. The mount is visible only to this process and its children, and ends
/// with them. Without the right to mount, the disk is used.
fn default_directory() -> PathBuf {
    let is_empty = |path: &&Path| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    // Not /dev/shm: the guard treats paths in /dev specially.
    let free = ["/mnt", "/media", "/srv"].map(Path::new).into_iter().find(is_empty);
    match free {
        Some(directory) if mount_memory(directory).is_ok() => directory.to_owned(),
        _ => std::env::temp_dir(),
    }
}

fn mount_memory(directory: &Path) -> nix::Result<()> {
    let none = None::<&str>;
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)?;
    // Keep the mount private to this process and its children.
    nix::mount::mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    nix::mount::mount(Some("guard-bench"), directory, Some("tmpfs"), MsFlags::empty(), Some("mode=1777"))
}

/// The name of a directory's file system.
pub fn file_system(directory: &Path) -> &'static str {
    // linux/magic.h
    match rustix::fs::statfs(directory).map_or(0, |found| found.f_type) {
        0x0102_1994 => "tmpfs",
        0xef53 => "ext4",
        0x9123_683e => "btrfs",
        0x5846_5342 => "xfs",
        0x794c_7630 => "overlayfs",
        _ => "other",
    }
}

fn created(cell: &OnceCell<PathBuf>, make: impl FnOnce() -> Result<PathBuf, Error>) -> Result<&Path, Error> {
    if cell.get().is_none() {
        let path = make()?;
        let _ = cell.set(path);
    }
    cell.get().map(PathBuf::as_path).ok_or_else(|| Error::new("what was made is gone"))
}

/// Creates files of `size` bytes, twenty in each directory and ten directories in each parent. One in a thousand
/// contains the word that is searched for.
fn tree(root: &Path, files: usize, size: usize) -> Result<(), Error> {
    for index in 0..files {
        let (leaf, file) = (index / EACH, index % EACH);
        let directory = root.join(format!("part{}/module{leaf}", leaf / 10));
        if file == 0 {
            fs::create_dir_all(&directory).context(|| directory.display().to_string())?;
        }
        let word = if index % 1_000 == 0 { "needle" } else { "hay" };
        let mut text = String::new();
        while text.len() < size {
            text.push_str(&format!("{word} {index} in line {}\n", text.len()));
        }
        let path = directory.join(format!("file{file}.txt"));
        fs::write(&path, text).context(|| path.display().to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{World, tree};

    #[test]
    fn a_tree_has_its_files_and_some_needles() {
        let world = World::new(Some(&std::env::temp_dir())).unwrap();
        let root = world.fresh().unwrap();
        assert_ne!(root, world.fresh().unwrap());
        tree(&root, 2_000, 100).unwrap();
        let found = world.command("grep").args(["-rl", "needle"]).arg(&root).output().unwrap();
        assert_eq!(String::from_utf8(found.stdout).unwrap().lines().count(), 2);
        let found = world.command("find").arg(&root).args(["-type", "f"]).output().unwrap();
        assert_eq!(String::from_utf8(found.stdout).unwrap().lines().count(), 2_000);
    }
}
