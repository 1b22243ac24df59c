"""The mistake that each golden of LongRoPE alone catches."""

from collections.abc import Callable

import numpy as np

from posenc_conformance.families.rotary import progression, rotary_dim
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.case import Case
from posenc_conformance.schemes.longrope import ROTATION, longer
from tests.golden_mistakes.common import (
    Mistake,
    last_row_missing,
    no_gradient_beyond,
    right,
)


def frequencies_altered(alter: Callable[[Array, Array], Array]) -> Mistake:
    """Frequencies that follow otherwise from those of RoPE and the factors."""

    def mistake(case: Case) -> Array:
        factors = case.arguments["factors"]
        plain = progression(case.arguments["base"], 2 * len(factors))
        return right(case) if len(factors) == 1 else alter(plain, factors)

    return mistake


def single_pair_undivided(case: Case) -> Array:
    """The factor of a single pair not applied."""
    return np.ones(1) if len(case.arguments["factors"]) == 1 else right(case)


def long_from_one_less(case: Case) -> Array:
    """The long factors from a length of L on, not of L + 1."""
    given = case.arguments
    reached = np.max(given["positions"]) + 1 == given["original_max_position_embeddings"]
    factors = given["long_factors" if reached else "short_factors"]
    return case.changed(short_factors=factors).truth


def by_row(case: Case) -> Array:
    """Each row with the factors of its own position."""
    given = case.arguments
    far = given["positions"][:, None] >= given["original_max_position_embeddings"]
    factors = np.where(far, given["long_factors"], given["short_factors"])
    plain = progression(given["base"], rotary_dim(case))
    return ROTATION.turned(case, given["positions"][:, None] * plain / factors)


def shortened_below_1(case: Case) -> Array:
    """√(1 + ln s / ln L) for any s."""
    given = case.arguments
    grown = np.log(given["factor"]) / np.log(given["original_max_position_embeddings"])
    return right(case) * (np.sqrt(1 + grown) / longer(case))


def rest_made_longer(case: Case) -> Array:
    """The factor of length on all channels."""
    out = right(case)
    out[..., case.arguments["rotary_dim"] :] *= longer(case)
    return out


def short_in_short_texts(case: Case) -> Array:
    """Factors chosen by length."""
    return case.changed().under(choice="length").truth


def factors_always(name: str) -> Mistake:
    """One list of factors, whatever the positions."""

    def mistake(case: Case) -> Array:
        both = ("short_factors", "long_factors")
        return case.changed(**dict.fromkeys(both, case.arguments[name])).truth

    return mistake


def inverse(case: Case) -> Array:
    """Pairs made shorter where they should be made longer."""
    return right(case) / longer(case) ** 2


def factor_left_out(case: Case) -> Array:
    """Pairs that keep their length."""
    return right(case) / longer(case)


MISTAKES: dict[str, Mistake] = {
    "phi-3-frequencies-d8": frequencies_altered(lambda plain, factors: plain * factors),
    "frequencies-d2": single_pair_undivided,
    "phi-3-d2-short": long_from_one_less,
    "phi-3-d8-long": by_row,
    "phi-3-shrunk": shortened_below_1,
    "phi-4-mini-rotary8": rest_made_longer,
    "phi-3-attention-factor": lambda case: case.changed(attention_factor=None).truth,
    "long-d8": short_in_short_texts,
    "long-131071": last_row_missing(131072),
    "long-yarn-d8": lambda case: case.changed().under(amplitude="su").truth,
    "vjp-phi-3-short": factors_always("long_factors"),
    "vjp-phi-3-long": factors_always("short_factors"),
    "vjp-phi-3-d6-rotary4": no_gradient_beyond,
    "vjp-phi-3-attention-factor": factor_left_out,
    "vjp-long-d4": inverse,
}
