"""A scheme's needs in other modules: the first missing one is reported with its place."""

from dataclasses import replace
from typing import Any

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import reference_of, require_complete
from posenc_lab.judging import schemes


def rope(**changed: Any) -> KnownScheme:
    return replace(next(candidate for candidate in schemes() if candidate.id == "rope"), **changed)


@pytest.mark.parametrize("scheme", schemes()[::7], ids=lambda entry: entry.id)
def test_shipped_schemes_are_complete(scheme: KnownScheme) -> None:
    require_complete(scheme)


def renamed(name: str) -> dict[str, Any]:
    calls = rope().calls
    return {**calls, name: replace(calls["rope"], name=name)}


@pytest.mark.parametrize(
    ("scheme", "said"),
    [
        (rope(id="no-such-scheme"), "no module"),
        (rope(calls=renamed("no_such_call")), "the reference has no no_such_call"),
        (rope(calls=renamed("rope_pairs")), "has no"),
        (rope(goldens=(replace(rope().goldens[0], sha256=""),)), "not certified"),
        (
            rope(invariants=(replace(rope().invariants[0], id="new"),)),
            "KNOWLEDGE['rope'].invariants['new']",
        ),
        (
            rope(deviations=(replace(rope().deviations[0], id="new"),)),
            "KNOWLEDGE['rope'].deviations['new']",
        ),
    ],
)
def test_the_first_part_that_a_scheme_lacks_is_reported(scheme: KnownScheme, said: str) -> None:
    with pytest.raises(UserError) as raised:
        require_complete(scheme)
    assert said in raised.value.cause
    assert raised.value.hint


def test_a_call_without_a_reference_is_reported() -> None:
    scheme = rope()
    assert reference_of(scheme, scheme.calls["rope"]).__name__ == "rope"
    with pytest.raises(UserError, match="rope"):
        reference_of(scheme, replace(scheme.calls["rope"], name="gone"))
