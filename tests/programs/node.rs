//! node and npm.

use guard_tests::{World, has, is_long_form};

const PROGRAM: &str = r#"
const fs = require('fs'), cp = require('child_process'), net = require('net'), path = require('path'), http = require('http');
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (process.argv[2] === 'forked') process.on('message', m => { process.send(m * 2); process.disconnect(); });
else if (!isMainThread) {
  for (let i = 0; i < 50; i++) fs.writeFileSync(`w${i}`, String(i), { flag: 'a' });
  parentPort.postMessage(cp.execFileSync('cat', ['w7'], { encoding: 'utf8' }).length > 0);
} else (async () => {
  const p = fs.promises;
  await p.mkdir('a/b/c', { recursive: true }); await p.writeFile('a/b/f', 'text'); await p.symlink('b/f', 'a/l'); await p.link('a/b/f', 'a/h');
  await p.copyFile('a/h', 'a/copy'); await p.chmod('a/copy', 0o600); await p.utimes('a/copy', 1e9, 1e9); await p.rename('a/h', 'a/r'); await p.truncate('a/r', 2);
  await p.cp('a', 'z', { recursive: true, verbatimSymlinks: true }); await p.rm('a', { recursive: true }); console.log((await p.readdir('z', { recursive: true })).sort().join());
  console.log(path.basename(await p.mkdtemp('t-')).length, (await p.realpath('z/l')).split('/').slice(-2).join('/'), fs.statSync('z/copy').mode.toString(8));
  for (const bad of ['none', 'z/b/f/x', '/root/x/y', '']) await p.open(bad, 'r').catch(e => console.log(e.code, e.syscall));
  await p.open('z/copy', 'wx').catch(e => console.log(e.code)); fs.accessSync('z', fs.constants.W_OK); fs.appendFileSync('log', 'x'); fs.existsSync('none');
  const stream = fs.createWriteStream('big'); for (let i = 0; i < 200; i++) stream.write('x'.repeat(10000)); stream.end(); await new Promise(done => stream.on('close', done));
  console.log(cp.execSync('wc -c < big').toString().trim(), cp.spawnSync('sh', ['-c', 'echo $0 >&2; exit 3']).status, cp.spawnSync('no-such').error.code);
  const child = cp.spawn('cat'); child.stdin.end('piped'); for await (const part of child.stdout) console.log(String(part));
  const forked = cp.fork(__filename, ['forked']);
  console.log(await new Promise(done => { forked.on('message', done); forked.send(21); }));
  const killed = cp.spawn('sleep', ['60']); killed.kill('SIGTERM'); console.log(await new Promise(done => killed.on('exit', (c, s) => done(s))));
  for (const where of [{ path: 'sock' }, { path: path.resolve('sock2') }, { host: '127.0.0.1', port: 0 }]) {
    const server = net.createServer(c => c.pipe(c)); await new Promise(done => server.listen(where, done));
    const client = net.connect(where.path ? where : server.address(), () => client.write('echo'));
    console.log(String(await new Promise(done => client.once('data', done))), server.address().family || server.address()); client.destroy(); await new Promise(done => server.close(done));
  }
  net.connect('sock').on('error', e => console.log(e.code)); net.connect('none').on('error', e => console.log(e.code));
  const web = http.createServer((q, r) => r.end(q.url)).listen(0, '127.0.0.1', async () => {
    console.log(await (await fetch(`http://127.0.0.1:${web.address().port}/url`)).text()); web.closeAllConnections(); web.close();
    console.log(await Promise.all([1, 2, 3, 4].map(() => new Promise(done => new Worker(__filename).on('message', done)))), fs.readdirSync('.').length);
    const watcher = fs.watch('z', (what, name) => { console.log(what, name); watcher.close(); }); fs.writeFileSync('z/new', '');
  });
  process.on('exit', code => console.log('exit', code));
})();
"#;

#[test]
fn a_program_of_everything() {
    if !has(&["node"]) {
        return;
    }
    let same = World::open().same(
        |world| drop(world.write("work/t.js", PROGRAM)),
        &["sh", "-c", "node t.js | sed 's#/.*/work#WORK#'; rm -rf t-*"],
        &[],
    );
    assert!(
        same.native.stdout.ends_with("rename new\nexit 0\n"),
        "{} {}",
        same.native.stdout,
        same.native.stderr
    );
}

#[test]
fn npm_installs_and_runs() {
    if !is_long_form() {
        return;
    }
    if !has(&["node", "npm"]) {
        return;
    }
    let script = r#"set -e
        export npm_config_update_notifier=false npm_config_offline=true npm_config_audit=false npm_config_fund=false npm_config_cache=$HOME/npm
        mkdir lib app && cd lib && npm init -y | tail -n +2 && echo 'module.exports = () => "from lib"' > index.js
        printf '#!/usr/bin/env node\nconsole.log(require("lib")())\n' > cli.js && npm pkg set bin.lib=cli.js scripts.postinstall='echo ran > ran' && npm pack --silent
        cd ../app && npm init -y > /dev/null && npm install ../lib | sed 's/ in .*//' && node -p 'require("lib")()' && rm -rf node_modules package-lock.json
        npm install --silent ../lib/lib-1.0.0.tgz && ls -A node_modules node_modules/lib && npm pkg set scripts.go='echo $npm_package_name; lib' && npm run -s go
        npm uninstall --silent lib && ls -A node_modules 2>&1; cat package.json"#;
    // Some contain the time of the run.
    let same = World::open().same_script(script, &["_logs"]);
    assert_eq!(same.native.stdout.matches("from lib\n").count(), 2, "{}", same.native.stdout);
}
