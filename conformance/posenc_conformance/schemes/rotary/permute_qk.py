"""Permuting query and key projections to another layout: invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from posenc_conformance.families.rotary import channels
from posenc_conformance.judge.arrays import Floats, fine, lattice
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.deviation import DeviationModel, Prediction
from posenc_conformance.judge.knowledge import CallKnowledge
from posenc_conformance.judge.trial import Trial
from posenc_conformance.scheme_file.scheme import ArgumentDict, Arguments

Index = npt.NDArray[np.int64]


def given(case: Case) -> tuple[Floats, Floats]:
    """Return the weights or biases of queries and of keys."""
    name = "bias" if case.call.name.endswith("bias") else "weight"
    return case.arguments[f"q_{name}"], case.arguments[f"k_{name}"]


def head_dim(case: Case) -> int:
    """Return the number of channels of a head."""
    return len(given(case)[0]) // int(case.arguments["heads"])


def rotated(case: Case) -> int:
    """Return the number of rotated channels of a head."""
    return int(case.arguments.get("rotary_dim") or head_dim(case))


def layouts(case: Case) -> tuple[str, str]:
    """Return the old and the new layout of the rows."""
    old, _, new = str(case.conventions["direction"]).partition("-to-")
    return old, new


def order(size: int, width: int, old: str, new: str) -> Index:
    """Return the row that moves to each place of a head of ``size`` rows.

    Only the first ``width`` rows are rotated, so only they move.
    """
    moved = np.arange(size)
    for read, written in zip(channels(width, old), channels(width, new), strict=True):
        moved[written] = read
    return moved


def in_heads(rows: Floats, count: int, permutation: Callable[[int], Index]) -> Floats:
    """Split rows into ``count`` heads and permute each."""
    by_head = rows.reshape(count, len(rows) // count, *rows.shape[1:])
    return np.asarray(by_head[:, permutation(by_head.shape[1])].reshape(rows.shape))


def shape(case: Case) -> tuple[int, ...]:
    """Return the shape of the result: all rows of queries and keys."""
    q, k = given(case)
    return len(q) + len(k), *q.shape[1:]


def sizes_of(trial: Trial) -> ArgumentDict:
    """Draw the numbers of heads, of channels and of rotated channels."""
    claimed = trial.scope.parameters
    counts = claimed.get("heads", (2, 1, 3, 4, 8)), claimed.get("key_heads", (1, 2, 3))
    fitting_counts = [(n, m) for n in counts[0] for m in counts[1] if n % m == 0]
    heads, key_heads = trial.pick.one_of(fitting_counts)
    size = trial.pick.one_of((8, 4, 6, 16, 64))
    chosen: ArgumentDict = {"heads": heads, "key_heads": key_heads}
    if "partial" in trial.can("rotation") and trial.pick.one_of((False, True)):
        fitting = tuple(width for width in (4, 2, 6) if width <= size)
        chosen |= {"rotation": "partial", "rotary_dim": trial.choose("rotary_dim", fitting)}
    return chosen | {"size": size}


def arguments(trial: Trial) -> ArgumentDict:
    """Draw projections of a few heads."""
    chosen = sizes_of(trial)
    size, width = chosen.pop("size"), trial.choose("width", (3, 1, 8))
    q = lattice((chosen["heads"] * size, width))
    k = lattice((chosen["key_heads"] * size, width), 5)
    return {"q_weight": q, "k_weight": k, **chosen}


def bias_arguments(trial: Trial) -> ArgumentDict:
    """Draw biases of a few heads."""
    chosen = sizes_of(trial)
    size = chosen.pop("size")
    q, k = lattice((chosen["heads"] * size,)), lattice((chosen["key_heads"] * size,), 5)
    return {"q_bias": q, "k_bias": k, **chosen}


def no_sweep(parameters: Arguments, largest: int) -> None:
    """Return None: the call has no positions."""


def sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield many heads, a single key head, head sizes that are no power of two, and large heads."""
    for heads, key_heads, size, width in (
        (32, 8, 8, 64),
        (9, 1, 4, 3),
        (2, 2, 80, 8),
        (1, 1, 256, 8),
        (3, 1, 10, 300),
    ):
        q, k = fine((heads * size, width)), fine((key_heads * size, width), 5)
        yield {"q_weight": q, "k_weight": k, "heads": heads, "key_heads": key_heads}


