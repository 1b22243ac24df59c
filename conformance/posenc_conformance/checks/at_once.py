"""Doing several things at once, which nobody waits for when the run ends."""

from collections.abc import Callable, Sequence
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

Found = TypeVar("Found")


def at_once(actions: Sequence[Callable[[], Found]]) -> list[Found]:
    """Do several things at once and return what they return; raise the first of their exceptions.

    The threads end with the process: those of a pool hold up Ctrl-C, and the end of the process,
    until an engine answers that has hung up.
    """
    returned: dict[int, Found] = {}
    raised: dict[int, BaseException] = {}

    def act(number: int) -> None:
        try:
            returned[number] = actions[number]()
        except BaseException as error:  # it is raised where somebody waits for it
            raised[number] = error

    # With the context of this thread, which says whether arithmetic warns.
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
