//! Texts of the kernel that contain names chosen by a program, and the headers of programs.
//!
//! Each text is built from a name and numbers, as the kernel builds it. Parsing it must return the same values.

use std::fs::File;
use std::io::Write;

use guard_openclaw::peer::proc::{Fields, parse_name, parse_stat, parse_status};
use guard_supervisor::exec::image::{self, Image};
use guard_supervisor::judge::bound_sockets;
use guard_supervisor::kernel::maps;
use procfs::FromRead;
use rustix::fs::MemfdFlags;
use rustix::io::Errno;

use super::input::Input;

/// Checks one text of some kind.
pub fn texts(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(7) {
        0 => stat(&mut input),
        1 => status(&mut input),
        2 => sockets(&mut input),
        3 => mappings(&mut input),
        4 => script(input.rest()),
        5 => elf(&mut input),
        // Text that no kernel writes: it only must not panic.
        _ => {
            let text = input.rest();
            let _ = (parse_stat(text), parse_name(text), parse_status(&Fields(text)));
            let _ = (bound_sockets::parse_entry(text).map(|line| line.inode), maps::parse(text), image(text));
        }
    }
}

/// `/proc/PID/stat` (fs/proc/array.c, do_task_stat): the name is in parentheses, unescaped.
fn stat(input: &mut Input<'_>) {
    let name = input.text();
    let mut text = b"4711 (".to_vec();
    text.extend_from_slice(name);
    text.extend_from_slice(b") R");
    let fields: Vec<u64> = (4..=52)
        .map(|field| match field {
            4 => u64::from(input.byte()) << 8,
            7 => input.number(4) & 0x7fff_ffff,
            45..=51 => input.number(8),
            _ => input.number(1),
        })
        .collect();
    // One field can be negative.
    fields.iter().enumerate().for_each(|(at, field)| match at {
        4 => text.extend_from_slice(b" -1"),
        _ => text.extend_from_slice(format!(" {field}").as_bytes()),
    });
    text.push(b'\n');
    let of = |number: usize| fields[number - 4];
    let stat = parse_stat(&text).unwrap();
    assert_eq!((stat.ppid as u64, u64::from(stat.tty)), (of(4), of(7)));
    assert_eq!((stat.arguments, stat.environment), ((of(48), of(49)), (of(50), of(51))));
    assert_eq!(parse_name(&text), Some(name));
    let other = procfs::process::Stat::from_read(&text[..]).unwrap();
    assert_eq!((other.ppid as u64, other.comm), (of(4), String::from_utf8_lossy(name).into_owned()));
}

/// `/proc/PID/status`: newlines and backslashes in the name are escaped.
fn status(input: &mut Input<'_>) {
    let mut name = Vec::new();
    for &byte in input.text() {
        match byte {
            b'\n' => name.extend_from_slice(b"\\n"),
            b'\\' => name.extend_from_slice(b"\\\\"),
            byte => name.push(byte),
        }
    }
    let [tgid, ppid, tracer] = [0; 3].map(|_| input.number(3));
    let umask = input.number(2) & 0o777;
    let mut text = [b"Name:\t", &name[..]].concat();
    text.extend_from_slice(
        format!(
            "\nUmask:\t{umask:04o}\nState:\tR (running)\nTgid:\t{tgid}\nNgid:\t0\nPid:\t{tgid}\nPPid:\t{ppid}\n\
             TracerPid:\t{tracer}\nGroups:\t4 24 \n"
        )
        .as_bytes(),
    );
    let status = parse_status(&Fields(&text)).unwrap();
    let found = [status.tgid, status.ppid, status.tracer].map(|number| number as u64);
    assert_eq!((found, u64::from(status.umask)), ([tgid, ppid, tracer], umask));
}

