"""Small right and wrong implementations, written from the definitions, to test the kit.

None of them calls ``posenc``: the kit must not be tested with its own reference.
"""
