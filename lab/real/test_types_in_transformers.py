"""What transformers' models do with queries, layer by layer, compared with the kit's reading.

A small model of every type runs on a short text. The tests record the input and the output of each
function that rotates queries, by layer, and the mask that each layer gets. They do the same for
changed configurations.
"""

import importlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from transformers import CONFIG_MAPPING, AutoModel

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Flags, Floats, lattice
from posenc_conformance.models import defaults
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import OTHERS as NOT_ROTATED
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.layer_frequencies import channels, frequencies, rotated
from posenc_conformance.models.layer_kinds import KINDS_BY_NAME, LAYER_KINDS
from posenc_conformance.models.meaning import Group, Meaning, case_of, rows_of
from posenc_conformance.models.misreadings import longer
from posenc_conformance.models.parts import FIELDS_OF_SIZE, SIZES
from posenc_conformance.models.types.others import LEARNED, TEXTS
from posenc_conformance.models.types.refused import NOT_SPECIFIED
from posenc_lab.models.configurations import ELSEWHERE, small
from posenc_lab.models.spellings import changed, read, spelled

LENGTH = 6
SMALL: dict[str, Any] = {
    "bos_token_id": 1,
    "decoder_sparse_step": 1,
    "eos_token_id": 2,
    "first_k_dense_replace": 1,
    "intermediate_size": 32,
    "kv_lora_rank": 16,
    "moe_intermediate_size": 16,
    "n_group": 1,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "num_key_value_heads": 2,
    "num_kv_shared_layers": 0,
    "num_local_experts": 4,
    "pad_token_id": 0,
    "q_lora_rank": 16,
    "topk_group": 1,
    "v_head_dim": 16,
    "vocab_size": 64,
}
"""Fields that make a model small, and do not affect positions."""
TURNING = (
    "apply_rotary_pos_emb",
    "apply_rotary_pos_emb_interleave",
    "apply_rotary_emb",
    "apply_rotary_pos_emb_flashatt",
    "apply_multimodal_rotary_pos_emb",
)
TYPES = [type for type in ROTARY if type not in ELSEWHERE]

SMALL_OF: dict[str, dict[str, Any]] = {
    "bailing_hybrid": {
        "n_group": 1,
        "num_experts_per_tok": 2,
        "num_local_experts": 4,
        "topk_group": 1,
    },
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * 8},
    "ernie4_5_vl_moe_text": {"moe_intermediate_size": [16, 16]},
    "esmc": {"num_key_value_heads": 4},
    "gradium_phonon_tts": {"flow_head_config": {"condition_dim": 256}},
    "dory": {"n_input_layers": 2, "n_output_layers": 2, "n_recurrent_layers": 4},
    "zaya": {"num_experts_per_tok": 1},
}
"""Such fields of single types."""

MADE_BY = {
    "csm_depth_decoder_model": "CsmDepthDecoderModel",
    "deepseek_ocr2_text": "DeepseekOcr2TextModel",
    "emu3_text_model": "Emu3TextModel",
    "ernie4_5_vl_moe_text": "Ernie4_5_VLMoeTextModel",
    "granite4_vision_text": "Granite4VisionTextModel",
    "mllama_text_model": "MllamaTextModel",
    "paddleocr_vl_text": "PaddleOCRTextModel",
    "qwen2_5_omni_text": "Qwen2_5OmniThinkerTextModel",
    "qwen3_omni_moe_text": "Qwen3OmniMoeThinkerTextModel",
}
"""Classes of models that transformers does not find by their type."""

Heard = dict[int, tuple[Floats, Floats]]
"""Queries before and after rotation, by layer."""
Seen = dict[int, Flags]
"""The attention mask of each layer that gets one; True where a query sees a key."""


