"""What the kit knows of each scheme: one module per scheme, named as its file in the spec.

It is in the package of the scheme's family, and offers ``KNOWLEDGE``, which maps the name of each
call of the scheme to a ``judge.knowledge.CallKnowledge``: that class says what is needed and what
may be given.
"""
