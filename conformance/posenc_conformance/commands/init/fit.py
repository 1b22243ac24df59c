"""Find the convention that a draft follows, and the limits of its claim."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from posenc_conformance.commands.init.blocks import sizes_of
from posenc_conformance.commands.init.calls.claim_text import claim_line, left_out, unusual_slopes
from posenc_conformance.commands.init.calls.scaled import longest_unscaled
from posenc_conformance.commands.init.candidates import quiet
from posenc_conformance.commands.init.draft import Draft
from posenc_conformance.commands.init.probes import BASE, DIMS, FIXED, HEAD_DIMS, PROBES
from posenc_conformance.commands.init.roles import takes_width
from posenc_conformance.judge.arrays import Array
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.claim_scope import Scope
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.scheme_file.scheme import Arguments, Combination

Restrictions = dict[str, Any]
"""The arguments of @claims other than the combination."""
BASES = (BASE, 500000.0, 1e6, 100.0)
DTYPES_OF = {"inputs": ("float32", "float64"), "keyword": ("float32", "float64")}
"""Dtypes that are tried for a result; NumPy's functions return float64 by default."""
NARROW = ("bfloat16", "float16")
ODD_RULES = ("zero", "cut", "uneven")
LIMITS = tuple(2**k - 1 for k in (9, 11, 12, 13, 14, 15, 16, 17))
HIDDEN = -1e4
"""What a mask adds to hide a key, or more."""
TOO_FAR = "raises or changes the shape"
READ = "read"
"""The cause of an error that is described in words, and is no known mistake."""


@dataclass(frozen=True)
class Fit:
    """A draft and a convention that it is compared with."""

    draft: Draft
    scheme: KnownScheme
    combination: Combination
    dtype: str
    base: float
    worst: float
    """Largest error in units of its bound."""
    mistake: str = ""
    """The explanation of the error; empty if there is none."""
    cause: str = ""
    """The id of the known mistake that explains the error, or READ; empty if nothing does."""
    judged: int = 0
    """The number of judged values: fewer if the convention masks some."""

    @property
    def right(self) -> bool:
        """Whether the draft meets the convention."""
        return self.worst <= 1

    def subject(self, **options: Any) -> Subject:
        """Make a subject of the draft, which can be called like any other."""
        scope = Scope({}, {}, (self.dtype,), 2**62)
        keywords = frozenset(self.draft.keywords)
        method, call = self.draft.method, self.draft.call
        return Subject(self.scheme, call, self.combination, (scope,), method, keywords)

    def error(self, arguments: Arguments, dtype: str | None = None, **options: Any) -> float:
        """Measure the largest error for these arguments, in units of its bound.

        It is infinite if shape, dtype or values do not fit.

        Raises Misbehaviour if the call raises.
        """
        subject = self.subject()
        case = subject.case(arguments, dtype or self.dtype, options)
        with quiet():
            output = subject.invoke(case, case.inputs)
        try:
            subject.require_form(case, output)
            return compare(case, output).worst
        except (Misbehaviour, ValueError):
            return np.inf

    def answers(self, arguments: Arguments) -> bool:
        """Return whether the call returns a result of the right shape and dtype."""
        subject = self.subject()
        case = subject.case(arguments, self.dtype)
        try:
            with quiet():
                subject.require_form(case, subject.invoke(case, case.inputs))
        except (Misbehaviour, ValueError):
            return False
        return True


@dataclass(frozen=True)
class Answered:
    """The answer of a draft to one of its call's PROBES."""

    fit: Fit
    case: Case
    output: Array
    off: float
    """Largest difference from the truth relative to the largest value; of a mask, the share of
    wrong values."""
    index: tuple[int, ...]
    """The index of the largest error."""


def best(drafts: Iterable[Draft], scheme: KnownScheme) -> tuple[Fit | None, list[Answered]]:
    """Return the first draft that meets a convention, or else the answers of all of them."""
    answers: list[Answered] = []
    for draft in drafts:
        own_answers = list(_answers(draft, scheme))
        right = [answer.fit for answer in own_answers if answer.fit.right]
        if right:
            return _most_telling(right), []
        answers += own_answers
    return None, answers