def made(type: str, fields: dict[str, Any] | None = None) -> Any:
    """Return a small configuration of a type, as transformers reads it."""
    own_fields = deepcopy(small(type) if fields is None else fields)  # modified below
    del own_fields["model_type"]
    own = CONFIG_MAPPING[type]().to_dict()
    extra = {name: value for name, value in SMALL.items() if name in own}
    extra |= SMALL_OF.get(type, {})
    if ROTARY[type].latent:
        extra["num_key_value_heads"] = own_fields["num_attention_heads"]
    return CONFIG_MAPPING[type](**{**extra, **own_fields})


def code(config: Any) -> ModuleType:
    folder = config.__class__.__module__.split(".")[-2]
    return importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")


def layers_of(model: Any, count: int) -> Any:
    """Return the list of a model's layers."""
    lists = [modules for modules in model.modules() if isinstance(modules, torch.nn.ModuleList)]
    return next(modules for modules in lists if len(modules) == count)


@contextmanager
def listening(config: Any, model: Any) -> Iterator[Heard]:
    """Record the queries that each layer rotates, by layer number."""
    heard: Heard = {}
    present: list[int] = []
    module = code(config)

    def hear(function: Callable[..., Any]) -> Callable[..., Any]:
        def turned(q: Any, *rest: Any, **named: Any) -> Any:
            out = function(q, *rest, **named)
            first = out[0] if isinstance(out, tuple) else out
            if present and q.shape == first.shape:
                heard.setdefault(present[-1], (whole(q), whole(first)))
            return out

        return turned

    originals = {name: getattr(module, name) for name in TURNING if hasattr(module, name)}
    hooks = []
    for number, layer in enumerate(layers_of(model, config.num_hidden_layers)):
        hooks.append(layer.register_forward_pre_hook(lambda *_, n=number: present.append(n)))
    try:
        for name, function in originals.items():
            setattr(module, name, hear(function))
        yield heard
    finally:
        for name, function in originals.items():
            setattr(module, name, function)
        for hook in hooks:
            hook.remove()


def whole(q: Any) -> Floats:
    """Return queries as [heads, positions, channels], from either order of the first two axes."""
    queries: Floats = np.asarray(q.detach().double().numpy())[0]
    heads_first = queries.shape[-2] == LENGTH
    return queries if heads_first else np.moveaxis(queries, 0, 1)


