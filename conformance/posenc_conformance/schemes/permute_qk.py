"""Projections in another layout: invariants and deviations."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.mistakes import DeviationModel, Model
from posenc_conformance.families.rotary import channels
from posenc_conformance.judge.arrays import Floats, fine, lattice
from posenc_conformance.judge.case import Case, exact_terms
from posenc_conformance.judge.trial import Trial

Index = npt.NDArray[np.int64]


def given(case: Case) -> tuple[Floats, Floats]:
    """What belongs to queries and to keys: weights or biases."""
    name = "bias" if case.call.name.endswith("bias") else "weight"
    return case.arguments[f"q_{name}"], case.arguments[f"k_{name}"]


def head_dim(case: Case) -> int:
    """Channels of a head."""
    return len(given(case)[0]) // int(case.arguments["heads"])


def rotated(case: Case) -> int:
    """Channels of a head that are rotated."""
    return int(case.arguments.get("rotary_dim") or head_dim(case))


def layouts(case: Case) -> tuple[str, str]:
    """The layout that rows have, and the one that they get."""
    old, _, new = str(case.conventions["direction"]).partition("-to-")
    return old, new


def order(size: int, width: int, old: str, new: str) -> Index:
    """Which row of a head of some size comes where, if its first rows are rotated."""
    found = np.arange(size)
    for read, written in zip(channels(width, old), channels(width, new), strict=True):
        found[written] = read
    return found


def in_heads(rows: Floats, count: int, permutation: Callable[[int], Index]) -> Floats:
    """Rows of so many heads, each permuted."""
    by_head = rows.reshape(count, len(rows) // count, *rows.shape[1:])
    return np.asarray(by_head[:, permutation(by_head.shape[1])].reshape(rows.shape))


def shape(case: Case) -> tuple[int, ...]:
    """All rows of both."""
    q, k = given(case)
    return len(q) + len(k), *q.shape[1:]


def sizes_of(trial: Trial) -> dict[str, Any]:
    """Heads, channels and width."""
    claimed = trial.scope.parameters
    counts = claimed.get("heads", (2, 1, 3, 4, 8)), claimed.get("key_heads", (1, 2, 3))
    fitting_counts = [(n, m) for n in counts[0] for m in counts[1] if n % m == 0]
    heads, key_heads = trial.pick.one_of(fitting_counts)
    size = trial.pick.one_of((8, 4, 6, 16, 64))
    chosen: dict[str, Any] = {"heads": heads, "key_heads": key_heads}
    if "partial" in trial.can("rotation") and trial.pick.one_of((False, True)):
        fitting = tuple(width for width in (4, 2, 6) if width <= size)
        chosen |= {"rotation": "partial", "rotary_dim": trial.choose("rotary_dim", fitting)}
    return chosen | {"size": size}


def arguments(trial: Trial) -> dict[str, Any]:
    """Projections of a few heads."""
    chosen = sizes_of(trial)
    size, width = chosen.pop("size"), trial.choose("width", (3, 1, 8))
    q = lattice((chosen["heads"] * size, width))
    k = lattice((chosen["key_heads"] * size, width), 5)
    return {"q_weight": q, "k_weight": k, **chosen}


def bias_arguments(trial: Trial) -> dict[str, Any]:
    """Biases of a few heads."""
    chosen = sizes_of(trial)
    size = chosen.pop("size")
    q, k = lattice((chosen["heads"] * size,)), lattice((chosen["key_heads"] * size,), 5)
    return {"q_bias": q, "k_bias": k, **chosen}


def no_sweep(parameters: Mapping[str, Any], largest: int) -> None:
    """None: the call has no positions."""


def sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Many heads, one key head for all, heads that are no power of two, large ones."""
    for heads, key_heads, size, width in (
        (32, 8, 8, 64),
        (9, 1, 4, 3),
        (2, 2, 80, 8),
        (1, 1, 256, 8),
        (3, 1, 10, 300),
    ):
        q, k = fine((heads * size, width)), fine((key_heads * size, width), 5)
        yield {"q_weight": q, "k_weight": k, "heads": heads, "key_heads": key_heads}


def bias_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """The same of biases."""
    for each in sizes(case):
        q, k = each.pop("q_weight")[:, 0], each.pop("k_weight")[:, 0]
        yield {"q_bias": q.copy(), "k_bias": k.copy(), **each}


def many_biases(case: Case) -> Iterator[dict[str, Any]]:
    """Of as many heads as make many numbers."""
    bias = fine((64 * 520,))
    yield {"q_bias": bias, "k_bias": bias[::-1].copy(), "heads": 64, "key_heads": 64}


