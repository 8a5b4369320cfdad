//! Lists directories when the floor is built.
//!
//! A floor grants objects to every process alike. So objects that differ for each process, or act on the machine, are
//! never offered as something to grant: links, the kernel's own file systems, devices.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;

use guard_policy::{Name, NameKind};
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, major, minor, openat2, statat};

/// File systems that hold no ordinary files: their objects belong to the kernel, a process or a driver. Names as in
/// filesystems(5).
const OF_THE_KERNEL: [&[u8]; 28] = [
    b"autofs",
    b"binder",
    b"binfmt_misc",
    b"bpf",
    b"cgroup",
    b"cgroup2",
    b"configfs",
    b"cpuset",
    b"debugfs",
    b"devpts",
    b"devtmpfs",
    b"efivarfs",
    b"functionfs",
    b"fusectl",
    b"hugetlbfs",
    b"mqueue",
    b"nfsd",
    b"nsfs",
    b"proc",
    b"pstore",
    b"resctrl",
    b"rpc_pipefs",
    b"securityfs",
    b"selinuxfs",
    b"smackfs",
    b"sysfs",
    b"tracefs",
    b"xenfs",
];

/// A directory with more names counts as one that cannot be listed: listing it would take too long.
const MAX_LISTED: usize = 1 << 15;

/// The devices of /dev that are the same for every process and affect no other process, by their minor number with
/// major 1 (Documentation/admin-guide/devices.txt).
const HARMLESS: [(&[u8], u32); 5] =
    [(b"null", 3), (b"zero", 5), (b"full", 7), (b"random", 8), (b"urandom", 9)];

/// The usual maximum length of a list of mounts, in bytes.
const LENGTH: usize = 16 << 10;

/// Lists directories.
#[derive(Clone, Debug)]
pub struct Names {
    /// The mount points of the kernel's file systems, in order; `None` if unknown.
    apart: Option<Vec<Vec<u8>>>,
}

impl Names {
    /// Reads the current mounts. If they cannot be read, no directory is listed.
    pub fn read() -> Names {
        // The crate procfs is not used: it takes paths as text, and does not decode their escapes.
        Names { apart: mountinfo().ok().map(|text| mounted_apart(&text)) }
    }

    /// Whether a file system of the kernel is mounted at a path or below it; true if that is not known.
    pub fn are_below(&self, path: &[u8]) -> bool {
        let top = path.strip_suffix(b"/").unwrap_or(path);
        let is_below = |mount: &Vec<u8>| {
            mount.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.apart.as_ref().is_none_or(|apart| apart.iter().any(is_below))
    }

    /// Lists a directory, without following a link on the way; `None` if it cannot be listed.
    pub fn list(&self, directory: &[u8]) -> Option<Vec<Name>> {
        // Most directories contain no mount.
        let here = directory.strip_suffix(b"/").unwrap_or(directory);
        let is_here = |mount: &&Vec<u8>| mount.strip_prefix(here).is_some_and(|rest| rest.starts_with(b"/"));
        let apart: Vec<Vec<u8>> = self.apart.as_ref()?.iter().filter(is_here).cloned().collect();
        match listed(directory, MAX_LISTED, |name, kind| placed(&apart, &[here, name].join(&b'/'), kind)) {
            Ok(names) => Some(names),
            Err(error) => {
                tracing::debug!("{} is not listed: {error}", guard_policy::text::shown(directory));
                None
            }
        }
    }
}

fn mountinfo() -> io::Result<Vec<u8>> {
    // The file reports no size, and finding it by small reads takes longer than the reading itself.
    let mut text = Vec::with_capacity(LENGTH);
    File::open("/proc/self/mountinfo")?.read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the kind that the name counts as. `kind` is what the file system reports.
fn placed(apart: &[Vec<u8>], path: &[u8], kind: NameKind) -> NameKind {
    if path == b"/proc" || apart.iter().any(|mount| mount == path) && path != b"/dev" {
        return NameKind::Other;
    }
    let holds = |mount: &Vec<u8>| mount.strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"));
    match kind {
        NameKind::Directory if path == b"/dev" || apart.iter().any(holds) => NameKind::Mixed,
        // Directories and nodes there appear and disappear with the hardware.
        NameKind::Directory | NameKind::File if path.starts_with(b"/dev/") => match is_harmless(path) {
            true => NameKind::File,
            false => NameKind::Other,
        },
        kind => kind,
    }
}

/// Whether the path is that of a harmless device, and the device there is that one.
fn is_harmless(path: &[u8]) -> bool {
    let Some((_, number)) = HARMLESS.iter().find(|(name, _)| path.strip_prefix(b"/dev/") == Some(name))
    else {
        return false;
    };
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
            && (major(stat.st_rdev), minor(stat.st_rdev)) == (1, *number)
    })
}

