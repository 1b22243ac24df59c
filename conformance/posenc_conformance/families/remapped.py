"""Shared parts of schemes that remap the query-key distances of rotary embedding.

A scheme defines the distance from a query to a key. All schemes share the rest: how logits follow
from the distance, their error bounds, and mistakes with queries, pairs and factors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import other_base, rounded_angles, short_tables
from posenc_conformance.errors import apart
from posenc_conformance.families.lengths import Integers, lags, lengths, queries
from posenc_conformance.families.rotary import LAYOUT_SWAPPED, POLAR, channels, progression
from posenc_conformance.families.scores import alike, dots, last_queries, root, sizes
from posenc_conformance.judge.arrays import Floats, fine, round_to
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.trial import InvariantCheck, Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Distance = Callable[[Case, Integers, Integers], Floats]
"""Computes a case's distances from its query positions, a column, and its key positions."""


Places = Callable[[Case, Integers, Integers], tuple[Floats, Floats]]
"""Computes the places of queries and of keys, from the same positions as a Distance."""
Complex = npt.NDArray[np.complex128]
LARGEST = 2**23
"""Most angles of queries and keys of which results in narrow dtypes are computed."""
Groups = Callable[[Case], Integers]
"""Returns the group of each query-key pair, -1 for none. Equal tokens have equal logits in all
pairs of a group."""


@dataclass(frozen=True)
class Remapped:
    """A call that rotates pairs by remapped distances."""

    distance: Distance
    drawn: Callable[[Trial], ArgumentDict]
    """Draws the parameters of the distance map."""
    plain: Callable[[Case], ArgumentDict]
    """Returns the arguments changed so that every distance is query minus key: nothing is far."""
    usual: Arguments
    """The parameters of the distance map in sweeps and sizes."""
    places: Places
    """Computes where queries and keys are turned to; the difference is the distance."""

    def distances(self, case: Case, query: Integers | None = None) -> Floats:
        """Compute the scheme's distances, or those from other query positions: [q_len, k_len]."""
        return self.distance(case, queries(case) if query is None else query, keys(case))

    def arrays(
        self, heads: int, q_len: int, k_len: int, head_dim: int, **others: Any
    ) -> ArgumentDict:
        """Make arguments with arrays of these sizes."""
        return {
            "q": fine((heads, q_len, head_dim)),
            "k": fine((heads, k_len, head_dim), 5),
            **self.usual,
            "base": 10000.0,
            **others,
        }

    def arguments(self, trial: Trial) -> ArgumentDict:
        """Draw a few heads, and keys near and far."""
        return self.arrays(
            heads=trial.choose("heads", (2, 1, 3)),
            head_dim=trial.choose("head_dim", (8, 2, 4, 12)),
            **lengths(trial, (24, 2, 9, 37, 1)),
            **self.drawn(trial),
            base=trial.choose("base", (10000.0, 1000.0, 5e5)),
        )

    @property
    def sizes(self) -> Callable[[Case], Iterator[ArgumentDict]]:
        """Yields odd and even numbers of heads, few tokens, and more tokens than a window."""
        return sizes(
            self.arrays,
            (1, 2, 2, 4),
            (9, 3, 5, 6),
            (1, 4, 40, 64),
            (2, 1, 150, 10),
            (33, 2, 3, 2),
            (1, 65, 65, 2),
            (1, 130, 130, 2),
            (130, 2, 3, 2),
        )

    @property
    def invariants(self) -> dict[str, InvariantCheck]:
        """Checks of the invariants of every such call."""
        return {
            "own-position": self._own_position,
            "near-as-ever": self._near_as_ever,
            "last-queries": last_queries(self.arguments),
        }

    def _own_position(self, trial: Trial) -> None:
        """Check that the logit at equal positions is the dot product over sqrt(head_dim)."""
        y = trial.answer(**self.arguments(trial))
        rows, own = np.arange(len(queries(y.case))), queries(y.case)[:, 0]
        plain = dots(y, "q", "k") / root(y.case)
        trial.assert_zero(
            (y - plain)[:, rows, own],
            "at equal positions the logit is not the plain dot product, scaled",
        )

    def _near_as_ever(self, trial: Trial) -> None:
        """Check that logits are those of plain distances where the map leaves distances alone."""
        y = trial.answer(**self.arguments(trial))
        plain = trial.answer(**self.plain(y.case))
        unchanged = np.broadcast_to(self.distances(y.case) == lags(y.case), y.case.shape)
        trial.assert_zero(
            (y - plain).where(unchanged), "near keys have other logits than where nothing is far"
        )

    def alike(
        self, rows: str, group: Groups, what: str, step: Callable[[Case], int] = lambda case: 1
    ) -> InvariantCheck:
        """Make a check that equal queries, or equal keys, have the same logits within a group.

        They are ``step`` apart; ``rows`` says whether they are queries (``q``) or keys (``k``).
        """

        def check(trial: Trial) -> None:
            chosen = self.arguments(trial)
            y = trial.answer(**(chosen | alike(chosen, rows)))
            groups, apart = group(y.case), step(y.case)
            every, later, before = slice(None), slice(apart, None), slice(None, -apart)
            ahead, behind = ((every, at) if rows == "k" else (at, every) for at in (later, before))
            same = (groups[ahead] == groups[behind]) & (groups[ahead] >= 0)
            differ = y[(every, *ahead)] - y[(every, *behind)]
            trial.assert_zero(differ.where(np.broadcast_to(same, differ.values.shape)), what)

        return check

    @property
    def deviations(self) -> dict[str, DeviationModel]:
        """Models of mistakes that are possible in every such call."""
        return {
            "plain-rope": self.instead(
                "matches distances of the positions everywhere, as if nothing were far",
                lambda case, query, key: np.asarray(query - key, dtype=np.float64),
            ),
            "queries-first": self._queries_first,
            "sign-flipped": self.instead(
                "matches a rotation in the opposite sense",
                lambda case, query, key: -self.distance(case, query, key),
            ),
            "layout-swapped": LAYOUT_SWAPPED,
            "wrong-base": other_base,
            "other-scale": other_scale,
        }

    def low_precision(self, case: Case, got: Floats) -> Iterator[Prediction]:
        """Predict places, distances, frequencies or angles in a narrow dtype, and tables of them.

        Queries and keys are turned each by its own angle, or both by that of their distance.
        """
        pairs = int(case.parameter("head_dim")) // 2
        if int(np.prod(case.shape[-2:])) * pairs > LARGEST:
            return
        omega, shape = progression(case.arguments["base"], 2 * pairs), case.shape[-2:]
        own = [
            np.broadcast_to(each, shape) for each in self.places(case, queries(case), keys(case))
        ]
        places = np.stack(own)[..., None]

        def in_short(angles: Floats, dtype: str) -> Floats:
            query, key = (
                round_to(np.cos(each), dtype) + 1j * round_to(np.sin(each), dtype)
                for each in angles
            )
            return turned_logits(case, query * key.conj())

        def exactly(angles: Floats) -> Floats:
            return turned_logits(case, np.exp(1j * (angles[0] - angles[1])))

        yield from rounded_angles(places, omega, exactly, in_short)
        yield from short_tables(places * omega, in_short)
        for dtype in ("bfloat16", "float16"):
            distance = round_to(places[0] - places[1], dtype)
            yield Prediction(f"matches distances in {dtype}", logits(case, distance[..., 0]))

    def instead(self, words: str, distance: Distance) -> DeviationModel:
        """Make a model that predicts logits at other distances."""

        def models(case: Case, got: Floats) -> Iterator[Prediction]:
            other = distance(case, queries(case), keys(case))
            yield Prediction(words, logits(case, other))

        return models

    def _queries_first(self, case: Case, got: Floats) -> Iterator[Prediction]:
        late = case.parameter("k_len") - case.parameter("q_len")
        if late:
            moved = self.distances(case, queries(case) - late)
            single = case.parameter("q_len") == 1
            words = "a single query at position 0" if single else "queries at the first positions"
            yield Prediction(f"matches {words}", logits(case, moved))