def _answers(draft: Draft, scheme: KnownScheme) -> Iterator[Answered]:
    """Yield the answers to the first of the PROBES under every convention.

    If no base is passed, each convention is tried with every usual base.
    """
    told = {"base", "max_period"} & {*draft.keywords}
    usual = [number for number in (draft.default_base, *BASES) if number]
    bases = dict.fromkeys([BASE] if told or not _has_base(draft) else usual)
    outputs: Restrictions = {}
    for combination in draft.call.combinations.values():
        for dtype in DTYPES_OF.get(draft.call.dtype, (draft.call.dtype,)):
            start = Fit(draft, scheme, combination, dtype, BASE, np.inf)
            output = _output(start, outputs)
            fits = [replace(start, base=base) for base in bases if output is not None]
            answers = [answer for fit in fits if (answer := _compare(fit, _case(fit), output))]
            yield from answers
            if draft.call.dtype == "inputs" and (answers or output is None):
                break  # another dtype is for code that always returns that one


def _has_base(draft: Draft) -> bool:
    return bool({"base", "max_period"} & {*draft.call.parameters})


def _case(fit: Fit, number: int = 0) -> Case:
    arguments = PROBES[fit.draft.call.name](fit.base)[number]
    return fit.subject().case(arguments, fit.dtype)


def _output(fit: Fit, outputs: Restrictions) -> Any:
    """Return the output for the first of the PROBES; None if the call raises.

    Conventions that the method does not take share one call.
    """
    case = _case(fit)
    told = {name: case.conventions[name] for name in fit.draft.keywords if name in case.conventions}
    key = f"{fit.dtype}{told}"
    if key not in outputs:
        outputs[key] = _called(fit, case)
    return outputs[key]


def _called(fit: Fit, case: Case) -> Any:
    """Return the output of a call; None if it raises."""
    try:
        with quiet():
            return fit.subject().invoke(case, case.inputs)
    except (Misbehaviour, SystemExit):
        return None


def answered(fit: Fit, number: int) -> Answered | None:
    """Return the answer to one of the PROBES; None if the call raises, or has another form."""
    if number >= len(PROBES[fit.draft.call.name](fit.base)):
        return None
    case = _case(fit, number)
    output = _called(fit, case)
    return None if output is None else _compare(fit, case, output)


def _compare(fit: Fit, case: Case, output: Array) -> Answered | None:
    try:
        fit.subject().require_form(case, output)
    except (Misbehaviour, ValueError):
        return None
    comparison = compare(case, output)
    truth = np.where(case.shown, case.truth, 0.0)
    difference = np.where(case.shown, np.abs(output.astype(np.float64) - truth), 0.0)
    off = float(difference.max() / max(np.abs(truth).max(), 1e-300))
    off = float(difference.mean()) if case.dtype == "boolean" else off
    seen = replace(fit, worst=comparison.worst, judged=comparison.judged)
    return Answered(seen, case, output.astype(np.float64), off, comparison.index)


def _most_telling(fits: Sequence[Fit]) -> Fit:
    """Return the fit that also agrees where conventions differ: one pair, odd sizes.

    Of several, it is the one with the most judged values: a causal bias hides values that a
    symmetric one shows.
    """
    return max(
        fits, key=lambda fit: (sum(_agrees(fit, *corner) for corner in _corners(fit)), fit.judged)
    )


def _corners(fit: Fit) -> Iterator[tuple[Arguments, str]]:
    """Yield arguments for which conventions differ, with the convention's rule for them.

    The rule may be that they are refused; it is empty if there is no special one.
    """
    point = fit.combination.conventions
    if fit.draft.call.name == "sinusoidal":
        first = PROBES["sinusoidal"](fit.base)[0]
        yield {**first, "dim": 2}, str(point["single_pair"])
        if "odd_dim" in point:
            yield {**first, "dim": 9}, str(point["odd_dim"])
    yield from ((arguments, "") for arguments in PROBES[fit.draft.call.name](fit.base)[1:])


