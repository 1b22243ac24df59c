"""DeepSeek's multi-head latent attention: queries, keys and values through low-rank layers."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from posenc_conformance.deployed.architectures.tensor_layout import Tensor
from posenc_conformance.deployed.instrument import HEADS, Instrument, Rows, dense
from posenc_conformance.models.configuration import Fields

QUERY_RANK = 128
"""Channels of the low-rank layer of queries, one for each pair."""
INTO = 16.0
"""Weight of projections into low-rank layers: their outputs are so large that the eps of the norms
there hardly matters, which differs between engines."""
DEFAULTS: Mapping[str, int] = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "v_head_dim": 128}
"""Sizes in DeepSeek's models, for configurations that do not state them."""


@dataclass(frozen=True)
class Latent:
    """The sizes of latent attention."""

    rank: int
    """Channels of the low-rank layer of values and of the unrotated channels of keys."""
    query_rank: int | None
    """Channels of the low-rank layer of queries, if there is one."""
    still: int
    """Unrotated channels of a head."""
    value: int
    """Channels of a head's values."""
    turned: int

    @property
    def head_dim(self) -> int:
        """All channels of a head."""
        return self.still + self.turned

    def query(self, read: float, eps: float) -> float:
        """Compute the size of a query from the size of the channel that it is projected from."""
        if self.query_rank is None:
            return read
        made = INTO * read
        return made / math.sqrt(made**2 / self.query_rank + eps)

    def value_of(self, part: float, read: float, eps: float) -> float:
        """Compute the size of a value after the norm of the low-rank layer.

        Next to it is a channel that all tokens have; ``part`` is the value's size in units of that
        one.
        """
        made = INTO * read
        return part * made / math.sqrt((1 + part**2) * made**2 / self.rank + eps)

    def tensors(
        self, place: str, plan: Instrument, layer: int, key: float, value: float
    ) -> Iterator[Tensor]:
        """Yield the attention tensors of a layer, for given weights of keys and of values."""
        yield from self._queries(place, plan)
        into: Rows = {self.rank + first: {plan.key: key} for first, _ in plan.pairs} | {
            2: {plan.padding: INTO}
        }
        out_of: Rows = {}
        for neutral in (0, 1):
            into[neutral] = {plan.value(layer, neutral=bool(neutral)): INTO}
            for head in range(HEADS):
                row = head * (self.still + self.value) + self.still + neutral
                out_of[row] = {neutral: value}
        narrow = (self.rank + self.turned, plan.hidden)
        yield f"{place}.kv_a_proj_with_mqa.weight", dense(narrow, into)
        yield f"{place}.kv_a_layernorm.weight", np.ones(self.rank)
        wide = (plan.heads * (self.still + self.value), self.rank)
        yield f"{place}.kv_b_proj.weight", dense(wide, out_of)

    def _queries(self, place: str, plan: Instrument) -> Iterator[Tensor]:
        """Yield the projections of queries: each pair in a channel of each of the two heads."""
        rows: Rows = {}
        for number, (first, second) in enumerate(plan.pairs):
            rows[self.still + first] = {number: 1.0}
            rows[self.head_dim + self.still + second] = {number: 1.0}
        count = plan.heads * self.head_dim
        if self.query_rank is None:
            yield f"{place}.q_proj.weight", dense((count, plan.hidden), rows)
            return
        pairs: Rows = {number: {number: INTO} for number in range(len(plan.pairs))}
        yield f"{place}.q_a_proj.weight", dense((self.query_rank, plan.hidden), pairs)
        yield f"{place}.q_a_layernorm.weight", np.ones(self.query_rank)
        yield f"{place}.q_b_proj.weight", dense((count, self.query_rank), rows)


def fields_of(raw: Fields, layers: int) -> dict[str, int]:
    """Return fields of a probe's configuration: sizes, and that no layer has experts."""
    sizes = {name: raw.get(name) or usual for name, usual in DEFAULTS.items()}
    ranked = {"q_lora_rank": QUERY_RANK} if raw.get("q_lora_rank", QUERY_RANK) else {}
    return {**sizes, **ranked, "first_k_dense_replace": layers}


def latent_of(config: Fields) -> Latent:
    """Return the sizes in the configuration of a probe."""
    return Latent(
        config["kv_lora_rank"],
        config.get("q_lora_rank"),
        config["qk_nope_head_dim"],
        config["v_head_dim"],
        config["qk_rope_head_dim"],
    )
