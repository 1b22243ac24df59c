"""NumPy code after public reports: what was wrong there, and right code beside it.

The code was written from public reports by an author with no part in the kit. The words of a right
diagnosis follow that author's judgement of the kit's texts: the mistake's id where its name was
right, the telling phrase where a description was, and else words of the mistake itself.

Left out is KellerJordan/modded-nanogpt#39, tables of cosines and sines in bfloat16: its maintainers
doubted that it is a mistake, released models compute so, and ``right.tables_in_bfloat16`` is the
same code.
"""

from posenc_lab.field.reports import biases, ids, images, right, rope, scaled, sinusoids

MODULES = (rope, scaled, images, ids, sinusoids, biases, right)  # importing them fills the list

__all__ = ["MODULES"]
