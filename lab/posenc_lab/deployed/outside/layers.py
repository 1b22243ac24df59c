"""Mistakes in one layer of several, or in one phase of it."""

from collections.abc import Callable

import numpy as np

from posenc_lab.deployed.engine import Array, Config
from posenc_lab.deployed.outside.cases import wrong
from posenc_lab.deployed.outside.configs import DEEP
from posenc_lab.deployed.outside.serving import Served

ONE = "layers-mistaken"
LAYER = r"(?i)layers? \d|layers"
WINDOW = r"(?i)window"
Kind = Callable[[int], type[Served]]
PLACES = {"first": 0, "second": 1, "middle": DEEP // 2, "last": DEEP - 1}


def at(kind: Kind, config: str, places: str, ids: str, words: str, report: str = "") -> None:
    """List an engine of a kind that is wrong in one layer, for each of some layers."""
    for place in places.split():
        engine = kind(PLACES[place])
        base = kind.__name__.replace("_", "-")
        wrong(
            config,
            ids,
            words=words,
            name=f"{base}-in-{place}",
            about=f"{kind.__doc__} Only layer {PLACES[place]} does so.",
            report=report,
        )(engine)


def window_one_more(bad: int) -> type[Served]:
    """Sees one key more than the window has."""

    class Wrong(Served):
        def window(self, layer: int) -> int | None:
            found = super().window(layer)
            return found + 1 if found is not None and layer == bad else found

    return Wrong


def window_one_less(bad: int) -> type[Served]:
    """Sees one key less than the window has."""

    class Wrong(Served):
        def window(self, layer: int) -> int | None:
            found = super().window(layer)
            return found - 1 if found is not None and layer == bad else found

    return Wrong


def no_window(bad: int) -> type[Served]:
    """Sees all keys where a window is."""

    class Wrong(Served):
        def window(self, layer: int) -> int | None:
            return None if layer == bad else super().window(layer)

    return Wrong


def window_where_none_is(bad: int) -> type[Served]:
    """Sees the keys of a window of 512, where all are to be seen."""

    class Wrong(Served):
        def window(self, layer: int) -> int | None:
            return 512 if layer == bad else super().window(layer)

    return Wrong


def window_of_half(bad: int) -> type[Served]:
    """Sees half of the window."""

    class Wrong(Served):
        def window(self, layer: int) -> int | None:
            found = super().window(layer)
            return found // 2 if found is not None and layer == bad else found

    return Wrong


def kind_exchanged(bad: int) -> type[Served]:
    """Takes a sliding layer for a full one, or a full one for a sliding one."""

    class Wrong(Served):
        def window(self, layer: int) -> int | None:
            found = super().window(layer)
            if layer != bad:
                return found
            return int(self.config["sliding_window"]) if found is None else None

    return Wrong


def mask_exchanged(bad: int) -> type[Served]:
    """Masks as the other kind of layer does, and turns as its own kind."""

    class Wrong(Served):
        def seen(self, queries: Array, keys: Array, layer: int) -> Array:
            if layer != bad:
                return super().seen(queries, keys, layer)
            size = int(self.config["sliding_window"]) if self.window(layer) is None else 1 << 30
            distance = queries[:, None] - keys
            return np.asarray((distance >= 0) & (distance < size))

    return Wrong


def usual_base(bad: int) -> type[Served]:
    """Turns by base 10,000."""

    class Wrong(Served):
        def scaling(self, layer: int) -> Config:
            found = super().scaling(layer)
            return {**found, "rope_theta": 10000.0} if layer == bad else found

    return Wrong


def no_rotation(bad: int) -> type[Served]:
    """Turns neither queries nor keys."""

    class Wrong(Served):
        def turns(self, layer: int) -> bool:
            return layer != bad and super().turns(layer)

    return Wrong


def keys_unturned(bad: int) -> type[Served]:
    """Turns queries alone."""

    class Wrong(Served):
        def key_places(self, where: Array, layer: int) -> Array:
            return 0 * where if layer == bad else where

    return Wrong


def keys_one_late(bad: int) -> type[Served]:
    """Turns keys one position too far."""

    class Wrong(Served):
        def key_places(self, where: Array, layer: int) -> Array:
            return where + (layer == bad)

    return Wrong


def short_table(bad: int) -> type[Served]:
    """Has a table of 512 positions, and reads its last row beyond."""

    class Wrong(Served):
        def key_places(self, where: Array, layer: int) -> Array:
            return np.minimum(where, 511) if layer == bad else where

        def query_places(self, where: Array, layer: int) -> Array:
            return self.key_places(where, layer)

    return Wrong


def written_keys_unturned(bad: int) -> type[Served]:
    """Does not turn the keys that it writes."""

    class Wrong(Served):
        def key_places(self, where: Array, layer: int) -> Array:
            return where * (1 - self.written) if layer == bad else where

    return Wrong


def no_scaling(bad: int) -> type[Served]:
    """Turns without the scaling."""

    class Wrong(Served):
        def scaling(self, layer: int) -> Config:
            found = super().scaling(layer)
            return {**found, "rope_type": "default"} if layer == bad else found

    return Wrong


def layout_swapped(bad: int) -> type[Served]:
    """Turns neighbours, with weights for halves."""

    class Wrong(Served):
        def rotate(self, x: Array, positions: Array, layer: int) -> Array:
            if layer != bad:
                return super().rotate(x, positions, layer)
            cos, sin = self.angles(positions, layer)
            turned = (x[..., 0::2] + 1j * x[..., 1::2]) * (cos + 1j * sin)
            parts = [turned.real, turned.imag]
            return np.stack(parts, axis=-1).reshape(x.shape).astype(np.float32)

    return Wrong


OFF = "window-off"
at(window_one_more, "mistral-deep", "first middle last", OFF, WINDOW, "vllm-project/vllm#21863")
at(window_one_less, "mistral-deep", "second last", OFF, WINDOW)
at(no_window, "mistral-deep", "middle last", "window-ignored layers-mistaken", WINDOW)
at(window_of_half, "mistral-deep", "middle", OFF, WINDOW)
at(window_where_none_is, "llama-deep", "second middle last", "", WINDOW, "vllm-project/vllm#21863")
EXCHANGED = "window-ignored window-everywhere layers-mistaken"
GEMMA = "huggingface/transformers#31775"
at(kind_exchanged, "gemma2-deep", "second middle last", EXCHANGED, WINDOW, GEMMA)
at(kind_exchanged, "gemma3-deep", "middle last", EXCHANGED, WINDOW, "vllm-project/vllm#21927")
at(mask_exchanged, "gemma3-deep", "second", EXCHANGED, WINDOW, "Comfy-Org/ComfyUI#11409")
at(usual_base, "llama-deep", "second middle last", "base-ignored layers-mistaken", LAYER)
at(no_rotation, "llama-deep", "middle last", "not-turned layers-mistaken", LAYER)
at(keys_unturned, "llama-deep", "middle", "keys-not-turned layers-mistaken", LAYER)
at(keys_one_late, "llama-deep", "middle last", ONE, LAYER)
at(short_table, "llama-deep", "middle", "original-context positions-clamped layers-mistaken", LAYER)
at(written_keys_unturned, "llama-deep", "middle last", "written-otherwise layers-mistaken", LAYER)
at(no_scaling, "qwen3", "second", "scaling-ignored layers-mistaken", LAYER)
at(layout_swapped, "llama-deep", "last", "layout-swapped layers-mistaken", LAYER)


@wrong("gemma2-deep", EXCHANGED, words=WINDOW, report="NVIDIA-NeMo/Megatron-Bridge#4875")
class LayersCountedFromOne(Served):
    """Counts layers from 1: each has the window of the next one."""

    def window(self, layer: int) -> int | None:
        return super().window((layer + 1) % self.layers)


@wrong("gemma3-deep", EXCHANGED, words=WINDOW, report="Comfy-Org/ComfyUI#11409")
class OneSlidingOfSix(Served):
    """Has one sliding layer of six, where five are meant."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        size = int(self.config["sliding_window"]) if self.window(layer) is None else 1 << 30
        distance = queries[:, None] - keys
        return np.asarray((distance >= 0) & (distance < size))


@wrong("smollm3", "unrotated-layers-rotated", words=LAYER, report="huggingface/transformers#43756")
class RotatedLayersExchanged(Served):
    """Turns the layers that have no positions, and no other."""

    def turns(self, layer: int) -> bool:
        return not super().turns(layer)


@wrong("smollm3", ONE, words=LAYER, report="timtoole02/Camelid#535")
class EveryFourthUnrotated(Served):
    """Leaves every fourth layer unturned, where the configuration says every second."""

    def turns(self, layer: int) -> bool:
        return (layer + 1) % 4 != 0


@wrong("cohere2", "unrotated-layers-rotated", words=LAYER, report="huggingface/trl#6963")
class FullLayersRotated(Served):
    """Turns the full layer, which has no positions."""

    def turns(self, layer: int) -> bool:
        return True


@wrong("llama4_text", "window-everywhere", words=r"(?i)chunk")
class ChunksInAllLayers(Served):
    """Has chunks of attention in the layers too that have no positions."""

    def chunk_size(self, layer: int) -> int:
        return int(self.config["attention_chunk_size"])


@wrong("llama4_text", "temperature-on-other-layers", words=r"(?i)temperature")
class TemperatureInAllLayers(Served):
    """Multiplies queries by the temperature in the layers too that are turned."""

    def warmth(self, positions: Array, layer: int) -> Array:
        steps = (positions + 1) // self.config["floor_scale"]
        return np.asarray(1 + self.config["attn_scale"] * np.log1p(steps), np.float32)[:, None]


# One phase.


class Phased(Served):
    """Has another window for what is given, or for what is written."""

    more_given = 0
    more_written = 0

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        window = self.window(layer)
        if window is None:
            return super().seen(queries, keys, layer)
        late = queries[:, None] >= self.now.ends
        distance = queries[:, None] - keys
        size = window + np.where(late, self.more_written, self.more_given)
        return np.asarray((distance >= 0) & (distance < size))


@wrong(
    "mistral",
    "window-off given-otherwise",
    words=WINDOW,
    report="mistralai/mistral-inference#60",
)
class WindowOneMoreGiven(Phased):
    """Sees one key more than the window has while it reads a prompt."""

    more_given = 1


@wrong("mistral", "window-off given-otherwise", words=WINDOW)
class WindowOneLessGiven(Phased):
    """Sees one key less than the window has while it reads a prompt."""

    more_given = -1


@wrong("mistral", "window-off written-otherwise", words=WINDOW, report="ModelTC/LightLLM#1312")
class WindowOneMoreWritten(Phased):
    """Sees one key more than the window has once it writes."""

    more_written = 1


@wrong("gemma2", "window-off written-otherwise", words=WINDOW, report="ModelTC/LightLLM#1312")
class WindowOneLessWritten(Phased):
    """Sees one key less than the window has once it writes."""

    more_written = -1


@wrong("mistral", "window-ignored given-otherwise", words=WINDOW, report="lablup/mlxcel#405")
class WindowLaterOnly(Phased):
    """Sees all keys while it reads a prompt."""

    more_given = 1 << 30


@wrong(
    "gemma3_text",
    "window-ignored written-otherwise",
    words=WINDOW,
    report="EricLBuehler/mistral.rs#2094",
)
class WindowWhileReadingOnly(Phased):
    """Sees all keys once it writes."""

    more_written = 1 << 30


@wrong("mistral", "window-off", words=WINDOW)
class WindowRoundedToPages(Served):
    """Rounds the beginning of the window down to a page of 16."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        window = self.window(layer) or 1 << 30
        first = (queries - window + 1) // 16 * 16
        return np.asarray((queries[:, None] >= keys) & (keys >= first[:, None]))


@wrong("mistral-512", "window-ignored", words=WINDOW)
class WindowOnlyInShortTexts(Served):
    """Has a window of 512 in texts of up to 800 tokens, and none in longer ones."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        distance = queries[:, None] - keys
        size = 512 if self.now.ends <= 800 else 1 << 30
        return np.asarray((distance >= 0) & (distance < size))
