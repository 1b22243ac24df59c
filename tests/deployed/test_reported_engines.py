"""Engines with the mistakes of public reports, rebuilt from their descriptions, and named.

Each wrong engine derives from a right one. A test expects the name of its mistake, or a part of
the description recovered from its results.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.judge.arrays import Array
from posenc_lab.miniatures import model_adapters as known
from posenc_lab.miniatures.model_adapters import FLOATS, Engine
from tests.model_adapters import failures, judged

pytestmark = pytest.mark.remembered(shipped=True)

Config = Mapping[str, Any]
IMAGES = ("qwen2.5-vl-7b", "qwen3-vl-4b")
SHARES = {"qwen2.5-vl-7b": (16, 24, 24), "qwen3-vl-4b": (24, 20, 20)}


class Images(Engine):
    """Rotation by three axes, with sections one after another or interleaved."""

    @claims(models=IMAGES, dtype=FLOATS, max_position=2**24)
    def rotary(self, x: Array, positions: Array, *, config: Config, layer: int) -> Array:
        width = x.shape[-1]
        omega = self.frequencies(config, {"kind": "default"}, layer, width, 0)
        where = self.places(positions, self.axes(config, width // 2))
        angles = where.astype(np.float32) * omega.astype(np.float32)
        cos, sin = np.cos(angles), np.sin(angles)
        first, second = x[..., : width // 2], x[..., width // 2 :]
        turned = [first * cos - second * sin, second * cos + first * sin]
        return np.concatenate(turned, axis=-1).astype(x.dtype)

    def places(self, positions: Array, axes: Array) -> Array:
        return np.asarray(positions[axes].T)

    def interleaves(self, config: Config) -> bool:
        return bool(config["model_type"].startswith("qwen3"))

    def axes(self, config: Config, pairs: int) -> Array:
        block = config.get("rope_scaling") or config["rope_parameters"]
        sections = self.sections(block)
        if not self.interleaves(config):
            return np.repeat([0, 1, 2], sections)
        axis_of_pair = np.zeros(pairs, np.int64)
        for axis in (1, 2):
            axis_of_pair[axis : 3 * sections[axis] : 3] = axis
        return axis_of_pair

    def sections(self, block: Config) -> list[int]:
        return list(block["mrope_section"])


class OneAxis(Images):
    def places(self, positions: Array, axes: Array) -> Array:
        return np.asarray(positions[:1].T)


class SectionsInARow(Images):
    def interleaves(self, config: Config) -> bool:
        return False


class HeightAndWidthSwapped(Images):
    def axes(self, config: Config, pairs: int) -> Array:
        return np.asarray(np.array([0, 2, 1])[super().axes(config, pairs)])


class SlidingAlone(Engine):
    """Rotation of sliding layers only."""

    def rotates(self, config: Config, layer: int) -> bool:
        return self.sliding(config, layer)


class OneLater(Engine):
    def tables(self, positions: Array, omega: Array, factor: float) -> tuple[Array, Array]:
        return super().tables(positions + 1, omega, factor)


class RowsCounted(Engine):
    """Positions replaced by the numbers of rows."""

    def tables(self, positions: Array, omega: Array, factor: float) -> tuple[Array, Array]:
        return super().tables(np.arange(len(positions)), omega, factor)


class TableOfMany(Engine):
    """A table of 65,536 positions that wraps around."""

    def tables(self, positions: Array, omega: Array, factor: float) -> tuple[Array, Array]:
        return super().tables(positions % 65536, omega, factor)


class OtherSign(Engine):
    def tables(self, positions: Array, omega: Array, factor: float) -> tuple[Array, Array]:
        return super().tables(-positions, omega, factor)


class DividedByTheFactor(Engine):
    """All frequencies divided by the factor of Llama 3.1's scaling."""

    def llama3(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        return omega / self.factor(config, block)


class LargerBase(Engine):
    """NTK-aware scaling in place of Llama 3.1's."""

    def llama3(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        count = len(omega)
        grown = self.factor(config, block) ** (2 * count / (2 * count - 2))
        return np.asarray((self.base(config, 0) * grown) ** -(np.arange(count) / count))


class FactorOfPositions(Engine):
    """Positions multiplied by the factor, not divided."""

    def linear(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        return omega * self.factor(config, block)


class RampUpsideDown(Engine):
    def yarn(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        right = super().yarn(omega, config, block, length)
        return omega + omega / self.factor(config, block) - right


class ExponentOfHalf(Engine):
    """Exponents t/d, the index of a pair over the number of channels, instead of 2t/d."""

    def frequencies(self, config: Any, block: Any, layer: int, width: int, length: int) -> Array:
        return np.asarray(self.base(config, layer) ** (-np.arange(width // 2) / width))


class NothingOfTheBlock(Engine):
    """Neither base nor scaling read from the configuration."""

    def block(self, config: Config, layer: int) -> dict[str, Any]:
        return {"kind": "default"}

    def base(self, config: Config, layer: int) -> float:
        return 10000.0


class NeitherScalingNorLayout(known.ScalingIgnored):
    def interleaved(self, config: Config) -> bool:
        return not super().interleaved(config)


class ScaledOnce(Engine):
    """YaRN's scaling factor used as its attention factor."""

    def attention_factor(self, config: Config, block: Config) -> float:
        return self.factor(config, block) if block["kind"] == "yarn" else 1.0


class AnglesInShort(Engine):
    """Angles in bfloat16."""

    def tables(self, positions: Array, omega: Array, factor: float) -> tuple[Array, Array]:
        import ml_dtypes

        angles = (positions[:, None] * omega).astype(ml_dtypes.bfloat16).astype(np.float32)
        return np.cos(angles) * np.float32(factor), np.sin(angles) * np.float32(factor)


class OtherBase(Engine):
    def base(self, config: Config, layer: int) -> float:
        return 2 * super().base(config, layer)


@dataclass(frozen=True)
class Reported:
    """A wrong engine, the models on which it is judged, and the expected words."""

    made: type[Engine]
    models: tuple[str, ...]
    said: str
    right: type[Engine] = Engine


GEMMA, SCALED = "gemma-3-4b", ("llama-3.1-8b", "llama-3.2-1b")
REPORTED: Mapping[str, Reported] = {
    "neither block nor base is read where they stand": Reported(
        known.ReadsTheNewPlace, SCALED, "new-place-read"
    ),
    "neither block nor base is read": Reported(
        NothingOfTheBlock, SCALED, "scaling-ignored+base-ignored"
    ),
    "type for rope_type": Reported(known.ReadsType, SCALED, "type-read"),
    "rope_type for type": Reported(known.ReadsRopeType, ("phi-3.5-mini",), "rope-type-read"),
    "no scaling": Reported(known.ScalingIgnored, (*SCALED, "deepseek-v3"), "scaling-ignored"),
    "no scaling, and channels of the other layout": Reported(
        NeitherScalingNorLayout, ("llama-3.1-8b",), "scaling-ignored+layout-swapped"
    ),
    "the factor of another model": Reported(
        known.FactorEight, ("llama-3.2-1b",), "factor-of-another-model"
    ),
    "the extended context": Reported(
        known.ExtendedContext, ("llama-3.1-8b",), "wrong-context-length"
    ),
    "all frequencies divided": Reported(DividedByTheFactor, SCALED, "all-divided"),
    "a larger base instead": Reported(LargerBase, SCALED, "(base·factor^(d/(d-2)))"),
    "positions multiplied": Reported(FactorOfPositions, (GEMMA,), "multiplied"),
    "a ramp upside down": Reported(RampUpsideDown, ("deepseek-v3", "ministral-3-3b"), "ramp"),
    "a ramp rounded": Reported(known.RampRounded, ("gpt-oss-20b",), "ramp-rounded"),
    "pairs no longer": Reported(known.FactorMissing, ("gpt-oss-20b",), "attention-factor-missing"),
    "pairs longer twice": Reported(known.FactorTwice, ("gpt-oss-20b",), "attention-factor-twice"),
    "pairs longer by the factor itself": Reported(
        ScaledOnce, ("gpt-oss-20b", "deepseek-v3"), "times as long as they should be"
    ),
    "mscale not read": Reported(known.MscaleIgnored, ("deepseek-v3",), "mscale-ignored"),
    "LongRoPE's factor through a logarithm": Reported(
        known.FactorThroughLogarithm, ("phi-3.5-mini",), "attention-factor-through-logarithm"
    ),
    "the long list always": Reported(known.LongFromTheStart, ("phi-3.5-mini",), "long-list-always"),
    "the long list at the border": Reported(
        known.LongAtTheBorder, ("phi-3.5-mini",), "long-list-early"
    ),
    "the short list always": Reported(known.NeverLong, ("phi-3.5-mini",), "short-list-always"),
    "nothing rotated": Reported(
        known.NothingRotated,
        ("deepseek-v3", "ministral-3-3b", "llama-3.1-8b", "gpt-oss-20b", "phi-3.5-mini", GEMMA),
        "unrotated",
    ),
    "sliding layers alone rotated": Reported(SlidingAlone, (GEMMA, "gemma-4-e2b"), "unrotated"),
    "scaled on the wrong layers": Reported(
        known.ScalesLocalLayers, (GEMMA,), "scaling-on-other-layers"
    ),
    "the base of full layers everywhere": Reported(
        known.GlobalEverywhere, (GEMMA, "modernbert-base"), "global-base-everywhere"
    ),
    "the base of sliding layers everywhere": Reported(
        known.LocalEverywhere, (GEMMA, "modernbert-base"), "local-base-everywhere"
    ),
    "layers one late": Reported(known.OneLayerLate, (GEMMA,), "layers-mistaken"),
    "layers without positions rotated": Reported(
        known.AlwaysRotates, ("llama-4-scout",), "unrotated-layers-rotated"
    ),
    "all channels rotated": Reported(known.WholeHead, ("pythia-70m",), "partial-ignored"),
    "a share of the channels of p-RoPE": Reported(
        known.ShareOfChannels, ("gemma-4-e2b",), "share-of-channels"
    ),
    "the share applied twice": Reported(known.ShareTwice, ("pythia-70m",), "share-twice"),
    "the size of a head computed": Reported(
        known.HeadDimComputed, ("qwen3-0.6b",), "head-dim-computed"
    ),
    "the layout of the other": Reported(known.LayoutSwapped, SCALED, "layout-swapped"),
    "the usual base": Reported(known.BaseIgnored, ("qwen3-0.6b",), "base-ignored"),
    "twice the base": Reported(OtherBase, ("qwen3-0.6b",), "wrong-base"),
    "positions one later": Reported(OneLater, ("qwen3-0.6b", "llama-3.1-8b"), "positions-shifted"),
    "rows counted": Reported(RowsCounted, SCALED, "rows stand at 0, 1, 2"),
    "a table that begins anew": Reported(TableOfMany, SCALED, "at 0 after every 65536"),
    "the other sign": Reported(OtherSign, SCALED, "sign-flipped"),
    "an exponent of half the size": Reported(ExponentOfHalf, ("qwen3-0.6b",), "exponent"),
    "angles in bfloat16": Reported(AnglesInShort, ("llama-3.1-8b",), "low-precision-angles"),
    "one axis for all": Reported(OneAxis, IMAGES, "one-axis-for-all", Images),
    "sections in a row": Reported(SectionsInARow, ("qwen3-vl-4b",), "allocation-swapped", Images),
    "height and width swapped": Reported(HeightAndWidthSwapped, IMAGES, "swapped", Images),
    "no bias": Reported(known.NoBias, ("bloom",), "bias-missing"),
    "slopes of a rank": Reported(known.SlopesOfARank, ("bloom",), "slopes-of-a-rank"),
}


def words(reported: Reported) -> list[str]:
    """Return by failed check the name of the mistake, or the recovered description."""
    outcomes = [result.outcome for _, result in failures(reported.made(), *reported.models)]
    return [
        result.explanations[0][0] if result.explanations else f"read: {result.recovered}"
        for result in outcomes
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTED)
def test_a_reported_engine_is_rejected_and_named(name: str) -> None:
    names = words(REPORTED[name])
    assert names
    listed = [
        wrong for wrong in names if wrong == "layers-mistaken"
    ]  # it lists every layer concerned
    best = listed[0] if listed else Counter(names).most_common(1)[0][0]
    assert REPORTED[name].said in best, names


@pytest.mark.slow
@pytest.mark.parametrize("made", [Engine, Images])
def test_the_right_engines_behind_them_pass(made: type[Engine]) -> None:
    names = {model for entry in REPORTED.values() if entry.right is made for model in entry.models}
    outcomes = judged(made(), *names)
    assert {id.split()[0] for id, _ in outcomes} == names
    assert not [entry.text for _, entry in outcomes if entry.verdict != "passed"]
