//! Questions about files and programs: `read`, `write`, `exec`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::{Access, Exec, Policy, Request, Role, decide};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::error::QuestionError;
use crate::check::output::json;

/// `read` and `write`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    path: String,
    /// Ignored, because the path is absolute. It is accepted so that every question may carry it.
    #[serde(rename = "cwd")]
    _cwd: Option<IgnoredAny>,
}

/// `exec`. Either key may hold the program's path.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    #[serde(alias = "resolved")]
    path: String,
    argv: Option<Vec<String>>,
    cwd: Option<String>,
}

impl FileQuestion {
    pub fn answer(&self, policy: &Policy, home: &Path, access: Access) -> Result<String, QuestionError> {
        let path = cleaned(policy, home, &self.path)?;
        Ok(json(&decide(policy, &Request::File { path: &path, access })))
    }
}

impl ExecQuestion {
    pub fn answer(self, policy: &Policy, home: &Path) -> Result<String, QuestionError> {
        // Both paths stay as written: the allowlist and the directory's hash distinguish spellings.
        let path = absolute(policy, home, &self.path)?;
        let cwd = self.cwd.map_or(Ok(b"/".to_vec()), |cwd| absolute(policy, home, &cwd))?;
        let argv = match self.argv {
            Some(argv) => argv.into_iter().map(String::into_bytes).collect(),
            None => vec![path.clone()],
        };
        let request = Request::Exec(Exec { path: &path, argv: &argv, cwd: &cwd, role: Role::Program });
        Ok(json(&decide(policy, &request)))
    }
}

/// An absolute path; a leading `~` stands for the home, `${workspace}` for the workspace.
fn absolute(policy: &Policy, home: &Path, path: &str) -> Result<Vec<u8>, QuestionError> {
    let workspace = policy.workspace().map(|workspace| ("${workspace}", workspace));
    let bases = [Some(("~", home.as_os_str().as_bytes())), workspace];
    let found = bases.into_iter().flatten().find_map(|(name, base)| {
        let rest = path.strip_prefix(name).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        Some([base, rest.as_bytes()].concat())
    });
    let expanded = found.unwrap_or_else(|| path.as_bytes().to_vec());
    if expanded.first() != Some(&b'/') {
        return Err(QuestionError::NotAbsolute(path.to_owned()));
    }
    Ok(expanded)
}

/// The absolute path without `.`, `..` and repeated slashes.
fn cleaned(policy: &Policy, home: &Path, path: &str) -> Result<Vec<u8>, QuestionError> {
    let expanded = absolute(policy, home, path)?;
    let mut names: Vec<&[u8]> = Vec::new();
    for name in expanded.split(|&byte| byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    let mut clean = vec![b'/'];
    clean.extend_from_slice(&names.join(&b'/'));
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use guard_policy::{Document, Host, Overrides, Policy, Workspace};

    use super::cleaned;

    #[test]
    fn paths_are_cleaned_without_the_disk() {
        let text = r#"{"version": 1, "permissions": {"filesystem": {"rules": {"${workspace}/**": "rwx"}}}}"#;
        let document = Document::parse("", text).unwrap();
        let host = Host { workspace: Workspace::at(*b"/w"), ..Host::bare(b"/home/u", b"/w/x") };
        let policy = Policy::compile(&document, "main", &host, &Overrides::default()).unwrap();
        let of = |path: &str| {
            cleaned(&policy, "/home/u".as_ref(), path).map(|path| String::from_utf8(path).unwrap()).ok()
        };
        assert_eq!(of("${workspace}/a/../b").unwrap(), "/w/b");
        assert_eq!(of("${workspace}").unwrap(), "/w");
        assert!(of("${workspace}x").is_none());
        assert_eq!(of("~/a/./b/../c//d/").unwrap(), "/home/u/a/c/d");
        assert_eq!(of("/../..").unwrap(), "/");
        assert_eq!(of("~").unwrap(), "/home/u");
        assert!(of("~other/x").is_none());
        assert!(of("a").is_none());
    }
}
