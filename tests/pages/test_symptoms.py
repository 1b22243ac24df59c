"""What *Which mistake* says of symptoms is executed, and what it gives to paste is read."""

import json
import re
import shlex
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from blocks.symptom_blocks import symptoms

import posenc
from posenc_conformance.deployed.checkpoint import gguf_file
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import Model, load_all

pytestmark = pytest.mark.remembered(shipped=True, also=("docs",))

Check = Callable[[], str | tuple[str, ...] | None]
SYMPTOMS = {symptom.id: symptom for symptom in symptoms()}
PASTED = [(name, text) for symptom in symptoms() for name, text in symptom.paste.items()]
LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
    "num_hidden_layers": 2, "num_key_value_heads": 8, "max_position_embeddings": 131072,
}  # fmt: skip


def scaled_in_training() -> tuple[str, str]:
    """Context and original length of Llama 3.1, from its configuration."""
    model = of_model("llama-3.1-8b")
    (group,) = model.meaning.groups
    assert group.scheme == "llama3"
    original = group.parameters["original_max_position_embeddings"]
    return f"up to {model.meaning.context.extended:,}", f"the original length is {original:,}"


def fastest_pairs() -> None:
    """Frequencies of each scaling, divided by those of RoPE, for a factor of 4."""
    plain = 10000.0 ** -(np.arange(64) / 64)
    aware = posenc.ntk_aware_frequencies(128, factor=4.0) / plain
    assert aware[0] == 1
    assert (np.diff(aware) < 0).all()
    yarn = posenc.yarn_frequencies(128, factor=4.0, original_max_position_embeddings=4096)
    llama = posenc.llama3_frequencies(
        128, base=1e4, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=4096,
    )  # fmt: skip
    for kept in (yarn / plain, llama / plain):
        assert (kept == 1).sum() > 10
    linear = posenc.position_interpolation_frequencies(128, factor=4.0) / plain
    assert np.allclose(linear, 1 / 4, rtol=1e-14)


def static_yarn() -> str:
    """The length of a pair at position 0 under YaRN: it does not depend on the length of a text."""
    x = np.eye(1, 128)
    turned = posenc.yarn(x, [0], base=1e4, factor=4.0, original_max_position_embeddings=4096)
    return f"{np.linalg.norm(turned):.3f} times as long"


def first_row() -> None:
    """Row 0 of the sinusoid: the same for any base, another one in another layout."""
    row = posenc.sinusoidal([0], 8)
    assert np.array_equal(row, posenc.sinusoidal([0], 8, base=500.0))
    assert not np.array_equal(row, posenc.sinusoidal([0], 8, layout="sin-cos"))
    assert not np.array_equal(row, posenc.sinusoidal([0], 8, first_position=1))


def at_the_start() -> None:
    """Any layout of RoPE is right at position 0, and the other one is wrong at 1."""
    x = np.arange(8.0)[None] + np.zeros((2, 1))
    half, pairs = (posenc.rope(x, [0, 1], layout=name) for name in ("half", "interleaved"))
    assert np.array_equal(half[0], pairs[0])
    assert not np.allclose(half[1], pairs[1])


def largest_float16() -> tuple[str, ...]:
    """The largest number of float16, and the least one that becomes infinite."""
    with np.errstate(over="ignore"):
        first = next(n for n in range(65504, 70000) if np.isinf(np.float16(n)))
    return f"ends at {np.finfo(np.float16).max:,.0f}", f"of {first:,} or more", f"with {first:,}."


def products_in_tf32() -> str:
    """The largest relative error of a significand of 11 bits."""
    return f"to {100 * 2.0**-11:.2f} %"


def original_of_llama() -> str:
    """Every Llama from 3.1 on that is here was trained on the same length first."""
    lengths = {
        group.parameters["original_max_position_embeddings"]
        for model in load_all()
        for group in model.meaning.groups
        if re.match(r"llama-3\.[123]", model.id) and group.turns
    }
    return f"their original {lengths.pop():,} positions" if len(lengths) == 1 else str(lengths)


def one_step() -> str:
    """The distance of neighbouring bfloat16 numbers from 2 to 4."""
    step = float(np.spacing(ml_dtypes.bfloat16(2)))
    assert step == float(np.spacing(ml_dtypes.bfloat16(3.5)))
    return f"{step:.4f} for values from 2 to 4"


