"""What the kit knows of each scheme: one module per scheme, named as its file in the spec.

A module offers ``KNOWLEDGE``, which maps the name of each call of its scheme to a
``judge.knowledge.CallKnowledge``: that class says what is needed and what may be given.
"""
