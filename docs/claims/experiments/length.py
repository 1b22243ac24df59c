from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt

import posenc
from blocks import length_blocks as length

Array = npt.NDArray[np.floating]


def _all_seeds(task: str, scheme: str, part: str) -> list[float]:
    return [run[part]["accuracy"] for run in length.seeds(task, scheme)]


def loss_of_a_guess() -> str:
    """The cross-entropy of the uniform distribution over 16 symbols."""
    return f"{np.log(16):.3f}"


def nothing_new_is_asked() -> str:
    """The chance that all of 100 independent symbols differ from a given one of 16."""
    return f"{100 * (15 / 16) ** 100:.2f} %"


def seeds() -> None:
    """The recorded seeds are those of the results of each scheme and task."""
    recorded = length.read_results()["seeds"]
    for entry in length.read_results()["summary"]:
        assert [r["seed"] for r in length.seeds(entry["task"], entry["scheme"])] == recorded


def not_learned() -> None:
    """Of all trained schemes, only these stay below 90 % at trained positions."""
    failed = {
        task: {
            entry["scheme"]
            for entry in length.schemes(task).values()
            if not length.learned(task, entry["scheme"])
        }
        for task in ("recall", "back")
    }
    assert failed == {"recall": {"nope"}, "back": {"nope", "alibi", "kerple", "fire"}}


def absolute() -> None:
    """Every model with either table loses more than 70 points beyond, in both tasks."""
    for task in ("recall", "back"):
        for name in ("learned", "sinusoidal"):
            for run in length.seeds(task, name):
                assert run["within"]["accuracy"] - run["beyond"]["accuracy"] > 0.7, name


def rope_alone() -> None:
    """In the first task the worst xPos model keeps more beyond 100 than the best RoPE model."""
    assert min(_all_seeds("recall", "xpos", "beyond")) > max(_all_seeds("recall", "rope", "beyond"))


def slow_pairs() -> str:
    """Pairs that turn less than once within 100 positions, with 16 channels and the base 10000."""
    waves = 2 * np.pi * 10000 ** (np.arange(8) / 8)
    return f"{int((waves > 100).sum())} of the 8 pairs"


def rescaling() -> None:
    """Pairs that turn less than once within 100 positions, for 16 channels and base 10000."""
    names = ("rope", "ntk-aware", "dynamic-ntk", "yarn")
    for worse, better in pairwise(names):
        of_worse, of_better = (_all_seeds("recall", name, "beyond") for name in (worse, better))
        assert all(a < b for a, b in zip(of_worse, of_better, strict=True)), (worse, better)


def interpolation_breaks() -> None:
    """Accuracies of the rescaled rotations beyond, in the first task, in order for each seed."""
    for task in ("recall", "back"):
        assert max(_all_seeds(task, "position-interpolation", "alone")) < 0.5
        assert min(_all_seeds(task, "rope", "alone")) > 0.9
    spread = length.schemes("back")["position-interpolation"]["accuracy"]["alone"]
    assert abs(spread["mean"] - 1 / length.read_results()["settings"]["symbols"]) < spread["half"]


def half_the_distance() -> None:
    """Rows 6 apart, interpolated by 2, score like rows 3 apart under RoPE."""
    q, k = np.random.default_rng(0).standard_normal((2, 1, 16))

    def score(rotate: Callable[..., Array], distance: int, **scaled: float) -> float:
        turned = rotate(q, np.array([distance]), **scaled), rotate(k, np.array([0]), **scaled)
        return float(np.sum(turned[0] * turned[1]))

    interpolated = score(posenc.position_interpolation, 6, factor=2.0)
    assert abs(interpolated - score(posenc.rope, 3)) < 1e-12
    assert abs(interpolated - score(posenc.rope, 6)) > 0.1


def kept_frequencies() -> tuple[str, ...]:
    """Frequencies divided by those of RoPE, for 16 channels and the factor 2."""
    rope = 10000.0 ** (-np.arange(8) / 8)
    yarn = posenc.yarn_frequencies(16, factor=2.0, original_max_position_embeddings=100) / rope
    assert np.allclose(yarn[3:], 0.5)
    slow = 100 * rope < 2 * np.pi
    assert (200 * (yarn * rope)[slow] <= 100 * rope[slow] * (1 + 1e-12)).all()
    ntk = posenc.ntk_aware_frequencies(16, factor=2.0) / rope
    dynamic = rope / posenc.dynamic_ntk_frequencies(
        16, factor=2.0, original_max_position_embeddings=100, length=200
    )
    return (
        ", ".join(f"{share:.2f}" for share in yarn[:3]),
        f"{ntk[3]:.2f}",
        f"by {dynamic[-1]:.0f} and not by {1 / ntk[-1]:.0f}",
    )


def untrained_bucket() -> tuple[str, str]:
    """The first distance of the last bucket, and the last bucket that distances up to 99 reach."""
    buckets = posenc.t5_bucket(-np.arange(200), direction="causal", max_distance=128)
    assert buckets[:100].max() == 30
    near = posenc.t5_bucket(-np.arange(200), direction="causal", max_distance=50)
    assert near[:100].max() == 31
    return f"distance {np.argmax(buckets == 31)}", f"distance {np.argmax(near == 31)}"


def bucket_costs() -> None:
    """Every model with the shorter table keeps more of the first task than every other model."""
    far, near = (_all_seeds("recall", f"t5-bias-{most}", "beyond") for most in (128, 50))
    assert min(near) > max(far)


def little_lost() -> None:
    """Each model of these four loses less than 5 points of accuracy beyond 100."""
    names = ("transformer-xl", "kerple", "fire", "alibi")
    for name in names:
        for run in length.seeds("recall", name):
            assert run["within"]["accuracy"] - run["beyond"]["accuracy"] < 0.05, name
