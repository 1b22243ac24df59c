"""``python -m posenc_lab.compared.real LLAMA_CPP``: conversions by the converters that people use.

``… LLAMA_CPP --ggml libggml-base.so`` stores one of them in each type of ggml.

It makes small random models of transformers, has them converted by llama.cpp's converter, whose
folder is given, and by mlx-lm, stores some in other quantisations, and compares each. It needs an
environment with torch, transformers, gguf and mlx-lm.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from posenc_conformance.commands.compare.compare_command import compare
from posenc_conformance.errors import UserError
from posenc_lab.compared.judging import names_of

BASE: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 256,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 8192,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
LLAMA_3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32768,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 256}
LISTS = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0 + 0.05 * pair for pair in range(16)],
    "long_factor": [1.0 + 2.0 * pair for pair in range(16)],
    "original_max_position_embeddings": 4096,
}
LATENT = {
    "q_lora_rank": 128,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
    "n_routed_experts": 4,
    "n_group": 1,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 256,
    "first_k_dense_replace": 1,
    "num_key_value_heads": 8,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"rope_parameters": LLAMA_3, "max_position_embeddings": 131072},
    "llama biased": {"attention_bias": True},
    "mistral": {"sliding_window": None, "head_dim": 32},
    "mixtral": {"num_local_experts": 4, "sliding_window": None},
    "qwen2": {"rope_parameters": YARN, "max_position_embeddings": 131072},
    "qwen2_moe": {**EXPERTS, "shared_expert_intermediate_size": 256},
    "qwen3": {"head_dim": 32},
    "qwen3_moe": {**EXPERTS, "head_dim": 32},
    "gemma": {"head_dim": 32},
    "gemma2": {"head_dim": 32, "sliding_window": 1024},
    "gemma3_text": {"head_dim": 32, "sliding_window": 512},
    "phi": {"partial_rotary_factor": 0.5, "num_key_value_heads": 8},
    "phi3": {"rope_parameters": LISTS, "max_position_embeddings": 131072, "sliding_window": 2048},
    "gpt_neox": {"rotary_pct": 0.25, "intermediate_size": 1024},
    "stablelm": {"partial_rotary_factor": 0.25},
    "falcon": {
        "new_decoder_architecture": True,
        "num_kv_heads": 2,
        "max_position_embeddings": 2048,
    },
    "starcoder2": {"sliding_window": None},
    "cohere": {},
    "cohere2": {"sliding_window": 1024, "head_dim": 32},
    "olmo": {},
    "olmo2": {},
    "glm4": {"head_dim": 32},
    "granite": {},
    "smollm3": {},
    "exaone4": {"sliding_window": 1024, "sliding_window_pattern": 4, "head_dim": 32},
    "nemotron": {},
    "ernie4_5": {"head_dim": 32},
    "seed_oss": {"head_dim": 32},
    "deepseek_v3": LATENT,
    "llama4_text": {"num_local_experts": 2, "head_dim": 32, "intermediate_size_mlp": 256},
    "gpt_oss": {"num_local_experts": 4, "head_dim": 32},
    "hunyuan_v1_dense": {"head_dim": 32},
    "lfm2": {},
    "qwen3_next": {
        **EXPERTS,
        "head_dim": 32,
        "shared_expert_intermediate_size": 256,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
    },
}
"""Families by type, with the fields that differ from ``BASE``."""
RELEASED: dict[str, dict[str, Any]] = {
    "cohere2": {"rotary_pct": 1.0},
    "ernie4_5": {"rope_theta": 500000.0},
    "exaone4": {"rope_theta": 10000.0, "rope_scaling": None},
    "glm4": {"rope_theta": 10000.0, "partial_rotary_factor": 0.5},
    "gpt_neox": {"rotary_pct": 0.25, "rotary_emb_base": 10000},
    "granite": {"rope_theta": 10000.0},
    "qwen3_moe": {"rope_theta": 10000.0, "num_experts": 4},
    "qwen3_next": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25},
    "stablelm": {"rope_theta": 10000.0, "partial_rotary_factor": 0.25},
}
"""Fields of released files that transformers 5 no longer writes, and converters read."""
DRIVER = """
import runpy, sys
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
import conversion.base as base
def silent(self): self.gguf_writer.add_tokenizer_model("none")
if "--as-released" in sys.argv:
    sys.argv.remove("--as-released")
    import transformers
    def refused(*_, **__): raise ValueError("read config.json itself")
    transformers.AutoConfig.from_pretrained = refused
