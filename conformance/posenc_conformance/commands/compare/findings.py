"""What a comparison finds: what is right, what differs and what that costs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from posenc_conformance.models.cost import Cost


@dataclass(frozen=True)
class Finding:
    """One statement about some layers, or about all of the files."""

    id: str
    """A permanent name of the difference; empty if nothing differs."""
    subject: str
    """What is compared: ``rows`` or ``meaning``."""
    parts: tuple[str, ...]
    """The compared projections, such as ``q`` and ``k bias``; empty for a meaning."""
    text: str
    layers: tuple[int, ...] = ()
    residual: float | None = None
    """Largest relative difference of a projection's numbers; None where none are compared."""
    bound: float | None = None
    """Largest residual that rounding explains."""
    kinds: tuple[str, ...] = ()
    """How the numbers are stored whose rounding explains most."""
    costs: tuple[Cost, ...] = ()
    """The cost at each of ``models.cost.POSITIONS``; empty if there is no number for it."""

    @property
    def is_right(self) -> bool:
        """Whether nothing differs."""
        return not self.id


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Join findings that say the same of several projections or layers, in order."""
    of_layers = _joined(findings, lambda found: (found.id, found.text, found.layers))
    return _joined(of_layers, lambda found: (found.id, found.text, found.parts))


def _joined(findings: Iterable[Finding], key: Callable[[Finding], object]) -> list[Finding]:
    made: dict[object, Finding] = {}
    for found in findings:
        same = key(found)
        made[same] = _both(made[same], found) if same in made else found
    return list(made.values())


def _both(first: Finding, second: Finding) -> Finding:
    known = first.residual is not None and second.residual is not None
    return replace(
        first,
        parts=tuple(dict.fromkeys((*first.parts, *second.parts))),
        kinds=tuple(dict.fromkeys((*first.kinds, *second.kinds))),
        layers=tuple(sorted({*first.layers, *second.layers})),
        residual=max(first.residual or 0.0, second.residual or 0.0) if known else None,
        bound=max(first.bound or 0.0, second.bound or 0.0) if known else None,
    )
