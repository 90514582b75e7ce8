"""A grid world: walk from S to G, around walls and pits, over ground that may be slippery."""

from typing import Annotated, Any

import torch

from gradlab.environments.environment import Environments, registry
from gradlab.environments.tabular import TableEnvironments
from gradlab.errors import GradlabError
from gradlab.maths.decisions import DecisionProcess
from gradlab.registry import Count, Fraction

MOVES = {"↑": (-1, 0), "→": (0, 1), "↓": (1, 0), "←": (0, -1)}
GOAL, PIT, STEP = 10.0, -10.0, -1.0
_SIGNS = "SGX#."


class Grid:
    """A map with a character for each cell: S start, G goal, X pit, # wall and . free ground."""

    def __init__(self, rows: str):
        self.rows = tuple(rows.split("/"))
        self.height, self.width = len(self.rows), len(self.rows[0])
        text = "".join(self.rows)
        if {len(row) for row in self.rows} != {self.width} or not self.width:
            raise GradlabError(f"env.map: all rows must have as many cells, separated by /, got {rows!r}.")
        if wrong := sorted(set(text) - set(_SIGNS)):
            raise GradlabError(f"env.map: cells are S, G, X, # and '.', got {wrong[0]!r}.")
        if "S" not in text or "G" not in text:
            raise GradlabError("env.map: a map needs a start S and a goal G.")
        self.cells = [(y, x) for y in range(self.height) for x in range(self.width) if self.rows[y][x] != "#"]
        self.number = {cell: number for number, cell in enumerate(self.cells)}

    def sign(self, cell: tuple[int, int]) -> str:
        return self.rows[cell[0]][cell[1]]

    def moved(self, cell: tuple[int, int], move: tuple[int, int]) -> tuple[int, int]:
        """Where a move leads: nowhere, if a wall or the edge is in its way."""
        after = cell[0] + move[0], cell[1] + move[1]
        return after if after in self.number else cell

    def process(self, slip: float) -> DecisionProcess:
        """With probability `slip` one moves to the left or to the right of where one wanted to go."""
        states, moves = len(self.cells), list(MOVES.values())
        transition = torch.zeros(states, len(moves), states, dtype=torch.float64)
        rewards = torch.zeros_like(transition)
        for number, cell in enumerate(self.cells):
            for action in range(len(moves)):
                if self.sign(cell) in "GX":
                    transition[number, action, number] = 1.0
                    continue
                for turn, probability in ((0, 1 - slip), (1, slip / 2), (-1, slip / 2)):
                    after = self.moved(cell, moves[(action + turn) % len(moves)])
                    transition[number, action, self.number[after]] += probability
                    rewards[number, action, self.number[after]] = {"G": GOAL, "X": PIT}.get(self.sign(after), STEP)
        first = torch.tensor([self.sign(cell) == "S" for cell in self.cells]).double()
        return DecisionProcess(transition, rewards, start=first / first.sum())

    def drawn(self, marks: dict[tuple[int, int], str]) -> str:
        """As text, with some cells marked."""
        return "\n".join(
            " ".join(marks.get((y, x), self.rows[y][x]) for x in range(self.width)) for y in range(self.height)
        )


class GridEnvironments(TableEnvironments):
    """Copies of a grid world, each with one who walks in it."""

    def __init__(self, grid: Grid, num: int, slip: float, limit: int):
        super().__init__(grid.process(slip), num, limit)
        self.grid = grid

    def render(self, copy: int = 0) -> Any:
        """The map, with @ for where one is."""
        return self.grid.drawn({self.grid.cells[int(self._seen[copy])]: "@"})


@registry.register("grid")
def grid(
    num: int,
    *,
    map: Annotated[str, "rows separated by /: S start, G goal, X pit, # wall, . free"] = "....G/.##.X/...../S....",
    slip: Annotated[Fraction, "probability of moving to a side of where one wanted to go"] = 0.1,
    limit: Annotated[Count, "steps after which an episode is cut off"] = 100,
) -> Environments:
    """Walk to the goal, which pays 10, around pits, which cost 10; every step costs 1."""
    return GridEnvironments(Grid(map), num, slip, limit)
