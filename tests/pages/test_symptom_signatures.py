"""Mistakes that *Which mistake* lists under a symptom show it: their results are computed.

The kit's own model of a mistake predicts what a program with it returns. A symptom that is about
positions or lengths is looked for in that result.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from blocks.symptom_blocks import mistakes, symptoms

import posenc
from posenc_conformance.commands.cures import Symptom
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.invocation import materialise
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_all

pytestmark = pytest.mark.remembered(shipped=True, also=("docs",))

SYMPTOMS = {symptom.id: symptom for symptom in symptoms()}
SCHEMES = {scheme.id: scheme for scheme in load_all()}
LENGTH, HEAD_DIM = 4096, 128
LONG = {"original_max_position_embeddings": LENGTH}
STRETCH = 1 + np.arange(HEAD_DIM // 2) / 4
SCALINGS: Mapping[str, Mapping[str, Any]] = {
    "position-interpolation": {"factor": 4.0},
    "ntk-aware": {"factor": 4.0},
    "dynamic-ntk": {"factor": 4.0, **LONG},
    "yarn": {"factor": 4.0, **LONG},
    "llama3": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **LONG},
    "longrope": {
        "factor": 4.0, "short_factors": np.ones(HEAD_DIM // 2), "long_factors": STRETCH, **LONG
    },
}  # fmt: skip
TEXTS = (1, 2, 16, 256, LENGTH, 4 * LENGTH)
OF_STATE = "kept-length"
"""It shows after an earlier, longer text alone."""

Errors = list[float]
"""The largest error in a text of each length."""


def case_of(scheme: KnownScheme, length: int) -> Case:
    """Ask a scaling for the first two rows and the last one of a text."""
    call = scheme.calls[scheme.id.replace("-", "_")]
    name = next(name for name in call.combinations if not name.endswith("interleaved"))
    positions = np.array(sorted({0, min(1, length - 1), length - 1}))
    row = np.random.default_rng(0).normal(size=HEAD_DIM)
    arguments = {
        "x": np.tile(row, (len(positions), 1)),
        "positions": positions,
        "base": 10000.0,
        **SCALINGS[scheme.id],
    }
    if scheme.id == "dynamic-ntk":
        arguments["length"] = length
    return Case(scheme, call, call.combinations[name].conventions, arguments, "float64")


def unit(rows: Any) -> Any:
    """Return rows of length 1: a factor of all rows is another matter."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def trained(case: Case) -> Any:
    """What the model did before it was extended."""
    return posenc.rope(
        case.arguments["x"], case.arguments["positions"], base=10000.0,
        layout=str(case.conventions["layout"]),
    )  # fmt: skip


def outcomes(scheme: KnownScheme, mistake: str) -> Iterator[tuple[Errors, Errors, Errors]]:
    """Yield errors against the right rows, and of wrong and right rows against trained ones."""
    cases = [case_of(scheme, length) for length in TEXTS]
    model = scheme.knowledge[cases[0].call.name].deviations[mistake]
    for wrong in zip(*(list(model(case, case.truth)) for case in cases), strict=False):
        rows = [
            (unit(made.output), unit(case.truth), unit(trained(case)))
            for made, case in zip(wrong, cases, strict=True)
        ]
        yield (
            [float(abs(got - right).max()) for got, right, _ in rows],
            [float(abs(got - before).max()) for got, _, before in rows],
            [float(abs(right - before).max()) for _, right, before in rows],
        )


def is_right_as_trained(errors: Errors, moved: Errors, meant: Errors) -> bool:
    """Within the trained length the rows are those of training, and beyond they are not right."""
    return max(moved[:-1]) < 1e-9 and errors[-1] > 0.1


def is_worse_when_longer(errors: Errors, moved: Errors, meant: Errors) -> bool:
    """The second row is nearly right, and those of a long text are not."""
    return errors[0] < 1e-9 and errors[1] < 0.25 * max(errors) and errors[-1] > 0.5 * max(errors)


def spoils_short_texts(errors: Errors, moved: Errors, meant: Errors) -> bool:
    """Rows of a short text are farther from those of training than the scaling brings them."""
    return any(
        wrong > 1.01 * right + 1e-9 for wrong, right in zip(moved[:5], meant[:5], strict=True)
    )


SHOWN = {
    "trained-length": is_right_as_trained,
    "long-texts": is_worse_when_longer,
    "scaling-worse": spoils_short_texts,
}


def unfit(symptom: Symptom) -> list[str]:
    """Return the mistakes of a symptom that do not show it in any text."""
    found = []
    for name in SCALINGS:
        scheme = SCHEMES[name]
        known = scheme.knowledge[name.replace("-", "_")].deviations
        for deviation in scheme.deviations:
            if deviation.id not in known or not symptom.fits(scheme, deviation):
                continue
            shown = [SHOWN[symptom.id](*told) for told in outcomes(scheme, deviation.id)]
            if shown and not any(shown) and deviation.id != OF_STATE:
                found.append(f"{name}.{deviation.id}")
    return found


