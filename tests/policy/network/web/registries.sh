# Fetches `demo` of each kind from https://HOST/files, and prints `NAME RESULT`. Arguments: the certificate, a directory
# for what is fetched, HOST, the directory of the Rust toolchain, and Fetch.java.
cert=$1 home=$2 from=https://$3/files toolchain=$4 source=$5
mkdir -p "$home" && cd "$home" || exit
export HOME="$home" GIT_SSL_CAINFO=$cert SSL_CERT_FILE=$cert PIP_CERT=$cert REQUESTS_CA_BUNDLE=$cert NODE_EXTRA_CA_CERTS=$cert CARGO_HTTP_CAINFO=$cert
export GIT_TERMINAL_PROMPT=0 npm_config_cafile=$cert

try() {
    name=$1; shift
    result=$("$@" 2>"$home/log" | tail -n 1)
    [ -n "$result" ] || cat "$home/log" >&2
    echo "$name ${result:-failed}"
}

curl_() { curl -sSf --cacert "$cert" "$from/made/file"; }
git_() { git clone -q "$from/demo.git" cloned && cat cloned/file; }
pip_() {
    python3 -m pip -q --disable-pip-version-check install --retries 0 --no-deps --target wheel --index-url "$from/pypi" demo &&
        PYTHONPATH=wheel python3 -m demo
}
requests_() {
    python3 -c 'import sys; from pip._vendor import requests; print(requests.get(sys.argv[1], verify=sys.argv[2]).text, end="")' "$from/made/file" "$cert"
}
npm_() {
    mkdir -p node && cd node && echo '{}' >package.json &&
        npm install --silent --no-audit --fetch-retries=0 --cache="$home/.npm" --registry "$from/npm/" demo && node -e 'require("demo")'
}
fetch_() { node -e 'fetch(process.argv[1]).then(answer => answer.text()).then(text => console.log(text.trim()))' "$from/made/file"; }
cargo_() {
    mkdir -p crate/src crate/.cargo && : >crate/src/lib.rs && cd crate &&
        printf '[package]\nname = "own"\nversion = "0.1.0"\n[dependencies]\ndemo = "1"\n[workspace]\n' >Cargo.toml &&
        printf '[net]\nretry = 0\n[source.crates-io]\nreplace-with = "own"\n[source.own]\nregistry = "sparse+%s/index/"\n' "$from" >.cargo/config.toml &&
        "$toolchain/bin/cargo" fetch -q && ls "$home"/.cargo/registry/cache/*/
}
go_() {
    mkdir -p module && cd module && printf 'module own\n' >go.mod &&
        GOFLAGS=-modcacherw GOSUMDB=off GOTOOLCHAIN=local GOPROXY="$from/go" go get good.test/demo &&
        grep -o 'good.test/demo v1.0.0' go.mod
}
java_() {
    keytool -importcert -noprompt -file "$cert" -keystore "$home/trusted" -storepass changeit >&2 &&
        java -Djavax.net.ssl.trustStore="$home/trusted" -Djavax.net.ssl.trustStorePassword=changeit "$source" "$from/made/file"
}
for name in curl git pip requests npm fetch cargo go java; do
    case $name in
    requests | fetch) program=curl ;;
    pip) program=python3 ;;
    *) program=$name ;;
    esac
    command -v "$program" >/dev/null && try "$name" "${name}_"
done
