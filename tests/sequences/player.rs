//! Plays sequences in directories that are equal: compiles player.c once, and runs it once for many
//! sequences.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use guard_tests::{Ended, World, compile, ended, tree, without_layers};
use nix::sys::stat::Mode;

use super::vocabulary::Sequence;

/// How far below its directory a sequence starts: `..` climbs, and what is above is the machine's.
const DEPTH: usize = 12;

/// How a sequence is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Without the guard.
    Native,
    /// Under the guard.
    Guarded,
}

/// What one sequence did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// A line for each call.
    pub lines: Vec<String>,
    /// The files that are there afterwards.
    pub files: BTreeMap<String, String>,
}

/// The guard under which a player runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    /// A policy that allows everything.
    Open,
    /// A policy without the base, so that opening to read need not be held.
    Plain,
    /// The open policy with a build that lacks the layer of this name.
    Without(&'static str),
}

/// What the guard says where it takes the bits off.
const SET_ID_LINE: &str = " gets no set-user-ID or set-group-ID bit: ";
/// What the guard says of a removed file that is to be used by a descriptor for more than it was opened for.
const REMOVED_LINE: &str =
    " (the file was removed, and the descriptor that leads to it was not opened for this)";
/// What the guard says where it said something too often.
const MORE_LINES: &str = " more such lines are only in the audit log";

/// A policy whose rules about reading the floor expresses completely.
const PLAIN: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off", "roots": ["/usr", "@/bin"]},
    "permissions": {"base": false, "persistence": false, "filesystem": {"rules":
        {"/usr/**": "r-x", "/etc/**": "r--", "@/bin/**": "r-x", "@/work/**": "rw-"}}}}"#;

/// A compiled player and its world.
pub struct Player {
    world: World,
    under: Under,
    program: PathBuf,
    plays: Cell<usize>,
}

impl Player {
    /// Compiles the player. Without `tiers`, the guard chooses who decides.
    pub fn new(under: Under, tiers: Option<&str>) -> Player {
        let mut world = if under == Under::Plain { World::bare().policy(PLAIN) } else { World::floored() };
        if let Some(tiers) = tiers {
            world.set_tiers(tiers);
        }
        let program = world.root().join("bin/player");
        fs::create_dir_all(world.root().join("bin")).expect("a directory");
        compile(include_str!("player.c"), &program, &["-pthread", "-Wno-nonnull", "-Wno-unused-result"]);
        Player { world, under, program, plays: Cell::new(0) }
    }

    fn guarded(&self, argv: &[&OsStr]) -> Ended {
        let mut command = match self.under {
            Under::Without(layer) => {
                let mut command = self.world.command_of(&without_layers());
                command.env("GUARD_TEST_LAYERS_OFF", layer);
                command
            }
            Under::Open | Under::Plain => self.world.command(),
        };
        ended(command.arg("--").args(argv))
    }

    /// Plays each sequence in a directory of its own.
    pub fn play(&self, sequences: &[Sequence], side: Side) -> Vec<Played> {
        // Removes nothing between runs: ext4 is slow to create again what was just removed.
        let top = self.world.work().join(format!("{:06}", self.plays.replace(self.plays.get() + 1)));
        fs::create_dir(&top).expect("a directory");
        let roots: Vec<PathBuf> = (0..sequences.len()).map(|index| top.join(format!("{index:05}"))).collect();
        let mut script = String::new();
        for (sequence, root) in sequences.iter().zip(&roots) {
            let directory = prepare(root, sequence.fifos);
            script.push_str(&format!("{}\n", root.display()));
            for call in &sequence.calls {
                script.push_str(&call.line(directory.as_os_str().as_bytes()));
                script.push('\n');
            }
            script.push_str(".\n");
        }
        let file = self.world.write("bin/sequences", script);
        let argv = [self.program.as_os_str(), file.as_os_str()];
        let ended = if side == Side::Native { self.world.native(&argv) } else { self.guarded(&argv) };
        assert_eq!(ended.status, 0, "{side:?}, the player: {}\n{}", ended.stderr, last(&ended.stdout));
        if self.under != Under::Plain {
            let is_known = |line: &&str| {
                line.contains(SET_ID_LINE) || line.ends_with(REMOVED_LINE) || line.ends_with(MORE_LINES)
            };
            let others: Vec<&str> = ended.stderr.lines().filter(|line| !is_known(line)).collect();
            assert_eq!(others, [""; 0], "{side:?}: nothing is to be denied");
        }
        let played: Vec<_> = read(&ended.stdout, &top);
        assert_eq!(played.len(), sequences.len(), "{side:?}: the player stopped early");
        played
            .into_iter()
            .zip(&roots)
            .map(|(lines, root)| Played { lines, files: files(root, &top) })
            .collect()
    }
}

