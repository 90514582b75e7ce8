"""The stream of methods that learn from all that was done before: a memory of steps, from which batches are drawn."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gradlab.data import Acting, Batch, Stream
from gradlab.errors import GradlabError
from gradlab.specs import Box
from gradlab.tasks.playing.play import Ongoing, updates_of

Act = Callable[[Any, Tensor, float], Tensor]
"""From (model, observations, the share of all steps that are done) to actions."""


class Row(NamedTuple):
    """A step as it is remembered: the columns of a memory, in this order."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    discount: float


class Memory:
    """The latest steps, in a ring: what was observed, done, earned, and what came of it."""

    def __init__(self, size: int, observation: Tensor, action: Tensor):
        self.size, self.written = size, 0
        self.columns = {
            "observations": observation.new_zeros(size, *observation.shape),
            "actions": action.new_zeros(size, *action.shape),
            "rewards": torch.zeros(size),
            "next_observations": observation.new_zeros(size, *observation.shape),
            "discounts": torch.zeros(size),
        }
        self.priorities = torch.zeros(size)

    def __len__(self) -> int:
        return min(self.written, self.size)

    def add(self, rows: list[Row]) -> None:
        """Columns are written once for all rows: a write for each would take longer than the step itself."""
        self.written += len(rows)
        rows = rows[-self.size :]
        places = np.arange(self.written - len(rows), self.written) % self.size
        for column, values in zip(self.columns.values(), zip(*rows, strict=True), strict=True):
            column.numpy()[places] = values  # of the same memory, since NumPy is faster with so few rows
        self.priorities.numpy()[places] = self.priorities.max().item() or 1.0

    def batch(self, rows: Tensor) -> Batch:
        return {name: column.index_select(0, rows) for name, column in self.columns.items()}


