"""The permutation by which transformers loads checkpoints, with and without shared key heads."""

from types import SimpleNamespace

import numpy as np
import torch
from transformers.core_model_loading import PermuteForRope

from posenc_conformance.diagnose.diagnosis import diagnose
from posenc_conformance.judge.arrays import Array, lattice
from posenc_conformance.judge.case import Case
from posenc_conformance.registry import load_scheme
from posenc_conformance.scheme_file.read import paths_by_name


def permuted(case: Case) -> Array:
    """Permute both projections by transformers' operation, with a model's configuration."""
    operation = PermuteForRope()
    config = SimpleNamespace(
        num_attention_heads=case.arguments["heads"],
        num_key_value_heads=case.arguments["key_heads"],
    )
    rows = [
        operation.convert({"w": torch.from_numpy(case.arguments[name])}, ["w"], ["w"], config)["w"]
        for name in ("q_weight", "k_weight")
    ]
    return np.concatenate([np.asarray(projection) for projection in rows])


def asked(heads: int, key_heads: int) -> Case:
    scheme = load_scheme(paths_by_name()["permute-qk"])
    call = scheme.calls["permute_qk"]
    weights = {
        "q_weight": lattice((heads * 8, 3)),
        "k_weight": lattice((key_heads * 8, 3), 5),
    }
    counts = {"heads": heads, "key_heads": key_heads}
    conventions = call.combinations["to-half"].conventions
    return Case(scheme, call, conventions, {**weights, **counts}, "float64")


def test_it_is_right_without_shared_key_heads() -> None:
    case = asked(4, 4)
    assert np.array_equal(permuted(case), case.truth)


def test_it_counts_key_heads_as_query_heads() -> None:
    case = asked(4, 2)
    diagnosis = diagnose(case, permuted(case))
    assert diagnosis.deviation == "key-heads-as-query-heads"
    assert diagnosis.residual == 0
