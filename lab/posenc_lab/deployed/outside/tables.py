"""Mistakes of models with a table of positions, and of encoders."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from posenc_lab.deployed.encoders import Encoder
from posenc_lab.deployed.engine import Array
from posenc_lab.deployed.older import Older
from posenc_lab.deployed.outside.cases import wrong
from posenc_lab.deployed.outside.serving import Served

ROWS = r"(?i)rows?|position|table"
WINDOW = r"(?i)window"
Answers = list[list[dict[str, float]]]

# Tables of models that write.


class Rows(Older, Served):
    """Has a table of positions, and records its requests."""


@wrong("opt", "offset-missing rows-shifted", words=ROWS, report="EleutherAI/gpt-neox#650")
class OffsetOfOne(Rows):
    """Counts rows from 1, where 2 is meant."""

    def rows(self, where: Array) -> Array:
        return where + 1


@wrong("gpt2", "rows-shifted offset-twice", words=ROWS)
class OffsetOfOpt(Rows):
    """Counts rows from 2, as OPT does."""

    def rows(self, where: Array) -> Array:
        return where + 2


@wrong("opt", "written-otherwise offset-missing", words=ROWS)
class OffsetWhileReadingOnly(Rows):
    """Forgets the offset once it writes."""

    def rows(self, where: Array) -> Array:
        return np.asarray(where + 2 * (where < self.now.ends))


@wrong("gpt2", "positions-ahead", words=ROWS, report="microsoft/onnxruntime-genai#2354")
class WrittenRowsAhead(Rows):
    """Reads the row of the next position once it writes."""

    def rows(self, where: Array) -> Array:
        return where + (where >= self.now.ends)


@wrong("gpt_bigcode", "rows-start-anew", words=ROWS)
class RowsModuloFourHundred(Rows):
    """Begins again with the first row behind 400."""

    def rows(self, where: Array) -> Array:
        return where % 400


@wrong("gpt2", "rows-clamped", words=ROWS)
class RowsEndAtThreeHundred(Rows):
    """Reads row 299 beyond."""

    def rows(self, where: Array) -> Array:
        return np.minimum(where, 299)


@wrong("gpt2", "positions-in-bfloat16", words=ROWS)
class RowsInBrain(Rows):
    """Counts rows in bfloat16."""

    def rows(self, where: Array) -> Array:
        return where.astype(ml_dtypes.bfloat16).astype(int)


@wrong("gpt2", "chunks-restart given-otherwise", words=ROWS)
class RowsOfAChunk(Rows):
    """Counts rows from 0 in each chunk of 128."""

    chunk = 128

    def rows(self, where: Array) -> Array:
        return np.asarray(where - self.now.start * (where < self.now.ends))


@wrong("gpt2", "wrong-in-batch", words=r"(?i)batch|request", report="ndif-team/nnsight#673")
@wrong("opt", "wrong-in-batch", words=r"(?i)batch|request", report="ndif-team/nnsight#673")
class RowsWithPadding(Rows):
    """Counts padding on the left of shorter texts of a request."""

    def rows(self, where: Array) -> Array:
        return super().rows(where) + (self.longest - len(self.text) if self.now.texts else 0)


@wrong("gpt2", "wrong-in-batch", words=r"(?i)batch|request")
class RowsOfTheFirstText(Rows):
    """Counts what is written on from the end of the first text of a request."""

    def rows(self, where: Array) -> Array:
        more = len(self.now.texts[0]) - len(self.text) if self.now.texts else 0
        return np.asarray(where + more * (where >= self.now.ends))


@wrong("gpt2", words=ROWS)
class RowOfTheLastTwice(Rows):
    """Reads the row of the one before for each 64th token."""

    def rows(self, where: Array) -> Array:
        return np.asarray(where - (where % 64 == 63))


# Rows of encoders.


@wrong("roberta", "offset-missing rows-shifted", words=ROWS, report="sbryngelson/ANEForge#257")
@wrong("xlm-roberta", "offset-missing", words=ROWS, report="huggingface/sentence-transformers#3879")
class RowsOfBert(Encoder):
    """Counts rows from 0, as BERT does."""

    def rows(self, count: int) -> Array:
        return np.arange(count)


@wrong("roberta", "rows-shifted offset-twice", words=ROWS)
class OffsetOfThree(Encoder):
    """Counts rows from 3."""

    def rows(self, count: int) -> Array:
        return np.asarray(
            np.minimum(np.arange(3, count + 3), self.config["max_position_embeddings"] - 1)
        )


@wrong("bert", words=ROWS)
class RowsBackwards(Encoder):
    """Counts rows from the end of a text."""

    def rows(self, count: int) -> Array:
        return np.arange(count)[::-1]


@wrong("bert", "rows-start-anew", words=ROWS)
class RowsModulo300(Encoder):
    """Begins again with the first row behind 300."""

    def rows(self, count: int) -> Array:
        return np.arange(count) % 300


class Filled(Encoder):
    """Fills shorter texts of a request up on their right, and sees what it filled them with."""

    token = 0

    def say(self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]) -> Answers:
        longest = max(map(len, texts))
        return super().say(
            [[*text, *[self.token] * (longest - len(text))] for text in texts], places
        )


for config in ("modernbert", "nomic_bert", "bert"):
    wrong(
        config,
        "wrong-in-batch",
        words=r"(?i)batch|request",
        report="npatsakula/svod#122",
        unseen="its probe has rows of a table and no keys to take weight from"
        if config == "bert"
        else "",
    )(Filled)


@wrong(
    "modernbert",
    "wrong-in-batch",
    words=r"(?i)batch|request",
    report="Dao-AILab/flash-attention#1104",
)
@wrong(
    "bert", "wrong-in-batch", words=r"(?i)batch|request", report="Dao-AILab/flash-attention#1104"
)
class PackedTexts(Encoder):
    """Has all texts of a request one behind the other, and lets each see all."""

    def say(self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]) -> Answers:
        if len(texts) == 1 or sum(map(len, texts)) > self.config["max_position_embeddings"]:
            return super().say(texts, places)
        whole = [token for text in texts for token in text]
        starts = np.cumsum([0, *map(len, texts[:-1])])
        asked = [[start + each for each in row] for start, row in zip(starts, places, strict=True)]
        return [super(PackedTexts, self).say([whole], [row])[0] for row in asked]


# Windows and bases of encoders.


class Sides(Encoder):
    """Sees another number of positions on each side in sliding layers."""

    more_before, more_behind = 0, 0

    def sides(self, window: int, layer: int) -> tuple[int, int]:
        if self.window(layer) is None:
            return window, window
        return window + self.more_before, window + self.more_behind


@wrong("modernbert", "window-off", words=WINDOW)
class OneMoreBefore(Sides):
    """Sees one position more before the query."""

    more_before = 1


@wrong("modernbert", "window-off", words=WINDOW)
class OneMoreBehind(Sides):
    """Sees one position more behind the query."""

    more_behind = 1


@wrong("modernbert", "window-off", words=WINDOW)
class OneLessBefore(Sides):
    """Sees one position less before the query."""

    more_before = -1


@wrong("modernbert", "window-off", words=WINDOW)
class OneLessOnBothSides(Sides):
    """Sees one position less on both sides."""

    more_before, more_behind = -1, -1


def encoder_layer(bad: int, what: str, ids: str) -> None:
    """List an encoder that treats one layer as one of the other kind, or otherwise."""

    class Wrong(Encoder):
        def base(self, layer: int) -> float:
            if layer != bad or what != "base":
                return super().base(layer)
            kind = "global" if self.window(layer) is not None else "local"
            return float(self.config[f"{kind}_rope_theta"])

        def sides(self, window: int, layer: int) -> tuple[int, int]:
            if layer != bad or what == "base":
                return super().sides(window, layer)
            if what == "edge":
                return window + 1, window + 1
            half = int(self.config["local_attention"]) // 2
            return (half, half) if self.window(layer) is None else (1 << 30, 1 << 30)

    about = {
        "base": "Turns layer {} by the base of the other kind of layers.",
        "window": "Sees in layer {} what layers of the other kind see.",
        "edge": "Sees in layer {} one position more on both sides.",
    }[what].format(bad)
    name = f"{what}-of-layer-{bad}"
    wrong(
        "modernbert-deep", f"{ids} layers-mistaken", words=r"(?i)layers?", name=name, about=about
    )(Wrong)


for bad in (3, 6):
    encoder_layer(bad, "base", "local-base-everywhere")
    encoder_layer(bad, "window", "window-everywhere")
for bad in (2, 5):
    encoder_layer(bad, "base", "global-base-everywhere")
    encoder_layer(bad, "window", "window-ignored")
    encoder_layer(bad, "edge", "window-off")


@wrong(
    "modernbert-deep",
    "layers-mistaken window-everywhere window-ignored",
    words=r"(?i)window|layers?",
    report="huggingface/text-embeddings-inference#459",
)
class PatternShifted(Encoder):
    """Has the layers without a window one layer later."""

    def window(self, layer: int) -> int | None:
        return super().window(layer + 2)


@wrong(
    "modernbert-deep",
    "global-base-everywhere local-base-everywhere layers-mistaken",
    words=r"(?i)base|layers?",
    report="huggingface/text-embeddings-inference#459",
)
class BasesShifted(Encoder):
    """Has the bases of kinds of layers one layer later, and the windows rightly."""

    def base(self, layer: int) -> float:
        return super().base((layer + 1) % self.layers)


@wrong("modernbert", words=r"(?i)table|end|position|beyond")
class TableOfTheWindow(Encoder):
    """Has a table as long as the window, and reads its last row beyond."""

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        return super().rotate(x, np.minimum(positions, 96), layer)


@wrong("nomic_bert", words=r"(?i)base|length|scaling", report="vllm-project/vllm#52665")
class BaseOfTheLength(Encoder):
    """Reckons the base anew for texts of more than 256."""

    def logits(self, tokens: Sequence[int]) -> Array:
        self.count = len(tokens)
        return super().logits(tokens)

    count = 0

    def base(self, layer: int) -> float:
        grown = max(1.0, self.count / 256)
        return float(super().base(layer) * grown)
