"""Mistakes from some place of a text on: tables that end, and counters that do."""

from collections.abc import Callable, Iterator, Mapping

import ml_dtypes
import numpy as np

from posenc_lab.deployed.engine import Array, Cache
from posenc_lab.deployed.outside.cases import CONTEXT, FAR, right, wrong
from posenc_lab.deployed.outside.serving import Served, Text

FROM = r"(?i)(beyond|from|end|after|table|row|position)s? .*\d"
WIDE = 8448
"""A context that reaches beyond 8,192."""
Rule = Callable[[Array, int], Array]


def unturned(where: Array, end: int) -> Array:
    """Return 0 for positions beyond an end."""
    return where * (where < end)


def clamped(where: Array, end: int) -> Array:
    """Return the last position before an end for those beyond."""
    return np.minimum(where, end - 1)


def anew(where: Array, end: int) -> Array:
    """Return positions that begin again at an end."""
    return where % end


def restarting(where: Array, end: int) -> Array:
    """Return positions that begin again at an end, once."""
    return np.asarray(where - end * (where >= end))


HOW: Mapping[Rule, str] = {
    unturned: "leaves as they are",
    clamped: "turns to the last position before",
    anew: "counts anew from",
    restarting: "counts from 0 behind",
}


def beyond(part: str, rule: Rule, end: int, context: int, report: str = "") -> None:
    """List an engine that treats keys, queries or both otherwise from some place on."""

    class Beyond(Served):
        chunk = 512

        def key_places(self, where: Array, layer: int) -> Array:
            return rule(where, end) if part != "queries" else where

        def query_places(self, where: Array, layer: int) -> Array:
            return rule(where, end) if part != "keys" else where

    ids = {"both": "original-context chunks-restart", "keys": "", "queries": ""}[part]
    what = "keys and queries" if part == "both" else part
    wrong(
        "llama-far",
        ids,
        words=FROM,
        name=f"{part}-{rule.__name__}-at-{end}",
        about=f"{HOW[rule].capitalize()} {end:,}: {what}.",
        report=report,
        context=context,
    )(Beyond)


for part, rule, end, context, report in (
    ("keys", unturned, 300, CONTEXT, ""),
    ("keys", unturned, 600, CONTEXT, ""),
    ("keys", clamped, 512, CONTEXT, ""),
    ("keys", clamped, 600, CONTEXT, ""),
    ("keys", anew, 512, CONTEXT, ""),
    ("keys", restarting, 300, CONTEXT, ""),
    ("queries", unturned, 512, CONTEXT, ""),
    ("queries", clamped, 600, CONTEXT, ""),
    ("queries", anew, 512, CONTEXT, ""),
    ("both", clamped, 600, CONTEXT, ""),
    ("both", anew, 300, CONTEXT, ""),
    ("keys", unturned, 2048, FAR, ""),
    ("keys", clamped, 2048, FAR, ""),
    ("keys", anew, 1024, FAR, ""),
    ("keys", restarting, 4096, FAR, "pegainfer-project/pegainfer#220"),
    ("both", clamped, 2048, FAR, "vllm-project/vllm-ascend#1266"),
    ("both", anew, 2048, FAR, ""),
    ("both", unturned, 4096, FAR, "pegainfer-project/pegainfer#253"),
    ("both", clamped, 4096, WIDE, "pegainfer-project/pegainfer#220"),
    ("queries", clamped, 4096, WIDE, ""),
):
    beyond(part, rule, end, context, report)


@wrong("llama-far", words=r"(?i)(middle|drop|seen|evict)")
class DropsTheMiddle(Served):
    """Sees the first 4 tokens and the last 512, and says nothing of it."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        return np.asarray(found & ((keys < 4) | (queries[:, None] - keys < 512)))


@wrong("llama-far", words=r"(?i)(begin|cut|lost|seen|short)")
class CutsLongPrompts(Served):
    """Drops the first tokens of a prompt of more than 700, and says nothing of it."""

    def complete(self, prompt: Text, steps: int) -> Iterator[dict[str, float]]:
        return super().complete([*prompt][-700:], steps)


@wrong("llama-far", words=r"(?i)(lost|seen|row|place)")
class LosesRowFiveHundred(Served):
    """Writes the key of position 500 to nowhere."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return np.asarray(super().turn_key(x, positions, layer) * (positions != 500)[:, None])


@wrong("llama-far", words=r"(?i)(lost|value|row|place)")
class LosesValuesAtPages(Served):
    """Keeps the values of the first row of each page of 64 in the row before."""

    def given(self, prompt: Text, cache: Cache) -> Array:
        logits = super().given(prompt, cache)
        for values in cache.values.values():
            values[:, 63:-1:64] = values[:, 64::64][:, : values[:, 63:-1:64].shape[1]]
        return logits


PAGE = 16
"""Keys in a page of a cache."""


class Paged(Served):
    """Keeps keys in pages; ``rows`` says which keys of a text each row holds."""

    def rows(self, positions: Array) -> Array:
        """Return the row of a text whose key a row holds, for each of these positions."""
        return np.arange(len(positions))

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        turned = super().turn_key(x, positions, layer)
        return np.asarray(turned[:, self.rows(positions)])


def page_twice(start: int) -> type[Paged]:
    """Keep the keys of one page in the next one too, which loses those of that."""

    class PageTwice(Paged):
        def rows(self, positions: Array) -> Array:
            of_next = (positions >= start) & (positions < start + PAGE)
            rows = super().rows(positions)
            return np.where(of_next & (rows >= PAGE), rows - PAGE, rows)

    return PageTwice


for start in (400, 900):
    wrong(
        "llama-far",
        "keys-lost keys-misplaced",
        words=r"(?i)(lost|row|place)",
        name=f"page-twice-at-{start}",
        about=f"Keeps 16 keys from {start} on that are those of the page before.",
    )(page_twice(start))
right("llama-far", name="pages", about="Keeps keys in pages of 16.")(Paged)


@wrong("llama-far", "positions-in-float16", words=r"(?i)float16", context=FAR)
class LateKeysInHalf(Served):
    """Counts keys in float16: beyond 2,048 only every second position is there."""

    chunk = 512

    def key_places(self, where: Array, layer: int) -> Array:
        return where.astype(np.float16).astype(np.float32)


@wrong("llama-far", "positions-in-bfloat16", words=r"(?i)bfloat16")
class LateKeysInBrain(Served):
    """Counts keys in bfloat16, and queries rightly."""

    def key_places(self, where: Array, layer: int) -> Array:
        return where.astype(ml_dtypes.bfloat16).astype(np.float32)


@wrong("llama-far", words=r"(?i)(step|round|every)", context=FAR)
class KeysInStepsOfEight(Served):
    """Counts keys beyond 1,024 in steps of 8, as a compressed table does."""

    chunk = 512

    def key_places(self, where: Array, layer: int) -> Array:
        return np.where(where < 1024, where, where // 8 * 8)


@wrong("llama-far", words=r"(?i)(slow|half|doubl|step)")
class CountsHalfLater(Served):
    """Grows positions by one for two tokens beyond 512, as self-extension does by option."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return np.where(found < 512, found, 512 + (found - 512) // 2)