/// A line of `/proc/net/unix` (net/unix/af_unix.c, unix_seq_show): the inode, and the unescaped name if there is one.
fn sockets(input: &mut Input<'_>) {
    let (references, state, inode) = (input.number(4), input.number(1), input.number(4));
    let name = input.text();
    let line = format!("0000000000000000: {references:08X} 00000000 00010000 0001 {state:02X} {inode:5}");
    assert!(bound_sockets::parse_entry(line.as_bytes()).is_none());
    let line = [line.as_bytes(), b" ", name].concat();
    let parsed =
        bound_sockets::parse_entry(&line).map(|line| (line.name, u64::from(line.inode), line.can_be_reached));
    assert_eq!(parsed, Some((name, inode, true)).filter(|_| !name.is_empty()));
}

/// `/proc/PID/maps` (fs/proc/task_mmu.c, show_map_vma): only newlines in a path are escaped.
fn mappings(input: &mut Input<'_>) {
    let mut text = Vec::new();
    let mut made = Vec::new();
    for _ in 0..=input.below(6) {
        let (start, length) = (input.number(6) << 12, input.number(3) << 12);
        let (major, minor, inode) = (input.number(2) & 0xfff, input.number(3) & 0xf_ffff, input.number(8));
        let path = match input.text() {
            [] => Vec::new(),
            // Named anonymous memory; any other name is made an absolute path.
            [b'[', rest @ ..] => [b"[anon:", rest, b"]"].concat(),
            name => [b"/", name].concat(),
        };
        let mut line =
            format!("{start:08x}-{:08x} r-xp 00000000 {major:02x}:{minor:02x} {inode} ", start + length)
                .into_bytes();
        if !path.is_empty() {
            line.resize(line.len().max(72), b' ');
            line.push(b' ');
            path.iter().for_each(|&byte| match byte {
                b'\n' => line.extend_from_slice(b"\\012"),
                byte => line.push(byte),
            });
        }
        text.extend_from_slice(&line);
        text.push(b'\n');
        made.push((start..start + length, (major, minor), inode, path));
    }
    let read = maps::parse(&text).unwrap();
    assert_eq!(read.len(), made.len());
    for (read, (range, (major, minor), inode, path)) in read.iter().zip(made) {
        assert_eq!((&read.range, read.inode), (&range, inode));
        assert_eq!(read.device, (major as u32, minor as u32));
        let is_memory = path.ends_with(b" (deleted)");
        let is_named = path.starts_with(b"/");
        // A name that contains both a newline and a literal `\012` is ambiguous.
        let is_both = path.contains(&b'\n') && path.windows(4).any(|part| part == b"\\012");
        assert!(read.paths().contains(&path) || !is_named || is_memory || is_both, "{}", path.escape_ascii());
        assert!(is_named || read.paths().is_empty());
    }
}

fn image(text: &[u8]) -> Result<Image, Errno> {
    let mut file = File::from(rustix::fs::memfd_create("guard-fuzz", MemfdFlags::CLOEXEC).unwrap());
    file.write_all(text).unwrap();
    image::read(&file)
}

/// `#!` (fs/binfmt_script.c, load_script): the kernel reads 256 bytes, and pads a shorter file with NUL.
fn script(text: &[u8]) {
    let text = [b"#!", text].concat();
    let head: Vec<u8> = text.iter().copied().chain(std::iter::repeat(0)).take(256).collect();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    // A newline after a NUL does not count.
    let newline = head.iter().position(|byte| matches!(byte, b'\n' | 0)).filter(|&at| head[at] == b'\n');
    let line = &head[2..newline.unwrap_or(255)];
    let skip = line.iter().take_while(|byte| blank(byte)).count();
    let is_whole = newline.is_some() || line[skip..].iter().any(|byte| blank(byte) || *byte == 0);
    let trailing = line.iter().rev().take_while(|byte| blank(byte)).count();
    let words = line.get(skip..line.len() - trailing).filter(|words| is_whole && !words.is_empty());
    let text_of = |bytes: &[u8]| bytes.iter().copied().take_while(|&byte| byte != 0).collect::<Vec<u8>>();
    let expected = words.map(|words| {
        let end = words.iter().position(|byte| blank(byte) || *byte == 0).unwrap_or(words.len());
        let behind = &words[end..];
        let argument = behind.first().filter(|byte| blank(byte)).map(|_| {
            let skip = behind.iter().take_while(|byte| blank(byte)).count();
            text_of(&behind[skip..])
        });
        (words[..end].to_vec(), argument)
    });
    let expected = match expected {
        None => Ok(Image::Unknown),
        Some((interpreter, _)) if interpreter.is_empty() => Err(Errno::ACCESS),
        Some((interpreter, argument)) => Ok(Image::Script { interpreter, argument }),
    };
    assert_eq!(image(&text), expected, "{}", text.escape_ascii());
}

