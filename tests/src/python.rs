//! A Python package without dependencies, and an environment to install it into.

use crate::{World, program_text, skip};

/// The package as its author publishes it: pip builds it in a directory of its own.
const PACKAGE: [(&str, &str); 3] = [
    (
        "pyproject.toml",
        "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n",
    ),
    (
        "backend.py",
        r#"import zipfile
def build_wheel(directory, config_settings=None, metadata_directory=None):
    name, info = "hello-1.0-py3-none-any.whl", "hello-1.0.dist-info"
    files = {"hello/__init__.py": "def main(): print('hello from', __name__)\n", f"{info}/METADATA": "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n", f"{info}/entry_points.txt": "[console_scripts]\nhello = hello:main\n"}
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(directory + "/" + name, "w") as wheel:
        for path, text in files.items(): wheel.writestr(zipfile.ZipInfo(path), text)
    return name
"#,
    ),
    (
        "test_hello.py",
        "import hello, pytest\ndef test_one(tmp_path, capsys):\n    (tmp_path / 'f').write_text('x')\n    hello.main()\n    assert capsys.readouterr().out == 'hello from hello\\n'\n",
    ),
];

impl World {
    /// Writes the package into the workspace.
    pub fn python_package(&self) {
        for (name, text) in PACKAGE {
            self.write(format!("work/{name}"), text);
        }
    }
}

/// Returns the beginning of a script: an environment with the package in it. Returns None, with a message, if
/// there can be none.
#[must_use]
pub fn python_environment() -> Option<String> {
    let python = program_text("python3");
    if World::bare().native(&[&python, "-c", "import ensurepip"]).status != 0 {
        skip("python3-venv is not installed");
        return None;
    }
    Some(format!(
        "export PIP_DISABLE_PIP_VERSION_CHECK=1; rm -rf env; {python} -m venv env; . env/bin/activate; pip install -q --no-index .; hello\n"
    ))
}
