"""Write goldens from the reference, certify them with the oracle, and find drift."""

import hashlib
import json
import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from posenc_conformance import oracle
from posenc_conformance.checks.golden import probe_index
from posenc_conformance.commands import golden_text
from posenc_conformance.errors import UserError, describe_exception
from posenc_conformance.files import Writer, demand_no_links
from posenc_conformance.judge.case import Case, case_described_by
from posenc_conformance.judge.form import EXACT
from posenc_conformance.judge.invocation import materialise
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.models.file import Model, is_model_file, load_model
from posenc_conformance.models.file import paths as model_paths
from posenc_conformance.models.meaning import scheme_of
from posenc_conformance.registry import ORACLE, load_scheme, missing, module_of
from posenc_conformance.scheme_file.read import scheme_paths
from posenc_conformance.scheme_file.scheme import Golden, Published, Witness

PROVENANCE = {"generator": "posenc", "oracle": f"mpmath, {oracle.DIGITS} digits"}
"""The makers of goldens, without a version: a release with the same results changes no file."""

Expectation = dict[str, Any]
"""A golden's statement about the result: its values, or probes into it."""


@dataclass(frozen=True)
class Drift:
    """A golden, published value or desideratum that does not hold."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def check(scheme: KnownScheme) -> list[Drift]:
    """Find the goldens, published values and witnesses of a scheme that do not hold."""
    drifts: list[Drift] = []
    for golden in scheme.goldens:
        where = f"{scheme.path.name}::golden::{golden.id}"
        with _refusing(where):
            drifts += [Drift(where, problem) for problem in _golden_drift(scheme, golden)]
    for published in scheme.published:
        where = f"{scheme.path.name}::published::{published.id}"
        with _refusing(where):
            drifts += [Drift(where, problem) for problem in _published_drift(scheme, published)]
    for wish in scheme.desiderata:
        where = f"{scheme.path.name}::desiderata::{wish.name}"
        if wish.witness is not None and not witnessed(scheme, wish.witness):
            drifts += [Drift(where, f"the results are not {wish.witness.shows} as stated")]
    return drifts


def check_model(model: Model) -> list[Drift]:
    """Find the goldens of a model that do not hold."""
    drifts: list[Drift] = []
    for group, golden in model.goldens:
        where = f"{model.path.name}::golden::{golden.id}"
        with _refusing(where):
            drifts += [Drift(where, problem) for problem in _golden_drift(scheme_of(group), golden)]
    return drifts


def witnessed(scheme: KnownScheme, witness: Witness) -> bool:
    """Return whether the reference's results of two calls show what a witness claims."""
    call = scheme.calls[witness.call]
    conventions = call.combinations[witness.combination].conventions
    first, second = (
        Case(scheme, call, conventions, materialise(arguments), "float64").truth
        for arguments in witness.arguments
    )
    if witness.rows:
        first, second = first[list(witness.rows[0])], second[list(witness.rows[1])]
    if witness.shows == "dot-products":
        products = tuple(float(truth[0] @ truth[1]) for truth in (first, second))
        return products == witness.printed and products[0] != products[1]
    return np.array_equal(first, second) == (witness.shows == "equal")


def write(path: Path) -> list[str]:
    """Rewrite the goldens of a scheme or model with the reference's results.

    Returns the ids of those that changed. They are written in flow style, with new ``expect`` and
    ``sha256``; apart from them only the file's ``provenance`` changes, and comments are kept. The
    file is replaced atomically.

    Raises UserError if the oracle does not certify a value.
    """
    owner = load_model(path) if is_model_file(path) else load_scheme(path)
    text = path.read_bytes().decode()
    changed, results = [], {}
    for number, (scheme, golden) in enumerate(_goldens_of(owner)):
        where = f"{path.name}::golden::{golden.id}"
        with _refusing(where):
            expect = _regenerated(scheme, golden)
            problem = next(_uncertified(scheme, golden, expect), "")
        if problem:
            raise UserError(
                f"{where}: {problem}",
                "reference and oracle disagree: find out which one departs from the definition",
            )
        digest = _digest(golden, expect)
        if _expectation(golden) != expect or golden.sha256 != digest:
            changed.append(golden.id)
            results[number] = golden_text.write_result(expect, digest)
    if changed or owner.provenance != PROVENANCE:
        writer = Writer(
            lambda path: path.read_bytes().decode() == text,
            "has changed since it was read",
            hint="run it again",
        )
        writer.write({path: golden_text.rewrite(text, results, PROVENANCE)})
    return changed


