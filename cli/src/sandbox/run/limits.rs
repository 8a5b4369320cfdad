//! What a sandbox without a container keeps of docker's limits.

use guard_openclaw::sandbox::{DockerSettings, DockerSize, NamedValues, Ulimit};
use guard_policy::Limits;
use serde_json::Number;

/// The units of docker's sizes, each 1024 times the one before. A size without a unit is in bytes.
const UNITS: [char; 5] = ['b', 'k', 'm', 'g', 't'];

/// The limits that are kept, and the keys of `docker` that are not.
pub struct KeptLimits {
    /// What the guard keeps.
    pub limits: Limits,
    /// The keys of settings that only a container has.
    pub dropped: Vec<&'static str>,
}

/// A value that docker could not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DockerLimitError {
    /// `memory`; holds the value as it is written.
    #[error("docker.memory {0}: docker could not read this size: write it as \"512m\" or \"2g\"")]
    Memory(String),
    /// `nofile` of `ulimits`.
    #[error("docker.ulimits.nofile: this is no number above 0: write it as 1024")]
    OpenFiles,
}

/// Reads the limits.
///
/// # Errors
/// If docker could not read the value of a limit.
pub fn kept(docker: &DockerSettings) -> Result<KeptLimits, DockerLimitError> {
    let memory = match &docker.memory {
        None => None,
        Some(size) => bytes(size)?,
    };
    let pids = docker.pids_limit.as_ref().and_then(whole).filter(|pids| *pids > 0);
    let (mut open_files, mut has_others) = (None, false);
    for (name, limit) in docker.ulimits.iter().flat_map(NamedValues::iter) {
        match name.trim() {
            "nofile" => open_files = Some(descriptors(limit)?),
            _ => has_others = true,
        }
    }
    let some = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
    let dropped = [
        ("cpus", docker.cpus.is_some()),
        ("memorySwap", docker.memory_swap.is_some()),
        ("ulimits", has_others),
        ("gpus", docker.gpus.is_some()),
        ("user", docker.user.is_some()),
        ("seccompProfile", docker.seccomp_profile.is_some()),
        ("apparmorProfile", docker.apparmor_profile.is_some()),
        ("dns", some(&docker.dns)),
        ("extraHosts", some(&docker.extra_hosts)),
        ("setupCommand", docker.setup_command.is_some()),
    ];
    let dropped = dropped.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect();
    Ok(KeptLimits { limits: Limits { memory, pids, open_files, seconds: None }, dropped })
}

/// A size in bytes, as docker reads it: `512m`, `1.5g`, `2GiB`. Zero is no limit.
fn bytes(size: &DockerSize) -> Result<Option<u64>, DockerLimitError> {
    let bytes = match size {
        DockerSize::Bytes(bytes) => {
            whole(bytes).ok_or_else(|| DockerLimitError::Memory(bytes.to_string()))?
        }
        DockerSize::Text(text) if text.trim().is_empty() => 0,
        DockerSize::Text(text) => read(text).ok_or_else(|| DockerLimitError::Memory(format!("{text:?}")))?,
    };
    Ok((bytes > 0).then_some(bytes))
}

fn read(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit = unit.trim();
    let unit = unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(unit);
    let power = match unit {
        "" => 0,
        unit => UNITS.iter().position(|letter| unit == letter.to_string())?,
    };
    let number: f64 = digits.parse().ok()?;
    let bytes = number * 1024_f64.powi(i32::try_from(power).ok()?);
    // A number of bytes above 2^53 is not meant as a limit.
    (bytes.is_finite() && (0.0..9e15).contains(&bytes)).then_some(bytes as u64)
}

fn descriptors(limit: &Ulimit) -> Result<u64, DockerLimitError> {
    let read = |text: &str| text.trim().parse::<u64>().ok();
    let number = match limit {
        Ulimit::Text(text) => text.split(':').map(read).min().flatten(),
        Ulimit::Both(number) => whole(number),
        Ulimit::Each { soft, hard } => [soft, hard].into_iter().flatten().filter_map(whole).min(),
    };
    number.filter(|number| *number > 0).ok_or(DockerLimitError::OpenFiles)
}

/// A number that is not negative, without its fraction.
fn whole(number: &Number) -> Option<u64> {
    let value = number.as_f64()?;
    number.as_u64().or_else(|| (0.0..9e15).contains(&value).then_some(value as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_docker_reads_them() {
        for (text, bytes) in [
            ("512m", Some(512 << 20)),
            ("2g", Some(2 << 30)),
            ("1.5G", Some(3 << 29)),
            ("2GiB", Some(2 << 30)),
            ("10 kb", Some(10 << 10)),
            ("77b", Some(77)),
            ("77", Some(77)),
            ("-1m", None),
            ("m", None),
            ("1x", None),
            ("1e3m", None),
            ("9999999999t", None),
            ("1.2.3m", None),
        ] {
            assert_eq!(read(text), bytes, "{text}");
        }
    }

    #[test]
    fn descriptors_have_the_lower_limit() {
        assert_eq!(descriptors(&Ulimit::Text("1024:2048".to_owned())), Ok(1024));
        assert_eq!(descriptors(&Ulimit::Both(7.into())), Ok(7));
        assert_eq!(descriptors(&Ulimit::Each { soft: Some(9.into()), hard: Some(8.into()) }), Ok(8));
        for bad in ["", "x", "0", "-1", "1:x"] {
            assert!(descriptors(&Ulimit::Text(bad.to_owned())).is_err(), "{bad}");
        }
    }
}
