//! The JSON Schema of `guard.json`, for editors.
//!
//! It says what a schema can say. That a pattern has no `..`, or that a key occurs once, only the reader sees.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::document::Persistence;
use crate::paths::persistence::Set;
use crate::{Document, Permission};

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
/// A permission.
const PERMISSION: &str = "^[r?-][w?-][x?-]$";

/// The schema of `guard.json`, JSON Schema 2020-12.
pub fn schema() -> Value {
    // What is left out is absent: `null` stands for nothing.
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(no_null))
        .with_transform(RecursiveTransform(one_line));
    settings.into_generator().into_root_schema_for::<Document>().into()
}

/// Takes `null` from the types that a value may have.
fn no_null(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            object.remove("anyOf");
            object.extend(one);
        }
    }
}

/// Comments are broken where the source is; an editor breaks lines itself.
fn one_line(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}

impl JsonSchema for Permission {
    fn schema_name() -> Cow<'static, str> {
        "Permission".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "`r`, `-` or `?` (ask), then `w`, `-` or `?`, then `x`, `-` or `?`.",
            "type": "string",
            "pattern": PERMISSION,
        })
    }
}

impl JsonSchema for Persistence {
    fn schema_name() -> Cow<'static, str> {
        "Persistence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let one = |set: Set| {
            let description = format!("What runs {}. True where it is left out.", set.when());
            (set.as_str().to_owned(), json!({ "description": description, "type": "boolean" }))
        };
        let sets: serde_json::Map<String, Value> = Set::ALL.into_iter().map(one).collect();
        json_schema!({
            "description": "Which places that run by themselves, outside the guard, may not be written: all, none, or \
                each set by its name.",
            "oneOf": [
                { "type": "boolean" },
                { "type": "object", "properties": sets, "additionalProperties": false },
            ],
        })
    }
}

/// What OpenClaw notes of an allowlist entry. The guard keeps it and does not look at it.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used: the document keeps these as they are")]
pub(crate) struct Bookkeeping {
    /// OpenClaw's name for the entry.
    #[schemars(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    /// Who added it.
    #[schemars(skip_serializing_if = "Option::is_none")]
    source: Option<Value>,
    /// The command for which it was added.
    #[schemars(skip_serializing_if = "Option::is_none")]
    command_text: Option<Value>,
    /// When it was used last.
    #[schemars(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Value>,
    /// By which command.
    #[schemars(skip_serializing_if = "Option::is_none")]
    last_used_command: Option<Value>,
    /// Where the program was.
    #[schemars(skip_serializing_if = "Option::is_none")]
    last_resolved_path: Option<Value>,
}
