//! A bind as docker's `-v` takes it: `SOURCE:TARGET[:OPTIONS]` (OpenClaw, src/agents/sandbox/bind-spec.ts).

use super::host_path;

/// The parts of a bind, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindSpec<'b> {
    /// The path of the host.
    pub source: &'b str,
    /// The path in the container; empty if the bind has none.
    pub target: &'b str,
    /// What follows the target.
    pub options: &'b str,
}

impl<'b> BindSpec<'b> {
    /// Splits a bind at its colons; the colon after a drive's letter is part of the source.
    pub fn parse(text: &'b str) -> BindSpec<'b> {
        let after_drive = match text.as_bytes() {
            [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic() => 2,
            _ => 0,
        };
        let Some(colon) = text[after_drive..].find(':').map(|at| at + after_drive) else {
            return BindSpec { source: text, target: "", options: "" };
        };
        let (target, options) = text[colon + 1..].split_once(':').unwrap_or((&text[colon + 1..], ""));
        BindSpec { source: &text[..colon], target, options }
    }

    /// The normalized target, if it is absolute.
    pub(crate) fn container_path(&self) -> Option<String> {
        self.target.starts_with('/').then(|| host_path::normalize(self.target))
    }

    /// Returns whether docker on Linux reads this bind as a named volume of one letter: docker there knows no
    /// drives, so `x:/mnt` is the volume `x` at `/mnt`. A third part that is a path cannot be options, and
    /// docker refuses the bind.
    pub(crate) fn is_volume(&self) -> bool {
        host_path::is_drive(self.source)
            && self.source.as_bytes().get(2) == Some(&b'/')
            && !self.target.starts_with('/')
    }
}

#[cfg(test)]
mod tests {
    use super::BindSpec;

    #[test]
    fn parts() {
        for (text, parts) in [
            ("/a:/b:ro", ["/a", "/b", "ro"]),
            ("/a:/b:ro:z", ["/a", "/b", "ro:z"]),
            ("/a", ["/a", "", ""]),
            ("", ["", "", ""]),
            (":/b", ["", "/b", ""]),
            ("C:/a:/b", ["C:/a", "/b", ""]),
            (r"C:\:/b", [r"C:\", "/b", ""]),
            ("C::/b", ["C", "", "/b"]),
            ("x:/mnt:ro", ["x:/mnt", "ro", ""]),
        ] {
            let [source, target, options] = parts;
            assert_eq!(BindSpec::parse(text), BindSpec { source, target, options }, "{text}");
        }
    }

    #[test]
    fn one_letter_is_a_volume_where_docker_would_mount_it() {
        for (text, is_volume) in [
            ("x:/mnt", true),
            ("x:/mnt:ro", true),
            ("x:/mnt:", true),
            (r"x:\mnt", false),
            ("x:/mnt:/y", false),
            ("/x:/mnt", false),
        ] {
            assert_eq!(BindSpec::parse(text).is_volume(), is_volume, "{text}");
        }
    }
}
