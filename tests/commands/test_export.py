"""Exported vectors agree with the kit: the same values, bounds and verdicts."""

import json
from collections.abc import Iterator
from functools import cache

import fastjsonschema
import jsonschema
import mpmath
import numpy as np
import pytest
from blocks.measured_blocks import read_results

from posenc_conformance import oracle
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.golden import can_fail, golden_case
from posenc_conformance.checks.smoke import first_answer
from posenc_conformance.commands.export.formats import FORMS
from posenc_conformance.commands.export.make import vectors_of
from posenc_conformance.commands.export.vector_document import of_json, to_json
from posenc_conformance.commands.export.vectors import Tensor, Vector, Vectors
from posenc_conformance.commands.goldens import oracle_values, unit
from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.form import EXACT
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.scheme_file.read import spec_folder
from posenc_lab.judging import schemes
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.base import STEPS, WRONG
from posenc_lab.miniatures.everywhere import whole
from posenc_lab.miniatures.styles import RIGHT

assert right.__path__, wrong.__path__  # importing them fills the lists

BY_ID = {scheme.id: scheme for scheme in schemes()}
each_scheme = pytest.mark.parametrize(
    "scheme",
    [
        # All tests of a scheme run in one worker, which exports it once.
        pytest.param(scheme, marks=[pytest.mark.draws, pytest.mark.xdist_group(f"export {id}")])
        for id, scheme in BY_ID.items()
    ],
    ids=BY_ID,
)


@cache
def exported(scheme: KnownScheme) -> dict[str, Vectors]:
    """Return the exported vectors of a scheme by dtype, read back from JSON."""
    return {file.dtype: of_json(to_json(file)) for file in vectors_of(scheme, tuple(DTYPES))}


def cases(scheme: KnownScheme) -> Iterator[tuple[Vector, Case]]:
    """Yield each exported vector, and the kit's own case for it."""
    for dtype, vectors in exported(scheme).items():
        for vector in vectors.cases:
            yield vector, asked(scheme, vector, dtype)


def asked(scheme: KnownScheme, vector: Vector, dtype: str) -> Case:
    """Build the case of a vector from its fields only."""
    arguments = {
        name: widened(value) if isinstance(value, Tensor) else value
        for name, value in vector.arguments.items()
    }
    return Case(scheme, scheme.calls[vector.call], vector.conventions, arguments, dtype)


def widened(tensor: Tensor) -> Array:
    array = tensor.array
    return array if array.dtype.kind == "i" else array.astype(np.float64)


