//! The kind of file that execve(2) sees: an ELF program with its loader, a script with its interpreter, or neither.

use std::fs::File;
use std::os::unix::fs::FileExt;

use object::LittleEndian;
use object::elf::{FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use rustix::io::Errno;

use crate::caller::PATH_MAX;
use crate::kernel::errno;

/// BINPRM_BUF_SIZE: how much of a file the kernel reads to recognise it.
const HEAD: usize = 256;
/// Bytes per read: usually enough for the program headers and the loader's name.
const START: usize = 4096;
/// The maximum size of the program headers that the kernel reads.
const MAX_HEADERS: usize = 65536;

/// The value of `e_machine` in programs for this machine.
#[cfg(target_arch = "x86_64")]
const MACHINE: object::elf::Machine = object::elf::EM_X86_64;
/// The value of `e_machine` in programs for this machine.
#[cfg(target_arch = "aarch64")]
const MACHINE: object::elf::Machine = object::elf::EM_AARCH64;

/// The kind of file that execve(2) sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// A program for this machine, with the path in PT_INTERP, if it has one.
    Elf {
        /// The loader.
        interpreter: Option<Vec<u8>>,
    },
    /// `#!`
    Script {
        /// The interpreter, as written.
        interpreter: Vec<u8>,
        /// Everything after the interpreter, as one argument.
        argument: Option<Vec<u8>>,
    },
    /// An ELF program that only emulation or another instruction set could run.
    Foreign,
    /// Neither an ELF program nor a script: ENOEXEC. A format registered with binfmt_misc(5) ends here too, on purpose.
    Unknown,
}

/// Determines the kind of a file.
///
/// # Errors
/// The kernel's, if the file cannot be read.
pub fn read(file: &File) -> Result<Image, Errno> {
    let mut start = [0; START];
    let length = file.read_at(&mut start, 0).map_err(errno::from_io)?;
    let start = &start[..length];
    let mut head = [0; HEAD];
    head[..length.min(HEAD)].copy_from_slice(&start[..length.min(HEAD)]);
    if head.starts_with(b"#!") {
        return match script(&head) {
            // The kernel opens the empty name, which means the current directory.
            Image::Script { interpreter, .. } if interpreter.is_empty() => Err(Errno::ACCESS),
            image => Ok(image),
        };
    }
    if !start.starts_with(&object::elf::ELFMAG) || length < size_of::<FileHeader64<LittleEndian>>() {
        return Ok(Image::Unknown);
    }
    // What lies beyond the first bytes is read from the file.
    let image = elf(start).or_else(|| elf(&ReadCache::new(file)));
    Ok(image.unwrap_or(Image::Unknown))
}

