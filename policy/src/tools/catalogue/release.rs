//! The releases whose tools are known.

use std::fmt;

use super::{Catalogue, v2026_4, v2026_7, v2026_9};

/// A release of OpenClaw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// 2026.4.12
    V2026_4_12,
    /// 2026.4.14
    V2026_4_14,
    /// 2026.7.35
    V2026_7_35,
    /// 2026.9.6
    #[default]
    V2026_9_6,
}

impl Release {
    /// All, oldest first.
    pub const ALL: [Release; 4] =
        [Release::V2026_4_12, Release::V2026_4_14, Release::V2026_7_35, Release::V2026_9_6];

    /// The known release of this version.
    pub fn parse(version: &str) -> Option<Release> {
        Release::ALL.into_iter().find(|release| release.version() == version)
    }

    /// The newest known release that is not newer than this version, or the oldest; `None` if the text is no version.
    pub fn nearest(version: &str) -> Option<Release> {
        let wanted = numbers(version)?;
        let not_newer = |release: &&Release| numbers(release.version()).is_some_and(|known| known <= wanted);
        Release::ALL.iter().rev().find(not_newer).or(Release::ALL.first()).copied()
    }

    /// The release whose tools count for what this version wrote: the nearest that is known, or else the newest.
    pub fn that_wrote(version: Option<&str>) -> Release {
        version.and_then(Release::nearest).unwrap_or_default()
    }

    /// As OpenClaw writes it.
    pub fn version(self) -> &'static str {
        match self {
            Release::V2026_4_12 => "2026.4.12",
            Release::V2026_4_14 => "2026.4.14",
            Release::V2026_7_35 => "2026.7.35",
            Release::V2026_9_6 => "2026.9.6",
        }
    }

    /// What it ships.
    pub fn catalogue(self) -> &'static Catalogue {
        match self {
            Release::V2026_4_12 | Release::V2026_4_14 => &v2026_4::CATALOGUE,
            Release::V2026_7_35 => &v2026_7::CATALOGUE,
            Release::V2026_9_6 => &v2026_9::CATALOGUE,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.version())
    }
}

/// Year, month and number; what follows, such as `-beta.1`, does not count.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.split(['.', '-']).map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_in_between_is_the_release_before_it() {
        assert_eq!(Release::nearest("2026.9.6"), Some(Release::V2026_9_6));
        assert_eq!(Release::nearest("2026.4.13-beta.2"), Some(Release::V2026_4_12));
        assert_eq!(Release::nearest("2026.8.1"), Some(Release::V2026_7_35));
        assert_eq!(Release::nearest("2027.1.1"), Some(Release::V2026_9_6));
        assert_eq!(Release::nearest("2025.1.1"), Some(Release::V2026_4_12));
        assert_eq!(Release::nearest("next"), None);
    }

    #[test]
    fn every_version_is_read_back() {
        for release in Release::ALL {
            assert_eq!(Release::parse(release.version()), Some(release));
        }
    }
}
