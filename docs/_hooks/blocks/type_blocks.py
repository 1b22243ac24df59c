"""Content of the page of models about types: which are read, which are refused, and why."""

from collections.abc import Callable, Iterable, Mapping

from posenc_lab.models.configurations import ELSEWHERE
from posenc_lab.models.spellings import tally

from markup import code, paragraph, table
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import OTHERS
from posenc_conformance.models.diffusers import AXIAL, REFUSED
from posenc_conformance.models.metadata import ARCHITECTURES
from posenc_conformance.models.types.others import GRIDS, LEARNED
from posenc_conformance.models.types.refused import NOT_SPECIFIED

WHAT: Mapping[str, Iterable[str]] = {
    "queries and keys are rotated": ROTARY,
    "a table of positions": LEARNED,
    "a table for the patches of an image": GRIDS,
    "a bias, states, or several of these": OTHERS,
}


def counted() -> str:
    """Tabulate the outcomes of reading the configurations of all supported types."""
    rows = []
    for words, types in WHAT.items():
        counts = tally(types)
        rows.append(
            [
                words,
                str(len([*types])),
                *(f"{count:,}" for count in (counts.read, counts.refused, counts.same)),
                f"{counts.unsaid:,}",
                f"{counts.different:,}",
            ]
        )
    head = [
        *("what it does", "types", "configurations read", "refused"),
        *("other spellings: the same", "refused", "something else"),
    ]
    return table(head, rows)


def known() -> str:
    """List the types that are read."""
    rows = [[words, ", ".join(map(code, sorted(types)))] for words, types in WHAT.items()]
    return table(["what it does", "model_type"], rows)


def unspecified() -> str:
    """List the types that are refused, by reason."""
    reasons = dict.fromkeys(NOT_SPECIFIED.values())
    rows = [
        [reason, ", ".join(code(type) for type, cause in NOT_SPECIFIED.items() if cause == reason)]
        for reason in reasons
    ]
    return table(["what is not specified", "model_type"], rows)


def elsewhere() -> str:
    """List the types that are not run in transformers, by reason."""
    reasons = dict.fromkeys(ELSEWHERE.values())
    rows = [
        [reason, ", ".join(code(type) for type, cause in ELSEWHERE.items() if cause == reason)]
        for reason in reasons
    ]
    return table(["why", "model_type"], rows)


def files() -> str:
    """List the architectures of GGUF files that are read."""
    rows = []
    turned = {name: form for name, form in ARCHITECTURES.items() if form.type in ROTARY}
    for layout in ("half", "interleaved"):
        names = [name for name, form in turned.items() if form.layout == layout]
        rows.append([layout, ", ".join(map(code, names))])
    rows.append(["not rotated", ", ".join(map(code, sorted(ARCHITECTURES.keys() - turned.keys())))])
    return table(["stored as", "general.architecture"], rows)


def of_diffusers() -> str:
    """List the classes of diffusers that are read, and those that are refused, by reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in REFUSED.items():
        reasons.setdefault(reason, []).append(name)
    rows = [["read: each axis turns channels of its own", ", ".join(map(code, AXIAL))]]
    rows += [[f"refused: {why}", ", ".join(map(code, names))] for why, names in reasons.items()]
    return table(["what is done with it", "_class_name"], rows)


def count_types() -> str:
    """Say how many types are read, and how many are known and refused."""
    read = sum(len([*types]) for types in WHAT.values())
    return paragraph(
        f"{read} types are read, {len(ROTARY) - len(ELSEWHERE)} of them run in transformers. "
        f"{len(NOT_SPECIFIED)} more are known and refused. Of GGUF files {len(ARCHITECTURES)} "
        "architectures are read; all others are refused."
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "count:types": count_types,
    "table:architectures": files,
    "table:classes-of-diffusers": of_diffusers,
    "table:types": known,
    "table:types-counted": counted,
    "table:types-elsewhere": elsewhere,
    "table:types-unspecified": unspecified,
}
