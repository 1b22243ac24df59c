"""Helpers for adapters of PyTorch libraries: gradients, recorded calls, and hidden logits."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TYPE_CHECKING, Any

from posenc_conformance.judge.arrays import to_torch

if TYPE_CHECKING:
    from torch import Tensor

Method = Callable[..., Any]


def backward(forward: Method) -> Method:
    """Make a method for the backward pass, by autograd, from a method that is linear in x.

    It has the claims of ``forward``: ``rope_vjp = backward(rope)`` is all that is needed.
    ``forward`` is called with a tensor for x, which ``to_torch`` leaves as it is.
    """

    @wraps(forward)
    def method(self: object, gradient: Any, *arguments: Any, **parameters: Any) -> Tensor:
        return vjp(lambda x: forward(self, x, *arguments, **parameters), gradient)

    return method


def vjp(function: Callable[[Tensor], Tensor], gradient: Any) -> Tensor:
    """Compute the vector-Jacobian product of a linear function, by autograd.

    Parameters
    ----------
    function : callable
        Takes a tensor that requires gradients.
    gradient : array or tensor
        Gradient with respect to the result, which has the shape of the input.
    """
    import torch

    cotangent = to_torch(gradient)
    at = torch.zeros_like(cotangent, requires_grad=True)
    (result,) = torch.autograd.grad(function(at), at, cotangent)
    return result


WARM_UPS = 3
"""Calls before the recorded one on a GPU, in which libraries choose their kernels."""


def captured(function: Method) -> Method:
    """Record the first call of each shape, and replay it with the contents of later ones.

    Engines decode this way: on a GPU the record is a CUDA graph; elsewhere it is the operators of
    the first call, as in an exported program. Python numbers that the function reads, or keeps in
    an object, stay in the record as in the first call: for example an offset that should be read
    each time. So the kit gets the results that a user of the record gets.

    Positional arguments that are arrays or tensors are contents. All others belong to the record:
    new ones cause a new record.

    Parameters
    ----------
    function : callable
        Takes tensors, and returns one.

    Returns
    -------
    callable
        Takes arrays or tensors in their place.
    """
    records: dict[Hashable, Method] = {}

    @wraps(function)
    def replay(*arguments: Any, **keywords: Any) -> Tensor:
        given = [to_torch(each) if hasattr(each, "shape") else each for each in arguments]
        places = [place for place, each in enumerate(given) if hasattr(each, "shape")]
        contents = [given[place] for place in places]
        fixed = [each for each in given if not hasattr(each, "shape")]
        form = tuple((each.shape, each.stride(), each.dtype, each.device) for each in contents)
        key = (form, tuple(places), tuple(fixed), tuple(sorted(keywords.items())))

        def call(*tensors: Tensor) -> Tensor:
            every = list(given)
            for place, tensor in zip(places, tensors, strict=True):
                every[place] = tensor
            result: Tensor = function(*every, **keywords)
            return result

        if key not in records:
            on_gpu = any(each.is_cuda for each in contents)
            records[key] = _graph(call, contents) if on_gpu else _operators(call, contents)
        result: Tensor = records[key](*contents)
        return result

    return replay


def _operators(call: Method, contents: list[Tensor]) -> Method:
    """Record the operators of a call."""
    from torch.fx.experimental.proxy_tensor import make_fx

    program: Method = make_fx(call)(*contents)
    return program


def _graph(call: Method, contents: list[Tensor]) -> Method:
    """Record a call as a CUDA graph, and return a function that replays it with new contents."""
    import torch

    static = [each.clone() for each in contents]
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            call(*static)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call(*static)

    def replay(*tensors: Tensor) -> Tensor:
        for kept, new in zip(static, tensors, strict=True):
            kept.copy_(new)
        graph.replay()
        copy: Tensor = result.clone()
        return copy

    return replay


def logits(call: Callable[[], Any]) -> Tensor:
    """Make a call and return the input of the first softmax inside it.

    Logits are seldom returned, but all of them pass through a softmax. If the code converts them to
    float32 before, the converted ones are returned; converting them back loses nothing.

    Raises
    ------
    RuntimeError
        If no softmax is visible inside the call.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[Tensor] = []
    softmax = (torch.ops.aten._softmax, torch.ops.aten._safe_softmax)

    class Watch(TorchDispatchMode):  # type: ignore[misc]  # torch is skipped: its classes are Any
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if function.overloadpacket in softmax:
                seen.append(args[0].clone())
            return function(*args, **(kwargs or {}))

    with torch.no_grad(), Watch():
        call()
    if not seen:
        raise RuntimeError(
            "no softmax was computed that can be watched: attention in one fused operation hides "
            "it, so choose the implementation in single steps, often called eager or math"
        )
    return seen[0]


def at_the_end(queries: Tensor, length: int) -> Tensor:
    """Pad queries of shape ``[..., q_len, dim]`` with zeros in front, to ``length`` rows.

    For attention that takes a query for every position of the sequence.
    """
    import torch

    return torch.nn.functional.pad(queries, (0, 0, length - queries.shape[-2], 0))


def import_torchvision() -> None:
    """Import torchvision, even if its compiled part cannot be loaded.

    PyPI's torchvision is compiled for GPUs. With a torch for CPUs its compiled part does not load,
    and the import fails at the first missing operator. A library that only computes positions uses
    none of them.
    """
    import torch

    try:
        import torchvision  # noqa: F401  # only to see whether it can be
    except RuntimeError:
        boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define("torchvision::nms", boxes)
        torch.library.define("torchvision::qnms", boxes)
