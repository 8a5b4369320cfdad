//! Python's own tools: virtual environments and packages.

use guard_tests::{World, is_long_form, program_text, skip};

/// A wheel made by hand: a zip with a package, its metadata and a command.
const WHEEL: &str = r#"
import zipfile
name, info = "hello-1.0-py3-none-any.whl", "hello-1.0.dist-info"
files = {"hello/__init__.py": "def main(): print('hello from', __name__)\n", f"{info}/METADATA": "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n", f"{info}/entry_points.txt": "[console_scripts]\nhello = hello:main\n"}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(name, "w") as wheel:
    for path, text in files.items(): wheel.writestr(zipfile.ZipInfo(path), text)
"#;

#[test]
fn venv_and_pip() {
    if !is_long_form() {
        return;
    }
    let world = World::open();
    let python = program_text("python3");
    if world.native(&[&python, "-c", "import ensurepip"]).status != 0 {
        return skip("python3-venv is not installed");
    }
    let script = format!(
        "set -e; export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1 PYTHONDONTWRITEBYTECODE=1
        {python} make.py && {python} -m venv --without-pip bare && ./bare/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'
        {python} -m venv env && . env/bin/activate && pip install -q --no-index ./hello-1.0-py3-none-any.whl
        hello && python -c 'import hello; print(hello.__file__)' && pip list --format=freeze && pip uninstall -q -y hello && ! test -e env/bin/hello"
    );
    let same = world.same(
        |world| drop(world.write("work/make.py", WHEEL)),
        &["bash", "-c", &script],
        // Compiled files contain the time of their source.
        &["__pycache__"],
    );
    assert_eq!(same.native.status, 0, "{}", same.native.stderr);
    assert!(same.native.stdout.contains("hello from hello\n"), "{}", same.native.stdout);
}
