//! Results files: JSON laid out so that diffs are readable.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Context, Error};

/// The default directory of results.
const DIRECTORY: &str = "bench/results";

/// Writes results to the given file, or else to `name` in the default directory. Returns the path.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: Option<&Path>, name: &str, results: &impl Serialize) -> Result<(), Error> {
    let results = serde_json::to_value(results).context(|| "results".into())?;
    let path = path.map_or_else(|| PathBuf::from(format!("{DIRECTORY}/{name}.json")), Path::to_owned);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).context(|| directory.display().to_string())?;
    }
    std::fs::write(&path, lines(&results)).context(|| path.display().to_string())?;
    eprintln!("guard-bench: results are in {}", path.display());
    Ok(())
}

/// Reads results, if the file exists.
///
/// # Errors
/// When it cannot be read.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).context(|| path.display().to_string()).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::new(format!("{}: {error}", path.display()))),
    }
}

/// Formats JSON with one line for each key and each list element.
fn lines(results: &Value) -> String {
    let Value::Object(keys) = results else { return format!("{results}\n") };
    let keys = keys.iter().map(|(key, value)| match value {
        Value::Array(elements) if elements.iter().any(Value::is_object) => {
            let elements: Vec<_> = elements.iter().map(|element| format!("    {element}")).collect();
            format!("  {}: [\n{}\n  ]", Value::from(key.as_str()), elements.join(",\n"))
        }
        value => format!("  {}: {value}", Value::from(key.as_str())),
    });
    format!("{{\n{}\n}}\n", keys.collect::<Vec<_>>().join(",\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::lines;

    #[test]
    fn a_line_for_each_row() {
        let results =
            json!({ "rounds": 3, "rows": [{ "a": [[1, 2]] }, { "b\"": 2.5 }], "none": [], "n": [1, 2] });
        let text = lines(&results);
        assert_eq!(text.lines().count(), 9, "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), results);
    }
}
