"""Messages about a file in the keys that the file itself has, whatever names this package uses."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from posenc_conformance.errors import UserError

Keys = Mapping[str, str]
"""Keys of a file, by the names that this package uses for them."""


def spelled(text: str, keys: Keys) -> str:
    """Return a text with each name in ``keys`` as the file spells it."""
    if not keys:
        return text
    names = "|".join(map(re.escape, sorted(keys, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.])(?:{names})(?!\w)", lambda found: keys[found[0]], text)


@contextmanager
def spelled_errors(where: str, keys: Keys) -> Iterator[None]:
    """Spell the names in errors about a file as the file does; its path stays as it is."""
    try:
        yield
    except UserError as error:
        begin = where if error.cause.startswith(where) else ""
        cause = begin + spelled(error.cause.removeprefix(begin), keys)
        raise UserError(cause, spelled(error.hint, keys)) from None
