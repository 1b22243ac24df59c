"""Linear biases: bounds, invariants and deviations."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_conformance.diagnose.mistakes import Model, other_conventions
from posenc_conformance.judge.arrays import Array, Floats, fine, lattice, narrowed
from posenc_conformance.judge.bounded import ARITHMETIC
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.trial import Trial

HEADS = (8, 1, 2, 3, 4, 6, 7, 12, 16)


def error_terms(case: Case) -> ErrorTerms:
    """The scale is the magnitude of the value; powers of the ratio stand in place of angles."""
    scale = np.where(np.isfinite(case.truth), np.abs(case.truth), 0.0)
    powers = ratio_powers(case)
    return ErrorTerms(scale, powers if case.call.kind == "slopes" else powers[:, None, None])


def vjp_error_terms(case: Case) -> ErrorTerms:
    """The scale is the sum of the magnitudes added up; their number stands in place of angles."""
    products = np.abs(case.arguments["gradient"] * distances(case))
    number = float(np.count_nonzero(distances(case)))
    return ErrorTerms(products.sum(axis=(1, 2)), np.asarray(number))


def distances(case: Case, form: str | None = None) -> Floats:
    """What the slopes are multiplied with, 0 where a mask hides it: the bias of a slope of 1."""
    form = form or str(case.conventions["form"])
    q_len, k_len = case.parameter("q_len"), case.parameter("k_len")
    key, query = np.arange(k_len), np.arange(k_len - q_len, k_len)[:, None]
    return np.asarray(
        {
            "causal": np.minimum(key - query, 0),
            "symmetric": -np.abs(key - query),
            "first-key": key + 0 * query,
            "last-key": key - (k_len - 1) + 0 * query,
        }[form],
        dtype=np.float64,
    )


def ratio_powers(case: Case) -> Floats:
    """The power of its progression's ratio that each slope is."""
    heads = int(case.arguments["heads"])
    first = leading_heads(case)
    rest = np.arange(heads - first)
    return np.concatenate([np.arange(1, first + 1), 2 * rest + 1]).astype(np.float64)


def slopes_arguments(trial: Trial) -> dict[str, Any]:
    """A number of heads."""
    return {"heads": trial.choose("heads", (*HEADS, 20, 32, 33, 40, 64))}


def bias_arguments(trial: Trial) -> dict[str, Any]:
    """A few heads, queries and keys; as many queries as keys, or fewer."""
    k_len = trial.choose("k_len", (6, 1, 2, 9, 33))
    q_len = k_len - trial.pick.integer(0, min(3, k_len - 1))
    return {
        "heads": trial.choose("heads", HEADS),
        "q_len": trial.choose("q_len", (q_len,)),
        "k_len": k_len,
    }


def vjp_arguments(trial: Trial) -> dict[str, Any]:
    """A gradient of a few heads, queries and keys."""
    shape = bias_arguments(trial)
    return {"gradient": fine((shape["heads"], shape["q_len"], shape["k_len"]))}


def vjp_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Many heads; no query, which leaves sums of nothing; more queries than one block."""
    for heads in (1, 7, 33, 112):
        yield {"gradient": fine((heads, 2, 5))}
    yield {"gradient": fine((2, 0, 3))}
    yield {"gradient": fine((1, 130, 130))}


def no_sweep(parameters: Mapping[str, Any], largest: int) -> None:
    """Slopes have no positions."""


def bias_sweep(parameters: Mapping[str, Any], largest: int) -> dict[str, Any]:
    """One query at the end of more keys than 16 bits count."""
    k_len = min(largest, 2**15) + 2
    return {"heads": 3, "q_len": 1, "k_len": k_len, **parameters}


def heads_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Powers of two and not, up to the heads of the largest models."""
    return (
        {"heads": heads}
        for heads in (*range(1, 18), 20, 24, 25, 32, 33, 40, 48, 64, 71, 80, 96, 112, 128)
    )