def _goldens_of(owner: KnownScheme | Model) -> list[tuple[KnownScheme, Golden]]:
    if isinstance(owner, Model):
        return [(scheme_of(group), golden) for group, golden in owner.goldens]
    return [(owner, golden) for golden in owner.goldens]


@contextmanager
def _refusing(where: str) -> Iterator[None]:
    """Turn an exception of the reference or the oracle into a UserError about ``where``."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # also a bug of an unfinished reference or oracle
        at = traceback.extract_tb(error.__traceback__)[-1]
        raise UserError(
            f"{where}: its arguments give no result: {describe_exception(error)} "
            f"({at.filename}:{at.lineno})",
            "correct the arguments, or the code that raised this",
        ) from None


def main(arguments: Sequence[str], writing: bool) -> int:
    """Check or write files of schemes and models; return 1 if anything drifted, else 0."""
    if writing:
        demand_no_links(map(Path, arguments))
    files = [Path(os.path.realpath(name)) for name in arguments] or [
        *scheme_paths(),
        *model_paths(),
    ]
    drifts: list[Drift] = []
    for path in files:
        if writing:
            changed = write(path)
            print(f"{path.name}: {len(changed)} goldens written{_listed(changed)}")
            load_scheme.cache_clear()
            load_model.cache_clear()
        if is_model_file(path):
            model = load_model(path)
            drifts += check_model(model)
            print(f"{path.name}: {len(model.goldens)} goldens of the model {model.id}")
            continue
        scheme = load_scheme(path)
        problems = check(scheme)
        drifts += problems
        if not problems:
            count = f"{len(scheme.goldens)} goldens, {len(scheme.published)} published values"
            print(f"{path.name}: {count}: up to date, certified by {PROVENANCE['oracle']}")
    for drift in drifts:
        print(drift)
    return 1 if drifts else 0


def _listed(names: Sequence[str]) -> str:
    return ": " + ", ".join(names) if names else ""


def _expectation(golden: Golden) -> Expectation:
    if golden.values is not None:
        return {"values": golden.values}
    return {"probes": [list(probe) for probe in golden.probes or ()]}


def _regenerated(scheme: KnownScheme, golden: Golden) -> Expectation:
    """Compute the reference's current result in the form of the golden."""
    case = case_described_by(scheme, golden, "float64")
    truth = case.truth
    if golden.values is not None:
        return {"values": _nested(truth, case.call.dtype in EXACT)}
    width = truth.ndim
    rows = [list(probe[:width]) for probe in golden.probes or ()]
    kind = int if case.call.dtype in EXACT else float
    values = [kind(truth[probe_index(case, row)]) for row in rows]
    return {"probes": [[*row, value] for row, value in zip(rows, values, strict=True)]}


def _nested(values: np.ndarray[Any, Any], integer: bool) -> Any:
    if values.ndim:
        return [_nested(part, integer) for part in values]
    if not np.isfinite(values):
        return None
    return int(values) if integer else float(values)


