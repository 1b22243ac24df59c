"""Conversions of small checkpoints, right and wrong, that ``posenc compare`` is measured with."""
