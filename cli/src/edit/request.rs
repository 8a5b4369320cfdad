//! Turns the operator's words into rules and allowlist entries.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use guard_policy::remedy::{ArgumentNotText, Coverage, exactly, sample, tilde, width};
use guard_policy::text::shown;
use guard_policy::{Access, Bits, Policy, Role};
use guard_supervisor::config::realpath::Links;
use guard_supervisor::config::{Paths, environment};

use super::query::{PathQuery, starts};
use crate::check::lookup;

/// Why the operator's words cannot be written as a rule.
#[derive(Debug, thiserror::Error)]
pub enum EditRequestError {
    #[error("{}: a pattern must be UTF-8", shown(.0.as_bytes()))]
    NoText(OsString),
    #[error("{}: {why}", shown(pattern.as_bytes()))]
    NoPattern { pattern: String, why: &'static str },
    #[error("{}: {error}", shown(words.as_bytes()))]
    NoExpression {
        words: String,
        #[source]
        error: ArgumentNotText,
    },
    #[error(
        "{} is too wide: it covers every file that will ever be in {area}. Name the files that are needed, or give --force",
        shown(pattern.as_bytes())
    )]
    TooWide { pattern: String, area: &'static str },
    #[error("{}: there is no workspace here: run the command in a project's directory", shown(.0.as_bytes()))]
    NoWorkspace(String),
    #[error("{}: command not found; name the program by its path", shown(.0.as_bytes()))]
    NotFound(OsString),
}

/// Whether a pattern may cover everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Refuses a pattern that covers a whole home or system.
    Sensible,
    /// `--force`
    None,
}

/// One question whose verdict is to change, and the rule that changes it.
#[derive(Clone, Debug)]
pub struct Need {
    /// The question.
    pub part: PathQuery,
    /// The pattern of the rule.
    pub rule: String,
    /// The rule's bits that matter.
    pub bits: Bits,
    /// An allowlist entry, for a program that needs one.
    pub entry: Option<EntryRequest>,
}

/// An entry of an allowlist.
#[derive(Clone, Debug)]
pub struct EntryRequest {
    /// The program.
    pub pattern: String,
    /// An expression that the arguments must match.
    pub arguments: Option<String>,
}

/// The parsed request.
#[derive(Clone, Debug, Default)]
pub struct EditRequest {
    /// Every question.
    pub needs: Vec<Need>,
    /// Notes on words that could be read in other ways.
    pub notes: Vec<String>,
    /// The paths that led elsewhere.
    pub led: Vec<Led>,
}

/// A path with a symbolic link on it. It is resolved once, so that the rule is for the path that is judged,
/// whatever a guarded program puts there meanwhile.
#[derive(Clone, Debug)]
pub struct Led {
    /// The path as it was named.
    pub named: PathBuf,
    /// The links on the way, by their real paths.
    pub links: Vec<PathBuf>,
    /// The path that it leads to.
    pub real: PathBuf,
}

/// A word, as a pattern.
struct Meant {
    pattern: String,
    /// The real path, if the word has no wildcard.
    literal: Option<PathBuf>,
}

impl EditRequest {
    /// Adds files of these patterns, with this access and these bits.
    ///
    /// # Errors
    /// When a word is not a pattern, or covers too much.
    pub fn files(
        words: &[OsString],
        access: Access,
        bits: Bits,
        paths: &Paths,
        limit: Limit,
    ) -> Result<EditRequest, EditRequestError> {
        let mut request = EditRequest::default();
        for word in words {
            let rule = request.pattern(word, paths)?.pattern;
            check(&rule, paths, limit)?;
            let path = sample(&rule, paths.bases());
            let is_socket = |path: &[u8]| {
                let found = Path::new(OsStr::from_bytes(path)).symlink_metadata();
                found.is_ok_and(|metadata| metadata.file_type().is_socket())
            };
            let part = match access.contains(Access::WRITE) && is_socket(&path) {
                true => PathQuery::Socket { path },
                false => PathQuery::File { path, access },
            };
            request.needs.push(Need { part, rule, bits, entry: None });
        }
        Ok(request)
    }

