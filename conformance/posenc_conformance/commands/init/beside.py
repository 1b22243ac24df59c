"""Whether a part that fits nothing, beside one that is right, is wrong or of another scheme."""

import re
from collections.abc import Iterable

from posenc_conformance.commands.init.candidates import Found
from posenc_conformance.commands.init.fit import READ, Fit
from posenc_conformance.commands.init.nearest import is_still
from posenc_conformance.commands.init.roles import has

OTHER_SCHEME = re.compile(
    r"scal|factor|alpha|ntk|yarn|linear|dynamic|llama_?3|long_?rope|su_rope|interpol|partial|"
    r"percent|pct|fraction|2d|3d|grid|axial|vision|image|video|height|width|section|multi_?modal|"
    r"m_?rope|xpos|_pos_scale|learn|mixed|custom"
)
"""Words, in names of parts and of their parameters, for schemes with other frequencies."""
BACKWARD = re.compile(r"inverse|invert|(^|_)(inv|un|de)_?rot|backward|bwd|grad|vjp|reverse|undo")
CERTAIN = frozenset(
    [
        "degrees",
        "exponent-halved",
        "layout-swapped",
        "low-precision-angles",
        "positions-shifted",
        "sign-flipped",
        "tables-mixed",
    ]
)
"""Mistakes that no other scheme looks like."""


def is_wrong(fit: Fit) -> bool:
    """Return whether a fit of a part that is not claimed is a mistake, and no other scheme."""
    parts = fit.draft.parts
    if not fit.cause or is_still(fit):
        return False
    if any(BACKWARD.search(part.named) for part in parts) and fit.cause == "sign-flipped":
        return False
    if any(map(_speaks_of_another, parts)):
        return fit.cause in CERTAIN
    return fit.cause != READ or "measured pairs" not in fit.mistake


def _speaks_of_another(found: Found) -> bool:
    words = [found.named, *(parameter.name.lower() for parameter in found.parameters)]
    return any(OTHER_SCHEME.search(word) for word in words)


def is_of_own_tables(fit: Fit) -> bool:
    """Return whether an applying function is judged with tables that the adapter makes."""
    body = fit.draft.body
    return len(fit.draft.parts) == 1 and any("np.outer(positions" in line for line in body)


def left_makers(fit: Fit, unjudged: Iterable[Found]) -> list[Found]:
    """Return the parts that may make tables for an applying function that gets the adapter's."""
    if not is_of_own_tables(fit):
        return []
    applying = fit.draft.parts[-1]
    return [
        part
        for part in unjudged
        if part is not applying and part.package == applying.package
        if part.is_class or has(part.parameters, "dim") or has(part.parameters, "positions")
    ]
