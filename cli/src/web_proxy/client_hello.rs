//! What the first message of TLS says about the server that is meant.

use tls_parser::{
    SNIType, TlsExtension, TlsExtensionType, TlsMessage, TlsMessageHandshake, TlsRecordType,
    parse_tls_client_hello_extensions, parse_tls_message_handshake, parse_tls_raw_record,
};

/// The first byte of a record with a handshake (RFC 8446, 5.1).
pub(super) const HANDSHAKE: u8 = 22;
/// The longest first message, with its records. Keys against quantum computers take some kilobytes.
pub(super) const MAX_LEN: usize = 64 * 1024;
/// The length of a handshake message's header (RFC 8446, 4).
const HEADER: usize = 4;
/// `encrypted_client_hello` (RFC 9849).
const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;

/// What is found so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NamedServer {
    /// More bytes are needed.
    Incomplete,
    /// The name of the server.
    Name(String),
    /// No name.
    NoName,
    /// The name may be encrypted: the visible one need not be the real one.
    Hidden,
    /// No TLS, or TLS that different servers may read differently.
    Invalid,
}

/// Looks at what a client has sent first. The message may be spread over several records.
pub(super) fn find(bytes: &[u8]) -> NamedServer {
    let mut message = Vec::new();
    let mut rest = bytes;
    while !is_whole(&message) {
        match parse_tls_raw_record(rest) {
            Ok((after, record)) => {
                // A fragment has at least one byte, so this ends.
                if record.hdr.record_type != TlsRecordType::Handshake || record.data.is_empty() {
                    return NamedServer::Invalid;
                }
                message.extend_from_slice(record.data);
                rest = after;
            }
            Err(error) if error.is_incomplete() => return NamedServer::Incomplete,
            Err(_) => return NamedServer::Invalid,
        }
    }
    match parse_tls_message_handshake(&message) {
        Ok((b"", TlsMessage::Handshake(TlsMessageHandshake::ClientHello(hello)))) => of_extensions(hello.ext),
        _ => NamedServer::Invalid,
    }
}

/// Whether a handshake message has as many bytes as its header says.
fn is_whole(message: &[u8]) -> bool {
    let length =
        message.get(1..HEADER).map(|length| length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)));
    length.is_some_and(|length| message.len() >= HEADER + length)
}

fn of_extensions(extensions: Option<&[u8]>) -> NamedServer {
    let Some(extensions) = extensions else { return NamedServer::NoName };
    let Ok((b"", extensions)) = parse_tls_client_hello_extensions(extensions) else {
        return NamedServer::Invalid;
    };
    let is_hidden = |extension: &TlsExtension<'_>| {
        matches!(TlsExtensionType::from(extension).0, ENCRYPTED_CLIENT_HELLO)
            || matches!(extension, TlsExtension::EncryptedServerName { .. })
    };
    if extensions.iter().any(is_hidden) {
        return NamedServer::Hidden;
    }
    let mut names = extensions.iter().filter_map(|extension| match extension {
        TlsExtension::SNI(names) => Some(names),
        _ => None,
    });
    match (names.next().map(Vec::as_slice), names.next()) {
        (None, _) => NamedServer::NoName,
        (Some([(SNIType::HostName, name)]), None) => {
            std::str::from_utf8(name).map_or(NamedServer::Invalid, |name| NamedServer::Name(name.to_owned()))
        }
        _ => NamedServer::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An extension with its type.
    fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
    }

    fn names(all: &[(u8, &str)]) -> Vec<u8> {
        let list: Vec<u8> = all
            .iter()
            .flat_map(|(kind, name)| {
                [&[*kind][..], &(name.len() as u16).to_be_bytes(), name.as_bytes()].concat()
            })
            .collect();
        extension(0, &[&(list.len() as u16).to_be_bytes()[..], &list].concat())
    }

    fn message(extensions: &[Vec<u8>]) -> Vec<u8> {
        let extensions = extensions.concat();
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([0, 0, 2, 0x13, 1, 1, 0]);
        body.extend((extensions.len() as u16).to_be_bytes());
        body.extend(extensions);
        [&[1][..], &(body.len() as u32).to_be_bytes()[1..], &body].concat()
    }

    fn records(message: &[u8], size: usize) -> Vec<u8> {
        let record = |part: &[u8]| [&[22, 3, 1][..], &(part.len() as u16).to_be_bytes(), part].concat();
        message.chunks(size).flat_map(record).collect()
    }

    fn found(extensions: &[Vec<u8>]) -> NamedServer {
        find(&records(&message(extensions), 4000))
    }

    #[test]
    fn the_name_is_found_in_one_record_or_many() {
        let message = message(&[extension(10, &[0, 2, 0, 29]), names(&[(0, "example.com")])]);
        for size in [1, 3, 4, 5, 64, 4000] {
            let bytes = records(&message, size);
            assert_eq!(find(&bytes), NamedServer::Name("example.com".to_owned()), "{size}");
            for length in 0..bytes.len() {
                assert_eq!(find(&bytes[..length]), NamedServer::Incomplete, "{size} {length}");
            }
            // The bytes after the message are for the server.
            assert_eq!(
                find(&[bytes, b"\x17\x03\x03".to_vec()].concat()),
                NamedServer::Name("example.com".to_owned())
            );
        }
    }

    #[test]
    fn names_that_are_not_one_are_invalid() {
        let hidden = extension(0xfe0d, &[0; 40]);
        assert_eq!(found(&[]), NamedServer::NoName);
        assert_eq!(found(&[names(&[(0, "a.example")]), hidden.clone()]), NamedServer::Hidden);
        assert_eq!(found(&[hidden]), NamedServer::Hidden);
        for wrong in [
            vec![names(&[(0, "a.example")]), names(&[(0, "b.example")])],
            vec![names(&[(0, "a.example"), (0, "b.example")])],
            vec![names(&[(1, "a.example")])],
            vec![names(&[])],
        ] {
            assert_eq!(found(&wrong), NamedServer::Invalid, "{wrong:?}");
        }
        let mut more = message(&[names(&[(0, "a.example")])]);
        more.push(0);
        assert_eq!(find(&records(&more, 4000)), NamedServer::Invalid);
        assert_eq!(find(b"\x16\x03\x01\x00\x00"), NamedServer::Invalid);
        assert_eq!(find(b"\x17\x03\x01\x00\x01x"), NamedServer::Invalid);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(mut bytes in prop::collection::vec(any::<u8>(), 0..200), is_like_tls: bool) {
            if is_like_tls && bytes.len() > 9 {
                bytes[..3].copy_from_slice(&[22, 3, 1]);
                bytes[5] = 1;
            }
            let _ = find(&bytes);
        }
    }
}
