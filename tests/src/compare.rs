//! Runs the same work natively and guarded, and compares output, status and the resulting files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Ended, World};

/// The entries below a directory: relative path, and a description in one line.
pub type Tree = BTreeMap<String, String>;

/// Describes everything below `directory`: kind, mode, owner, links, content. Times are not compared.
///
/// # Panics
/// When the directory cannot be read.
#[must_use]
pub fn tree(directory: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path).expect("an entry");
        let name =
            path.strip_prefix(directory).expect("below").as_os_str().as_bytes().escape_ascii().to_string();
        tree.insert(name, line(&path, &metadata));
        if metadata.is_dir()
            && let Ok(entries) = fs::read_dir(&path)
        {
            pending.extend(entries.flatten().map(|entry| entry.path()));
        }
    }
    tree
}

fn line(path: &Path, metadata: &fs::Metadata) -> String {
    let kind = metadata.file_type();
    let what = if kind.is_symlink() {
        format!("-> {}", fs::read_link(path).expect("a link").as_os_str().as_bytes().escape_ascii())
    } else if kind.is_dir() {
        "directory".to_owned()
    } else if kind.is_file() {
        content(path)
    } else if kind.is_fifo() {
        "fifo".to_owned()
    } else if kind.is_socket() {
        "socket".to_owned()
    } else {
        "device".to_owned()
    };
    let (mode, links) = (metadata.mode(), metadata.nlink());
    format!("{mode:o} {}:{} links {links} {what}", metadata.uid(), metadata.gid())
}

fn content(path: &Path) -> String {
    match fs::read(path) {
        Ok(bytes) if bytes.len() <= 200 => format!("\"{}\"", bytes.escape_ascii()),
        Ok(bytes) => {
            let mut hasher = DefaultHasher::new();
            bytes.hash(&mut hasher);
            format!("{} bytes, hash {:x}", bytes.len(), hasher.finish())
        }
        Err(error) => error.kind().to_string(),
    }
}

/// The native result of a comparison; the guarded run equalled it.
#[derive(Debug)]
pub struct Same {
    /// The native run.
    pub native: Ended,
    /// The files that it left in the workspace.
    pub tree: Tree,
}

impl World {
    /// Empties the workspace and the home.
    ///
    /// # Panics
    /// When that fails.
    pub fn reset(&self) {
        for directory in [self.work(), self.home()] {
            // What a test made may lack permissions.
            let _ =
                Command::new("chmod").args(["-R", "u+rwX"]).arg(&directory).stderr(Stdio::null()).status();
            fs::remove_dir_all(&directory).expect("to remove a directory of ours");
            fs::create_dir(&directory).expect("to make it again");
        }
    }

    /// Runs a command natively and guarded, each time in an empty workspace.
    pub fn both<S: AsRef<OsStr>>(&self, argv: &[S]) -> [Ended; 2] {
        [World::native, World::guarded].map(|run| {
            self.reset();
            run(self, argv)
        })
    }

