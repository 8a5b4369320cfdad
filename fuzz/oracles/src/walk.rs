//! Paths through a small tree: the resolver must agree with a table of the tree and with the kernel.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use guard_supervisor::caller::Caller;
use guard_supervisor::kernel::fake::Fake;
use guard_supervisor::landlock::LandlockPlan;
use guard_supervisor::resolve::{FastLookup, FastPath, Identity, Last, Object, Resolver, Target};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::input::Input;
use super::world::{Reached, Stop, World};

const HERE: i32 = libc::AT_FDCWD;

/// The input is a tree, then paths in it.
pub fn walk(data: &[u8]) {
    let mut input = Input::new(data);
    let world = World::from_input(&mut input);
    let resolver = Resolver::new().unwrap();
    for _ in 0..8 {
        let (start, directory) = &world.directories[input.below(world.directories.len())];
        let last = *input.pick(&[Last::Follow, Last::Keep, Last::Name, Last::Make]);
        let restrictions = ResolveFlags::from_bits_retain(u64::from(input.byte()) & 0x1f);
        let path = world.path(&mut input);
        let mut kernel = Fake::new("/nowhere".as_ref(), &[]);
        kernel.directories.insert(HERE, format!("/proc/self/fd/{}", directory.as_raw_fd()).into());
        let caller = Caller::new(&kernel, Fake::call(0, &[]));
        let query =
            Query { world: &world, resolver: &resolver, caller, start: *start, directory, path: &path };
        query.compare_table(last);
        match last {
            Last::Follow => query.compare_object(last, OFlags::empty(), ResolveFlags::empty()),
            Last::Keep => query.compare_object(last, OFlags::NOFOLLOW, ResolveFlags::empty()),
            Last::Name => query.compare_name(),
            Last::Make => query.compare_making(),
        }
        query.compare_glance();
        query.compare_spelling();
        let both = ResolveFlags::BENEATH | ResolveFlags::IN_ROOT;
        if !restrictions.contains(both) {
            query.compare_object(Last::Follow, OFlags::empty(), restrictions);
            query.compare_object(Last::Keep, OFlags::NOFOLLOW, restrictions);
        }
        if input.is_empty() {
            break;
        }
    }
}

/// One path, starting at one directory.
struct Query<'q> {
    world: &'q World,
    resolver: &'q Resolver,
    caller: Caller<'q>,
    start: usize,
    directory: &'q OwnedFd,
    path: &'q [u8],
}

impl std::fmt::Display for Query<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = self.world.path_of(self.start);
        write!(f, "{} from {}", self.path.escape_ascii(), start.escape_ascii())
    }
}

/// The kernel's path of an open file, if it is not too long to be read.
fn kernel_path(file: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    Some(rustix::fs::readlink(link, Vec::new()).ok()?.into_bytes())
}

fn identity(file: impl AsFd) -> Identity {
    Identity::from_stat(&rustix::fs::fstat(file).unwrap())
}

