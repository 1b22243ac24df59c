"""Engines that are wrong in one place or situation, each beside a right one, and their words."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

from posenc_conformance.checks import Options
from posenc_conformance.checks.deployed import checks, subjects_of
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.deployed.checkpoint.writing import write_checkpoint
from posenc_conformance.deployed.engine import Deployed, probe_for
from posenc_conformance.deployed.instrument import READ
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import Model, with_configuration
from posenc_conformance.report.deployed_lines import lines
from posenc_lab.deployed.engine import Array, Cache, Config, Engine, read_checkpoint
from posenc_lab.deployed.judging import InProcess
from posenc_lab.deployed.outside.biases import Biased
from posenc_lab.deployed.outside.configs import CONFIGS
from posenc_lab.deployed.outside.decode import drifts
from posenc_lab.deployed.outside.layers import usual_base
from posenc_lab.deployed.outside.norms import NormsWithEachOthersWeights, NormsWithoutWeights
from posenc_lab.deployed.outside.serving import PaddedLeft, PaddedRight, Pages, Served, Slot, Text

pytestmark = [pytest.mark.remembered(shipped=True), pytest.mark.slow]

LENGTH = 512
OWN: Mapping[str, Config] = {"mistral-250": {**CONFIGS["mistral"], "sliding_window": 250}}
"""Here a short text is just longer than the window."""


@cache
def model_of(config: str) -> Model:
    """Return the model of a configuration, with its probe beside it."""
    path = Path(mkdtemp(prefix="posenc-words-")) / "config.json"
    path.write_text(json.dumps({**CONFIGS, **OWN}[config]))
    model = with_configuration(path)
    write_checkpoint(probe_for(model), "float32", path.parent / "probe")
    return model


def run(kind: type[Engine], config: str, start: str, length: int = LENGTH) -> Execution:
    """Run the first check of an engine whose id begins with ``start``."""
    model = model_of(config)
    served = kind(*read_checkpoint(model.path.parent / "probe"))
    engine = Deployed(InProcess(served), model, probe_for(model))
    found = checks(engine, subjects_of(engine, "float32"), length)
    return execute(next(check for check in found if check.id.startswith(start)), Options(1))


class InParts(Served):
    """Computes a prompt in parts of 256 tokens."""

    chunk = 256


class PartOfSlot(Slot):
    """Does so too, and uses the beginning of the last text again."""

    chunk = 256


# Keys.


class ClampsEnd(Served):
    """Has no rotation for the last places of its context."""

    def key_places(self, where: Array, layer: int) -> Array:
        return np.minimum(where, LENGTH - 7)


class ClampsEndInLast(Served):
    """Does so in the last layer."""

    def key_places(self, where: Array, layer: int) -> Array:
        return np.minimum(where, LENGTH - 7) if layer == self.layers - 1 else where


class LosesLastOfPart(InParts):
    """Does not write the last key of a full part."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        turned = super().turn_key(x, positions, layer)
        if self.now.count == self.chunk:
            turned[:, -1] = 0
        return turned


class KeysLate(Slot):
    """Rotates the keys that it writes one place too early."""

    def key_places(self, where: Array, layer: int) -> Array:
        return where - self.written


# Windows.


def window(more: int) -> type[Served]:
    """Return an engine whose window is larger."""

    class Wrong(Served):
        def window(self, layer: int) -> int | None:
            size = super().window(layer)
            return None if size is None else size + more

    return Wrong


class LosesTheNewest(Served):
    """Overwrites the key before the new one once its window is full."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        size = self.window(layer)
        if len(queries) == 1 and size is not None and queries[0] >= size:
            found[0, queries[0] - 1] = False
        return found


class Exchanged(Served):
    """Takes sliding layers for full ones, and full ones for sliding ones."""

    def window(self, layer: int) -> int | None:
        is_full = super().window(layer) is None
        return int(self.config["sliding_window"]) if is_full else None


class FullAsSliding(Served):
    """Takes all layers for sliding ones."""

    def window(self, layer: int) -> int | None:
        return int(self.config["sliding_window"])


class NoSinksInPrompt(Served):
    """Has sinks for what it writes alone."""

    def shares(self, scores: Array, layer: int) -> Array:
        return self.softmax(scores) if self.now.count > 1 else super().shares(scores, layer)


# Queries.


class StandsStillLate(Served):
    """Counts what it writes up to 255 alone."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = super().positions(start, count, ends)
        return np.minimum(found, 255) if count == 1 else found


