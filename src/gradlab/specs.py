"""What one example of some data is, known before there is a model: a model's builder says which of these it takes.

As text, a spec says what the examples are: `str(Table(13))` is "tables of 13 columns".
"""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from gradlab.wording import counted

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Spec:
    """What one example is; by itself it says nothing."""

    kind: ClassVar[str] = "anything"
    """What examples of this kind are called."""

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class Array(Spec):
    """Numbers of any shape."""

    kind = "arrays of numbers"

    shape: Shape

    @staticmethod
    def of(shape: Shape) -> "Array":
        """The kind of array that has this shape: a row of a table, a series, a picture, or numbers on more axes.

        >>> print(*map(Array.of, [(13,), (50, 2), (3, 32, 32), (2, 3, 4, 5)]), sep="\\n")
        tables of 13 columns
        series of 50 steps with 2 numbers at each
        pictures of 3×32×32 pixels
        arrays of 2×3×4×5 numbers
        """
        kinds: dict[int, Any] = {1: Table, 2: Series, 3: Picture}
        array: Array = kinds[len(shape)](*shape) if len(shape) in kinds else Array(shape)
        return array

    def __str__(self) -> str:
        return f"arrays of {_by(self.shape)} numbers"


@dataclass(frozen=True)
class Table(Array):
    """A row of a table: one number for each of its features.

    The last of them may be the numbers of categories, each below the size in `embedded`; `build_model` puts learned
    vectors in their place, so that a model need not know of them.
    """

    kind = "tables"

    shape: Shape = field(init=False, repr=False)
    features: int
    embedded: Shape = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (self.features,))

    def __str__(self) -> str:
        return f"tables of {counted(self.features, 'column')}"


@dataclass(frozen=True)
class Picture(Array):
    """A picture: a grid of pixels for each channel."""

    kind = "pictures"

    shape: Shape = field(init=False, repr=False)
    channels: int
    height: int
    width: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (self.channels, self.height, self.width))

    def __str__(self) -> str:
        return f"pictures of {_by(self.shape)} pixels"


@dataclass(frozen=True)
class Series(Array):
    """Steps in time, with as many numbers at each."""

    kind = "series"

    shape: Shape = field(init=False, repr=False)
    length: int
    features: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", (self.length, self.features))

    def __str__(self) -> str:
        return f"series of {counted(self.length, 'step')} with {counted(self.features, 'number')} at each"


@dataclass(frozen=True)
class Tokens(Spec):
    """A text as token numbers: at most `context` of them, each one of `vocabulary`."""

    kind = "texts"

    context: int
    vocabulary: int

    def __str__(self) -> str:
        return f"texts of up to {counted(self.context, 'token')} of a vocabulary of {self.vocabulary:,}"


@dataclass(frozen=True)
class Pair(Spec):
    """A source and the target that belongs to it, such as a sentence and its translation.

    Where both are texts, their vocabulary may be `shared`: a token is then the same in both.
    """

    kind = "pairs"

    source: Spec
    target: Spec
    shared: bool = False

    def __str__(self) -> str:
        return f"pairs: {self.source}, with {self.target}"


@dataclass(frozen=True)
class Graph(Spec):
    """A graph: features of each node and, where there are some, of each edge.

    What is asked is of a `level`: of nodes, of edges (pairs of nodes), or of whole graphs.
    """

    kind = "graphs"

    node_features: int
    edge_features: int = 0
    level: str = "node"

    def __str__(self) -> str:
        edges = f" and {counted(self.edge_features, 'feature')} of each edge" if self.edge_features else ""
        return f"graphs with {counted(self.node_features, 'feature')} of each node{edges}"


@dataclass(frozen=True)
class Discrete(Spec):
    """One of a few things, by its number from 0: the state of a small environment, or an action in one."""

    kind = "numbers of states"

    count: int

    def __str__(self) -> str:
        return f"numbers of {counted(self.count, 'state')}"


@dataclass(frozen=True)
class Box(Spec):
    """Numbers within bounds, which is what a continuous action is."""

    kind = "numbers within bounds"

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __str__(self) -> str:
        return f"{counted(len(self.low), 'number')} within bounds"


@dataclass(frozen=True)
class Environment(Spec):
    """An environment to act in: at each step it is observed, and an action is taken."""

    kind = "environments"

    observation: Spec
    actions: Discrete | Box

    def __str__(self) -> str:
        discrete = isinstance(self.actions, Discrete)
        actions = counted(self.actions.count, "action") if discrete else f"actions of {self.actions}"  # type: ignore[union-attr]
        if isinstance(self.observation, Discrete):
            return f"environments with {actions} and {counted(self.observation.count, 'state')}"
        if isinstance(self.observation, Table):
            return f"environments with {actions} and observations of {counted(self.observation.features, 'number')}"
        return f"environments with {actions} and observations that are {self.observation}"


def plain(spec: Spec) -> dict[str, Any]:
    """As JSON holds it.

    >>> read(plain(Pair(Tokens(8, 99), Picture(3, 4, 4))))
    Pair(source=Tokens(context=8, vocabulary=99), target=Picture(channels=3, height=4, width=4), shared=False)
    """
    values = {f.name: getattr(spec, f.name) for f in fields(spec) if f.init}
    return {"kind": type(spec).__name__, **{k: plain(v) if isinstance(v, Spec) else v for k, v in values.items()}}


def read(described: dict[str, Any]) -> Spec:
    """What `plain` wrote."""
    every = (Spec, Array, Table, Picture, Series, Tokens, Pair, Graph, Discrete, Box, Environment)
    kinds: dict[str, Any] = {kind.__name__: kind for kind in every}
    values = {k: _read_value(v) for k, v in described.items() if k != "kind"}
    spec: Spec = kinds[described["kind"]](**values)
    return spec


def _read_value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return read(value) if isinstance(value, dict) else value


def _by(shape: Shape) -> str:
    return "×".join(map(str, shape))
