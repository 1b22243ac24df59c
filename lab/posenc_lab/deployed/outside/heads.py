"""Mistakes in one head, one pair, or in what belongs to which head."""

import numpy as np

from posenc_lab.deployed.engine import Array, Cache, Config
from posenc_lab.deployed.outside.cases import wrong
from posenc_lab.deployed.outside.serving import Served

HEAD = r"(?i)heads?"
PAIR = r"(?i)pairs?|channel"


def one_head(which: str, what: str, base: float | None, report: str = "") -> None:
    """List an engine that turns one head of queries or of keys otherwise."""

    class Wrong(Served):
        def turned(self, x: Array, places: Array, layer: int) -> Array:
            """Turn all heads, and one of them otherwise."""
            found = super().rotate(x, places, layer)
            bad = {"first": 0, "second": 1, "last": len(x) - 1}[which]
            self.now.other = True
            found[bad] = x[bad] if base is None else super().rotate(x, places, layer)[bad]
            self.now.other = False
            return found

        def scaling(self, layer: int) -> Config:
            found = super().scaling(layer)
            return {**found, "rope_theta": base} if self.now.other and base else found

        def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
            if what == "keys":
                return super().turn_query(x, positions, layer)
            return self.turned(x, positions, layer)

        def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
            if what == "queries":
                return super().turn_key(x, positions, layer)
            return self.turned(x, positions, layer)

    how = "does not turn" if base is None else f"turns by base {base:,.0f}"
    name = f"{which}-head-of-{what}-{'unturned' if base is None else 'of-other-base'}"
    wrong(
        "llama",
        "keys-not-turned" if name == "first-head-of-keys-unturned" else "",
        words=HEAD,
        name=name,
        about=f"{how.capitalize()} the {which} head of {what}.",
        report=report,
    )(Wrong)


one_head("first", "queries", None)
one_head("second", "queries", None)
one_head("last", "queries", None)
one_head("last", "keys", None)
one_head("first", "keys", None)
one_head("last", "queries", 10000.0)


