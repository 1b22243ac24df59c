"""``posenc compare``: wrong conversions are named, and right ones are accepted in any form."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc_conformance.commands.compare.compare_command import Comparison, compare, document, lines
from posenc_conformance.commands.compare.safetensors_files import INDEX, unpacked
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_lab.compared.conversions import (
    in_float8,
    in_groups,
    to_gguf,
    to_meta,
    to_mistral,
)
from posenc_lab.compared.families import SHAPES, Original, original
from posenc_lab.compared.files import STORED, write_json, write_safetensors, write_split
from posenc_lab.compared.further import FURTHER
from posenc_lab.compared.judging import judged, names_of, write_converted, write_original
from posenc_lab.compared.right import RIGHT, Right
from posenc_lab.compared.wrong import WRONG, Wrong


def compared(before: Path, after: Path) -> Comparison:
    return compare(str(before), str(after))


def said(found: Comparison) -> str:
    """Return the text without its line breaks."""
    return " ".join("\n".join(lines(found)).split())


def accepted(before: Path, after: Path) -> bool:
    """Return whether nothing differs, either way round, and rows were compared."""
    both = compared(before, after), compared(after, before)
    return all(
        found.exit_code == 0 and any(part.subject == "rows" for part in found.findings)
        for found in both
    )


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return write_original(tmp_path / "llama", original("llama"))


@pytest.mark.draws
@pytest.mark.parametrize("wrong", [*WRONG, *FURTHER], ids=lambda wrong: wrong.id)
def test_a_wrong_conversion_is_named(wrong: Wrong, tmp_path: Path) -> None:
    verdict = judged(wrong, tmp_path)
    assert verdict.is_rejected, "it is accepted"
    assert verdict.is_named, verdict.names


@pytest.mark.draws
@pytest.mark.parametrize("right", RIGHT, ids=lambda right: right.id)
def test_a_right_conversion_is_accepted(right: Right, tmp_path: Path) -> None:
    before = write_original(tmp_path / "original", original(right.family))
    made = right.convert(original(right.family))
    assert accepted(before, write_converted(tmp_path / "converted", made, right.kind))


@pytest.mark.parametrize("kind", ["F16", "BF16", "F32"])
@pytest.mark.parametrize("family", SHAPES)
def test_a_right_gguf_file_is_accepted(family: str, kind: str, tmp_path: Path) -> None:
    before = write_original(tmp_path / "original", original(family))
    after = write_converted(tmp_path / "converted", to_gguf(original(family)), kind)
    assert accepted(before, after)


@pytest.mark.parametrize("convert", [to_mistral, to_meta])
def test_files_of_mistral_and_meta_are_accepted(convert: Any, tmp_path: Path) -> None:
    before = write_original(tmp_path / "original", original("mistral"))
    after = write_converted(tmp_path / "converted", convert(original("mistral")), "BF16")
    assert accepted(before, after)


def test_a_checkpoint_that_is_cut_for_two_cards_is_joined(tmp_path: Path) -> None:
    before = write_original(tmp_path / "original", original("mistral"))
    made = to_meta(original("mistral"))
    after = write_converted(tmp_path / "converted", made)
    for card in (0, 1):
        halves = {name: np.split(array, 2)[card] for name, array in made.arrays.items()}
        part = write_converted(tmp_path / f"card-{card}", replace(made, arrays=halves))
        (part / "consolidated.00.pth").rename(after / f"consolidated.0{card}.pth")
    assert accepted(before, after)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_groups_of_mlx_are_read(family: str, bits: int, tmp_path: Path) -> None:
    made = original(family)
    before = write_original(tmp_path / "original", made)
    after = tmp_path / "mlx"
    after.mkdir()
    write_json(
        after / "config.json", {**made.config, "quantization": {"bits": bits, "group_size": 64}}
    )
    write_safetensors(after / "model.safetensors", in_groups(made.arrays, bits, 64))
    assert accepted(before, after)
    assert f"{bits} bits in groups of 64" in said(compared(before, after))


def test_float8_is_multiplied_by_its_scales(tmp_path: Path) -> None:
    made = original("qwen3")
    before = write_original(tmp_path / "original", made)
    after = tmp_path / "float8"
    after.mkdir()
    write_json(after / "config.json", made.config)
    write_split(after, in_float8(made.arrays))
    assert accepted(before, after)
    scales = in_float8(made.arrays)
    for name, array in scales.items():
        if name.endswith("_scale_inv"):
            array *= 1 + np.arange(array.size).reshape(array.shape)
    write_split(after, scales)
    assert compared(before, after).differs


def test_a_missing_package_is_named_with_its_extra(
    llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = write_converted(tmp_path / "converted", to_gguf(original("llama")), "Q8_0")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(UserError, match=r"posenc\[gguf\]"):
        compared(llama, after)


def test_two_spellings_of_one_meaning_are_no_difference(llama: Path, tmp_path: Path) -> None:
    made = original("llama")
    block = made.config.pop("rope_scaling")
    made.config["rope_parameters"] = {**block, "rope_theta": made.config.pop("rope_theta")}
    made.config["sliding_window"] = None
    assert accepted(llama, write_original(tmp_path / "respelled", made, "F32"))


def test_a_window_that_no_text_fills_is_none(tmp_path: Path) -> None:
    made = original("mistral")
    before = write_original(tmp_path / "original", made)
    for window, differs in ((40000, False), (4096, True)):
        made.config["sliding_window"] = window
        after = write_original(tmp_path / str(window), made)
        assert compared(before, after).differs is differs


@pytest.mark.parametrize(
    ("family", "field", "value", "name"),
    [
        ("gpt-neox", "rotary_pct", 0.5, "rotated-share"),
        ("qwen3", "head_dim", 64, "head-size"),
        ("llama-biased", "rope_scaling", None, "scaling"),
        ("gemma3", "sliding_window_pattern", 4, "window"),
        ("qwen3", "num_hidden_layers", 3, "layers"),
    ],
)
def test_a_changed_field_is_named(
    family: str, field: str, value: Any, name: str, tmp_path: Path
) -> None:
    made = original(family)
    before = write_original(tmp_path / "original", made)
    made.config[field] = value
    found = compared(before, write_original(tmp_path / "changed", made))
    assert name in names_of(found)


def test_a_bias_of_zeros_may_be_left_out(tmp_path: Path) -> None:
    made = original("qwen2")
    for name in made.arrays:
        if name.endswith("bias"):
            made.arrays[name][:] = 0
    before = write_original(tmp_path / "original", made)
    made.arrays = {name: array for name, array in made.arrays.items() if "bias" not in name}
    assert accepted(before, write_original(tmp_path / "without", made))


def test_rows_that_are_all_alike_have_no_order(tmp_path: Path) -> None:
    made = original("qwen3")
    for name in made.arrays:
        if "norm" in name:
            made.arrays[name][:] = 1
    before = write_original(tmp_path / "original", made)
    after = write_converted(tmp_path / "converted", to_gguf(made))
    assert "too alike" in said(compared(before, after))


def test_layers_that_turn_nothing_may_have_any_common_order(tmp_path: Path) -> None:
    made = original("llama")
    made.config = {**made.config, "model_type": "smollm3", "no_rope_layers": [1, 1, 1, 0]}
    del made.config["rope_scaling"]
    before = write_original(tmp_path / "original", made)
    other = to_mistral(original("llama"))
    for part, name in (("q_proj", "wq"), ("k_proj", "wk")):
        key = f"model.layers.3.self_attn.{part}.weight"
        made.arrays[key] = other.arrays[f"layers.3.attention.{name}.weight"]
    assert accepted(before, write_original(tmp_path / "both", made))
    made.arrays[key] = made.arrays[key][::-1]
    assert compared(before, write_original(tmp_path / "keys", made)).differs


PACKED = {
    "GPTQ": (".qweight", "I32", ".scales"),
    "llm-compressor": (".weight_packed", "I32", ".weight_scale"),
    "bitsandbytes": (".weight", "U8", ".weight.absmax"),
    "in I8": (".weight", "I8", ".scale"),
}
"""Who packs weights in a way that is not read: the end of their names, their type, and what is
beside them."""


def packed(family: str, name: str) -> Original:
    """Return a checkpoint whose matrices are packed; what is in them does not matter."""
    end, kind, beside = PACKED[name]
    made = original(family)
    arrays = dict(made.arrays)
    for weight, array in made.arrays.items():
        if array.ndim > 1:
            module = weight.removesuffix(".weight")
            del arrays[weight]
            arrays[module + end] = np.zeros((32, 32), STORED[kind])
            arrays[module + beside] = np.ones(32, np.float32)
    return replace(made, arrays=arrays)


@pytest.mark.parametrize("name", PACKED)
def test_packed_weights_are_not_certified(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = write_original(tmp_path / "original", original("qwen2"))
    after = write_original(tmp_path / "packed", packed("qwen2", name), None)
    assert main(["compare", str(before), str(after)]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert (
        f"packed: k, q, v of layers 0-3 are packed {name if 'in' in name[:2] else 'as ' + name}"
        in out
    )
    assert "no verdict" in out
    assert "k bias, q bias" not in out.partition("not looked at")[2]
    made = packed("qwen2", name)
    made.config["rope_theta"] = 10000.0
    assert main(["compare", str(before), str(write_original(tmp_path / "base", made, None))]) == 1
    made = packed("qwen2", name)
    made.arrays = {key: array for key, array in made.arrays.items() if not key.endswith("bias")}
    assert main(["compare", str(before), str(write_original(tmp_path / "bias", made, None))]) == 1


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["pytorch_model.bin"], "pytorch_model.bin is not read: load it with transformers"),
        (["pytorch_model-00001-of-00002.bin", "x.h5"], "00001-of-00002.bin … is not read"),
        ([], "no weights are there"),
    ],
)
def test_weights_in_other_forms_are_not_missing(
    files: list[str], words: str, llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    after = tmp_path / "other"
    after.mkdir()
    for file in files:
        (after / file).write_bytes(b"x")
    write_json(after / "config.json", original("llama").config)
    for sides in ((llama, after), (after, llama)):
        assert main(["compare", *map(str, sides)]) == 2
        out = " ".join(capsys.readouterr().out.split())
        assert words in out
        assert "missing" not in out
    write_json(after / "config.json", {**original("llama").config, "rope_theta": 10000.0})
    assert main(["compare", str(llama), str(after)]) == 1


def test_unknown_names_of_tensors_are_not_missing(llama: Path, tmp_path: Path) -> None:
    made = original("llama")
    made.arrays = {
        name.replace("q_proj", "lq").replace("k_proj", "lk"): array
        for name, array in made.arrays.items()
        if "v_proj" not in name
    }
    found = compared(llama, write_original(tmp_path / "other", made))
    assert found.exit_code == 2
    assert "no tensor of it is known as queries or keys" in said(found)


def test_a_model_that_was_split_needs_all_its_files(llama: Path, tmp_path: Path) -> None:
    made = original("llama")
    after = tmp_path / "split"
    after.mkdir()
    write_json(after / "config.json", made.config)
    write_split(after, made.arrays)
    assert accepted(llama, after)
    (after / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(UserError, match=r"names model-00002-of-00002\.safetensors, which"):
        compared(llama, after)
    (after / INDEX).unlink()
    with pytest.raises(UserError, match="not all of its 2 files are there"):
        compared(llama, after)


def test_files_of_mistral_beside_those_of_transformers_are_left_aside(tmp_path: Path) -> None:
    before = write_original(tmp_path / "original", original("mistral"))
    after = write_original(tmp_path / "both", original("mistral"))
    made = to_mistral(original("mistral"))
    write_safetensors(after / "consolidated.safetensors", made.arrays)
    write_json(after / "params.json", made.metadata)
    assert accepted(before, after)


def test_two_models_in_a_folder_are_refused(llama: Path, tmp_path: Path) -> None:
    after = write_original(tmp_path / "both", original("llama"))
    write_split(after, original("llama").arrays)
    with pytest.raises(UserError, match="an index of other files"):
        compared(llama, after)


def test_divisors_of_both_files_count(tmp_path: Path) -> None:
    made = to_gguf(original("llama"))
    made.arrays["rope_freqs.weight"] = 1 / made.arrays["rope_freqs.weight"]
    before = write_converted(tmp_path / "before", made)
    assert accepted(before, write_converted(tmp_path / "same", made, "BF16"))
    made.arrays["rope_freqs.weight"] *= 2
    found = compared(before, write_converted(tmp_path / "other", made, "BF16"))
    assert names_of(found) == ("divisors",)


@pytest.mark.parametrize(
    ("family", "key", "value", "words"),
    [
        ("qwen3", "rope.dimension_count", 30, "qwen3.rope.dimension_count: it is 30"),
        ("llama", "attention.head_count", 0, "llama.attention.head_count: it is 0"),
        ("qwen3", "rope.freq_base", 0.5, "qwen3.rope.freq_base: it is 0.5"),
        ("qwen2", "rope.scaling.type", "wild", "qwen2.rope.scaling.type: 'wild' is not known"),
        ("qwen2", "rope.scaling.factor", 1e9, "qwen2.rope.scaling.factor: it is"),
        ("qwen2", "context_length", 0, "qwen2.context_length: it is 0"),
        ("granite", "attention.scale", "big", "granite.attention.scale: it is 'big'"),
    ],
)
def test_a_gguf_file_is_spoken_of_in_its_keys(
    family: str, key: str, value: Any, words: str, tmp_path: Path
) -> None:
    made = to_gguf(original(family))
    made.metadata[f"{made.metadata['general.architecture']}.{key}"] = value
    before = write_original(tmp_path / "original", original(family))
    with pytest.raises(UserError) as refused:
        compared(before, write_converted(tmp_path / "converted", made))
    assert words in str(refused.value)


def test_so_is_a_params_json(tmp_path: Path) -> None:
    made = to_mistral(original("mistral"))
    made.metadata["n_heads"] = 0
    before = write_original(tmp_path / "original", original("mistral"))
    with pytest.raises(UserError, match=r"params\.json: n_heads: it is 0"):
        compared(before, write_converted(tmp_path / "converted", made))


def test_the_command_has_three_exit_codes(
    llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = write_converted(tmp_path / "right", to_gguf(original("llama")))
    (not_permuted,) = [wrong for wrong in WRONG if wrong.id == "not-permuted"]
    wrong = write_converted(tmp_path / "wrong", not_permuted.made(original("llama")))
    assert main(["compare", str(llama), str(right)]) == 0
    assert "halves to neighbours, as the code needs" in capsys.readouterr().out
    assert main(["compare", str(llama), str(wrong)]) == 1
    out = capsys.readouterr().out
    assert "[not-permuted]" in out
    assert "costs at" in out
    assert main(["compare", str(llama), str(tmp_path / "none")]) == 2


def test_a_slow_comparison_says_which_layer_it_reads(
    llama: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = write_converted(tmp_path / "right", to_gguf(original("llama")))
    for patience, is_told in ((60.0, False), (0.0, True)):
        monkeypatch.setattr("posenc_conformance.commands.progress.PATIENCE", patience)
        assert main(["compare", str(llama), str(right), "--json"]) == 0
        said = capsys.readouterr()
        assert ("posenc: comparing layer 1 of " in said.err) is is_told
        json.loads(said.out)


def test_json_has_what_the_text_says(llama: Path, tmp_path: Path) -> None:
    wrong = write_converted(tmp_path / "wrong", to_gguf(original("llama")))
    read = json.loads(document(compared(llama, wrong)))
    assert read["differs"] is False
    assert [part["right"] for part in read["findings"]] == [True] * len(read["findings"])
    assert {"q", "k"} in [set(part["parts"]) for part in read["findings"]]


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_numbers_of_any_width_are_unpacked(bits: int) -> None:
    codes = np.arange(64) % 2**bits
    whole = sum(int(code) << (bits * place) for place, code in enumerate(codes))
    words = np.frombuffer(whole.to_bytes(8 * bits, "little"), "<u4").reshape(1, -1)
    assert np.array_equal(unpacked(words, bits)[0], codes)


@pytest.mark.parametrize("size", [0, 7, 30, 400, 60_000])
@pytest.mark.parametrize("form", ["gguf", "safetensors", "pth"])
def test_a_file_that_breaks_off_is_refused(
    form: str, size: int, llama: Path, tmp_path: Path
) -> None:
    convert = {"gguf": to_gguf, "safetensors": to_mistral, "pth": to_meta}[form]
    after = write_converted(tmp_path / "converted", convert(original("mistral")))
    path = after if form == "gguf" else next(after.glob(f"*.{form}"))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(UserError):
        compared(llama, after)


@pytest.mark.parametrize("form", ["gguf", "safetensors", "pth"])
def test_any_byte_of_a_header_may_be_another(form: str, llama: Path, tmp_path: Path) -> None:
    convert = {"gguf": to_gguf, "safetensors": to_mistral, "pth": to_meta}[form]
    after = write_converted(tmp_path / "converted", convert(original("mistral")))
    path = after if form == "gguf" else next(after.glob(f"*.{form}"))
    whole = path.read_bytes()
    generator = np.random.default_rng(1)
    for place in generator.integers(0, 3000, 4):
        content = bytearray(whole)
        content[place] ^= int(generator.integers(1, 256))
        path.write_bytes(content)
        try:
            compared(llama, after)
        except UserError:
            continue
