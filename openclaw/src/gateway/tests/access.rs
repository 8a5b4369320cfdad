//! Tests how the gateway's address and secret are found.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use guard_policy::approval::{Fingerprint, GatewayUrl, TokenFileError};
use tempfile::TempDir;

use crate::config::Config;
use crate::gateway::role::ClientRole;
use crate::gateway::secret::SecretKind;
use crate::gateway::tls::Trust;
use crate::gateway::{Credentials, GatewaySettings, NoAccess, SecretVariables};

/// A state directory, and a guard's environment.
struct AccessFixture {
    directory: TempDir,
    variables: Vec<(&'static str, String)>,
    settings: GatewaySettings,
}

impl AccessFixture {
    fn new(config: &str) -> AccessFixture {
        let fixture = AccessFixture {
            directory: tempfile::tempdir().unwrap(),
            variables: vec![],
            settings: GatewaySettings::default(),
        };
        if !config.is_empty() {
            fs::write(fixture.path("openclaw.json"), config).unwrap();
        }
        fixture
    }

    fn with(mut self, name: &'static str, value: &str) -> AccessFixture {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn at(mut self, url: &str) -> AccessFixture {
        self.settings.url = Some(GatewayUrl::parse(url).unwrap());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn token_file(mut self, text: &str) -> AccessFixture {
        let path = self.path("token");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        self.settings.token_file = Some(Ok(path));
        self
    }

    fn find(&self) -> Result<Credentials, NoAccess> {
        let variable = |name: &str| {
            let found = self.variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Credentials::find_in(&self.settings, &self.path(""), ClientRole::Operator, &variable)
    }

    /// Returns the gateway's URL, and the kind and text of the secret.
    fn found(&self) -> (String, SecretKind, String) {
        let access = self.find().unwrap();
        let secret = access.secret.clone().unwrap();
        (access.endpoint(), secret.kind, secret.text().to_owned())
    }

    fn problem(&self) -> String {
        let problem = self.find().unwrap_err().to_string();
        assert!(!problem.contains(char::is_control), "{problem}");
        problem
    }
}

fn token(url: &str, text: &str) -> (String, SecretKind, String) {
    (url.to_owned(), SecretKind::Token, text.to_owned())
}

fn password(url: &str, text: &str) -> (String, SecretKind, String) {
    (url.to_owned(), SecretKind::Password, text.to_owned())
}

const LOCAL: &str = "ws://127.0.0.1:18789";
const CONFIG: &str = "{gateway: {auth: {mode: 'token', token: 'config'}}} // JSON5";

#[test]
fn the_first_that_has_one_is_taken() {
    assert_eq!(AccessFixture::new(CONFIG).found(), token(LOCAL, "config"));
    let environment = || AccessFixture::new(CONFIG).with("OPENCLAW_GATEWAY_TOKEN", "environment\n");
    assert_eq!(environment().found(), token(LOCAL, "environment"));
    assert_eq!(environment().token_file(" file \n").found(), token(LOCAL, "file"));
    let empty =
        AccessFixture::new(CONFIG).with("OPENCLAW_GATEWAY_TOKEN", "").with("OPENCLAW_GATEWAY_PASSWORD", "p");
    assert_eq!(empty.found(), password(LOCAL, "p"));
    let both = "{gateway: {auth: {token: 't', password: 'p'}}}";
    assert_eq!(AccessFixture::new(both).found(), token(LOCAL, "t"));
    let password_first = "{gateway: {auth: {mode: 'password', token: 't', password: 'p'}}}";
    assert_eq!(AccessFixture::new(password_first).found(), password(LOCAL, "p"));
}

#[test]
fn a_token_file_without_a_token_is_an_error() {
    let fixture = || AccessFixture::new(CONFIG).with("OPENCLAW_GATEWAY_TOKEN", "environment");
    for text in ["", " \n", "two\nlines", "\x1b[31m", &"x".repeat(5_000)] {
        let problem = fixture().token_file(text).problem();
        assert!(problem.contains("no token for the gateway") && problem.contains("/token"), "{problem}");
    }
    let fixture = fixture().token_file("file");
    let path = fixture.path("token");
    for mode in [0o644, 0o640, 0o620, 0o602] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert!(fixture.problem().contains("chmod 600"), "{mode:o}");
    }
    fs::rename(&path, fixture.path("other")).unwrap();
    assert!(fixture.problem().contains("No such file"));
    fs::set_permissions(fixture.path("other"), Permissions::from_mode(0o600)).unwrap();
    symlink(fixture.path("other"), &path).unwrap();
    assert!(fixture.problem().contains("symbolic link"), "{}", fixture.problem());
    fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(fixture.problem().contains("not a regular file"));
    let mut fixture = AccessFixture::new(CONFIG);
    fixture.settings.token_file = Some(Err(TokenFileError::Granted { verb: "read", path: b"/t".to_vec() }));
    assert!(fixture.problem().contains("the guarded command could read /t"));
}

/// A link in the path of the token file may be the tree's.
#[test]
fn a_token_directory_that_became_a_link_is_refused() {
    let mut fixture = AccessFixture::new("").token_file("file");
    fs::create_dir(fixture.path("real")).unwrap();
    fs::rename(fixture.path("token"), fixture.path("real/token")).unwrap();
    fixture.settings.token_file = Some(Ok(fixture.path("real/token")));
    assert_eq!(fixture.found(), token(LOCAL, "file"));
    fs::rename(fixture.path("real"), fixture.path("moved")).unwrap();
    symlink(fixture.path("moved"), fixture.path("real")).unwrap();
    assert!(fixture.problem().contains("symbolic link"), "{}", fixture.problem());
}

#[test]
fn references_to_secrets() {
    let config = |value: &str| format!("{{gateway: {{auth: {{token: {value}}}}}}}");
    let mine = |value: &str| AccessFixture::new(&config(value)).with("MINE", "mine");
    assert_eq!(mine("'${MINE}'").found(), token(LOCAL, "mine"));
    let reference = mine("{source: 'env', provider: 'default', id: 'MINE'}");
    assert_eq!(reference.found(), token(LOCAL, "mine"));
    let missing = mine("'${OTHERS}'").problem();
    assert!(missing.contains("OTHERS") && missing.contains("not in the guard's environment"), "{missing}");
    for value in [
        "{source: 'exec', provider: 'vault', id: 'x'}",
        "{source: 'file', id: '/x'}",
        "'a${MINE}'",
        "7",
        "{}",
        "[]",
    ] {
        let problem = mine(value).problem();
        assert!(problem.contains("only OpenClaw can look up"), "{value}: {problem}");
    }
    assert!(mine("''").problem().contains("has none"));
}

#[test]
fn where_it_is() {
    let port = AccessFixture::new("{gateway: {port: 20000, auth: {token: 't'}}}");
    assert_eq!(port.found().0, "ws://127.0.0.1:20000");
    assert_eq!(port.with("OPENCLAW_GATEWAY_PORT", "20001").found().0, "ws://127.0.0.1:20001");
    let tls = AccessFixture::new("{gateway: {tls: {enabled: true}, auth: {token: 't'}}}");
    assert_eq!(tls.found().0, "wss://127.0.0.1:18789");
    let variable = || AccessFixture::new(CONFIG).with("OPENCLAW_GATEWAY_URL", "ws://127.0.0.1:3");
    assert_eq!(variable().found(), token("ws://127.0.0.1:3", "config"));
    assert_eq!(variable().at("ws://localhost:4").found(), token("ws://localhost:4", "config"));
    let mut elsewhere = AccessFixture::new(CONFIG).with("CONFIG", "");
    let path = elsewhere.path("elsewhere.json");
    fs::write(&path, "{gateway: {port: 5, auth: {token: 'elsewhere'}}}").unwrap();
    elsewhere.variables.push(("OPENCLAW_CONFIG_PATH", path.to_string_lossy().into_owned()));
    assert_eq!(elsewhere.found(), token("ws://127.0.0.1:5", "elsewhere"));
}

const REMOTE: &str = "{gateway: {mode: 'remote', remote: {url: 'wss://far.example/x', token: 'far', tlsFingerprint: 'sha256:FP'},
    auth: {token: 'near'}}}";

