//! Names that begin with a tilde. Some programs put a home directory in its place themselves: make, tclsh, gdb, vim, and bash for
//! `--rcfile`.

/// Where a tilde leads.
pub struct HomeNames<'a> {
    /// The environment of the program that starts.
    pub environment: &'a [Vec<u8>],
    /// The home of this user.
    pub home: &'a [u8],
}

impl HomeNames<'_> {
    /// The names with a home in place of `~`.
    pub fn own<'w>(&self, names: impl IntoIterator<Item = &'w Vec<u8>>) -> Vec<Vec<u8>> {
        let variable = self.environment.iter().find_map(|variable| variable.strip_prefix(b"HOME="));
        let homes = [variable.unwrap_or_default(), self.home];
        let rests = names.into_iter().filter_map(|name| name.strip_prefix(b"~"));
        let mut found: Vec<Vec<u8>> = rests
            .filter(|rest| rest.starts_with(b"/"))
            .flat_map(|rest| homes.map(|home| [home, rest].concat()))
            .collect();
        found.dedup();
        found
    }
}

/// Whether a name begins with the home of another user, which only the program looks up: `~user/x`.
pub fn is_others(name: &[u8]) -> bool {
    name.strip_prefix(b"~").is_some_and(|rest| !rest.starts_with(b"/") && rest.contains(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_a_home() {
        let home = HomeNames { environment: &[b"X=1".to_vec(), b"HOME=/h".to_vec()], home: b"/u" };
        let names = [&b"~/x"[..], b"~", b"~u/x", b"a~/x"].map(<[u8]>::to_vec);
        assert!(home.own(&names).contains(&b"/h/x".to_vec()));
        assert!(home.own(&names[1..]).is_empty());
        assert_eq!(names.map(|name| is_others(&name)), [false, false, true, false]);
    }
}
