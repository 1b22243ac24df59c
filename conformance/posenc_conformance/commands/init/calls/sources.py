"""Code that makes tables of angles, and expressions for the tables that are applied."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.orders import orders
from posenc_conformance.scheme_file.scheme import Call


@dataclass(frozen=True)
class Source:
    """Code that assigns tables of angles to the name ``given``."""

    parts: tuple[Found, ...]
    imports: tuple[str, ...]
    setup: tuple[str, ...]
    lines: tuple[str, ...]
    used: frozenset[str]
    tables: int
    """Number of tables; 0 for a single one that is not in a tuple."""
    index: str = ""
    """The index that takes the rows of positions from a table."""
    left: tuple[str, ...] = ()
    """Names of optional parameters that are not passed."""
    notes: tuple[str, ...] = ()
    """Findings on the tables, as text."""


def whole_sequences(call: Call, at: str, array: str) -> list[Mapping[str, str]]:
    """Return expressions for all positions of a sequence, from which code may read its length."""
    if "length" not in call.parameters:
        return []
    whole = at.replace("positions", "np.arange(length)")
    return [{"x": array, "positions": f"{whole}{axes}"} for axes in ("", "[None]")]


def table_texts(
    source: Source, form: str, apply: Found
) -> Iterator[tuple[tuple[str, ...], Mapping[str, str]]]:
    """Yield lines that name tables, and expressions for the rows of each, the likeliest first."""
    taken = f"{source.index}{form}"
    if source.tables >= 2:
        more = ", *_" if source.tables > 2 else ""
        for first, second in orders(source.parts, apply):
            lines = (f"{first}, {second}{more} = given",)
            yield lines, {"cos": f"cos{taken}", "sin": f"sin{taken}"}
        yield (), {"table": f"given[0]{taken}", "scale": "given[1]"}
        yield (), {"table": f"given[0]{taken}"}
        both = "given" if not taken else f"tuple(each{taken} for each in given[:2])"
        yield (), {"table": both}
    else:
        yield (), {"table": f"given{taken}"}
