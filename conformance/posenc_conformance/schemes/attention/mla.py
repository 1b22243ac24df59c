"""Multi-head latent attention: bounds, invariants and deviations of its logits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import posenc
from posenc_conformance.diagnose.predictors import (
    other_base,
    other_conventions,
    rounded_angles,
    short_tables,
)
from posenc_conformance.errors import apart
from posenc_conformance.families.lengths import lengths
from posenc_conformance.families.rotary import POLAR, channels, in_dtype, progression
from posenc_conformance.families.scores import alike, sizes, sweep, zeros
from posenc_conformance.judge.arrays import Floats, fine
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

YARN: Arguments = {
    "scaling": "yarn",
    "factor": 40.0,
    "original_max_position_embeddings": 4096,
    "mscale": 1.0,
    "mscale_all_dim": 0.707,
}
"""The parameters of DeepSeek-V3, except that the two mscales differ, to detect their exchange."""


def parts(case: Case) -> tuple[int, int]:
    """Return the numbers of channels of content and of the rotary part."""
    return case.arguments["k_nope"].shape[-1], case.arguments["k_rope"].shape[-1]


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape [heads, q_len, k_len]."""
    return *case.arguments["q"].shape[:2], case.arguments["k_rope"].shape[0]


def grown(case: Case, name: str) -> float:
    """Compute 0.1 mscale ln(factor) + 1, or 1 without YaRN."""
    factor = case.arguments.get("factor")
    return 1.0 if factor is None else float(1 + 0.1 * case.arguments[name] * np.log(factor))


def frequencies(case: Case) -> Floats:
    """Return the frequency of each pair, in radians per position."""
    values, rope = case.arguments, parts(case)[1]
    if values.get("factor") is None:
        return progression(values["base"], rope)
    omega = posenc.yarn_frequencies(
        rope,
        base=values["base"],
        factor=values["factor"],
        original_max_position_embeddings=values["original_max_position_embeddings"],
    )
    return np.asarray(omega, dtype=np.float64)


@dataclass(frozen=True)
class Parts:
    """The parts of the logits; a mistake replaces some of them."""

    q_nope: Floats
    q_rope: Floats
    k_nope: Floats
    k_rope: Floats
    layout: str
    omega: Floats
    lag: Floats
    """Query minus key: [q_len, k_len]."""
    alone: float
    """Factor on the product of rotary parts."""
    all: float
    """Factor on both products."""

    def logits(self) -> Floats:
        """Compute the logits: [heads, q_len, k_len]."""
        return (self.content() + self.alone * self.position()) * self.all

    def content(self) -> Floats:
        """Compute the dot products of the content parts."""
        return np.asarray(self.q_nope @ np.swapaxes(self.k_nope, 1, 2))

    def position(self) -> Floats:
        """Compute the dot products of the rotated rotary parts."""
        first, second = channels(self.q_rope.shape[-1], self.layout)
        q = self.q_rope[..., first] + 1j * self.q_rope[..., second]
        k = self.k_rope[..., first] + 1j * self.k_rope[..., second]
        k = np.broadcast_to(k, (len(q), *k.shape[-2:]))
        turn = np.exp(1j * self.lag[..., None] * self.omega)
        return np.asarray(np.einsum("hip,hjp,ijp->hij", q, k.conj(), turn).real)


def right(case: Case) -> Parts:
    """Return the right parts of a case's logits."""
    nope, rope = parts(case)
    values = case.arguments
    return Parts(
        values["q"][..., :nope],
        values["q"][..., nope:],
        values["k_nope"],
        values["k_rope"],
        str(case.conventions["layout"]),
        frequencies(case),
        lag(case),
        (grown(case, "mscale") / grown(case, "mscale_all_dim")) ** 2,
        grown(case, "mscale_all_dim") ** 2 / (nope + rope) ** 0.5,
    )


def lag(case: Case) -> Floats:
    """Compute query minus key: [q_len, k_len]."""
    _, q_len, k_len = shape(case)
    return np.asarray(np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len), dtype=np.float64)


def error_terms(case: Case) -> ErrorTerms:
    """Return the sum of the magnitudes of all products as scale, and the angle.

    The magnitude of a product of rotary pairs is the product of their lengths.
    """
    at, (_, q_len, k_len) = right(case), shape(case)
    first, second = channels(at.q_rope.shape[-1], at.layout)
    q, k = (np.hypot(part[..., first], part[..., second]) for part in (at.q_rope, at.k_rope))
    growth = at.omega * (1 + np.abs(np.log(at.omega)))
    content = np.abs(at.q_nope) @ np.abs(np.swapaxes(at.k_nope, 1, 2))
    position = at.alone * np.einsum("hip,jp->hij", q, k)
    places = np.arange(k_len - q_len, k_len)[:, None] + np.arange(k_len)
    polar = 2 * POLAR / case.scheme.accuracy.angle
    turned = at.alone * np.einsum("hip,jp,ij,p->hij", q, k, places, growth) + polar * position
    scale = content + position
    angle = np.divide(turned, scale, out=np.zeros_like(scale), where=scale > 0)
    return ErrorTerms(scale * at.all, angle + sum(parts(case)) / 4)


