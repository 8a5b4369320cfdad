//! Reads `approvals.gateway`.

use jsonc_parser::ast::Value;

use super::exec::root_problem;
use super::syntax::Reader;
use crate::config::approvals::{Fingerprint, GatewayRoute, GatewayUrl, Scheme};

pub(super) const GATEWAY: [&str; 5] = ["url", "tokenFile", "allowInsecure", "fingerprint", "admin"];

impl Reader<'_> {
    pub(super) fn gateway_route(&mut self, value: &Value<'_>, key: &str) -> GatewayRoute {
        let mut route = GatewayRoute::default();
        let (mut url, mut fingerprint) = (None, None);
        for (name, key, property) in self.object(value, key, Some(&GATEWAY)) {
            let value = &property.value;
            match name.as_str() {
                "url" => {
                    route.url = self.read(value, &key, GatewayUrl::parse);
                    url = Some((value, key));
                }
                "tokenFile" => {
                    route.token_file = self.read(value, &key, |text| match file_problem(text) {
                        Some(problem) => Err(problem),
                        None => Ok(text.to_owned()),
                    });
                }
                "allowInsecure" => route.allow_insecure = self.boolean(value, &key),
                "fingerprint" => {
                    let expected = "must be the SHA-256 of a certificate: 64 hexadecimal digits, AB:CD:…";
                    route.fingerprint =
                        self.read(value, &key, |text| Fingerprint::parse(text).ok_or(expected));
                    fingerprint = Some((value, key));
                }
                _ => route.admin = self.boolean(value, &key),
            }
        }
        let is_tls = route.url().is_some_and(|url| url.scheme() == Scheme::Wss);
        if let (Some(given), Some((value, key))) = (route.url(), &url)
            && !is_tls
            && !given.is_loopback()
            && !route.allow_insecure()
        {
            self.wrong(
                value,
                key,
                "would send the token to another host in plain text: use wss, or set \"allowInsecure\": true",
            );
        }
        // An invalid URL has been reported already.
        let is_wrong = url.is_some() && route.url.is_none();
        if let (Some(_), Some((value, key))) = (route.fingerprint, &fingerprint)
            && !is_tls
            && !is_wrong
        {
            self.wrong(value, key, "needs a wss url: a ws url has no certificate");
        }
        route
    }

    /// Reads a string and parses it.
    fn read<T, E: ToString>(
        &mut self,
        value: &Value<'_>,
        key: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.string(value, key)?;
        read(&text).map_err(|error| self.wrong(value, key, error.to_string())).ok()
    }
}

fn file_problem(file: &str) -> Option<String> {
    if file == "~" || file.ends_with('/') {
        return Some("must be a file".to_owned());
    }
    root_problem(file)
}