impl Query<'_> {
    fn resolved(&self, last: Last) -> Result<Target, Errno> {
        self.resolver.resolve(&self.caller, HERE, self.path, last)
    }

    fn opened(&self, path: &[u8], flags: OFlags, restrictions: ResolveFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
        // EAGAIN: something was renamed or mounted meanwhile, so the kernel gave up. Try again.
        let tries = std::iter::repeat_with(|| {
            rustix::fs::openat2(self.directory, path, flags, Mode::empty(), restrictions)
        });
        tries.take(64).find(|opened| !matches!(opened, Err(Errno::AGAIN))).unwrap_or(Err(Errno::AGAIN))
    }

    fn compare_table(&self, last: Last) {
        let (expected, _) = self.world.resolve(self.start, self.path, last);
        let found = self.resolved(last);
        match (&expected, &found) {
            (Err(Stop::Unknown), _) => {}
            (Err(Stop::Refused(expected)), Err(found)) => assert_eq!(found, expected, "{self} {last:?}"),
            (Ok(Reached::Object(node)), Ok(Target::Object { path, .. })) => {
                assert_eq!(*path, self.world.path_of(*node), "{self} {last:?}");
            }
            (Ok(Reached::Entry { parent, name, slash, node, absent }), Ok(Target::Entry(entry))) => {
                let parent = self.world.path_of(*parent);
                let path = [if parent == b"/" { b"" } else { &parent[..] }, b"/", name].concat();
                assert_eq!(entry.path, path, "{self} {last:?}");
                assert_eq!((&entry.name, entry.slash), (name, *slash), "{self} {last:?}");
                assert_eq!(entry.object.is_some(), node.is_some(), "{self} {last:?}");
                assert_eq!(entry.absent, *absent, "{self} {last:?}");
            }
            _ => panic!("{self} {last:?}: {expected:?} {found:?}"),
        }
    }

    /// The kernel finds the same object, or fails with the same error.
    fn compare_object(&self, last: Last, flags: OFlags, restrictions: ResolveFlags) {
        let expected = self.opened(self.path, flags, restrictions);
        let found = self.resolver.resolve_restricted(&self.caller, HERE, self.path, last, restrictions);
        let found = found.and_then(Target::into_object);
        match (expected, found) {
            (Err(Errno::AGAIN), _) => {}
            (Ok(expected), Ok((object, path))) => self.check_same(&expected, &object, &path),
            (expected, found) => {
                let found = found.map(|(_, path)| path.escape_ascii().to_string());
                let expected = expected.map(|fd| kernel_path(fd.as_fd()));
                assert_eq!(found.err(), expected.err(), "{self} {last:?} {restrictions:?}");
            }
        }
    }

    fn check_same(&self, expected: &OwnedFd, object: &Object, path: &[u8]) {
        assert_eq!(Identity::from_stat(&object.stat), identity(expected), "{self}");
        if let Some(kernel_path) = kernel_path(expected.as_fd()) {
            assert_eq!(path.escape_ascii().to_string(), kernel_path.escape_ascii().to_string(), "{self}");
        }
    }

    /// The resolved name is in the directory that the rest of the path leads to.
    fn compare_name(&self) {
        let end = self.path.iter().rposition(|&byte| byte != b'/').map_or(0, |at| at + 1);
        let begin = self.path[..end].iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
        let (before, name) = (&self.path[..begin], &self.path[begin..end]);
        let found = self.resolved(Last::Name);
        if matches!(name, b"" | b"." | b"..") {
            let expected = self.opened(self.path, OFlags::empty(), ResolveFlags::empty());
            match (&expected, &found) {
                (Ok(expected), Ok(Target::Object { object, path, .. })) => {
                    self.check_same(expected, object, path);
                }
                (Err(expected), Err(found)) => assert_eq!(found, expected, "{self}"),
                _ => panic!("{self}: {expected:?} {found:?}"),
            }
            return;
        }
        let before = if before.is_empty() { b"." } else { before };
        let expected = self.opened(before, OFlags::DIRECTORY, ResolveFlags::empty());
        match (&expected, &found) {
            (Ok(expected), Ok(Target::Entry(entry))) => {
                assert_eq!(identity(expected), identity(&entry.parent), "{self}");
                assert_eq!(entry.name, name, "{self}");
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let there = rustix::fs::openat(expected, name, flags, Mode::empty());
                assert_eq!(entry.there().map(|_| ()), there.map(drop), "{self}");
            }
            (Err(expected), Err(found)) => assert_eq!(found, expected, "{self}"),
            _ => panic!("{self}: {expected:?} {found:?}"),
        }
    }

    /// open(2) creates a file exactly where the resolver says. Only tried inside the tree.
    fn compare_making(&self) {
        let Ok(Target::Entry(entry)) = self.resolved(Last::Make) else { return };
        let is_here =
            entry.path.strip_prefix(&self.world.root[..]).is_some_and(|rest| rest.starts_with(b"/"));
        if !is_here || self.world.resolve(self.start, self.path, Last::Make).0 == Err(Stop::Unknown) {
            return;
        }
        let flags = OFlags::CREATE | OFlags::RDONLY | OFlags::CLOEXEC;
        let made = rustix::fs::openat(self.directory, self.path, flags, Mode::RUSR | Mode::WUSR);
        if let (Ok(made), None) = (&made, &entry.object) {
            assert_eq!(kernel_path(made.as_fd()).unwrap_or_else(|| entry.path.clone()), entry.path, "{self}");
            rustix::fs::unlinkat(&entry.parent, &entry.name[..], rustix::fs::AtFlags::empty()).unwrap();
        }
        let expected = match &entry.object {
            _ if entry.slash => Err(Errno::ISDIR),
            Some(object) if object.kind() == rustix::fs::FileType::Directory => Err(Errno::ISDIR),
            Some(object) => {
                assert_eq!(made.as_ref().map(identity), Ok(Identity::from_stat(&object.stat)), "{self}");
                Ok(())
            }
            None => Ok(()),
        };
        assert_eq!(made.map(drop), expected, "{self}");
    }

    fn compare_glance(&self) {
        let Some((object, path)) = self.resolver.lookup_once(&self.caller, HERE, self.path).unwrap() else {
            return;
        };
        let (found, real) = self.resolved(Last::Follow).and_then(Target::into_object).unwrap();
        assert_eq!(
            (Identity::from_stat(&object.stat), path),
            (Identity::from_stat(&found.stat), real),
            "{self}"
        );
    }

    /// A path spelled out on the fast path is right if the lookup met no links.
    fn compare_spelling(&self) {
        let mut fast_path = FastPath::default();
        if fast_path.spell(&self.caller, HERE, self.path, &LandlockPlan::default()).is_none() {
            return;
        }
        let real = || fast_path.real().escape_ascii().to_string();
        let (table, links) = self.world.resolve(self.start, self.path, Last::Keep);
        let opened_link = self.opened(self.path, OFlags::NOFOLLOW, ResolveFlags::empty());
        match fast_path.lookup() {
            FastLookup::There => {
                let Ok(opened_link) = opened_link else {
                    // A path that continues after the name of a file.
                    assert_eq!(opened_link.err(), Some(Errno::NOTDIR), "{self}");
                    return;
                };
                let kernel_path =
                    kernel_path(opened_link.as_fd()).map(|path| path.escape_ascii().to_string());
                assert_eq!(kernel_path.unwrap_or_else(real), real(), "{self}");
                assert_eq!(links, 0, "{self}");
            }
            FastLookup::Missing => {
                assert_eq!(opened_link.err(), Some(Errno::NOENT), "{self}");
                assert_eq!(links, 0, "{self}");
                if let Ok(Reached::Entry { parent, name, .. }) = table {
                    let path = [&self.world.path_of(parent)[..], b"/", &name].concat();
                    assert_eq!(real(), path.escape_ascii().to_string(), "{self}");
                }
            }
            FastLookup::Link => {
                let is_link = |path: &[u8]| {
                    let flags = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
                    self.opened(path, OFlags::empty(), flags).err() == Some(Errno::LOOP)
                };
                assert!(is_link(self.path) || self.path.is_empty(), "{self}");
                if fast_path.follow().is_some() {
                    let followed = self.opened(self.path, OFlags::empty(), ResolveFlags::empty()).unwrap();
                    let kernel_path = kernel_path(followed.as_fd()).unwrap();
                    let real = fast_path.real().escape_ascii().to_string();
                    assert_eq!(real, kernel_path.escape_ascii().to_string(), "{self}");
                    let there = rustix::fs::openat2(
                        CWD,
                        fast_path.real(),
                        OFlags::PATH | OFlags::CLOEXEC,
                        Mode::empty(),
                        ResolveFlags::NO_SYMLINKS,
                    );
                    assert_eq!(there.map(identity), Ok(identity(&followed)), "{self}");
                }
            }
            FastLookup::Unclear => {}
        }
    }
}