def one_pair(which: str, how: str) -> None:
    """List an engine that turns one pair otherwise."""

    class Wrong(Served):
        def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
            cos, sin = super().angles(positions, layer)
            bad = {"first": 0, "second": 1, "middle": cos.shape[1] // 2, "last": -1}[which]
            cos, sin = cos.copy(), sin.copy()
            if how == "unturned":
                cos[:, bad], sin[:, bad] = 1, 0
            elif how == "backwards":
                sin[:, bad] *= -1
            else:
                cos[:, bad], sin[:, bad] = cos[:, bad - 1], sin[:, bad - 1]
            return cos, sin

    about = {
        "unturned": "Does not turn the {} pair of each head.",
        "backwards": "Turns the {} pair of each head the other way.",
        "as-its-neighbour": "Turns the {} pair of each head by the angle of the one before.",
    }[how].format(which)
    wrong("llama", words=PAIR, name=f"{which}-pair-{how}", about=about)(Wrong)


one_pair("first", "unturned")
one_pair("last", "unturned")
one_pair("middle", "unturned")
one_pair("second", "backwards")
one_pair("last", "backwards")
one_pair("last", "as-its-neighbour")
one_pair("middle", "as-its-neighbour")


@wrong("llama", words=PAIR)
class LastPairOfKeysUnturned(Served):
    """Does not turn the last pair of keys, in queries it does."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        found = super().turn_key(x, positions, layer)
        for channel in (self.size // 2 - 1, self.size - 1):
            found[..., channel] = x[..., channel]
        return found


# What belongs to which head.


@wrong("llama", "heads-wrong scores-zero values-missing", words=HEAD, report="nntile/nntile#347")
@wrong(
    "llama-wide", "heads-wrong scores-zero values-missing", words=HEAD, report="nntile/nntile#347"
)
class HeadsOfKeysInTurn(Served):
    """Gives heads the keys and values of heads 0, 1, 0, 1 in place of 0, 0, 1, 1."""

    def spread(self, x: Array) -> Array:
        return np.tile(x, (self.heads // self.kv_heads, 1, 1))


@wrong("llama", "heads-wrong scores-zero values-missing", words=HEAD)
class KeysInTurnValuesInBlocks(Served):
    """Gives heads keys in another order than values."""

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        self.now.calls = 0
        return super().attention(x, layer, where, cache)

    def spread(self, x: Array) -> Array:
        self.now.calls += 1
        group = self.heads // self.kv_heads
        return np.tile(x, (group, 1, 1)) if self.now.calls == 1 else super().spread(x)


@wrong(
    "llama",
    "heads-wrong scores-zero values-missing",
    words=HEAD,
    report="InfiniTensor/InfiniCore#1128",
)
class LastHeadOfAnother(Served):
    """Gives the last head the keys and values of the first head of keys."""

    def spread(self, x: Array) -> Array:
        found = super().spread(x)
        found[-1] = x[0]
        return found


@wrong(
    "llama",
    "heads-wrong scores-zero values-missing",
    words=HEAD,
    report="vllm-project/tpu-inference#1429",
)
class OneHeadOfKeysForAll(Served):
    """Gives all heads the first head of keys, as a rank does that has no other."""

    def spread(self, x: Array) -> Array:
        return np.repeat(x[:1], self.heads, axis=0)


@wrong(
    "llama",
    "heads-wrong scores-zero values-missing",
    words=HEAD,
    report="aws-neuron/aws-neuron-sdk#1289",
)
class HeadsOfKeysExchanged(Served):
    """Gives the first half of heads the second head of keys, and the other way round."""

    def spread(self, x: Array) -> Array:
        return super().spread(x[::-1])


@wrong(
    "llama", "heads-wrong scores-zero values-missing", words=HEAD, report="alibaba/ChatLearn#277"
)
class QueriesOfRanksExchanged(Served):
    """Loads the query heads of each of two ranks into the other one."""

    def load(self) -> None:
        for name, weight in self.weights.items():
            if name.endswith("q_proj.weight"):
                self.weights[name] = np.roll(weight, len(weight) // 2, axis=0)


@wrong(
    "llama", "heads-wrong scores-zero values-missing", words=HEAD, report="sgl-project/sglang#19086"
)
class KeysOfRanksExchanged(Served):
    """Loads the key heads of each of two ranks into the other one, and values rightly."""

    def load(self) -> None:
        for name, weight in self.weights.items():
            if name.endswith("k_proj.weight"):
                self.weights[name] = np.roll(weight, len(weight) // 2, axis=0)


@wrong("llama", "heads-wrong scores-zero values-missing", words=HEAD, report="awslabs/slapo#46")
class QueriesSplitByChannel(Served):
    """Takes channels of heads in turn: the first head has every fourth channel of queries."""

    def load(self) -> None:
        for name, weight in self.weights.items():
            if name.endswith("q_proj.weight"):
                by_head = weight.reshape(self.size, self.heads, -1)
                self.weights[name] = by_head.swapaxes(0, 1).reshape(weight.shape)


class Fused(Served):
    """Has one matrix for queries, keys and values, and splits it."""

    def load(self) -> None:
        for layer in range(self.layers):
            place = f"model.layers.{layer}.self_attn"
            whole = self.weights[f"{place}.qkv_proj.weight"]
            for name, part in zip("qkv", self.split_of(whole), strict=True):
                self.weights[f"{place}.{name}_proj.weight"] = part

    def split_of(self, whole: Array) -> list[Array]:
        """Return the weights of queries, keys and values."""
        width = self.heads * self.size
        return np.split(whole, [width, width + self.kv_heads * self.size])


@wrong("phi3", "scores-zero values-missing", words=HEAD, report="NVIDIA-NeMo/RL#2802")
class FusedByGroups(Fused):
    """Takes the rows of the fused matrix for groups of queries, key and value."""

    def split_of(self, whole: Array) -> list[Array]:
        group = self.heads // self.kv_heads
        rows = whole.reshape(self.kv_heads, group + 2, self.size, -1)
        parts = (rows[:, :group], rows[:, group : group + 1], rows[:, group + 1 :])
        return [part.reshape(-1, whole.shape[1]) for part in parts]


@wrong("phi3", "scores-zero values-missing", words=HEAD)
class FusedKeysAfterValues(Fused):
    """Takes keys for values, and values for keys."""

    def split_of(self, whole: Array) -> list[Array]:
        query, key, value = super().split_of(whole)
        return [query, value, key]


@wrong("phi3", "scores-zero values-missing", words=HEAD, report="tenstorrent/tt-metal#38321")
class FusedByThirds(Fused):
    """Begins keys one head too late, since it counts a head more of queries."""

    def split_of(self, whole: Array) -> list[Array]:
        query, _, value = super().split_of(whole)
        late = (self.heads + 1) * self.size
        return [query, whole[late : late + self.kv_heads * self.size], value]
