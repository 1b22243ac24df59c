"""The decoder that all schemes share."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from posenc_lab.length.positions import HEAD_DIM, HEADS, WIDTH, Position, Scheme
from posenc_lab.length.tasks import SYMBOLS

LAYERS = 2


class Layer(nn.Module):
    """Attention and an MLP with one hidden layer, each with LayerNorm and a residual connection."""

    def __init__(self, position: Position) -> None:
        super().__init__()
        self.position = position
        self.before_attention = nn.LayerNorm(WIDTH)
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.before_network = nn.LayerNorm(WIDTH)
        self.first = nn.Linear(WIDTH, 4 * WIDTH)
        self.second = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        projected = self.queries_keys_values(self.before_attention(x))
        q, k, v = projected.view(batch, length, 3, HEADS, HEAD_DIM).permute(2, 0, 3, 1, 4)
        weights = (self.position.logits(q, k) + mask).softmax(dim=-1)
        x = x + self.output((weights @ v).transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.second(functional.gelu(self.first(self.before_network(x))))


class Decoder(nn.Module):
    """A decoder from tokens, [batch, length], to logits of symbols, [batch, length, SYMBOLS]."""

    def __init__(self, scheme: Scheme) -> None:
        super().__init__()
        # Positions are initialized last, so that a seed sets all else alike in all schemes.
        self.tokens = nn.Embedding(SYMBOLS + 1, WIDTH)
        self.layers = nn.ModuleList(Layer(Position()) for _ in range(LAYERS))
        self.normalized = nn.LayerNorm(WIDTH)
        self.answers = nn.Linear(WIDTH, SYMBOLS)
        for layer, position in zip(self.layers, scheme.parts(LAYERS), strict=True):
            layer.position = position

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        mask = torch.full((length, length), -torch.inf).triu(1)
        x = self.tokens(tokens) + self.layers[0].position.embedding(length)
        for layer in self.layers:
            x = layer(x, mask)
        return self.answers(self.normalized(x))