@contextmanager
def watching(config: Any, model: Any) -> Iterator[Seen]:
    """Record the attention mask that each layer gets, by layer number."""
    seen: Seen = {}

    def see(number: int, given: Iterable[Any]) -> None:
        for argument in given:
            if torch.is_tensor(argument) and argument.shape[1:] == (1, LENGTH, LENGTH):
                mask = argument[0, 0]
                seen[number] = (mask if mask.dtype == torch.bool else mask > -1).numpy()

    hooks = [
        part.register_forward_pre_hook(
            lambda _, args, named, n=number: see(n, (*args, *named.values())), with_kwargs=True
        )
        for number, layer in enumerate(layers_of(model, config.num_hidden_layers))
        for part in layer.modules()
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def heard_in(config: Any) -> tuple[Heard, Seen]:
    torch.manual_seed(0)
    config._attn_implementation = "eager"
    named = MADE_BY.get(config.model_type)
    made_by = vars(code(config))[named] if named else AutoModel.from_config
    model = made_by(config).float().eval()
    tokens = torch.arange(3, 3 + LENGTH)[None]
    with listening(config, model) as heard, watching(config, model) as seen, torch.no_grad():
        model(input_ids=tokens)
    return heard, seen


def derived(fields: dict[str, Any]) -> Meaning:
    return meaning(configuration(fields, "config.json"))


def expected(group: Group, q: Floats) -> Floats:
    positions = rows_of(group, np.arange(LENGTH))
    truth: Floats = case_of(group, {"x": q, "positions": positions}).truth
    return truth


@pytest.mark.parametrize("type", TYPES)
def test_layers_turn_queries_as_derived(type: str) -> None:
    config = made(type)
    demand_same(derived(small(type)), config, *heard_in(config))


def demand_same(found: Meaning, config: Any, heard: Heard, seen: Seen) -> None:
    """Demand that a model does what the kit derives from its configuration."""
    demand_turned(found, config, heard)
    for group in found.groups:
        for number in group.layers:
            if number in seen:
                demand_seen(group, seen[number])


def demand_turned(found: Meaning, config: Any, heard: Heard) -> None:
    turning = {n: group for group in found.groups if group.turns for n in group.layers}
    assert heard.keys() == turning.keys()
    for number, (q, out) in heard.items():
        group = turning[number]
        width = q.shape[-1]
        assert width in (rotated(group), group.parameters["head_dim"]), number
        if width < group.parameters["head_dim"]:  # only the rotated channels are passed
            assert width == rotated(group)
            q = np.pad(q, [(0, 0), (0, 0), (0, group.parameters["head_dim"] - width)])
        right = expected(group, q)[..., :width]
        if config.to_dict().get("rope_interleave", "interleave" in moved_by(config)):
            first, second = channels(group, width)
            right = right[..., [*first, *second]]
        assert np.abs(out - right).max() <= 1e-5 * max(1.0, np.abs(q).max()), number


def demand_seen(group: Group, mask: Flags) -> None:
    ahead = np.arange(LENGTH)[:, None] - np.arange(LENGTH)
    window = LENGTH if group.window is None else group.window
    chunk = np.arange(LENGTH) // window
    right = {
        "sliding": (ahead >= 0) & (ahead < window),
        "two-sided": np.abs(ahead) <= window,
        "chunked": (ahead >= 0) & (chunk[:, None] == chunk),
    }.get(group.attention, ahead >= 0)
    encodes = group.attention == "full" and mask.all()
    assert encodes or (mask == right).all(), (group.id, mask)


REFUSALS = (
    AttributeError,
    KeyError,
    RuntimeError,
    StrictDataclassError,
    TypeError,
    ValueError,
    ZeroDivisionError,
)
"""Errors by which transformers refuses a configuration, or fails with it."""


def heard_if_it_runs(config: Any) -> tuple[Heard, Seen] | None:
    """Return a model's rotated queries and its masks; None if transformers cannot run it."""
    try:
        return heard_in(config)
    except REFUSALS:
        return None


def taken(type: str, fields: dict[str, Any]) -> Any:
    """Return a configuration as transformers reads it; None if it refuses it."""
    try:
        return made(type, fields)
    except REFUSALS:
        return None


@pytest.mark.nightly
@pytest.mark.parametrize("type", TYPES)
def test_layers_follow_changed_configurations(type: str) -> None:
    compared = 0
    for name, fields in changed(type):
        meant, config = read(fields), taken(type, fields)
        heard = None if meant is None or config is None else heard_if_it_runs(config)
        if meant is None or heard is None:
            continue
        try:
            demand_same(meant, config, *heard)
        except AssertionError as error:
            raise AssertionError(f"{type}: {name}: {error}") from None
        compared += 1
    assert compared


@pytest.mark.parametrize("type", ["qwen2_5_vl_text", "qwen2_vl_text", "qwen3_vl_text"])
def test_texts_without_images_turn_as_under_plain_yarn(type: str) -> None:
    """Verify the statement in the refusal of three axes under YaRN."""
    shared = {name: value for name, value in small(type).items() if "rope" not in name}
    head = {"head_dim": 64, "rope_theta": 1000000.0}
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
    section = [12, 10, 10] if "qwen3" in type else [8, 12, 12]
    config = made(type, {**shared, **head, "rope_scaling": {**yarn, "mrope_section": section}})
    plain = {**shared, **head, "model_type": "qwen2", "rope_scaling": yarn}
    demand_same(derived(plain), config, *heard_in(config))


RESOLVED = ("layer_types", "rope_parameters", "sliding_window")
"""Fields that determine positions, after transformers has resolved a configuration's spelling."""


@pytest.mark.parametrize("type", TYPES)
def test_transformers_resolves_equivalent_spellings_alike(type: str) -> None:
    for name, fields in changed(type):
        config = taken(type, fields)
        if config is None or read(fields) is None:
            continue
        for spelling, other in spelled(fields):
            if "text_config" in other or read(other) is None or _erases(other):
                continue
            again = taken(type, other)
            if again is not None:
                assert resolved(again) == resolved(config), (name, spelling)


def _erases(fields: dict[str, Any]) -> bool:
    """Return whether transformers drops rope_parameters for a null rope_scaling, and cannot run."""
    return fields["model_type"] == "cohere_compass_text" and "rope_scaling" in fields


def resolved(config: Any) -> Any:
    """Return the fields RESOLVED, without nulls and the key ``type``, which is no longer read."""
    settings = config.to_dict()
    return _without({name: settings.get(name) for name in RESOLVED})


def _without(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: _without(part) for name, part in value.items() if part is not None and name != "type"
    }


def moved_by(config: Any) -> str:
    """Return the name of a function that splits interleaved pairs into halves; empty if none."""
    return next(
        (name for name in TURNING if "interleave" in name and hasattr(code(config), name)), ""
    )


@pytest.mark.parametrize("type", TYPES)
def test_kinds_of_layers_and_windows_match(type: str) -> None:
    config = made(type)
    kinds = vars(config).get("layer_types") or []
    names = {**KINDS_BY_NAME, **ROTARY[type].kind_names}
    meant = derived(small(type))
    for group in meant.groups if kinds else ():
        for number in group.layers:
            same = "sliding" if group.attention == "two-sided" else group.attention
            assert names[kinds[number]] == same
        if group.attention == "sliding":
            assert group.window == config.sliding_window


@pytest.mark.parametrize("type", TYPES)
def test_a_resaved_configuration_means_the_same(type: str) -> None:
    saved = json.loads(made(type).to_json_string(use_diff=False))
    assert derived(saved) == derived(small(type))


@pytest.mark.parametrize("type", TYPES)
def test_defaults_are_those_of_the_class(type: str) -> None:
    held = CONFIG_MAPPING[type]().to_dict()
    for default in defaults.of_class(type, {}):
        value = held.get(default.field)
        if value is not None and default.field != "layer_types":
            assert value == default.value, default.field


def test_types_with_code_of_their_own_are_those_that_transformers_lacks() -> None:
    assert {type for type in ROTARY if type not in CONFIG_MAPPING} == defaults.ELSEWHERE


@pytest.mark.parametrize("type", SIZES)
def test_sizes_of_parts_are_those_of_their_class(type: str) -> None:
    config = CONFIG_MAPPING[type]()
    assert tuple(getattr(config, name) for name in FIELDS_OF_SIZE) == SIZES[type]


# Rotary classes: of types whose models do not run here, and of those with three axes.

OTHERS = {
    "codegen": "it has no class for it",
    "exaone": "transformers reads it as llama",
    "gptj": "it has no class for it",
    "internlm3": "transformers reads it as llama",
    "iquestcoder": "transformers reads it as llama",
    "qwen2_5_vl": "its text has a type of its own",
    "qwen2_vl": "its text has a type of its own",
    "sarvam_mla": "transformers reads it as deepseek_v3",
    "sarvam_moe": "transformers reads it as glm4_moe",
}
"""Types in transformers without a rotary class of their own."""
NOT_RUN = [type for type in ELSEWHERE if type in CONFIG_MAPPING and type not in OTHERS]
"""Types whose models do not run here, with a rotary class in transformers."""
WITH_AXES = [
    type
    for type, style in ROTARY.items()
    if style.sections is not None and type in CONFIG_MAPPING and type not in OTHERS
]
OF_OTHER_PARTS = ("Audio", "DiT", "SaProt", "Talker", "Vision", "VQ")


def rotary(config: Any) -> Any:
    """Return the module of a model's text that makes cosines and sines."""
    kinds = [
        value
        for name, value in vars(code(config)).items()
        if name.endswith("RotaryEmbedding") and not any(part in name for part in OF_OTHER_PARTS)
    ]
    (kind,) = kinds if len(kinds) == 1 else [kind for kind in kinds if "Text" in kind.__name__]
    return kind(config)


def demand_class(meant: Meaning, config: Any) -> None:
    module = rotary(config)
    for group in meant.groups:
        if group.turns:
            demand_frequencies(group, module)


def demand_frequencies(group: Group, module: Any) -> None:
    names = [name for name, kind in LAYER_KINDS.items() if kind == group.attention]
    own = next((f"{name}_" for name in names if hasattr(module, f"{name}_inv_freq")), "")
    theirs = getattr(module, f"{own}inv_freq").double().numpy()
    ours = frequencies(group)
    assert theirs.shape == ours.shape
    turning = ours != 0
    assert np.array_equal(theirs != 0, turning)
    off = np.abs(theirs[turning] / ours[turning] - 1)
    allowed = 4 * UNIT_ROUNDOFF["float32"] * (1 + np.abs(np.log(ours[turning])))
    assert (off / allowed).max() <= 1
    assert getattr(module, f"{own}attention_scaling") == pytest.approx(longer(group), rel=1e-6)


@pytest.mark.parametrize("type", NOT_RUN)
def test_frequencies_are_as_derived(type: str) -> None:
    compared = 0
    for name, fields in [("least", small(type)), *changed(type)]:
        meant, config = read(fields), taken(type, fields)
        if meant is None or config is None or any(group.grows for group in meant.groups):
            continue
        try:
            demand_class(meant, config)
        except AssertionError as error:
            raise AssertionError(f"{type}: {name}: {error}") from None
        compared += 1
    assert compared > 1


@pytest.mark.parametrize("type", WITH_AXES)
def test_each_pair_turns_by_its_axis(type: str) -> None:
    config = taken(type, small(type))
    functions = vars(code(config))
    positions = np.array([[0, 1, 5, 9], [0, 3, 2, 7], [0, 8, 4, 6]])
    where = torch.tensor(positions)[:, None]
    for group in (group for group in derived(small(type)).groups if group.turns):
        width = rotated(group)
        x = lattice((4, int(group.parameters["head_dim"])))
        q = torch.tensor(x[:, :width], dtype=torch.float32)[None, None]
        kinds = ["sliding_attention"] if ROTARY[type].blocks else []
        cos, sin = rotary(config)(q, where, *kinds)
        out = functions["apply_rotary_pos_emb"](q, q, cos, sin)[0].double().numpy()[0, 0]
        truth = case_of(group, {"x": x, "positions": positions}).truth
        assert np.abs(out - truth[:, :width]).max() <= 1e-5 * np.abs(x).max()


HERE = Path(transformers.__file__).parent / "models"
ROTATING = re.compile(r"^class \w*(Rotary|RoPE|Rope)\w*(Embedding|Attention)\b", re.MULTILINE)
TYPE = re.compile(r'^    model_type = "(.+)"', re.MULTILINE)


def folders() -> dict[str, set[str]]:
    """Return the types of models in each folder of transformers with a rotary class."""
    return {
        path.parent.name: {
            type
            for file in path.parent.glob("configuration_*.py")
            for type in TYPE.findall(file.read_text(encoding="utf-8"))
        }
        for path in HERE.glob("*/modeling_*.py")
        if ROTATING.search(path.read_text(encoding="utf-8"))
    }


def test_every_folder_with_a_rotary_class_has_a_known_type() -> None:
    """Verify that each rotated model is read, or refused with a reason."""
    known = {*ROTARY, *NOT_SPECIFIED, *LEARNED, *NOT_ROTATED}
    unknown = {
        folder: types
        for folder, types in folders().items()
        if not any({type, TEXTS.get(type, f"{type}_text")} & known for type in types)
    }
    assert unknown == {}