def _elements(case: Case, expect: Expectation) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield index and expected value of every element that a golden lists.

    Raises UserError if the golden's values have another shape than the result.
    """
    if "values" in expect:
        values = np.array(expect["values"], dtype=object)
        if values.shape != case.shape:
            raise UserError(f"values have shape {values.shape}, not {case.shape}")
        yield from np.ndenumerate(values)
    else:
        for *index, value in expect["probes"]:
            yield probe_index(case, index), value


def _uncertified(scheme: KnownScheme, golden: Golden, expect: Expectation) -> Iterator[str]:
    """Yield a line on each value that the oracle does not confirm.

    A float may be off by one unit in the last place of the scale, an exact value by nothing.
    """
    case = case_described_by(scheme, golden, "float64")
    with mpmath.workdps(oracle.DIGITS):
        exact = oracle_values(case)
        for index, value in _elements(case, expect):
            true = exact(index)
            if (true is None) != (value is None):
                yield f"at {index} the oracle says {true}, the golden {value}"
            elif true is not None and value is not None:
                ulp = 0.0 if case.call.dtype in EXACT else unit(case, index, value)
                if abs(mpmath.mpf(value) - true) > ulp:
                    shown = mpmath.nstr(true, 20)
                    yield f"at {index} the oracle says {shown}, the golden {value!r}"


def oracle_values(case: Case) -> oracle.Element:
    """Return the oracle's function from an element's index to its value.

    Raises UserError if the oracle has no values for the call.
    """
    values = getattr(module_of(case.scheme, ORACLE), "VALUES", {}).get(case.call.name)
    if values is None:
        raise missing(case.scheme, ORACLE, f"the oracle has no VALUES[{case.call.name!r}]")
    element: oracle.Element = values(case.arguments, case.conventions)
    return element


def unit(case: Case, index: tuple[int, ...], value: float) -> float:
    """Return one unit in the last place of an element's scale.

    A scale that is smaller than the value, as when divided by a count, is replaced by the value.
    """
    scale = np.broadcast_to(case.terms.scale, case.shape)[index]
    return float(np.spacing(max(scale, abs(value))))


def _golden_drift(scheme: KnownScheme, golden: Golden) -> Iterator[str]:
    case = case_described_by(scheme, golden, "float64")
    expect = _expectation(golden)
    width = len(case.shape)
    if any(len(probe) != width + 1 for probe in golden.probes or ()) or golden.values == []:
        yield "has no values yet; run 'posenc goldens --write'"
        return
    try:
        elements = list(_elements(case, expect))
    except UserError as error:
        yield str(error)
        return
    for (index, value), (_, now) in zip(
        elements, _elements(case, _regenerated(scheme, golden)), strict=True
    ):
        if value != now:
            yield f"at {index} the golden says {value!r}, the reference {now!r}"
    yield from _uncertified(scheme, golden, expect)
    if golden.sha256 != _digest(golden, expect):
        yield "the hash does not match: the golden was changed by hand, or never written"


def _digest(golden: Golden, expect: Expectation) -> str:
    """Hash the content of a golden: its inputs, conventions and values."""
    content = {
        "call": golden.call,
        "combination": golden.combination,
        "options": golden.options,
        "arguments": golden.arguments,
        "expect": expect,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _published_drift(scheme: KnownScheme, published: Published) -> Iterator[str]:
    case = case_described_by(scheme, published, "float64")
    with mpmath.workdps(oracle.DIGITS):
        exact = oracle_values(case)
        for *index, text in published.printed:
            if published.quantity == "dot-product":
                channels = range(case.shape[-1])
                true = mpmath.fsum(exact((0, c)) * exact((1, c)) for c in channels)
                first, second = (list(map(mpmath.mpf, row.tolist())) for row in case.truth)
                ours = mpmath.fdot(first, second)
            else:
                place = probe_index(case, [float(part) for part in index])
                true, ours = exact(place), mpmath.mpf(case.truth[place].item())
            for name, value in (("oracle", true), ("reference", ours)):
                if not _prints_as(value, str(text), published.rounding):
                    shown = mpmath.nstr(value, 15)
                    yield f"{index or ''} is printed as {text}; the {name} says {shown}"


def _prints_as(value: Any, text: str, rounding: str) -> bool:
    """Return whether a value, rounded as the source rounded, gives the printed text."""
    if rounding == "exact":
        if text.startswith("1/2^"):
            printed = mpmath.power(2, -mpmath.mpf(text.removeprefix("1/2^")))
        else:
            printed = mpmath.mpf(text)
        return bool(abs(value - printed) <= mpmath.mpf(2) ** -53 * abs(printed))
    places = Decimal(1).scaleb(-len(text.partition(".")[2]))
    mode = ROUND_DOWN if rounding == "truncated" else ROUND_HALF_EVEN
    digits = Decimal(mpmath.nstr(value, 40, strip_zeros=False))
    return digits.quantize(places, rounding=mode) == Decimal(text)
