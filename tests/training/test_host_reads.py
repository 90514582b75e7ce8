"""The note on values that a step reads back."""

import torch

from gradlab.training.checkup import Checkup, host_reads
from gradlab.training.step_watch import HostWaits, _WaitTimer

WAITS = HostWaits(3, 0.0005, "net.py:12 reads a value back: z.mean().item()")


def test_a_note_says_how_much_of_a_step_is_spent_on_host_reads():
    note = host_reads(WAITS, 0.002)
    assert note.severity == "note"
    assert "3 times, for 0.5 ms of the 2 ms" in note.evidence
    assert "net.py:12" in note.evidence


def test_a_checkpoint_keeps_the_measured_waits():
    before, after = Checkup(), Checkup()
    before.waits = WAITS
    after.restore(before.snapshot())
    assert after.waits == WAITS


def test_only_calls_that_wait_are_timed():
    waits = []
    timer, x = _WaitTimer(waits), torch.ones(3)
    with timer:
        x.sum()
        assert timer.seconds == 0
        torch.nn.functional.relu(x)
        assert timer.seconds == 0

    class Waiting(_WaitTimer):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            def waited(*args, **kwargs):
                waits.append("here")
                return function(*args, **kwargs)

            return super().__torch_function__(waited, types, args, kwargs)

    with Waiting(waits) as slow:
        x.sum()
    assert slow.seconds > 0
