"""Rotary embedding with positions on several axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import (
    EXACT,
    FLOATS,
    Array,
    Positions,
    by_heads,
    headed,
    once,
)
from posenc_conformance.adapters.torch import backward
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor


class Axes(Transformers):
    """Models of images and videos.

    =====================  =====================================================================
    m-rope qwen2-vl        Qwen2-VL (also Qwen2.5-VL)
    m-rope qwen3-vl        Qwen3.5, whose rotation may be partial (Qwen3-VL's is whole)
    m-rope glm-4v          GLM-4.1V
    m-rope ernie-4-5-vl    ERNIE 4.5 VL, all channels of a head
    m-rope ids spatial     Qwen2-VL, ``get_rope_index``; a segment of one frame is an image;
                           Qwen2.5-VL where the times of videos are spaced
    rope-2d rope-vit       SAM 2's memory of a video, base 10,000 or any other
    rope-2d qwen2-vl       the vision tower of Qwen2-VL
    rope-2d pixtral-half   Pixtral
    rope-2d gemma-4        the vision tower of Gemma 4
    rope-2d image dinov3   DINOv3
    axial-rope vjepa-2     V-JEPA 2's attention, without weights
    =====================  =====================================================================

    Positions are given as each model gives them to its module: rows before columns, or the reverse.
    """

    def __init__(self) -> None:
        super().__init__()
        self._qwen2_vl = once(self._make_qwen2_vl)
        self._qwen2_5_vl = once(self._make_qwen2_5_vl)

    @claims("qwen2-vl", dtype=FLOATS, max_position=EXACT)
    @claims("qwen3-vl", "glm-4v", dtype=FLOATS, rotation="partial", max_position=EXACT)
    @claims("ernie-4-5-vl", dtype=FLOATS, max_position=EXACT)
    def m_rope(
        self,
        x: Array,
        positions: Positions,
        sections: npt.NDArray[np.int64],
        *,
        base: float,
        layout: str,
        allocation: str,
    ) -> object:
        """Run the model's rotary module, then its ``apply_rotary_pos_emb``."""
        head_dim = x.shape[-1]
        auto = self.transformers
        rope = {
            "rope_type": "default",
            "rope_theta": base,
            "mrope_section": sections.tolist(),
            "partial_rotary_factor": 2 * int(sections.sum()) / head_dim,
        }
        config: dict[str, Any] = {
            "hidden_size": head_dim,
            "num_attention_heads": 1,
            "num_key_value_heads": 1,
            "head_dim": head_dim,
            "rope_parameters": rope,
        }
        if allocation == "alternating":
            code = self.code["ernie4_5_vl_moe"]
            rope["mrope_section"] = sections.tolist()[1:] + sections.tolist()[:1]
            module = code.Ernie4_5_VLMoeTextRotaryEmbedding(auto.Ernie4_5_VLMoeTextConfig(**config))
        elif layout == "interleaved":
            code = self.code["glm4v"]
            module = code.Glm4vTextRotaryEmbedding(auto.Glm4vTextConfig(**config))
        elif allocation == "interleaved":
            code = self.code["qwen3_5"]
            module = code.Qwen3_5TextRotaryEmbedding(auto.Qwen3_5TextConfig(**config))
        else:
            code = self.code["qwen2_vl"]
            module = code.Qwen2VLRotaryEmbedding(auto.Qwen2VLTextConfig(**config))
        ids, rotate = to_torch(positions)[:, None], code.apply_rotary_pos_emb
        return by_heads(lambda heads: rotate(heads, heads, *module(heads, ids))[0], to_torch(x))

    m_rope_vjp = backward(m_rope)

    @claims("spatial", spacing="seconds")
    def m_rope_position_ids(
        self,
        segments: npt.NDArray[np.int64],
        *,
        merge_size: int,
        tokens_per_second: float | None = None,
        second_per_grid: float | None = None,
    ) -> Tensor:
        """Call ``get_rope_index`` of Qwen2VLModel; with seconds, of Qwen2_5_VLModel.

        Raises NotImplementedError for a number of tokens per second that is not whole.
        """
        if tokens_per_second is not None and tokens_per_second % 1:
            raise NotImplementedError("a configuration has a whole number of tokens per second")
        torch = self.torch
        kinds: list[int] = []
        grids: dict[int, list[list[int]]] = {1: [], 2: []}
        for frames, height, width in segments.tolist():
            if height == 0:
                kinds += [0] * frames
                continue
            kind = 1 if frames == 1 else 2
            kinds += [kind] * (frames * (height // merge_size) * (width // merge_size))
            grids[kind].append([frames, height, width])
        tokens = torch.tensor([kinds], dtype=torch.int64)
        given: dict[str, Any] = {
            "image_grid_thw": torch.tensor(grids[1]) if grids[1] else None,
            "video_grid_thw": torch.tensor(grids[2]) if grids[2] else None,
        }
        model = self._qwen2_vl(merge_size)
        if tokens_per_second is not None:
            model = self._qwen2_5_vl(merge_size, tokens_per_second)
            given["second_per_grid_ts"] = torch.tensor([second_per_grid] * len(grids[2]))
        ids, _delta = model.get_rope_index(tokens, tokens, **given)
        return ids[:, 0]

    def _make_qwen2_vl(self, merge_size: int) -> Any:
        """Make a model without layers or weights, for the positions that it gives."""
        config = self.transformers.Qwen2VLConfig(
            text_config={"num_hidden_layers": 0},
            vision_config={"depth": 0, "spatial_merge_size": merge_size},
        )
        with self.torch.device("meta"):
            return self.transformers.Qwen2VLModel(config)

    def _make_qwen2_5_vl(self, merge_size: int, tokens_per_second: float) -> Any:
        """Make a model without layers or weights, for the positions that it gives.

        This later model spaces the times of videos.
        """
        config = self.transformers.Qwen2_5_VLConfig(
            text_config={"num_hidden_layers": 0},
            vision_config={
                "depth": 0,
                "spatial_merge_size": merge_size,
                "tokens_per_second": int(tokens_per_second),
            },
        )
        with self.torch.device("meta"):
            return self.transformers.Qwen2_5_VLModel(config)

    @claims("rope-vit", "qwen2-vl", "pixtral-half", "gemma-4", dtype=FLOATS, max_position=EXACT)
    def rope_2d(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        order: str,
        progression: str,
    ) -> Tensor:
        """Run the vision tower's rotary module, then its function."""
        values, places, auto = headed(to_torch(x)), to_torch(positions).T, self.transformers
        head_dim = x.shape[-1]
        if order == "column-first":
            places = places.flip(-1)
        config: dict[str, Any] = {
            "hidden_size": head_dim,
            "num_attention_heads": 1,
            "head_dim": head_dim,
            "rope_parameters": {"rope_type": "axial", "rope_theta": base},
        }
        if layout == "half-per-axis":
            code = self.code["gemma4"]
            module = code.Gemma4VisionRotaryEmbedding(auto.Gemma4VisionConfig(**config))
            ids, rows = places[None], values.transpose(1, 2)
            waves = module(values, ids)
            turned = code.apply_multidimensional_rope(rows, *waves, ids).transpose(1, 2)
        elif layout == "interleaved":
            code = self.code["sam2_video"]
            module = code.Sam2VideoVisionRotaryEmbedding(
                auto.Sam2VideoConfig(
                    memory_attention_hidden_size=head_dim,
                    memory_attention_downsample_rate=1,
                    memory_attention_num_attention_heads=1,
                    rope_parameters=config["rope_parameters"],
                )
            )
            waves = module(values, places)
            turned, _key = code.apply_rotary_pos_emb_2d(values, values, *waves)
        elif progression == "split":
            code = self.code["pixtral"]
            module = code.PixtralVisionRotaryEmbedding(auto.PixtralVisionConfig(**config))
            waves = module(values, places)
            turned, _key = code.apply_rotary_pos_emb(values, values, *waves, unsqueeze_dim=0)
        else:
            code = self.code["qwen2_vl"]
            config = {"embed_dim": head_dim, "num_heads": 1, **config}
            module = code.Qwen2VLVisionRotaryEmbedding(auto.Qwen2VLVisionConfig(**config))
            rows = values[0].transpose(0, 1)
            turned, _key = code.apply_rotary_pos_emb_vision(rows, rows, *module(rows, places))
            turned = turned.transpose(0, 1)
        return turned.reshape(x.shape)

    rope_2d_vjp = backward(rope_2d)

    @claims("vjepa-2", dtype=FLOATS, max_position=EXACT)
    def axial_rope_tiled(self, x: Array, positions: Positions) -> Tensor:
        """Call V-JEPA 2's ``apply_rotary_embeddings`` with the positions on each axis."""
        values = headed(to_torch(x))
        config = self.transformers.VJEPA2Config(hidden_size=x.shape[-1], num_attention_heads=1)
        with self.torch.device("meta"):
            module = self.code["vjepa2"].VJEPA2RopeAttention(config, x.shape[-1], 1)
        turned: Tensor = module.apply_rotary_embeddings(values, tuple(to_torch(positions)))
        return turned.reshape(x.shape)

    @claims("dinov3", dtype=FLOATS)
    def rope_2d_image(self, x: Array, height: int, width: int, *, base: float) -> Tensor:
        """Run DINOv3's rotary module, then its function.

        The image has one pixel to a patch.
        """
        code, values = self.code["dinov3_vit"], headed(to_torch(x))
        config = self.transformers.DINOv3ViTConfig(
            hidden_size=x.shape[-1], num_attention_heads=1, patch_size=1, rope_theta=float(base)
        )
        module = code.DINOv3ViTRopePositionEmbedding(config).eval()
        waves = module(values.new_empty((1, 3, height, width)))
        turned, _key = code.apply_rotary_pos_emb(values, values, *waves)
        return turned.reshape(x.shape)
