//! The mappings of a process, from `/proc/PID/maps` (proc_pid_maps(5)). Paths are bytes there.
//!
//! Why: docs/decisions.md, "Mappings are read by our own parser"

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::os::fd::AsFd;

use guard_openclaw::peer::proc::Tid;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::errno;
use super::requests::{self, Mapping};

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Its address range.
    pub range: Range<u64>,
    /// The file's device, as (major, minor); (0, 0) without a file.
    pub device: (u32, u32),
    /// The file's inode; 0 without a file.
    pub inode: u64,
    /// The last column: a path, a name in brackets, or nothing.
    name: Vec<u8>,
}

impl Mapped {
    /// The paths that the file may have; empty for memory without a file. The kernel writes a newline as `\012`, but does not
    /// escape a backslash. So a `\012` gives two candidates, and for a name that has both, the right path may be missing.
    pub fn paths(&self) -> Vec<Vec<u8>> {
        if !self.name.starts_with(b"/") || self.is_memory() {
            return Vec::new();
        }
        let mut paths = vec![self.name.clone()];
        let unescaped = unescaped(&self.name);
        if unescaped != self.name {
            paths.push(unescaped);
        }
        paths
    }

    /// Whether this is memory that the kernel keeps in internal files: memfd_create(2), unnamed shared memory, and
    /// System V shared memory. Only the machine's owner can create a file under these names.
    fn is_memory(&self) -> bool {
        self.name.strip_suffix(b" (deleted)").is_some_and(|name| {
            let key = name.strip_prefix(b"/SYSV");
            name.starts_with(b"/memfd:")
                || name == b"/dev/zero"
                || key.is_some_and(|key| key.len() == 8 && key.iter().all(u8::is_ascii_hexdigit))
        })
    }
}

/// Reads all mappings of a process.
///
/// # Errors
/// ESRCH and EACCES from the kernel; EIO if the text does not follow proc_pid_maps(5).
pub fn read(process: Tid) -> Result<Vec<Mapped>, Errno> {
    let text = std::fs::read(format!("/proc/{process}/maps")).map_err(errno::from_io)?;
    parse(&text).ok_or(Errno::IO)
}

/// Returns all mappings of files that a process has, without their names.
///
/// # Errors
/// As [`read`].
pub fn files(process: Tid) -> Result<Vec<(Range<u64>, Mapping)>, Errno> {
    let path = format!("/proc/{process}/maps");
    let maps = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let (mut found, mut address) = (Vec::new(), 0);
    loop {
        match requests::next_file_mapping(maps.as_fd(), address) {
            Ok((range, mapping)) => {
                address = range.end;
                found.push((range, mapping));
            }
            Err(Errno::NOENT) => return Ok(found),
            // Before Linux 6.11 the kernel does not have this request.
            Err(Errno::NOTTY) => break,
            Err(error) => return Err(error),
        }
    }
    each_by_text(File::from(maps), &(0..u64::MAX), &mut |mapped| {
        found.push((mapped.range, Mapping { device: mapped.device, inode: mapped.inode }));
        Ok(())
    })?;
    Ok(found)
}

