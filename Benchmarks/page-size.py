#!/usr/bin/env python3
"""What an append costs with pages of different sizes: the decision of docs/decisions.md, measured again.

    Benchmarks/page-size.py [FOLDER]

Alternates between the sizes, so that a busy machine slows both alike. Prints medians in milliseconds, checkpoints apart.
"""
import os, sqlite3, statistics, sys, tempfile, time

PAGES = [4096, 8192, 16384, 32768]
BATCHES = [200, 4 << 10, 64 << 10, 1 << 20, 4 << 20]
LOG_LIMIT = 16 << 20


class Journal:
    def __init__(self, folder, page):
        self.page, self.logged, self.turn = page, 0, 0
        self.path = os.path.join(folder, f"{page}.sqlite")
        self.db = sqlite3.connect(self.path, isolation_level=None)
        for pragma in (f"page_size={page}", "locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0"):
            self.db.execute("PRAGMA " + pragma)
        self.db.execute(
            "CREATE TABLE batches (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, data BLOB NOT NULL, digest BLOB NOT NULL) STRICT")

    def append(self, data):
        self.turn += 1
        begun = time.perf_counter()
        self.db.execute("INSERT INTO batches VALUES (?, ?, ?, ?)", (self.turn, self.turn, data, b"0" * 32))
        took = time.perf_counter() - begun
        self.logged += (len(data) // self.page + 3) * self.page
        checkpoint = None
        if self.logged >= LOG_LIMIT:
            begun = time.perf_counter()
            self.db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            checkpoint = time.perf_counter() - begun
            self.logged = 0
        return took, checkpoint


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        print(f"SQLite {sqlite3.sqlite_version}")
        print("batch      " + "".join(f"{page // 1024:>8} KiB" for page in PAGES) + "   then the checkpoints")
        for size in BATCHES:
            data = os.urandom(size)
            journals = [Journal(folder, page) for page in PAGES]
            times, checkpoints = {page: [] for page in PAGES}, {page: [] for page in PAGES}
            for _ in range(40 if size >= 1 << 20 else 400):
                for journal in journals:
                    took, checkpoint = journal.append(data)
                    times[journal.page].append(took)
                    if checkpoint is not None:
                        checkpoints[journal.page].append(checkpoint)
            line = "".join(f"{statistics.median(times[page]) * 1000:>12.3f}" for page in PAGES)
            line += "   " + " ".join(f"{statistics.median(checkpoints[page] or [0]) * 1000:9.1f}" for page in PAGES)
            print(f"{size:>9}  {line}", flush=True)
            for journal in journals:
                journal.db.close()
                for suffix in ("", "-wal"):
                    if os.path.exists(journal.path + suffix):
                        os.remove(journal.path + suffix)


main()