def keys(case: Case) -> Integers:
    """Return the positions of the keys, as a row."""
    return np.arange(int(case.parameter("k_len")))


def logits(case: Case, distance: Floats) -> Floats:
    """Compute the logits of pairs rotated by ``distance``, 0 at keys after the query."""
    omega = progression(case.arguments["base"], int(case.parameter("head_dim")) // 2 * 2)
    return turned_logits(case, np.exp(1j * distance[..., None] * omega))


def turned_logits(case: Case, turn: Complex) -> Floats:
    """Compute the logits of pairs that are multiplied by numbers of the complex plane."""
    first, second = channels(int(case.parameter("head_dim")), str(case.conventions["layout"]))
    q, k = (
        array[..., first] + 1j * array[..., second]
        for array in (case.arguments["q"], case.arguments["k"])
    )
    products = np.einsum("hip,hjp,ijp->hij", q, k.conj(), turn).real / root(case)
    return np.where(lags(case) >= 0, products, 0.0)


def error_terms(case: Case) -> ErrorTerms:
    """Return the scale, the scaled sum of products of the lengths of pairs, and the angle.

    The scale is 0 at keys after the query. Queries and keys may be rotated separately, each by a
    position up to its own. Errors of sums of head_dim products in float32 are added to the angles.
    """
    first, second = channels(int(case.parameter("head_dim")), str(case.conventions["layout"]))
    q, k = (
        np.hypot(each[..., first], each[..., second])
        for each in (case.arguments["q"], case.arguments["k"])
    )
    omega = progression(case.arguments["base"], 2 * len(first))
    places = queries(case) + keys(case)
    each = case.scheme.accuracy.angle
    length = np.einsum("hip,hjp->hij", q, k)
    turned = np.einsum("hip,hjp,p->hij", q, k, omega * (1 + np.abs(np.log(omega)))) * places
    angle = np.divide(turned, length, out=np.zeros_like(length), where=length > 0)
    beside = (2 * POLAR + 2 * len(first)) / each
    return ErrorTerms(np.where(lags(case) >= 0, length / root(case), 0.0), angle + beside)


def other_scale(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all logits times one fitted number."""
    truth = np.where(case.shown, case.truth, 0.0)
    seen = np.where(case.shown, got, 0.0)
    size = float((truth * truth).sum())
    times = float((seen * truth).sum()) / size if size > 0 and np.isfinite(seen).all() else 0.0
    if times > 0:
        words = f"matches all logits times {apart(times, 1, digits=6)[0]}"
        yield Prediction(f"{words}; they are divided by sqrt(head_dim) once", times * truth)
