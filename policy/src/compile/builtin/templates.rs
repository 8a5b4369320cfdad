//! What the built-in policy knows about a usual machine, as patterns for generated policies.

use super::policy::toolchains;
use super::system::RULES;
pub use super::system::{quiet, secrets};
use crate::compile::modes::default_modes;
use crate::paths::exec_roots::is_below;
use crate::paths::expansion;
use crate::paths::expansion::expand;
use crate::{Grant, Host, Overrides, Permission};

/// Returns the places of programs on this host that the built-in policy lets run but not write: the system's,
/// the toolchains below the home, and the directories of `PATH` with their surroundings. Only those that
/// exist (`host.realpath`), are not below another one, and can be named by a pattern.
pub fn programs(host: &Host) -> Vec<String> {
    let listed = RULES
        .iter()
        .filter(|(permission, _)| Permission::parse(permission).is_some_and(|p| p.0.x == Grant::Yes))
        .flat_map(|(_, list)| list.split_whitespace().map(str::to_owned));
    let modes = default_modes("main", host, &Overrides::default());
    let detected = toolchains(host, &modes);
    let detected = detected.iter().filter_map(|dir| hierarchy(dir, host.home));
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for pattern in listed.chain(detected) {
        let Some(directory) = pattern.strip_suffix("/**") else { continue };
        let directory = expand(directory, host.home);
        let directory = [&directory.literal, directory.pattern.as_bytes()].concat();
        let Some(real) = (host.realpath)(&directory) else { continue };
        if !found.iter().any(|(_, other)| is_below(&real, other)) {
            found.push((pattern, real));
        }
    }
    found.into_iter().map(|(pattern, _)| pattern).collect()
}

/// Returns whether a directory that `TMPDIR` names can be one for temporary files, which the built-in and the
/// generated policies make writable: it must contain neither the home, nor programs, nor secrets.
pub fn may_be_temporary(dir: &[u8], home: &[u8]) -> bool {
    let listed = RULES
        .iter()
        .filter(|(permission, _)| Permission::parse(permission).is_some_and(|p| p.0.x == Grant::Yes))
        .flat_map(|(_, list)| list.split_whitespace());
    !is_below(home, dir) && !holds(dir, home, listed.chain(secrets()))
}

/// Returns a place of secrets in this directory. `None` if there is none, or if the directory itself is such a place,
/// which is denied as a whole.
pub fn secret_in(dir: &[u8], home: &[u8]) -> Option<&'static str> {
    let is_in = |secret: &&str| holds(dir, home, std::iter::once(*secret));
    let is_it = |secret: &&str| expand(secret, home).glob(true).literal() == dir;
    if secrets().any(|secret| is_it(&secret)) { None } else { secrets().find(is_in) }
}

fn holds<'p>(dir: &[u8], home: &[u8], mut patterns: impl Iterator<Item = &'p str>) -> bool {
    patterns.any(|pattern| is_below(expand(pattern, home).glob(true).literal(), dir))
}

/// Returns the pattern of a directory and everything below it, with `~` for the home. `None` if the directory's name
/// contains a wildcard or is not UTF-8, because no pattern matches only this directory then.
pub fn hierarchy(dir: &[u8], home: &[u8]) -> Option<String> {
    let written = match dir.strip_prefix(home) {
        Some(rest) if home.len() > 1 && is_below(dir, home) => [b"~", rest].concat(),
        _ => dir.strip_suffix(b"/").unwrap_or(dir).to_vec(),
    };
    let pattern = String::from_utf8(written).ok().filter(|dir| !dir.contains(['*', '?']))? + "/**";
    expansion::problem(&pattern).is_none().then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_existing_paths_are_listed_and_once() {
        let real = |path: &[u8]| match path {
            b"/usr" | b"/home/u/.cargo/bin" | b"/srv/node" | b"/odd*" => Some(path.to_vec()),
            b"/srv/a/node_modules" | b"/srv/b/.bin" => Some(path.to_vec()),
            b"/bin" => Some(b"/usr/bin".to_vec()),
            _ => None,
        };
        let host = Host {
            path_dirs: [
                "/usr/bin",
                "/srv/node/bin",
                "/odd*/bin",
                "/srv/a/node_modules/.bin",
                "/srv/b/.bin",
                "/gone/bin",
                "/home/u/work/bin",
                "/home/u/.cargo/bin",
            ]
            .map(|dir| dir.as_bytes().to_vec())
            .to_vec(),
            realpath: &real,
            ..Host::bare(b"/home/u", b"/home/u/work")
        };
        assert_eq!(
            programs(&host),
            ["/usr/**", "~/.cargo/bin/**", "/srv/a/node_modules/**", "/srv/b/.bin/**", "/srv/node/**"]
        );
    }

    #[test]
    fn a_directory_has_one_pattern_or_none() {
        let of = |dir: &str| hierarchy(dir.as_bytes(), b"/home/u");
        assert_eq!(of("/home/u/a b").as_deref(), Some("~/a b/**"));
        assert_eq!(of("/home/uu/").as_deref(), Some("/home/uu/**"));
        for none in ["/a*", "/a?b", "relative"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(hierarchy(b"/a\xff", b"/home/u"), None);
        assert_eq!(hierarchy(b"/root/x", b"/").as_deref(), Some("/root/x/**"));
    }

    #[test]
    fn a_directory_of_others_is_not_for_temporary_files() {
        let may = |dir: &str| may_be_temporary(dir.as_bytes(), b"/home/u");
        for dir in ["/tmp/a", "/var/tmp/x", "/home/u/tmp", "/home/u/.cache/tmp", "/build", "/run/user/1000"] {
            assert!(may(dir), "{dir}");
        }
        for dir in
            ["/", "/home", "/home/u", "/home/u/.config", "/home/u/.ssh", "/etc", "/usr", "/home/u/.cargo"]
        {
            assert!(!may(dir), "{dir}");
        }
        assert!(secret_in(b"/home/u/.config", b"/home/u").is_some());
        for dir in ["/home/u/work", "/home/u/.ssh", "/srv/app", "/home/u/.config/app", "/home/v/work"] {
            assert_eq!(secret_in(dir.as_bytes(), b"/home/u"), None, "{dir}");
        }
    }

    #[test]
    fn secrets_are_patterns() {
        assert!(secrets().any(|pattern| pattern == "~/.ssh"));
        assert!(secrets().all(|pattern| expansion::problem(pattern).is_none()));
    }
}