def scores(case: Case, q: Floats, k: Floats, layout: str) -> Floats:
    """Scores of each query head with its key head, both turned by whole quarters.

    Quarter turns only move numbers and change signs: with inputs from a lattice all is exact. Pair
    t of a query turns by t quarters, that of a key by three times as many and one.
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
    """Scores of each two columns, that is of each two unit inputs, are those of the old layout."""
    name = trial.subject.call.name
    answer = trial.answer(**ARGUMENTS[name](trial))
    (q, k), (old, new) = given(answer.case), layouts(answer.case)
    before = scores(answer.case, q, k, old)
    after = scores(answer.case, answer.values[: len(q)], answer.values[len(q) :], new)
    trial.never(answer, before != after, "scores are not those of the old layout")


def heads_apart(trial: Trial) -> None:
    """Every row of a head of the result is one of that head, and each comes once."""
    answer = trial.answer(**arguments(trial))
    size = head_dim(answer.case)
    before = np.concatenate(given(answer.case)).reshape(-1, size, answer.values.shape[1])
    after = answer.values.reshape(before.shape)
    wrong = [
        sorted(map(tuple, one.tolist())) != sorted(map(tuple, other.tolist()))
        for one, other in zip(before, after, strict=True)
    ]
    trial.never(answer, np.array(wrong), "a head has other rows than it was given")


def wanted(case: Case, old: str = "", new: str = "", width: int = 0) -> Callable[[int], Index]:
    """The permutation of a head of some size; by default the one that is asked for."""
    usual = layouts(case)

    def permutation(size: int) -> Index:
        chosen = width or (rotated(case) if size == head_dim(case) else size)
        return order(size, min(chosen, size), old or usual[0], new or usual[1])

    return permutation


def key_heads_taken(case: Case, got: Floats) -> Iterator[Model]:
    """One number of heads for both."""
    q, k = given(case)
    heads, key_heads = int(case.arguments["heads"]), int(case.arguments["key_heads"])
    if heads == key_heads:
        return
    for right in (wanted(case), wanted(case, width=rotated(case))):
        if len(k) % (2 * heads) == 0:
            rows = [in_heads(q, heads, right), in_heads(k, heads, right)]
            words = f"matches keys permuted as {heads} heads, the queries'"
            yield Model(words, np.concatenate(rows))
        if key_heads > 1:  # of one, it is no matter of keys
            rows = [in_heads(q, key_heads, right), in_heads(k, key_heads, right)]
            words = f"matches queries permuted as {key_heads} heads, the keys'"
            yield Model(words, np.concatenate(rows))


def one_permuted(case: Case, got: Floats) -> Iterator[Model]:
    """Queries or keys alone."""
    q, k = given(case)
    truth = case.truth
    yield Model("matches queries permuted, keys as they were", np.concatenate([truth[: len(q)], k]))
    yield Model("matches keys permuted, queries as they were", np.concatenate([q, truth[len(q) :]]))


def inverse(case: Case, got: Floats) -> Iterator[Model]:
    """The other direction."""
    old, new = layouts(case)
    yield Model(
        "matches the permutation of the other direction", both(case, wanted(case, new, old))
    )


def both(case: Case, permutation: Callable[[int], Index]) -> Floats:
    """Queries and keys, each head permuted."""
    heads, key_heads = int(case.arguments["heads"]), int(case.arguments["key_heads"])
    q, k = given(case)
    rows = [in_heads(q, heads, permutation), in_heads(k, key_heads, permutation)]
    return np.concatenate(rows)


def unpermuted(case: Case, got: Floats) -> Iterator[Model]:
    """Rows as they were."""
    yield Model("matches rows left as they were", np.concatenate(given(case)))


def partial_ignored(case: Case, got: Floats) -> Iterator[Model]:
    """Every channel permuted."""
    if rotated(case) < head_dim(case):
        every = both(case, wanted(case, width=head_dim(case)))
        yield Model("matches all channels of a head permuted; rotary_dim was ignored", every)


def heads_ignored(case: Case, got: Floats) -> Iterator[Model]:
    """One wide head."""
    q, k = given(case)
    for every in (wanted(case), wanted(case, width=rotated(case))):
        wide = [in_heads(rows, 1, every) for rows in (q, k)]
        yield Model("matches all rows permuted as those of one head", np.concatenate(wide))


def columns(case: Case, got: Floats) -> Iterator[Model]:
    """Columns in place of rows."""
    q, k = given(case)
    heads, key_heads = int(case.arguments["heads"]), int(case.arguments["key_heads"])
    if any(q.shape[1] % (2 * count) for count in (heads, key_heads)):
        return
    old, new = layouts(case)
    moved = [
        in_heads(rows.T, count, lambda size: order(size, size, old, new)).T
        for rows, count in ((q, heads), (k, key_heads))
    ]
    yield Model("matches columns permuted in place of rows", np.concatenate(moved))


SHARED: Mapping[str, DeviationModel] = {
    "not-permuted": unpermuted,
    "only-one-permuted": one_permuted,
    "inverse-permutation": inverse,
    "key-heads-as-query-heads": key_heads_taken,
    "partial-ignored": partial_ignored,
    "heads-ignored": heads_ignored,
}
ERROR_TERMS = {"permute_qk": exact_terms, "permute_qk_bias": exact_terms}
SHAPES = {"permute_qk": shape, "permute_qk_bias": shape}
MANY = {"permute_qk_bias": many_biases}
ARGUMENTS: dict[str, Callable[[Trial], dict[str, Any]]] = {
    "permute_qk": arguments,
    "permute_qk_bias": bias_arguments,
}
SWEEPS = {"permute_qk": no_sweep, "permute_qk_bias": no_sweep}
SIZES = {"permute_qk": sizes, "permute_qk_bias": bias_sizes}
INVARIANTS: dict[str, dict[str, Callable[[Trial], None]]] = {
    "permute_qk": {"scores-stay": scores_stay, "heads-apart": heads_apart},
    "permute_qk_bias": {"bias-scores-stay": scores_stay},
}
DEVIATIONS: dict[str, dict[str, DeviationModel]] = {
    "permute_qk": {**SHARED, "columns-permuted": columns},
    "permute_qk_bias": dict(SHARED),
}
