"""Counts what a GPU would have to do, on a machine that has none."""

from collections import Counter
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

META = torch.device("meta")
_READ = torch.ops.aten._local_scalar_dense.default
_MADE = {torch.tensor, torch.as_tensor, Tensor.new_tensor}  # of numbers of the host, past the dispatcher
_COPIED = {torch.ops.aten._to_copy.default: 0, torch.ops.aten.copy_.default: 1}  # by the place of what is copied
# The host cannot go on before their value, or the size of their result, is known.
_WAITING = {"nonzero", "masked_select", "equal", "unique_dim", "_unique2", "unique_consecutive"}
_NO_KERNEL = {"empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "detach", "lift_fresh"}


def tensors(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]


def nbytes(tensor):
    return tensor.numel() * tensor.element_size()


@dataclass
class Counts:
    calls: Counter = field(default_factory=Counter)
    """How often each operation was called."""
    largest: int = 0
    """Bytes of the largest result."""
    waits: list[str] = field(default_factory=list)
    """What the host waited for."""

    @property
    def launches(self):
        """Calls that compute: not those that only make room, or look at memory in another way."""
        return sum(n for op, n in self.calls.items() if not (op.is_view or _name(op) in _NO_KERNEL))

    @property
    def reads(self):
        """Calls that the host would have to wait for, were the tensors on a device."""
        return sum(n for op, n in self.calls.items() if op is _READ or _name(op) in _WAITING)


def _name(op):
    return op.__name__.split(".")[0]


class Operations(TorchDispatchMode):
    """Counts operations as they are dispatched, forward and backward."""

    def __init__(self):
        super().__init__()
        self.counts = Counts()

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with self:  # in inference mode operations come here before they are taken apart
            result = op.decompose(*args, **kwargs)
        if result is NotImplemented:
            result = self.call(op, args, kwargs)
            if op.namespace != "prim":
                self.counts.calls[op] += 1
            self.counts.largest = max([self.counts.largest, *map(nbytes, tensors(result))])
        return result

    def call(self, op, args, kwargs):
        return op(*args, **kwargs)


class Device(Operations):
    """The device meta in the place of a GPU: nothing is computed there, and all that the host waits for is noted.

    Who reads numbers gets some all the same, so that a whole training goes on: 0, and for yes or no what `says`.
    """

    def __init__(self, *, says=True):
        super().__init__()
        self.says, self.parts = says, []
        self.made, self.depth = _Made(self), 0

    def __enter__(self):
        self.depth += 1
        if self.depth == 1:
            self.made.__enter__()
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        self.depth -= 1
        if not self.depth:
            self.made.__exit__(*error)

    def part(self):
        """What has been counted since the last one is a part."""
        self.parts.append(self.counts)
        self.counts = Counts()

    def call(self, op, args, kwargs):
        if op in _COPIED:
            return self._copy(op, args, kwargs)
        if any(tensor.is_meta for tensor in tensors((args, kwargs))):
            if op is _READ:
                self.counts.waits.append("a number is read")
                return self.says if args[0].dtype == torch.bool else 0
            if _name(op) in _WAITING:
                self.counts.waits.append(str(op))
            if _name(op).startswith("_fused_"):  # updates of which not all have a form for meta; they give back nothing
                return None
        return op(*args, **kwargs)

    def _copy(self, op, args, kwargs):
        origin, into = args[_COPIED[op]], op is torch.ops.aten.copy_.default
        target = args[0].device if into else torch.device(kwargs.get("device") or origin.device)
        blocking = not (args[2] if into and len(args) > 2 else kwargs.get("non_blocking"))
        down = origin.is_meta and target.type != "meta"
        if down or (blocking and target.type == "meta" and not origin.is_meta):
            self.counts.waits.append(f"a copy from {origin.device} to {target}")
        if not down:
            return op(*args, **kwargs)
        dtype = kwargs.get("dtype") or origin.dtype
        read = torch.full(origin.shape, self.says and dtype == torch.bool, dtype=dtype, device=target)
        return args[0].copy_(read) if into else read


class _Made(TorchFunctionMode):
    """Notes tensors that are made on the device of numbers of the host: one that fills memory would not wait."""

    def __init__(self, device):
        super().__init__()
        self.device = device

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        given = args[-1] if function is Tensor.new_tensor else next(iter(args), None)
        if function in _MADE and result.is_meta and not getattr(given, "is_meta", False):
            self.device.counts.waits.append("a tensor is made of numbers of the host")
        return result
