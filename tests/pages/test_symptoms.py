"""What *Which mistake* says of symptoms is executed, and what it gives to paste is read."""

import json
import shlex
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from blocks.symptom_blocks import symptoms

import posenc
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import load_all

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
    model = next(model for model in load_all() if model.id == "llama-3.1-8b")
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
        return dict(json.loads(text))
    return dict(json.loads(f"{{{text}}}"))


@pytest.mark.parametrize(("program", "text"), PASTED)
def test_what_is_pasted_is_read_as_yarn(program: str, text: str) -> None:
    fields = config_in(text)
    if not fields:
        assert "--yarn-orig-ctx 32768" in text or "allow_tf32" in text
        return
    (group,) = meaning(configuration({**LLAMA, **fields}, program)).groups
    assert group.scheme == "yarn"
    wanted = {"base": 1e6, "factor": 4.0, "original_max_position_embeddings": 32768}
    assert wanted.items() <= group.parameters.items()