    /// Runs a command natively and guarded, each time in a workspace that `prepare` has filled.
    ///
    /// # Panics
    /// When stdout, status, stderr or the resulting files differ, or the guard denied something. Files are
    /// left out if a component of their path in the workspace is in `but`, or starts with an entry that ends
    /// in `*`.
    pub fn same(&self, prepare: impl Fn(&World), argv: &[&str], but: &[&str]) -> Same {
        let run = |guarded: bool| {
            self.reset();
            prepare(self);
            let ended = if guarded { self.guarded(argv) } else { self.native(argv) };
            let mut files = tree(&self.work());
            files.retain(|path, _| !path.split('/').any(|part| but.iter().any(|name| is_named(part, name))));
            (ended, files)
        };
        let (native, files) = run(false);
        let (mut guarded, guarded_files) = run(true);
        // The guard prints this line for the operator; natively the programs lose the same privileges.
        let lines = guarded.stderr.split_inclusive('\n');
        guarded.stderr = lines.filter(|line| !line.contains("guarded programs gain no privileges")).collect();
        assert_eq!(guarded.guard_lines(), Vec::<&str>::new(), "{argv:?}: nothing is to be denied");
        for (native_line, guarded_line) in native.stdout.lines().zip(guarded.stdout.lines()) {
            assert_eq!(guarded_line, native_line, "{argv:?}: a line of stdout");
        }
        assert_eq!(guarded.stdout, native.stdout, "{argv:?}: stdout");
        assert_eq!(guarded.status, native.status, "{argv:?}: status; stderr:\n{}", guarded.stderr);
        assert_eq!(guarded.stderr, native.stderr, "{argv:?}: stderr");
        for (path, line) in &files {
            assert_eq!(guarded_files.get(path), Some(line), "{argv:?}: {path}");
        }
        let more: Vec<_> = guarded_files.keys().filter(|path| !files.contains_key(*path)).collect();
        assert!(more.is_empty(), "{argv:?}: only guarded: {more:?}");
        Same { native, tree: files }
    }

    /// Like [`World::same`], for a shell script that must succeed.
    ///
    /// # Panics
    /// As [`World::same`]; when the script fails natively.
    pub fn same_script(&self, script: &str, but: &[&str]) -> Same {
        let same = self.same(|_| {}, &["bash", "-c", &format!("set -e\n{script}")], but);
        assert_eq!(same.native.status, 0, "the script itself: {}", same.native.stderr);
        same
    }

    /// Like [`World::same`], for a Python program, `t.py` in the workspace, that must succeed.
    ///
    /// # Panics
    /// As [`World::same`]; when the program fails natively.
    pub fn same_python(&self, source: &str) -> Same {
        let prepare = |world: &World| drop(world.write("work/t.py", source));
        let same = self.same(prepare, &[&program_text("python3"), "-B", "t.py"], &[]);
        assert_eq!(same.native.status, 0, "the program itself: {}", same.native.stderr);
        same
    }
}

fn is_named(part: &str, name: &str) -> bool {
    name.strip_suffix('*').map_or(part == name, |beginning| part.starts_with(beginning))
}

/// Returns the path of a program that a test needs. Prefers one that every user may run.
///
/// # Panics
/// When it is not there; the message names the package to install.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    find_program(name)
        .unwrap_or_else(|| panic!("{name} is needed by the tests: apt-get install {}", package(name)))
}

/// Returns the caller's `PATH`, with the directories of the caller's home last: what version managers keep there are
/// scripts that start ten programs for one.
#[must_use]
pub fn search_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::home_dir().unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    directories.sort_by_key(|directory| directory.starts_with(&home));
    std::env::join_paths(directories).expect("they come from a PATH")
}

/// Returns the path of a program, or None if it is not there.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = search_path();
    ["/usr/bin", "/usr/local/bin", "/bin"]
        .into_iter()
        .map(PathBuf::from)
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}

fn package(name: &str) -> &str {
    match name {
        "python3" | "perl" | "tmux" | "tar" | "git" | "gcc" | "make" | "bash" | "dash" => name,
        "setpriv" | "setsid" | "script" => "util-linux",
        "find" | "xargs" => "findutils",
        other => other,
    }
}

/// Returns [`program`] as text, for scripts.
#[must_use]
pub fn program_text(name: &str) -> String {
    program(name).to_str().expect("a plain path").to_owned()
}

/// Compiles C with the system's compiler.
///
/// # Panics
/// When that fails.
pub fn compile(source: &str, output: &Path, options: &[&str]) {
    let input = output.with_extension("c");
    fs::write(&input, source).expect("a source file");
    let gcc = program("gcc");
    let ended =
        crate::ended(Command::new(gcc).args(["-O1", "-Wall", "-o"]).arg(output).arg(&input).args(options));
    assert_eq!(ended.status, 0, "gcc: {}", ended.stderr);
}