    /// Adds programs by name, path or pattern, with any arguments.
    ///
    /// # Errors
    /// When a word is not a pattern, covers too much, or names no program.
    pub fn programs(
        words: &[OsString],
        bits: Bits,
        policy: &Policy,
        paths: &Paths,
        limit: Limit,
    ) -> Result<EditRequest, EditRequestError> {
        let mut request = EditRequest::default();
        for word in words {
            let is_name = !word.as_bytes().iter().any(|byte| b"/*?~".contains(byte));
            let word = if is_name { find(word, policy, paths)?.into_os_string() } else { word.clone() };
            let Meant { pattern, literal } = request.pattern(&word, paths)?;
            match literal.filter(|path| path.is_file()) {
                Some(path) => request.program(&path, vec![word.as_bytes().to_vec()], None, bits, paths),
                None => {
                    check(&pattern, paths, limit)?;
                    let path = sample(&pattern, paths.bases());
                    let argv = vec![path.clone()];
                    let cwd = paths.cwd.as_os_str().as_bytes().to_vec();
                    let part = PathQuery::Start { path, argv, cwd, role: Role::Program };
                    let entry = Some(EntryRequest { pattern: pattern.clone(), arguments: None });
                    request.needs.push(Need { part, rule: pattern, bits, entry });
                }
            }
        }
        Ok(request)
    }

    /// Adds a program with exactly these arguments.
    ///
    /// # Errors
    /// When there is no such program, or its arguments cannot be expressed.
    pub fn command(
        words: &[OsString],
        bits: Bits,
        policy: &Policy,
        paths: &Paths,
    ) -> Result<EditRequest, EditRequestError> {
        let mut request = EditRequest::default();
        let name = words.first().cloned().unwrap_or_default();
        let program = find(&name, policy, paths)?;
        let program = request.led(&program);
        let argv: Vec<_> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let arguments = exactly(&argv[1..]).map_err(|error| EditRequestError::NoExpression {
            words: String::from_utf8_lossy(&argv.join(&b' ')).into_owned(),
            error,
        })?;
        request.program(&program, argv, Some(arguments), bits, paths);
        Ok(request)
    }

    /// Adds all files of a program's start, by its real path.
    pub fn program(
        &mut self,
        program: &Path,
        argv: Vec<Vec<u8>>,
        arguments: Option<String>,
        bits: Bits,
        paths: &Paths,
    ) {
        for part in starts(program, argv, &paths.cwd) {
            let PathQuery::Start { path, argv, role, .. } = &part else { continue };
            let pattern = tilde(&String::from_utf8_lossy(path), home(paths));
            let arguments = match role {
                Role::Program => arguments.clone(),
                // The arguments must contain the script, and may contain others. So other scripts stay denied.
                Role::Interpreter => interprets(argv, program),
                Role::Loader => None,
            };
            let entry = part.needs_entry().then(|| EntryRequest { pattern: pattern.clone(), arguments });
            self.needs.push(Need { part, rule: pattern, bits, entry });
        }
    }

    fn pattern(&mut self, word: &OsStr, paths: &Paths) -> Result<Meant, EditRequestError> {
        let text = word.to_str().ok_or_else(|| EditRequestError::NoText(word.to_owned()))?;
        let wrong = |why: &'static str| EditRequestError::NoPattern { pattern: text.to_owned(), why };
        if text.is_empty() {
            return Err(wrong("the pattern is empty"));
        }
        // The pattern covers every path, or is another user's home; writing the rule reports the error.
        if text.starts_with("**") || text.starts_with('~') && text != "~" && !text.starts_with("~/") {
            return Ok(Meant { pattern: text.to_owned(), literal: None });
        }
        if let Some(rest) = text.strip_prefix("${workspace}").filter(|rest| is_path(rest)) {
            return self.of_workspace(text, rest, paths);
        }
        let path = match text.strip_prefix('~') {
            Some(rest) => format!("{}{rest}", paths.home.display()),
            None => paths.cwd.join(text).to_string_lossy().into_owned(),
        };
        // The part before the first wildcard is a path. It is resolved, because rules are about real paths.
        let own = text.strip_prefix('~').unwrap_or(text);
        let wild = own.find(['*', '?']).map(|at| path.len() - own.len() + at);
        let split = match wild {
            Some(at) => path[..at].rfind('/').unwrap_or(0),
            None => path.len(),
        };
        let (leading, rest) = path.split_at(split);
        let leading = if leading.is_empty() { "/" } else { leading };
        let is_directory = wild.is_none() && path.ends_with('/') && path != "/";
        let led = self.led(Path::new(leading));
        let real = led.to_str().ok_or_else(|| EditRequestError::NoText(led.clone().into_os_string()))?;
        if real.strip_prefix(&*paths.home.to_string_lossy()).unwrap_or(real).contains(['*', '?']) {
            return Err(wrong("its path contains * or ?, which are wildcards in a pattern"));
        }
        let whole = format!("{}{rest}", if rest.is_empty() { real } else { real.trim_end_matches('/') });
        let mut pattern = tilde(&whole, home(paths));
        if wild.is_none() && (led.is_dir() || is_directory) {
            pattern = format!("{}/**", pattern.trim_end_matches('/'));
            self.notes.push(format!(
                "{} is a directory: the rule covers all of it, {pattern}",
                shown(text.as_bytes())
            ));
            return Ok(Meant { pattern, literal: None });
        }
        let literal = wild.is_none().then_some(led);
        Ok(Meant { pattern, literal })
    }

