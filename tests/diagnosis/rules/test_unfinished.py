"""What has only not ended yet, or still learns, is no fault: the same records, with a course that says so."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from test_every_rule import FLAT, failed, series, training, weight

from gradlab.diagnosis.record import Probed, Record, Root
from gradlab.diagnosis.rules import judge

SLOWLY = [1 - 0.004 * n for n in range(60)]
"""Most of the loss is left, and it falls to the end."""
ENDED = [max(0.85, 1 - 0.02 * n) for n in range(60)]


def slugs(record: Record) -> list[str]:
    found, faults = judge(record)
    assert not faults
    return [f.slug for f in found if f.severity != "note"]


def shrinking(losses: list[float]) -> Record:
    """A decay that takes nearly all of the weights away."""
    record = training(losses, weight(weight=series([3.0 * 0.8**n for n in range(20)])))
    record.optimizers[0].decay = series([2.0] * 20)
    return record


def by_heart(losses: list[float]) -> Record:
    """One batch can be learnt, and there are too few examples to compare."""
    record = training(losses, probed=Probed(by_heart=(1.0, 0.05, 150)))
    record.loss_calls[0].constant_loss = 0.8
    return record


@pytest.mark.parametrize(("make", "slug"), [(shrinking, "weight_decay_too_strong"), (by_heart, "label_misalignment")])
def test_a_loss_that_still_falls_is_no_harm(make: Callable[[list[float]], Record], slug):
    assert slug in slugs(make(ENDED))
    assert slug not in slugs(make(SLOWLY))


def test_a_gradient_that_arrived_at_first_has_not_vanished_on_its_way():
    def vanishing(at_first: float) -> Record:
        first = weight("net.0.weight", gradient=series([at_first] * 5 + [1e-7] * 20))
        return failed(first, *(weight(f"net.{i}.weight", gradient=series([10.0 ** (i - 4)] * 25)) for i in (1, 2, 3)))

    assert "vanishing_gradient" in slugs(vanishing(1e-7))
    assert "vanishing_gradient" not in slugs(vanishing(1e-2))


def test_what_a_generator_makes_is_far_away_only_where_the_discriminator_has_won():
    def players(end: float) -> Record:
        record = training(FLAT)
        ours = replace(record.losses[0], values=series([1.4] * 10 + [end] * 30), parameters={"d"})
        theirs = replace(record.losses[0], values=series([0.7] * 40), parameters={"d", "g"})
        root = Root(name="d", kind="Linear", from_data=([1.0, 1.0], [0.3, 0.3]), from_root=([0.4, 0.4], [0.2, 0.2]))
        root.from_root_step = record.steps
        other = replace(record.optimizers[0], number=1)
        optimizers = [record.optimizers[0], other]
        return replace(record, losses=[ours, theirs], optimizers=optimizers, loss_calls=[], roots=[root])

    assert "gan_imbalance" in slugs(players(0.4))
    assert "gan_imbalance" not in slugs(players(1.2))


def test_of_two_findings_that_follow_from_anything_the_surer_stands():
    findings, _ = judge(by_heart(ENDED))
    assert [(f.slug, f.severity, f.follows_from) for f in findings] == [
        ("label_misalignment", "warning", None),
        ("no_learning", "note", "label_misalignment"),
    ]
