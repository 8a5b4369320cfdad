//! Suggests a pattern for a path, and measures how much a pattern covers.

use super::always::{LiteralError, literal};
use crate::compile::builtin::system::DENIED;
use crate::learn::secrets::is_named_so;
use crate::paths::exec_roots::is_below;
use crate::paths::expansion::{Bases, Expanded, expand, show};

/// The kind of object at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A file, or a path that does not exist yet.
    File,
    /// A socket, which a rule must name exactly.
    Socket,
}

/// A suggested pattern for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitting {
    /// As an operator writes it: `~/x/**`.
    pub pattern: String,
    /// Why the path may be secret: the known place of secrets that it is in, or its name.
    pub secret: Option<&'static str>,
}

/// How much a pattern covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Some paths.
    Some,
    /// Everything in the home.
    Home,
    /// Everything.
    Everything,
}

/// Directories that belong to the system, with everything below them.
const SYSTEM: [&str; 13] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
    "/var",
];

/// The exception: anybody may write here.
const TEMPORARY: &str = "/var/tmp";

/// The pattern that an operator would write for a path: its directory with everything below. If the directory is too
/// broad, the path alone: the home and above, system directories, direct children of `/`, and known places of secrets.
///
/// # Errors
/// If no pattern can name the path.
pub fn fitting(path: &[u8], object: FileKind, home: &[u8]) -> Result<Fitting, LiteralError> {
    let whole = literal(path)?;
    let directory = match object {
        FileKind::Directory => path,
        FileKind::File | FileKind::Socket => {
            &path[..path.iter().rposition(|byte| *byte == b'/').unwrap_or(0)]
        }
    };
    let secret = secrets(home).find(|(pattern, _)| covers(pattern, path)).map(|(_, written)| written);
    let is_named_so = object == FileKind::File && is_named_so(path);
    let secret = secret.or_else(|| is_named_so.then_some("a file of such a name"));
    let is_narrow = object == FileKind::Socket || secret.is_some() || is_too_much(directory, home);
    let pattern = if is_narrow { whole } else { format!("{}/**", show(directory)) };
    Ok(Fitting { pattern: tilde(&pattern, home), secret })
}

fn is_too_much(directory: &[u8], home: &[u8]) -> bool {
    let is_top = directory.iter().filter(|byte| **byte == b'/').count() < 2;
    let is_systems = SYSTEM.iter().any(|top| is_below(directory, top.as_bytes()))
        && (directory == TEMPORARY.as_bytes() || !is_below(directory, TEMPORARY.as_bytes()));
    let holds_secrets = || secrets(home).any(|(pattern, _)| is_below(&leading(&pattern), directory));
    is_top || is_systems || is_below(home, directory) || holds_secrets()
}

/// Replaces the home in a path or pattern by `~`, as an operator writes it.
pub fn tilde(pattern: &str, home: &[u8]) -> String {
    let home = show(home.strip_suffix(b"/").unwrap_or(home));
    match pattern.strip_prefix(&home) {
        Some(rest) if !home.is_empty() && (rest.is_empty() || rest.starts_with('/')) => format!("~{rest}"),
        _ => pattern.to_owned(),
    }
}

/// The built-in places of secrets.
fn secrets(home: &[u8]) -> impl Iterator<Item = (Expanded, &'static str)> {
    let all = DENIED.iter().flat_map(|list| list.split_whitespace());
    all.map(move |written| (expand(written, home), written))
}

fn covers(pattern: &Expanded, path: &[u8]) -> bool {
    let glob = pattern.glob(true);
    glob.covers(path) || glob.is_literal() && is_below(path, glob.literal())
}

/// The part before the first wildcard.
fn leading(pattern: &Expanded) -> Vec<u8> {
    pattern.glob(true).literal().to_vec()
}

/// How much a pattern covers. Tests it on names that no file has.
pub fn width<'b>(pattern: &str, bases: impl Into<Bases<'b>>) -> Coverage {
    /// Names that no file has. Covering all hidden files counts as covering all: they include secrets and settings.
    const UNKNOWN: [&[u8]; 2] = [b"\x01 a name that nobody has", b".\x01 a hidden one"];
    let bases = bases.into();
    let glob = expand(pattern, bases).glob(true);
    let covers = |top: &[u8]| {
        let top = top.strip_suffix(b"/").unwrap_or(top);
        let own = if top.is_empty() { &b"/"[..] } else { top };
        let covers_unknown = |name: &[u8]| {
            let one = [top, b"/", name].concat();
            glob.covers(&one) || glob.covers(&[&one, &b"/"[..], UNKNOWN[0]].concat())
        };
        UNKNOWN.into_iter().any(covers_unknown) || glob.is_literal() && glob.literal() == own
    };
    match () {
        () if covers(b"") => Coverage::Everything,
        () if covers(bases.home) => Coverage::Home,
        () => Coverage::Some,
    }
}

/// A path that a pattern covers.
pub fn sample<'b>(pattern: &str, bases: impl Into<Bases<'b>>) -> Vec<u8> {
    let Expanded { literal, pattern } = expand(pattern, bases);
    let mut path = literal;
    let mut rest = pattern.as_str();
    while let Some(at) = rest.find(['*', '?']) {
        path.extend(&rest.as_bytes()[..at]);
        let stars = rest[at..].bytes().take_while(|byte| *byte == b'*').count();
        // A pattern may begin with a wildcard, but a path begins with a slash.
        if path.is_empty() {
            path.push(b'/');
        }
        path.extend(b"_");
        rest = &rest[at + stars.max(1)..];
    }
    path.extend(rest.as_bytes());
    path
}

/// An argument that no expression can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an argument is not UTF-8, but an expression must be")]
pub struct ArgumentNotText;

/// An `argPattern` for exactly these arguments. (OpenClaw does not tell two empty arguments from none.)
///
/// # Errors
/// If one of them is not text.
pub fn exactly(arguments: &[Vec<u8>]) -> Result<String, ArgumentNotText> {
    let mut pattern = "^".to_owned();
    for argument in arguments {
        let text = str::from_utf8(argument).map_err(|_| ArgumentNotText)?;
        for character in text.chars() {
            if "\\^$.*+?()[]{}|/".contains(character) {
                pattern.push('\\');
            }
            pattern.push(character);
        }
        pattern.push('\0');
    }
    pattern.push_str(if arguments.is_empty() { "\0\0$" } else { "$" });
    Ok(pattern)
}
