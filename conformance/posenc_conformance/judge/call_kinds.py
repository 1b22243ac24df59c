"""Kinds of calls: the inputs, the shape of the result, and the names of its axes.

Which behaviours apply to a call depends on the names of its arguments, not on its kind: see
``checks.behaviour.applicable``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Shape = Sequence[int]
PLAIN = ("head", "row", "column")
"""Names of axes that have no other."""


class ShapeSource(Protocol):
    """The part of a case on which the shape of its result depends."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The inputs, by name."""

    def parameter(self, name: str) -> Any:
        """Return a number: an argument, or the length of an array's axis."""


@dataclass(frozen=True)
class Kind:
    """A kind of call."""

    call: str
    """The signature, as a description."""
    result: str
    """The result, as a description."""
    axes: tuple[str, ...]
    """Names of the last axes of the result."""
    shape: Callable[[ShapeSource], Shape] | None
    """Shape of the result, unless ``CallKnowledge.shape`` overrides it; None if that is
    required."""
    hides: bool = False
    """Whether a mask may hide elements, which are then infinite and not judged."""
    changes: str = ""
    """The argument that the call writes into: its contents after the call are the result."""

    def axis_names(self, count: int) -> tuple[str, ...]:
        """Name the last ``count`` axes of a result, at most three.

        A matrix of a kind that names one axis, such as buckets, has rows and columns.
        """
        own = self.axes if len(self.axes) >= min(count, 2) else ()
        return (*PLAIN[: max(0, len(PLAIN) - len(own))], *own)[-count:]


def _like_x(case: ShapeSource) -> Shape:
    shape: Shape = case.arguments["x"].shape
    return shape


def _encoding(case: ShapeSource) -> Shape:
    """Return [positions, channels]: ``dim`` channels, or as many as ``table`` has."""
    inputs = case.arguments
    return len(inputs["positions"]), inputs["dim"] if "dim" in inputs else inputs["table"].shape[-1]


def _cells(case: ShapeSource) -> Shape:
    inputs = case.arguments
    return inputs["height"] * inputs["width"], inputs["dim"]


def _scores(case: ShapeSource) -> Shape:
    """Return the shape of the scores of all query-key pairs; leading axes are those of q."""
    q, k = case.arguments["q"], case.arguments["k"]
    return *q.shape[:-1], k.shape[-2]


def _attended(case: ShapeSource) -> Shape:
    return *case.arguments["q"].shape[:-1], case.arguments["v"].shape[-1]


def _distances(case: ShapeSource) -> Shape:
    shape: Shape = case.arguments["relative_position"].shape
    return shape


IDS = "position-ids"
"""Kind of calls whose results are positions."""
KINDS: Mapping[str, Kind] = {
    "encode": Kind("f(positions, dim, …)", "[n, dim]", ("position", "channel"), _encoding),
    "grid": Kind(
        "f(height, width, dim, …)", "[height * width, dim], row by row", ("cell", "channel"), _cells
    ),
    "rotary": Kind(
        "f(x, positions, …), x of shape [..., n, head_dim]",
        "like x",
        ("position", "channel"),
        _like_x,
    ),
    "in-place": Kind(
        "f(x, positions, …), which writes into x",
        "nothing: what x holds afterwards is judged",
        ("position", "channel"),
        _like_x,
        changes="x",
    ),
    "sum": Kind(
        "f(x, positions, …), x of shape [..., n, dim]", "like x", ("position", "channel"), _like_x
    ),
    "layer": Kind("f(x, weights, …)", "like x", ("row", "channel"), _like_x),
    "frequencies": Kind(
        "f(rotary_dim, …)",
        "[rotary_dim / 2], radians per position",
        ("pair",),
        lambda case: (case.parameter("rotary_dim") // 2,),
    ),
    "bias": Kind(
        "f(heads, q_len, k_len, …) or f(table, q_len, k_len, …)",
        "[heads, q_len, k_len]",
        ("head", "query", "key"),
        lambda case: tuple(map(case.parameter, ("heads", "q_len", "k_len"))),
        hides=True,
    ),
    "slopes": Kind("f(heads, …)", "[heads]", ("head",), lambda case: (case.parameter("heads"),)),
    "bucket": Kind(
        "f(relative_position, …), integers of any shape",
        "integers of that shape",
        ("distance",),
        _distances,
    ),
    "scores": Kind(
        "f(q, k, …), each [heads, length, head_dim]",
        "[heads, q_len, k_len]",
        ("head", "query", "key"),
        _scores,
        hides=True,
    ),
    "mask": Kind(
        "f(q_len, k_len, …)",
        "booleans [q_len, k_len], true where a query may look",
        ("query", "key"),
        lambda case: tuple(map(case.parameter, ("q_len", "k_len"))),
    ),
    "attention": Kind(
        "f(q, k, v, …)",
        "like the rows of v that belong to q",
        ("query", "channel"),
        _attended,
    ),
    IDS: Kind("f(…), lengths or masks", "integers", ("sequence", "token"), None),
    "weights": Kind(
        "f(q_weight, k_weight, …), rows of projections",
        "the rows of q, then those of k",
        ("row", "column"),
        None,
    ),
    "gradient": Kind(
        "f(gradient of a result, …)",
        "that of an argument, the vector–Jacobian product",
        (),
        _like_x,
    ),
}
"""Every kind of call, by its name in scheme files."""

ENGINE: Mapping[str, tuple[str, ...]] = {
    "rotary": ("x", "positions"),
    "scores": ("q", "k", "q_positions", "k_positions"),
    "bias": ("q_len", "k_len"),
    "encoding": ("positions",),
}
"""Calls by which an engine shows its interpretation of a model's configuration, with the positional
arguments. ``config`` and, except for ``encoding``, ``layer`` are passed by keyword."""
