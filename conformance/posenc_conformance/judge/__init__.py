"""Judging a result: the case, its truth, the bound of each error, and the one who is asked."""
