//! Regular expressions for strings in the schema.

/// A program's name, without a path.
pub(crate) const PROGRAM: &str = r"^[^/]*[^/\s][^/]*$";
/// A directory, without wildcards.
pub(crate) const DIRECTORY: &str = r"^(/|~$|~/)[^*?]*$";
/// A directory of PATH. A colon would split it in two.
pub(crate) const PATH_DIRECTORY: &str = r"^(/|~$|~/)[^*?:]*$";
/// A pattern of `deny`.
pub(crate) const DENY_PATTERN: &str = r"^(/|~$|~/|\$\{workspace\}($|/)|\*\*)";
/// A pattern of `rules`.
pub(crate) const RULE_PATTERN: &str = r"^(/|~$|~/|\$\{workspace\}($|/)|\$\{above\}$|\*\*)";
/// The destination of a connection: an address or a prefix, with an optional port.
pub(crate) const DESTINATION: &str = r"^(\*|[Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|[0-9.]+(/[0-9]+)?|\[[0-9A-Fa-f:.]+\](/[0-9]+)?)(:(\*|[0-9]+))?$|^[0-9A-Fa-f:.]+(/[0-9]+)?$";
/// An address or a prefix, with or without a port.
pub(crate) const EXCEPTION: &str =
    r"^([0-9.]+|\[[0-9A-Fa-f:.]+\])(/[0-9]+)?(:(\*|[0-9]+))?$|^[0-9A-Fa-f:.]+(/[0-9]+)?$";
/// A host of the Web, every host below a domain, an address or a prefix, or a name for the hosts of a package registry.
pub(crate) const DOMAIN: &str = r"^(\*\.)?[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]+)*\.?$|^([0-9.]+|\[?[0-9A-Fa-f:.]+\]?)(/[0-9]+)?$|^@(npm|crates|pypi|go|debian|github)$";
/// An origin of the Web.
pub(crate) const ORIGIN: &str = r"^https?://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:[0-9]+)?/?$";
/// A file, without wildcards.
pub(crate) const FILE: &str = r"^(/|~/)[^*?]*[^*?/]$";
/// The URL of a gateway.
pub(crate) const GATEWAY_URL: &str =
    r"^wss?://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:[0-9]+)?(/[0-9A-Za-z._~!$&'()*+,;=:@%/-]*)?$";
/// The SHA-256 of a certificate.
pub(crate) const FINGERPRINT: &str = "^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$";
/// Any text that is not empty.
pub(crate) const NOT_EMPTY: &str = r"[\s\S]";
/// A name, which is not blank.
pub(crate) const NAME: &str = r"\S";
/// An option of a program.
pub(crate) const FLAG: &str = r"^(--[^=]+|-[ -,.-~])$";
