"""The mistake that each golden of chunked attention alone catches."""

from tests.golden_mistakes.common import Mistake
from tests.golden_mistakes.masks import (
    all_visible,
    at_least,
    several_queries_from_zero,
    size_a_power_of_two,
)

MISTAKES: dict[str, Mistake] = {
    "chunk-3": size_a_power_of_two("chunk_size"),
    "chunk-4-decoding": several_queries_from_zero,
    "chunk-1": at_least("chunk_size", 2),
    "chunk-8-of-4-keys": all_visible(
        lambda case: case.arguments["k_len"] < case.arguments["chunk_size"]
    ),
    "chunk-256-one-query": all_visible(lambda case: case.arguments["q_len"] == 1),
}