#[test]
fn a_remote_gateway_has_its_own() {
    let fingerprint = "0123456789abcdef".repeat(4);
    let fixture = AccessFixture::new(&REMOTE.replace("FP", &fingerprint));
    assert_eq!(fixture.found(), token("wss://far.example/x", "far"));
    let pinned = Trust::Pinned(Fingerprint::parse(&fingerprint).unwrap());
    assert_eq!(fixture.find().unwrap().trust, pinned);
    assert!(AccessFixture::new(REMOTE).problem().contains("tlsFingerprint"));
    // A third gateway gets neither of the two secrets.
    for url in ["wss://other.example", "wss://far.example", "ws://127.0.0.1:18789"] {
        let problem = AccessFixture::new(REMOTE).at(url).problem();
        assert!(problem.contains("has none for this url"), "{url}: {problem}");
    }
    let other = AccessFixture::new(CONFIG).at("wss://other.example");
    assert!(other.problem().contains("has none for this url"));
    assert_eq!(other.token_file("file").found(), token("wss://other.example", "file"));
    let nowhere = AccessFixture::new("{gateway: {mode: 'remote', auth: {token: 't'}}}");
    assert!(nowhere.problem().contains("gateway.remote.url"));
}

#[test]
fn malformed_urls_are_refused() {
    for url in ["http://x", "127.0.0.1:1", "ws://a@b", "ws://x/?t=secret", "ws://x:0", "\x1b"] {
        let problem = AccessFixture::new(CONFIG).with("OPENCLAW_GATEWAY_URL", url).problem();
        assert!(problem.contains("OPENCLAW_GATEWAY_URL") && !problem.contains("secret"), "{url}: {problem}");
    }
    let mut pinned = AccessFixture::new(CONFIG);
    pinned.settings.fingerprint = Some(Fingerprint::new([7; 32]));
    assert!(pinned.problem().contains("a fingerprint needs a wss:// URL"));
}

