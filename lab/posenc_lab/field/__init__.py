"""Sets of right and wrong code on which the kit was not developed: ``people``, ``kernels``."""
