//! Where held calls are handled: real files, and a policy that allows almost nothing.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use guard_openclaw::peer::process_tree::Tree;
use guard_policy::{Document, Host, Overrides, Policy};
use guard_supervisor::audit::report::{ReportOptions, Reporter};
use guard_supervisor::audit::{Context, Writer};
use guard_supervisor::judge::guard::Guard;
use guard_supervisor::judge::program_starts::ProgramStarts;
use guard_supervisor::judge::session_context::SessionContext;
use guard_supervisor::kernel::Response;
use guard_supervisor::kernel::fake::Fake;
use guard_supervisor::landlock;
use guard_supervisor::resolve::{Resolver, real_path};
use rustix::net::{AddressFamily, SocketType};
use tempfile::TempDir;

use super::fixture_root;
use super::memory::Memory;

/// A directory with `exec/`, whose programs may be read and started. Nothing else in it may be touched.
pub struct Fixture {
    directory: TempDir,
    socket: OwnedFd,
    before: BTreeMap<PathBuf, Vec<u64>>,
}

/// One guard for all fixtures: a pattern in its policy matches the directories of all of them.
pub fn guard() -> &'static Guard {
    static GUARD: OnceLock<Guard> = OnceLock::new();
    GUARD.get_or_init(|| {
        let text = format!(
            r#"{{"version": 1, "exec": {{"security": "full", "ask": "off"}}, "permissions": {{"base": false,
                "filesystem": {{"rules": {{"{}/guard-calls-*/exec/**": "r-x"}}, "default": "---"}}}}}}"#,
            fixture_root().display()
        );
        let host = Host::bare(b"/nowhere", b"/");
        let document = Document::parse("fuzz", &text).unwrap();
        let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
        // No process is a member of this tree.
        let tree = Tree { reaper: i32::MAX, supervisor: 1, front: 1, leader: None };
        let manner = ReportOptions::default();
        let context = Context::default();
        let reporter = Reporter::start(manner, Writer::none(), context, tree).unwrap();
        let resolver = Resolver::new().unwrap();
        Guard::new(
            policy,
            landlock::LandlockPlan::default(),
            resolver,
            tree,
            reporter,
            SessionContext::default(),
            ProgramStarts::default(),
        )
    })
}

impl Fixture {
    /// Creates a fixture.
    pub fn new() -> Fixture {
        let directory = tempfile::Builder::new().prefix("guard-calls-").tempdir_in(fixture_root()).unwrap();
        let root = directory.path();
        fs::create_dir(root.join("exec")).unwrap();
        fs::create_dir(root.join("shut")).unwrap();
        fs::write(root.join("shut/file"), "secret").unwrap();
        fs::write(root.join("exec/s"), "#!/nowhere/sh -x\n").unwrap();
        fs::write(root.join("exec/t"), "#! s \n").unwrap();
        fs::set_permissions(root.join("exec/s"), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(root.join("exec/t"), Permissions::from_mode(0o755)).unwrap();
        symlink("shut/file", root.join("l")).unwrap();
        symlink("../l", root.join("exec/l")).unwrap();
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        let before = listed(root);
        Fixture { directory, socket, before }
    }

    /// A fake kernel with a caller that has this memory. `choice` selects how the memory is split, the current
    /// directory, and how long the caller lives.
    pub fn kernel(&self, memory: &Memory, choice: u8) -> Fake {
        let root = self.directory.path();
        let mut kernel = Fake::new(root, &[]);
        memory.copy_to(&mut kernel, choice & 1 != 0);
        if choice & 2 != 0 {
            kernel.directories.insert(libc::AT_FDCWD, root.join("exec"));
        }
        kernel.directories.insert(3, root.join("shut"));
        kernel.directories.insert(4, root.join("shut/file"));
        kernel.directories.insert(5, root.join("exec/s"));
        kernel.directories.insert(6, "/dev/null".into());
        kernel.descriptors.insert(7, self.socket.try_clone().unwrap());
        if choice & 0xc == 0xc {
            kernel.lives = Some(usize::from(choice >> 4));
        }
        kernel
    }

    /// Only files of `exec/` were handed over, or descriptors without a path. No program was started.
    pub fn check_handed_over(&self, kernel: &mut Fake, number: i64) {
        let programs = self.directory.path().join("exec");
        for (file, _) in kernel.installed.lock().unwrap().drain(..) {
            let path = real_path(file.as_fd()).unwrap();
            let path = Path::new(std::str::from_utf8(&path).unwrap());
            assert!(path.starts_with(&programs) || !path.starts_with("/"), "{number}: {}", path.display());
        }
        assert!(!kernel.followed.load(Ordering::Relaxed), "there is no program whose interpreter is there");
        let answers = kernel.answers.lock().unwrap();
        assert!(!answers.contains(&Response::Interrupted), "no call was blocked");
    }

    /// No file has changed.
    pub fn check_unchanged(&self) {
        assert_eq!(listed(self.directory.path()), self.before);
    }
}

/// All attributes of the files that could change, except times.
fn listed(root: &Path) -> BTreeMap<PathBuf, Vec<u64>> {
    let mut all = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(path) = pending.pop() {
        let stat = fs::symlink_metadata(&path).unwrap();
        if stat.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let owner = u64::from(stat.uid()) << 32 | u64::from(stat.gid());
        let when = stat.mtime() as u64;
        all.insert(path, vec![stat.ino(), u64::from(stat.mode()), stat.nlink(), owner, stat.size(), when]);
    }
    all
}
