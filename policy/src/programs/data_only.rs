//! Programs that read the files among their arguments, and their input, as data only.
//!
//! Of any other program nothing is known: a file that it is given may be a program to it.

use super::name::{is_of, program_name};
use super::reads_programs::is_short_for;
use super::safe_bins::names_modules;

/// Programs of GNU coreutils, util-linux, diffutils, binutils and others that look at files, copy or pack them: whatever a
/// file contains, they do the same with it. Programs that start others are not among them.
const DATA_ONLY: &[&str] = &[
    // coreutils
    "[",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "basenc",
    "cat",
    "chgrp",
    "chmod",
    "chown",
    "cksum",
    "comm",
    "cp",
    "csplit",
    "cut",
    "date",
    "dd",
    "df",
    "dir",
    "dircolors",
    "dirname",
    "du",
    "echo",
    "expand",
    "expr",
    "factor",
    "false",
    "fmt",
    "fold",
    "groups",
    "head",
    "hostid",
    "id",
    "install",
    "join",
    "link",
    "ln",
    "logname",
    "ls",
    "md5sum",
    "mkdir",
    "mkfifo",
    "mknod",
    "mktemp",
    "mv",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "pathchk",
    "pinky",
    "pr",
    "printenv",
    "printf",
    "ptx",
    "pwd",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shred",
    "shuf",
    "sleep",
    "sort",
    "stat",
    "stty",
    "sum",
    "sync",
    "tac",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "truncate",
    "tsort",
    "tty",
    "uname",
    "unexpand",
    "uniq",
    "unlink",
    "users",
    "vdir",
    "wc",
    "who",
    "whoami",
    "yes",
    // grep, diffutils, and what searches
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ugrep",
    "cmp",
    "diff",
    "diff3",
    "locate",
    "which",
    "whereis",
    // util-linux, bsdextrautils, and what shows
    "cal",
    "col",
    "colrm",
    "column",
    "hd",
    "hexdump",
    "look",
    "more",
    "less",
    "rev",
    "ul",
    "xxd",
    "bat",
    "batcat",
    "tree",
    "exa",
    "eza",
    "lsd",
    "file",
    "tokei",
    "hostname",
    "uptime",
    "free",
    "ps",
    "pgrep",
    "lsof",
    // binutils
    "addr2line",
    "ar",
    "c++filt",
    "nm",
    "objdump",
    "ranlib",
    "readelf",
    "size",
    "strings",
    "strip",
    // archives
    "bzip2",
    "bunzip2",
    "bzcat",
    "cpio",
    "gzip",
    "gunzip",
    "lz4",
    "lzma",
    "tar",
    "unxz",
    "unzip",
    "unzstd",
    "xz",
    "xzcat",
    "zcat",
    "zip",
    "zipinfo",
    "zstd",
    "zstdcat",
    // others: git's configuration is judged where it is written, and jq's programs and curl's settings from a file are
    // looked for by READS_A_FILE.
    "git",
    "jq",
    "curl",
    "wget",
    "pdftotext",
    "pdfinfo",
    "xmllint",
];

/// Options by which these programs read a file that says what they do: tar(1), curl(1), wget(1), jq(1).
const READS_A_FILE: &[(&[&str], &[&str])] = &[
    (&["tar"], &["-T", "--files-from", "--to-command", "-I", "--use-compress-program"]),
    (&["curl"], &["-K", "--config", "--engine"]),
    (&["wget"], &["--config"]),
    (&["jq"], &["-f", "--from-file", "-L", "--library-path"]),
];

/// Returns whether a program at this path, with these arguments, treats every file as data.
pub(crate) fn is_data_only(path: &[u8], arguments: &[Vec<u8>]) -> bool {
    let program = program_name(path);
    let has_option = |option: &str| {
        let letter = option.strip_prefix('-').filter(|rest| rest.len() == 1).map(str::as_bytes);
        arguments.iter().any(|word| match (letter, &word[..]) {
            (Some(letter), [b'-', rest @ ..]) => !rest.starts_with(b"-") && rest.contains(&letter[0]),
            (Some(_), _) => false,
            // `--file` is another option of tar's.
            (None, word) => {
                word.starts_with(option.as_bytes())
                    || is_short_for(word, option) && !is_named(word, b"--file")
            }
        })
    };
    // jq(1), "Modules": a filter may name a file.
    let has_modules = || is_of(&program, &["jq"]) && arguments.iter().any(|word| names_modules(word));
    let reads = READS_A_FILE.iter().find(|(names, _)| is_of(&program, names));
    is_of(&program, DATA_ONLY)
        && !reads.is_some_and(|(_, options)| options.iter().any(|option| has_option(option)))
        && !has_modules()
}

/// Whether an argument is this option, with or without a value.
fn is_named(argument: &[u8], option: &[u8]) -> bool {
    argument.strip_prefix(option).is_some_and(|rest| matches!(rest, [] | [b'=', ..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_programs_read_data() {
        let is_data = |line: &str| {
            let words: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            is_data_only(&words[0], &words[1..])
        };
        for line in [
            "/usr/bin/cat x",
            "/usr/bin/grep -f x y",
            "ls",
            "cp a b",
            "tar -xf x.tar",
            "tar -x --file=x",
            "jq .x y",
            "jq .import",
            "git log",
        ] {
            assert!(is_data(line), "{line}");
        }
        for line in [
            "mujs x",
            "tar -cTx",
            "tar --files-from=x",
            "curl -sKx",
            "curl --confi x",
            "tar --files-f x",
            "jq include",
            "curl --engine ./x.so https://a.test",
            "jq -nf x",
            "env",
            "bash",
            "sed p",
            "node x",
        ] {
            assert!(!is_data(line), "{line}");
        }
    }
}
