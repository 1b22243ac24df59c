"""An independent bench: bugs of public threads, and others made up.

The kit was not made for them.
"""

from posenc_lab.field import absolute, own, relative, rotary, scaled
from posenc_lab.field.bug import BUGS, Bug

FAMILIES = (absolute, rotary, scaled, relative, own)  # importing them fills the list

__all__ = ["BUGS", "FAMILIES", "Bug"]