def _agrees(fit: Fit, arguments: Arguments, rule: str) -> bool:
    try:
        error = fit.error(arguments)
    except Misbehaviour:
        return rule == "refuse"
    return error == np.inf if rule == "refuse" else error <= 1


@dataclass(frozen=True)
class Claimed:
    """The text to write for a fit."""

    fit: Fit
    lines: tuple[str, ...]
    """The ``@claims`` lines."""
    notes: tuple[str, ...]
    """Further findings, as text."""
    said: Restrictions
    """The arguments of the claim, without those of partial rotation."""

    @cached_property
    def wrong(self) -> Mapping[str, float]:
        """Other claimed combinations that the call takes and does not meet, with their errors."""
        fit = self.fit
        others = (each for each in fit.draft.call.combinations.values() if _also(fit, each))
        errors = {each.name: _error(replace(fit, combination=each)) for each in others}
        return {} if fit.mistake else {name: off for name, off in errors.items() if off > 1}


def claimed(fit: Fit) -> Claimed:
    """Make the claim for a fit: dtypes, bases, sizes and positions that work."""
    notes = [*fit.draft.notes]
    dtypes = _dtypes(fit, notes)
    restrictions: Restrictions = {"dtype": dtypes if len(dtypes) > 1 else dtypes[0]}
    if fit.draft.call.dtype in ("integer", "boolean"):
        restrictions = {}
    restrictions |= _parameters(fit, notes)
    restrictions |= _sizes(fit, notes)
    restrictions |= _odd(fit, notes)
    restrictions |= _masked(fit)
    notes += [*unusual_slopes(fit.scheme, fit.combination), *left_out(fit.draft)]
    limit = _limit(fit, notes)
    if limit is not None:
        restrictions["max_position"] = limit
    restrictions |= _switches(fit, limit, notes)
    names = names_taken(fit)
    lines = [claim_line(names, restrictions)]
    partial = _partial(fit, notes)
    if partial is not None:
        fit, widths = partial
        lines = [
            claim_line(names, restrictions | each) for each in _partial_claims(restrictions, widths)
        ]
    return Claimed(fit, tuple(lines), tuple(notes), restrictions)


def _switches(fit: Fit, limit: int | None, notes: list[str]) -> Restrictions:
    """Claim the sizes of blocks that the code names, up to the largest position."""
    if not {"positions", "k_len"} & {*fit.draft.call.arguments}:
        return {}
    sizes = [size for size in sizes_of(fit.draft.parts) if limit is None or size <= limit]
    if not sizes:
        return {}
    shown = ", ".join(map(str, sizes))
    notes.append(
        f"its code names {shown} as blocks or limits; they are taken to be numbers of rows"
    )
    return {"switches": {"rows": tuple(sizes)}}


def _partial_claims(said: Restrictions, widths: Sequence[int]) -> Iterator[Restrictions]:
    """Yield a claim for all rotary widths if the narrowest works, else for whole heads and two.

    All widths are claimed only if no head dimension is excluded. Whole heads are claimed in all
    their sizes.
    """
    if 2 in widths and "head_dim" not in said:
        yield {"rotation": "partial"}
        return
    yield {}
    for width, head_dim in ((4, 8), (64, 256)):
        if width in widths:
            yield {"rotation": "partial", "head_dim": head_dim, "rotary_dim": width}


def names_taken(fit: Fit) -> list[str]:
    """Return the name of a fit's combination, and those that the method takes by keyword.

    Another one is claimed if the call answers at all: whether it is right is for the judge to say.
    """
    more = [each for each in fit.draft.call.combinations.values() if _also(fit, each)]
    return [fit.combination.name, *(each.name for each in more)]


def _error(fit: Fit) -> float:
    try:
        return fit.error(_case(fit).arguments)
    except Misbehaviour:
        return np.inf


