//! The guard's identity for gateways: an Ed25519 key, created at first use. By this key, a gateway recognizes a guard
//! that reconnects, and lets it wait for its earlier requests (OpenClaw 2026.7 and later). The key is in the state
//! directory, where the guarded tree reads nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use guard_policy::text::shown;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustix::fs::{FileType, Mode, OFlags, fchmod, fstat, renameat};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::approvals_store::{Directory, GUARD, Lock};
use crate::ids;

/// The file, in the directory [`GUARD`], with the identity by which the guard asks questions.
pub const NAME: &str = "device.json";
/// The file in the same directory with the node's identity: a gateway gives each role a token of its own.
pub const NODE: &str = "node-device.json";
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 10;
/// The length of the key's seed, in bytes.
const SEED: usize = 32;

/// A key, and the tokens that gateways have issued to it. `Debug` shows none of them.
#[derive(Clone)]
pub struct Identity {
    key: Arc<Ed25519KeyPair>,
    tokens: BTreeMap<String, String>,
    state: PathBuf,
    /// The file's name.
    name: &'static str,
}

/// The content of the identity's file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredIdentity {
    version: u32,
    seed: String,
    #[serde(default)]
    tokens: BTreeMap<String, String>,
}

/// Why the identity cannot be read, created or changed.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {fault}", path = shown(path.as_os_str().as_bytes()))]
pub struct IdentityError {
    /// The identity's file.
    pub path: PathBuf,
    /// What went wrong.
    #[source]
    pub fault: IdentityFault,
}

/// What went wrong with an identity's file.
#[derive(Debug, thiserror::Error)]
pub enum IdentityFault {
    /// The file or its directory cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is not what the guard has saved, or others can access it.
    #[error("{0}: remove it; the guard then creates a new one")]
    Unusable(#[from] IdentityDefect),
}

/// What is wrong with an identity's file.
#[derive(Debug, thiserror::Error)]
pub enum IdentityDefect {
    /// It is a symbolic link.
    #[error("it is a symbolic link")]
    Link,
    /// It is a directory, a FIFO, …
    #[error("it is not a regular file")]
    NotRegular,
    /// It is not this user's, or its mode gives others access.
    #[error("others may read or write it")]
    Exposed,
    /// It is larger than [`MAX_BYTES`].
    #[error("it is too long")]
    TooLong,
    /// It does not parse.
    #[error("it cannot be read ({0})")]
    Json(#[source] serde_json::Error),
    /// The format has another version.
    #[error("it is of another version of the guard")]
    Version,
    /// The seed is not that of an Ed25519 key.
    #[error("its key is invalid")]
    Key,
}

impl IdentityFault {
    fn at(self, state: &Path, name: &str) -> IdentityError {
        IdentityError { path: state.join(GUARD).join(name), fault: self }
    }
}

/// The values that are signed for a connection.
pub struct Claim<'a> {
    /// `gateway-client`, or `node-host`.
    pub client: &'a str,
    /// `backend`, or `node`.
    pub mode: &'a str,
    /// `operator`, or `node`.
    pub role: &'a str,
    /// The requested scopes.
    pub scopes: &'a [&'a str],
    /// Milliseconds since 1970.
    pub signed_at: i64,
    /// The token that is sent; empty if there is none.
    pub token: &'a str,
    /// The nonce of the challenge.
    pub nonce: &'a str,
    /// `linux`.
    pub platform: &'a str,
    /// `Linux`; empty if the client names none.
    pub family: &'a str,
}

/// The `device` object of a connection's parameters.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    id: String,
    public_key: String,
    signature: String,
    signed_at: i64,
    nonce: String,
}

impl Identity {
    /// Returns the identity of this state directory, and creates it if there is none.
    ///
    /// # Errors
    /// Why the file cannot be used.
    #[cfg(test)]
    pub fn find(state: &Path) -> Result<Identity, IdentityError> {
        Identity::find_as(state, NAME)
    }