class Replay(Stream):
    """Rounds: `every` steps in the environment, then `updates` batches from the memory.

    A step is remembered with the sum of the next `steps` rewards, and the discount of what comes after them: 0 where
    the episode ended, but not where it was only cut off by a limit of time.
    """

    def __init__(
        self,
        acting: Acting,
        act: Act,
        *,
        discount: float,
        steps: int = 1,
        size: int,
        before: int,
        every: int,
        updates: int,
        priority: float = 0.0,
        correction: float = 0.0,
        measure: Callable[[Any], dict[str, float]] = lambda model: {},
    ):
        """The first `before` steps are random; a `priority` is the power of the error by which steps are drawn.

        `measure` has what else of the model belongs in the log.
        """
        if every % acting.copies:
            raise GradlabError(
                f"task.every={every} steps between updates cannot be divided among data.copies={acting.copies}."
            )
        self.acting, self.act, self.discount, self.n_steps, self.size = acting, act, discount, steps, size
        least = max(before, steps * acting.copies)  # so that there is something to draw
        self.before, self.every, self.updates = -(-least // every) * every, every, updates
        self.priority, self.correction, self.measure = priority, correction, measure
        rounds = updates_of(acting, every, 1) - self.before // every
        if rounds < 1:
            raise GradlabError(f"data.steps={acting.steps:,} ends before task.before={before:,}: nothing is learned.")
        self.steps_per_epoch = rounds * updates
        self.seed, self.memory = 0, None
        self.waiting: list[deque[tuple[Any, Any, float]]] = [deque() for _ in range(acting.copies)]

    memory: Memory | None

    def planned(self, batch_size: int | str, seed: int) -> "Replay":
        if isinstance(batch_size, str):
            raise GradlabError(f"train.batch_size={batch_size}: a memory has no size yet. Set a number, such as 64.")
        self.batch_size, self.seed = batch_size, self.acting.seed_of(seed)
        return self

    def start(self, model: Any) -> None:
        self.model = model
        self.ongoing = Ongoing(self.acting)

    def batches(self, step: int) -> Iterator[Batch]:
        while True:
            done, position = divmod(step, self.updates)
            if step == 0:
                self.ongoing.begin(self.seed)
                self._gather(0, self.before)
            if position == 0:
                self._gather(self.before + done * self.every, self.every)
            yield self._draw(step)
            step += 1

    @torch.no_grad()
    def _gather(self, done: int, count: int) -> None:
        """So many steps in the environment."""
        rows = list[Row]()
        for first in range(0, count, self.acting.copies):
            observed = self.ongoing.observed
            share = (done + first) / self.acting.steps
            actions = self.act(self.model, torch.as_tensor(observed, device=self.device), share).cpu()
            if done < self.before:  # nothing is known yet
                actions = _any(self.acting.spec.actions, len(actions))
            step = self.ongoing.step(self._in_units(actions))
            if self.memory is None:
                self.memory = Memory(self.size, torch.as_tensor(observed)[0], actions[0])
            chosen = actions.numpy()
            for i in range(self.acting.copies):
                rows += self._finished(i, observed[i], chosen[i], step)
        if rows:
            assert self.memory is not None
            self.memory.add(rows)

    def _in_units(self, actions: Tensor) -> Tensor:
        return self.model.in_units(actions) if isinstance(self.acting.spec.actions, Box) else actions  # type: ignore[operator]

    def _finished(self, i: int, observed: Any, action: Any, step: Any) -> Iterator[Row]:
        """Steps of a copy of which the next rewards are known now, or the end of their episode."""
        waiting, over = self.waiting[i], bool(step.ended[i] or step.truncated[i])
        waiting.append((observed.copy(), action, float(step.rewards[i])))
        while waiting and (over or len(waiting) == self.n_steps):
            total = 0.0
            for *_, reward in reversed(waiting):
                total = reward + self.discount * total
            after = 0.0 if step.ended[i] else self.discount ** len(waiting)
            first, chosen, _ = waiting.popleft()
            yield Row(first, chosen, total, np.array(step.final_observations[i]), after)

    def _draw(self, step: int) -> Batch:
        assert self.memory is not None
        memory = self.memory
        if not self.priority:
            return self._sent(memory.batch(torch.randint(len(memory), (self.batch_size,))))
        errors = memory.priorities[: len(memory)].pow(self.priority)
        rows = torch.multinomial(errors, self.batch_size, replacement=True)
        # What is drawn more often counts less, and by the end as if all were drawn alike.
        share = self.correction + (1 - self.correction) * step / self.steps_per_epoch
        weights = (errors[rows] / errors.sum() * len(memory)).pow(-share)
        self.drawn = rows
        return self._sent({**memory.batch(rows), "weights": weights / weights.max(), "rows": rows})

    def _sent(self, batch: Batch) -> Batch:
        return {name: part.to(self.device) for name, part in batch.items()}

    def set_priorities(self, rows: Tensor, errors: Tensor) -> None:
        """How wrong the values of these steps were."""
        assert self.memory is not None
        self.memory.priorities[rows.cpu()] = errors.detach().cpu().abs() + 1e-6

    def figures(self) -> dict[str, float]:
        return {**self.ongoing.figures(), **self.measure(self.model)}

    def snapshot(self) -> dict[str, Any]:
        if self.memory is None:
            return {}
        memory, filled = self.memory, len(self.memory)
        waiting = {
            str(i): {
                "observations": torch.as_tensor(np.stack([row[0] for row in rows])),
                "actions": torch.as_tensor(np.stack([row[1] for row in rows])),
                "rewards": torch.tensor([row[2] for row in rows], dtype=torch.float64),
            }
            for i, rows in enumerate(self.waiting)
            if rows
        }
        return {
            "memory": {name: column[:filled] for name, column in memory.columns.items()},
            "priorities": memory.priorities[:filled],
            "written": memory.written,
            "waiting": waiting,
            "ongoing": self.ongoing.snapshot(),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        if not snapshot:
            return
        columns = snapshot["memory"]
        self.memory = Memory(self.size, columns["observations"][0], columns["actions"][0])
        for name, column in columns.items():
            self.memory.columns[name][: len(column)] = column
        self.memory.priorities[: len(columns["rewards"])] = snapshot["priorities"]
        self.memory.written = snapshot["written"]
        self.ongoing.restore(snapshot["ongoing"], self.seed)
        for i, rows in snapshot["waiting"].items() if self.ongoing.environments.exact else ():
            parts = rows["observations"].numpy(), rows["actions"].numpy(), rows["rewards"].tolist()
            self.waiting[int(i)].extend(zip(*parts, strict=True))


def _any(actions: Any, count: int) -> Tensor:
    """Actions at random, within ±1 where they are numbers."""
    if isinstance(actions, Box):
        return 2 * torch.rand(count, len(actions.low)) - 1
    return torch.randint(actions.count, (count,))
