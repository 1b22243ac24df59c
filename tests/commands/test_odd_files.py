"""Files passed as a configuration that are none, or one of another kind."""

import json
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_lab.models.configurations import small

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4683\n"


def told(path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit status of ``posenc model`` for a file, and its output."""
    path.write_bytes(content)
    status = main(["model", str(path)])
    out = capsys.readouterr()
    return status, out.err or out.out


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (LFS, "Git LFS"),
        (b'{"model_type": "llama", "model_type": "qwen2"}', "model_type is given twice"),
        (b'{"rope_scaling": {"type": "linear", "type": "yarn"}}', "type is given twice"),
        (json.dumps(small("llama")).encode("utf-16"), "UTF-8"),
        (json.dumps(small("llama")).encode()[:-5], "cannot be read"),
        (b"<!doctype html><html>Entry not found</html>", "cannot be read"),
    ],
)
def test_an_invalid_configuration_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, why: str
) -> None:
    status, output = told(tmp_path / "config.json", content, capsys)
    assert status == 2
    assert why in output
    assert "config.json" in output


def test_a_byte_order_mark_is_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = json.dumps(small("llama")).encode("utf-8-sig")
    assert told(tmp_path / "config.json", content, capsys)[0] == 0


def test_a_gguf_file_that_git_has_not_fetched_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output = told(tmp_path / "model.gguf", LFS, capsys)
    assert status == 2
    assert "Git LFS" in output


def refused(fields: dict[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        meaning(configuration(fields, "config.json"))
    return f"{caught.value}"


def test_the_configuration_of_a_lora_adapter_is_refused() -> None:
    message = refused({"base_model_name_or_path": "some/model", "peft_type": "LORA", "r": 16})
    assert "adapter" in message


@pytest.mark.parametrize("part", [{}, {"text_config": None}, {"text_config": [small("llama")]}])
@pytest.mark.parametrize("type", ["gemma3", "llava", "qwen3_vl", "minimax_m3_vl"])
def test_a_model_whose_text_is_missing_is_refused_for_that(type: str, part: Any) -> None:
    message = refused({"model_type": type, **part})
    assert "text_config: it is missing" in message or "not specified yet" in message


@pytest.mark.parametrize(
    ("type", "name", "value"),
    [
        ("llama4_text", "for_llm_compressor", False),
        ("minimax_m2", "layernorm_full_attention_beta", 1.0),
    ],
)
def test_fields_of_released_files_without_a_meaning_for_positions(
    type: str, name: str, value: object
) -> None:
    derived = meaning(configuration({**small(type), name: value}, "config.json"))
    assert derived == meaning(configuration(small(type), "config.json"))