def bias_sizes(case: Case) -> Iterator[dict[str, Any]]:
    """Many heads, and many queries."""
    heads = (1, 2, 3, 5, 7, 9, 12, 16, 20, 25, 40, 71, 112)
    yield from ({"heads": some, "q_len": 1, "k_len": 3} for some in heads)
    yield {"heads": 1, "q_len": 600, "k_len": 600}


def below_power(heads: int) -> int:
    """Largest power of two that is not above heads."""
    return int(2 ** (heads.bit_length() - 1))


def leading_heads(case: Case) -> int:
    """How many slopes, from the first on, are one geometric progression."""
    heads = int(case.arguments["heads"])
    return heads if case.conventions["head_rule"] == "uniform" else below_power(heads)


def geometric(trial: Trial) -> None:
    """For a power of two each slope is the first one's power: m_h = m_1 ** h."""
    answer = trial.answer(**slopes_arguments(trial))
    some = leading_heads(answer.case)
    y, e = answer.values[:some], answer.bound[:some]
    trial.within(
        answer,
        y[:-1] * y[0] - y[1:],
        e[:-1] * y[0] + e[0] * y[:-1] + e[0] * e[:-1] + e[1:] + ARITHMETIC * y[1:],
        "the slopes are not a geometric progression whose ratio is the first one",
    )


def slope_product(trial: Trial) -> None:
    """For n a power of two the slopes multiply to 2 ** (-4 (n + 1))."""
    answer = trial.answer(**slopes_arguments(trial))
    heads = leading_heads(answer.case)
    y, e = answer.values[:heads], answer.bound[:heads]
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.log2(np.abs(y)).sum()
        bound = (-np.log2(np.maximum(1 - e / np.abs(y), 0))).sum() + ARITHMETIC * np.abs(total)
    trial.within(
        answer,
        np.asarray([total + 4 * (heads + 1)]),
        np.asarray([bound]),
        f"the logarithms of the first {heads} slopes do not add up to {-4 * (heads + 1)}",
    )


def interpolation(trial: Trial) -> None:
    """Slopes beyond a power of two P are every second one of 2P, the first of them first."""
    chosen = slopes_arguments(trial)
    heads = chosen["heads"]
    few, twice = below_power(heads), 2 * below_power(heads)
    if any(value not in trial.scope.parameters.get("heads", (value,)) for value in (few, twice)):
        return
    answer = trial.answer(**chosen)
    small, large = trial.answer(heads=few), trial.answer(heads=twice)
    expected = np.concatenate([small.values, large.values[0::2][: heads - few]])
    bound = np.concatenate([small.bound, large.bound[0::2][: heads - few]])
    trial.within(
        answer,
        answer.values - expected,
        answer.bound + bound,
        f"the slopes of {heads} heads are not those of {few}, then every second of {twice}",
    )


def toeplitz(trial: Trial) -> None:
    """The bias depends on the distance between key and query only."""
    answer = trial.answer(**bias_arguments(trial))
    seen = np.where(np.isfinite(answer.case.truth), answer.values, 0.0)
    both = np.isfinite(answer.case.truth[:, 1:, 1:])
    trial.within(
        answer,
        np.where(both, seen[:, 1:, 1:] - seen[:, :-1, :-1], 0.0),
        answer.bound[:, 1:, 1:] + answer.bound[:, :-1, :-1],
        "the bias is not constant along the diagonals",
    )


def row_constant(trial: Trial) -> None:
    """Every query has the same row: a constant per row away from the distance form."""
    answer = trial.answer(**bias_arguments(trial))
    trial.within(
        answer,
        answer.values[:, 1:] - answer.values[:, :-1],
        answer.bound[:, 1:] + answer.bound[:, :-1],
        "the rows of the bias differ",
    )


def zero_place(trial: Trial) -> None:
    """The bias is exactly 0 where the form says: at the query, the first key or the last one."""
    answer = trial.answer(**bias_arguments(trial))
    q_len, k_len = answer.case.arguments["q_len"], answer.case.arguments["k_len"]
    form = str(answer.case.conventions["form"])
    places = {"first-key": np.zeros(q_len, int), "last-key": np.full(q_len, k_len - 1)}
    key = places.get(form, np.arange(k_len - q_len, k_len))
    there = answer.values[:, np.arange(q_len), key]
    trial.within(answer, there, np.zeros(there.shape), "the bias is not 0 where it should be")


