"""``posenc compare``: whether a converted checkpoint means what the original one means."""
