"""Small implementations written from the definitions, right and wrong ones, to judge the kit by.

None of them calls ``posenc``: what the kit compares with must not be what it is tested with.
"""