def straight(trial: Trial) -> None:
    """Along the keys the second difference vanishes, on either side of the query."""
    answer = trial.answer(**bias_arguments(trial))
    finite = np.isfinite(answer.case.truth)
    y = np.where(finite, answer.values, 0.0)
    q_len, k_len = answer.case.arguments["q_len"], answer.case.arguments["k_len"]
    middle = np.arange(1, k_len - 1)
    query = np.arange(k_len - q_len, k_len)[:, None]
    bent = (middle == query) if answer.case.conventions["form"] == "symmetric" else (middle < 0)
    use = finite[..., 2:] & ~bent
    trial.within(
        answer,
        np.where(use, y[..., 2:] - 2 * y[..., 1:-1] + y[..., :-2], 0.0),
        answer.bound[..., 2:] + 2 * answer.bound[..., 1:-1] + answer.bound[..., :-2],
        "the bias is not a straight line along the keys",
    )


def last_queries(trial: Trial) -> None:
    """Fewer queries are the last rows of as many queries as keys."""
    chosen = bias_arguments(trial)
    q_len, k_len = chosen["q_len"], chosen["k_len"]
    if any(n not in trial.scope.parameters.get("q_len", (n,)) for n in (1, k_len)):
        return
    answer, whole = trial.answer(**chosen), trial.answer(**(chosen | {"q_len": k_len}))
    seen = np.isfinite(answer.case.truth)
    last = whole.values[:, k_len - q_len :]
    trial.within(
        answer,
        np.where(seen, answer.values, 0.0) - np.where(seen, last, 0.0),
        answer.bound + whole.bound[:, k_len - q_len :],
        "with fewer queries than keys the queries are not the last ones",
    )


def symmetric(trial: Trial) -> None:
    """Query and key may change places."""
    chosen = bias_arguments(trial)
    chosen["q_len"] = trial.choose("q_len", (chosen["k_len"],))
    if chosen["q_len"] != chosen["k_len"]:
        return
    answer = trial.answer(**chosen)
    trial.within(
        answer,
        answer.values - np.swapaxes(answer.values, 1, 2),
        answer.bound + np.swapaxes(answer.bound, 1, 2),
        "the bias is not symmetric in query and key",
    )


def vjp_linearity(trial: Trial) -> None:
    """vjp(a f + b g) = a vjp(f) + b vjp(g)."""
    chosen = vjp_arguments(trial)
    f = lattice(chosen["gradient"].shape)  # of few bits, so that the sum below is exact
    g = np.roll(f, 5)
    both = trial.answer(gradient=f / 2 - g / 4)
    one, other = trial.answer(gradient=f), trial.answer(gradient=g)
    trial.within(
        both,
        both.values - (one.values / 2 - other.values / 4),
        both.bound + one.bound / 2 + other.bound / 4,
        "the result is not linear in the gradient",
    )


def vjp_of_slopes(trial: Trial) -> None:
    """For the bias of equal slopes as gradient: the slope times the sum of squared distances."""
    chosen = vjp_arguments(trial)
    case = trial.case(**chosen)
    slope = 1 / max(case.parameter("k_len"), 1)  # small enough for float16
    unit = np.broadcast_to(slope * distances(case), chosen["gradient"].shape)
    answer = trial.answer(gradient=unit)
    expected = (answer.case.arguments["gradient"] * distances(case)).sum(axis=(1, 2))
    trial.within(
        answer,
        answer.values - expected,
        answer.bound + ARITHMETIC * expected,
        "the derivative by a slope is not the distance",
    )


