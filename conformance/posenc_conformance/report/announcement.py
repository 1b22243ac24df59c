"""Announcements of a run: its work, its progress and its slowest calls."""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from time import monotonic

from posenc_conformance.checks import Check
from posenc_conformance.checks.deployed import LEVEL

SECONDS_A_CHECK = 0.002
"""Seconds that the kit itself needs for a check, with an implementation as fast as NumPy."""
Seconds = Mapping[tuple[str, str], float]
"""Seconds that checks took, by scheme and call."""
DUE = (10.0, 60.0, 300.0, 900.0)
"""Seconds after which a slow run reports its progress."""
WORTH_TELLING = 10.0
"""Seconds in checks above which a run ends with a line on its slowest calls."""


def lines(checks: Sequence[Check]) -> list[str]:
    """Return lines on the number of checks, their approximate time and their largest call."""
    if not checks:
        return []
    schemes = len({check.subject.home for check in checks if not check.subject.engine})
    models = len({check.subject.home for check in checks if check.subject.engine})
    counted = [f"{n} {noun}{'s' * (n > 1)}" for n, noun in ((schemes, "scheme"), (models, "model"))]
    noun = " and ".join(item for item in counted if not item.startswith("0 "))
    if all(check.level == LEVEL for check in checks):
        longest = max(check.extent.largest_position for check in checks if check.extent)
        return [f"posenc: {len(checks):,} checks of {noun}, with texts of up to {longest:,} tokens"]
    about = _time(max(1, len(checks) * SECONDS_A_CHECK))
    many = f"{len(checks):,} check{'s' * (len(checks) != 1)}"
    announced = [f"posenc: {many} of {noun}; about {about} with code as fast as NumPy"]
    if sized := [(check.extent, check) for check in checks if check.extent is not None]:
        extent, check = max(sized, key=lambda item: prod(item[0].shape))
        shape = " x ".join(map(str, extent.shape))
        announced.append(
            f"posenc: the largest call of a golden or sweep is {check.subject.name}(), "
            f"for {shape} values at positions up to {extent.largest_position:,}"
        )
    return announced


class Watch:
    """A clock that says when a slow run should report its progress."""

    def __init__(self) -> None:
        self._began = monotonic()
        self._total = 0
        self._due = list(DUE)

    def start(self, total: int) -> None:
        """Start the clock for ``total`` checks."""
        self._began = monotonic()
        self._total = total

    def due(self, done: int, seconds: Seconds) -> str:
        """Return a line on progress and the slowest calls if one is due; else an empty text."""
        passed = monotonic() - self._began
        if not self._due or passed < self._due[0] or not 0 < done < self._total:
            return ""
        while self._due and self._due[0] <= passed:
            del self._due[0]
        left = _time(passed * (self._total - done) / done)
        return (
            f"posenc: {done:,} of {self._total:,} checks after {_time(passed)}, about {left} to "
            f"go; longest so far: {_longest(seconds)}"
        )


def costs(seconds: Seconds) -> Iterator[str]:
    """Yield lines on the slowest calls, if the checks together took long."""
    total = sum(seconds.values())
    if total > WORTH_TELLING:
        yield f"time: {_time(total)} in checks; longest: {_longest(seconds)}"
        yield "--durations=10 shows which checks took longest"


def _longest(seconds: Seconds) -> str:
    most = sorted(seconds.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{call}() {_time(time)}" for (_, call), time in most)


def _time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 99 else f"{seconds / 60:.0f} min"