fn elf<'d>(data: impl ReadRef<'d>) -> Option<Image> {
    // Only 64-bit little-endian files of this machine parse; everything else is another machine's.
    let Ok(header) = FileHeader64::<LittleEndian>::parse(data) else { return Some(Image::Foreign) };
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != MACHINE {
        return Some(Image::Foreign);
    }
    // The kernel's bounds (fs/binfmt_elf.c, load_elf_phdrs): beyond them nothing would run, and nothing is read.
    let headers = usize::from(header.e_phnum(endian)) * size_of::<ProgramHeader64<LittleEndian>>();
    if headers == 0 || headers > MAX_HEADERS || header.e_phnum(endian) == object::elf::PN_XNUM {
        return None;
    }
    // The crate treats offset 0 as "no headers". The kernel reads headers at offset 0, over the ELF header, and could
    // find a loader.
    if header.e_phoff(endian) == 0 {
        return None;
    }
    // The kernel takes the first PT_INTERP.
    for segment in header.program_headers(endian, data).ok()? {
        if segment.p_type(endian) == object::elf::PT_INTERP {
            if !(2..=PATH_MAX as u64).contains(&segment.p_filesz(endian)) {
                return None;
            }
            let path = segment.data(endian, data).ok()?.strip_suffix(&[0])?;
            let end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
            return Some(Image::Elf { interpreter: Some(path[..end].to_vec()) });
        }
    }
    Some(Image::Elf { interpreter: None })
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Reads the first line as fs/binfmt_script.c does; the head is padded with NUL.
fn script(head: &[u8; HEAD]) -> Image {
    let last = HEAD - 1;
    let ends_name = |byte: u8| is_blank(byte) || byte == 0;
    let mut end = match head.iter().position(|&byte| byte == b'\n') {
        Some(newline) => newline,
        // A truncated line is usable if at least the interpreter's name is complete.
        None => {
            let Some(name) = (2..last).find(|&at| !is_blank(head[at])) else { return Image::Unknown };
            if !(name..last).any(|at| ends_name(head[at])) {
                return Image::Unknown;
            }
            last
        }
    };
    while end > 2 && is_blank(head[end - 1]) {
        end -= 1;
    }
    let Some(name) = (2..end).find(|&at| !is_blank(head[at])) else { return Image::Unknown };
    let stop = (name..end).find(|&at| ends_name(head[at])).unwrap_or(end);
    let interpreter = head[name..stop].to_vec();
    let argument = if stop < end && head[stop] != 0 {
        (stop..end).find(|&at| !is_blank(head[at])).map(|start| {
            let text = &head[start..end];
            text[..text.iter().position(|&byte| byte == 0).unwrap_or(text.len())].to_vec()
        })
    } else {
        None
    };
    Image::Script { interpreter, argument }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Image {
        let mut head = [0; HEAD];
        let length = text.len().min(HEAD);
        head[..length].copy_from_slice(&text[..length]);
        script(&head)
    }

    fn script_image(interpreter: &str, argument: Option<&str>) -> Image {
        Image::Script {
            interpreter: interpreter.as_bytes().to_vec(),
            argument: argument.map(|text| text.as_bytes().to_vec()),
        }
    }

    #[test]
    fn first_lines_read_as_the_kernel_reads_them() {
        assert_eq!(parse(b"#!/bin/sh\n"), script_image("/bin/sh", None));
        assert_eq!(parse(b"#! \t/bin/sh  -e -x \t\n"), script_image("/bin/sh", Some("-e -x")));
        assert_eq!(parse(b"#!/bin/sh\r\n"), script_image("/bin/sh\r", None));
        assert_eq!(parse(b"#!/bin/sh"), script_image("/bin/sh", None));
        assert_eq!(parse(b"#!\n"), Image::Unknown);
        assert_eq!(parse(b"#!  \t \n/bin/sh\n"), Image::Unknown);
        assert_eq!(parse(b"#!/bin/sh\0-x\n"), script_image("/bin/sh", None));
    }

    #[test]
    fn a_name_that_is_cut_off_is_no_name() {
        let long = [b"#!/".as_slice(), &[b'a'; 300]].concat();
        assert_eq!(parse(&long), Image::Unknown);
        let with_argument = [b"#!/bin/sh ".as_slice(), &[b'a'; 300]].concat();
        assert!(
            matches!(parse(&with_argument), Image::Script { argument: Some(text), .. } if text.len() == 245)
        );
    }

    /// The kernel takes the second of these headers, which overlaps the number of headers, for a PT_INTERP.
    #[test]
    fn headers_over_the_header_are_refused() {
        let mut program = vec![0; 4096];
        program[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        program[18..20].copy_from_slice(&MACHINE.0.to_le_bytes());
        program[54] = 56;
        program[56] = 3;
        program[64] = 200;
        program[88] = 10;
        program[200..210].copy_from_slice(b"/tmp/evil\0");
        assert_eq!(elf(&program[..]), None);
        // With a different header offset, parsing works as usual.
        program.copy_within(56..112, 256);
        program[32] = 200;
        assert_eq!(elf(&program[..]), Some(Image::Elf { interpreter: Some(b"/tmp/evil".to_vec()) }));
    }

    #[test]
    fn own_program_has_a_loader() {
        let image = read(&File::open("/proc/self/exe").unwrap()).unwrap();
        assert!(matches!(image, Image::Elf { interpreter: Some(path) } if path.starts_with(b"/lib")));
    }
}
