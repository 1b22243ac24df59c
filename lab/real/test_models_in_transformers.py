"""Frequencies, rotations and layer kinds that transformers derives, compared with the spec."""

import importlib
import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from transformers import CONFIG_MAPPING

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, lattice
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import Model, load_all
from posenc_conformance.models.layer_frequencies import channels, frequencies, rotated
from posenc_conformance.models.layer_kinds import KINDS_BY_NAME, LAYER_KINDS
from posenc_conformance.models.meaning import Group, case_of
from posenc_conformance.models.misreadings import longer

POSITIONS = [0, 1, 77]
NAMES = {kind: name for name, kind in LAYER_KINDS.items()} | {"two-sided": "sliding_attention"}
FOLDERS = {
    "exaone4_5_text": "exaone4",
    "kimi_k2": "deepseek_v3",
    "mllama_text_model": "mllama",
    "qwen2_5_vl_text": "qwen2_5_vl",
    "qwen3_5_moe_text": "qwen3_5_moe",
}
TYPES = {
    "exaone4_5_text": "exaone4",
    "kimi_k2": "deepseek_v3",
    "qwen2_5_vl": "qwen2_5_vl_text",
}
"""Types of models that transformers has under another name."""
OTHERWISE = ("gptj", "internlm2", "mimo")
"""Types that compute their sines inline, without a module to read them from, and types that
transformers does not have."""

GROUPS = [
    pytest.param(model, group, id=f"{model.id}-{group.id}")
    for model in load_all()
    for group in model.meaning.groups
    if group.turns and model.config["model_type"] not in OTHERWISE
]
every_group = pytest.mark.parametrize(("model", "group"), GROUPS)


def code(model: Model) -> ModuleType:
    """Return the module of transformers for a model's type."""
    type = model.config["model_type"]
    folder = FOLDERS.get(type, type.removesuffix("_text"))
    return importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")


def configured(model: Model) -> Any:
    """Return the configuration as transformers reads it."""
    fields = {name: value for name, value in model.config.items() if name != "model_type"}
    type = model.config["model_type"]
    return CONFIG_MAPPING[TYPES.get(type, type)](**fields)


def embedding(model: Model) -> Any:
    """Return the module that makes cosines and sines."""
    (kind,) = [
        value
        for name, value in vars(code(model)).items()
        if name.endswith("RotaryEmbedding") and "Vision" not in name and "Audio" not in name
    ]
    return kind(configured(model))


def of_kind(module: Any, name: str, group: Group) -> Any:
    """Return a module's attribute, the one for the kind of the group's layers if it has one."""
    own = f"{NAMES[group.attention]}_{name}"
    return getattr(module, own) if hasattr(module, own) else getattr(module, name)


@every_group
def test_frequencies_and_factors_match(model: Model, group: Group) -> None:
    module, ours = embedding(model), frequencies(group)
    theirs = of_kind(module, "inv_freq", group).double().numpy()
    assert theirs.shape == ours.shape
    turning = ours != 0
    assert np.array_equal(theirs != 0, turning)
    off = np.abs(theirs[turning] / ours[turning] - 1)
    allowed = 4 * UNIT_ROUNDOFF["float32"] * (1 + np.abs(np.log(ours[turning])))
    assert (off / allowed).max() <= 1
    assert of_kind(module, "attention_scaling", group) == pytest.approx(longer(group), rel=1e-6)


@every_group
def test_rotation_matches(model: Model, group: Group) -> None:
    x = lattice((len(POSITIONS), int(group.parameters["head_dim"])))
    positions = np.array([POSITIONS] * 3 if group.scheme == "m-rope" else POSITIONS)
    case = case_of(group, {"x": x, "positions": positions}).with_fields(dtype="float32")
    off = np.abs(theirs(model, group, x) - case.truth)
    assert (off <= case.bound).all()


def theirs(model: Model, group: Group, x: Floats) -> Floats:
    """Rotate as the model's attention does; unrotated channels come last."""
    width = rotated(group)
    q = torch.tensor(x[:, :width], dtype=torch.float32)[None, None]
    out = applied(model, group, q).double().numpy().reshape(len(x), width)
    return np.concatenate([out, x[:, width:]], axis=-1)


def applied(model: Model, group: Group, q: Any) -> Any:
    functions: Mapping[str, Any] = vars(code(model))
    module = embedding(model)
    where = torch.tensor([POSITIONS])
    if group.scheme == "m-rope":
        where = where[None].expand(3, -1, -1)
    kinds = ["layer_type"] if "layer_type" in inspect.signature(module.forward).parameters else []
    made = module(q, where, *(NAMES[group.attention] for _ in kinds))
    if not isinstance(made, tuple):  # complex numbers, for q with heads before or after positions
        swap = model.config["model_type"] == "llama4_text"
        queries = q.transpose(1, 2) if swap else q
        out = functions["apply_rotary_emb"](queries, queries, made)[0]
        return out.transpose(1, 2) if swap else out
    if "apply_rotary_pos_emb_interleave" in functions:
        halves = functions["apply_rotary_pos_emb_interleave"](q, q, *made)[0]
        first, second = channels(group, q.shape[-1])
        out = torch.empty_like(halves)
        out[..., [*first, *second]] = halves
        return out
    function = functions["apply_rotary_pos_emb"]
    if "k" in inspect.signature(function).parameters:
        return function(q, q, *made)[0]
    return function(q, *made, unsqueeze_dim=1)


@pytest.mark.parametrize(
    "model",
    [
        model
        for model in load_all()
        if len(model.meaning.groups) > 1 and any(group.turns for group in model.meaning.groups)
    ],
    ids=lambda model: model.id,
)
def test_kinds_of_layers_match(model: Model) -> None:
    stated = {layer: group.attention for group in model.meaning.groups for layer in group.layers}
    config = configured(model)
    if "cross" in stated.values():
        crossed = config.cross_attention_layers
        kinds = ["cross" if n in crossed else "full" for n in range(len(stated))]
    else:
        kinds = [KINDS_BY_NAME[name] for name in config.layer_types]
    seen = {"two-sided": "sliding"}
    assert kinds == [seen.get(stated[layer], stated[layer]) for layer in range(len(stated))]


@pytest.mark.parametrize("type", ["hunyuan_v1_dense", "hunyuan_v1_moe"])
def test_alpha_of_hunyuan_matches(type: str) -> None:
    """No model file has an alpha, because no released configuration was read."""
    fields = {
        "hidden_size": 4096,
        "num_hidden_layers": 2,
        "num_attention_heads": 32,
        "head_dim": 128,
        "max_position_embeddings": 32768,
        "rope_theta": 10000.0,
        "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0},
    }
    (group,) = meaning(configuration({"model_type": type, **fields}, "config.json")).groups
    module = importlib.import_module(f"transformers.models.{type}.modeling_{type}")
    (made,) = [value for name, value in vars(module).items() if name.endswith("RotaryEmbedding")]
    theirs = made(CONFIG_MAPPING[type](**fields)).inv_freq.double().numpy()
    assert theirs == pytest.approx(frequencies(group), rel=2e-6)
