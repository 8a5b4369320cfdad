//! An arena for attackers: directories of which some may not be touched, and what is found there afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{World, ended, ended_with_input, sources};

/// A fresh world: `work/` may be written, `only/` read; `shut/` may not be touched, and `hide/prog` may not
/// run. If the program runs, it leaves the mark `work/escaped`.
#[derive(Debug)]
pub struct Arena {
    /// The world that contains the directories.
    pub world: World,
}

/// Mode, modification time, change time, number of links, and a file's content: what an attack would change.
pub type Mark = (u32, i64, (i64, i64), u64, Option<Vec<u8>>);

impl Arena {
    /// Returns an arena under this policy, in the form that [`World::policy`] takes, with `secret` in
    /// `shut/file`.
    ///
    /// # Panics
    /// When the directories or programs cannot be made.
    #[must_use]
    pub fn under(policy: &str, secret: &str) -> Arena {
        let world = World::bare().policy(policy);
        for (name, text) in
            [("work/file", "harmless"), ("shut/file", secret), ("shut/gone", "x"), ("only/file", "kept")]
        {
            world.write(name, text);
        }
        fs::create_dir(world.root().join("shut/dir")).expect("a directory");
        // A run would make this directory, to record its policy.
        fs::create_dir(world.root().join("home/.openclaw")).expect("a directory");
        let arena = Arena { world };
        arena.build("marker", "hide/prog", &["-nostdlib", "-static-pie", "-fPIE"]);
        arena.write_mark_path("hide/prog", "work/escaped");
        arena
    }

    /// Returns the arena's directory.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.world.root()
    }

    /// Compiles an attacker's program to this path.
    ///
    /// # Panics
    /// When that fails.
    pub fn build(&self, source: &str, target: &str, flags: &[&str]) {
        let target = self.root().join(target);
        fs::create_dir_all(target.parent().expect("a directory")).expect("directories");
        let program = built(source, flags);
        // Another process writes the program: children that other tests fork meanwhile would inherit a
        // descriptor open for writing, and the program could not start (ETXTBSY).
        let mut copy = Command::new("cp");
        let copied = ended_with_input(copy.arg("/dev/stdin").arg(&target), &program);
        assert_eq!(copied.status, 0, "{}", copied.stderr);
        fs::set_permissions(target, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// Writes the path of the mark into a program.
    fn write_mark_path(&self, program: &str, mark: &str) {
        const PLACE: &[u8] = b"@PLACE@";
        let program = self.root().join(program);
        let mark = self.root().join(mark);
        let mut bytes = fs::read(&program).expect("a program");
        let at = bytes.windows(PLACE.len()).position(|window| window == PLACE).expect("a place");
        let mark = mark.as_os_str().as_bytes();
        bytes[at..][..mark.len()].copy_from_slice(mark);
        bytes[at + mark.len()] = 0;
        fs::write(program, bytes).expect("a program");
    }

    /// Returns everything that no attack may change: what is below the closed directories and the home, and
    /// whether a mark was left. Leaves out what the guard itself changes in each run: the records of workspaces
    /// and policies, the lock of moves, and the sockets of its sessions, with their directories.
    ///
    /// # Panics
    /// When a directory cannot be read.
    #[must_use]
    pub fn state(&self) -> BTreeMap<PathBuf, Mark> {
        let mut state = BTreeMap::new();
        for name in ["shut", "only", "hide", "home"] {
            collect(&self.root().join(name), &mut state);
        }
        let own = self.root().join("home/.openclaw/guard");
        for record in ["workspaces.jsonl", "policies.jsonl", "moves.lock"] {
            state.remove(&own.join(record));
        }
        let run = own.join("run");
        state.retain(|path, _| {
            !(path.starts_with(&run) && path.extension().is_some_and(|end| end == "session"))
        });
        if !state.keys().any(|path| path.starts_with(&run) && *path != run) {
            state.remove(&run);
        }
        if !state.keys().any(|path| path.starts_with(&own) && *path != own) {
            state.remove(&own);
        }
        let mark = self.root().join("work/escaped");
        if mark.exists() {
            state.insert(mark, (0, 0, (0, 0), 0, None));
        }
        state
    }
}

/// Returns an attacker's program. Each process compiles it once; if GUARD_COMPILED names a directory, all
/// processes together compile it once.
fn built(source: &str, flags: &[&str]) -> Arc<Vec<u8>> {
    static BUILT: Mutex<BTreeMap<String, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let mut all = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let name = format!("{source} {}", flags.join(" "));
    // Programs for only one arena are not stored.
    let directory = std::env::var_os("GUARD_COMPILED").filter(|_| !name.contains('/'));
    let cache_file = directory.map(|directory| PathBuf::from(directory).join(&name));
    let program = all.entry(name).or_insert_with(|| {
        let program = cache_file.as_ref().and_then(|cache_file| fs::read(cache_file).ok());
        Arc::new(program.unwrap_or_else(|| compiled(source, flags, cache_file.as_deref())))
    });
    Arc::clone(program)
}

fn compiled(source: &str, flags: &[&str], keep: Option<&Path>) -> Vec<u8> {
    let world = World::bare();
    let source = sources().join("attackers").join(source).with_extension("c");
    let target = world.root().join("program");
    let built = ended(Command::new("cc").args(["-O2", "-w"]).args(flags).arg(source).arg("-o").arg(&target));
    assert_eq!(built.status, 0, "{}", built.stderr);
    let program = fs::read(&target).expect("a program");
    if let Some(keep) = keep {
        // Another test may do the same: the last one replaces the others' file.
        let own = keep.with_extension(std::process::id().to_string());
        fs::write(&own, &program).expect("a program");
        fs::rename(own, keep).expect("a name");
    }
    program
}

fn collect(directory: &Path, state: &mut BTreeMap<PathBuf, Mark>) {
    // A removed directory leaves no entry.
    let Ok(meta) = fs::symlink_metadata(directory) else { return };
    state.insert(directory.to_owned(), (meta.mode(), 0, (0, 0), 0, None));
    if fs::read_dir(directory).is_err() || meta.mode() & 0o700 != 0o700 {
        // Opens a directory that was closed to its owner, so that it can be read and removed.
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).expect("a mode");
    }
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        let meta = fs::symlink_metadata(&path).expect("an entry");
        if meta.is_dir() {
            collect(&path, state);
        } else {
            let text = if meta.is_file() { fs::read(&path).ok() } else { None };
            let changed = (meta.ctime(), meta.ctime_nsec());
            state.insert(path, (meta.mode(), meta.mtime(), changed, meta.nlink(), text));
        }
    }
}
