"""Switches: claimed sizes at which an implementation changes its method, and which are tested."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.checks.variations import at_switches
from posenc_conformance.errors import UserError
from posenc_conformance.implementations.reference import reference_for
from posenc_conformance.judge.arrays import Array
from posenc_conformance.remote.load import How, Isolation, load
from posenc_lab.judging import failed, judge, schemes
from posenc_lab.miniatures.switches import Chunked, Right, SayingChunks, SayingWarps, Warps

pytestmark = pytest.mark.remembered(shipped=True)


@pytest.mark.slow
@pytest.mark.parametrize(("silent", "saying"), [(Chunked, SayingChunks), (Warps, SayingWarps)])
def test_a_claimed_switch_is_tested(silent: type, saying: type) -> None:
    assert not failed(judge(silent(), ["behaviour"]))
    names = {item.check.id.partition("[")[0] for item in failed(judge(saying(), ["behaviour"]))}
    assert names == {"sizes"}


@pytest.mark.slow
def test_a_claimed_switch_is_tested_in_a_worker() -> None:
    loaded = load(f"{SayingChunks.__module__}:SayingChunks", How(Isolation.APART), schemes())
    try:
        assert failed(judge(loaded.adapter, ["behaviour"]))
    finally:
        loaded.end()


def test_right_code_passes_at_its_switches() -> None:
    assert not failed(judge(Right()))


def test_sizes_at_and_next_to_a_switch_are_tested() -> None:
    (subject,) = subjects(Right(), schemes())
    case = smallest_case(subject, "float32")
    arrays = [case.with_arguments(**change).arguments["x"] for change in at_switches(subject, case)]
    assert {63, 64, 65, 2047, 2048, 2049} <= {x.shape[-2] for x in arrays}
    assert {31, 32, 33} <= {x.shape[-3] for x in arrays}
    assert {10_239, 10_240, 10_241} <= {int(np.prod(x.shape[:-1])) for x in arrays}
    assert all(x.shape[-3] > 1 for x in arrays if x.shape[-2] > 1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", ["alibi_bias", "sinusoidal", "t5_bucket", "rope_batched", "learned"]
)
def test_every_kind_of_call_can_claim_switches(call: str) -> None:
    claimed = subjects(reference_for(schemes())(), schemes())
    subject = next(candidate for candidate in claimed if candidate.name == call)
    switches = {"rows": (100,), "heads": (100,), "token_heads": (100,)}
    saying = replace(subject, scopes=(replace(subject.scopes[0], switches=switches),))
    assert list(at_switches(saying, smallest_case(saying, saying.dtypes[0])))


def claiming(switches: Any) -> object:
    @claims("half", switches=switches)
    def rope(self: object, x: Array, positions: Array, *, base: float) -> Array:
        return x

    return type("Claiming", (), {"rope": rope})()


@pytest.mark.parametrize("switches", [{"row": 64}, {"rows": 1}, {"rows": "64"}, {"heads": 2.5}])
def test_invalid_switches_are_refused(switches: Any) -> None:
    with pytest.raises(UserError, match="switch"):
        subjects(claiming(switches), schemes())


def test_switches_without_an_axis_are_refused() -> None:
    with pytest.raises(UserError, match="what is counted"):
        claiming(2048)