    /// Keeps a word that begins with `${workspace}` as a pattern: the rule is for every project.
    fn of_workspace(&mut self, text: &str, rest: &str, paths: &Paths) -> Result<Meant, EditRequestError> {
        let Some(workspace) = paths.bases().workspace else {
            return Err(EditRequestError::NoWorkspace(text.to_owned()));
        };
        let path = [workspace, rest.as_bytes()].concat();
        let is_directory = rest.ends_with('/') || Path::new(OsStr::from_bytes(&path)).is_dir();
        if rest.contains(['*', '?']) || !is_directory {
            return Ok(Meant { pattern: text.to_owned(), literal: None });
        }
        let pattern = format!("{}/**", text.trim_end_matches('/'));
        let text = shown(text.as_bytes());
        self.notes.push(format!("{text} is a directory: the rule covers all of it, {pattern}"));
        Ok(Meant { pattern, literal: None })
    }

    /// Resolves a path, and notes when links lead elsewhere.
    fn led(&mut self, path: &Path) -> PathBuf {
        let plain: PathBuf = path.components().collect();
        let of_bytes = |path| PathBuf::from(OsString::from_vec(path));
        let mut links: Vec<_> =
            Links::default().trail(plain.as_os_str().as_bytes()).into_iter().map(of_bytes).collect();
        let real = links.pop().unwrap_or_else(|| plain.clone());
        if real != plain || !links.is_empty() {
            let [from, to] = [&plain, &real].map(|path| shown(path.as_os_str().as_bytes()));
            self.notes.push(format!("the real path of {from} is {to}, and rules are for real paths"));
            self.led.push(Led { named: plain, links, real: real.clone() });
        }
        real
    }
}

/// An expression for the arguments of an interpreter that runs this script.
fn interprets(argv: &[Vec<u8>], script: &Path) -> Option<String> {
    let name = script.file_name()?.as_bytes();
    let at = argv
        .iter()
        .skip(1)
        .position(|argument| argument.rsplit(|byte| *byte == b'/').next() == Some(name))?;
    let one = |argument: &[u8]| Some(exactly(&[argument.to_vec()]).ok()?.trim_matches(['^', '$']).to_owned());
    let before = argv[1..=at].iter().map(|argument| one(argument)).collect::<Option<String>>()?;
    // The expression matches every way to call the script: by name from PATH, or by any path.
    Some(format!("^{before}([^\0]*\\/)?{}", one(name)?))
}

/// Finds the program as the guarded command would.
fn find(name: &OsStr, policy: &Policy, paths: &Paths) -> Result<PathBuf, EditRequestError> {
    let env = environment::of_command(policy, &paths.state_directory).env;
    lookup::program(name, &env, &paths.cwd).ok_or_else(|| EditRequestError::NotFound(name.to_owned()))
}

/// Whether `rest` can follow a directory in a pattern.
fn is_path(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

fn home(paths: &Paths) -> &[u8] {
    paths.home.as_os_str().as_bytes()
}

fn check(pattern: &str, paths: &Paths, limit: Limit) -> Result<(), EditRequestError> {
    let area = match width(pattern, paths.bases()) {
        _ if limit == Limit::None => return Ok(()),
        Coverage::Some => return Ok(()),
        Coverage::Home => "the home directory",
        Coverage::Everything => "the root directory",
    };
    Err(EditRequestError::TooWide { pattern: pattern.to_owned(), area })
}
