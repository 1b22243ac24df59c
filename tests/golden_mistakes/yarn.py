"""The mistake that each golden of YaRN alone catches."""

from dataclasses import replace

import numpy as np

from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.yarn import ROTATION, Recipe, curves, longer, recipe
from tests.golden_mistakes.common import (
    Mistake,
    last_row_missing,
    no_gradient_beyond,
    positions_altered,
    right,
    turned_forward,
    zero_taken_for_one,
)

numbered_from_first = positions_altered(lambda p: p[0] + np.arange(len(p)))


def another_ramp(ramp: str) -> Mistake:
    """The result of another ramp."""
    return lambda case: case.changed().under(ramp=ramp).truth


def of_recipe(case: Case, asked: Recipe) -> Array:
    """The result of another recipe of frequencies."""
    if case.call.kind == "frequencies":
        return curves(asked).frequencies
    return ROTATION.turned(case, ROTATION.places(case) * curves(asked).frequencies)


def end_clamped_to_pairs(case: Case) -> Array:
    """The ramp ends at the last pair at most."""
    asked = recipe(case)
    return of_recipe(case, replace(asked, last=asked.size // 2 - 1))


def pairs_of_halves(case: Case) -> Array:
    """Channels t and t + r/2 where neighbours are meant."""
    return case.changed().under(layout="half").truth


def bounds_of_head_dim(case: Case) -> Array:
    """The ramp of the whole head."""
    head_dim = case.arguments["x"].shape[-1]
    return of_recipe(case, replace(recipe(case), bounds_size=head_dim, last=head_dim - 1))


def equal_bounds_not_moved(case: Case) -> Array:
    """0 / 0 for the only pair, where the ramp both begins and ends."""
    low, high = recipe(case).bounds
    return right(case) * (np.nan if high - low < 0.01 else 1.0)


def made_longer(case: Case) -> Array:
    """By 0.1 ln(factor) + 1, where nothing is."""
    return case.changed().under(temperature="scaled").truth


def factor_1_taken_for_none(case: Case) -> Array:
    """The derived factor of length where it should be 1."""
    given = case.arguments["attention_factor"]
    return case.changed(attention_factor=None if given == 1 else given).truth


def multiplied_unless_1(case: Case) -> Array:
    """The derived factor of length on top of a given one that is not 1."""
    given = case.arguments["attention_factor"]
    derived = 0.1 * np.log(case.arguments["factor"]) + 1
    return case.changed(attention_factor=given if given == 1 else given * derived).truth


def mscales_exchanged(case: Case) -> Array:
    """The fraction upside down."""
    above, below = case.arguments["mscale"], case.arguments["mscale_all_dim"]
    return case.changed(mscale=below, mscale_all_dim=above).truth


def equal_mscales_taken_for_none(case: Case) -> Array:
    """The derived factor of length where the fraction is 1."""
    if case.arguments["mscale"] == case.arguments["mscale_all_dim"]:
        return case.changed(mscale=None, mscale_all_dim=None).truth
    return right(case)


def inverse(case: Case) -> Array:
    """Pairs made shorter where they should be made longer."""
    return right(case) / longer(case) ** 2


def factor_left_out(case: Case) -> Array:
    """Pairs that keep their length."""
    return right(case) / longer(case)


MISTAKES: dict[str, Mistake] = {
    "paper-frequencies-llama-2-64k": another_ramp("index"),
    "code-frequencies-llama-2-64k": another_ramp("rotations"),
    "gpt-oss-frequencies": another_ramp("index"),
    "untruncated-frequencies-base-50": end_clamped_to_pairs,
    "paper-d2-start": zero_taken_for_one,
    "paper-head128-64k": another_ramp("index"),
    "by-parts-d8": made_longer,
    "half-d2-start": zero_taken_for_one,
    "yarn-llama-2-7b-64k": another_ramp("rotations"),
    "half-head64-131071": last_row_missing(131072),
    "half-batch-unsorted": numbered_from_first,
    "half-head64-rotary32": bounds_of_head_dim,
    "half-attention-factor-1": factor_1_taken_for_none,
    "half-attention-factor": multiplied_unless_1,
    "deepseek-v2-head64": pairs_of_halves,
    "interleaved-mscale": mscales_exchanged,
    "equal-bounds-d2": equal_bounds_not_moved,
    "deepseek-v3-mscale": equal_mscales_taken_for_none,
    "gpt-oss-head64": another_ramp("index"),
    "vjp-half-d4": inverse,
    "vjp-half-d6-rotary4": no_gradient_beyond,
    "vjp-half-attention-factor": factor_left_out,
    "vjp-interleaved-d4": turned_forward,
    "vjp-interleaved-mscale": mscales_exchanged,
    "vjp-gpt-oss-d8": another_ramp("index"),
}
