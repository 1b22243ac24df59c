"""Concurrent actions, in threads that do not delay the end of the run."""

from collections.abc import Callable, Sequence
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

Found = TypeVar("Found")


def at_once(actions: Sequence[Callable[[], Found]]) -> list[Found]:
    """Run actions concurrently and return their results; raise the first of their exceptions.

    The threads end with the process: those of a pool would delay Ctrl-C, and the end of the
    process, until an engine that hangs answers.
    """
    returned: dict[int, Found] = {}
    raised: dict[int, BaseException] = {}

    def act(number: int) -> None:
        try:
            returned[number] = actions[number]()
        except BaseException as error:  # raised below, in the waiting thread
            raised[number] = error

    # In copies of this thread's context, which contains NumPy's error state.
    threads = [
        Thread(target=copy_context().run, args=(act, each), daemon=True)
        for each in range(len(actions))
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if raised:
        raise raised[min(raised)]
    return [returned[number] for number in range(len(actions))]
