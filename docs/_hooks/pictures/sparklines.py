"""Coloured strips: what was found, one piece for each thing that was judged."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FAILED, KNOWN, PASSED, UNJUDGED = STATES = ("failed", "known", "passed", "unjudged")
"""Classes of the style sheet, the worst first."""
SIGNS = {FAILED: "✗", KNOWN: "!", PASSED: "✓", UNJUDGED: "–"}
"""What tells states apart without their colours."""


@dataclass(frozen=True)
class Piece:
    """One piece of a strip: its label, its state, where it leads, and the counts in words."""

    label: str
    state: str
    address: str
    words: str
    data: str = ""
    """Further attributes, finished."""


def strip(pieces: Sequence[Piece], kind: str = "") -> str:
    """Make a strip of pieces, which wraps where it is too long."""
    items = "".join(map(_piece, pieces))
    return f'<ul class="{" ".join(filter(None, ("strip", kind)))}">{items}</ul>'


def _piece(piece: Piece) -> str:
    said = f"{html.escape(piece.label)}<small> {piece.words}</small>"
    return (
        f'<li><a class="piece {piece.state}" href="{html.escape(piece.address)}"{piece.data}>'
        f'<span aria-hidden="true">{SIGNS[piece.state]}</span> {said}</a></li>'
    )


def legend() -> str:
    """Explain the colours of a strip."""
    meanings = {
        PASSED: "all that is claimed passes",
        KNOWN: "fails for a reason that is written down",
        FAILED: "fails, and nobody knows yet why",
    }
    items = "".join(
        f'<li><span class="piece {state}"><span aria-hidden="true">{SIGNS[state]}</span> '
        f"{meaning}</span></li>"
        for state, meaning in meanings.items()
    )
    return f'<ul class="strip legend">{items}</ul>\n\n'


def worst(states: Iterable[str]) -> str:
    """Return the worst of some states."""
    return min(states, key=STATES.index)