def arrays(heads: int, q_len: int, k_len: int, nope: int, rope: int, **others: Any) -> ArgumentDict:
    """Make arrays of these sizes."""
    return {
        "q": fine((heads, q_len, nope + rope)),
        "k_nope": fine((heads, k_len, nope), 5),
        "k_rope": fine((k_len, rope), 11),
        "base": 10000.0,
        **others,
    }


def arguments(trial: Trial) -> ArgumentDict:
    """Draw a few heads, queries and keys, sometimes with YaRN."""
    chosen = lengths(trial, (6, 2, 1, 9))
    extra: Arguments = {}
    if trial.can("scaling") and trial.pick.integer(0, 1):
        extra = YARN
    return arrays(
        heads=trial.choose("heads", (2, 1, 3)),
        nope=trial.choose("nope", (6, 2, 3, 16)),
        rope=trial.choose("rope", (8, 2, 4, 12)),
        **chosen,
        **extra,
    ) | {"base": trial.choose("base", (1000.0, 10000.0, 32e6))}


def swept(heads: int, q_len: int, k_len: int, nope: int, rope: int, **others: Any) -> Any:
    """Make arguments of a sweep, without the ``head_dim`` of the usual sweep of scores."""
    others.pop("head_dim", None)
    return arrays(heads, q_len, k_len, nope, rope, **others)


def content_alone(trial: Trial) -> None:
    """Check that with rotary keys of 0 the logits are the scaled dot products of content."""
    chosen = arguments(trial)
    y = trial.answer(**(chosen | zeros(chosen, "k_rope")))
    expected = right(y.case)
    trial.assert_zero(
        y - expected.content() * expected.all, "without rotary parts it is not content, scaled"
    )


def own_position(trial: Trial) -> None:
    """Check that a query and the key at its own position have the plain dot product, scaled."""
    chosen = arguments(trial)
    y = trial.answer(**chosen)
    at = replace(right(y.case), lag=np.zeros(shape(y.case)[1:]))
    _, q_len, k_len = shape(y.case)
    rows, keys = np.arange(q_len), np.arange(k_len - q_len, k_len)
    trial.assert_zero(
        y[:, rows, keys] - at.logits()[:, rows, keys],
        "at equal positions the logit is not the plain dot product, scaled",
    )


def toeplitz(trial: Trial) -> None:
    """Check that the logits of equal tokens depend on their distance only."""
    chosen = arguments(trial)
    y = trial.answer(**(chosen | alike(chosen, "q", "k_nope", "k_rope")))
    trial.assert_zero(
        y[:, 1:, 1:] - y[:, :-1, :-1], "logits of equal tokens differ along a diagonal"
    )


def heads_share(trial: Trial) -> None:
    """Check that heads with the same queries and content have the same logits."""
    chosen = arguments(trial)
    same = {
        name: np.broadcast_to(chosen[name][:1], chosen[name].shape).copy()
        for name in ("q", "k_nope")
    }
    y = trial.answer(**(chosen | same))
    trial.assert_zero(y - y[:1], "heads with the same queries and content have different logits")


def last_ones(trial: Trial) -> None:
    """Check that ``q_len`` queries give the last rows of as many queries as keys."""
    chosen = arguments(trial)
    heads, q_len, width = chosen["q"].shape
    k_len = len(chosen["k_rope"])
    q = fine((heads, k_len, width), 3)
    every = trial.answer(**(chosen | {"q": q}))
    few = trial.answer(**(chosen | {"q": q[:, k_len - q_len :].copy()}))
    trial.assert_zero(
        few - every[:, k_len - q_len :],
        "with fewer queries than keys the queries are not the last ones",
    )


