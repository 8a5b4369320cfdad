//! Names that can be looked up.

/// Whether a text is a name that a resolver looks up (RFC 1035, and with `_`).
pub(super) fn is_name(text: &str) -> bool {
    const MAX_NAME: usize = 253;
    const MAX_LABEL: usize = 63;
    let is_label = |label: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty() && label.len() <= MAX_LABEL && label.bytes().all(is_plain)
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    text.len() <= MAX_NAME && text.split('.').all(is_label)
}
