"""Formulas are recovered from the results of each call that rotates pairs."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_lab.judging import diagnoses, failed, judge
from posenc_lab.miniatures.base import Array, Mistake, declared, narrow
from posenc_lab.miniatures.wrong.absolute import sincos_2d, timestep
from posenc_lab.miniatures.wrong.attention import mla
from posenc_lab.miniatures.wrong.combination import concatenation, embedding_sum
from posenc_lab.miniatures.wrong.rotary import (
    axial_rope,
    dynamic_ntk,
    fope,
    llama3,
    longrope,
    m_rope,
    ntk_aware,
    pope,
    position_interpolation,
    qk_norm_rope,
    rope,
    rope_2d,
    rope_cache,
    rope_kernel,
    xpos,
    yarn,
)

pytestmark = pytest.mark.remembered(shipped=True)

LEVELS = ("smoke", "golden", "invariant")
TAU = 2 * np.pi
LATE = "pair t turns at base^(-2(t+1)/d); asked for base^(-2t/d)"
FAST = "pair t turns at 2π·base^(-2t/d); asked for base^(-2t/d)"
OF_AN_AXIS = ", d being the channels of one axis"
NARROW = "positions in bfloat16"
MORE = "every pair turns at 1.1 times its right frequency"


def late(size: int, base: float) -> Array:
    """Return frequencies of pairs counted from 1."""
    return np.asarray(base ** (-2 * (np.arange(size // 2) + 1) / size))


def made(steps: type[Mistake], **changed: Any) -> Mistake:
    """Return a right implementation with some steps changed."""
    return declared(type("Wrong", (steps,), changed, listed=False))()


def said(adapter: object) -> set[str]:
    """Judge an adapter whose mistake has no name; return the recovered descriptions."""
    verdicts = judge(adapter, LEVELS)
    assert failed(verdicts)
    assert diagnoses(verdicts) == []
    return {verdict.outcome.recovered for verdict in failed(verdicts)} - {""}


def in_bfloat16(self: Any, positions: Array, *_: Any) -> Array:
    """Return positions in bfloat16, as a step of an implementation."""
    return narrow(positions, "bfloat16")


CASES: list[tuple[type[Mistake], dict[str, Any], str]] = [
    (rope.Backward, {"turn": lambda self, positions: -TAU * positions}, FAST),
    (rope.Backward, {"turn": lambda self, positions: narrow(-positions, "bfloat16")}, NARROW),
    (qk_norm_rope.Normed, {"places": in_bfloat16}, NARROW),
    (rope_cache.Shift, {"deltas": in_bfloat16}, NARROW),
    (
        mla.Latent,
        {
            "waves": lambda self, x, places, omega, layout: tuple(
                narrow(wave, "bfloat16")
                for wave in mla.Latent.waves(self, x, places, omega, layout)
            )
        },
        "cosines and sines in bfloat16",
    ),
    (embedding_sum.Sum, {"frequencies": lambda self, dim, base: late(dim, base)}, LATE),
    (
        concatenation.Beside,
        {"angles": lambda self, places, omega: TAU * places * omega},
        FAST,
    ),
    (
        timestep.Times,
        {"frequencies": lambda self, half, steps, period: late(2 * half, period)},
        "pair t turns at max_period^(-2(t+1)/d); asked for max_period^(-t/(d/2-1))",
    ),
    (
        sincos_2d.GridWaves,
        {"frequencies": lambda self, dim, base, one_less: late(dim // 2, base)},
        LATE + OF_AN_AXIS,
    ),
    (
        m_rope.Multimodal,
        {"frequencies": lambda self, axes, sizes, base, head: late(2 * len(axes), base)},
        LATE,
    ),
    (
        m_rope.MultimodalBack,
        {"angles": lambda self, places, omega: 1.1 * places * omega},
        MORE,
    ),
    (
        rope_2d.Patches,
        {"frequencies": lambda self, width, base, rule: (late(width // 2, base),) * 2},
        LATE + OF_AN_AXIS,
    ),
    (
        rope_2d.PatchesBack,
        {"angles": lambda self, place, omega: TAU * np.multiply.outer(place, omega)},
        FAST + OF_AN_AXIS,
    ),
    (
        axial_rope.Axes,
        {"frequencies": lambda self, width, head_dim, base: late(width, base)},
        LATE + OF_AN_AXIS,
    ),
    (xpos.Xpos, {"angles": lambda self, angles: 1.1 * angles}, MORE),
    (xpos.XposBack, {"angles": lambda self, angles: -TAU * angles}, FAST),
    *(
        (
            kernel,
            {
                "rotated": lambda self, x, positions, base, layout: rope_kernel.Kernel.rotated(
                    self, x, TAU * positions, base, layout
                )
            },
            FAST,
        )
        for kernel in (
            rope_kernel.Kernel,
            rope_kernel.KernelOffsets,
            rope_kernel.KernelPacked,
            rope_kernel.KernelQueryKey,
        )
    ),
    (pope.Polar, {"positions": lambda self, positions: 1.1 * positions}, MORE),
    (
        pope.PolarKeys,
        {"frequencies": lambda self, dim, base: base ** (-(np.arange(dim) + 1) / dim)},
        "pair t turns at base^(-(t+1)/d); asked for base^(-t/d)",
    ),
    (
        fope.Fourier,
        {"positions": lambda self, positions: TAU * positions},
        FAST,
    ),
    (
        yarn.YarnFrequencies,
        {"blend": lambda self, fast, slow, kept: 1.1 * (slow * (1 - kept) + fast * kept)},
        MORE,
    ),
    (
        longrope.LongRopeFrequencies,
        {"scaled": lambda self, plain, factors: 1.1 * plain / factors},
        MORE,
    ),
    (
        longrope.LongRopeBack,
        {"angles": lambda self, angles: -1.1 * angles},
        MORE,
    ),
]


def plain(dim: int, base: float) -> Array:
    """Return frequencies without scaling."""
    return np.asarray(base ** (-np.arange(0, dim, 2) / dim))


def by(formula: Any) -> dict[str, Any]:
    """Return a step that computes frequencies from base and factor."""
    return {"frequencies": lambda self, dim, base, *, factor=1.0, **_: formula(dim, base, factor)}


ROOT = by(lambda dim, base, factor: plain(dim, base) / factor**0.5)
DIVIDED = by(lambda dim, base, factor: plain(dim, base) / factor)
SQUARED = by(lambda dim, base, factor: plain(dim, base * factor**2))
NTK = by(lambda dim, base, factor: plain(dim, base * factor ** (dim / (dim - 2))))
THIRD = by(lambda dim, base, factor: plain(dim, base) / 3)
OTHER = by(lambda dim, base, factor: plain(dim, 1.5 * base))
UNSCALED = by(lambda dim, base, factor: plain(dim, base))
SCALED: list[tuple[type[Mistake], dict[str, Any], str]] = [
    (
        position_interpolation.Interpolation,
        ROOT,
        "pair t turns at base^(-2t/d)/√factor; asked for base^(-2t/d)/factor",
    ),
    (
        position_interpolation.InterpolationFrequencies,
        SQUARED,
        "pair t turns at (base·factor²)^(-2t/d); asked for base^(-2t/d)/factor",
    ),
    (
        ntk_aware.Ntk,
        SQUARED,
        "pair t turns at (base·factor²)^(-2t/d); asked for (base·factor^(d/(d-2)))^(-2t/d)",
    ),
    (llama3.Llama3, ROOT, "pair t turns at base^(-2t/d)/√factor"),
    (llama3.Llama3Frequencies, NTK, "pair t turns at (base·factor^(d/(d-2)))^(-2t/d)"),
    (
        dynamic_ntk.DynamicFrequencies,
        DIVIDED,
        "pair t turns at base^(-2t/d)/factor",
    ),
    (position_interpolation.InterpolationBack, THIRD, "every pair turns at 0.333333·base^(-2t/d)"),
    (llama3.Llama3Back, OTHER, "pair t turns at B^(-2t/d), and the base B is 15000 where"),
    (ntk_aware.NtkBack, THIRD, "every pair turns at 0.333333·base^(-2t/d)"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "changed", "words"), SCALED)
def test_a_scaling_is_recovered(steps: type[Mistake], changed: dict[str, Any], words: str) -> None:
    (description,) = said(made(steps, **changed))
    assert words in description


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "changed", "words"), CASES)
def test_a_formula_is_recovered(steps: type[Mistake], changed: dict[str, Any], words: str) -> None:
    assert said(made(steps, **changed)) == {words}


def first_row_last(out: Array) -> None:
    """Replace the last row by the first."""
    out[..., -1, :] = out[..., 0, :]


def waved(out: Array) -> None:
    """Add a small wave, which no rotation adds."""
    wave = 0.01 * np.sin(np.arange(out.size)).reshape(out.shape)
    out += wave.astype(out.dtype)


def one_channel(out: Array) -> None:
    """Negate the first channel."""
    out[..., 0] *= -1


def half_precision(out: Array) -> None:
    """Round to float16."""
    out[...] = out.astype(np.float16)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        (half_precision, "float16"),
        (first_row_last, None),
        (waved, ""),
        (one_channel, ""),
    ],
)
@pytest.mark.parametrize("steps", [item for item, _, _ in CASES if "requencies" not in item.call])
def test_a_result_that_is_no_rotation_gets_no_formula(
    steps: type[Mistake], spoiled: Any, words: str | None
) -> None:
    """There is no description, or one without a rotation."""

    def answer(self: Any, *arguments: Any, **keywords: Any) -> Array:
        out = np.array(steps.answer(self, *arguments, **keywords))
        spoiled(out)
        return out

    if steps is timestep.Times and spoiled is one_channel:
        return  # its first channel by itself, the sine of pair 0, does turn the other way
    verdicts = judge(made(steps, answer=answer), LEVELS)
    assert failed(verdicts)
    texts = {item.outcome.recovered for item in failed(verdicts)}
    if words is None:
        assert not any("turn" in item for item in texts)
        return
    assert all(item.endswith(words) if words else not item for item in texts)
    assert not words or any(texts)


@pytest.mark.slow
def test_a_formula_of_some_calls_is_reported_as_such() -> None:
    """Other answers, which are right, have another formula."""

    def exponents(self: Any, size: int, head_dim: int) -> Array:
        shift = 1.0 if size > 8 else 0.0
        return np.asarray((np.arange(0, size, 2) + 2 * shift) / size)

    (description,) = said(made(rope.Rotary, exponents=exponents))
    assert f"small calls, {LATE}" in description
    assert "others are right" in description


def test_rotations_too_fast_to_be_seen_get_no_number() -> None:
    """Whole turns between two rows are lost."""
    changed = {"angles": lambda self, time, omega, scale: 1000 * scale * np.outer(time, omega)}
    assert said(made(timestep.Times, **changed)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("base", [10000.0, None])
def test_another_combination_is_named(base: float | None) -> None:
    """Whisper's table, claimed as the paper's; once with a fixed base as well."""

    class Table:
        @claims("paper", dtype="float32")
        def sinusoidal(self, positions: Array, dim: int, *, base: float, **_: Any) -> Array:
            omega = (fixed or base) ** (-np.arange(dim // 2) / max(dim // 2 - 1, 1))
            angles = np.multiply.outer(positions, omega.astype(np.float32)).astype(np.float32)
            return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)

    fixed = base
    bad = failed(judge(Table(), LEVELS))
    descriptions = {verdict.outcome.recovered or diagnoses([verdict])[0] for verdict in bad}
    assert len(descriptions) == 1
    if base:
        assert "whisper, with base 10,000" in descriptions.pop()
