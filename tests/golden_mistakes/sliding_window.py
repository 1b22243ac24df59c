"""The mistake that each golden of sliding windows alone catches."""

from tests.golden_mistakes.common import Mistake
from tests.golden_mistakes.masks import (
    at_least,
    later_keys_hidden_in_squares,
    queries_from_zero,
    size_a_power_of_two,
    size_altered,
)

MISTAKES: dict[str, Mistake] = {
    "keys-3": size_a_power_of_two("window"),
    "keys-2-decoding": queries_from_zero,
    "keys-1": at_least("window", 2),
    "before-3": size_a_power_of_two("window"),
    "before-2-decoding": queries_from_zero,
    "before-0": size_altered("window", lambda window: window or 10**6),
    "each-side-1": later_keys_hidden_in_squares,
    "each-side-2-decoding": queries_from_zero,
    "half-4": later_keys_hidden_in_squares,
    "half-2-decoding": queries_from_zero,
}
