"""Makes the files of registries in the directory of the first argument: a repository, a wheel, and packages of npm, Cargo
and Go, each with the name `demo`.
"""
import base64, hashlib, io, json, os, subprocess, sys, tarfile, zipfile

home, host = sys.argv[1], "https://good.test/files"


def write(path, data):
    there = os.path.join(home, path)
    os.makedirs(os.path.dirname(there), exist_ok=True)
    with open(there, "wb") as file: file.write(data if isinstance(data, bytes) else data.encode())


def zipped(files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items(): archive.writestr(name, text)
    return made.getvalue()


def packed(files):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name); info.size = len(text); info.mode = 0o644
            archive.addfile(info, io.BytesIO(text.encode()))
    return made.getvalue()


def git(*words): subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, stdout=2)


made = os.path.join(home, "made")
git("init", "-q", made)
with open(os.path.join(made, "file"), "w") as file: file.write("cloned\n")
git("-C", made, "add", "."); git("-C", made, "commit", "-qm", "one")
git("clone", "-q", "--bare", made, os.path.join(home, "demo.git"))
git("-C", os.path.join(home, "demo.git"), "update-server-info")

wheel = "demo-1.0-py3-none-any.whl"
write(f"pypi/{wheel}", zipped({
    "demo.py": "print('imported')\n",
    "demo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
    "demo-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "demo-1.0.dist-info/RECORD": "demo.py,,\ndemo-1.0.dist-info/METADATA,,\ndemo-1.0.dist-info/WHEEL,,\ndemo-1.0.dist-info/RECORD,,\n",
}))
write("pypi/demo/index.html", f'<a href="{host}/pypi/{wheel}">{wheel}</a>')

archive = packed({"package/package.json": '{"name": "demo", "version": "1.0.0"}', "package/index.js": "console.log('required')\n"})
integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
write("npm/demo-1.0.0.tgz", archive)
write("npm/demo/index.html", json.dumps({"name": "demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
    "name": "demo", "version": "1.0.0", "dist": {"tarball": f"{host}/npm/demo-1.0.0.tgz", "integrity": integrity}}}}))

crate = packed({"demo-1.0.0/Cargo.toml": '[package]\nname = "demo"\nversion = "1.0.0"\n', "demo-1.0.0/src/lib.rs": ""})
write("crates/demo-1.0.0.crate", crate)
write("index/config.json", json.dumps({"dl": f"{host}/crates/{{crate}}-{{version}}.crate"}))
write("index/de/mo/demo", json.dumps({"name": "demo", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                                      "cksum": hashlib.sha256(crate).hexdigest()}))

module = "module good.test/demo\n"
write("go/good.test/demo/@v/list", "v1.0.0\n")
write("go/good.test/demo/@v/v1.0.0.info", '{"Version": "v1.0.0"}')
write("go/good.test/demo/@v/v1.0.0.mod", module)
write("go/good.test/demo/@v/v1.0.0.zip", zipped({"good.test/demo@v1.0.0/go.mod": module, "good.test/demo@v1.0.0/demo.go": "package demo\n"}))
