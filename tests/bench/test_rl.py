"""`gradlab bench rl`: both learn the same number of steps by networks of one size, judged in the same episodes."""

import io

import pytest
from rich.console import Console

from gradlab.bench.rl.returns import CASES, RLCase, RLCompared, RLRow, bench_rl, check_rl
from gradlab.cli.benchmarks.rl import show_rl
from gradlab.errors import GradlabError
from gradlab.recipes import find

SHORT = {"n_steps": 128, "batch_size": 256, "n_epochs": 1, "lr": 1e-3, "falls": True, "net_arch": [64, 64]}


@pytest.mark.slow
def test_both_do_the_same_work(monkeypatch):
    pytest.importorskip("stable_baselines3")
    short = find("cartpole-ppo").override({"data.steps": 2048, "task.passes": 1, "train.evaluate_every": 4})
    monkeypatch.setitem(CASES, "cartpole-ppo", RLCase(goal=475, algorithm="PPO", settings=SHORT))
    told: list[str] = []
    found = bench_rl(short, told.append, seeds=2, peer_seeds=1)
    assert found.steps == 2048
    ours, peer = found.rows
    assert (len(ours.returns), len(peer.returns)) == (2, 1)
    assert [line.split(": return")[0] for line in told if "return" in line] == [
        "cartpole-ppo: gradlab, seed 0",
        "cartpole-ppo: Stable-Baselines3, seed 0",
        "cartpole-ppo: gradlab, seed 1",
    ]
    assert peer.parameters == ours.parameters
    assert peer.ratio == peer.cpu_ratio == 1
    assert all(0 < row.cpu_seconds[0] <= 1.1 * row.seconds[0] for row in found.rows)
    assert all(value > 5 for row in found.rows for value in row.returns)


def test_the_table_counts_the_seeds_that_reach_the_goal():
    same = {"seconds": [2.0, 4.0], "cpu_seconds": [1.0, 3.0], "cpu_ratio": 0.3, "parameters": 9155}
    rows = [
        RLRow(title=title, returns=returns, ratio=ratio, **same)
        for title, returns, ratio in (("Stable-Baselines3", [500.0, 474.0], 1.0), ("gradlab", [500.0, 475.0], 0.4))
    ]
    about = {
        "title": "cartpole-ppo",
        "steps": 99_328,
        "goal": 475,
        "seeds": 2,
        "device": "CPU",
        "versions": "gradlab 1",
    }
    screen = Console(file=io.StringIO(), width=120)
    show_rl(screen, [RLCompared(rows=rows, **about)])
    text = screen.file.getvalue()
    for words in ("0.40", "0.30", "1 of 2", "2 of 2", "500, 474", "99,328 steps"):
        assert words in text


def test_an_unknown_case_is_answered_with_the_closest():
    with pytest.raises(GradlabError, match="cartpole-ppo"):
        check_rl(["cartpole-pp"], 1)


@pytest.mark.parametrize("peer_seeds", [0, 3])
def test_the_peer_has_some_of_the_seeds(peer_seeds):
    with pytest.raises(GradlabError, match=f"--peer-seeds {peer_seeds}: .* from 1 to --seeds, 2"):
        check_rl(["cartpole-ppo"], 2, peer_seeds)