#[test]
fn nothing_is_guessed_from_a_broken_configuration() {
    for config in ["{", "[]", "1", "\"x\"", "{gateway: {auth: {token: 'x'}}} }"] {
        let problem = AccessFixture::new(config).with("OPENCLAW_GATEWAY_TOKEN", "t").problem();
        assert!(problem.contains("openclaw.json cannot be read"), "{config}: {problem}");
        let known = AccessFixture::new(config).at(LOCAL).token_file("file");
        assert_eq!(known.found(), token(LOCAL, "file"));
    }
    let nothing = AccessFixture::new("");
    assert!(nothing.find().unwrap_err().is_absence() && !nothing.path("guard").exists());
    assert!(!AccessFixture::new("{").find().unwrap_err().is_absence());
    assert!(!AccessFixture::new("").at(LOCAL).find().unwrap_err().is_absence());
    let problem = nothing.problem();
    for part in ["tokenFile", "OPENCLAW_GATEWAY_TOKEN", "openclaw.json"] {
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn the_token_that_was_issued_is_enough() {
    let fixture = AccessFixture::new("");
    assert!(fixture.find().is_err());
    let identity = crate::gateway::identity::Identity::find(&fixture.path("")).unwrap();
    identity.save(LOCAL, "issued").unwrap();
    let access = fixture.find().unwrap();
    assert_eq!((access.secret.clone(), access.device_token()), (None, Some("issued")));
    assert!(AccessFixture::new("").at("ws://127.0.0.1:1").find().is_err());
}

#[test]
fn the_admin_scope_is_requested_only_if_set() {
    let mut fixture = AccessFixture::new(CONFIG);
    assert_eq!(fixture.find().unwrap().scopes, ["operator.approvals"]);
    fixture.settings.admin = true;
    assert_eq!(fixture.find().unwrap().scopes, ["operator.admin", "operator.approvals"]);
}

#[test]
fn nothing_tells_the_secret() {
    let access = AccessFixture::new("").token_file("s3cr3t-and-l0ng").find().unwrap();
    assert!(!format!("{access:?}").contains("s3cr3t"), "{access:?}");
}

/// A variable with a secret of the gateway is withheld, whatever its name.
#[test]
fn no_variable_that_opens_it_is_inherited() {
    let withheld = |config: &str, variables: &[(&'static str, &str)], token_file: Option<&str>| {
        let mut fixture = AccessFixture::new(config);
        for (name, value) in variables {
            fixture = fixture.with(name, value);
        }
        if let Some(text) = token_file {
            fixture = fixture.token_file(text);
        }
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let withheld = SecretVariables::find_in(&fixture.settings, &fixture.path("openclaw.json"), &variable);
        let all = variables.iter().filter(|(name, value)| withheld.has(name.as_ref(), value.as_ref()));
        all.map(|(name, _)| *name).collect::<Vec<_>>()
    };
    const SECRET: &str = "a long secret";
    for config in [
        "{gateway: {auth: {token: '${MINE}'}}}",
        "{gateway: {auth: {password: {source: 'env', id: 'MINE'}}}}",
        "{gateway: {remote: {token: '${MINE}'}}}",
    ] {
        let variables = [("MINE", SECRET), ("COPY", " a long secret\n"), ("OTHER", "x"), ("NONE", "")];
        assert_eq!(withheld(config, &variables, None), ["MINE", "COPY"], "{config}");
        assert_eq!(withheld(config, &[("MINE", "short"), ("OTHER", "short")], None), ["MINE"], "{config}");
    }
    let plain = "{gateway: {auth: {token: 'a long secret'}}}";
    assert_eq!(withheld(plain, &[("MINE", SECRET), ("OTHER", "a long secre")], None), ["MINE"]);
    assert_eq!(withheld("", &[("MINE", SECRET), ("OTHER", "y")], Some("a long secret\n")), ["MINE"]);
    let own = [("OPENCLAW_GATEWAY_TOKEN", SECRET), ("COPY", SECRET), ("OTHER", "")];
    assert_eq!(withheld("", &own, None), ["OPENCLAW_GATEWAY_TOKEN", "COPY"]);
    assert_eq!(withheld("{", &[("MINE", SECRET)], None), [""; 0]);
}

/// The tree must neither reach nor bind an address that the guard connects to.
#[test]
fn each_port_that_a_client_may_go_to_is_the_gateways() {
    let fixture = AccessFixture::new("{gateway: {mode: 'remote', remote: {url: 'ws://localhost:7'}}}");
    let ports = |url: Option<&str>| {
        let variable = |name: &str| url.filter(|_| name == "OPENCLAW_GATEWAY_URL").map(OsString::from);
        let gateway =
            crate::gateway::listens::every(&Config::read(&fixture.path("openclaw.json")), &variable);
        let host = guard_policy::Host { gateway, ..guard_policy::Host::bare(b"/home/u", b"/work") };
        let policy = guard_policy::Policy::without_file("main", &host, &Default::default());
        let denied = |port: u16| {
            let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
            let (transport, page) = (guard_policy::Transport::Tcp, guard_policy::Page::Down);
            let request = guard_policy::Request::Bind { address, transport, page, is_beside: false };
            guard_policy::decide(&policy, &request).outcome == guard_policy::Outcome::Deny
        };
        [7, 8, 9, 18789].into_iter().filter(|port| denied(*port)).collect::<Vec<_>>()
    };
    assert_eq!(ports(None), [7, 18789]);
    assert_eq!(ports(Some(" ws://127.0.0.1:8 ")), [7, 8, 18789]);
    assert_eq!(ports(Some("wss://gw.example:9")), [7, 18789]);
    assert_eq!(ports(Some("nonsense")), [7, 18789]);
    fs::write(fixture.path("openclaw.json"), "{gateway: {$include: 'gateway.json'}}").unwrap();
    fs::write(fixture.path("gateway.json"), "{port: 8}").unwrap();
    assert_eq!(ports(None), [8]);
    // A running gateway may have read what is not there any more.
    fs::write(fixture.path("openclaw.json"), "{gateway: {port: 9, x: {$include: 'none.json'}}}").unwrap();
    assert_eq!(ports(None), [9, 18789]);
}

/// OpenClaw keeps earlier versions of its configuration.
#[test]
fn copies_of_the_configuration_are_known() {
    let fixture = AccessFixture::new("{}");
    for name in ["openclaw.json.clobbered.2026-11-22", "openclaw.jsonx", "openclaw.json5", "other"] {
        fs::write(fixture.path(name), "").unwrap();
    }
    let copies = crate::gateway::copies(&fixture.path("openclaw.json"));
    let has = |name: &str| copies.contains(&fixture.path(name));
    assert!(has("openclaw.json.bak") && has("openclaw.json.bak.4") && has("openclaw.json.last-good"));
    assert!(has("openclaw.json.clobbered.2026-11-22"));
    assert!(!has("openclaw.json") && !has("openclaw.jsonx") && !has("openclaw.json5") && !has("other"));
}