/// A program with a loader, with some bytes changed.
fn elf(input: &mut Input<'_>) {
    const HEADER: usize = 64;
    const SEGMENT: usize = 56;
    let count = input.below(5);
    let loader = [b"/lib64/", input.text(), b"\0"].concat();
    let mut file = vec![0; HEADER + SEGMENT * count];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    put(&mut file, 16, 3, 2);
    put(&mut file, 18, 62, 2);
    put(&mut file, 20, 1, 4);
    put(&mut file, 32, HEADER as u64, 8);
    put(&mut file, 52, HEADER as u64, 2);
    put(&mut file, 54, SEGMENT as u64, 2);
    put(&mut file, 56, count as u64, 2);
    for segment in 0..count {
        let at = HEADER + SEGMENT * segment;
        put(&mut file, at, 1 + input.below(3) as u64, 4);
        put(&mut file, at + 8, (HEADER + SEGMENT * count) as u64, 8);
        put(&mut file, at + 32, loader.len() as u64, 8);
    }
    file.extend_from_slice(&loader);
    // Programs are longer than one read.
    file.resize(file.len() + usize::from(input.byte()) * 64, 0);
    for _ in 0..input.below(16) {
        let (at, byte) = (input.number(2) as usize, input.byte());
        if let Some(slot) = file.get_mut(at) {
            *slot = byte;
        }
    }
    file.truncate(file.len() - input.number(2) as usize % file.len());
    assert_eq!(image(&file), Ok(elf_model(&file)), "{}", file.escape_ascii());
}

fn put(file: &mut [u8], at: usize, number: u64, bytes: usize) {
    file[at..at + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
}

/// The first PT_INTERP (elf(5); fs/binfmt_elf.c, load_elf_binary).
fn elf_model(file: &[u8]) -> Image {
    let number = |at: usize, bytes: usize| {
        let field = file.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    if !file.starts_with(b"\x7fELF") || file.len() < 64 {
        return if file.starts_with(b"#!") { panic!("a script") } else { Image::Unknown };
    }
    // 64-bit, little-endian, version 1, this machine's.
    let machine = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    if file[4..7] != [2, 1, 1] || number(18, 2) != Some(machine) {
        return Image::Foreign;
    }
    let (start, count) = (number(32, 8).unwrap(), number(56, 2).unwrap());
    // The kernel would accept program headers at offset 0, but no linker puts them there.
    if number(54, 2) != Some(56) || count == 0 || count > 65536 / 56 || start == 0 {
        return Image::Unknown;
    }
    let end = start.checked_add(56 * count).filter(|&end| end <= file.len() as u64);
    let Some(_) = end else { return Image::Unknown };
    for segment in 0..count {
        let at = (start + 56 * segment) as usize;
        if number(at, 4) != Some(3) {
            continue;
        }
        let (offset, length) = (number(at + 8, 8).unwrap(), number(at + 32, 8).unwrap());
        let end = offset.checked_add(length).filter(|&end| end <= file.len() as u64);
        return match end {
            Some(end) if (2..=4096).contains(&length) && file[end as usize - 1] == 0 => {
                let path = &file[offset as usize..end as usize];
                let path = path.iter().copied().take_while(|&byte| byte != 0).collect();
                Image::Elf { interpreter: Some(path) }
            }
            _ => Image::Unknown,
        };
    }
    Image::Elf { interpreter: None }
}
