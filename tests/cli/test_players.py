"""Adversarial networks and PixelCNN on the command line: what is told, and what is refused."""

import json
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused

REFUSED = {
    "digits-gan model=mlp": "task=gan needs a model with a generator, a discriminator and noise, such as model=gan for "
    "plain numbers or model=conv-gan for pictures.",
    "digits-gan task.judged_by=coverage": "task.judged_by=coverage is for points of a table, not for pictures. Leave "
    "it out.",
    "ring-gan data=polynomial": "task.judged_by=coverage takes each class for a mode, and these examples have no "
    "classes. Leave it out.",
    "ring-gan model=conv-gan": "model=conv-gan takes pictures, but data=ring are tables of 2 columns.",
    "ring-gan task.loss=mean": "It takes: non-saturating | hinge | wasserstein.",
    "digits-pixelcnn data.preprocess=standardise": "Set data.preprocess=scale.",
    "digits-pixelcnn model=vgg": "task=pixelcnn needs a model that draws pixel by pixel: model=pixelcnn.",
    "digits-pixelcnn model=pca": "task=pixelcnn needs logits of the 17 levels of each pixel, (batch, levels, channels, "
    "height, width), and PCA gives (1, 1, 8, 8). Take model=pixelcnn.",
    "digits-vae task=diffusion": "task=diffusion needs a model of noisy data, their time and perhaps their class",
    "digits-pixelcnn model.kernel=4": "conv.masked2d: kernel_size must be odd, and 3 or more if strict, got 4.",
    "digits-pixelcnn task.levels=1": "task.levels=1 is not valid",
    "digits-pixelcnn data=ring": "model=pixelcnn takes pictures, but data=ring are tables of 2 columns.",
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_learned_is_refused_before_there_is_a_run(
    quick: ForkServer, tmp_path: Path, command: str
) -> None:
    ended = quick("train", *command.split(), "--out", "run", cwd=tmp_path)
    check_refused(ended, REFUSED[command])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("command", "figures"),
    [
        (["ring-gan", "train.steps=30"], {"coverage", "modes", "near", "distance"}),
        (["digits-gan", "train.steps=10"], {"distance"}),
        (["digits-pixelcnn", "train.steps=10", "model.layers=1"], {"loss", "bits_per_dim"}),
    ],
    ids=["ring-gan", "digits-gan", "digits-pixelcnn"],
)
def test_a_run_has_its_figures_a_report_and_the_same_evaluation_again(
    quick: ForkServer, tmp_path: Path, command: list[str], figures: set[str]
) -> None:
    ended = quick("train", *command, "--out", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert figures <= set(result["test"])
    assert (tmp_path / "run" / "report.html").is_file()
    again = quick("evaluate", "run", "--json", cwd=tmp_path)
    assert again.code == 0, again.err
    # Evaluated with all threads there are, a training with as many as it needs: sums differ in their last bit.
    assert {name: again.json[name] for name in figures} == pytest.approx(
        {name: result["test"][name] for name in figures}, rel=1e-12
    )


def test_independent_pixels_are_the_baseline(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("train", "digits-pixelcnn", "train.steps=3", "model.layers=1", "--out", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["baseline"]["name"] == "independent pixels"
    assert 2 < result["baseline"]["test"]["bits_per_dim"] < 3


def test_a_run_that_draws_is_not_asked_to_predict(quick: ForkServer, tmp_path: Path) -> None:
    assert quick("train", "ring-gan", "train.steps=3", "--out", "run", cwd=tmp_path).code == 0
    check_refused(quick("predict", "run", "0,0", cwd=tmp_path), "draws examples and predicts nothing")
