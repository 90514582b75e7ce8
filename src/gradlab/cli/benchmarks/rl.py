"""`gradlab bench rl`: reinforcement learning beside Stable-Baselines3."""

from collections.abc import Iterable

from rich.console import Console

from gradlab.bench.rl.returns import CASES, SEEDS, RLCompared, bench_rl, check_rl
from gradlab.cli.benchmarks.output import OUTPUT, Output, progress, show_machine
from gradlab.cli.output import table
from gradlab.wording import count, counted, duration


def rl(*cases: str, seeds: int = SEEDS, peer_seeds: int | None = None, output: Output = OUTPUT) -> None:
    """How well and how fast PPO, DQN and SAC learn classic control, beside Stable-Baselines3.

    Both have the same environments, networks, settings and steps, one thread, and are judged in the same 100 episodes
    that neither has seen, by greedy actions of the weights that were best on 20 others during the training. The time is
    of the training alone, without those evaluations; CPU time hardly changes with what else a machine does.

    Example: `gradlab bench rl cartpole-ppo --seeds 3`

    Parameters
    ----------
    cases
        Which: cartpole-ppo, cartpole-dqn, acrobot-ppo, pendulum-sac; default all.
    seeds
        Trainings of each.
    peer_seeds
        Trainings of the peer, with the first of the seeds; default as many.
    """
    from gradlab.recipes import find

    check_rl(cases, seeds, peer_seeds)
    output.show((bench_rl(find(name), progress, seeds, peer_seeds) for name in cases or CASES), show_rl)


def show_rl(screen: Console, results: Iterable[RLCompared]) -> None:
    for one in results:
        rows = (
            [
                row.title,
                f"{row.ratio:.2f}",
                f"{row.cpu_ratio:.2f}",
                duration(sum(row.seconds) / len(row.seconds)),
                ", ".join(f"{value:.0f}" for value in row.returns),
                f"{sum(value >= one.goal for value in row.returns)} of {len(row.returns)}",
                count(row.parameters),
            ]
            for row in one.rows
        )
        columns = ("", "wall", "CPU", "a training", "return of each seed", f"at least {one.goal:g}", "parameters")
        screen.print(table(*columns, rows=rows, title=f"{one.title}: {counted(one.steps, 'step')} in the environment"))
        show_machine(screen, one)
