"""Small right and wrong implementations, written from the definitions, to test the kit.

None of them calls ``posenc``: the kit's reference must not be what the kit is tested with.
"""
