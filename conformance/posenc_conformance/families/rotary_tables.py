"""Tables of an angle for each channel, and their mistakes: laid out for other pairs."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from posenc_conformance.families.encodings import growth
from posenc_conformance.families.rotary import (
    POLAR,
    Pair,
    Rotation,
    channels,
    progression,
    rotary_dim,
    widths_of,
)
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction

TABLES = {
    "half": "tiled in halves",
    "interleaved": "repeated for neighbours",
    "half-per-axis": "tiled axis by axis",
}
"""How a layout has the angle of each pair in a table of all channels."""


def mixed_layouts(case: Case) -> Iterator[tuple[str, str, str]]:
    """Yield layouts of a table and of pairs of which one is claimed, and words for them."""
    claimed = str(case.conventions["layout"])
    others = [str(each) for each in case.scheme.conventions["layout"].values if each != claimed]
    known = [each for each in others if {each, claimed} <= TABLES.keys()]
    for table, pairs in (*((each, claimed) for each in known), *((claimed, e) for e in known)):
        yield table, pairs, f"matches angles {TABLES[table]}, with pairs of the {pairs} layout"


def per_channel(numbers: Floats, table: Pair) -> Floats:
    """Return the numbers of pairs, [..., pairs], for each channel, as a table has them."""
    every = np.empty((*numbers.shape[:-1], 2 * numbers.shape[-1]))
    for channel in table:
        every[..., channel] = numbers
    return every


def turned_by_channel(x: Floats, angles: Floats, pairs: Pair, size: Floats | float = 1.0) -> Floats:
    """Rotate pairs of channels, each by its own angle and times its own size: [..., channels]."""
    out = np.empty(np.broadcast_shapes(x.shape, angles.shape))
    first, second = pairs
    for here, partner, sign in ((first, second, -1), (second, first, 1)):
        wave = angles[..., here]
        out[..., here] = x[..., here] * np.cos(wave) + sign * x[..., partner] * np.sin(wave)
    return out * size


def tables_mixed(rotation: Rotation) -> DeviationModel:
    """Make a model that predicts a table laid out for one layout, with pairs of another.

    Either of them may be the claimed one. The table contains the amplitude of each pair.
    """

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        x, rotated, widths = case.arguments["x"], rotary_dim(case), widths_of(case)
        angles = rotation.angles(case)
        size = np.broadcast_to(rotation.amplitude(case), angles.shape)
        for table, layout, words in mixed_layouts(case) if rotated >= 4 else ():
            written, pairs = (channels(rotated, each, widths) for each in (table, layout))
            out, every = x.copy(), per_channel(angles, written)
            out[..., :rotated] = turned_by_channel(
                x[..., :rotated], every, pairs, per_channel(size, written)
            )

            def terms(layout: str = layout, written: Pair = written) -> ErrorTerms:
                own = rotation.error_terms(case.with_conventions(layout=layout))
                lost = np.abs(angles) * growth(rotation.frequencies(case))
                angle = own.angle.copy()
                polar = POLAR / case.scheme.accuracy.angle
                angle[..., :rotated] = per_channel(lost, written) + polar
                return ErrorTerms(own.scale, angle)

            yield Prediction(words, out, terms=terms)

    return models


TURNS = (3.14, 3.1415, 3.14159, 3.1416, 22 / 7)
"""Numbers that code may have for π."""


def reduced(rotation: Rotation) -> DeviationModel:
    """Make a model that predicts angles reduced by whole turns of an inexact π."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        angles = rotation.angles(case)
        for half in TURNS:
            words = f"matches angles reduced by whole turns of 2·{half:.6g}"
            yield rotation.predict(case, words, angles % (2 * half))

    return models


def cut_from_wider(rotation: Rotation) -> DeviationModel:
    """Make a model that predicts a table tiled in halves for a wider head, cut to this one."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        x, rotated = case.arguments["x"], rotary_dim(case)
        base = case.arguments.get("base", 10000.0)
        if case.conventions["layout"] != "half" or case.call.kind == "gradient":
            return
        for wide in (2 * rotated, 4 * rotated):
            omega = np.asarray(base ** (-2 * np.arange(rotated) / wide))
            angles = case.arguments["positions"][..., None] * omega
            out = x.copy()
            pairs = channels(rotated, "half")
            out[..., :rotated] = turned_by_channel(x[..., :rotated], angles, pairs)
            words = f"matches the first {rotated} columns of a table for {wide} channels"
            yield Prediction(words, out)

    return models


def as_in_whole_head(rotation: Rotation) -> DeviationModel:
    """Make a model that predicts the first pairs of the whole head in place of fewer channels'.

    Their frequencies and their partners, half a head away, are those of a head that is rotated
    completely.
    """

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        x, rotated = case.arguments["x"], rotary_dim(case)
        head_dim, first = x.shape[-1], np.arange(rotated // 2)
        is_part = "rotary_dim" in case.arguments and rotated < head_dim
        if case.conventions["layout"] != "half" or case.call.kind == "gradient" or not is_part:
            return
        pairs = np.concatenate([first, first + head_dim // 2])
        order = np.concatenate([pairs, np.setdiff1d(np.arange(head_dim), pairs)])
        back = np.argsort(order)
        omega = rotation.frequencies(case.with_arguments(rotary_dim=None))[: len(first)]
        words = "matches frequencies and partners of the whole head, for its first pairs alone"
        model = rotation.with_frequencies(case.with_arguments(x=x[..., order]), omega, words)

        def terms() -> ErrorTerms:
            own = model.terms() if model.terms else rotation.error_terms(case)
            return ErrorTerms(own.scale[..., back], own.angle[..., back])

        yield replace(model, output=model.output[..., back], terms=terms)

    return models


def row_by_row(rotation: Rotation) -> DeviationModel:
    """Make a model that predicts plain frequencies for rows before or beyond a length."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        length = case.arguments.get("original_max_position_embeddings")
        if length is None:
            return
        plain = progression(case.arguments["base"], rotary_dim(case))
        places, own = rotation.places(case), rotation.frequencies(case)
        for words, omega in (
            ("from the original length on", np.where(np.abs(places) >= length, plain, own)),
            ("before the original length", np.where(np.abs(places) < length, plain, own)),
        ):
            told = f"matches plain frequencies {words}, scaled ones elsewhere"
            yield rotation.predict(case, told, places * omega)

    return models


HEADS = (16, 32, 48, 64, 80, 96, 128, 160, 192, 256)
"""Sizes of heads whose frequencies code may contain."""


def of_other_heads(rotation: Rotation) -> DeviationModel:
    """Make a model that predicts the frequencies of a head of another size, repeated or cut."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        rotated, base = rotary_dim(case), case.arguments.get("base", 10000.0)
        for size in HEADS:
            if size != rotated:
                own = progression(base, size)
                omega = np.resize(own, rotated // 2)
                how = "from the first on again" if size < rotated else "of which the last are left"
                words = f"matches the frequencies of a head of {size}, {how}"
                yield rotation.with_frequencies(case, omega, words)

    return models


def forward_readings(rotation: Rotation) -> tuple[DeviationModel, ...]:
    """Return models of mistakes that a forward call can make, and for which it has no id."""
    others = reduced(rotation), tables_mixed(rotation), as_in_whole_head(rotation)
    return row_by_row(rotation), *others


def backward_readings(rotation: Rotation) -> tuple[DeviationModel, ...]:
    """Return models of mistakes that a backward call can make, and for which it has no id."""
    return rotation.low_precision_angles, tables_mixed(rotation)
