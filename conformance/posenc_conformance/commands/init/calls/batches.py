"""Give calls that take positions for each sequence of a batch several sequences at once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from posenc_conformance.commands.init.draft import ONE_SEQUENCE, POSITIONS, Draft
from posenc_conformance.commands.init.fit import Fit
from posenc_conformance.commands.init.probes import PROBES
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.scheme_file.scheme import Arguments

ONE_ROW = re.compile(r"\bpositions(\)?)\[None\]")
"""Positions of one sequence, as a batch."""
HEADS = re.compile(r"^heads = (\S+?)\.reshape\((?:1|math\.prod\(x\.shape\[:-3\]\)), .*(?<!0, 2\))$")
"""The line that makes a batch of one sequence of x."""
SWAPPED = ".swapaxes(1, 2)"
OF_BOTH = re.compile(
    r"^return of_both\((lambda q, k: (?P<call>.*)|turned), (?P<q>\S+), (?P<k>\S+), (?P<form>.*)\)$"
)
BATCH = re.compile(r'shape="b\w+"$')


def with_batch(fit: Fit) -> Fit:
    """Return the fit of a call that is given two sequences with their own positions.

    It is as it was if the call has other arguments, or does not take two.
    """
    notes = tuple(note for note in fit.draft.notes if note != ONE_SEQUENCE)
    for body in _of_one_sequence(fit):
        draft = fit.draft.giving(*body)
        own = _of_x(draft) if draft.call.name == "rope" else _of_both(draft)
        if own is None:
            continue
        batched = replace(fit, draft=draft.giving(*own, notes=notes))
        if all(batched.answers(each) for each in _probes(fit)):
            return batched
    return fit


def _of_one_sequence(fit: Fit) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a fit that give a batch of one sequence with its positions.

    A call that takes one row of positions for all may take one of each, too.
    """
    body = fit.draft.body
    if any(ONE_ROW.search(line) for line in body):
        yield body
        return
    row = re.compile(rf"(?<![\w.]){re.escape(POSITIONS[fit.draft.framework])}(?![\w\[=])")
    for lines in _in_other_axes(body):
        changed = tuple(
            line if line.startswith(("length = ", "heads = ")) else row.sub(r"\g<0>[None]", line)
            for line in lines
        )
        if changed != lines and _is_right(replace(fit, draft=fit.draft.giving(*changed))):
            yield changed


def _in_other_axes(body: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a call with a batch in the usual orders of axes."""
    yield body
    for shape in ("bhsd", "bshd"):
        other = tuple(re.sub(r'shape="b[hs]+d"', f'shape="{shape}"', line) for line in body)
        if other != body:
            yield other
    if any(HEADS.match(line) for line in body):
        end = ".reshape(x.shape)"
        has = any(line.endswith(SWAPPED + end) for line in body)
        yield tuple(line.replace(SWAPPED, "") if has else _swapped(line, end) for line in body)


def _swapped(line: str, end: str) -> str:
    """Return a line with the second and third axes swapped, if it is the first or the last."""
    if line.startswith("heads = "):
        return line + SWAPPED
    return line.removesuffix(end) + SWAPPED + end if line.endswith(end) else line


def _is_right(fit: Fit) -> bool:
    try:
        return all(fit.error(each) <= 1 for each in PROBES[fit.draft.call.name](fit.base)[:1])
    except Misbehaviour:
        return False


def _probes(fit: Fit) -> list[Arguments]:
    """Return the usual arguments, and some with 3 heads.

    Code that takes one row of positions would spread two rows over two heads.
    """
    probes = PROBES[fit.draft.call.name](fit.base)
    first = probes[0]
    three = {
        name: np.resize(first[name], (3, *first[name].shape[1:])) for name in first if name in "xqk"
    }
    return [*probes, {**first, **three}]


def _of_x(draft: Draft) -> list[str] | None:
    """Return the lines of a call of x, changed to take two sequences; None for other calls."""
    first = next((line for line in draft.body if HEADS.match(line)), None)
    matched = HEADS.match(first or "")
    if first is None or matched is None or not draft.body[-1].startswith("return "):
        return None
    swapped = SWAPPED * first.endswith(SWAPPED)
    lines = [line for line in draft.body[:-1] if line != first]
    end = f"{swapped}.reshape(x.shape)"
    if lines and lines[-1].startswith("turned = "):
        call = lines.pop().removeprefix("turned = ")
    else:
        call = draft.body[-1].removeprefix("return ").removesuffix(end)
    head = ["heads = jnp.asarray(heads)"] if draft.framework == "jax" else []
    turned = _turned(lines, call, "heads", head)
    shape = "bshd" if swapped else "bhsd"
    last = f'return in_batch(turned, {matched[1]}, positions, shape="{shape}")'
    return None if turned is None else [*turned, last]


def _of_both(draft: Draft) -> list[str] | None:
    """Return the lines of a call of queries and keys, changed in the same way."""
    matched = OF_BOTH.match(draft.body[-1])
    if matched is None or not BATCH.search(matched["form"]) or draft.framework == "jax":
        return None
    lines, call = list(draft.body[:-1]), matched["call"]
    if call is None:
        lines, call = lines[:-2], lines[-1].strip().removeprefix("return ")
    turned = _turned(lines, call, "q, k", [])
    last = f"return of_both(turned, {matched['q']}, {matched['k']}, {matched['form']}, BATCH)"
    return None if turned is None else [*turned, last.replace("BATCH", "positions=positions")]


def _turned(lines: Sequence[str], call: str, names: str, head: Sequence[str]) -> list[str] | None:
    """Return lines up to a function of arrays and positions; None if none are of one sequence."""
    every = [*lines, f"return {call}"]
    first = next((i for i, line in enumerate(every) if ONE_ROW.search(line)), None)
    if first is None:
        return None
    inner = (ONE_ROW.sub(r"at\1", line) for line in every[first:])
    return [
        *every[:first],
        f"def turned({names}, at):",
        *(f"    {line}" for line in (*head, *inner)),
    ]
