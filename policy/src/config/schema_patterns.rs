//! Regular expressions by which the schema says how a text must look.

/// A program's name, without a path.
pub(crate) const PROGRAM: &str = r"^[^/]*[^/\s][^/]*$";
/// A directory, without wildcards.
pub(crate) const DIRECTORY: &str = r"^(/|~$|~/)[^*?]*$";
/// A directory of PATH: a colon would make it two.
pub(crate) const PATH_DIRECTORY: &str = r"^(/|~$|~/)[^*?:]*$";
/// A pattern of the file map.
pub(crate) const FILE_PATTERN: &str = r"^(/|~$|~/|\*\*)";
/// Whom a socket connects to: an address, a prefix, a port.
pub(crate) const DESTINATION: &str = r"^(\*|[Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|[0-9.]+(/[0-9]+)?|\[[0-9A-Fa-f:.]+\](/[0-9]+)?)(:(\*|[0-9]+))?$|^[0-9A-Fa-f:.]+(/[0-9]+)?$";
/// A file, without wildcards.
pub(crate) const FILE: &str = r"^(/|~/)[^*?]*[^*?/]$";
/// Where a gateway is.
pub(crate) const GATEWAY_URL: &str =
    r"^wss?://(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:[0-9]+)?(/[0-9A-Za-z._~!$&'()*+,;=:@%/-]*)?$";
/// The SHA-256 of a certificate.
pub(crate) const FINGERPRINT: &str = "^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$";
/// Some text.
pub(crate) const NOT_EMPTY: &str = r"[\s\S]";
/// An option of a program.
pub(crate) const FLAG: &str = r"^(--[^=]+|-[ -,.-~])$";
