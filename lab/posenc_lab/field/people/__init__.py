"""PyTorch code as people write it, for the most used schemes: right, and with one mistake each.

Wrong code changes one step of right code. The words of a right diagnosis were written with it,
before the kit judged it.
"""

import torch

from posenc_lab.field.people import biases, cached, positions, rope, scaled, sections

MODULES = (rope, cached, scaled, biases, sections, positions)  # importing them fills the list

torch.set_num_threads(1)

__all__ = ["MODULES"]
