//! The hosts of package registries, by a name: `@npm` in `network.web.allowedDomains` stands for them.

use std::collections::BTreeSet;
use std::fmt;

use crate::network::hostname_pattern::HostnamePattern;

/// What a name stands for.
struct Registry {
    /// The name, with its `@`: no host has one.
    name: &'static str,
    /// The hosts, as entries of `allowedDomains` write them.
    domains: &'static [&'static str],
}

/// Every name. docs/network.md, "Lists for package registries", shows the same.
const REGISTRIES: [Registry; 6] = [
    // The default of npm's `registry`; pnpm and yarn have the same. The registry's answers name files on the same host.
    Registry { name: "@npm", domains: &["registry.npmjs.org"] },
    // Cargo's sparse index, and `dl` of the index's config.json.
    Registry { name: "@crates", domains: &["index.crates.io", "static.crates.io"] },
    // The default of pip's `index-url`, and the host to which the links of that index lead.
    Registry { name: "@pypi", domains: &["pypi.org", "files.pythonhosted.org"] },
    // The defaults of GOPROXY and GOSUMDB. `direct`, which follows in GOPROXY, would need the host of each module.
    Registry { name: "@go", domains: &["proxy.golang.org", "sum.golang.org"] },
    // The hosts in sources.list of a new installation.
    Registry { name: "@debian", domains: &["deb.debian.org", "security.debian.org"] },
    // git over https; archives, to which github.com redirects; raw files and files of releases, to which it redirects, too.
    Registry { name: "@github", domains: &["github.com", "codeload.github.com", "*.githubusercontent.com"] },
];

/// A name and the hosts that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedHosts {
    name: &'static str,
    patterns: Vec<HostnamePattern>,
}

/// A name that stands for no hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no list of hosts has this name; there are {}", names())]
pub(crate) struct UnknownNamedHosts;

fn names() -> String {
    let names: Vec<_> = REGISTRIES.iter().map(|registry| registry.name).collect();
    names.join(", ")
}

impl NamedHosts {
    /// The hosts of a name, which begins with `@`.
    ///
    /// # Errors
    /// If there is no such name.
    pub(super) fn parse(text: &str) -> Result<NamedHosts, UnknownNamedHosts> {
        let registry = REGISTRIES.iter().find(|registry| registry.name == text).ok_or(UnknownNamedHosts)?;
        let domains: Vec<_> = registry.domains.iter().map(|domain| (*domain).to_owned()).collect();
        Ok(NamedHosts { name: registry.name, patterns: HostnamePattern::list(&domains) })
    }

    /// The names whose hosts are all in `hosts`. With `partly`, the names of which at least one host is.
    pub(super) fn among(hosts: &BTreeSet<String>, partly: bool) -> impl Iterator<Item = NamedHosts> {
        let lists = REGISTRIES.iter().filter_map(|registry| NamedHosts::parse(registry.name).ok());
        lists.filter(move |list| {
            let mut patterns = list.patterns.iter();
            let is_there = |pattern: &HostnamePattern| hosts.iter().any(|host| pattern.matches(host));
            if partly { patterns.any(is_there) } else { patterns.all(is_there) }
        })
    }

    /// The pattern among them that matches a normalized host.
    pub(super) fn pattern(&self, host: &str) -> Option<&HostnamePattern> {
        self.patterns.iter().find(|pattern| pattern.matches(host))
    }

    pub(super) fn patterns(&self) -> &[HostnamePattern] {
        &self.patterns
    }
}

impl fmt::Display for NamedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
