"""Policies and the actions they score: others than were done, ratios that say nothing, and no more choice."""

from collections.abc import Iterator

from gradlab.diagnosis.record import Policy, Record
from gradlab.diagnosis.rules.base import LOOKS, STEPS, Case, Rule, at

_SCORED, _OTHERS = 30, 0.05
_ONE = 2e-6
_NO_CHOICE, _EARLY = 0.02, 0.4


@Rule(
    slug="scores_other_actions",
    title="log-probabilities are of other actions than those taken",
    meaning=(
        "What came of an action must make that very action more or less probable. Here the credit goes to others, "
        "which had no part in it, and the policy learns nothing from it."
    ),
    evidence=(
        "Of {scored} actions whose log-probability is in the loss, {others} ({share:.0%}) are not those that were "
        "drawn and done in the same state{kind}."
    ),
    remedy="action = dist.sample(); env.step(action); log_prob = dist.log_prob(action)  # draw once, keep it",
)
def scores_other_actions(record: Record) -> Iterator[Case]:
    for one in record.policies:
        if one.scored < _SCORED or one.others < _OTHERS * one.scored:
            continue
        kind = ""
        if one.greedy > 0.98 * one.others:
            kind = ", but the most probable ones"
        elif one.drawn_anew > 0.98 * one.others:
            kind = ", but were drawn once more"
        yield Case(
            ("error", 0.93),
            at("loss", one.site),
            since=one.others_since,
            scored=one.scored,
            others=one.others,
            share=one.others / one.scored,
            kind=kind,
        )
        return


@Rule(
    slug="ratio_always_one",
    title="ratios of new to old probabilities are always 1",
    meaning=(
        "A clipped ratio holds back a policy that has moved away from the one that acted. The old probabilities here "
        "are those of the present policy, so that the ratio is 1 after any number of updates, and nothing is clipped."
    ),
    evidence=(
        "At {looks} looks after updates on the same actions, no ratio was further from 1 than {farthest:.1g}: the "
        "clipping never acts."
    ),
    remedy="keep log_prob.detach() when the action is taken, and use that in all epochs: exp(new_log_prob - kept)",
)
def ratio_always_one(record: Record) -> Iterator[Case]:
    for one in record.policies:
        if one.clamped and len(one.ratios) >= LOOKS and one.ratios.largest < _ONE:
            yield Case(
                ("warning", 0.92),
                at("loss", one.site),
                since=one.ratios.steps[0],
                series=one.ratios,
                looks=len(one.ratios),
                farthest=one.ratios.largest,
            )
            return


@Rule(
    slug="dead_entropy",
    title="the policy has stopped to explore before it learnt anything",
    meaning=(
        "The policy takes the same action in a state every time. What it never tries it cannot learn about, and the "
        "gradient of a certain choice is next to nothing: it will stay so."
    ),
    evidence=(
        "The entropy of the probabilities that actions were drawn by fell to {spread:.2%} of that of equal ones, "
        "below {limit:.0%} from step {first} of {steps} on{returns}."
    ),
    remedy="a smaller learning rate for the policy, and a bonus: loss - 0.01 * dist.entropy().mean()",
)
def dead_entropy(record: Record) -> Iterator[Case]:
    for one in record.policies:
        since = _certain_since(one)
        if record.steps < STEPS or len(one.spread) < LOOKS or not 0 <= since <= _EARLY * record.steps:
            continue
        if not one.brought:
            continue
        start, end, width = one.brought.head(), one.brought.tail(), one.deviation.head()
        if end > start + 0.1 * width:
            continue
        yield Case(
            ("warning", 0.85),
            at("loss", one.site),
            since=since,
            series=one.spread,
            first=since,
            spread=one.spread.tail(),
            limit=_NO_CHOICE,
            steps=record.steps,
            returns=f", and returns went from {start:.3g} to {end:.3g}",
            start=start,
            end=end,
        )
        return


def _certain_since(one: Policy) -> int:
    """The look from which on there was no choice any more; -1 if there still was some at the end."""
    since = -1
    for step, spread in reversed(list(one.spread)):
        if spread > _NO_CHOICE:
            break
        since = step
    return since