def instead(words: str, change: Callable[[Case, Parts], Parts]) -> DeviationModel:
    """Make a model of the logits with one part changed."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        yield Prediction(words, change(case, right(case)).logits())

    return models


def all_by(words: str, factor: Callable[[Case], float]) -> DeviationModel:
    """Make a model of logits under YaRN with another factor instead of the square of m."""

    def models(case: Case, got: Floats) -> Iterator[Prediction]:
        if case.arguments.get("factor") is not None:
            at = right(case)
            m = grown(case, "mscale_all_dim") ** 2
            yield Prediction(words, replace(at, all=at.all / m * factor(case)).logits())

    return models


def longer_pairs(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the square of m on the rotary parts, instead of or in addition to all logits."""
    if case.arguments.get("factor") is None:
        return
    at, m = right(case), grown(case, "mscale_all_dim") ** 2
    yield Prediction(
        "matches the square of mscale on rotary parts only, as in plain YaRN",
        replace(at, alone=m, all=at.all / m).logits(),
    )
    yield Prediction(
        "matches the square of mscale on rotary parts, and on everything once more",
        replace(at, alone=m).logits(),
    )


def other_scale(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all logits times an estimated number."""
    truth = np.asarray(case.truth)
    size = float((truth * truth).sum())
    times = float((got * truth).sum()) / size if size > 0 and np.isfinite(got).all() else 0.0
    if times > 0:
        channels_seen = sum(parts(case)) / times**2
        yield Prediction(
            f"matches all logits times {apart(times, 1, digits=6)[0]}, as if divided by "
            f"sqrt({channels_seen:.4g}) for sqrt({sum(parts(case))})",
            times * truth,
        )


def parts_exchanged(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the first channels of each query used as its rotary part."""
    rope, q = parts(case)[1], case.arguments["q"]
    at = replace(right(case), q_nope=q[..., rope:], q_rope=q[..., :rope])
    yield Prediction("matches queries whose first channels are the rotary part", at.logits())


def first_channels_turned(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict queries and keys whose first channels are turned in place of the last ones."""
    rope, k_rope = parts(case)[1], case.arguments["k_rope"]
    shared = np.broadcast_to(k_rope, (shape(case)[0], *k_rope.shape))
    q, k = case.arguments["q"], np.concatenate([case.arguments["k_nope"], shared], axis=-1)
    first, rest = np.s_[..., :rope], np.s_[..., rope:]
    at = replace(right(case), q_nope=q[rest], q_rope=q[first], k_nope=k[rest], k_rope=k[first])
    words = f"matches queries and keys whose first {rope} channels are turned, not their last"
    yield Prediction(words, at.logits())


def queries_first(case: Case, at: Parts) -> Parts:
    """Place query i at position i."""
    _, q_len, k_len = shape(case)
    return replace(at, lag=np.arange(q_len)[:, None] - np.arange(k_len, dtype=np.float64))


def waves_in_other_layout(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict sines and cosines laid out for one layout, and channels paired by the other."""
    at, rope = right(case), parts(case)[1]
    _, q_len, k_len = shape(case)
    first, second = channels(rope, at.layout)
    other = channels(rope, "half" if at.layout == "interleaved" else "interleaved")

    def turned(x: Floats, places: Floats) -> Floats:
        angles = np.empty((len(places), rope))
        for place in other:
            angles[:, place] = places[:, None] * at.omega
        crossed = np.empty_like(x)
        crossed[..., first], crossed[..., second] = -x[..., second], x[..., first]
        return np.asarray(x * np.cos(angles) + crossed * np.sin(angles))

    q = turned(at.q_rope, np.arange(k_len - q_len, k_len, dtype=np.float64))
    k = turned(at.k_rope, np.arange(k_len, dtype=np.float64))
    position = np.einsum("hic,jc->hij", q, k)
    yield Prediction(
        "matches sines and cosines laid out for the other pairs",
        (at.content() + at.alone * position) * at.all,
    )


def one_side_unturned(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rotary parts of which only those of queries, or only those of keys, are turned."""
    _, q_len, k_len = shape(case)
    lag = np.zeros((q_len, k_len))
    query, key = np.arange(k_len - q_len, k_len)[:, None] + lag, np.arange(k_len) + lag
    for words, places in (("keys", query), ("queries", -key)):
        at = replace(right(case), lag=places)
        yield Prediction(f"matches rotary parts of {words} that are not turned", at.logits())


def other_width(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict frequencies of the whole head, or half of each rotary part as a head of its own."""
    at, (nope, rope) = right(case), parts(case)
    if case.arguments.get("factor") is not None:
        return
    base, half = case.arguments["base"], rope // 4 * 2
    whole = progression(base, nope + rope)[: rope // 2]
    words = f"matches frequencies of all {nope + rope} channels of the head, not of {rope}"
    yield Prediction(words, replace(at, omega=whole).logits())
    if not half:
        return
    shared = np.broadcast_to(at.k_rope, (len(at.q_rope), *at.k_rope.shape[-2:]))
    for which, own in (("first", slice(0, half)), ("last", slice(rope - half, rope))):
        rest = np.setdiff1d(np.arange(rope), np.arange(rope)[own])
        changed = replace(
            at,
            q_nope=np.concatenate([at.q_nope, at.q_rope[..., rest]], axis=-1),
            k_nope=np.concatenate([at.k_nope, shared[..., rest]], axis=-1),
            q_rope=at.q_rope[..., own],
            k_rope=at.k_rope[..., own],
            omega=progression(base, half),
        )
        words = f"matches only the {which} {half} of {rope} channels turned, like a head of {half}"
        yield Prediction(words, changed.logits())


def layouts_differ(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict queries turned in one layout and keys in another."""
    at, rope = right(case), parts(case)[1]
    _, q_len, k_len = shape(case)

    def turned(x: Floats, places: Floats, layout: str) -> Floats:
        first, second = channels(rope, layout)
        pairs = x[..., first] + 1j * x[..., second]
        pairs = pairs * np.exp(1j * places[:, None] * at.omega)
        out = np.empty(x.shape)
        out[..., first], out[..., second] = pairs.real, pairs.imag
        return out

    for of_q, of_k in (("half", "interleaved"), ("interleaved", "half")):
        q = turned(at.q_rope, np.arange(k_len - q_len, k_len, dtype=np.float64), of_q)
        k = turned(at.k_rope, np.arange(k_len, dtype=np.float64), of_k)
        position = np.einsum("hic,jc->hij", q, k)
        words = f"matches queries turned in the {of_q} layout, and keys in the {of_k} one"
        yield Prediction(words, (at.content() + at.alone * position) * at.all)


def low_precision(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict positions, frequencies or angles in a narrow dtype, and tables of them."""
    at, (_, q_len, k_len) = right(case), shape(case)
    first, second = channels(at.q_rope.shape[-1], at.layout)
    q, k = (part[..., first] + 1j * part[..., second] for part in (at.q_rope, at.k_rope))

    def logits(angles: Floats, dtype: str = "float64") -> Floats:
        cos, sin = in_dtype(angles, dtype)
        turn = cos + 1j * sin
        turned = np.einsum("hip,jp->hij", q * turn[k_len - q_len :], (k * turn).conj()).real
        return np.asarray((at.content() + at.alone * turned) * at.all)

    if q_len <= k_len:
        places = np.arange(k_len, dtype=np.float64)[:, None]
        yield from short_tables(places * at.omega, logits)
        yield from rounded_angles(places, at.omega, logits, logits)


def yarn_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the frequencies of rope instead of YaRN's."""
    if case.arguments.get("factor") is not None:
        plain = progression(case.arguments["base"], parts(case)[1])
        yield Prediction(
            "matches frequencies of rope, not YaRN's", replace(right(case), omega=plain).logits()
        )


KNOWLEDGE = {
    "mla_scores": CallKnowledge(
        error_terms=error_terms,
        arguments=arguments,
        sweep=sweep(swept, nope=4, rope=8),
        sizes=sizes(
            arrays,
            (1, 2, 2, 3, 2),
            (9, 3, 5, 5, 4),
            (1, 4, 4, 128, 64),
            (2, 1, 70, 6, 10),
            (33, 2, 3, 1, 2),
            (1, 65, 65, 2, 2),
            (2, 192, 192, 2, 2),
            (1, 2, 2, 130, 132),
        ),
        shape=shape,
        invariants={
            "content-alone": content_alone,
            "own-position": own_position,
            "toeplitz": toeplitz,
            "heads-share-the-rotary-key": heads_share,
            "last-queries": last_ones,
        },
        readings=(one_side_unturned, other_width, layouts_differ, low_precision),
        deviations={
            "mscale-missing": all_by(
                "matches logits without the square of mscale", lambda case: 1.0
            ),
            "mscale-once": all_by(
                "matches mscale once, not squared", lambda case: grown(case, "mscale_all_dim")
            ),
            "mscale-for-all-dim": all_by(
                "matches the square of what mscale gives, not mscale_all_dim",
                lambda case: grown(case, "mscale") ** 2,
            ),
            "mscale-on-rotary-parts": longer_pairs,
            "yarn-ignored": yarn_ignored,
            "unrotated": instead(
                "matches rotary parts that are not turned",
                lambda case, at: replace(at, lag=0 * at.lag),
            ),
            "parts-exchanged": parts_exchanged,
            "first-channels-turned": first_channels_turned,
            "layout-swapped": other_conventions(
                "layout", "matches the {value} layout exactly; {claimed} was claimed"
            ),
            "waves-in-other-layout": waves_in_other_layout,
            "queries-first": instead("matches queries at the first positions", queries_first),
            "sign-flipped": instead(
                "matches a rotation in the opposite sense",
                lambda case, at: replace(at, lag=-at.lag),
            ),
            "wrong-base": other_base,
            "other-scale": other_scale,
        },
    ),
}