@pytest.mark.remembered(miniatures=True)
@each_scheme
def test_json_obeys_the_schema(scheme: KnownScheme) -> None:
    schema = json.loads((spec_folder() / "vectors.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    demand_valid = fastjsonschema.compile(schema)
    for vectors in exported(scheme).values():
        document = json.loads(to_json(vectors))
        demand_valid(document)
        ids = [case["id"] for case in document["cases"]]
        assert len(set(ids)) == len(ids)
        named = {name for row in document["cases"] for name in row["kills"] + row["kills_some"]}
        assert named == set(document["deviations"])
        for case in document["cases"]:
            places = [element[0] for element in case["elements"]]
            assert places == sorted(set(places))
            assert places[-1] < np.prod(case["shape"])
            for value in case["arguments"].values():
                if isinstance(value, dict):
                    listed = value["bits"] if "bits" in value else value["values"]
                    assert len(listed) == np.prod(value["shape"])


@pytest.mark.remembered(miniatures=True)
@each_scheme
def test_every_form_has_the_same_content(scheme: KnownScheme) -> None:
    for vectors in exported(scheme).values():
        for name in ("json", "npz", "safetensors"):
            form = FORMS[name]
            assert form.decode(form.encode(vectors)) == vectors, name
        text = FORMS["text"].decode(FORMS["text"].encode(vectors))
        for other, vector in zip(text.cases, vectors.cases, strict=True):
            words = {name: str(value) for name, value in vector.conventions.items()}
            assert other == Vector(**{**vars(vector), "conventions": words})


@pytest.mark.remembered(miniatures=True)
@each_scheme
def test_every_golden_is_exported_with_its_values(scheme: KnownScheme) -> None:
    by_id = {(case.dtype, vector.id): (vector, case) for vector, case in cases(scheme)}
    for golden in scheme.goldens:
        exact = scheme.calls[golden.call].dtype
        for dtype in (exact,) if exact in EXACT else DTYPES:
            if not can_fail(scheme, golden, dtype):
                assert (dtype, golden.id) not in by_id
                continue
            expected = golden_case(scheme, golden, dtype)
            vector, case = by_id[dtype, golden.id]
            assert vector.comment == golden.kills
            assert vector.shape == expected.shape
            assert dict(vector.conventions) == dict(expected.conventions)
            assert case.arguments.keys() == expected.arguments.keys()
            for name, value in case.arguments.items():
                assert np.array_equal(value, expected.arguments[name]), (golden.id, name)
            judged = expected.judged
            printed = np.broadcast_to(
                np.where(judged, expected.truth, np.nan), expected.shape
            ).ravel()
            exported_values = {index: value for index, value, _ in vector.elements}
            for index in np.flatnonzero(np.isfinite(printed)):
                assert exported_values[int(index)] == printed[index], (golden.id, index)


@pytest.mark.remembered(miniatures=True)
@each_scheme
def test_values_and_allowed_errors_are_those_of_the_judge(scheme: KnownScheme) -> None:
    for vector, case in cases(scheme):
        assert vector.shape == case.shape == case.truth.shape
        truth, allowed = case.truth.ravel(), case.bound.ravel()
        judged = case.judged.ravel()
        for index, value, error in vector.elements:
            assert judged[index], (vector.id, index)
            assert (value, error) == (truth[index], allowed[index]), (vector.id, index)


@pytest.mark.remembered(miniatures=True)
@each_scheme
def test_added_elements_are_certified_by_the_oracle(scheme: KnownScheme) -> None:
    """Elements that no golden prints are certified here, the others with the goldens."""
    printed = {golden.id: golden_case(scheme, golden, "float64") for golden in scheme.goldens}
    seen = set()
    for vector, case in cases(scheme):
        values = np.full(case.shape, np.nan)
        if vector.id in printed:
            values = np.asarray(printed[vector.id].truth, dtype=np.float64)
        with mpmath.workdps(oracle.DIGITS):
            exact = oracle_values(case)
            for index, value, _ in vector.elements:
                place = tuple(int(number) for number in np.unravel_index(index, case.shape))
                new = np.isnan(np.broadcast_to(values, case.shape)[place])
                if new and (vector.id, index, value) not in seen:
                    seen.add((vector.id, index, value))
                    error = abs(mpmath.mpf(value) - exact(place))
                    ulp = 0 if case.dtype in EXACT else unit(case, place, value)
                    assert error <= ulp, (vector.id, place)


@cache
def right_ones() -> list[object]:
    return [*(make() for make in RIGHT), *map(whole, tuple(STEPS))]


Asked = tuple[Subject, Vector, Case]


def claimed(scheme: KnownScheme, adapter: object) -> Iterator[Asked]:
    """Yield the exported cases that an adapter claims, after its smallest call, as the kit does."""
    for subject in subjects(adapter, schemes()):
        for dtype in subject.dtypes if subject.scheme is scheme else ():
            first_answer(subject, dtype)
            for vector in exported(scheme)[dtype].cases:
                if (vector.call, vector.combination) == (subject.call.name, subject.label):
                    case = asked(scheme, vector, dtype)
                    if subject.covers(case):
                        yield subject, vector, case


def rejected(subject: Subject, vector: Vector, case: Case) -> bool:
    """Return whether a reader of vectors, in any language, would reject the result."""
    try:
        flat = subject.run(case).astype(np.float64).ravel()
    except Misbehaviour:
        return True
    return not all(abs(flat[index] - value) <= allowed for index, value, allowed in vector.elements)


@pytest.mark.remembered(miniatures=True)
@each_scheme
def test_right_implementations_pass(scheme: KnownScheme) -> None:
    passed = set()
    for adapter in right_ones():
        if any(hasattr(adapter, call) for call in scheme.calls):
            for subject, vector, case in claimed(scheme, adapter):
                assert not rejected(subject, vector, case), (type(adapter).__name__, vector.id)
                passed.add((vector.call, vector.combination))
    assert passed == {(vector.call, vector.combination) for vector, _ in cases(scheme)}


@pytest.mark.remembered(miniatures=True)
@each_scheme
def test_wrong_implementations_fail_as_they_fail_goldens(scheme: KnownScheme) -> None:
    """Vectors catch at least as many mistakes as goldens; a case fails those that it notes."""
    failed = 0
    for mistake in WRONG:
        if mistake.call in scheme.calls:
            caught = False
            for subject, vector, case in claimed(scheme, mistake()):
                noted = mistake.named in vector.kills
                if noted or not caught:
                    bad = rejected(subject, vector, case)
                    if noted and not bad:
                        whole_result = compare(case, subject.run(case))
                        assert whole_result.passes, (mistake.__name__, vector.id, case.dtype)
                    caught = caught or bad
            failed += caught
    assert failed >= read_results("matrix")["schemes"][scheme.id]["seen_by"]["golden"]
