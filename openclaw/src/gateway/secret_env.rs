//! Variables of the operator's environment that hold a secret of the gateway, whatever their names.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::access::{AUTH, PASSWORD, REMOTE, TOKEN};
use super::config;
use super::secret;
use super::settings::GatewaySettings;
use crate::config::{Config, SecretInput};

/// The shortest secret that is compared, in bytes. Another variable may equal a shorter secret by chance.
const MIN_LEN: usize = 8;

/// The variables that no command may inherit.
#[derive(Debug, Default)]
pub struct SecretVariables {
    names: Vec<OsString>,
    texts: Vec<String>,
}

impl SecretVariables {
    /// Finds the variables from openclaw.json, guard.json and the names that OpenClaw itself reads. `state`
    /// is the state directory.
    pub fn find(settings: &GatewaySettings, state: &Path) -> SecretVariables {
        SecretVariables::find_in(settings, &config(state), &|name| env::var_os(name))
    }

    /// Does as [`SecretVariables::find`], with a given environment.
    pub(super) fn find_in(
        settings: &GatewaySettings,
        file: &Path,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> SecretVariables {
        let mut withheld =
            SecretVariables { names: [TOKEN, PASSWORD].map(Into::into).to_vec(), texts: Vec::new() };
        let config = Config::read(file);
        for path in
            [AUTH, REMOTE].iter().flat_map(|at| ["token", "password"].map(|kind| format!("{at}.{kind}")))
        {
            match config.secret(&path) {
                SecretInput::Text(text) => withheld.texts.push(text.to_owned()),
                SecretInput::Variable(name) => withheld.names.push(name.into()),
                SecretInput::Nothing | SecretInput::Elsewhere => {}
            }
        }
        if let Some(Ok(path)) = &settings.token_file {
            withheld.texts.extend(secret::of_file(path).ok().map(|secret| secret.text().to_owned()));
        }
        let named = withheld.names.iter().filter_map(|name| variable(name.to_str()?)?.into_string().ok());
        let named: Vec<_> = named.map(|text| text.trim().to_owned()).collect();
        withheld.texts.extend(named);
        withheld.texts.retain(|text| text.len() >= MIN_LEN);
        withheld
    }

    /// Returns whether a variable holds a secret, by its name or its value.
    pub fn has(&self, name: &OsStr, value: &OsStr) -> bool {
        let is_secret = |value: &str| self.texts.iter().any(|text| text == value.trim());
        self.names.iter().any(|withheld| withheld == name) || value.to_str().is_some_and(is_secret)
    }
}
