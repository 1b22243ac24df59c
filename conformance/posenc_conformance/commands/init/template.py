"""The template of the adapter that ``posenc init`` writes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap

from posenc_conformance.errors import UserError
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Call, Scheme


def text(name: str, wanted: Sequence[str]) -> str:
    """Return the start of an adapter for a library of this name that was not found.

    It claims nothing: a claim of its own would be judged in place of the library. It has the calls
    of the ``wanted`` schemes as comments.

    Raises UserError for a scheme that does not exist.
    """
    looked = f"posenc init found no module called {name}, so nothing of it is called here yet."
    return _start(name, name, looked) + blocks(wanted)


def unfilled(stem: str, module: str, seen: Sequence[str], wanted: Sequence[str]) -> str:
    """Return the start of an adapter for a library in which nothing behaves like a scheme.

    It claims nothing, so that judging it fails until it is filled in, and has the names ``seen``
    and the calls of the ``wanted`` schemes as comments.

    Raises UserError for a scheme that does not exist.
    """
    looked = f"posenc init looked at {', '.join(seen) or 'nothing'}: none behaves like a scheme."
    return _start(stem, module, looked) + blocks(wanted)


def _start(stem: str, module: str, looked: str) -> str:
    lines = wrap(looked, 90, break_long_words=False)
    comment = "\n".join(f"    # {line}" for line in lines)
    start = _read("unfilled.py.txt").replace("STEM", stem).replace("NAME", module)
    return start.replace("\nSEEN\n", f"\n{comment}\n")


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def blocks(wanted: Sequence[str]) -> str:
    """Return the calls of the ``wanted`` schemes as comments.

    Raises UserError for a scheme that does not exist.
    """
    schemes = {scheme.id: scheme for scheme in load_all()}
    for name in wanted:
        if name not in schemes:
            raise UserError(f"there is no scheme {name!r}", f"schemes are {', '.join(schemes)}")
    return "".join(
        _commented(schemes[name], call) for name in wanted for call in schemes[name].calls.values()
    )


def _commented(scheme: Scheme, call: Call) -> str:
    lines = list(_method(scheme, call))
    return "\n" + "".join(f"    # {line}\n" for line in lines)


def _method(scheme: Scheme, call: Call) -> Iterator[str]:
    names = ", ".join(f'"{name}"' for name in call.combinations)
    yield f"@claims({names})"
    keywords = [parameter.name for parameter in call.parameters.values() if parameter.passed]
    axes = dict.fromkeys(axis for point in call.combinations.values() for axis in point.conventions)
    keywords += [axis for axis in axes if scheme.conventions[axis].passed]
    keywords += ["dtype"] if call.dtype == "keyword" else []
    star = ["*", *keywords] if keywords else []
    yield f"def {call.name}({', '.join(['self', *call.arguments, *star])}):"
    yield f'    """{scheme.title}; returns {call.returns}."""'
