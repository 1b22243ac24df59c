"""Sets of right and wrong code for which the kit was not made: ``people`` and ``kernels``."""
