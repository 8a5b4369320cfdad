//! Questions about files and programs: `read`, `write`, `exec`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::{Access, Exec, Policy, Request, Role, decide};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::check::output::json;

/// `read` and `write`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileQuestion {
    #[serde(rename = "op")]
    _op: IgnoredAny,
    path: String,
    /// Ignored: accepted so that every question may carry it. The path is absolute.
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
    pub fn answer(&self, policy: &Policy, home: &Path, access: Access) -> Result<String, String> {
        let path = cleaned(home, &self.path)?;
        Ok(json(&decide(policy, &Request::File { path: &path, access })))
    }
}

impl ExecQuestion {
    pub fn answer(self, policy: &Policy, home: &Path) -> Result<String, String> {
        // As written: the allowlist and the directory's hash distinguish spellings.
        let path = absolute(home, &self.path)?;
        let cwd = self.cwd.map_or(Ok(b"/".to_vec()), |cwd| absolute(home, &cwd))?;
        let argv = match self.argv {
            Some(argv) => argv.into_iter().map(String::into_bytes).collect(),
            None => vec![path.clone()],
        };
        let request = Request::Exec(Exec { path: &path, argv: &argv, cwd: &cwd, role: Role::Program });
        Ok(json(&decide(policy, &request)))
    }
}

/// An absolute path; a leading `~` stands for the home.
fn absolute(home: &Path, path: &str) -> Result<Vec<u8>, String> {
    let expanded = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            [home.as_os_str().as_bytes(), rest.as_bytes()].concat()
        }
        _ => path.as_bytes().to_vec(),
    };
    if expanded.first() != Some(&b'/') {
        return Err(format!("{path:?} is not an absolute path"));
    }
    Ok(expanded)
}

/// The absolute path without `.`, `..` and repeated slashes.
fn cleaned(home: &Path, path: &str) -> Result<Vec<u8>, String> {
    let expanded = absolute(home, path)?;
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
    use super::cleaned;

    #[test]
    fn paths_are_cleaned_without_the_disk() {
        let of = |path: &str| cleaned("/home/u".as_ref(), path).map(|path| String::from_utf8(path).unwrap());
        assert_eq!(of("~/a/./b/../c//d/"), Ok("/home/u/a/c/d".to_owned()));
        assert_eq!(of("/../.."), Ok("/".to_owned()));
        assert_eq!(of("~"), Ok("/home/u".to_owned()));
        assert!(of("~other/x").is_err());
        assert!(of("a").is_err());
    }
}
