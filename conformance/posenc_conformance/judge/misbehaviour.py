"""Reasons why a call returned no array that can be judged."""


class Misbehaviour(Exception):
    """The call raised, or returned something that is not the expected array."""


class Refusal(Misbehaviour):
    """The call raised an ordinary exception, as it should for bad input."""


class Escape(Misbehaviour):
    """The call tried to end the check: by sys.exit, pytest.skip and the like."""


class Breakdown(Escape):
    """The call ended its process, or took too much time or memory."""