/// The names in a directory, `most` at most, each with its kind as classified by `kind`.
fn listed(
    directory: &[u8],
    most: usize,
    kind: impl Fn(&[u8], NameKind) -> NameKind,
) -> io::Result<Vec<Name>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat2(CWD, directory, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let mut names = Vec::new();
    let mut buffer = [MaybeUninit::<u8>::uninit(); 16 << 10];
    let mut entries = RawDir::new(opened.as_fd(), &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let found = match entry.file_type() {
            // Some file systems do not report the type.
            FileType::Unknown => match statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => FileType::Unknown,
            },
            found => found,
        };
        let name = name.to_bytes().to_vec();
        let is_dev = directory == b"/dev";
        let found = match found {
            FileType::Directory => NameKind::Directory,
            FileType::RegularFile | FileType::Fifo => NameKind::File,
            FileType::CharacterDevice if is_dev => NameKind::File,
            _ => NameKind::Other,
        };
        names.push(Name { kind: kind(&name, found), name });
        if names.len() > most {
            return Err(io::Error::other(format!("it holds more than {most} names")));
        }
    }
    Ok(names)
}

/// The mount points of the kernel's file systems, from a list in the format of /proc/self/mountinfo.
fn mounted_apart(mountinfo: &[u8]) -> Vec<Vec<u8>> {
    let mount = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let point = unescaped(fields.nth(4)?);
        // A dash ends the optional fields.
        let system = fields.skip_while(|field| *field != b"-").nth(1)?;
        OF_THE_KERNEL.contains(&system).then_some(point)
    };
    mountinfo.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// Decodes a path in which the kernel has written space, tab, newline and backslash as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| {
            digits.iter().try_fold(0u16, |value, digit| {
                (b'0'..=b'7').contains(digit).then(|| value * 8 + u16::from(digit - b'0'))
            })
        });
        match octal.and_then(|value| u8::try_from(value).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &after[3..];
            }
            None => {
                path.push(*first);
                rest = after;
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    const MOUNTS: &[u8] = b"21 1 259:2 / / rw,relatime shared:1 - ext4 /dev/root rw\n\
        22 21 0:20 / /proc rw shared:12 master:3 - proc proc rw\n\
        23 21 0:5 / /dev rw - devtmpfs udev rw\n\
        24 23 0:21 / /dev/pts rw - devpts devpts rw\n\
        25 21 0:40 / /srv/a\\040jail/proc rw - proc proc rw\n\
        26 21 0:41 / /srv/b\\134c rw shared:9 - sysfs sysfs rw\n\
        27 21 0:42 / /tmp rw - tmpfs tmpfs rw\n\
        \n\
        garbage\n";

    fn kind(names: &[Name], name: &[u8]) -> NameKind {
        names.iter().find(|found| found.name == name).unwrap_or_else(|| panic!("{name:?} is not there")).kind
    }

    #[test]
    fn mounts_of_the_kernel_are_found() {
        let found = mounted_apart(MOUNTS);
        let expected: [&[u8]; 5] = [b"/proc", b"/dev", b"/dev/pts", b"/srv/a jail/proc", b"/srv/b\\c"];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_octal_stays() {
        for (field, path) in [
            (&b"/a\\040b"[..], &b"/a b"[..]),
            (b"/a\\012\\011", b"/a\n\t"),
            (b"/a\\", b"/a\\"),
            (b"/a\\04", b"/a\\04"),
            (b"/a\\089", b"/a\\089"),
            (b"/a\\777", b"/a\\777"),
            (b"/\xff\\134040", b"/\xff\\040"),
        ] {
            assert_eq!(unescaped(field), path);
        }
    }

    #[test]
    fn what_holds_a_place_apart_is_mixed() {
        let apart = mounted_apart(MOUNTS);
        for (path, expected) in [
            (&b"/srv"[..], NameKind::Mixed),
            (b"/srv/a jail", NameKind::Mixed),
            (b"/srv/a jail/proc", NameKind::Other),
            (b"/srv/a", NameKind::Directory),
            (b"/srv/b\\c", NameKind::Other),
            (b"/proc", NameKind::Other),
            (b"/dev", NameKind::Mixed),
            (b"/dev/pts", NameKind::Other),
            (b"/dev/shm", NameKind::Other),
            (b"/device", NameKind::Directory),
            (b"/tmp", NameKind::Directory),
        ] {
            assert_eq!(placed(&apart, path, NameKind::Directory), expected, "{}", path.escape_ascii());
        }
        // They are excluded even if no mount is listed.
        assert_eq!(placed(&[], b"/proc", NameKind::Directory), NameKind::Other);
        assert_eq!(placed(&[], b"/dev", NameKind::Directory), NameKind::Mixed);
        assert_eq!(placed(&[], b"/dev", NameKind::Other), NameKind::Other);
    }

    #[test]
    fn a_directory_tells_its_names() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path();
        std::fs::create_dir(path.join("directory")).unwrap();
        std::fs::write(path.join("a\nfile"), "").unwrap();
        symlink("directory", path.join("link")).unwrap();
        let _socket = UnixListener::bind(path.join("socket")).unwrap();
        for number in 0..2000 {
            std::fs::write(path.join(format!("directory/{number}")), "").unwrap();
        }
        let names = Names::read();
        let found = names.list(path.as_os_str().as_bytes()).unwrap();
        assert_eq!(found.len(), 4);
        assert_eq!(kind(&found, b"directory"), NameKind::Directory);
        assert_eq!(kind(&found, b"a\nfile"), NameKind::File);
        assert_eq!(kind(&found, b"link"), NameKind::Other);
        assert_eq!(kind(&found, b"socket"), NameKind::Other);
        let of = |name: &str| names.list(path.join(name).as_os_str().as_bytes());
        assert_eq!(of("directory").unwrap().len(), 2000);
        let bounded = |most| listed(path.join("directory").as_os_str().as_bytes(), most, |_, kind| kind);
        assert!(bounded(2000).is_ok_and(|names| names.len() == 2000) && bounded(1999).is_err());
        for nothing in ["link", "link/.", "a\nfile", "none"] {
            assert!(of(nothing).is_none(), "{nothing}");
        }
    }

    #[test]
    fn of_dev_only_harmless_devices_are_told() {
        let found = Names::read().list(b"/dev").unwrap();
        assert_eq!(kind(&found, b"null"), NameKind::File);
        for Name { name, kind } in found.iter().filter(|found| found.kind != NameKind::Other) {
            assert!(HARMLESS.iter().any(|(harmless, _)| harmless == name), "{}", name.escape_ascii());
            assert_eq!(*kind, NameKind::File);
        }
        let top = Names::read().list(b"/").unwrap();
        assert_eq!((kind(&top, b"proc"), kind(&top, b"dev")), (NameKind::Other, NameKind::Mixed));
    }

    #[test]
    fn without_the_mounts_nothing_is_told() {
        assert_eq!(Names { apart: None }.list(b"/"), None);
    }
}
