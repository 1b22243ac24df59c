"""Options of the run that judges, refused before anything is started if it would refuse them."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from posenc_conformance.adapters import FLOATS
from posenc_conformance.checks.deployed import SHORTEST
from posenc_conformance.commands.judge.arguments import HANDED_ON, OF_RUN
from posenc_conformance.deployed.engine import PRODUCTS
from posenc_conformance.deployed.kv_cache import CACHES
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import shown
from posenc_conformance.remote.command_line import seconds_of

OTHERS = (
    "--posenc-apart",
    "--posenc-attention",
    "--posenc-compile",
    "--posenc-device",
    "--posenc-examples",
    "--posenc-here",
    "--posenc-html",
    "--posenc-largest",
    "--posenc-memory",
    "--posenc-precision",
    "--posenc-python",
    "--posenc-robust",
    "--posenc-schemes",
    "--posenc-seed",
    "--posenc-static-cache",
)
"""Options of the run that ``posenc judge`` does not describe itself."""
ITS_OWN = {
    "--impl": "posenc judge starts the engine itself",
    "--posenc-model": "posenc judge is given the model behind the engine",
}
"""Options of the run that ``posenc judge`` gives it."""


def demand_options(options: Sequence[str]) -> None:
    """Raise UserError for an option that the run would refuse, or that the command sets itself."""
    known = (*(name for name in HANDED_ON if name.startswith(OF_RUN)), *OTHERS)
    for option in options:
        name, _, value = option.partition("=")
        if name in ITS_OWN:
            raise UserError(f"{in_line(option)} is set already: {ITS_OWN[name]}", "leave it out")
        if name.startswith(OF_RUN) and name not in known:
            near = get_close_matches(name, known, 1)
            raise UserError(
                f"there is no option {in_line(name)}",
                f"did you mean {near[0]}?" if near else "posenc judge --help lists the usual ones",
            )
        if name in RULES:
            RULES[name](name, value)


def _length(name: str, value: str) -> None:
    if not value.isascii() or not value.isdecimal() or int(value) < SHORTEST:
        raise UserError(
            f"{name}={in_line(value)} is no number of tokens that a check fits into",
            f"give {SHORTEST} or more",
        )


def _one_of(known: Sequence[str]) -> Callable[[str, str], None]:
    def demand(name: str, value: str) -> None:
        if value not in known:
            raise UserError(f"{name}={in_line(value)} is not known", f"give {' or '.join(known)}")

    return demand


def _seconds(name: str, value: str) -> None:
    try:
        seconds_of(float(value), name)
    except ValueError:
        raise UserError(
            f"{name}={in_line(value)} is no number of seconds", "give more than 0"
        ) from None


def _file(name: str, value: str) -> None:
    if not Path(value).is_file():
        raise UserError(f"{name}={shown(value)}: there is no such file", "give a file, or none")


def _folder(name: str, value: str) -> None:
    if not value or not Path(value).parent.is_dir():
        raise UserError(
            f"{name}={shown(value)} cannot be written: its folder is not there",
            "give the name of a file in a folder that exists",
        )


RULES: Mapping[str, Callable[[str, str], None]] = {
    "--junitxml": _folder,
    "--posenc-cache": _one_of([*CACHES]),
    "--posenc-context": _length,
    "--posenc-dtype": _one_of([*FLOATS, *PRODUCTS]),
    "--posenc-html": _folder,
    "--posenc-known": _file,
    "--posenc-report": _folder,
    "--posenc-shift": _length,
    "--posenc-timeout": _seconds,
}
"""What the value of an option must be."""