/// Calls `each` for the mappings of files that a process has in a range.
///
/// # Errors
/// As [`read`]; ENAMETOOLONG for a file with a path of more than PATH_MAX; those of `each`.
pub fn each_file_in(
    process: Tid,
    range: &Range<u64>,
    each: &mut dyn FnMut(Mapped) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let path = format!("/proc/{process}/maps");
    let maps = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut at = range.start;
    while at < range.end {
        match requests::next_named_mapping(maps.as_fd(), at) {
            Ok((found, mapping, name)) if found.start < range.end => {
                at = found.end;
                each(Mapped { range: found, device: mapping.device, inode: mapping.inode, name })?;
            }
            Ok(_) | Err(Errno::NOENT) => break,
            // Before Linux 6.11 the kernel does not have this request.
            Err(Errno::NOTTY) => return each_by_text(File::from(maps), range, each),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The same from the text, of which only one line is kept: a process may have many mappings with long names.
fn each_by_text(
    maps: File,
    range: &Range<u64>,
    each: &mut dyn FnMut(Mapped) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut lines = BufReader::new(maps);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(errno::from_io)? > 0 {
        let found = mapped(line.strip_suffix(b"\n").unwrap_or(&line)).ok_or(Errno::IO)?;
        if found.range.start >= range.end {
            break;
        }
        if found.range.end > range.start && found.inode != 0 {
            each(found)?;
        }
        line.clear();
    }
    Ok(())
}

/// Parses the text. Returns `None` if a line is not a mapping.
pub fn parse(text: &[u8]) -> Option<Vec<Mapped>> {
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).map(mapped).collect()
}

fn mapped(line: &[u8]) -> Option<Mapped> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut field = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = field()?.split_once('-')?;
    let (_rights, _offset) = (field()?, field()?);
    let (major, minor) = field()?.split_once(':')?;
    let inode = field()?.parse().ok()?;
    let name = fields.next().unwrap_or_default();
    let number = |text| u64::from_str_radix(text, 16).ok();
    let half = |text| u32::from_str_radix(text, 16).ok();
    // Spaces align the names. No name begins with one.
    let begin = name.iter().position(|&byte| byte != b' ').unwrap_or(name.len());
    Some(Mapped {
        range: number(start)?..number(end)?,
        device: (half(major)?, half(minor)?),
        inode,
        name: name[begin..].to_vec(),
    })
}

fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&first, behind)) = rest.split_first() {
        let newline = rest.strip_prefix(b"\\012");
        path.push(if newline.is_some() { b'\n' } else { first });
        rest = newline.unwrap_or(behind);
    }
    path
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::{Read, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn names_are_bytes() {
        let text = b"00400000-00452000 r-xp 00000000 08:02 173521      /usr/b\xff n \n\
            7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\
            7f0000001000-7f0000002000 rw-p 00000000 00:00 0                          [heap]\n\
            7f0000002000-7f0000003000 r--p 00001000 fd:100 7                         /a\\012b\n";
        let all = parse(text).unwrap();
        assert_eq!(all.len(), 4);
        assert_eq!(
            (all[0].range.clone(), all[0].device, all[0].inode),
            (0x40_0000..0x45_2000, (8, 2), 173521)
        );
        assert_eq!(all[0].paths(), [b"/usr/b\xff n ".to_vec()]);
        assert!(all[1].paths().is_empty() && all[2].paths().is_empty());
        assert_eq!(
            (all[3].device, all[3].paths()),
            ((0xfd, 0x100), vec![b"/a\\012b".to_vec(), b"/a\nb".to_vec()])
        );
        assert_eq!(parse(b"Rss: 4 kB\n"), None);
    }

    #[test]
    fn memory_has_no_path() {
        let paths = |name: &str| parse(format!("1-2 r-xp 0 00:01 7 {name}\n").as_bytes()).unwrap()[0].paths();
        for name in [
            "/memfd:jit (deleted)",
            "/dev/zero (deleted)",
            "/SYSV0000abcd (deleted)",
            "[vdso]",
            "anon_inode:x",
        ] {
            assert!(paths(name).is_empty(), "{name}");
        }
        for name in ["/memfd:jit", "/dev/zero", "/SYSV", "/SYSV0000abcd", "/SYSVé (deleted)", "/x (deleted)"]
        {
            assert_eq!(paths(name), [name.as_bytes()]);
        }
    }

    #[test]
    fn the_files_in_a_range_are_found_in_both_ways() {
        let own = std::process::id() as Tid;
        let all = read(own).unwrap();
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        let is_program = |mapped: &Mapped| mapped.paths().contains(&program.as_os_str().as_bytes().to_vec());
        let parts: Vec<&Mapped> = all.iter().filter(|mapped| is_program(mapped)).collect();
        let range = parts[0].range.start + 1..parts[parts.len() - 1].range.end - 1;
        let mut found = [Vec::new(), Vec::new()];
        each_file_in(own, &range, &mut |mapped| {
            found[0].push(mapped);
            Ok(())
        })
        .unwrap();
        let maps = File::open(format!("/proc/{own}/maps")).unwrap();
        each_by_text(maps, &range, &mut |mapped| {
            found[1].push(mapped);
            Ok(())
        })
        .unwrap();
        assert!(found[0].iter().all(is_program) && !found[0].is_empty(), "{found:?}");
        assert_eq!(found[0], found[1]);
        let nothing = |range: Range<u64>| {
            let mut count = 0;
            each_file_in(own, &range, &mut |_| {
                count += 1;
                Ok(())
            })
            .map(|()| count)
        };
        assert_eq!((nothing(0..4096), nothing(u64::MAX - 1..u64::MAX)), (Ok(0), Ok(0)));
    }

    #[test]
    fn a_mapping_of_any_file_name_is_parsed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join(OsStr::from_bytes(b"\xff\n\\ "));
        std::fs::copy("/bin/cat", &path).unwrap();
        let mut child = std::process::Command::new(&path)
            .arg0("cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The child is running by now.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let all = read(child.id() as Tid).unwrap();
        assert!(all.iter().any(|mapped| mapped.paths().contains(&path.as_os_str().as_bytes().to_vec())));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
