"""Mistakes of precision: numbers of positions that are kept too short."""

import ml_dtypes
import numpy as np

from posenc_lab.deployed.engine import Array, Config
from posenc_lab.deployed.outside.cases import CONTEXT, FAR, wrong
from posenc_lab.deployed.outside.right import PrefillInTensorFloat, ProductsInTensorFloat
from posenc_lab.deployed.outside.rounding import short
from posenc_lab.deployed.outside.serving import Served

SHORT = r"(?i)bfloat16|float16|tf32|rounded|bits"
LONG = "float32"
BRAIN, HALF, TENSOR = "bfloat16", "float16", "tf32"
TYPES = {BRAIN: ml_dtypes.bfloat16, HALF: np.float16}


def rounded_to(kind: str, x: Array) -> Array:
    """Round numbers to a type."""
    return short(x) if kind == TENSOR else np.asarray(x.astype(TYPES[kind]).astype(np.float32))


def angles_in(kind: str, dtype: str, context: int, report: str = "") -> None:
    """List an engine that rounds angles."""

    class Rounded(Served):
        chunk = 512

        def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
            frequencies, longer = self.frequencies(layer)
            angle = positions[:, None].astype(np.float32) * frequencies.astype(np.float32)
            angle = rounded_to(kind, angle)
            return longer * np.cos(angle), longer * np.sin(angle)

    name, about = f"angles-in-{kind}-of-{dtype}", f"Rounds angles to {kind}."
    wrong(
        "llama-far",
        f"angles-in-{kind}",
        words=r"(?i)angles?",
        name=name,
        about=about,
        report=report,
        dtype=dtype,
        context=context,
    )(Rounded)


angles_in(BRAIN, LONG, CONTEXT, "EleutherAI/gpt-neox#1003")
angles_in(BRAIN, BRAIN, CONTEXT, "huggingface/transformers#29285")
angles_in(HALF, LONG, CONTEXT, "EleutherAI/gpt-neox#1003")
angles_in(HALF, HALF, FAR, "EleutherAI/gpt-neox#1003")
angles_in(TENSOR, LONG, FAR)


def positions_in(kind: str, dtype: str, context: int, report: str = "") -> None:
    """List an engine that rounds positions."""

    class Rounded(Served):
        chunk = 512

        def positions(self, start: int, count: int, ends: int) -> Array:
            return rounded_to(kind, np.arange(start, start + count).astype(np.float32))

    name, about = f"positions-in-{kind}-of-{dtype}", f"Rounds positions to {kind}."
    wrong(
        "llama-far",
        f"positions-in-{kind if kind != TENSOR else HALF}",
        words=SHORT,
        name=name,
        about=about,
        report=report,
        dtype=dtype,
        context=context,
    )(Rounded)


positions_in(HALF, LONG, FAR, "nkalyanv99/UNI-D2#6")
positions_in(HALF, HALF, FAR, "nkalyanv99/UNI-D2#6")
positions_in(BRAIN, BRAIN, CONTEXT, "nkalyanv99/UNI-D2#6")
positions_in(TENSOR, LONG, FAR, "huggingface/transformers#48428")


def frequencies_in(kind: str, dtype: str, context: int, report: str = "") -> None:
    """List an engine that rounds frequencies."""

    class Rounded(Served):
        chunk = 512

        def frequencies(self, layer: int) -> tuple[Array, float]:
            found, longer = super().frequencies(layer)
            return rounded_to(kind, found), longer

    far = "-far" if context == FAR else ""
    name, about = f"frequencies-in-{kind}-of-{dtype}{far}", f"Rounds frequencies to {kind}."
    wrong(
        "llama-far",
        f"frequencies-in-{kind}",
        words=SHORT,
        name=name,
        about=about,
        report=report,
        dtype=dtype,
        context=context,
    )(Rounded)


frequencies_in(BRAIN, BRAIN, CONTEXT, "sgl-project/sglang-jax#1472")
frequencies_in(BRAIN, BRAIN, FAR, "sgl-project/sglang-jax#1472")
frequencies_in(HALF, HALF, FAR, "huggingface/transformers#25681")
frequencies_in(TENSOR, LONG, CONTEXT, "thinking-machines-lab/batch_invariant_ops#23")


@wrong(
    "llama-far", "angles-in-tf32", words=SHORT, report="huggingface/transformers#48428", context=FAR
)
class ProductInTensorFloat(Served):
    """Multiplies frequencies and positions in TF32."""

    chunk = 512

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        frequencies, longer = self.frequencies(layer)
        angle = short(positions[:, None]) * short(frequencies)
        return longer * np.cos(angle), longer * np.sin(angle)


@wrong("llama-far", "tables-in-bfloat16", words=SHORT, report="KellerJordan/modded-nanogpt#39")
@wrong(
    "llama-far",
    "tables-in-bfloat16",
    words=SHORT,
    report="KellerJordan/modded-nanogpt#39",
    dtype="bfloat16",
    name="tables-in-brain-of-bfloat16",
    unseen="usual where activations are bfloat16: transformers casts cosines and sines",
)
class TablesInBrain(Served):
    """Rounds cosines and sines to bfloat16."""

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        cos, sin = super().angles(positions, layer)
        return rounded_to(BRAIN, cos), rounded_to(BRAIN, sin)


@wrong("llama-far", words=SHORT, context=FAR)
class WrittenPositionsInHalf(Served):
    """Counts words that it writes in float16."""

    chunk = 512

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count).astype(np.float32)
        return np.where(found >= ends, rounded_to(HALF, found), found)


@wrong("llama-far", words=SHORT, context=FAR, doubt="1e-4 rad at 4,000; small but it grows")
class AnglesByAddition(Served):
    """Turns the key of each position by adding its frequency to a sum in float32."""

    chunk = 512

    def load(self) -> None:
        step = self.frequencies(0)[0].astype(np.float32)
        self.sums = np.cumsum(np.tile(step, (9000, 1)), axis=0, dtype=np.float32) - step

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        angle = self.sums[positions]
        return np.cos(angle), np.sin(angle)


@wrong("yarn-betas", words=SHORT, report="ml-explore/mlx-lm#1076")
class ScaledFrequenciesInBrain(Served):
    """Reckons YaRN's ramp in bfloat16."""

    def yarn(self, plain: Array, block: Config) -> Array:
        share = rounded_to(BRAIN, super().yarn(plain, block) / plain)
        return np.asarray(plain * share)


@wrong("mistral", words=SHORT)
class ScoresInBrain(Served):
    """Rounds scores to bfloat16 before their softmax, while all else is float32."""

    def capped(self, x: Array, cap: float | None) -> Array:
        return rounded_to(BRAIN, x) if x.ndim == 3 else x


@wrong("llama-far", words=SHORT)
class KeysInBrain(Served):
    """Keeps keys in bfloat16, which it does not say, while all else is float32."""

    def shortened(self, x: Array) -> Array:
        return rounded_to(BRAIN, x)


@wrong("llama", "rounding-not-claimed", report="huggingface/transformers#48428")
@wrong("qwen3", "rounding-not-claimed", report="huggingface/transformers#48428")
class UnclaimedTensorFloat(ProductsInTensorFloat):
    """Multiplies all matrices in TF32, where float32 was claimed."""


@wrong("llama", "rounding-not-claimed", report="huggingface/transformers#48428")
class UnclaimedTensorFloatInPrefill(PrefillInTensorFloat):
    """Multiplies in TF32 what has several rows, where float32 was claimed."""
