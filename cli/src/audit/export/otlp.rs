//! Converts lines to OpenTelemetry's log records, in JSON (OpenTelemetry protocol specification 1.9, "JSON Protobuf
//! Encoding").

use guard_supervisor::audit::reader::{AuditEntry, EntryBody, summary};
use serde_json::{Value, json};

/// SEVERITY_NUMBER_INFO and SEVERITY_NUMBER_WARN.
const INFO: (u8, &str) = (9, "INFO");
const WARN: (u8, &str) = (13, "WARN");

/// Builds an ExportLogsServiceRequest with these lines of this host.
pub fn request(host: &str, entries: &[AuditEntry]) -> Vec<u8> {
    let resource = [
        text("service.name", "openclaw-guard"),
        text("service.version", env!("CARGO_PKG_VERSION")),
        text("host.name", host),
    ];
    let request = json!({ "resourceLogs": [{
        "resource": { "attributes": resource },
        "scopeLogs": [{
            "scope": { "name": "openclaw-guard.audit", "version": env!("CARGO_PKG_VERSION") },
            "logRecords": entries.iter().map(record).collect::<Vec<_>>(),
        }],
    }] });
    request.to_string().into_bytes()
}

fn record(entry: &AuditEntry) -> Value {
    // This encoding writes 64-bit integers as strings.
    let time = entry.time.map_or(0, |time| time.as_nanosecond()).to_string();
    let (number, name) = if entry.is_warning() { WARN } else { INFO };
    json!({
        "timeUnixNano": time,
        "observedTimeUnixNano": time,
        "severityNumber": number,
        "severityText": name,
        "body": { "stringValue": summary(entry) },
        "attributes": attributes(entry),
    })
}

/// `log.record.uid`, `process.*` and `file.path` are OpenTelemetry's names; the guard's own begin with `guard`.
fn attributes(entry: &AuditEntry) -> Vec<Value> {
    let mut attributes = vec![
        text("log.record.uid", &entry.id.to_string()),
        text("guard.operation", &entry.operation),
        text("guard.session", &entry.session),
        text("guard.agent", &entry.agent),
    ];
    attributes.extend(entry.n.map(|n| number("guard.n", n)));
    match &entry.what {
        EntryBody::Decision(decision) => {
            attributes.extend([
                text("guard.verdict", decision.verdict.as_str()),
                text("guard.path", &decision.path),
                text("guard.rule", decision.reason.rule()),
                text("guard.reason", &decision.reason.text),
                number("process.pid", u64::try_from(decision.pid).unwrap_or_default()),
                list("process.command_args", decision.argv.iter()),
                list("guard.chain", decision.chain.iter().map(|parent| &parent.name)),
            ]);
        }
        EntryBody::Other(members) => {
            let fields = members.iter().filter(|(key, _)| *key != "n");
            attributes.extend(fields.map(|(key, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text(&format!("guard.{key}"), &value)
            }));
        }
    }
    attributes
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn list<'a>(key: &str, values: impl Iterator<Item = &'a String>) -> Value {
    let values: Vec<_> = values.map(|value| json!({ "stringValue": value })).collect();
    json!({ "key": key, "value": { "arrayValue": { "values": values } } })
}

/// The rejection in the collector's response (ExportLogsPartialSuccess), if there is one.
pub fn rejected(answer: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let partial = answer.get("partialSuccess")?;
    let count = partial.get("rejectedLogRecords")?;
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok()).filter(|count| *count > 0)?;
    let why = partial.get("errorMessage").and_then(Value::as_str).unwrap_or("it gives no reason");
    Some(format!("{count} lines were rejected: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_is_a_warning_with_its_parts() {
        let line = r#"{"prev":"x","n":7,"time":"2026-11-22T02:00:00.5Z","session":"s","agent":"main","pid":9,"chain":[{"pid":9,"name":"cat"}],"operation":"read","path":"/x","argv":["cat","/x"],"verdict":"deny","because":{"source":"global","path":"p","text":"t"},"tier":"broker","micros":1}"#;
        let entry = AuditEntry::parse(line.as_bytes()).unwrap();
        let request: Value = serde_json::from_slice(&request("here", std::slice::from_ref(&entry))).unwrap();
        let record = &request["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
        assert_eq!(record["timeUnixNano"], "1795312800500000000");
        assert_eq!((&record["severityNumber"], &record["severityText"]), (&json!(13), &json!("WARN")));
        let attribute = |key: &str| {
            let attributes = record["attributes"].as_array().unwrap();
            attributes
                .iter()
                .find(|attribute| attribute["key"] == key)
                .map(|attribute| attribute["value"].clone())
        };
        assert_eq!(attribute("log.record.uid"), Some(json!({"stringValue": entry.id.to_string()})));
        assert_eq!(attribute("guard.n"), Some(json!({"intValue": "7"})));
        assert_eq!(attribute("guard.rule"), Some(json!({"stringValue": "p"})));
        let args = json!({"arrayValue": {"values": [{"stringValue": "cat"}, {"stringValue": "/x"}]}});
        assert_eq!(attribute("process.command_args"), Some(args));
    }

    #[test]
    fn other_lines_are_records_too() {
        let line = r#"{"prev":"x","n":8,"time":"t","session":"s","agent":"main","operation":"reload","path":"/g","applied":true,"text":"y"}"#;
        let record = record(&AuditEntry::parse(line.as_bytes()).unwrap());
        assert_eq!((&record["timeUnixNano"], &record["severityText"]), (&json!("0"), &json!("INFO")));
        assert!(
            record["attributes"]
                .to_string()
                .contains(r#"{"key":"guard.applied","value":{"stringValue":"true"}}"#)
        );
    }

    #[test]
    fn lines_that_the_collector_rejects_are_reported() {
        assert_eq!(rejected(b"{}"), None);
        assert_eq!(rejected(b""), None);
        assert_eq!(rejected(br#"{"partialSuccess":{"rejectedLogRecords":"0"}}"#), None);
        let some = rejected(br#"{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"too old"}}"#);
        assert_eq!(some.as_deref(), Some("3 lines were rejected: too old"));
    }
}
