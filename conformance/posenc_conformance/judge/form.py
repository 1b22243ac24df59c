"""Check the form of a result: its shape and dtype, finite values, and masked values."""

from typing import Any

import numpy as np

from posenc_conformance.errors import describe_exception, in_line
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array, dtype_name, to_numpy
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.misbehaviour import Misbehaviour
from posenc_conformance.judge.process_state import preventing_exit

HIDDEN = -10_000.0
"""Number that BERT adds to the score of a masked key: the weakest mask in use."""
ADDED = -1000.0
"""Largest number of a mask that is taken for one that hides a key: rounded, or halved, -10,000."""
SHOWN = 6
"""Maximum number of numbers that are listed."""
EXACT = {"integer": "iu", "boolean": "b"}
"""NumPy's kinds for the dtypes that are compared exactly."""


def as_array(name: str, result: Any) -> Array:
    """Convert the result of the method ``name`` to a NumPy array.

    Raises Misbehaviour if the result is None, or cannot be converted to an array.
    """
    if result is None:
        raise Misbehaviour(f"{name}() returned None: is a return missing?")
    try:
        with preventing_exit():
            return to_numpy(result)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kind = in_line(type(result).__name__)
        raise Misbehaviour(
            f"{name}() returned a {kind}, which cannot be made an array: "
            f"{describe_exception(error)}"
        ) from error


def require_form(name: str, case: Case, output: Array, *, masked: bool) -> None:
    """Raise Misbehaviour unless a result has the expected shape and dtype and is finite.

    ``name`` is the method's, ``masked`` says whether the result must include its mask. A result
    without elements may have any dtype: an empty list implies none.
    """
    if output.shape != case.shape:
        raise Misbehaviour(
            f"{name}() returned shape {output.shape}; expected {case.shape}: {case.call.returns}"
            f"{_numbers_that_differ(case, output)}"
        )
    dtype = dtype_name(output)
    if case.dtype in EXACT:
        if output.dtype.kind not in EXACT[case.dtype] and output.size:
            numbers = _numbers_of_mask(output) if case.dtype == "boolean" else ""
            raise Misbehaviour(f"{name}() returned {dtype}; expected {case.dtype}s{numbers}")
    elif dtype != case.dtype and output.size:
        raise Misbehaviour(f"{name}() returned {dtype}; expected {case.dtype}")
    finite = np.isfinite(output)
    if not finite.all() and (bad := case.shown & ~finite).any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise Misbehaviour(
            f"{name}() returned {output[index]} at index {index}; "
            f"{int(bad.sum())} of {bad.size} values are not finite; "
            f"expected {case.truth[index]:.9g} at this index"
        )
    if masked and case.printed is None:
        _require_mask(case, output.astype(np.float64))


def _numbers_that_differ(case: Case, output: Array) -> str:
    """Say which numbers of a rising list are missing or there twice; empty if others differ."""
    if case.dtype != "integer" or output.ndim != 1 or output.dtype.kind not in EXACT["integer"]:
        return ""
    expected = case.truth
    if expected.ndim != 1 or not output.size or (np.diff(expected) <= 0).any():
        return ""
    found, counts = np.unique(output, return_counts=True)
    if not np.isin(found, expected).all():
        return ""
    again, missing = found[counts > 1], np.setdiff1d(expected, found)
    parts = ((again, "there more than once"), (missing, "missing"))
    words = (f"{_listed(numbers)} {_be(numbers)} {what}" for numbers, what in parts if len(numbers))
    return f"; {' and '.join(words)}"


def _listed(numbers: Array) -> str:
    """List the first of some whole numbers."""
    return ", ".join(str(int(each)) for each in numbers[:SHOWN]) + ", …" * (len(numbers) > SHOWN)


def _be(numbers: Array) -> str:
    return "is" if len(numbers) == 1 else "are"


def _numbers_of_mask(output: Array) -> str:
    """Say how the numbers of a mask become booleans: 0 for a key that is seen, or ones and zeros.

    Return only what booleans mean if the numbers are neither.
    """
    values, meaning = output.astype(np.float64), "True is where a query sees a key"
    if np.isin(values, (0, 1)).all():
        return f": write mask.astype(bool) for ones and zeros; {meaning}"
    if ((values == 0) | (values <= ADDED)).all():
        return (
            ": write mask == 0, or adapters.mask(…, additive=True), for a mask that is added to "
            f"logits; {meaning}"
        )
    return f": {meaning}"


def _require_mask(case: Case, output: Array) -> None:
    """Raise Misbehaviour if an element that the mask hides is visible."""
    low = HIDDEN * (1 - UNIT_ROUNDOFF[case.dtype])  # -10,000, as rounded by the dtype
    seen = ~case.shown & ~(output <= low)
    if seen.any():
        index = tuple(int(i) for i in np.argwhere(seen)[0])
        raise Misbehaviour(
            f"{case.call.name}() returned {output[index]:.9g} at index {index}, which the mask "
            f"hides; {int(seen.sum())} of {int((~case.shown).sum())} hidden values are above "
            f"{HIDDEN:.0f} or NaN; expected -inf or a value that gets no weight"
        )