import conversion, importlib, pkgutil
for module in pkgutil.iter_modules(conversion.__path__):
    importlib.import_module("conversion." + module.name)
def below(kind):
    for part in kind.__subclasses__():
        yield part
        yield from below(part)
for kind in below(base.TextModel):
    kind.set_vocab = silent
base.TextModel.set_vocab = silent
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Starts llama.cpp's converter without a vocabulary, which small random models do not have."""


QUANTISED = {
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "q2_K": 10,
    "q3_K": 11,
    "q4_K": 12,
    "q5_K": 13,
    "q6_K": 14,
    "iq3_s": 21,
    "iq4_nl": 20,
    "iq4_xs": 23,
    "mxfp4": 39,
}
"""Types of ggml that need no importance matrix, by their numbers."""


@dataclass(frozen=True)
class Outcome:
    """What was found of one conversion."""

    family: str
    converter: str
    names: tuple[str, ...]
    residual: float = 0.0
    error: str = ""


def make(family: str, folder: Path) -> None:
    """Save a small random model of a family; biases and norms are random too."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(3)
    type, _, _ = family.partition(" ")
    config = AutoConfig.for_model(type, **{**BASE, **FAMILIES[family]})
    model = AutoModelForCausalLM.from_config(config).to(torch.bfloat16)
    for name, parameter in model.named_parameters():
        if "bias" in name or "norm" in name:
            parameter.data += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    file = folder / "config.json"
    if type in RELEASED:
        fields = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps(fields | RELEASED[type]), encoding="utf-8")
    tokens = {"model": {"vocab": dict.fromkeys(map(str, range(64)))}, "added_tokens": []}
    (folder / "tokenizer.json").write_text(json.dumps(tokens), encoding="utf-8")


def by_llama_cpp(converter: Path, folder: Path, out: Path, kind: str, family: str) -> str:
    """Convert with llama.cpp's converter; return its error."""
    plain = ["--as-released"] if family in RELEASED else []
    script = converter / "convert_hf_to_gguf.py"
    command = [sys.executable, "-c", DRIVER, str(script), str(folder)]
    done = subprocess.run(
        [*command, "--outfile", str(out), "--outtype", kind, *plain],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(converter / "gguf-py"), "NO_LOCAL_GGUF": "1", "PATH": ""},
        check=False,
    )
    return "" if out.exists() else done.stderr.strip().splitlines()[-1]