    /// Does as [`Identity::find`], for the identity in the file of this name.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub fn find_as(state: &Path, name: &'static str) -> Result<Identity, IdentityError> {
        match Identity::known_as(state, name)? {
            Some(identity) => Ok(identity),
            None => make(state, name)
                .and_then(|written| Identity::from_stored(written, state, name))
                .map_err(|fault| fault.at(state, name)),
        }
    }

    /// Returns the identity in the file of this name, if there is one.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub fn known_as(state: &Path, name: &'static str) -> Result<Option<Identity>, IdentityError> {
        let known = || {
            let own = Directory::open_own(state)?;
            let written = own.as_ref().map(|own| read(own, name)).transpose()?.flatten();
            written.map(|written| Identity::from_stored(written, state, name)).transpose()
        };
        known().map_err(|fault: IdentityFault| fault.at(state, name))
    }

    fn from_stored(
        written: StoredIdentity,
        state: &Path,
        name: &'static str,
    ) -> Result<Identity, IdentityFault> {
        let seed = BASE64URL_NOPAD.decode(written.seed.as_bytes()).map_err(|_| IdentityDefect::Key)?;
        let key = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| IdentityDefect::Key)?;
        Ok(Identity { key: Arc::new(key), tokens: written.tokens, state: state.to_owned(), name })
    }

    /// Returns the id by which gateways know the guard: the SHA-256 of the public key.
    pub fn id(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(self.key.public_key()))
    }

    /// Returns the token that this gateway has issued to the guard.
    pub fn token(&self, endpoint: &str) -> Option<&str> {
        self.tokens.get(endpoint).map(String::as_str)
    }

    /// Saves the token that a gateway has issued.
    ///
    /// # Errors
    /// Why the file cannot be used or written.
    pub fn save(&self, endpoint: &str, token: &str) -> Result<(), IdentityError> {
        self.change(|tokens| {
            tokens.insert(endpoint.to_owned(), token.to_owned());
        })
    }

    /// Removes a token that a gateway has refused, unless the gateway has issued another token since.
    ///
    /// # Errors
    /// Why the file cannot be used or written.
    pub fn forget(&self, endpoint: &str, token: &str) -> Result<(), IdentityError> {
        self.change(|tokens| {
            if tokens.get(endpoint).is_some_and(|stored| stored == token) {
                tokens.remove(endpoint);
            }
        })
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<(), IdentityError> {
        let change = || {
            let own = Directory::make_own(&self.state)?;
            let _lock = Lock::acquire(&own)?;
            // Another guard may have changed the file. If the operator has removed it, the guard does not
            // recreate it.
            let Some(mut written) = read(&own, self.name)? else { return Ok(()) };
            let before = written.tokens.clone();
            change(&mut written.tokens);
            if written.tokens != before {
                write(&own, self.name, &written)?;
            }
            Ok(())
        };
        change().map_err(|fault: IdentityFault| fault.at(&self.state, self.name))
    }

    /// Signs version 3 of the text that a device signs (facts of OpenClaw 2026.9.6 and 2026.7.35).
    pub fn sign(&self, claim: &Claim<'_>) -> Device {
        let id = self.id();
        let signature = BASE64URL_NOPAD.encode(self.key.sign(claim.text(&id).as_bytes()).as_ref());
        let public_key = BASE64URL_NOPAD.encode(self.key.public_key().as_ref());
        Device { id, public_key, signature, signed_at: claim.signed_at, nonce: claim.nonce.to_owned() }
    }

    #[cfg(any(test, feature = "test-support"))]
    pub fn of_seed(seed: &[u8]) -> Identity {
        let written =
            StoredIdentity { version: 1, seed: BASE64URL_NOPAD.encode(seed), tokens: BTreeMap::new() };
        Identity::from_stored(written, Path::new("/nowhere"), NAME).unwrap()
    }
}

impl Claim<'_> {
    fn text(&self, id: &str) -> String {
        let Claim { client, mode, role, scopes, signed_at, token, nonce, platform, family } = self;
        let (platform, family) = (platform.trim().to_lowercase(), family.trim().to_lowercase());
        let scopes = scopes.join(",");
        format!("v3|{id}|{client}|{mode}|{role}|{scopes}|{signed_at}|{token}|{nonce}|{platform}|{family}")
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.id())
    }
}

fn read(own: &Directory, name: &str) -> Result<Option<StoredIdentity>, IdentityFault> {
    let file = match own.below(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::empty()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            return Err(IdentityDefect::Link.into());
        }
        Err(error) => return Err(error.into()),
    };
    let stat = fstat(&file).map_err(io::Error::from)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(IdentityDefect::NotRegular.into());
    }
    let uid = geteuid();
    if stat.st_mode & 0o077 != 0 || !(stat.st_uid == uid.as_raw() || uid.is_root()) {
        return Err(IdentityDefect::Exposed.into());
    }
    let mut bytes = Vec::new();
    File::from(file).take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(IdentityDefect::TooLong.into());
    }
    let written: StoredIdentity = serde_json::from_slice(&bytes).map_err(IdentityDefect::Json)?;
    if written.version != 1 {
        return Err(IdentityDefect::Version.into());
    }
    Ok(Some(written))
}

/// Creates the identity. Guards that start at the same time share one identity, which the first of them
/// creates.
fn make(state: &Path, name: &str) -> Result<StoredIdentity, IdentityFault> {
    let own = Directory::make_own(state)?;
    let _lock = Lock::acquire(&own)?;
    if let Some(written) = read(&own, name)? {
        return Ok(written);
    }
    let seed: [u8; SEED] = ids::bytes();
    let written = StoredIdentity { version: 1, seed: BASE64URL_NOPAD.encode(&seed), tokens: BTreeMap::new() };
    write(&own, name, &written)?;
    Ok(written)
}

/// Replaces the file in one step, under the lock, so that no partial key is ever read.
fn write(own: &Directory, name: &str, written: &StoredIdentity) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
    let new = format!("{name}.new");
    let file = own.below(new.as_str(), flags, Mode::RUSR | Mode::WUSR)?;
    fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    own.hand_over(&file)?;
    let mut text = serde_json::to_vec_pretty(written)?;
    text.push(b'\n');
    let mut file = File::from(file);
    file.write_all(&text)?;
    file.sync_all()?;
    Ok(renameat(own, new.as_str(), own, name)?)
}
