//! The text of a configuration, in JSON5.

use serde_json::Value;

use super::ConfigError;

/// How many lists and objects json5 may find: it has no limit for their depth, and would overflow the stack.
const MAX_BRACKETS: usize = 1024;

/// What a text contains.
pub(super) struct Parsed {
    pub value: Value,
    /// Whether only json5 could read the text.
    pub needs_json5: bool,
}

/// Parses the bytes of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, ConfigError> {
    let text = str::from_utf8(bytes)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // By default, this parser allows nearly all of JSON5, and its errors say where they are.
    let parsed: Result<Option<Value>, _> =
        jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default());
    match parsed {
        Ok(value) => Ok(Parsed { value: value.unwrap_or_default(), needs_json5: false }),
        // It lacks NaN, and escapes in names without quotation marks.
        Err(error) if brackets(text) <= MAX_BRACKETS => {
            json5::from_str(text).map(|value| Parsed { value, needs_json5: true }).map_err(|_| error.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn brackets(text: &str) -> usize {
    text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count()
}
