"""Progress messages of commands."""

import sys
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

PATIENCE = 5.0
"""Seconds between two progress messages of a slow command."""


Tell = Callable[[str], None]
"""Takes a line that says what is being done."""


def silent(words: str) -> None:
    """Show no progress."""


class Progress:
    """Progress messages of a slow command, now and then, on standard error.

    As a context manager, it repeats the last message while a long step says nothing.
    """

    def __init__(self) -> None:
        self._last = monotonic()
        self._words = ""
        self._is_over = Event()
        self._watch = Thread(target=self._repeat, daemon=True)

    def __enter__(self) -> "Progress":
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._watch.join()

    def _repeat(self) -> None:
        while not self._is_over.wait(PATIENCE):
            if self._words:
                self.tell(self._words)

    def tell(self, words: str) -> None:
        """Print ``words``, unless a message has just been printed."""
        self._words = words
        if monotonic() - self._last > PATIENCE:
            self._last = monotonic()
            print(f"posenc: {words}", file=sys.stderr, flush=True)
