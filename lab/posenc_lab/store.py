"""A cache of verdicts, keyed by a digest of everything that they depend on.

The store is a file in the user's cache, which may be deleted at any time. Several processes may use
it. With ``POSENC_LAB_STORE=fresh`` nothing is remembered, and wrong implementations are judged by
every check instead of only until they are named.
"""

import os
import sqlite3
import time
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path

FRESH = os.environ.get("POSENC_LAB_STORE") == "fresh"
DAYS = 60
"""Entries that are not read for this number of days are dropped."""
PATIENCE = 60.0
"""Seconds to wait while another process writes."""


class Store:
    """A store of texts by key, in a file that processes share."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    @cached_property
    def _file(self) -> sqlite3.Connection:
        if self.path is None:
            return _opened(":memory:")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return _opened(str(self.path))
        except (OSError, sqlite3.Error):  # no writable cache, or a damaged file
            return _opened(":memory:")

    def text(self, key: str) -> str | None:
        """Return the text under a key; None if missing, or the file is locked for too long."""
        try:
            return self._text(key)
        except sqlite3.OperationalError:
            return None

    def _text(self, key: str) -> str | None:
        with closing(self._file.execute("SELECT text, day FROM kept WHERE key = ?", [key])) as rows:
            row: tuple[str, int] | None = rows.fetchone()
        if row is None:
            return None
        if row[1] != _today():
            self._file.execute("UPDATE kept SET day = ? WHERE key = ?", [_today(), key])
        return row[0]

    def keep_text(self, key: str, text: str) -> None:
        """Store a text under a key, unless the file is locked for too long."""
        with suppress(sqlite3.OperationalError):
            self._file.execute(
                "INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", [key, text, _today()]
            )


def _opened(path: str) -> sqlite3.Connection:
    file = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = NORMAL")
    file.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, text TEXT, day INTEGER)")
    file.execute("DELETE FROM kept WHERE day < ?", [_today() - DAYS])
    return file


def _today() -> int:
    return int(time.time()) // 86400


def _path() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "posenc", "verdicts.sqlite3")


STORE = Store(None if FRESH else _path())