@pytest.mark.parametrize("id", SHOWN)
def test_mistakes_of_scalings_show_the_symptom_that_lists_them(id: str) -> None:
    assert unfit(SYMPTOMS[id]) == []


@pytest.mark.parametrize(
    ("id", "mistakes"),
    [
        ("trained-length", ["multiplied", "sign-flipped", "always-full"]),
        ("long-texts", ["multiplied", "sign-flipped", "temperature-swapped", "always-full"]),
        ("scaling-worse", ["never-scaled", "unscaled", "factor-ignored", "scaling-missing"]),
    ],
)
def test_a_mistake_under_another_symptom_is_found(id: str, mistakes: list[str]) -> None:
    some = Symptom(id, "", "long", "", "", "", {"ids": mistakes})
    assert {name.partition(".")[2] for name in unfit(some)} == set(mistakes)


def test_symptoms_that_exclude_each_other_share_no_mistake() -> None:
    worse = SYMPTOMS["scaling-worse"]
    for id in ("trained-length", "long-texts"):
        both = [
            f"{scheme.id}.{deviation.id}"
            for scheme, deviation in mistakes()
            if SYMPTOMS[id].fits(scheme, deviation) and worse.fits(scheme, deviation)
            if deviation.id != "interpolated" or scheme.family == "rotary"
        ]
        assert both == [], id


def first_rows(scheme: KnownScheme, mistake: str) -> Iterator[tuple[float, float]]:
    """Yield the errors of rows 0 and 1 in each combination that counts from 0."""
    for golden in {(g.call, g.combination): g for g in scheme.goldens}.values():
        call, known = scheme.calls[golden.call], scheme.knowledge[golden.call]
        arguments = dict(materialise(golden.arguments))
        if mistake not in known.deviations or np.ndim(arguments.get("positions", 0)) != 1:
            continue
        arguments["positions"] = np.minimum(np.arange(len(arguments["positions"])), 1)
        conventions = {**call.combinations[golden.combination].conventions, **golden.options}
        case = Case(scheme, call, conventions, arguments, "float64")
        for wrong in known.deviations[mistake](case, case.truth):
            if wrong.output.shape == case.truth.shape and case.truth.shape[-2] > 1:
                rows = abs(wrong.output - case.truth)
                yield float(rows[..., 0, :].max()), float(rows[..., 1, :].max())


def late(symptom: Symptom) -> list[str]:
    """Return mistakes that never are right at position 0 and wrong at 1."""
    found = []
    for scheme, deviation in mistakes():
        if symptom.fits(scheme, deviation):
            rows = list(first_rows(SCHEMES[scheme.id], deviation.id))
            if rows and not any(first < 1e-9 and second > 1e-5 for first, second in rows):
                found.append(f"{scheme.id}.{deviation.id}")
    return found


def test_the_second_token_is_the_first_wrong_one() -> None:
    assert late(SYMPTOMS["second-token"]) == []


def test_a_mistake_at_the_first_token_is_found() -> None:
    some = Symptom("", "", "start", "", "", "", {"ids": ["layout-swapped", "positions-shifted"]})
    found = late(some)
    assert {"sinusoidal.layout-swapped", "binary.positions-shifted"} <= set(found)
    assert "rope.layout-swapped" not in found


def breaks(scheme: KnownScheme, mistake: str) -> bool:
    """Return whether some result has NaN or infinity, or a query that sees no key."""
    for golden in {(g.call, g.combination): g for g in scheme.goldens}.values():
        model = scheme.knowledge[golden.call].deviations.get(mistake)
        if model is None:
            continue
        call = scheme.calls[golden.call]
        conventions = {**call.combinations[golden.combination].conventions, **golden.options}
        case = Case(scheme, call, conventions, materialise(golden.arguments), "float64")
        for wrong in model(case, case.truth):
            seen = np.asarray(wrong.output, dtype=float)
            if not np.isfinite(seen).all() or not seen.any(axis=-1).all():
                return True
    return False


def test_what_may_raise_an_exception_gives_no_number() -> None:
    listed = [pair for pair in mistakes() if SYMPTOMS["exception"].fits(*pair)]
    told = [d.id for s, d in listed if breaks(SCHEMES[s.id], d.id) or "divides by 0" in d.effect]
    assert told == [d.id for _, d in listed]
    assert not breaks(SCHEMES["kerple"], "logarithm-wrong")


def test_a_backward_pass_is_wrong_in_training_alone() -> None:
    for scheme, deviation in mistakes():
        if deviation.id.startswith(("backward-", "gradient-")):
            begins = {s.begins for s in SYMPTOMS.values() if s.fits(scheme, deviation)}
            assert begins == {"training"}, deviation.id