def held_in_bfloat16() -> tuple[str, str]:
    """The first integer that is not held, and the largest relative error of a frequency."""
    whole = np.arange(1024)
    first = int(np.argmax(whole.astype(ml_dtypes.bfloat16).astype(int) != whole))
    omega = np.exp(-np.linspace(0, 9, 100_001))
    worst = np.abs(omega.astype(ml_dtypes.bfloat16).astype(float) / omega - 1).max()
    return f"whole numbers up to {first - 1}", f"{100 * worst:.1f} %"


def flipped_sign() -> tuple[str, ...]:
    """Correlation of scores at distance d and -d, from the sum of cosines over pairs."""
    omega = 10000.0 ** -(np.arange(64) / 64)
    return tuple(f"{np.cos(2 * omega * d).mean():.2f} at" for d in (1, 10, 1000))


CLAIMS: list[tuple[str, Check]] = [
    ("trained-length", scaled_in_training),
    ("long-texts", fastest_pairs),
    ("scaling-worse", static_yarn),
    ("scaling-worse", fastest_pairs),
    ("second-token", first_row),
    ("second-token", at_the_start),
    ("exception", largest_float16),
    ("bfloat16", products_in_tf32),
    ("edge", original_of_llama),
    ("bfloat16", one_step),
    ("bfloat16", held_in_bfloat16),
    ("backwards", flipped_sign),
]


@pytest.mark.parametrize(("id", "check"), CLAIMS)
def test_sentences_hold(id: str, check: Check) -> None:
    symptom = SYMPTOMS[id]
    words = " ".join(f"{symptom.why} {symptom.tell} {symptom.cure}".split())
    printed = check() or ()
    for text in (printed,) if isinstance(printed, str) else printed:
        assert text in words


def config_in(text: str) -> dict[str, Any]:
    """Return the fields of a configuration that a block of lines holds."""
    if not text.lstrip().startswith('"'):
        words = shlex.split(text)
        text = next((word for word in words if word.startswith("{")), "{}")
        fields = dict(json.loads(text))
        return dict(fields.get("text_config", fields))
    return dict(json.loads(f"{{{text}}}"))


def configs(id: str) -> list[dict[str, Any]]:
    """Return what the blocks of a symptom put into a configuration."""
    return [fields for text in SYMPTOMS[id].paste.values() if (fields := config_in(text))]


def of_model(id: str) -> Model:
    return next(model for model in load_all() if model.id == id)


def test_what_is_pasted_for_longer_texts_is_read_as_yarn() -> None:
    given = configs("trained-length")
    assert len(given) == 4
    for fields in given:
        (group,) = meaning(configuration({**LLAMA, **fields}, "pasted")).groups
        assert group.scheme == "yarn"
        wanted = {"base": 1e6, "factor": 4.0, "original_max_position_embeddings": 32768}
        assert wanted.items() <= group.parameters.items()
    assert "--yarn-orig-ctx 32768" in SYMPTOMS["trained-length"].paste["llama.cpp"]


@pytest.mark.parametrize(
    ("symptom", "id", "count"), [("edge", "llama-3.1-8b", 2), ("layers", "gemma-3-4b", 3)]
)
def test_what_is_pasted_for_a_model_is_that_of_the_model(symptom: str, id: str, count: int) -> None:
    model, given = of_model(id), configs(symptom)
    assert len(given) == count
    for fields in given:
        rest = {k: v for k, v in model.config.items() if not k.startswith(("rope", "sliding"))}
        read = meaning(configuration({**rest, **fields}, "pasted"))
        assert read.groups == model.meaning.groups


def test_the_fields_that_are_taken_out_of_a_gguf_file_are_those_of_yarn() -> None:
    (command,) = (text for _, text in PASTED if text.startswith("gguf-new-metadata"))
    words = shlex.split(command)
    removed = {key for option, key in pairwise(words) if option == "--remove-metadata"}
    yarn = meaning(configuration({**LLAMA, **configs("trained-length")[0]}, "yarn"))
    written, _ = gguf_file._rotation(yarn.groups[0], yarn)
    assert removed == {f"qwen2.{name}" for name in written}


@pytest.mark.torch
def test_the_tables_for_any_dtype_are_made_in_float32() -> None:
    import torch

    (code,) = (text for name, text in PASTED if name.startswith("PyTorch, tables"))
    positions = torch.tensor([3, 70_001])
    given = {"torch": torch, "positions": positions, "base": 1e4, "head_dim": 64}
    for dtype, error in ((torch.float32, 1e-2), (torch.bfloat16, 1e-2)):
        made = {**given, "x": torch.ones(1, dtype=dtype)}
        exec(code, made)
        right = np.cos(positions[:, None] * 1e4 ** -(np.arange(32) / 32))
        assert made["cos"].dtype == dtype
        assert np.allclose(made["cos"].float(), right, atol=error)
