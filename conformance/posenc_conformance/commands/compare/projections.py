"""The rows of queries, keys and values of each layer, whatever their tensors are called."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.commands.compare.checkpoints import GGUF, TRANSFORMERS, Checkpoint
from posenc_conformance.commands.compare.stored import Stored
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.layer_frequencies import rotated
from posenc_conformance.models.meaning import Group

PACKERS = {
    "qweight": "GPTQ and AWQ do",
    "weight_packed": "llm-compressor does",
    "W_q": "HQQ does",
}
"""Last parts of names of weights that are packed in ways that are not read, with who does that."""
OF_BITSANDBYTES = (".absmax", ".SCB")
"""Ends of the names of what bitsandbytes stores beside a weight."""
KIND = "|".join(["weight", "bias", *PACKERS])
LAYER = re.compile(rf"(?:^|\.)(?:layers|layer|h|blocks|block|blk)\.(\d+)\.(.+)\.({KIND})$")
OTHER_PARTS = re.compile(
    r"vision|visual|audio|speech|talker|mtp|image|patch|perceiver|resampler|draft|cross|code2wav"
)
"""Words in names of tensors that are not the text's own attention."""
ATTENTION = re.compile(r"attn|attention|mixer|self_att")
QUERY, KEY, VALUE, FUSED = "q", "k", "v", "fused"
QUERY_NORM, KEY_NORM = "q norm", "k norm"
_ROLES: Mapping[str, str] = {
    QUERY: "q_proj query wq attn_q q_b_proj attn_q_b q",
    KEY: "k_proj key wk attn_k kv_a_proj_with_mqa attn_kv_a_mqa k",
    VALUE: "v_proj value wv attn_v v",
    FUSED: "qkv_proj query_key_value c_attn Wqkv wqkv attn_qkv qkv W_pack",
    QUERY_NORM: "q_norm attn_q_norm q_layernorm query_layernorm ln_q",
    KEY_NORM: "k_norm attn_k_norm k_layernorm key_layernorm ln_k",
}
ROLES: Mapping[str, str] = {name: role for role, names in _ROLES.items() for name in names.split()}
"""Roles of tensors, by the last part of their names."""
COMPRESSED = ("kv_a_proj_with_mqa", "attn_kv_a_mqa")
"""Keys of which only the last rows are rotated, the same for every head."""
GROUPED = ("bloom", "gpt_neox", "gpt_neox_japanese", "falcon", "internlm2", "persimmon")
"""Types whose fused projections, outside of GGUF, go from one head of keys to the next."""


@dataclass(frozen=True)
class Heads:
    """The rows of one tensor, or of a part of one, as heads."""

    name: str
    """The tensor's name in its file."""
    stored: Stored
    rows: Ints
    """Numbers of the rows that belong to this projection, in order."""
    size: int
    """Rows of a head."""
    offset: int
    """The first rotated row of a head."""
    rotated: int
    """Rotated rows of a head."""

    @property
    def count(self) -> int:
        """Count the heads."""
        return len(self.rows) // self.size

    def read(self) -> Floats:
        """Read the first columns of all rows."""
        return self.stored.read()[self.rows]


Layer = dict[str, Heads]
"""What a layer has of queries, keys and values, by ``q``, ``k``, ``v``, ``q bias`` …"""


def layers_of(checkpoint: Checkpoint) -> dict[int, Layer]:
    """Return the projections of each layer that has some, without those that are not read."""
    found: dict[int, dict[str, tuple[str, Stored]]] = {}
    for number, role, name, tensor in _placed(checkpoint):
        if tensor.is_read or tensor.lacks:
            found.setdefault(number, {})[role] = name, tensor
    groups = groups_of(checkpoint)
    return {
        number: _layer(checkpoint, number, groups[number], found[number])
        for number in sorted(found)
        if number in groups
    }


def groups_of(checkpoint: Checkpoint) -> dict[int, Group]:
    """Return the group of each layer; that of a table, which acts once, if there is no other."""
    groups = checkpoint.meaning.groups
    found = {number: group for group in groups for number in group.layers}
    count = checkpoint.config.get("num_hidden_layers", 0)
    if found or not groups or type(count) is not int:
        return found
    return dict.fromkeys(range(count), groups[0])


def packed_in(checkpoint: Checkpoint) -> dict[int, dict[str, str]]:
    """Return how projections of each layer are packed that are not read, by their roles."""
    found: dict[int, dict[str, str]] = {}
    for number, role, name, tensor in _placed(checkpoint):
        if not tensor.is_read and not tensor.lacks:
            packing = _packing(checkpoint, name, tensor)
            parts = (QUERY, KEY, VALUE) if role == FUSED else (role,)
            found.setdefault(number, {}).update(dict.fromkeys(parts, packing))
    return found


