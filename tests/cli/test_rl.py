"""Acting through the command line: trained, judged beside random actions, killed and resumed, and what is refused."""

import json

import pytest
from cli_helpers import check_refused, check_same, kill_after, lines
from PIL import Image

SMALL = {
    "ppo": ["train", "ppo", "data.steps=8192", "train.evaluate_every=80", "train.checkpoint_every=30"],
    "dqn": ["train", "dqn", "data.steps=4096", "task.steps=3", "task.priority=0.6", "train.checkpoint_every=150"],
    "sac": ["train", "sac", "data.steps=400", "train.evaluate_every=100", "train.checkpoint_every=40"],
    "a2c": ["train", "a2c", "data.steps=4096", "train.evaluate_every=20", "train.checkpoint_every=10"],
    "reinforce": ["train", "reinforce", "data.steps=12000", "train.checkpoint_every=2"],
}
FEW = ["data.validation=5", "data.test=5"]


@pytest.mark.parametrize("name", SMALL)
def test_a_killed_training_ends_as_one_that_was_left_alone(quick, tmp_path, name):
    command = [*SMALL[name], *FEW, "train.log_every=2"]
    left = quick(*command, "--out", "left", "--json", cwd=tmp_path)
    assert left.code == 0, left.err
    result = json.loads((tmp_path / "left" / "result.json").read_text())
    assert {"return", "return_std", "episode_length"} == result["test"].keys()
    assert result["baseline"]["name"] == "random actions"
    assert any("return" in line for line in lines(tmp_path / "left") if line["split"] == "train")
    kill_after(tmp_path / "killed", 4, *command, "--out", "killed", cwd=tmp_path)
    ended = quick("resume", "killed", cwd=tmp_path)
    assert ended.code == 0, ended.err
    check_same(tmp_path / "killed", tmp_path / "left")


def test_it_is_evaluated_again_to_the_same_figures(quick, tmp_path):
    trained = quick(*SMALL["ppo"], *FEW, "--out", "run", cwd=tmp_path)
    assert trained.code == 0, trained.err
    ended = quick("evaluate", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert {name: ended.json[name] for name in result["test"]} == result["test"]
    assert ended.json["baselines"] == result["baselines"]["test"]
    played = quick("play", "run", "--episodes", "1", "--out", "pole.gif", "--json", cwd=tmp_path)
    assert played.code == 0, played.err
    with Image.open(tmp_path / "pole.gif") as picture:
        assert 1 < picture.n_frames <= played.json["lengths"][0]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "CartPole-v1</b> for 320 steps" in page
    assert "epoch %{x" not in page


NAN = """
import gymnasium, numpy as np

class Broken(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0
    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}
    def step(self, action):
        self.steps += 1
        if self.steps == 30:
            FAULT
        return np.full(2, 0.5, np.float32), 1.0, self.steps % 7 == 0, False, {}

import gradlab as gl

@gl.register.environment("broken")
def broken(num):
    return [Broken() for _ in range(num)]
"""


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("return np.full(2, np.nan, np.float32), 1.0, False, False, {}", "NaN"),
        ("raise RuntimeError('stuck')", "stuck"),
        ("return np.full(2, 0.5, np.float32), 1.0, False, {}", "terminated, truncated, info from step"),
    ],
)
def test_an_environment_that_fails_in_the_middle_is_named(quick, tmp_path, fault, word):
    (tmp_path / "broken.py").write_text(NAN.replace("FAULT", fault))
    ended = quick("train", "ppo", "data.env=broken", "--code", "broken.py", "--out", "run", cwd=tmp_path)
    check_refused(ended, "broken", word, code=1)


def test_what_cannot_be_put_back_goes_on_with_new_episodes_and_says_so(quick, tmp_path):
    (tmp_path / "own.py").write_text(NAN.replace("FAULT", "pass"))
    few = ["train.log_every=1", "train.checkpoint_every=1", "data.validation=2", "data.test=2"]
    command = ["a2c", "data.env=broken", "data.steps=12800", *few, "--code", "own.py"]
    kill_after(tmp_path / "run", 4, "train", *command, "--out", "run", cwd=tmp_path)
    ended = quick("resume", "run", "--code", "own.py", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "broken cannot be put back to where it stood: new episodes begin." in ended.err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["ppo", "data.env=CartPol-v1"], ["CartPole-v1"]),
        (["dqn", "data.env=Pendulum-v1"], ["q-network", "sac"]),
        (["sac", "data.env=CartPole-v1"], ["soft-actor-critic", "dqn"]),
        (["ppo", "data.env=Blackjack-v1"], ["Blackjack-v1", "Tuple"]),
        (["ppo", "data.env=table", "data.env.file=none.json"], ["none.json is not a file"]),
        (["ppo", "task.discount=1.5"], ["task.discount"]),
        (["ppo", "task.discount=-0.1"], ["task.discount"]),
        (["dqn", "task.discount=nan"], ["task.discount"]),
        (["ppo", "data.steps=100"], ["data.steps"]),
        (["ppo", "model=mlp"], ["mlp", "environments"]),
        (["ppo", "model=q-network"], ["actor-critic"]),
        (["ppo", "data=iris"], ["data=environment"]),
        (["ppo", "train.batch_size=300"], ["train.batch_size"]),
        (["dqn", "train.batch_size=full"], ["train.batch_size"]),
        (["dqn", "data.copies=3"], ["data.copies"]),
        (["digits-mlp", "data=environment"], ["environment"]),
    ],
)
def test_what_cannot_be_learned_is_refused_before_there_is_a_run(quick, tmp_path, change, words):
    check_refused(quick("train", *change, "--out", "run", cwd=tmp_path), *words)
    assert not (tmp_path / "run").exists()