def by_ggml(library: Path, before: Path, out: Path, kind: int) -> None:
    """Quantise the matrices of a GGUF file in float32 by ggml's own function, as its tools do."""
    import ctypes

    import gguf
    import numpy as np

    ggml = ctypes.CDLL(str(library))
    ggml.ggml_quantize_init(kind)
    type = gguf.GGMLQuantizationType(kind)
    block, size = gguf.GGML_QUANT_SIZES[type]
    reader = gguf.GGUFReader(before)
    writer = gguf.GGUFWriter(out, "llama")
    for name, entry in reader.fields.items():
        if not name.startswith(("GGUF.", "general.architecture", "tokenizer.")):
            value, kinds = entry.contents(), entry.types
            sub = kinds[1] if len(kinds) > 1 else None
            writer.add_key_value(name, value, kinds[0], sub)
    for tensor in reader.tensors:
        values = np.array(tensor.data, dtype=np.float32)
        if values.ndim == 1 or values.shape[-1] % block:
            writer.add_tensor(tensor.name, values)
            continue
        packed = np.zeros((len(values), values.shape[1] // block * size), np.uint8)
        rows, columns = (ctypes.c_int64(count) for count in values.shape)
        places = [ctypes.c_void_p(array.ctypes.data) for array in (values, packed)]
        ggml.ggml_quantize_chunk(kind, *places, ctypes.c_int64(0), rows, columns, None)
        writer.add_tensor(tensor.name, packed, raw_shape=packed.shape, raw_dtype=type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def by_mlx(folder: Path, out: Path, bits: int | None) -> str:
    """Convert with mlx-lm; return its error."""
    from mlx_lm.utils import load_model, quantize_model, save_config, save_model

    try:
        model, config = load_model(folder, lazy=True)
        if bits:
            model, config = quantize_model(model, config, 64, bits)
        save_model(out, model)
        save_config(config, out / "config.json")
    except (Exception, SystemExit) as error:  # olmo's module ends the process
        return f"{type(error).__name__}: {error}"
    return ""


def judged(family: str, converter: str, before: Path, after: Path, error: str) -> Outcome:
    """Compare one conversion."""
    if error:
        return Outcome(family, converter, (), error=f"not converted: {error[:150]}")
    try:
        found = compare(str(before), str(after))
    except UserError as refusal:
        return Outcome(family, converter, ("refused",), error=refusal.cause)
    residuals = [part.residual for part in found.findings if part.residual is not None]
    texts = [part.text for part in found.findings if not part.is_right]
    if not residuals:
        texts.append("no rows were compared")
    return Outcome(
        family, converter, names_of(found), max(residuals, default=0.0), "; ".join(texts)
    )


def outcomes(converter: Path, folder: Path, families: list[str]) -> Iterator[Outcome]:
    """Convert and compare each family."""
    for family in families:
        before = folder / family.replace(" ", "-")
        try:
            make(family, before)
        except Exception as reason:
            text = f"{type(reason).__name__}: {reason}"
            yield judged(family, "transformers", before, before, text)
            continue
        for kind in ("f16", "q8_0") if family == "llama" else ("bf16",):
            out = folder / f"{before.name}-{kind}.gguf"
            error = by_llama_cpp(converter, before, out, kind, family)
            yield judged(family, f"llama.cpp {kind}", before, out, error)
        for bits in (None, 4, 8, 3, 6) if family == "llama" else (None, 4):
            out = folder / f"{before.name}-mlx-{bits}"
            error = by_mlx(before, out, bits)
            yield judged(family, f"mlx-lm {bits or 'as it was'}", before, out, error)


def quantised(converter: Path, library: Path, folder: Path) -> Iterator[Outcome]:
    """Compare a Llama in each type of ggml."""
    before, whole = folder / "quantised", folder / "quantised-f32.gguf"
    make("llama", before)
    error = by_llama_cpp(converter, before, whole, "f32", "llama")
    for name, kind in QUANTISED.items():
        out = folder / f"quantised-{name}.gguf"
        if not error:
            by_ggml(library, whole, out, kind)
        yield judged("llama", f"ggml {name}", before, out, error)


def main(converter: str, *families: str) -> int:
    """Print what was found of each conversion; return 1 if a right one is not accepted."""
    with TemporaryDirectory() as folder:
        done = []
        if families[:1] == ("--ggml",):
            found_all = quantised(Path(converter), Path(families[1]), Path(folder))
        else:
            found_all = outcomes(Path(converter), Path(folder), [*families] or [*FAMILIES])
        for found in found_all:
            print(json.dumps(vars(found), ensure_ascii=False), flush=True)
            done.append(found)
    wrong = [found for found in done if found.names]
    converted = [found for found in done if not found.error.startswith("not converted")]
    print(f"{len(converted)} conversions, {len(wrong)} not accepted")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
