"""When a class is missed: rare, not by chance, and only if it could be recognised."""

import pytest
from torch import nn

from gradlab.diagnosis.advising import advise
from gradlab.diagnosis.logged import Logged
from gradlab.diagnosis.record import Classes, Recognised, Record
from gradlab.diagnosis.rules import judge


def record(right: int, examples: int, area: float = 0.8, others: int = 970, weighted: bool = False) -> Record:
    common = Recognised(name="no", examples=others, right=others - 5, area=area)
    rare = Recognised(name="yes", examples=examples, right=right, area=area)
    return Record(steps=200, classes=Classes(task="classify", weighted=weighted, each=[common, rare]))


def missed(seen: Record) -> list[dict]:
    findings, faults = judge(seen)
    assert faults == []
    return [dict(finding.measured) for finding in findings if finding.slug == "missed_class"]


def test_it_says_what_is_missed_and_what_guessing_would_give() -> None:
    (case,) = missed(record(1, 30))
    assert (case["missed"], case["examples"], case["right"]) == ("yes", 30, 1)
    assert case["recall"] == pytest.approx(1 / 30)
    assert case["accuracy"] == pytest.approx(966 / 1000)
    assert case["guessing"] == pytest.approx(970 / 1000)


@pytest.mark.parametrize(
    ("why", "seen"),
    [
        ("it is recognised well enough", record(8, 30)),
        ("so few could be chance", record(0, 7)),
        ("nothing tells them apart", record(0, 30, area=0.52)),
        ("nor does what looks like something by chance", record(0, 12, area=0.62)),
        ("it is not rare", record(0, 400)),
        ("nobody knows", record(0, 30, area=float("nan"))),
        ("it has none in validation", record(0, 0, area=float("nan"))),
    ],
)
def test_it_is_silent_where(why: str, seen: Record) -> None:
    assert missed(seen) == []


def test_a_training_that_has_only_begun_is_not_blamed() -> None:
    begun = record(0, 30)
    begun.steps = 40
    assert missed(begun) == []


def test_of_several_the_largest_is_told_and_all_are_named() -> None:
    seen = record(0, 30)
    assert seen.classes is not None
    seen.classes.each += [Recognised(name=name, examples=n, right=0, area=0.9) for name, n in (("a", 40), ("b", 20))]
    (finding,) = [f for f in judge(seen)[0] if f.slug == "missed_class"]
    assert finding.measured["missed"] == "a"
    assert finding.where == "validation examples of a, yes, b"


@pytest.mark.parametrize(("weighted", "first"), [(False, "task=classify task.class_weights=balanced"), (True, "more ")])
def test_the_remedy_is_one_that_was_not_taken_yet(weighted: bool, first: str) -> None:
    source = Logged()
    source.begin(nn.Linear(2, 2), {})
    source.optimizer.settings = {"lr": 0.1}
    source.conclude(200, 1.0, 1.0, same=True, diverged=False)
    source.record.classes = record(0, 30, weighted=weighted).classes
    (finding,) = [
        f for f in advise(source, ["task.class_weights"], keeps_best=True).findings if f.slug == "missed_class"
    ]
    assert finding.fix.startswith(first)
    assert finding.fix.endswith("--threshold 0.03")


def test_a_threshold_is_for_two_classes_and_of_the_rarer() -> None:
    seen = record(0, 30).classes
    assert seen is not None
    seen.each.reverse()
    (case,) = missed(Record(steps=200, classes=seen))
    assert case["threshold"] == pytest.approx(0.03)
    seen.each.append(Recognised(name="other", examples=970, right=900, area=0.9))
    assert "threshold" not in missed(Record(steps=200, classes=seen))[0]