def slopes_models(case: Case, got: Floats) -> Iterator[Model]:
    """The other ways to spread the slopes that are found in the wild."""
    heads = case.arguments["heads"]
    h = np.arange(1, heads + 1)
    right = np.abs(case.truth)
    yield Model("matches 2^(-8h/n) counted from h = 0", 2.0 ** (-8 * (h - 1) / heads))
    yield Model("matches the slopes in reverse order", right[::-1])
    yield Model("matches the slopes sorted", np.sort(right)[::-1])
    yield Model("matches slopes with the sign flipped", -case.truth)
    yield Model(
        "matches 2^(-8h/n) with n in place of the power of two below it in the second part",
        np.concatenate(
            [
                2.0 ** (-8 * np.arange(1, below_power(heads) + 1) / below_power(heads)),
                2.0 ** (-4 * (2 * np.arange(1, heads - below_power(heads) + 1) - 1) / heads),
            ]
        ),
    )


def narrow_slopes(case: Case, got: Floats) -> Iterator[Model]:
    """Slopes rounded to a narrow dtype, whatever dtype was asked for."""
    for dtype in ("bfloat16", "float16"):
        yield Model(f"matches slopes rounded to {dtype}", narrowed(case.truth, dtype))


def narrow_bias(case: Case, got: Floats) -> Iterator[Model]:
    """Slopes, and their products with distances, rounded to a narrow dtype."""
    right = slope_of_each_head(case)[:, None, None]
    distance = np.rint(case.truth / right)
    for dtype in ("bfloat16", "float16"):
        for what, steps in (("", distance), ("distances, ", narrowed(distance, dtype))):
            product = narrowed(narrowed(right, dtype) * steps, dtype)
            yield Model(f"matches {what}slopes and products rounded to {dtype}", product)


def slope_of_each_head(case: Case) -> Floats:
    """Slopes that the case's head rule gives."""
    return slopes_of(case).truth


def slopes_of(case: Case) -> Case:
    """The slopes case behind a bias case."""
    rule = {"head_rule": case.conventions["head_rule"]}
    heads = {"heads": case.arguments["heads"]}
    return Case(case.scheme, case.scheme.calls["alibi_slopes"], rule, heads, case.dtype)


def bias_slopes_models(case: Case, got: Floats) -> Iterator[Model]:
    """A bias with slopes spread wrongly."""
    right = slopes_of(case)
    for model in slopes_models(right, got):
        ratio = model.output / right.truth
        yield Model(model.explanation, case.truth * ratio[:, None, None])


def sign_flipped(case: Case, got: Floats) -> Iterator[Model]:
    """Keys far away favoured."""
    yield Model("matches the bias with the sign flipped", -case.truth)


other_forms = other_conventions("form", "matches the {value} form; {claimed} was claimed")


def form_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """Another form, or the causal one without its mask."""
    yield from other_forms(case, got)
    distance = signed_distance(case, case.arguments["k_len"] - case.arguments["q_len"])
    bias = slope_of_each_head(case)[:, None, None] * distance
    yield Model("matches m (j - i) on both sides of the query", bias)


def signed_distance(case: Case, first: int) -> Floats:
    """Key minus query, the first query standing at ``first``."""
    q_len, k_len = case.arguments["q_len"], case.arguments["k_len"]
    return np.asarray(np.arange(k_len) - (first + np.arange(q_len))[:, None], dtype=np.float64)


def queries_from_zero(case: Case, got: Floats) -> Iterator[Model]:
    """Query i taken to stand at position i, although there are more keys than queries."""
    form = case.conventions["form"]
    if case.arguments["q_len"] == case.arguments["k_len"] or form not in ("causal", "symmetric"):
        return
    distance = signed_distance(case, 0)
    seen = [-np.abs(distance)] if form == "symmetric" else [distance, np.minimum(distance, 0)]
    for each in seen:
        bias = slope_of_each_head(case)[:, None, None] * each
        yield Model("matches queries that start at position 0", bias)


def distance_shifted(case: Case, got: Floats) -> Iterator[Model]:
    """A distance of one for the query itself."""
    slopes = slope_of_each_head(case)[:, None, None]
    for shift in (1, -1):
        yield Model(f"matches distances shifted by {shift:+d}", case.truth + shift * slopes)


def gathered(case: Case, distance: Floats) -> Floats:
    """The sum of gradient times distance, head by head."""
    return np.asarray((case.arguments["gradient"] * distance).sum(axis=(1, 2)))


