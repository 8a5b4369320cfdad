//! Where OpenClaw's gateway listens, by the operator's environment and `openclaw.json`.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use guard_policy::{Gateway, GatewayConfig};

use crate::reload::read_plain;

/// Its configuration: `OPENCLAW_CONFIG_PATH`, else `openclaw.json` in the state directory.
pub fn config(state: &Path) -> PathBuf {
    let named = env::var_os("OPENCLAW_CONFIG_PATH").filter(|path| !path.is_empty());
    named.map_or_else(|| state.join("openclaw.json"), PathBuf::from)
}

/// The ports that it may have. What cannot be read is in a warning, and the default counts.
pub fn find(config: &Path) -> Gateway {
    find_in(config, env::var_os("OPENCLAW_GATEWAY_PORT"))
}

/// The same where this is `OPENCLAW_GATEWAY_PORT`.
pub(super) fn find_in(config: &Path, variable: Option<OsString>) -> Gateway {
    let variable = variable.map(|value| value.to_string_lossy().into_owned());
    let text = match read_plain(config) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| "it is no UTF-8 text".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    };
    let found = match &text {
        Ok(Some(text)) => GatewayConfig::Text(text),
        Ok(None) => GatewayConfig::Absent,
        Err(why) => GatewayConfig::Unreadable(why),
    };
    Gateway::find(variable.as_deref(), found, &config.display().to_string())
}
