"""What people write in PyTorch, of the schemes that are used most: right, and wrong by one mistake.

A wrong one changes one step of a right one. Words that a right diagnosis may say were written with
it, before the kit was asked.
"""

import torch

from posenc_lab.field.people import biases, cached, positions, rope, scaled, sections

MODULES = (rope, cached, scaled, biases, sections, positions)  # importing them fills the list

torch.set_num_threads(1)

__all__ = ["MODULES"]
