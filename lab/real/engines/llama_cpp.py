"""llama.cpp, which runs its graph of a model on keys that the adapter puts into it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_conformance.adapters import Array, Positions, once

CONVERTER = Path(sys.prefix) / "llama_cpp_python-0.3.36/vendor/llama.cpp"
BEFORE = Path(__file__).parents[2] / "scoreboard/deployed/llamacpp_convert_layers.py"
"""A script that lets the converter run without a tokenizer."""
TOGETHER = 256
"""Tokens per call, each in its own sequence; also the engine's maximum."""
NEIGHBOURS = 0
"""llama.cpp's rope type for interleaved pairs, for which it permutes most checkpoints."""
AS_RELEASED = ("cohere", "cohere2", "gptj")
"""Types whose checkpoints are interleaved already, so that nothing is permuted."""
BY_LENGTH = ("longrope", "su")
"""Kinds of scaling that depend on the length for which the engine is started, not on the text."""
PLAIN: Mapping[str, Any] = {"vocab_size": 256, "tie_word_embeddings": False, "pad_token_id": 0}
"""Fields that do not affect positions."""
WORDS = {"model": {"vocab": dict.fromkeys(range(PLAIN["vocab_size"]))}, "added_tokens": []}
"""The parts of Gemma's tokenizer that the converter counts."""
HEADS = {"num_attention_heads": 2, "num_key_value_heads": 2}
EXPERTS = ("num_local_experts", "num_experts", "num_experts_per_tok")
OWN = ("_length", "quantization_config")
"""Fields that the checkpoint does not have: its weights are plain."""
TENSOR = """
typedef struct {
    int32_t type; void * buffer; int64_t ne[4]; size_t nb[4];
    int32_t op; int32_t op_params[16]; int32_t flags; void * src[10];
    void * view_src; size_t view_offs; char * data; char name[64];
} seen_tensor;
const char * ggml_op_desc(const struct ggml_tensor * tensor);
"""
"""A value of the graph, declared up to its name as in ggml/include/ggml.h."""


