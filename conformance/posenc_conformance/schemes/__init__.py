"""The kit's knowledge about each scheme: one module per scheme, named like its file in the spec.

Each module is in the package of the scheme's family and defines ``KNOWLEDGE``, which maps the name
of each call of the scheme to a ``judge.knowledge.CallKnowledge``, which documents its fields.
"""
