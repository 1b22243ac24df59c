"""The attention weights of a probe whose scores are biases only."""

from posenc_conformance.deployed.instrument import Biased, Rows, dense
from posenc_conformance.judge.arrays import Floats


def query(plan: Biased) -> Floats:
    """Make the matrix of queries: 0 in the heads that a query measures, 1 in all others."""
    rows: Rows = {}
    for head in range(plan.heads):
        rows[head * plan.head_dim] = {
            plan.asking: 1.0,
            **dict.fromkeys(plan.steps_of(head), -1.0),
        }
    return dense((plan.heads * plan.head_dim, plan.hidden), rows)


def key(plan: Biased, weight: float) -> Floats:
    """Make the matrix of keys: only query tokens have a key, so that they attend to themselves."""
    rows = {head * plan.head_dim: {plan.asking: weight} for head in range(plan.kv_heads)}
    return dense((plan.kv_heads * plan.head_dim, plan.hidden), rows)


def value(plan: Biased, layer: int, weight: float) -> Floats:
    """Make the value matrix: each head reads its layer's value channel and the neutral one."""
    rows = {
        head * plan.head_dim + neutral: plan.balanced(
            plan.value(layer, neutral=bool(neutral)), plan.share * weight
        )
        for head in range(plan.kv_heads)
        for neutral in (0, 1)
    }
    return dense((plan.kv_heads * plan.head_dim, plan.hidden), rows)


def out(plan: Biased) -> Floats:
    """Make the matrix that adds the shares of keys: each head is the first or second of two.

    Heads that are not measured add nothing, because their queries attend to themselves.
    """
    rows: Rows = {}
    for first_second in plan.pairs:
        for number, head in enumerate(first_second):
            for neutral in (0, 1):
                row, column = plan.read + 2 * neutral + number, head * plan.head_dim + neutral
                rows.setdefault(row, {})[column] = 1.0
                if plan.centred:
                    rows.setdefault(plan.mirror(row), {})[column] = -1.0
    return dense((plan.hidden, plan.heads * plan.head_dim), rows)
