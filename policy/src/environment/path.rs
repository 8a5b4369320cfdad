//! `exec.pathPrepend`.

use super::Variable;

/// Where execvp(3) looks when there is no PATH.
const WITHOUT_PATH: &[u8] = b"/bin:/usr/bin";

/// The environment with directories before those of `PATH`.
pub fn prepended(mut env: Vec<Variable>, directories: &[Vec<u8>]) -> Vec<Variable> {
    if directories.is_empty() {
        return env;
    }
    let before = directories.join(&b':');
    let with = |path: &[u8]| [&before, path].join(&b':');
    match env.iter_mut().find(|(name, _)| name == b"PATH") {
        Some((_, path)) => *path = with(path),
        None => env.push((b"PATH".to_vec(), with(WITHOUT_PATH))),
    }
    env
}

#[cfg(test)]
mod tests {
    use super::prepended;

    #[test]
    fn directories_come_before_those_of_path() {
        let path = |value: &[u8]| vec![(b"PATH".to_vec(), value.to_vec())];
        let directories = [b"/a".to_vec(), b"/b \xff".to_vec()];
        assert_eq!(prepended(path(b"/bin"), &directories), path(b"/a:/b \xff:/bin"));
        assert_eq!(prepended(Vec::new(), &directories), path(b"/a:/b \xff:/bin:/usr/bin"));
        assert_eq!(prepended(Vec::new(), &[]), Vec::new());
        // An empty PATH means the current directory, as it did before.
        assert_eq!(prepended(path(b""), &directories[..1]), path(b"/a:"));
    }
}
