"""Mistakes that some goldens alone of their group catch and that no wrong miniature makes.

``common`` has those that any call may have. A scheme may have a module, named as in Python; its
``MISTAKES`` have a function from a case to the wrong result in float64, by the golden's id. Most
schemes need none: a wrong miniature in lab/posenc_lab/miniatures/wrong is better, for the kit must
then reject it as a whole.
"""
