"""A mistake has one name in float64, float32 and bfloat16, at sizes of users."""

import numpy as np
import pytest

from posenc_lab import names_by_dtype
from posenc_lab.miniatures.base import Mistake
from posenc_lab.names_by_dtype import SHOWN, SIZES, Named, angle_calls, mistakes, named

SMALL = SIZES[0]
EXCEPT = "dynamic_ntk", "rope_shift"
"""Calls of which a mistake has no name, or another one, in some dtype."""


def name_of(mistake: type[Mistake]) -> str:
    return f"{mistake.call}-{mistake.named}"


@pytest.mark.slow
@pytest.mark.draws
@pytest.mark.parametrize(
    "mistake", [each for each in mistakes() if each.call not in EXCEPT], ids=name_of
)
def test_every_dtype_has_the_name_of_float64(mistake: type[Mistake]) -> None:
    found = named(mistake, SMALL)
    if found is None or found.names["float64"] != mistake.named:
        pytest.skip("no call of this size has the name in float64 either")
    assert found.is_steady, found.names


def test_a_name_that_a_dtype_loses_is_seen() -> None:
    names = dict.fromkeys(SHOWN, "degrees")
    assert Named("rope", "half", "degrees", SMALL, names).is_steady
    assert Named("rope", "half", "degrees", SMALL, names | {"bfloat16": "passes"}).is_steady
    for other in ("-", "wrong-base", "raises"):
        assert not Named("rope", "half", "degrees", SMALL, names | {"float32": other}).is_steady
    assert not Named("rope", "half", "degrees", SMALL, names | {"float64": "passes"}).is_steady


def test_waves_are_those_of_float32_code() -> None:
    angle = np.float64(1000.1)
    with names_by_dtype._in_single():
        wave, turn = np.sin(angle), np.exp(1j * angle)
        assert np.exp(-1.0) == np.float64(0.36787944117144233)
    assert wave == np.float64(np.sin(np.float32(angle))) != np.sin(angle)
    assert abs(turn - np.exp(1j * angle)) > 1e-6


def test_calls_that_turn_pairs_or_return_sinusoids_are_asked() -> None:
    assert {"rope", "yarn_vjp", "rope_qkv", "sinusoidal", "sincos_2d"} <= angle_calls()
    assert not {"rope_apply", "alibi_bias", "axial_rope_widths"} & angle_calls()