class StepsBackLate(Served):
    """Counts from 260 on as if 50 tokens had gone."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = super().positions(start, count, ends)
        return found - 50 * (found > 259) if count == 1 else found


class FiveStill(Served):
    """Does not rotate the last pairs."""

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        cos, sin = super().angles(positions, layer)
        still = np.arange(cos.shape[-1]) >= cos.shape[-1] - 5
        return np.where(still, 1, cos), np.where(still, 0, sin)


class Wraps(Served):
    """Has a table of 260 rows, and starts anew behind it."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return super().positions(start, count, ends) % 260


class Ends(Served):
    """Has a table of 260 rows, and reads the last one behind it."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.minimum(super().positions(start, count, ends), 259)


class PartsTwice(InParts):
    """Adds the beginning of a part to the positions of its tokens once more."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return super().positions(start, count, ends) + start * (count > 1)


class PartBefore(InParts):
    """Sees no keys but those of the part before, while it reads a prompt."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        return found & (keys >= self.now.start - self.chunk) if len(queries) > 1 else found


class LastChannels(Served):
    """Rotates the last channels of a head, not the first ones."""

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        still = self.size - self.width
        turned = super().rotate(np.roll(x, -still, axis=-1), positions, layer)
        return np.roll(turned, still, axis=-1)


class Begins(Served):
    """Puts a token of its own before each prompt."""

    def complete(self, prompt: Text, steps: int) -> Iterator[dict[str, float]]:
        yield from super().complete([1, *prompt], steps)


# Values, and numbers.


class ValuesOfFirst(Served):
    """Takes keys and values of the first layer in the second one."""

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        if layer == 1:
            cache = OfFirst(cache.tokens, cache.keys, cache.values)
        return super().attention(x, layer, where, cache)


class OfFirst(Cache):
    """A cache whose second layer is the first one."""

    def extend(self, layer: int, keys: Array, values: Array) -> tuple[Array, Array]:
        return self.keys[0], self.values[0]


class HalfCache(Served):
    """Keeps keys and values in float16."""

    def shortened(self, x: Array) -> Array:
        return x.astype(np.float16).astype(np.float32)


def decimals(count: int) -> type[Served]:
    """Return an engine that prints log-probabilities with ``count`` decimals."""

    class Printed(Served):
        def complete(self, prompt: Text, steps: int) -> Iterator[dict[str, float]]:
            for reading in super().complete(prompt, steps):
                yield {word: round(value, count) for word, value in reading.items()}

    return Printed


# Batches.


class SeesPadding(PaddedLeft):
    def real(self, keys: Array) -> Array:
        return keys >= 0


class SeesPaddingLater(PaddedLeft):
    """Sees padding from what it writes alone."""

    def real(self, keys: Array) -> Array:
        return (keys >= self.ahead) | (self.now.count == 1)


class PaddingOfFirst(PaddedLeft):
    """Hides as many rows of each text as the first one has padding."""

    def real(self, keys: Array) -> Array:
        return keys >= self.longest - len(self.now.texts[0]) if self.now.texts else keys >= 0


WRONG: tuple[tuple[type[Engine], str, str, str], ...] = (
    (ClampsEnd, "llama-far", "late-keys", "keys at 509 have positions 505"),
    (ClampsEndInLast, "llama-far", "late-layers", "in layer 1"),
    (ClampsEndInLast, "mistral", "late-layers", "in layer 1"),
    (LosesLastOfPart, "llama-far", "late-keys", "[keys-lost]"),
    (LosesLastOfPart, "mistral", "late-keys", "[keys-lost]"),
    (KeysLate, "llama-far", "same-text-again", "continues what the engine generated"),
    (window(1), "mistral-250", "distance-1[", "another window: one of 251, not 250 [window-off]"),
    (window(-1), "mistral-250", "distance-1[", "another window: one of 249, not 250 [window-off]"),
    (window(1000), "mistral-250", "distance-1[", "as with no window [window-ignored]"),
    (LosesTheNewest, "mistral-250", "distance-1[", "one of 249, not 250 [window-off]"),
    (window(1), "gpt_oss", "distance-1[", "180 other keys beside a sink that weighs 54.6, and"),
    (Exchanged, "gemma2", "window[", "layer 1 is treated as sliding: the types of layers are ex"),
    (Exchanged, "gemma2", "distance-507", "layer 0 is treated as full: the types of layers are ex"),
    (Exchanged, "gemma3_text", "distance-507", "the types of layers are exchanged [layers-mis"),
    (FullAsSliding, "gemma3_text", "distance-507", "another group: 3 as sliding [layers-mis"),
    (NoSinksInPrompt, "gpt_oss", "distance-1[", "count as 0 and 0 keys"),
    (NoSinksInPrompt, "gpt_oss", "distance-1[", "148.4, in a prompt [sinks-wrong]"),
    (StandsStillLate, "llama-far", "distance-1[", "get the last one, in what the engine writes"),
    (StepsBackLate, "llama-far", "distance-1[", "that the engine writes beyond 259 are wrong"),
    (FiveStill, "llama-far", "distance-1[", "[pairs-wrong]"),
    (NormsWithEachOthersWeights, "qwen3-plain", "distance-1[", "by 1 in one head and by 2 in the"),
    (NormsWithEachOthersWeights, "qwen3-plain", "distance-7[", "norms of queries and keys were ex"),
    (NormsWithoutWeights, "qwen3-plain", "distance-1[", "as if the weights of both norms were m"),
    (drifts(1), "llama-far", "distance-1[", "right: they stand ahead from 2"),
    (drifts(-1), "llama-far", "distance-1[", "right: they stand behind from 2"),
    (Wraps, "llama-far", "distance-1[", "positions from 260 on start anew [positions-wrapped]"),
    (Ends, "llama-far", "distance-1[", "positions from 260 on get the last one [positions-cl"),
    (PartsTwice, "llama-far", "every-key", "[given-otherwise]"),
    (PartBefore, "llama-far", "distance-777", "[given-otherwise]"),
    (
        usual_base(4),
        "llama-deep",
        "reused-layers",
        "in layer 4 (heads 0 and 1): matches the base 10,000",
    ),
    (LastChannels, "glm", "distance-1[", "others may be rotated [not-turned]"),
    (Begins, "llama-far", "distance-1[", "as if the engine put a token of its own before"),
    (Begins, "llama-far", "distance-507", "there are 495, as if the engine put"),
    (ValuesOfFirst, "llama-far", "layers[", "in layer 1: the heads that are read have no values"),
    (HalfCache, "llama-far", "distance-1[", "(--posenc-dtype=float16)"),
    (decimals(2), "llama-far", "distance-1[", "have at most 2 decimals"),
    (SeesPadding, "llama-far", "one-batch", "others: queries see padding [wrong-in-batch]"),
    (SeesPaddingLater, "llama-far", "one-batch", "others: queries that it writes see padding"),
    (PaddingOfFirst, "llama-far", "one-batch", "got        a query sees "),
)


class LosesTheNextWord(Biased):
    """Prefers the word of a key to the next one unless that is far likelier, in prompts too."""

    margin = 17.0

    def forward(self, tokens: Text, cache: Cache, ends: int) -> Array:
        logits = super().forward(tokens, cache, ends).copy()
        read = max(READ, key=lambda word: logits[self.words.index(word)])
        largest, top = logits[self.words.index(read)], int(logits.argmax())
        if self.is_lost(len(cache.tokens), ends) and logits[top] - largest < self.margin:
            logits[top] = min(logits[top], largest - 0.01)
        return logits

    def is_lost(self, count: int, ends: int) -> bool:
        """Return whether the word after ``count`` tokens may be lost."""
        return count > 508


class LosesWhatItWrites(LosesTheNextWord):
    """Prefers the word of a key in what it writes alone."""

    def is_lost(self, count: int, ends: int) -> bool:
        return count > max(508, ends)


def test_a_word_that_is_lost_in_prompts_too_is_no_mistake_of_what_is_written() -> None:
    result = run(LosesTheNextWord, "bloom", "distance-507")
    assert result.verdict is Verdict.FAILED
    assert "wrong      0 of" in result.text
    assert result.outcome.explanations == ()


def test_a_word_that_is_lost_in_what_is_written_is_named() -> None:
    result = run(LosesWhatItWrites, "bloom", "distance-507")
    assert "[written-otherwise]" in result.text


LONG: Mapping[type[Engine], int] = {PartsTwice: 1024, PartBefore: 1024}
"""Tokens of the longest text, for mistakes that begin in the third part of a prompt."""


@pytest.mark.parametrize(
    ("kind", "config", "start", "words"),
    WRONG,
    ids=[f"{case[0].__name__}-{case[1]}-{case[2]}" for case in WRONG],
)
def test_a_wrong_engine_is_said_to_do_what_it_does(
    kind: type[Engine], config: str, start: str, words: str
) -> None:
    result = run(kind, config, start, LONG.get(kind, LENGTH))
    assert result.verdict is Verdict.FAILED
    assert words in result.text


RIGHT: tuple[tuple[type[Engine], str, tuple[str, ...]], ...] = (
    (PartOfSlot, "llama-far", ("late-keys", "late-layers", "same-text-again", "every-key")),
    (InParts, "mistral", ("late-keys", "late-layers", "window[", "one-batch")),
    (Pages, "mistral-250", ("distance-1[", "late-keys", "late-layers", "window-layers")),
    (Pages, "llama-deep", ("reused-layers", "late-layers", "written-keys")),
    (Slot, "gpt_oss", ("distance-1[", "late-keys", "late-layers")),
    (Served, "gemma2", ("window[", "distance-507", "late-keys")),
    (Served, "gemma3_text", ("distance-507", "late-keys", "layers[")),
    (PaddedLeft, "llama-far", ("one-batch", "two-at-once")),
    (PaddedRight, "llama-far", ("one-batch",)),
    (decimals(6), "llama-far", ("distance-1[", "distance-507")),
    (InParts, "glm", ("distance-1[", "late-keys", "late-layers")),
)


@pytest.mark.parametrize(
    ("kind", "config", "starts"), RIGHT, ids=[f"{case[0].__name__}-{case[1]}" for case in RIGHT]
)
def test_a_right_engine_passes_the_same_checks(
    kind: type[Engine], config: str, starts: tuple[str, ...]
) -> None:
    for start in starts:
        result = run(kind, config, start)
        assert result.verdict is Verdict.PASSED, result.text


@pytest.mark.parametrize("kind", [SeesPadding, PaddingOfFirst])
def test_a_batch_shows_its_own_numbers(kind: type[Engine]) -> None:
    """The text is right by itself, so that numbers of a second request would be right."""
    text = run(kind, "llama-far", "one-batch").text
    assert "wrong      0 of" not in text


def test_keys_at_their_places_are_not_misplaced() -> None:
    for start in ("late-keys", "every-key"):
        text = run(PartBefore, "llama-far", start, 1024).text
        assert "have positions" not in text


def test_layers_are_not_called_right_one_by_one_if_one_is_wrong() -> None:
    assert "one by one" not in run(usual_base(4), "llama-deep", "reused-layers").text


def check_of(verdict: str, curve: list[Any], said: list[Any]) -> dict[str, Any]:
    return {
        **{"level": "deployed", "combination": "layers", "verdict": verdict},
        **{"curve": curve, "explanations": said},
    }


def test_a_group_with_failures_is_not_called_right() -> None:
    report: Any = {
        "checks": [
            check_of("passed", [(695, 1e-7, 1e-5)], []),
            check_of("failed", [], [("base-ignored", "in layer 3: another base")]),
        ]
    }
    (first, *_) = lines(model_of("llama-far"), report)
    assert first.endswith("up to distance 695 where it is right; 1 of 2 checks failed")
