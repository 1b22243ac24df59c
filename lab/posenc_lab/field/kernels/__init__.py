"""Right kernels, and each with one mistake at a time.

Memory and strides, tiles and grids, positions of sequences, ranks, caches, recorded calls, backward
passes. The words of a right diagnosis were written with each, before the kit judged it.
"""

from posenc_lab.field.kernels.backward import BACKWARD
from posenc_lab.field.kernels.batches import BATCHES
from posenc_lab.field.kernels.bench import put
from posenc_lab.field.kernels.biases import BIASES
from posenc_lab.field.kernels.heads import HEADS
from posenc_lab.field.kernels.ids import IDS
from posenc_lab.field.kernels.modules import MODULES
from posenc_lab.field.kernels.rows import ROWS
from posenc_lab.field.kernels.tables import TABLES

FAMILIES = (*ROWS, *BATCHES, *HEADS, *BACKWARD, *TABLES, *BIASES, *IDS, *MODULES)

for _family in FAMILIES:
    put(_family)

__all__ = ["FAMILIES"]
