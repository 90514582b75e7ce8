"""Pictures in training: equal work, the usual transforms, and which recipes are trained; at small sizes."""

import gzip
import io
import random

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from gradlab.bench.beside import check_equal_work
from gradlab.bench.cuda.training import check_same_work
from gradlab.bench.vision.recipes import VisionLearned, bench_recipe, chosen
from gradlab.bench.vision.speed import AUGMENTATIONS, VisionRow, VisionTrained, bench_vision
from gradlab.bench.vision.usual_loop import ByHand, Pictures, endless
from gradlab.bench.vision.work import VisionWork, by_gradlab, by_the_usual_loop
from gradlab.cli.benchmarks.vision import show_vision
from gradlab.errors import GradlabError

SMALL = {"rows": 48, "batch": 16, "steps": 6}
DATA_OF = {"digits-cnn": "digits", "mnist-lenet": "mnist", "fashion-mnist-lenet": "fashion-mnist", "c": "cifar10"}


def row(title="a", losses=(2.0, 1.0), **changes):
    values = {"ratio": 1.0, "cpu": 1.0, "milliseconds": 5.0, "pictures_per_second": 25_600.0}
    more = {"before": 0.5, "gibibytes": 0.0, "losses": [*losses]}
    return VisionRow(title=title, **values | more | changes)


@pytest.mark.parametrize("change", [{"pictures": 101}, {"parameters": 8}])
def test_trainings_of_more_pictures_or_of_another_network_are_not_compared(change):
    one = {"pictures": 100, "parameters": 7}
    check_equal_work({"a": [one, one], "b": [one]}, "pictures")
    with pytest.raises(GradlabError, match=r"b does other work than a: .* They cannot be compared"):
        check_equal_work({"a": [one, one], "b": [one, one | change]}, "pictures")


def test_losses_far_apart_are_other_work_and_small_ones_are_not():
    check_same_work([row(losses=(2.0, 0.02)), row("b", losses=(2.1, 0.04))], 0.25, least=1.0)
    with pytest.raises(GradlabError, match="b does other work than a"):
        check_same_work([row(losses=(2.0, 0.02)), row("b", losses=(2.1, 0.4))], 0.25, least=1.0)


def test_the_transform_by_hand_is_a_padded_crop_perhaps_mirrored_in_units_of_its_spread():
    picture = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    padded = np.pad(picture, [(2, 2), (2, 2), (0, 0)]) / 255
    plain = ((padded - mean) / std).transpose(2, 0, 1)
    wanted = {
        way(plain[:, top : top + 8, left : left + 8]).round(4).tobytes(): (top, left, way.__name__)
        for top in range(5)
        for left in range(5)
        for way in (same, mirrored)
    }
    random.seed(0)
    transform = ByHand(8, 2, mean, std)
    seen = [transform(Image.fromarray(picture)).double().numpy().round(4).tobytes() for _ in range(400)]
    assert len(wanted) == 50
    assert {wanted[one] for one in seen} == set(wanted.values()), "every place and both ways, and nothing else"


def same(picture):
    return picture


def mirrored(picture):
    return picture[:, :, ::-1].copy()


def test_an_epoch_of_the_usual_loop_has_every_picture_once():
    import torch

    pictures, targets = np.zeros((12, 4, 4, 3), np.uint8), np.arange(12)
    data = Pictures(pictures, targets, lambda picture: torch.zeros(3, 4, 4))
    batches = endless(data, 4, False, torch.device("cpu"))
    for _ in range(2):
        assert sorted(int(t) for _ in range(3) for t in next(batches)[1]) == list(range(12))


def test_both_loops_train_the_same_network_on_as_many_pictures():
    work = VisionWork("cifar-cnn", "cpu", **SMALL)
    ours, theirs = by_gradlab(work, {"flip": True, "translate": 4}), by_the_usual_loop(work, workers=False)
    check_equal_work({"ours": [ours], "theirs": [theirs]}, "pictures")
    assert ours["pictures"] == 96
    assert ours["losses"] == pytest.approx(theirs["losses"], abs=0.2)
    assert ours["milliseconds"] > 0
    assert theirs["cpu_milliseconds"] > 0


