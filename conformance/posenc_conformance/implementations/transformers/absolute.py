"""Encodings added to embeddings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import ALL_FLOATS, EXACT, FLOATS, Array, Positions, once
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor

LENGTHS = {"paper": 1024, "concat": 1024, "whisper": 131_072}
"""Lengths of tables of positions. The first two are filled element by element in Python."""


class Absolute(Transformers):
    """Rows of the tables that models add to token embeddings, or of time steps.

    ====================  ======================================================================
    sinusoidal paper      DistilBERT with ``sinusoidal_pos_embds`` (also XLM, FlauBERT, SpeechT5)
    sinusoidal concat     Marian (also Pegasus, RoFormer, Informer, CTRL)
    sinusoidal fairseq    M2M100, padding index 1 (also NLLB, XGLM, FSMT, Speech2Text, TrOCR)
    sinusoidal musicgen   MusicGen
    sinusoidal whisper    Whisper's encoder (also Qwen-Omni)
    sinusoidal adm        VibeVoice's diffusion head, which casts its time steps to float32 and, of
                          an odd number of channels, returns one less
    sincos-2d             mae: AIMv2, for an image of zeros (also ViT-MAE); row-first: RT-DETR (also
                          D-FINE), both float64 inside; detr: DETR, which computes in the dtype that
                          it is asked for; deformable-detr: Deformable DETR, which does so too
    learned               plain: GPT-2 (also BERT, ELECTRA); after-padding: RoBERTa; two: OPT (also
                          BART)
    layout-2d             v1: LayoutLM, whose sum is what its LayerNorm is given; v2: LayoutLMv2;
                          v3: LayoutLMv3
    learned-grid          ViT (also CLIP, BLIP), SigLIP, DeiT
    perceiver-fourier     Perceiver
    ====================  ======================================================================

    Models of DistilBERT and Marian have 1,024 positions here, those of Whisper 131,072.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waves = once(self._make_waves, size=8)

    @claims("paper", "concat", dtype=FLOATS, base=10000.0, odd_dim="uneven", max_position=1023)
    @claims("fairseq", "musicgen", dtype=FLOATS, base=10000.0, max_position=131_071)
    @claims("whisper", dtype=FLOATS, max_position=131_071)
    @claims(
        "adm",
        dtype="float32",
        base=10000.0,
        dim=(256, 128, 96, 64, 16, 8, 6, 4, 2),
        domain=("real", "negative"),
        max_position=EXACT,
    )
    def sinusoidal(
        self,
        positions: Array,
        dim: int,
        *,
        layout: str,
        denominator: str,
        first_position: int,
        dtype: str,
        base: float = 10000.0,
    ) -> Tensor:
        """Return rows of the table that a model adds to its token embeddings, or of time steps."""
        where = to_torch(positions)
        if (layout, denominator) == ("cos-sin", "d/2"):
            config = self.transformers.VibeVoiceDiffusionHeadConfig(frequency_embedding_size=dim)
            return self.code["vibevoice"].VibeVoiceDiffusionHeadSinusoidalEmbedding(config)(where)
        if layout == "cos-sin":
            code = self.code["musicgen"]
            module = code.MusicgenSinusoidalPositionalEmbedding(2048, dim)
            return self._stretch(module, where, dtype, axes=3)
        if first_position:
            code = self.code["m2m_100"]
            module = code.M2M100SinusoidalPositionalEmbedding(1024, dim, padding_idx=1)
            return self._stretch(module, where, dtype, axes=2)[0]
        name = {"interleaved": "paper", "sin-cos": "concat"}[layout]
        name = "whisper" if denominator == "d/2-1" else name
        table = self._waves(name, dim, base, dtype)
        return self.torch.nn.functional.embedding(where, table)

    def _make_waves(self, name: str, dim: int, base: float, dtype: str) -> Tensor:
        """Make a whole table, in the dtype of a model."""
        kind, length = getattr(self.torch, dtype), LENGTHS[name]
        if name == "whisper":
            return self.code["whisper"].sinusoids(length, dim, base).to(kind)
        if name == "paper":
            out = self.torch.empty(length, dim, dtype=kind)
            return self.code["distilbert"].create_sinusoidal_embeddings(length, dim, out)
        config = self.transformers.MarianConfig(
            d_model=dim,
            max_position_embeddings=length,
            vocab_size=2,
            pad_token_id=1,
            encoder_layers=0,
            encoder_attention_heads=1,
        )
        return self.code["marian"].MarianEncoder(config).to(kind).embed_positions.weight

    def _stretch(self, module: Any, where: Tensor, dtype: str, axes: int) -> Tensor:
        """Return rows of a stretch of tokens without padding.

        It reaches from the first position to the last asked for. The modules lengthen their tables
        themselves.
        """
        module.to(getattr(self.torch, dtype))
        first, last = (int(where.min()), int(where.max())) if len(where) else (0, -1)
        tokens = self.torch.zeros(1, 1, last + 1 - first, dtype=self.torch.int64)
        rows = module(tokens if axes == 3 else tokens[0], cache_length=first)
        return rows[..., where - first, :]

    @claims("mae", dtype=ALL_FLOATS, base=10000.0)
    @claims("row-first", dtype=ALL_FLOATS)
    @claims("detr", dtype=ALL_FLOATS)
    @claims("deformable-detr", dtype=["float64", "float32"])
    def sincos_2d(
        self,
        height: int,
        width: int,
        dim: int,
        *,
        base: float,
        first_axis: str,
        coordinates: str,
        dtype: str,
    ) -> Tensor:
        """Return an encoding of AIMv2, of RT-DETR or of DETR's modules.

        That of RT-DETR is ``build_2d_sinusoidal_position_embedding``.
        """
        kind = getattr(self.torch, dtype)
        if coordinates != "index":
            code, name = self.code["detr"], "DetrSinePositionEmbedding"
            if coordinates == "centred":
                code, name = self.code["deformable_detr"], "DeformableDetrSinePositionEmbedding"
            module = getattr(code, name)(dim // 2, base, normalize=True)
            table = module(self.torch.Size((1, dim, height, width)), "cpu", kind)
            return table[0].flatten(1).T
        if first_axis == "row":
            return self.code["rt_detr"].build_2d_sinusoidal_position_embedding(
                height, width, dim, temperature=base, dtype=kind
            )
        config = self.transformers.Aimv2VisionConfig(
            hidden_size=dim, image_size=1, patch_size=1, num_channels=1, is_native=True
        )
        embeddings = self.code["aimv2"].Aimv2VisionEmbeddings(config).to(kind)
        embeddings.patch_embed.bias.data.zero_()
        return embeddings(self.torch.zeros(1, 1, height, width, dtype=kind))[0]

    @claims("plain", "after-padding", "two", dtype=ALL_FLOATS)
    def learned(
        self,
        positions: Positions,
        table: Array,
        *,
        offset: str,
        padding_idx: int | None = None,
    ) -> Tensor:
        """Apply the module of embeddings to the ids that the model gives its tokens."""
        where, weights = to_torch(positions), to_torch(table)
        rows, dim = weights.shape
        auto = self.transformers
        if offset == "none":
            config = auto.GPT2Config(
                vocab_size=1, n_positions=rows, n_embd=dim, n_layer=0, n_head=1
            )
            module = auto.GPT2Model(config).wpe
            module.weight.data = weights
            return module(where)
        if offset == "two":
            module = self.code["opt"].OPTLearnedPositionalEmbedding(rows - 2, dim)
            module.weight.data = weights
            return module(None, position_ids=where)
        config = auto.RobertaConfig(
            vocab_size=rows,
            hidden_size=dim,
            num_attention_heads=1,
            pad_token_id=padding_idx,
            max_position_embeddings=rows,
        )
        embeddings = self.code["roberta"].RobertaEmbeddings(config)
        embeddings.position_embeddings.weight.data = weights
        text = self.torch.zeros(1, int(where.max()) + 1 if len(where) else 0, dim)
        ids = embeddings.create_position_ids_from_inputs_embeds(text, padding_idx)[0]
        return embeddings.position_embeddings(ids[where])

    @claims("vit", "siglip", "deit", dtype=FLOATS)
    def learned_grid(self, table: Array, height: int, width: int, *, class_tokens: int) -> Tensor:
        """Call ``interpolate_pos_encoding``, for patches of a single pixel."""
        weights = to_torch(table)
        rows, dim = weights.shape
        name, model = (("siglip", "Siglip"), ("vit", "ViT"), ("deit", "DeiT"))[class_tokens]
        kind = "SiglipVision" if class_tokens == 0 else model
        config = getattr(self.transformers, f"{kind}Config")(
            hidden_size=dim,
            num_attention_heads=1,
            image_size=math.isqrt(rows - class_tokens),
            patch_size=1,
        )
        embeddings = getattr(self.code[name], f"{kind}Embeddings")(config)
        if class_tokens:
            embeddings.position_embeddings.data = weights[None]
        else:
            embeddings.position_embedding.weight.data = weights
        patches = weights.new_zeros(1, class_tokens + height * width, dim)
        return embeddings.interpolate_pos_encoding(patches, height, width)[0]

    @claims("v1", "v2", "v3", dtype=FLOATS)
    def layout_embedding(
        self,
        bbox: Array,
        x_table: Array,
        y_table: Array,
        h_table: Array,
        w_table: Array,
        *,
        join: str,
        sizes: str,
    ) -> Tensor:
        """Return embeddings of boxes, for words of zeros where they are added."""
        tables = [to_torch(each) for each in (x_table, y_table, h_table, w_table)]
        rows, dim = x_table.shape
        name, more = "LayoutLM", {"hidden_size": dim, "num_attention_heads": 1}
        if join == "concatenate":
            name = "LayoutLMv3" if sizes == "clipped" else "LayoutLMv2"
            more = {"coordinate_size": dim, "shape_size": h_table.shape[1], "hidden_size": 12}
        config = getattr(self.transformers, f"{name}Config")(
            vocab_size=2, max_2d_position_embeddings=rows, **more
        )
        kind = "LayoutLMv3TextEmbeddings" if name == "LayoutLMv3" else f"{name}Embeddings"
        module = getattr(self.code[name.lower()], kind)(config).to(tables[0].dtype).eval()
        for letter, table in zip("xyhw", tables, strict=True):
            getattr(module, f"{letter}_position_embeddings").weight.data = table
        boxes = to_torch(bbox)[None]
        if name == "LayoutLMv2":
            return module._calc_spatial_position_embeddings(boxes)[0]
        if name == "LayoutLMv3":
            return module.calculate_spatial_position_embeddings(boxes)[0]
        for others in (module.position_embeddings, module.token_type_embeddings):
            others.weight.data.zero_()
        seen: list[Tensor] = []
        module.LayerNorm.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        module(bbox=boxes, inputs_embeds=tables[0].new_zeros(1, len(bbox), dim))
        return seen[0][0]

    @claims("perceiver", "bare", "sine-only", dtype=FLOATS)
    def perceiver_fourier(
        self,
        x: Array,
        max_resolution: Array,
        num_bands: int,
        *,
        position: str,
        waves: str,
        **_: str,
    ) -> Tensor:
        """Apply ``PerceiverFourierPositionEncoding`` to given positions.

        They are in one batch or several.
        """
        module = self.code["perceiver"].PerceiverFourierPositionEncoding(
            num_bands,
            max_resolution.tolist(),
            concat_pos=position == "first",
            sine_only=waves == "sines",
        )
        points = to_torch(x)
        batches = points.reshape(-1, *points.shape[-2:])
        encoded = module(
            max_resolution.tolist(), len(batches), points.device, points.dtype, pos=batches
        )
        whole = encoded.shape[:-1].numel() == points.shape[:-1].numel()
        return encoded.reshape(*points.shape[:-1], -1) if whole else encoded

    @claims("ends", dtype="float32")
    def perceiver_positions(self, index_dims: Array, *, dtype: str) -> Tensor:
        """Return the positions that Perceiver's encoding makes where none are given."""
        make = self.code["perceiver"]._check_or_build_spatial_positions
        return make(None, index_dims.tolist(), 1)[0]
