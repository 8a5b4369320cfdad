# A timer of 1 kHz, and transactions of SQLite, each with a connection of its own. SQLite itself tries most calls again.
import signal
import sqlite3
import tempfile

TRANSACTIONS = 1000
failed = 0

with tempfile.TemporaryDirectory() as directory:
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for number in range(TRANSACTIONS):
        try:
            database = sqlite3.connect(f"{directory}/{number % 3}.db")
            database.execute("create table if not exists entries (number)")
            database.execute("insert into entries values (?)", (number,))
            database.commit()
            database.close()
        except sqlite3.Error:
            failed += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
print("sqlite transaction", failed, TRANSACTIONS)
