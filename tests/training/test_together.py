"""What differs where several processes train together; they themselves are started by the tests of the command line."""

import torch
from torch import nn

from gradlab import parallel
from gradlab.training.together import drawn, part_of


def throws(step):
    """Batches of a stream that throws dice by torch's generator."""
    while True:
        yield {"step": step, "thrown": torch.rand(()).item()}
        step += 1


def first(batches, count):
    return [next(batches) for _ in range(count)]


def test_what_a_stream_draws_follows_from_seed_step_and_rank():
    alone = first(drawn(throws(0), 7, 0, 0), 6)
    torch.rand(100)  # whatever else was drawn
    assert first(drawn(throws(4), 7, 4, 0), 2) == alone[4:]
    others = first(drawn(throws(0), 7, 0, 1), 6) + first(drawn(throws(0), 8, 0, 0), 6)
    assert len({batch["thrown"] for batch in [*alone, *others]}) == 18


def test_what_a_step_draws_follows_from_them_too():
    """Also where evaluations or observers have drawn since the last step."""

    def steps(disturbed):
        for _ in zip(range(3), drawn(throws(0), 7, 0, 0), strict=False):
            yield torch.rand(()).item()
            if disturbed:
                torch.rand(5)

    assert list(steps(disturbed=True)) == list(steps(disturbed=False))


def test_a_stream_that_ends_has_ended():
    assert len(list(drawn(iter([{"x": 1}, {"x": 2}]), 0, 0, 0))) == 2


def test_only_gradients_are_shared(monkeypatch):
    class Counting(nn.Module):
        def learn_without_gradients(self, train, batch): ...

    monkeypatch.setattr(parallel, "rank", lambda: 1)
    monkeypatch.setattr(parallel, "count", lambda: 2)
    assert part_of(nn.Linear(1, 1)) == (1, 2)
    assert part_of(Counting()) == (0, 1)
