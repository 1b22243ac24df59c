"""Checks that must pass before a long run is worth its time."""

import json
from dataclasses import replace

import numpy as np
import torch

from posenc_lab.length.model import Decoder
from posenc_lab.length.positions import (
    HEAD_DIM,
    HEADS,
    RESCALED,
    SCHEMES,
    TESTED,
    TRAINED,
    Array,
    Position,
    Rotary,
    Scheme,
    rope,
    tensor,
)
from posenc_lab.length.tasks import SYMBOLS, TASKS
from posenc_lab.length.training import (
    Scores,
    Settings,
    describe,
    deterministic,
    questions,
    tested,
    trained,
)
from posenc_lab.results import path_of, read_record

NEAR = 2e-5
"""Allowed float32 error for logits of a few units; two schemes differ by far more."""


PLACES = TRAINED + 20
"""Sequence length: longer than in training, but short enough for posenc's scores to be fast."""

Seen = tuple[Array, Array]
"""Logits of the keys visible under a causal mask, and the embedding added to the tokens."""


def queries_and_keys() -> Array:
    return np.random.default_rng(0).standard_normal((2, HEADS, PLACES, HEAD_DIM))


@torch.no_grad()
def computed(part: Position) -> Seen:
    """Return a part's logits for random queries and keys, and its embedding."""
    q, k = (tensor(values)[None] for values in queries_and_keys())
    logits = part.logits(q, k)[0].numpy()[:, np.tri(PLACES, dtype=bool)]
    return logits, part.embedding(PLACES).numpy()


def certified(part: Position) -> Seen:
    """Return a part's logits and embedding for the same input, computed by posenc."""
    logits = part.certified_logits(*queries_and_keys())[:, np.tri(PLACES, dtype=bool)]
    return logits, part.certified_embedding(PLACES)


def farthest(some: Seen, others: Seen) -> float:
    """Return the largest absolute difference between logits or embeddings."""
    return max(float(np.abs(a - b).max()) for a, b in zip(some, others, strict=True))


def fill(scheme: Scheme) -> Position:
    """Return a part with changed parameters, since initial values may hide mistakes."""
    torch.manual_seed(0)
    part = scheme.make()
    with torch.no_grad():
        for parameter in part.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    return part


def agree() -> None:
    """Every part agrees with posenc on its own scheme, and with no other scheme."""
    parts = {name: fill(scheme) for name, scheme in SCHEMES.items()}
    parts |= {name: Rotary(rotate) for name, rotate in RESCALED.items()}
    truths = {name: certified(part) for name, part in parts.items()}
    for name, part in parts.items():
        mine = computed(part)
        error = farthest(mine, truths[name])
        assert error < NEAR, f"{name} differs from posenc by {error:.2g}"
        for other, truth in truths.items():
            assert other == name or farthest(mine, truth) > 10 * NEAR, f"{name} passes as {other}"


def answers_are_right() -> None:
    """The tasks give the right answers for a sequence that was solved by hand."""
    tokens = torch.tensor([[SYMBOLS, 5, 7, 5, 9, 7, 5]])
    assert TASKS["recall"].answers(tokens).tolist() == [[-1, -1, -1, 7, -1, 5, 9]]
    assert TASKS["back"].answers(tokens).tolist() == [[-1, -1, -1, -1, 5, 7, 5]]


def causal() -> None:
    """Later tokens change no earlier result, so that a test at 200 contains the test at 100."""
    task, settings = TASKS["recall"], Settings(tested_sequences=32)
    torch.manual_seed(0)
    for scheme in SCHEMES.values():
        model = Decoder(scheme)
        alone = tested(model, task, TRAINED, settings)
        whole = tested(model, task, TESTED, settings)
        for short, long in zip(alone, whole, strict=True):
            assert torch.allclose(short, long[:TRAINED], rtol=1e-4), scheme.name


def learns() -> None:
    """After a few steps, a model with RoPE is accurate, and one without positions is not."""
    for scheme, least, most in (("rope", 0.9, 1.0), ("nope", 0.0, 0.5)):
        accuracy = after(120, scheme).accuracy
        assert least <= accuracy <= most, f"{scheme} is right in {accuracy:.1%} of all cases"


def repeats() -> None:
    """The same seed gives the same numbers twice."""
    first, again = after(5, "rope"), after(5, "rope")
    assert first == again, f"one seed gave {first} and {again}"


def after(steps: int, scheme: str) -> Scores:
    """Return a model's scores on the task ``back`` after some steps, at the trained length."""
    task, settings = replace(TASKS["back"], steps=steps), Settings(tested_sequences=32)
    right, loss, answered = tested(trained(task, scheme, 0, settings), task, TRAINED, settings)
    return Scores((right.sum() / answered.sum()).item(), (loss.sum() / answered.sum()).item())


def recorded() -> None:
    """The site's results have the current settings, schemes and questions."""
    data = read_record(path_of("length"))
    again = "repeat the run: python -m posenc_lab.length --write docs/data/length.json"
    now = json.loads(json.dumps(describe(Settings())))
    assert data["settings"] == now, f"the record has other settings than the code; {again}"
    counts = {name: questions(task, Settings()) for name, task in TASKS.items()}
    assert data["questions"] == counts, f"the record was asked other questions; {again}"
    tested = {result["scheme"] for result in data["results"]}
    assert tested == {*SCHEMES, *RESCALED}, f"the record has {sorted(tested)}; {again}"


def smoke() -> None:
    """Run all checks; raises AssertionError if one fails."""
    deterministic()
    assert rope is SCHEMES["rope"].make().rotate
    for check in (answers_are_right, recorded, agree, causal, repeats, learns):
        check()
        print(f"{check.__name__}: {(check.__doc__ or '').splitlines()[0]}")