def _packing(checkpoint: Checkpoint, name: str, tensor: Stored) -> str:
    """Say how numbers are packed, for people."""
    module, _, last = name.rpartition(".")
    if last in PACKERS:
        return f"packed as {PACKERS[last]}"
    beside = (f"{name}{OF_BITSANDBYTES[0]}", f"{module}{OF_BITSANDBYTES[1]}")
    if any(other in checkpoint.tensors for other in beside):
        return "packed as bitsandbytes does"
    if tensor.kind == "U32" and f"{module}.scales" in checkpoint.tensors:
        known = "quantization" in checkpoint.config.fields
        return f"packed as MLX does, {'in a mode' if known else 'with bits'} that nothing explains"
    return f"packed in {tensor.kind}"


def _placed(checkpoint: Checkpoint) -> Iterator[tuple[int, str, str, Stored]]:
    """Yield the layer, the role and the name of each tensor that has a role."""
    for name, tensor in checkpoint.tensors.items():
        place = _place(name)
        if place is not None:
            packed = name.endswith((*PACKERS,))
            own = _turned_over(tensor) if _is_turned_over(checkpoint, name) else tensor
            yield *place, name, replace(own, is_read=False) if packed else own


def _is_turned_over(checkpoint: Checkpoint, name: str) -> bool:
    """Return whether a matrix is stored as columns, as transformers' GPT-2 has it."""
    is_own = checkpoint.config.type == "gpt2" and checkpoint.form == TRANSFORMERS
    return is_own and name.endswith("c_attn.weight")


def _turned_over(tensor: Stored) -> Stored:
    """Return a matrix with rows and columns exchanged."""

    def load(columns: int) -> Floats:
        return tensor.load(tensor.columns)[:columns].T

    return replace(tensor, shape=(tensor.columns, tensor.rows), load=load)


def _place(name: str) -> tuple[int, str] | None:
    """Return the layer of a tensor, and its role there; None for one that has another purpose."""
    match = LAYER.search(name.replace(".norms.0.", "."))
    if match is None or OTHER_PARTS.search(name):
        return None
    number, path, kind = match.groups()
    last = path.rpartition(".")[2]
    if last not in ROLES or not ATTENTION.search(path):
        return None
    role = ROLES[last]
    return int(number), f"{role} bias" if kind == "bias" else role


def _layer(
    checkpoint: Checkpoint, number: int, group: Group, found: Mapping[str, tuple[str, Stored]]
) -> Layer:
    heads, size = _heads(checkpoint, number), head_size(checkpoint, group)
    layer: Layer = {}
    for role, (name, tensor) in found.items():
        if role.startswith(FUSED):
            parts = [*_split(checkpoint, tensor.rows, heads, size)]
            # What has another number of rows is there all the same, and not missing.
            parts = parts or [(part, np.arange(tensor.rows)) for part in (QUERY, KEY, VALUE)]
            for part, rows in parts:
                key = part + role.removeprefix(FUSED)
                layer[key] = _as_heads(checkpoint, group, name, tensor, rows, size)
        else:
            own = size
            if role.removesuffix(" bias") == QUERY and heads and tensor.rows % heads == 0:
                own = tensor.rows // heads
            rows = np.arange(int(np.prod(tensor.shape)) if "norm" in role else tensor.rows)
            layer[role] = _as_heads(checkpoint, group, name, tensor, rows, own)
    return layer


def _as_heads(
    checkpoint: Checkpoint, group: Group, name: str, tensor: Stored, rows: Ints, size: int
) -> Heads:
    """Return rows as heads; a compressed head is rotated at its end, all others at their start."""
    turned = rotated(group) if group.turns else 0
    if any(f".{last}." in name for last in COMPRESSED):
        size = len(rows)
    if size < 1 or len(rows) % size or turned > size:
        size, turned = len(rows), 0 if turned > len(rows) else turned
    latent = checkpoint.config.get("qk_rope_head_dim") is not None
    return Heads(name, tensor, rows, size, size - turned if latent else 0, turned)


def _heads(checkpoint: Checkpoint, number: int) -> int:
    """Return the number of heads of queries in a layer; 0 if it is not known."""
    value = checkpoint.config.get("num_attention_heads", 0)
    if isinstance(value, list):
        value = value[number] if number < len(value) else 0
    return value if type(value) is int else 0


def head_size(checkpoint: Checkpoint, group: Group) -> int:
    """Return the channels of a head: those that are rotated with it, or as other layers have."""
    for other in (group, *checkpoint.meaning.groups):
        if "head_dim" in other.parameters:
            return int(other.parameters["head_dim"])
    config = checkpoint.config
    heads = _heads(checkpoint, 0)
    return int(config.get("head_dim") or config.get("hidden_size", 0) // max(heads, 1))


def _split(checkpoint: Checkpoint, rows: int, heads: int, size: int) -> Iterator[tuple[str, Ints]]:
    """Yield the rows of queries, keys and values in a fused projection."""
    shared, odd = divmod(rows // max(size, 1) - heads, 2)
    if odd or shared < 1 or heads % shared:
        return
    groups = shared if checkpoint.config.type in GROUPED and checkpoint.form != GGUF else 1
    each = heads // groups, shared // groups, shared // groups
    numbers = np.arange(rows).reshape(groups, -1)
    bounds = np.cumsum([0, *each]) * size
    for name, begin, end in zip((QUERY, KEY, VALUE), bounds, bounds[1:], strict=False):
        yield name, numbers[:, begin:end].ravel()