def _also(fit: Fit, other: Combination) -> bool:
    own = fit.combination.conventions
    differing = {axis for axis, value in other.conventions.items() if own.get(axis) != value}
    if not differing or not differing <= {*fit.draft.keywords}:
        return False
    return replace(fit, combination=other).answers(_case(fit).arguments)


def _dtypes(fit: Fit, notes: list[str]) -> tuple[str, ...]:
    if fit.draft.call.dtype != "inputs":
        return (fit.dtype,)
    dtypes = [fit.dtype]
    arguments = PROBES[fit.draft.call.name](fit.base)[0]
    for dtype in ("float32", "bfloat16", "float16", "float64"):
        if dtype == fit.dtype:
            continue
        try:
            error = fit.error(arguments, dtype)
        except Misbehaviour as problem:
            notes.append(f"{dtype} is not claimed: {_first_line(problem)}")
            continue
        if error <= max(1.0, fit.worst if fit.mistake else 1.0):
            dtypes.append(dtype)
        elif dtype in NARROW and error < np.inf:
            dtypes.append(dtype)  # it returns what it is given, so that who passes it relies on it
            notes.append(f"{dtype} is claimed although it is wrong: {error:.2g} times the bound")
        else:
            kind = f"{error:.2g} times the bound" if error < np.inf else "it returns another dtype"
            notes.append(f"{dtype} is not claimed: {kind}")
    return tuple(dtypes)


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0][:120]


def _parameters(fit: Fit, notes: list[str]) -> Restrictions:
    """Return the parameters that the library fixes."""
    fixed: Restrictions = {}
    for name, parameter in fit.draft.call.parameters.items():
        if parameter.passed and not parameter.when and name not in fit.draft.keywords:
            fixed[name] = FIXED.get(name, fit.base)
    if {"base", "max_period"} & {*fit.draft.keywords} and fit.right:
        other = PROBES[fit.draft.call.name](BASES[1])[0]
        if not _agrees(fit, other, ""):
            notes.append(f"bases other than {BASE:.0f} give wrong results; they are claimed anyway")
    return fixed


def _sizes(fit: Fit, notes: list[str]) -> Restrictions:
    """Return the numbers of channels that do not raise, if others do."""
    name = "head_dim" if fit.draft.call.name == "rope" else "dim"
    if name not in fit.draft.call.parameters or fit.draft.call.name == "sincos_2d":
        return {}
    first = PROBES[fit.draft.call.name](fit.base)[0]
    sizes: tuple[int, ...] = HEAD_DIMS if name == "head_dim" else DIMS
    if fit.draft.framework == "jax":  # jax compiles for every size
        sizes = (2, 4, 6, 8, 64, 80, 128)
    works = [size for size in sizes if _runs(fit, _of_size(first, name, size))]
    refused = [size for size in sizes if size not in works and not _may_refuse(fit, size)]
    if not refused or not works:
        return {}
    notes.append(f"{name} {', '.join(map(str, refused))} raises, so it is not claimed")
    return {name: tuple(works)}


def _may_refuse(fit: Fit, size: int) -> bool:
    return bool(size % 2) or (
        size == 2 and fit.combination.conventions.get("single_pair") == "refuse"
    )


def _of_size(arguments: Arguments, name: str, size: int) -> Arguments:
    if name == "dim":
        return {**arguments, "dim": size}
    x = np.resize(arguments["x"], (*arguments["x"].shape[:-1], size))
    return {**arguments, "x": x}


def _runs(fit: Fit, arguments: Arguments) -> bool:
    try:
        fit.error(arguments)
    except Misbehaviour:
        return False
    return True


def _odd(fit: Fit, notes: list[str]) -> Restrictions:
    """Return the rule for an odd number of channels, if the combination leaves it open."""
    call = fit.draft.call
    if "odd_dim" not in call.options or "odd_dim" in fit.combination.conventions:
        return {}
    first = {**PROBES[call.name](fit.base)[0], "dim": 9}
    if not _runs(fit, first):
        return {"odd_dim": "refuse"}
    for rule in ODD_RULES:
        if fit.error(first, odd_dim=rule) <= 1:
            return {"odd_dim": rule}
    notes.append("odd_dim is not claimed: an odd number of channels follows none of the rules")
    return {}


