//! Inputs from which a program runs code. An approval cannot bind their content, because the program reads them later.

use guard_policy::analysis::InputKind;
use guard_policy::text::counted;

use crate::digest::Digest;

/// An input that a program runs code from. Calls are equal only if their inputs are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodeInput {
    /// Where the program finds it.
    pub source: InputSource,
    /// What it is.
    pub kind: InputKind,
    /// The real path, or the kernel's text with the inode number of an object without one (`pipe:[12]`).
    pub path: Vec<u8>,
    /// The digest of the file's content at the time of the question. `None` if the input is not a file, or if the file
    /// cannot be read or is too long.
    pub sha256: Option<Digest>,
}

/// Where a program finds an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InputSource {
    /// Descriptor 0.
    StandardInput,
    /// The path that an argument names, made absolute but otherwise as written: `/dev/fd/63`. Or the option that names
    /// a module: `-m pytest`.
    Argument(Vec<u8>),
    /// This many arguments: too many to show them one by one.
    Arguments(usize),
}

impl CodeInput {
    /// Returns the text that a human reads: `code from standard input: a pipe`. Other bytes than UTF-8 are replaced; control
    /// characters stay.
    pub fn text(&self) -> String {
        let path = String::from_utf8_lossy(&self.path);
        let is_named = self.path.starts_with(b"/");
        let source = match &self.source {
            InputSource::StandardInput => "standard input".into(),
            InputSource::Argument(written) => String::from_utf8_lossy(written),
            InputSource::Arguments(count) => return more(*count),
        };
        let what = match self.kind {
            InputKind::Terminal => format!("the terminal {path}"),
            InputKind::File => format!("the file {path}, as it is when it is read"),
            InputKind::Pipe if is_named => format!("the pipe {path}"),
            InputKind::Pipe => "a pipe".to_owned(),
            InputKind::Module => format!("the module {path}, wherever the program finds it"),
            InputKind::Directory => format!("the directory {path}, as it is when it is read"),
            InputKind::NamedTerminal => format!("the terminal {path}; what comes from it is not shown"),
            InputKind::Other | InputKind::MoreFiles => path.into_owned(),
        };
        format!("code from {source}: {what}")
    }

    /// Returns the notice for a card's first lines, if something runs that nobody is shown.
    pub fn notice(&self) -> Option<String> {
        match (&self.source, self.kind) {
            (InputSource::Arguments(count), _) => Some(more(*count)),
            (_, InputKind::NamedTerminal) => {
                let path = String::from_utf8_lossy(&self.path);
                Some(format!("its code comes from the terminal {path}; not shown"))
            }
            _ => None,
        }
    }

    /// The parts of this input, for a digest.
    pub(crate) fn parts(&self) -> [Vec<u8>; 4] {
        let source = match &self.source {
            InputSource::StandardInput => Vec::new(),
            InputSource::Argument(written) => written.clone(),
            // No absolute path begins with a digit.
            InputSource::Arguments(count) => count.to_string().into_bytes(),
        };
        let sha256 = self.sha256.map_or_else(Vec::new, |digest| digest.0.to_vec());
        [source, vec![self.kind as u8], self.path.clone(), sha256]
    }
}

fn more(count: usize) -> String {
    let files = counted(count, "more file");
    format!("{files} among its arguments may run, neither shown one by one nor held")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_human_is_told_where_the_code_comes_from() {
        let of = |source: &str, kind, path: &str| {
            let source = match source {
                "" => InputSource::StandardInput,
                written => InputSource::Argument(written.into()),
            };
            CodeInput { source, kind, path: path.into(), sha256: None }.text()
        };
        for (source, kind, path, text) in [
            ("", InputKind::Pipe, "pipe:[12]", "code from standard input: a pipe"),
            ("", InputKind::Pipe, "/w/fifo", "code from standard input: the pipe /w/fifo"),
            ("", InputKind::Terminal, "/dev/pts/3", "code from standard input: the terminal /dev/pts/3"),
            ("", InputKind::Other, "socket:[3]", "code from standard input: socket:[3]"),
            (
                "",
                InputKind::File,
                "/w/x",
                "code from standard input: the file /w/x, as it is when it is read",
            ),
            (
                "/w/tty",
                InputKind::NamedTerminal,
                "/dev/pts/5",
                "code from /w/tty: the terminal /dev/pts/5; what comes from it is not shown",
            ),
            ("/dev/fd/63", InputKind::Pipe, "pipe:[12]", "code from /dev/fd/63: a pipe"),
            (
                "-m pytest",
                InputKind::Module,
                "pytest",
                "code from -m pytest: the module pytest, wherever the program finds it",
            ),
        ] {
            assert_eq!(of(source, kind, path), text);
        }
    }
}
