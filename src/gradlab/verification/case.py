"""One random case of a check: sizes, numbers and the block itself, all drawn under a name, so that they can be shown.

Hypothesis draws; what it draws first is the simplest. When a case fails, it looks for the smallest one that still does.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from gradlab.verification.calls import called_like, counts_keys, one_hot, signature_of, steps_first
from gradlab.verification.conditions import SIZES_OF_BATCHES
from gradlab.verification.parameters import Shapes, take
from gradlab.verification.search import Choices
from gradlab.verification.subject import CannotBuild, Incomparable, Subject, find_subject

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject

T = TypeVar("T")
Sizes = list[int]

WEIGHT = "its "  # before the name of a parameter, among what was drawn
DIGITS = (0, 1, 15)  # decimals of the numbers drawn: whole ones make the smallest example readable


class Case:
    """Draws what a check needs. A value that the user has fixed for the block is taken instead of being drawn.

    With `room`, whole numbers are at most so much larger than their least.
    """

    def __init__(self, data: "DataObject", subject: Subject, room: int | None = None):
        self.subject, self.place = subject, subject.place
        self.room = room
        self.drawn: dict[str, Any] = {}
        self._settings: Mapping[str, Any] = {}
        self._leaves: dict[nn.Module, dict[str, nn.Parameter]] = {}
        self.counts_keys = False
        self._choices = Choices(data)
        self._digits = self._choices.option(DIGITS)
        self._seed = self._choices.integer(0, 2**16)

    # Sizes and choices

    def integer(self, name: str, low: int, high: int, *, multiple_of: int = 1) -> int:
        """A whole number from low to high, both included; small ones are simpler."""
        least, most = -(-low // multiple_of), high // multiple_of
        most = most if self.room is None else min(most, least + self.room)
        return self._draw(name, lambda: self._choices.integer(least, most) * multiple_of)

    def choice(self, name: str, options: Sequence[T]) -> T:
        """One of the options, of which the first is the simplest."""
        return self._draw(name, lambda: self._choices.option(options))

    def sizes(self, high: int = 4, axes: tuple[int, int] = (1, 3), name: str = "size", count: str = "axes") -> Sizes:
        """The sizes of some axes, each at most so large."""
        return [self.integer(f"{name} {axis}", 1, high) for axis in range(self.integer(count, *axes))]

    def flag(self, name: str) -> bool:
        return self.choice(name, (False, True))

    def real(self, name: str, low: float, high: float) -> float:
        """A number from low to high, rounded to hundredths."""
        return self._draw(name, lambda: self._choices.integer(round(100 * low), round(100 * high)) / 100)

    def _draw(self, name: str, draw: Callable[[], T]) -> T:
        fixed = self.subject.drawn_as
        value: T = fixed[name] if name in fixed else draw()
        if self.subject.condition.empty and name in SIZES_OF_BATCHES:
            value = 0  # type: ignore[assignment]
        self.drawn[name] = value
        return value

    # Tensors

    def tensor(self, name: str, *shape: int, away_from: Sequence[float] = (), scale: float = 1.0) -> Tensor:
        """Normal numbers that want a gradient, none of them within 0.01 of the kinks in `away_from`."""
        values = self._normal(name, shape) * scale
        for kink in away_from:
            near = (values - kink).abs() < 0.01
            values = torch.where(near, kink + 0.5, values)
        if numbers := self.subject.condition.numbers:
            generator = self.generator(f"{name}, which are special")
            special = torch.tensor(numbers, dtype=values.dtype)[torch.randint(len(numbers), shape, generator=generator)]
            values = torch.where(torch.rand(shape, generator=generator) < 0.3, special, values)
        return self._leaf(name, values)

    def distinct(self, name: str, *shape: int) -> Tensor:
        """Numbers of which no two are closer than 0.1: without ties, where a largest one is looked for."""
        count = torch.Size(shape).numel()
        ranks = torch.randperm(count, generator=self.generator(name), device="cpu").to(torch.float64)
        return self._leaf(name, ((ranks - count // 2) * 0.1).reshape(shape))

    def positive(self, name: str, *shape: int, low: float = 0.1, high: float = 2.0) -> Tensor:
        """Numbers spread evenly from low to high."""
        drawn = torch.rand(shape, generator=self.generator(name), dtype=torch.float64, device="cpu")
        values = low + (high - low) * drawn
        rounded = values.round(decimals=self._digits).clamp(low, high)  # of whole ones, those below `low` are `low`
        return self._leaf(name, rounded)

    def distribution(self, name: str, *shape: int) -> Tensor:
        """Probabilities, none of them 0, that sum to 1 over the last axis."""
        return self._leaf(name, self._normal(name, shape).softmax(-1))

    def indices(self, name: str, *shape: int, below: int) -> Tensor:
        return self._keep(name, torch.randint(below, shape, generator=self.generator(name), device="cpu"))

    def mask(self, name: str, *shape: int) -> Tensor:
        """True and false at random; each row of the last axis has a true entry somewhere.

        For a user's module that takes lengths, the last columns of each example are false.
        """
        # Large scores may be beyond the -10⁶ that others put in the place of hidden ones.
        share = 0.7 if all(abs(number) <= 1 for number in self.subject.condition.numbers) else 1.0
        if self.counts_keys:
            axes = (*shape[:-2], 1, 1)[-len(shape) :]
            lengths = torch.randint(1, shape[-1] + 1, axes, generator=self.generator(name), device="cpu")
            lengths = lengths if share < 1 else torch.full_like(lengths, shape[-1])
            return self._keep(name, (torch.arange(shape[-1], device="cpu") < lengths).expand(shape).clone())
        mask = torch.rand(shape, generator=self.generator(name), device="cpu") < share
        mask[..., 0] |= ~mask.any(-1)
        return self._keep(name, mask)

    def permutation(self, name: str, length: int) -> Tensor:
        return self._keep(name, torch.randperm(length, generator=self.generator(name), device="cpu"))

    def generator(self, name: str) -> torch.Generator:
        """A source of random numbers of this case and name."""
        return torch.Generator("cpu").manual_seed(zlib.crc32(f"{name} {self._seed}".encode()))  # torch looks at 32 bits

    @contextmanager
    def seeded(self) -> Iterator[None]:
        """Whatever is drawn from torch's own generator inside of this is that of the case."""
        with torch.random.fork_rng(devices=()):
            _seed_torch(self.generator("torch's own").initial_seed(), self.place.device)
            yield

    def _normal(self, name: str, shape: tuple[int, ...]) -> Tensor:
        values = torch.randn(shape, generator=self.generator(name), dtype=torch.float64, device="cpu")
        return values.round(decimals=self._digits) + 0.0  # no -0, which reads oddly in an example

    def _leaf(self, name: str, values: Tensor) -> Tensor:
        return self._keep(name, values.to(self.place.dtype)).requires_grad_()

    def _keep(self, name: str, value: Tensor) -> Tensor:
        value = value.to(self.place.device)
        if self.subject.condition.strided and value.ndim:
            value = torch.stack([value, value], -1)[..., 0]
        self.drawn[name] = value
        return value

    @property
    def length(self) -> int:
        """Of the longest sum: the largest whole number that was drawn, or the longest axis of a tensor."""
        drawn = self.drawn.values()
        sizes = [size for value in drawn for size in (value.shape if isinstance(value, Tensor) else (value,))]
        return max((size for size in sizes if isinstance(size, int)), default=1)

    # The block

    def build(self, **settings: Any) -> Any:
        """The block, here, with random parameters: a fresh one could hide a mistake by a gain of 1, a bias of 0."""
        for name in settings.keys() & self.subject.drawn_as.keys():
            needed, fixed = settings[name], self.subject.drawn_as[name]
            if fixed is not None and needed != fixed:  # None is whatever the block makes of it
                raise Incomparable(f"it is about {name}={needed}, and {name}={fixed} is fixed")
            option = callable(needed) or (needed is not None and not isinstance(find_subject(self.subject.name), type))
            if fixed is None and option and name in self.subject.assumed:
                raise Incomparable(f"it takes no {name}")
        with torch.random.fork_rng(devices=()), torch.device("cpu"):
            _seed_torch(self._seed, "cpu")
            block = self.subject.build(settings)
        self._settings = settings
        if not self.subject.is_ours:
            self.counts_keys = self.subject.foreign and counts_keys(block)
            block = self._as_ours_is_called(block)
        if isinstance(block, nn.Module):
            block.forward = self.subject.condition.of(block, block.forward)
        if isinstance(block, nn.Module):
            block.to(self.place.device, self.place.dtype)
            if not self.subject.keeps_weights:
                with torch.no_grad():
                    learned = [(name, p) for name, p in block.named_parameters() if p.requires_grad]
                    for name, parameter in learned:  # what is not learned is a table
                        parameter.copy_(0.7 * self._normal(name, tuple(parameter.shape)))
            if self.subject.drops:
                block.eval()  # what is compared is what it computes, and not what it drops
            self.drawn |= {f"{WEIGHT}{name}": value.detach().clone() for name, value in block.named_parameters()}
        return block

    def _as_ours_is_called(self, block: Any) -> Any:
        """A user's module or function, which takes the calls of a check as far as its signature has words for them."""
        ours = find_subject(self.subject.name)
        if not isinstance(ours, type):
            return called_like(
                signature_of(ours), one_hot(block) if self.subject.one_hot else block, self.subject.answered
            )
        if isinstance(block, nn.Module):
            subject = self.subject
            forward = block.forward if subject.batch_first else steps_first(block.forward)
            block.forward = called_like(signature_of(ours), forward, subject.answered, subject.mask, subject.axes)
        return block

    def weights(self, block: nn.Module, *names: str) -> dict[str, nn.Parameter]:
        """The parameters of these names, in this order. A user's module without one of them cannot be compared."""
        own = dict(block.named_parameters())
        if self.subject.foreign and names:
            try:
                own |= self._taken(block)
            except (Incomparable, CannotBuild):
                if any(name not in own for name in names):
                    raise
        own |= {name: self._no_bias(name, own) for name in names if name not in own and name in self._left_out()}
        if missing := [name for name in names if name not in own]:
            raise Incomparable(f"it has no parameter {', '.join(missing)}; its own are {', '.join(own) or 'none'}")
        return {name: own[name] for name in names}

    def _left_out(self) -> Shapes:
        """What a block with `bias=False`, as it is fixed, has not: it is 0, for a check that asks for it."""
        if self.subject.drawn_as.get("bias", True) is True or "bias" not in self.subject.ours:
            return {}
        own = self.subject.shapes(self._settings)
        whole = self.subject.shapes({**self._settings, "bias": True})
        return {name: shape for name, shape in whole.items() if name not in own}

    def _no_bias(self, name: str, own: Mapping[str, nn.Parameter]) -> nn.Parameter:
        zeros = next(iter(own.values())).new_zeros(self._left_out()[name])
        return nn.Parameter(zeros, requires_grad=False)

    def all_weights(self, block: nn.Module) -> dict[str, nn.Parameter]:
        return self.weights(block, *self.parameter_names(block))

    def parameter_names(self, block: nn.Module) -> list[str]:
        """Those that our own block would have."""
        return [*self.subject.shapes(self._settings)] if self.subject.foreign else [*dict(block.named_parameters())]

    def _taken(self, block: nn.Module) -> dict[str, nn.Parameter]:
        """The user's parameters by the names of ours, once for each block."""
        if block not in self._leaves:
            shapes = self.subject.shapes(self._settings)
            sources = {name: s for name, s in self.subject.sources(self._settings).items() if name in shapes}
            self._leaves[block] = take(block, sources, shapes)
        return self._leaves[block]

    def weight(self, block: nn.Module, name: str = "weight") -> nn.Parameter:
        return self.weights(block, name)[name]

    def set(self, block: nn.Module, **values: Any) -> None:
        """Give parameters other values, by their names."""
        with torch.no_grad():
            for name, parameter in self.weights(block, *values).items():
                if name in self._left_out():
                    raise Incomparable(f"it has no parameter {name}")
                parameter.copy_(torch.as_tensor(values[name]))


def _seed_torch(seed: int, device: str) -> None:
    """`torch.manual_seed` looks at every device, which takes time."""
    if device == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
