"""Benches of code that the kit was not made for, right and wrong: ``people`` and ``kernels``."""
