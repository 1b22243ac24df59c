"""Judging a result: the case, its truth, the bound of each error, and the subject under test."""