def _masked(fit: Fit) -> Restrictions:
    """Claim the mask if values that the convention hides look like one."""
    if not KINDS[fit.draft.call.kind].hides:
        return {}
    case = _case(fit)
    try:
        with quiet():
            output = fit.subject().invoke(case, case.inputs)
    except Misbehaviour:
        return {}
    return {"masked": True} if (output[~case.shown] <= HIDDEN).any() else {}


def _limit(fit: Fit, notes: list[str]) -> int | None:
    """Return the largest position that works, if it is below the default limit."""
    unscaled = longest_unscaled(fit.draft) if fit.draft.call.name == "rope" else None
    if unscaled is not None:
        notes.append(f"NOT JUDGED beyond position {unscaled - 1}: its base grows with the length")
        return unscaled - 1
    if fit.draft.limit is not None:
        whole = "makes all queries" if fit.draft.call.kind == "bias" else "takes a whole sequence"
        notes.append(f"positions up to {fit.draft.limit}: each call {whole}")
        return fit.draft.limit
    first = PROBES[fit.draft.call.name](fit.base)[0]
    if "k_len" in first:
        return _limit_of_keys(fit, first, notes)
    if "positions" not in first or "length" in first:
        return None
    low = int(first["positions"].max())
    for high in LIMITS:
        if not fit.answers(_reaching(first, high)):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (
                    (middle, high) if fit.answers(_reaching(first, middle)) else (low, middle)
                )
            notes.append(f"position {high} {TOO_FAR}, so positions up to {low} are claimed")
            return low
        low = high
    return None


def _limit_of_keys(fit: Fit, arguments: Arguments, notes: list[str]) -> int | None:
    """Return the largest position in a table whose length is the default of some parameter."""
    for size in fit.draft.lengths_left:
        last, more = ({**arguments, "q_len": 1, "k_len": size + each} for each in (0, 1))
        if fit.answers(last) and not fit.answers(more):
            notes.append(f"position {size} {TOO_FAR}, so positions up to {size - 1} are claimed")
            return size - 1
    return None


def _reaching(arguments: Arguments, position: int) -> Arguments:
    changed = {**arguments, "positions": np.array([position])}
    if "x" in arguments:
        changed["x"] = arguments["x"][..., :1, :]
    return changed


def _partial(fit: Fit, notes: list[str]) -> tuple[Fit, tuple[int, ...]] | None:
    """Return the fit whose method takes rotary_dim, and the widths that work.

    If code that takes a width, or a share, works with too few, they are those with an answer.
    Returns None if there are too few of these, or it takes none.
    """
    if not (fit.right and fit.draft.can_be_partial and fit.draft.call.name == "rope"):
        return None
    draft = replace(fit.draft, partial=True, keywords=(*fit.draft.keywords, "rotary_dim"))
    other = replace(fit, draft=draft)
    first = PROBES["rope"](fit.base)[0]
    errors = {
        width: _partial_error(other, _of_size(first, "head_dim", max(4 * width, 8)), width)
        for width in (2, 4, 8, 16, 64)
    }
    right = tuple(width for width, error in errors.items() if error <= 1)
    if {4, 16} <= {*right}:
        return other, right
    if not any(takes_width(part.parameters) for part in fit.draft.parts):
        return None
    answered = tuple(width for width, error in errors.items() if error < np.inf)
    if {4, 16} <= {*answered}:
        notes.append("partial rotation is wrong; it is claimed, so that a run names the mistake")
        return other, answered
    notes.append("NOT JUDGED: a rotated part of each head, for which the call raises")
    return None


def _partial_error(fit: Fit, arguments: Arguments, width: int) -> float:
    """Return the error of rotating only some channels; infinity if the call raises."""
    try:
        return fit.error({**arguments, "rotary_dim": width}, rotation="partial")
    except Misbehaviour:
        return np.inf
