//! The JSON Schema of `guard.json`, for editors.
//!
//! A schema cannot express every rule: only the reader rejects a `..` in a pattern or a duplicate key.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use crate::Document;

/// The schema of `guard.json`, JSON Schema 2020-12.
pub fn schema() -> Value {
    // A setting that is left out is absent, never `null`.
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(no_null))
        .with_transform(RecursiveTransform(one_line));
    settings.into_generator().into_root_schema_for::<Document>().into()
}

/// Removes `null` from the types of a value.
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

/// Joins the lines of descriptions: editors wrap text themselves.
fn one_line(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}
