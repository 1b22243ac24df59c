"""Coloured strips of verdicts, one piece for each judged item."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FAILED, KNOWN, PASSED, UNJUDGED = STATES = ("failed", "known", "passed", "unjudged")
"""Classes of the style sheet, worst first."""
SIGNS = {FAILED: "✗", KNOWN: "!", PASSED: "✓", UNJUDGED: "–"}
"""Signs that distinguish states without colours."""


@dataclass(frozen=True)
class Piece:
    """One piece of a strip: its label, state, link address, and counts in words."""

    label: str
    state: str
    address: str
    words: str
    data: str = ""
    """Further HTML attributes."""


def strip(pieces: Sequence[Piece], kind: str = "") -> str:
    """Make a strip of pieces, which wraps if it is too long."""
    items = "".join(map(_piece, pieces))
    return f'<ul class="{" ".join(filter(None, ("strip", kind)))}">{items}</ul>'


def _piece(piece: Piece) -> str:
    label = f"{html.escape(piece.label)}<small> {piece.words}</small>"
    return (
        f'<li><a class="piece {piece.state}" href="{html.escape(piece.address)}"{piece.data}>'
        f'<span aria-hidden="true">{SIGNS[piece.state]}</span> {label}</a></li>'
    )


def legend(unjudged: str = "") -> str:
    """Explain the colours of a strip; ``unjudged`` says what the colour without a verdict means."""
    meanings = {
        PASSED: "all that is claimed passes",
        KNOWN: "known failure",
        FAILED: "fails, cause unknown",
        **({UNJUDGED: unjudged} if unjudged else {}),
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
