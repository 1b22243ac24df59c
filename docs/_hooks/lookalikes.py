"""Uniqueness by one definition, applied to every scheme: whether it distinguishes positions.

The same content, without zeros, is put at many positions of one text. If the results at two of them
are equal, the scheme does not distinguish them. For a bias or a score, these are positions of keys
on one side of a query. Learned numbers, and numbers drawn before training, may have any values, so
they are tried with the values of the first golden and as 0.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.case import Case
from posenc_conformance.judge.invocation import materialise
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.scheme_file.scheme import Call, Golden

Array = npt.NDArray[Any]
Arguments = dict[str, Any]

TABLES = ("table", "p_q", "p_k", "q_r", "k_r", "x_table", "y_table", "h_table", "w_table")
NETWORKS = ("w1", "b1", "w2", "b2", "w_in", "b_in", "w_mid", "b_mid", "w_out", "b_out", "w")
COEFFICIENTS = ("sin_coef", "cos_coef")
LEARNED = frozenset((*TABLES, *NETWORKS, *COEFFICIENTS, "weight", "weight_g", "proportion"))
"""Numbers of the model that may have any values, and the share of rotated pairs, which may be 0."""

SIDE = 8
MANY = SIDE * SIDE
SIZES = {"q_len": 1, "k_len": MANY, "length": MANY, "height": SIDE, "width": SIDE, "dim": 8}


def told_apart(scheme: KnownScheme) -> bool | None:
    """Return whether all positions have different results; None for masks and position ids."""
    distinct = [
        _distinct(_codes(scheme, golden, zero))
        for golden in _goldens(scheme)
        for zero in (False, True)
    ]
    return all(distinct) if distinct else None


def _goldens(scheme: KnownScheme) -> list[Golden]:
    """Return the first golden of each combination of the call that encodes."""
    call = next((call for call in scheme.calls.values() if _encodes(call)), None)
    first: dict[str, Golden] = {}
    for golden in scheme.goldens:
        if call is not None and golden.call == call.name:
            first.setdefault(golden.combination, golden)
    return list(first.values())


def _encodes(call: Call) -> bool:
    """Return whether a call computes rows, or logits from content, without given tables."""
    if {"cos", "cis", "cache"} & call.arguments.keys():
        return False
    return call.kind in ("encode", "rotary", "sum", "layer", "grid", "bias", "attention") or (
        call.kind == "scores" and bool({"k", "w_k"} & call.arguments.keys())
    )


def _codes(scheme: KnownScheme, golden: Golden, zero: bool) -> Array:
    """Compute the reference's result for each position: [positions, …]."""
    call = scheme.calls[golden.call]
    arguments = _spread(materialise(golden.arguments), coordinates=scheme.family == "absolute")
    if zero:
        arguments |= {name: 0 * value for name, value in arguments.items() if name in LEARNED}
    conventions = {**call.combinations[golden.combination].conventions, **golden.options}
    got: Array = Case(scheme, call, conventions, arguments, "float64").truth
    parts = got.reshape(-1, *got.shape[-2:])
    return np.moveaxis(parts[:, -1], -1, 0) if call.kind in ("bias", "scores") else parts[0]


def _spread(given: Arguments, coordinates: bool) -> Arguments:
    """Return a golden's arguments with the same content at many positions."""
    spread = given | {name: size for name, size in SIZES.items() if name in given}
    if "positions" in given:
        spread["positions"] = _places(given["positions"])
    if coordinates and "x" in given:
        axes = given["x"].shape[1]
        return spread | {"x": _places(np.zeros((axes, 1))).T.astype(np.float64)}
    tokens = next((given[name].shape[-2] for name in ("x", "k") if name in given), 0)
    many = MANY + (tokens - given["height"] * given["width"] if "height" in given else 0)
    for name in ("x", "q", "k", "v"):
        if _of_tokens(name, given):
            width = given[name].shape[-1]
            content = 1 + np.arange(width) / width
            spread[name] = np.broadcast_to(content, (*given[name].shape[:-2], many, width)).copy()
    for name in ("p_q", "p_k"):
        if name in given:
            heads, rows, width = given[name].shape
            spread[name] = _waves(heads, rows - tokens + many, width)
    if "positions" in given and "table" in given:
        spread["table"] = _waves(2 * MANY, 8)
    if "adjacency" in given:  # a chain that ends in a fork
        fork = np.eye(MANY, k=1)
        fork[-3, -1], fork[-2, -1] = 1, 0
        spread["adjacency"] = fork + fork.T
    for name in {"before", "after"} & given.keys():  # a distance for each key but the first
        spread[name] = 2 * np.arange(1, MANY)
    if {"table", "height", "width"} <= given.keys():  # a row for each offset and for special tokens
        rows, heads = given["table"].shape
        others = rows - (2 * given["height"] - 1) * (2 * given["width"] - 1)
        spread["table"] = _waves((2 * SIDE - 1) ** 2 + others, heads)
    return spread


def _of_tokens(name: str, given: Arguments) -> bool:
    """Return whether an argument has a row for each token; Transformer-XL's v has one per head."""
    return name in given and (name != "v" or given["v"].shape[:-1] == given["k"].shape[:-1])


def _waves(*shape: int) -> Array:
    """Make an array of distinct numbers."""
    waves: Array = np.sin(np.arange(1.0, 1 + np.prod(shape)))
    return waves.reshape(shape)


def _places(positions: Array) -> Array:
    """Return integer positions in the form of ``positions``: one list, or one for each axis."""
    if positions.ndim == 1:
        return np.arange(MANY)
    axes = len(positions)
    return np.array([*np.ndindex((round(MANY ** (1 / axes)),) * axes)]).T


def _distinct(codes: Array) -> bool:
    """Return whether all rows differ by more than rounding."""
    rows = codes.reshape(len(codes), -1)
    scale = np.abs(rows).max() or 1.0
    return len(np.unique(np.round(rows / scale, 9), axis=0)) == len(rows)