def gradient_form_swapped(case: Case, got: Floats) -> Iterator[Model]:
    """Distances of another form, or of the causal one without its mask."""
    for form in case.scheme.conventions["form"].values:
        if form != case.conventions["form"]:
            explanation = f"matches the gradient of the {form} form"
            yield Model(explanation, gathered(case, distances(case, str(form))))
    unmasked = (
        distances(case, "first-key")
        - distances(case, "first-key").diagonal(case.parameter("k_len") - case.parameter("q_len"))[
            :, None
        ]
    )
    yield Model("matches distances on both sides of the query", gathered(case, unmasked))


def gradient_sign_flipped(case: Case, got: Floats) -> Iterator[Model]:
    """Distances of the opposite sign."""
    yield Model("matches distances of the opposite sign", -case.truth)


def gradient_averaged(case: Case, got: Floats) -> Iterator[Model]:
    """The mean over queries and keys."""
    size = case.parameter("q_len") * case.parameter("k_len")
    yield Model("matches the mean over queries and keys", case.truth / max(size, 1))


def lists_of_slopes(array: Array) -> Iterator[tuple[dict[str, Any], Array]]:
    """A number for each head."""
    if array.ndim == 1 and len(array) <= 512:
        yield {"heads": len(array)}, array


def biases(array: Array) -> Iterator[tuple[dict[str, Any], Array]]:
    """A number for each head, query and key."""
    if array.ndim == 3 and array.shape[1] <= array.shape[2]:
        heads, q_len, k_len = array.shape
        few = min(q_len, max(1, 2**20 // (heads * k_len)))  # the last queries of a large array
        yield {"heads": heads, "q_len": few, "k_len": k_len}, array[:, -few:]


IDENTIFY = {"alibi_slopes": lists_of_slopes, "alibi_bias": biases}
SHAPES = {"alibi_bias_vjp": lambda case: (case.parameter("heads"),)}
ERROR_TERMS = {
    "alibi_slopes": error_terms,
    "alibi_bias": error_terms,
    "alibi_bias_vjp": vjp_error_terms,
}
ARGUMENTS = {
    "alibi_slopes": slopes_arguments,
    "alibi_bias": bias_arguments,
    "alibi_bias_vjp": vjp_arguments,
}
SWEEPS = {"alibi_slopes": no_sweep, "alibi_bias": bias_sweep, "alibi_bias_vjp": no_sweep}
SIZES = {"alibi_slopes": heads_sizes, "alibi_bias": bias_sizes, "alibi_bias_vjp": vjp_sizes}
INVARIANTS = {
    "alibi_slopes": {
        "geometric": geometric,
        "slope-product": slope_product,
        "interpolation": interpolation,
    },
    "alibi_bias": {
        "toeplitz": toeplitz,
        "row-constant": row_constant,
        "zero-place": zero_place,
        "straight": straight,
        "last-queries": last_queries,
        "symmetric": symmetric,
    },
    "alibi_bias_vjp": {"vjp-linearity": vjp_linearity, "vjp-of-slopes": vjp_of_slopes},
}
DEVIATIONS = {
    "alibi_slopes": {
        "head-rule-swapped": other_conventions(
            "head_rule", "matches the {value} rule for heads; {claimed} was claimed"
        ),
        "slopes-spread-wrongly": slopes_models,
        "narrow-slopes": narrow_slopes,
    },
    "alibi_bias": {
        "form-swapped": form_swapped,
        "bias-head-rule-swapped": other_conventions(
            "head_rule", "matches the {value} rule for heads; {claimed} was claimed"
        ),
        "bias-sign-flipped": sign_flipped,
        "queries-from-zero": queries_from_zero,
        "distance-shifted": distance_shifted,
        "bias-slopes-spread-wrongly": bias_slopes_models,
        "narrow-bias": narrow_bias,
    },
    "alibi_bias_vjp": {
        "gradient-form-swapped": gradient_form_swapped,
        "gradient-sign-flipped": gradient_sign_flipped,
        "gradient-averaged": gradient_averaged,
    },
}