class LlamaCppAdapter:
    """llama.cpp (seen: build 11549, in xllamacpp): keys as the graph of a layer rotates them.

    Its own converter converts a checkpoint saved by transformers. Just before a layer rotates
    its keys, the adapter replaces them; afterwards, it reads the result. Each token is in its own
    sequence, so that it may have any position.
    """

    requires = ("xllamacpp", "llama-cpp-py-sync", "transformers")

    def __init__(self) -> None:
        import xllamacpp
        from llama_cpp_py_sync._cffi_bindings import ffi

        ffi.cdef(TENSOR)
        (library,) = Path(xllamacpp.__file__).parent.glob("*.so")
        self.ffi, self.engine = ffi, ffi.dlopen(str(library))
        self._quiet = ffi.callback("void(enum ggml_log_level, char *, void *)", lambda *_: None)
        self.engine.llama_log_set(self._quiet, ffi.NULL)
        self.engine.llama_backend_init()
        self._look = ffi.callback("bool(struct ggml_tensor *, bool, void *)", self._seen)
        self._made = once(self._make, size=1)
        self._model, self._context = ffi.NULL, ffi.NULL
        self._asked, self._rows, self._turned = "", np.empty(0), np.empty(0)

    @claims(dtype=["float32"])
    def rotary(
        self, x: Array, positions: Positions, *, config: Mapping[str, Any], layer: int
    ) -> Any:
        """Rotate x as keys, in the order in which the converter leaves their channels."""
        if positions.ndim > 1:
            raise NotImplementedError("positions of an image are those of a text here")
        length = _length(config, int(positions.max(initial=0)) + 1)
        order = self._made({**config, "_length": length}, x.shape[-1])
        rows = x[..., order].reshape(-1, x.shape[-1])
        where = np.tile(positions, len(rows) // max(len(positions), 1))
        parts = [
            self._turn(layer, rows[i : i + TOGETHER], where[i : i + TOGETHER])
            for i in range(0, len(rows), TOGETHER)
        ]
        return np.concatenate([rows[:0], *parts])[..., order.argsort()].reshape(x.shape)

    def _turn(self, layer: int, rows: Array, positions: Positions) -> Array:
        """Return rows rotated by a layer's graph; unrotated if the layer rotates none."""
        batch = self.engine.llama_batch_init(len(rows), 0, 1)
        batch.n_tokens = len(rows)
        for i, position in enumerate(positions):
            batch.token[i], batch.pos[i], batch.logits[i] = 0, int(position), 0
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, i
        self._asked, self._rows, self._turned = f"-{layer}", rows, rows
        self.engine.llama_memory_clear(self.engine.llama_get_memory(self._context), True)
        failed = self.engine.llama_decode(self._context, batch)
        self.engine.llama_batch_free(batch)
        if failed:
            raise RuntimeError(f"llama_decode returned {failed}")
        return self._turned

    def _seen(self, node: Any, before: bool, _: Any) -> bool:
        """Put the keys where a node will read them, and read the node's result.

        Every node is requested, so that all nodes before it are computed when it is reached.
        """
        if self.ffi.string(self.engine.ggml_op_desc(node)) == b"ROPE":
            tensor = self.ffi.cast("seen_tensor *", node)
            name = self.ffi.string(tensor.name).decode()
            if name[:1] in "Kk" and name.endswith(self._asked):
                if before:
                    source = self.ffi.cast("seen_tensor *", tensor.src[0])
                    self._values(source)[:] = self._rows[:, None]
                else:
                    self._turned = self._values(tensor)[:, 0].copy()
        return True

    def _values(self, tensor: Any) -> Array:
        """Return float32 values [tokens, heads, channels], as a view of memory."""
        channels, heads, tokens, _ = tensor.ne
        sizes = (tokens, heads, channels)
        steps = tuple(tensor.nb[i] for i in (2, 1, 0))
        reach = sum((n - 1) * step for n, step in zip(sizes, steps, strict=True)) + 4
        memory = np.frombuffer(self.ffi.buffer(tensor.data, reach), dtype=np.uint8)
        return np.ndarray(sizes, np.float32, memory, strides=steps)

    def _make(self, config: Mapping[str, Any], size: int) -> Array:
        """Load a model in place of the last one, and return the sources of its channels."""
        from transformers import AutoConfig, AutoModelForCausalLM

        self._forget()
        small = _small(config, size)
        with TemporaryDirectory() as folder:
            model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**small))
            model.save_pretrained(folder)
            small["architectures"] = [type(model).__name__]
            Path(folder, "config.json").write_text(json.dumps(small), encoding="utf-8")
            Path(folder, "tokenizer.json").write_text(json.dumps(WORDS), encoding="utf-8")
            out = Path(folder, "model.gguf")
            _convert(Path(folder), out)
            parameters = self.engine.llama_model_default_params()
            self._model = self.engine.llama_model_load_from_file(str(out).encode(), parameters)
        if not self._model:
            raise NotImplementedError(f"it does not load {config['model_type']}")
        settings = self.engine.llama_context_default_params()
        settings.n_ctx, settings.n_batch, settings.n_ubatch = config["_length"], TOGETHER, TOGETHER
        settings.n_seq_max, settings.kv_unified, settings.cb_eval = TOGETHER, True, self._look
        settings.n_threads = settings.n_threads_batch = 1
        self._context = self.engine.llama_init_from_model(self._model, settings)
        permuted = (
            self.engine.llama_model_rope_type(self._model) == NEIGHBOURS
            and config["model_type"] not in AS_RELEASED
        )
        order = np.arange(size)
        return order.reshape(2, -1).T.ravel() if permuted else order

    def _forget(self) -> None:
        """Free the loaded model, which takes 100 MB or more."""
        if self._context:
            self.engine.llama_free(self._context)
        if self._model:
            self.engine.llama_model_free(self._model)
        self._model = self._context = self.ffi.NULL


def _convert(checkpoint: Path, out: Path) -> None:
    """Convert a checkpoint saved by transformers.

    Raises NotImplementedError if the converter refuses it.
    """
    script = CONVERTER / "convert_hf_to_gguf.py"
    done = subprocess.run(
        [sys.executable, BEFORE, script, checkpoint, "--outfile", out, "--outtype", "f32"],
        env={**os.environ, "PYTHONPATH": str(CONVERTER / "gguf-py")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotImplementedError(f"its converter: {done.stderr.strip().splitlines()[-1]}")


def _small(config: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return a configuration with the layers and positions of ``config``, and two heads."""
    fewer = {name: 2 for name in EXPERTS if name in config}
    sizes = {"hidden_size": 2 * size, "intermediate_size": 8 * size}
    own = {name: value for name, value in config.items() if name not in OWN}
    return {**own, **PLAIN, **HEADS, **fewer, **sizes}


def _length(config: Mapping[str, Any], asked: int) -> int:
    """Return the length for which to start an engine that gets ``asked`` positions."""
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    original = config.get("original_max_position_embeddings") or 0
    chosen = scaling.get("rope_type", scaling.get("type")) in BY_LENGTH and asked > original
    return original + TOGETHER if chosen else TOGETHER
