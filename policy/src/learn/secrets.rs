//! Recognises files with secrets by their names.

use crate::programs::name::basename;

const NAMES: &str = ".env .netrc .pgpass .htpasswd .git-credentials .pypirc .vault-token .dockercfg credentials \
    credentials.json credentials.toml credentials.yml credentials.yaml credentials.db token .token token.json tokens.json \
    token.txt secrets.json secrets.yml secrets.yaml secrets.toml secrets.env secret.key master.key id_rsa id_dsa id_ecdsa \
    id_ecdsa_sk id_ed25519 id_ed25519_sk";

const ENDS: &str = ".pem .key .p12 .pfx .jks .keystore .kdbx .ppk .ovpn .agekey";

/// The part after `.env.` in the name of a template, which holds no real values.
const TEMPLATES: [&str; 4] = ["example", "sample", "template", "dist"];

/// Directories of downloaded packages: the certificates in them are public.
const FETCHED: [&[u8]; 5] = [b"node_modules", b"site-packages", b"dist-packages", b"vendor", b"testdata"];

/// Whether the name says that the file holds a secret.
pub(crate) fn is_named_so(path: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(basename(path)) else { return false };
    let lower = name.to_ascii_lowercase();
    if NAMES.split_whitespace().any(|secret| secret == lower) {
        return true;
    }
    if let Some(rest) = lower.strip_prefix(".env.") {
        return !TEMPLATES.iter().any(|template| rest.starts_with(template));
    }
    if lower.starts_with("service-account") && lower.ends_with(".json") {
        return true;
    }
    // Every TLS client reads public keys and CA bundles.
    let is_public = lower.contains("cert")
        || lower.starts_with("ca-")
        || lower.starts_with("ca.")
        || lower.contains("pub");
    let is_fetched = path.split(|byte| *byte == b'/').any(|name| FETCHED.contains(&name));
    !is_public && !is_fetched && ENDS.split_whitespace().any(|end| lower.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::is_named_so;

    #[test]
    fn secrets_are_recognised_by_their_names() {
        for path in [
            "/p/.env",
            "/p/.env.local",
            "/p/a/server.pem",
            "/p/id_rsa",
            "/p/credentials",
            "/p/TOKEN",
            "/p/x.key",
        ] {
            assert!(is_named_so(path.as_bytes()), "{path}");
        }
        for path in [
            "/p/.env.example",
            "/p/src/token.rs",
            "/p/secrets.rs",
            "/p/.environment",
            "/p/id_rsa.pub",
            "/p/venv/lib/python3.11/site-packages/certifi/cacert.pem",
            "/p/node_modules/x/test/fixtures/a.key",
            "/p/keys.json",
            "/p/tokenizer.json",
        ] {
            assert!(!is_named_so(path.as_bytes()), "{path}");
        }
    }
}
