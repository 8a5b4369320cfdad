//! Finds the script in an interpreter's arguments: an approval is bound to this file too.

use super::inline_eval::{inline_eval_of, is_interpreter};
use super::name::program_name;
use super::starters::is_shell;

/// Options of common interpreters that take the next argument as a value, which is not the script.
const VALUED: [&[u8]; 10] =
    [b"-W", b"-X", b"-r", b"--require", b"--import", b"--loader", b"-o", b"-O", b"--rcfile", b"--init-file"];
/// Options after which no script file follows: the program is a module, code or standard input.
const FILELESS: [&[u8]; 4] = [b"-", b"-m", b"-c", b"-s"];

/// Returns the index in `argv` of the file that the program at `path` would run. This is a guess:
/// interpreters accept scripts in more forms than it knows. The result never allows anything.
pub fn script_operand(path: &[u8], argv: &[Vec<u8>]) -> Option<usize> {
    let arguments = argv.get(1..)?;
    let is_shell = is_shell(path);
    if !(is_shell || is_interpreter(path)) || inline_eval_of(path, arguments).is_some() {
        return None;
    }
    // The first operand of these is not a script file.
    if matches!(&*program_name(path), "find" | "xargs" | "make" | "awk" | "gawk" | "mawk" | "sed") {
        return None;
    }
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        match &argument[..] {
            option if FILELESS.contains(&option) => return None,
            b"--" => return (at + 1 < arguments.len()).then_some(at + 2),
            option if VALUED.contains(&option) => at += 2,
            // A shell's options may be combined: `-ec`.
            [b'-', flags @ ..] if is_shell && !flags.starts_with(b"-") && flags.contains(&b'c') => {
                return None;
            }
            option if option.starts_with(b"-") => at += 1,
            _ => return Some(at + 1),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(line: &str) -> Option<&str> {
        let words: Vec<&str> = line.split(' ').collect();
        let argv: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        script_operand(words[0].as_bytes(), &argv).map(|at| words[at])
    }

    #[test]
    fn the_first_operand_is_the_script() {
        for (line, expected) in [
            ("/usr/bin/python3 tool.py a b", "tool.py"),
            ("/usr/bin/python3.12 -u -W ignore tool.py", "tool.py"),
            ("/usr/bin/node --require ./pre.js main.js", "main.js"),
            ("/bin/bash -x -o pipefail build.sh", "build.sh"),
            ("/usr/bin/perl -- -odd", "-odd"),
        ] {
            assert_eq!(script(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn without_a_file_there_is_none() {
        for line in [
            "/usr/bin/python3",
            "/usr/bin/python3 -m http.server",
            "/usr/bin/python3 -c x tool.py",
            "/usr/bin/python3 - tool.py",
            "/bin/bash -ec x",
            "/bin/bash -s x",
            "/usr/bin/curl file",
            "/usr/bin/make all",
            "/usr/bin/perl --",
        ] {
            assert_eq!(script(line), None, "{line}");
        }
    }
}
