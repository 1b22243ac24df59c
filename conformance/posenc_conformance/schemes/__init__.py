"""What the kit knows of each scheme: one module per scheme, named as its file in the spec.

A module offers, for each call of its scheme,

``ERROR_TERMS[call](case)``
    scale and angle of each element, for the error model;
``ARGUMENTS[call](trial)``
    arguments of a small, valid call, chosen by the trial;
``SWEEPS[call](parameters, largest)``
    arguments that reach from position 0 to the largest one, or None;
``SIZES[call](case)``
    changes of a case's arguments that take it through the sizes at which implementations branch;

one function per invariant in ``INVARIANTS[call]`` and one per deviation in ``DEVIATIONS[call]``,
each named as in the spec. Where a call is not as its kind usually is, also

``SHAPES[call](case)``
    shape of the result;
``IDENTIFY[call](array)``
    arguments of calls that would give an array of this shape, each with the part of the array that
    they give, for ``posenc identify``;
``TURNS[call](case, output)``
    where its pairs are, if it turns pairs: what they do is read then, see ``diagnose.turns``;
``BATCHED[call]``
    names of the arrays that take any leading axes, all the same ones;
``TIED[call]``
    arrays with an axis, counted from the last, whose length follows from values of other arguments,
    or must stay small;
``MANY[call](case)``
    changes after which the result has more numbers than a grid has blocks, where lengths alone do
    not tell how to come by them;
``LARGEST[call]``
    how large the values of an array may be, by its name, where plain code bears no large ones.
"""
