//! `$include`: the other files that openclaw.json is put together from (OpenClaw 2026.9.6,
//! docs/gateway/config-secrets-env.md, "Config includes").

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_policy::text::shown;
use serde_json::{Map, Value};

use super::{ConfigError, parse};
use crate::plain_file;
use crate::sandbox::host_path;

/// The key.
const KEY: &str = "$include";
/// How deep files may include each other, and how large one may be, in bytes. Both are OpenClaw's.
const MAX_DEPTH: usize = 10;
const MAX_BYTES: u64 = 2 << 20;
/// How many inclusions one configuration may have, and how deep its values may lie in each other. OpenClaw has no limits for
/// that.
const MAX_FILES: usize = 500;
const MAX_LEVELS: usize = 512;

/// Why a file cannot be included.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{KEY} of {}: {error}", shown(file.as_os_str().as_bytes()))]
pub struct IncludeError {
    /// The file that is to be included.
    file: PathBuf,
    /// Why that fails.
    #[source]
    error: Arc<ConfigError>,
}

/// A configuration with what it includes.
#[derive(Default)]
pub(super) struct Includes {
    /// The included files, also those that cannot be read.
    pub files: Vec<PathBuf>,
    /// Why the first of the files that cannot be included cannot be.
    pub problem: Option<IncludeError>,
    /// The files that include each other at this moment.
    chain: Vec<PathBuf>,
    /// How deep the value lies that is looked at.
    level: usize,
}

impl Includes {
    /// Puts what `file` includes in the place of each `$include` in its value. OpenClaw follows only files below its
    /// configuration's directory, or below a directory that OPENCLAW_INCLUDE_ROOTS names for the gateway, which only the gateway
    /// knows. So all are followed here. What cannot be included is left out.
    pub fn resolve(&mut self, value: Value, file: &Path) -> Value {
        self.chain.push(file.to_owned());
        let whole = self.whole(value);
        self.chain.pop();
        whole
    }

    fn whole(&mut self, value: Value) -> Value {
        self.level += 1;
        let whole = self.whole_at_level(value);
        self.level -= 1;
        whole
    }

    fn whole_at_level(&mut self, value: Value) -> Value {
        match value {
            _ if self.level > MAX_LEVELS => {
                let file = self.chain.last().cloned().unwrap_or_default();
                self.failed(file, io::Error::other("its values lie too deep in each other").into())
            }
            Value::Array(values) => values.into_iter().map(|value| self.whole(value)).collect(),
            Value::Object(mut values) => {
                let include = values.remove(KEY);
                let own: Map<String, Value> =
                    values.into_iter().map(|(key, value)| (key, self.whole(value))).collect();
                match include {
                    None => Value::Object(own),
                    Some(include) => self.included(include, own),
                }
            }
            other => other,
        }
    }

    /// The included value, with the keys beside `$include` merged into it.
    fn included(&mut self, include: Value, own: Map<String, Value>) -> Value {
        let whole = match include {
            Value::String(name) => self.load(&name),
            Value::Array(names) => names
                .iter()
                .map(|name| self.load(name.as_str().unwrap_or_default()))
                .reduce(merged)
                .unwrap_or_else(|| Value::Object(Map::new())),
            _ => self.load(""),
        };
        if own.is_empty() { whole } else { merged(whole, Value::Object(own)) }
    }

    fn load(&mut self, name: &str) -> Value {
        let directory = self.chain.last().and_then(|file| file.parent()).unwrap_or(Path::new("/"));
        let path = directory.join(name);
        // OpenClaw removes `..` before any link is followed.
        let path = path.to_str().map_or(path.clone(), |path| PathBuf::from(host_path::normalize(path)));
        let loaded = self.read(name, &path).map(|value| self.resolve(value, &path));
        loaded.unwrap_or_else(|error| self.failed(path, error))
    }

    fn failed(&mut self, file: PathBuf, error: ConfigError) -> Value {
        self.problem.get_or_insert(IncludeError { file, error: Arc::new(error) });
        Value::Object(Map::new())
    }

    fn read(&mut self, name: &str, path: &Path) -> Result<Value, ConfigError> {
        if name.is_empty() || name.contains('\0') || path.as_os_str().len() >= libc::PATH_MAX as usize {
            return Err(io::Error::from(io::ErrorKind::InvalidFilename).into());
        }
        if self.chain.len() > MAX_DEPTH || self.files.len() >= MAX_FILES {
            return Err(io::Error::other("too many files include each other").into());
        }
        if self.chain.iter().any(|file| file == path) {
            return Err(io::Error::other("the file includes itself").into());
        }
        self.files.push(path.to_owned());
        Ok(parse::parse(&plain_file::read_at_most(path, MAX_BYTES)?)?.value)
    }
}

/// Merges objects key by key and appends lists; of anything else, the later value counts.
fn merged(early: Value, late: Value) -> Value {
    match (early, late) {
        (Value::Object(mut early), Value::Object(late)) => {
            for (key, value) in late {
                let slot = early.entry(key).or_insert(Value::Null);
                *slot = merged(std::mem::take(slot), value);
            }
            Value::Object(early)
        }
        (Value::Array(early), Value::Array(late)) => early.into_iter().chain(late).collect(),
        (_, late) => late,
    }
}
