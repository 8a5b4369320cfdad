//! The name by which tables know a program.

/// Returns what follows the last slash.
pub(crate) fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

/// Returns the last component in lower case, without a Windows extension: `/usr/bin/Python3` is `python3`.
pub fn program_name(token: impl AsRef<[u8]>) -> String {
    let token = token.as_ref().trim_ascii();
    let last = token.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or(token);
    let mut name = String::from_utf8_lossy(last).to_ascii_lowercase();
    for extension in [".exe", ".cmd", ".bat", ".com"] {
        if let Some(stem) = name.strip_suffix(extension) {
            name.truncate(stem.len());
            break;
        }
    }
    name
}

/// What distributions add to a program's name for another build of it (Debian: bash-static, gnuplot-nox, vim.gtk3).
const BUILDS: &[&str] = &[
    "static", "nox", "x11", "x", "qt", "gtk", "gtk2", "gtk3", "lucid", "pgtk", "motif", "tiny", "basic",
    "cli", "console",
];

/// Returns whether a program has one of these names, apart from its version, build and build target:
/// `perl5.36-x86_64-linux-gnu`, `bash-static`, and `original-awk`, as Debian calls a program that others can replace.
pub(crate) fn is_of(program: &str, names: &[&str]) -> bool {
    let own = program.strip_prefix("original-").unwrap_or(program);
    let of_build =
        own.rsplit_once(['-', '.']).filter(|(_, build)| BUILDS.contains(build)).map(|(name, _)| name);
    [Some(program), Some(own), of_build].into_iter().flatten().any(|name| is_version_of(name, names))
}

fn is_version_of(program: &str, names: &[&str]) -> bool {
    names.iter().filter_map(|name| program.strip_prefix(name)).any(|rest| {
        let version = rest.strip_prefix('-').unwrap_or(rest);
        let build = version.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        // After the version: the build target, or CPython's letters for the kind of build.
        rest.is_empty()
            || program.len() - rest.len() > 1
                && build.len() < version.len()
                && (build.starts_with('-') || build.trim_start_matches(['d', 'm', 'u', 't']).is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_a_program_is_that_program() {
        for (program, name) in [
            ("bash-static", "bash"),
            ("gnuplot5-nox", "gnuplot"),
            ("gnuplot-qt", "gnuplot"),
            ("original-awk", "awk"),
            ("octave-cli-8.4.0", "octave-cli"),
            ("vim.gtk3", "vim"),
            ("zsh5-static", "zsh"),
            ("ksh93", "ksh"),
            ("python3.11-dbg", "python"),
            ("lua5.4", "lua"),
        ] {
            assert!(is_of(program, &[name]), "{program}");
        }
        for (program, name) in [("bashful", "bash"), ("r2", "r"), ("nodeenv", "node"), ("static", "bash")] {
            assert!(!is_of(program, &[name]), "{program}");
        }
    }

    #[test]
    fn names_are_taken_from_paths() {
        assert_eq!(program_name("/usr/bin/Python3"), "python3");
        assert_eq!(program_name(r"C:\Tools\awk.EXE"), "awk");
        assert_eq!(program_name(""), "");
    }
}