fn last(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

/// Creates what is there when a sequence begins. Returns its starting directory.
fn prepare(root: &Path, fifos: bool) -> PathBuf {
    let mut directory = root.to_owned();
    directory.extend(std::iter::repeat_n("_", DEPTH));
    directory.push("w");
    fs::create_dir_all(&directory).expect("directories");
    let put = |name: &str, text: &str, mode: u32| {
        let path = directory.join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    };
    let make = |name: &str| fs::create_dir(directory.join(name)).expect("a directory");
    let shut = |name: &str, mode| {
        fs::set_permissions(directory.join(name), Permissions::from_mode(mode)).expect("a mode");
    };
    let link = |text: &OsStr, name: &str| symlink(text, directory.join(name)).expect("a link");
    for name in ["d", "d/e", "e", "shut", "fixed"] {
        make(name);
    }
    for (name, text, mode) in [
        ("std", "standard\n", 0o644),
        ("f", "data", 0o644),
        ("ro", "ro", 0o444),
        ("none", "none", 0),
        ("x (deleted)", "odd", 0o644),
        ("d/g", "inner", 0o640),
        ("d/f", "in d", 0o644),
        ("shut/f", "hidden", 0o644),
        ("fixed/z", "z", 0o644),
    ] {
        put(name, text, mode);
    }
    fs::hard_link(directory.join("f"), directory.join("hard")).expect("a link");
    for (text, name) in
        [("f", "l"), ("d", "dl"), ("d/../dl", "ll"), ("nowhere", "dang"), ("loop", "loop"), ("..", "out")]
    {
        link(OsStr::new(text), name);
    }
    link(OsStr::new("/proc/self/cwd/f"), "self");
    link(directory.join("d").as_os_str(), "abs");
    if fifos {
        nix::unistd::mkfifo(&directory.join("p"), Mode::from_bits_truncate(0o644)).expect("a FIFO");
    }
    shut("shut", 0);
    shut("fixed", 0o555);
    directory
}

/// Returns the lines of each sequence, without what differs from run to run: directories and process numbers.
fn read(stdout: &str, top: &Path) -> Vec<Vec<String>> {
    let top = top.to_str().expect("a plain path");
    let mut played: Vec<Vec<String>> = Vec::new();
    let mut pids: Vec<String> = Vec::new();
    for line in stdout.lines() {
        if let Some(numbers) = line.strip_prefix("pids ") {
            pids = numbers.split(' ').map(|number| format!("/proc/{number}/")).collect();
            played.push(Vec::new());
            continue;
        }
        let mut line = line.replace(top, "@");
        for (pid, shown) in pids.iter().zip(["/proc/FIRST/", "/proc/OTHER/"]) {
            line = line.replace(pid.as_str(), shown);
        }
        // The last one is a file without a name (O_TMPFILE), by its inode.
        for object in ["socket:[", "pipe:[", "/#"] {
            if let Some((before, rest)) = line.split_once(object) {
                let number = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
                line = format!("{before}{object}{number}");
            }
        }
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        played.last_mut().expect("a sequence has begun").push(line);
    }
    played
}

/// Describes what a sequence left. Grants all permissions first, so that everything can be read.
fn files(root: &Path, top: &Path) -> BTreeMap<String, String> {
    let mut times = BTreeMap::new();
    let mut modes = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path).expect("an entry");
        let name = path.strip_prefix(root).expect("below").as_os_str().as_bytes().escape_ascii().to_string();
        modes.insert(name.clone(), metadata.mode());
        // Keeps times that a call set; others are the time of day.
        if metadata.mtime() < 1_000_000_000 {
            times.insert(name, format!(" modified {}.{}", metadata.mtime(), metadata.mtime_nsec()));
        }
        if metadata.is_dir() || metadata.is_file() {
            let open = if metadata.is_dir() { 0o700 } else { 0o600 };
            fs::set_permissions(&path, Permissions::from_mode(open)).expect("a file of ours");
        }
        if metadata.is_dir() {
            pending.extend(fs::read_dir(&path).expect("a directory").flatten().map(|entry| entry.path()));
        }
    }
    let top = top.to_str().expect("a plain path");
    tree(root)
        .into_iter()
        .map(|(name, line)| {
            let mode = modes.get(&name).copied().unwrap_or_default();
            let time = times.get(&name).map_or("", String::as_str);
            (name.clone(), format!("{mode:o}: {}{time}", line.replace(top, "@")))
        })
        .collect()
}