def test_each_augmentation_is_one_that_training_knows_and_changes_it():
    work = VisionWork("cifar-cnn", "cpu", **SMALL)
    plain = work.train({}).for_epoch(0, 1)
    rows = np.arange(8)
    for name, settings in AUGMENTATIONS.items():
        seen = work.train(settings).for_epoch(0, 1)
        inputs = [one.select(*2 * [tensor(rows)])["inputs"].numpy() for one in (plain, seen)]
        assert np.array_equal(*inputs) == (name == "none"), name


def tensor(rows):
    import torch

    return torch.from_numpy(rows)


@pytest.mark.slow
def test_all_is_measured_and_shown():
    results = list(bench_vision(lambda text: None, rounds=1, **SMALL))
    beside, alone = results
    assert [one.title for one in beside.rows] == ["gradlab", "DataLoader with workers", "DataLoader without workers"]
    assert next(one.ratio for one in beside.rows if one.title == beside.reference) == 1
    assert [one.title for one in alone.rows] == list(AUGMENTATIONS)
    assert alone.rows[0].ratio == 1
    assert "flip and crop" in shown(results)


def shown(results):
    screen = Console(file=io.StringIO(), width=140)
    show_vision(screen, results)
    return screen.file.getvalue()


def test_tables_and_lines_say_what_was_measured():
    rows = [row("gradlab", ratio=0.5, gibibytes=1.25), row("DataLoader")]
    trained = VisionTrained(title="net", reference="DataLoader", rounds=3, device="CPU", versions="v 1", rows=rows)
    learned = VisionLearned(
        recipe="digits-cnn", parameters=12_345, accuracy=[0.98, 0.99], seconds=[4.0, 6.0], whole=[9.0, 11.0]
    )
    text = shown([trained, learned])
    assert "net: ratio to DataLoader" in text
    assert " 1.2 " in text
    line = "test accuracy 98.50% ± 0.71% over 2 seeds; 5 s of training, 10 s from the command to the report."
    assert line in " ".join(text.split())
    one = VisionLearned(recipe="a", parameters=1, accuracy=[0.5], seconds=[1.0], whole=[2.0])
    assert "50.00% over 1 seed;" in " ".join(shown([one]).split())


def idx(values):
    header = bytes([0, 0, 8, values.ndim]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    return gzip.compress(header + values.astype(np.uint8).tobytes())


@pytest.fixture
def folder(tmp_path):
    """Files as MNIST has them."""
    for part, count in (("train", 20), ("t10k", 10)):
        labels = np.arange(count) % 10
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(idx(np.zeros((count, 28, 28))))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(idx(labels))
    return tmp_path


def test_recipes_whose_data_are_there_are_trained(folder, tmp_path_factory):
    assert chosen([], DATA_OF, None) == ["digits-cnn"]
    assert chosen([], DATA_OF, folder) == ["digits-cnn", "mnist-lenet"], "Fashion-MNIST's files have the same names"
    assert chosen(["fashion-mnist-lenet"], DATA_OF, folder) == ["fashion-mnist-lenet"]
    with pytest.raises(GradlabError, match="has no file train-images-idx3-ubyte"):
        chosen(["mnist-lenet"], DATA_OF, tmp_path_factory.mktemp("empty"))


@pytest.mark.slow
def test_a_recipe_is_trained_by_the_command_for_each_seed():
    told = []
    learned = bench_recipe("digits-mlp", "digits", 2, None, "cpu", told.append, "train.epochs=2")
    assert told == ["digits-mlp: seed 1 of 2", "digits-mlp: seed 2 of 2"]
    assert all(0.5 < one < 1 for one in learned.accuracy)
    assert learned.accuracy[0] != learned.accuracy[1]
    assert all(whole > seconds > 0 for whole, seconds in zip(learned.whole, learned.seconds, strict=True))
    assert learned.parameters > 8_000
