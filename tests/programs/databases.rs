//! sqlite3: locks, a log next to the database, and memory shared between its users.

use guard_tests::{World, has};

#[test]
fn a_log_with_two_writers_and_a_reader() {
    if !has(&["sqlite3"]) {
        return;
    }
    let script = r#"
        sqlite3 db 'pragma journal_mode=wal; create table t(who, n);'
        write() { for i in $(seq 100); do echo "insert into t values($1, $i);"; done | sqlite3 -cmd '.timeout 60000' db; }
        write 1 & write 2 & for i in $(seq 20); do sqlite3 -cmd '.timeout 60000' db 'select count(*) from t' > /dev/null; done; wait
        sqlite3 db 'select who, count(*), sum(n) from t group by who; pragma integrity_check; pragma wal_checkpoint(truncate); pragma journal_mode=delete; vacuum; create index i on t(n);'
        for mode in truncate persist memory off; do sqlite3 db "pragma journal_mode=$mode; begin; delete from t where n = 7; rollback; select count(*) from t;"; done; ls
        sqlite3 db "attach 'other' as o; create table o.u as select * from t;" '.backup copy' && sqlite3 copy 'select count(*) from t' && sqlite3 -readonly db 'insert into t values(1,1)' 2>&1 | tail -1
        chmod 444 db; sqlite3 db .dump | sort | cksum; sqlite3 :memory: 'select 6*7'; sqlite3 none/db 'select 1' 2>&1 || echo $?; echo '.shell echo shell' | sqlite3; sqlite3 db ".once out" "select sum(n) from t"; cat out"#;
    // Its pages keep old content, and which writer came first differs.
    let same = World::open().same_script(script, &["db", "db-journal", "copy", "other"]);
    assert!(same.native.stdout.contains("1|100|5050\n2|100|5050\nok\n"), "{}", same.native.stdout);
}

/// Within one process: threads, and a transaction that waits for another.
#[test]
fn locks_are_those_of_files() {
    let script = r#"
        python3=$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)
        $python3 - <<'EOF'
import os, sqlite3, threading
for mode in "wal", "delete":
    db = sqlite3.connect("db", isolation_level=None); print(db.execute(f"pragma journal_mode={mode}").fetchone()); db.execute("create table if not exists t(n)")
    db.execute("begin exclusive"); other = sqlite3.connect("db", timeout=0)
    try: other.execute("insert into t values(1)")
    except sqlite3.OperationalError as e: print(e)
    db.execute("commit"); other.close()
    def work(k):
        own = sqlite3.connect("db", timeout=60)
        for n in range(25):
            with own: own.execute("insert into t values(?)", (n,))
        own.close()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]; [t.start() for t in threads]; [t.join() for t in threads]
    print(db.execute("select count(*), sum(n) from t").fetchone(), sorted(os.listdir("."))); db.close()
EOF"#;
    let same = World::open().same_script(script, &["db"]);
    assert!(same.native.stdout.contains("database is locked"), "{}", same.native.stdout);
}
