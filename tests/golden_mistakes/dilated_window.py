"""The mistake that each golden of dilated windows alone catches."""

from tests.golden_mistakes.common import Mistake
from tests.golden_mistakes.masks import queries_from_zero, size_a_power_of_two, size_altered


def at_most(most: int) -> Mistake:
    """A window that holds no more keys than this."""
    return size_altered("window", lambda window: min(window, most))


MISTAKES: dict[str, Mistake] = {
    "each-side-2-by-2": at_most(1),
    "each-side-1-by-3-decoding": queries_from_zero,
    "before-2-by-3": size_a_power_of_two("dilation"),
    "before-3-by-2-decoding": at_most(2),
    "half-4-by-2": at_most(2),
    "half-2-by-3": size_a_power_of_two("dilation"),
}
