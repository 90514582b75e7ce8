"""Learning on tables: values are those of exact solutions, and a stopped training goes on as if it had not stopped."""

import pytest
import torch

from gradlab.data import Targets, load
from gradlab.errors import GradlabError
from gradlab.maths.decisions import DecisionProcess, action_values, policy_iteration
from gradlab.models.tabular import MonteCarlo, PolicyIteration, QLearning, Sarsa, ValueIteration
from gradlab.registry import Part
from gradlab.tasks.playing.experience import known_process
from gradlab.tasks.playing.tabular import Planning, TemporalDifferences, WholeEpisodes, best_policy

DISCOUNT, EPSILON = 0.9, 0.3


def acting(env=None, **values):
    env = env or Part("grid", {"map": "..G/S.X", "slip": 0.2})
    return load(Part("environment", {"env": env, "steps": 40_000, "copies": 8, **values}), "environment").train


def learned(model, task, split, steps):
    torch.manual_seed(0)
    stream = task.encoded(split).planned("full", 0)
    stream.start(model)
    batches = stream.batches(0)
    for _ in range(steps):
        model.learn_without_gradients(stream, next(batches))
    return stream


def exact(split) -> DecisionProcess:
    process = known_process(split)
    return DecisionProcess(process.transition, process.rewards, DISCOUNT, process.start)


def soft_values(process):
    """Of the best policy that takes any action in a share ε of the cases: the fixed point of its own operator."""
    q = torch.zeros(process.states, process.actions).double()
    for _ in range(500):
        q = action_values(process, (1 - EPSILON) * q.amax(1) + EPSILON * q.mean(1))
    return q


def apart(model, wanted, process) -> float:
    """How far values are off where they were learned: final states have none."""
    return float((model.q - wanted)[~process.final].abs().max())


def test_q_learning_ends_at_the_best_values_while_anything_is_done():
    split = acting()
    model, process = QLearning(split.spec, power=0.85), exact(split)
    learned(model, TemporalDifferences(Targets(), discount=DISCOUNT, epsilon=1.0), split, 5000)
    wanted = action_values(process, policy_iteration(process).values)
    assert apart(model, wanted, process) < 0.5
    assert torch.equal(model.q[~process.final].argmax(1), wanted[~process.final].argmax(1))


def test_sarsa_ends_at_the_values_of_what_acts():
    split = acting()
    model, process = Sarsa(split.spec, power=0.7), exact(split)
    learned(model, TemporalDifferences(Targets(), discount=DISCOUNT, epsilon=EPSILON), split, 4000)
    assert apart(model, soft_values(process), process) < 0.5
    assert apart(model, action_values(process, policy_iteration(process).values), process) > 1.0


def test_monte_carlo_ends_at_the_values_of_what_acts():
    split = acting(steps=400_000)
    model, process = MonteCarlo(split.spec, power=0.9), exact(split)
    learned(model, WholeEpisodes(Targets(), discount=DISCOUNT, epsilon=EPSILON, length=100), split, 500)
    greedy = soft_values(process)[~process.final].argmax(1)
    assert torch.equal(model.q[~process.final].argmax(1), greedy)
    assert apart(model, soft_values(process), process) < 1.5


@pytest.mark.parametrize(("kind", "sweeps"), [(ValueIteration, 400), (PolicyIteration, 6)])
def test_planners_end_at_the_best_values(kind, sweeps):
    split = acting()
    model, process = kind(split.spec), exact(split)
    task = Planning(Targets(), discount=DISCOUNT, sweeps=sweeps)
    stream = learned(model, task, split, sweeps)
    wanted = action_values(process, policy_iteration(process).values)
    assert apart(model, wanted, process) < 1e-8
    total, count = task.loss(model, stream.peek())
    assert float(total / count) < 1e-8
    assert torch.equal(best_policy(split.spec, process, DISCOUNT).act(torch.arange(6)), model.act(torch.arange(6)))


@pytest.mark.parametrize(
    ("build", "task"),
    [
        (lambda spec: QLearning(spec, 0.7), TemporalDifferences(Targets(), discount=0.9)),
        (lambda spec: Sarsa(spec, 0.7), TemporalDifferences(Targets(), discount=0.9)),
        (lambda spec: MonteCarlo(spec, 0.9), WholeEpisodes(Targets(), discount=0.9)),
    ],
)
def test_what_was_stopped_goes_on_bit_for_bit(build, task):
    split = acting()
    whole, half, rest = (build(split.spec) for _ in range(3))
    learned(whole, task, split, 40)
    stream = learned(half, task, split, 20)
    kept, state, generator = stream.snapshot(), half.state_dict(), torch.get_rng_state()
    torch.manual_seed(99)
    rest.load_state_dict(state)
    again = task.encoded(split).planned("full", 0)
    again.start(rest)
    again.restore(kept)
    torch.set_rng_state(generator)
    batches = again.batches(20)
    for _ in range(20):
        rest.learn_without_gradients(again, next(batches))
    assert torch.equal(rest.q, whole.q)
    assert torch.equal(rest.visits, whole.visits)


def test_after_a_limit_of_time_something_would_have_come_and_after_an_end_nothing():
    model = QLearning(acting().spec, power=1.0)
    model.q += 5.0
    step = {name: torch.tensor([0, 0]) for name in ("observations", "actions", "next_observations", "next_actions")}
    batch = {**step, "rewards": torch.tensor([1.0, 1.0]).double(), "ended": torch.tensor([True, False])}
    assert model.target(batch, 0.5).tolist() == [1.0, 3.5]


def test_what_has_no_tables_cannot_be_planned_and_needs_numbered_states():
    pytest.importorskip("gymnasium")
    split = acting(Part("CartPole-v1"))
    with pytest.raises(GradlabError, match=r"which CartPole-v1 does not have.*data.env=grid"):
        Planning(Targets()).encoded(split)
    with pytest.raises(GradlabError, match="a row for each state and a column for each action"):
        QLearning(split.spec, 0.7)


def test_a_model_of_another_task_is_refused():
    split = acting()
    with pytest.raises(GradlabError, match="needs model=monte-carlo"):
        WholeEpisodes(Targets()).check(QLearning(split.spec, 0.7), None)
