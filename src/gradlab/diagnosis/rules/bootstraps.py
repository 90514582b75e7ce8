"""Values that rest on values of next states: ends that are none, and target networks that stand still or run along."""

from collections.abc import Iterator
from typing import Any

from gradlab.diagnosis.finding import Spot
from gradlab.diagnosis.record import Bootstrap, Record
from gradlab.diagnosis.rules.base import Case, Rule, at

_ENDS, _CUT, _LOOKS, _STEPS = 10, 10, 10, 200


@Rule(
    slug="bootstrap_through_end",
    title="values go on through the end of an episode",
    meaning=(
        "After an end nothing more is earned, so the value of a final state is zero. A target that adds the "
        "network's own guess there has nothing that holds its values to the ground: they drift, or grow without bound."
    ),
    evidence=(
        "Targets are r + {discount:.3g} · v(next state). {ends} next states were come to and never left, {why}; in "
        "{added} of {rows} looked-at rows that came to one, its value was added all the same."
    ),
    remedy="target = reward + {discount:.3g} * next_value * (1 - terminated)  # 1 at real ends, not at a limit",
)
def bootstrap_through_end(record: Record) -> Iterator[Case]:
    for one in record.bootstraps:
        seen = one.transitions
        if seen is None or seen.end_rows < _ENDS or seen.end_added < 0.9 * seen.end_rows:
            continue
        why = f"of {seen.states} states in all"
        if seen.outside is not None:
            column, low, high, farthest = seen.outside
            why = (
                f"since they lie where no step was taken from (column {column} went from {low:.3g} to {high:.3g} "
                f"there, and up to {farthest:.3g} in them)"
            )
        yield Case(
            ("error", 0.92),
            *_place(one),
            since=one.since,
            discount=one.discount,
            ends=seen.ends,
            why=why,
            added=seen.end_added,
            rows=seen.end_rows,
        )
        return


@Rule(
    slug="time_limit_as_end",
    title="a time limit is taken for an end",
    meaning=(
        "An episode that is cut off could have gone on, and its last state is worth what any such state is worth. With "
        "a target of the reward alone the same state is worth something at one time and nothing at another, for "
        "a reason that the network cannot see."
    ),
    evidence="Targets are r + {discount:.3g} · v(next state), but r alone in {cut} looked-at rows {why}.",
    remedy="store terminated, not terminated or truncated, and mask with it: (1 - terminated) * next_value",
)
def time_limit_as_end(record: Record) -> Iterator[Case]:
    for one in record.bootstraps:
        seen = one.transitions
        if seen is None or seen.cut < _CUT:
            continue
        why = (
            f"whose step, of {seen.cut_states} kinds, went on with the same reward in {seen.went_on} others"
            if seen.after is None
            else f"at the end of {seen.cut_states} episodes that all had {seen.after} steps, in states like any other"
        )
        yield Case(
            ("warning", 0.85),
            *_place(one),
            since=one.since,
            discount=one.discount,
            cut=seen.cut,
            why=why,
        )
        return


@Rule(
    slug="target_never_synchronised",
    title="the target network never changes",
    meaning=(
        "Targets are made of the values that a second network gives, and that one still has its first weights: what "
        "is learnt never gets further than one step from there."
    ),
    evidence=(
        "{online} learns r + {discount:.3g} · v(next state) with v of {target}, whose weights were the first ones at "
        "all {looks} looks in {steps} backward passes, while those of {online} changed."
    ),
    remedy="every few hundred steps: {target}.load_state_dict({online}.state_dict()), or a share of 0.005 at each",
)
def target_never_synchronised(record: Record) -> Iterator[Case]:
    for one in record.bootstraps:
        still = one.compared >= _LOOKS and one.moved == 0 and one.equal <= 0.5 * one.compared
        if still and one.steps >= _STEPS and one.until > 0.9 * record.steps:  # it may have been replaced by another
            yield Case(("error", 0.93), one.target, *_place(one), since=one.since, **_networks(one), steps=one.steps)
            return


@Rule(
    slug="target_always_synchronised",
    title="the target network is the network itself",
    meaning=(
        "A second network gives the values in the targets so that these hold still for a while. With the same weights "
        "at each step the targets move with every update, and it is there for nothing."
    ),
    evidence=(
        "{online} learns r + {discount:.3g} · v(next state) with v of {target}, and both had the same weights at "
        "{equal} of {looks} looks."
    ),
    remedy="synchronise every few hundred steps, or by a small share: target.lerp_(online, 0.005)",
)
def target_always_synchronised(record: Record) -> Iterator[Case]:
    nearest: dict[str, Bootstrap] = {}
    for one in record.bootstraps:
        # Of two critics each has its own target, whose values are in the targets of both.
        if one.compared and (one.target not in nearest or one.equal > nearest[one.target].equal):
            nearest[one.target] = one
    # A target that is made anew for each step is another network each time.
    looks, equal = sum(one.compared for one in nearest.values()), sum(one.equal for one in nearest.values())
    if looks >= _LOOKS and equal >= 0.95 * looks and (len(nearest) > 1 or any(one.moved for one in nearest.values())):
        first = next(iter(nearest.values()))
        figures = _networks(first) | {"looks": looks}
        yield Case(("warning", 0.9), first.target, *_place(first), since=first.since, **figures, equal=equal)


def _place(one: Bootstrap) -> tuple[Spot]:
    return (at("loss", one.site),)


def _networks(one: Bootstrap) -> dict[str, Any]:
    return {"online": one.online, "target": one.target, "discount": one.discount, "looks": one.compared}