def bias_sizes(case: Case) -> Iterator[ArgumentDict]:
    """Yield the sizes of :func:`sizes`, with biases in place of weights."""
    for chosen in sizes(case):
        q, k = chosen.pop("q_weight")[:, 0], chosen.pop("k_weight")[:, 0]
        yield {"q_bias": q.copy(), "k_bias": k.copy(), **chosen}


def many_biases(case: Case) -> Iterator[ArgumentDict]:
    """Yield biases of many heads, for a large result."""
    bias = fine((64 * 520,))
    yield {"q_bias": bias, "k_bias": bias[::-1].copy(), "heads": 64, "key_heads": 64}


def scores(case: Case, q: Floats, k: Floats, layout: str) -> Floats:
    """Compute scores of each query head with its key head, both rotated by quarter turns.

    Quarter turns only move numbers and change signs, so results are exact for inputs from a
    lattice. Pair t of a query turns by t quarters, pair t of a key by 3t + 1.
    """
    heads, key_heads = int(case.arguments["heads"]), int(case.arguments["key_heads"])
    first, second = channels(rotated(case), layout)
    pairs = np.arange(len(first))
    sides = []
    for rows, count, quarters in ((q, heads, pairs), (k, key_heads, 3 * pairs + 1)):
        turned = rows.reshape(count, head_dim(case), -1).copy()
        real, imaginary = turned[:, first].copy(), turned[:, second].copy()
        cos = np.array([1, 0, -1, 0])[quarters % 4][:, None]
        sin = np.array([0, 1, 0, -1])[quarters % 4][:, None]
        turned[:, first] = real * cos - imaginary * sin
        turned[:, second] = real * sin + imaginary * cos
        sides.append(turned)
    keys = np.repeat(sides[1], heads // key_heads, axis=0)
    return np.asarray(np.einsum("hcw,hcv->hwv", sides[0], keys))


def scores_stay(trial: Trial) -> None:
    """Check that the scores of any two columns are those of the old layout.

    A column is the projection of a unit vector.
    """
    answer = trial.answer(**trial.subject.knowledge.arguments(trial))
    (q, k), (old, new) = given(answer.case), layouts(answer.case)
    before = scores(answer.case, q, k, old)
    after = scores(answer.case, answer.values[: len(q)], answer.values[len(q) :], new)
    trial.assert_none(answer, before != after, "scores are not those of the old layout")


def heads_apart(trial: Trial) -> None:
    """Check that each head of the result has the rows of that head, each once."""
    answer = trial.answer(**arguments(trial))
    size = head_dim(answer.case)
    before = np.concatenate(given(answer.case)).reshape(-1, size, answer.values.shape[1])
    after = answer.values.reshape(before.shape)
    wrong = [
        sorted(map(tuple, old_head.tolist())) != sorted(map(tuple, new_head.tolist()))
        for old_head, new_head in zip(before, after, strict=True)
    ]
    trial.assert_none(answer, np.array(wrong), "a head has other rows than it was given")


def wanted(case: Case, old: str = "", new: str = "", width: int = 0) -> Callable[[int], Index]:
    """Make a function that returns the permutation of a head; the defaults give the right one."""
    usual = layouts(case)

    def permutation(size: int) -> Index:
        chosen = width or (rotated(case) if size == head_dim(case) else size)
        return order(size, min(chosen, size), old or usual[0], new or usual[1])

    return permutation


def key_heads_taken(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict keys permuted as the query heads, or queries permuted as the key heads."""
    q, k = given(case)
    heads, key_heads = int(case.arguments["heads"]), int(case.arguments["key_heads"])
    if heads == key_heads:
        return
    for right in (wanted(case), wanted(case, width=rotated(case))):
        if len(k) % (2 * heads) == 0:
            rows = [in_heads(q, heads, right), in_heads(k, heads, right)]
            words = f"matches keys permuted as {heads} heads, the queries'"
            if key_heads == 1:  # then it is their quotient, too
                words += ", or the queries' divided by the keys'"
            yield Prediction(words, np.concatenate(rows))
        quotient = heads // key_heads
        if key_heads > 1 and quotient != key_heads and len(k) % (2 * quotient) == 0:
            rows = [in_heads(q, heads, right), in_heads(k, quotient, right)]
            words = f"matches keys permuted as {quotient} heads, the queries' divided by the keys'"
            yield Prediction(words, np.concatenate(rows))
        if key_heads > 1:  # queries permuted as one head are no mistake about keys
            rows = [in_heads(q, key_heads, right), in_heads(k, key_heads, right)]
            words = f"matches queries permuted as {key_heads} heads, the keys'"
            yield Prediction(words, np.concatenate(rows))


def one_permuted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict only the queries or only the keys permuted."""
    q, k = given(case)
    truth = case.truth
    yield Prediction(
        "matches queries permuted, keys as they were", np.concatenate([truth[: len(q)], k])
    )
    yield Prediction(
        "matches keys permuted, queries as they were", np.concatenate([q, truth[len(q) :]])
    )


def inverse(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict the permutation of the other direction."""
    old, new = layouts(case)
    yield Prediction(
        "matches the permutation of the other direction", both(case, wanted(case, new, old))
    )


def both(case: Case, permutation: Callable[[int], Index]) -> Floats:
    """Permute each head of the queries and of the keys."""
    heads, key_heads = int(case.arguments["heads"]), int(case.arguments["key_heads"])
    q, k = given(case)
    rows = [in_heads(q, heads, permutation), in_heads(k, key_heads, permutation)]
    return np.concatenate(rows)


def unpermuted(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows left unchanged."""
    yield Prediction("matches rows left as they were", np.concatenate(given(case)))


def permuted_twice(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict rows permuted once more, as of weights that are in the wanted order already."""
    once = wanted(case)
    twice = both(case, lambda size: once(size)[once(size)])
    yield Prediction("matches rows permuted twice", twice)


def partial_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all channels permuted where only some are rotated."""
    if rotated(case) < head_dim(case):
        every = both(case, wanted(case, width=head_dim(case)))
        yield Prediction("matches all channels of a head permuted; rotary_dim was ignored", every)


def heads_ignored(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict all rows permuted as one wide head."""
    q, k = given(case)
    for every in (wanted(case), wanted(case, width=rotated(case))):
        wide = [in_heads(rows, 1, every) for rows in (q, k)]
        yield Prediction("matches all rows permuted as those of one head", np.concatenate(wide))


def columns(case: Case, got: Floats) -> Iterator[Prediction]:
    """Predict columns permuted in place of rows."""
    q, k = given(case)
    heads, key_heads = int(case.arguments["heads"]), int(case.arguments["key_heads"])
    if any(q.shape[1] % (2 * count) for count in (heads, key_heads)):
        return
    old, new = layouts(case)
    moved = [
        in_heads(rows.T, count, lambda size: order(size, size, old, new)).T
        for rows, count in ((q, heads), (k, key_heads))
    ]
    yield Prediction("matches columns permuted in place of rows", np.concatenate(moved))


SHARED: Mapping[str, DeviationModel] = {
    "not-permuted": unpermuted,
    "only-one-permuted": one_permuted,
    "inverse-permutation": inverse,
    "key-heads-as-query-heads": key_heads_taken,
    "partial-ignored": partial_ignored,
    "heads-ignored": heads_ignored,
}


KNOWLEDGE = {
    "permute_qk": CallKnowledge(
        error_terms=exact_terms,
        arguments=arguments,
        sweep=no_sweep,
        sizes=sizes,
        shape=shape,
        invariants={"scores-stay": scores_stay, "heads-apart": heads_apart},
        deviations={**SHARED, "columns-permuted": columns},
        readings=(permuted_twice,),
    ),
    "permute_qk_bias": CallKnowledge(
        error_terms=exact_terms,
        arguments=bias_arguments,
        sweep=no_sweep,
        sizes=bias_sizes,
        shape=shape,
        many=many_biases,
        invariants={"bias-scores-stay": scores_stay},
        deviations=dict(SHARED),
        readings=(permuted_twice,),
    ),
}
