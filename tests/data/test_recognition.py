"""Paths of every kind, and the trainings that they suggest."""

import shlex
from datetime import date, timedelta

import numpy as np
import pytest
from PIL import Image

from gradlab.data.public.cifar import CIFAR10, CIFAR100
from gradlab.data.recognition import recognize
from gradlab.errors import GradlabError
from gradlab.recipe import flat
from gradlab.recipes.request import TrainingRequest
from gradlab.training.experiment import resolve

WORDS = ["cat", "dog", "runs", "sleeps", "under", "over", "tree", "house"]


def sentence(number, words=6):
    return " ".join(WORDS[(number // len(WORDS) ** i) % len(WORDS)] for i in range(words))


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def houses(folder):
    rows = [f"{30 + i},{'north' if i % 3 else 'south'},{1000.5 * i:.1f}" for i in range(1, 30)]
    return write(folder / "houses.csv", "area,district,price", *rows)


def latin(folder):
    path = write(folder / "houses.csv")
    path.write_bytes("straße,price\n1,2\n".encode("latin-1"))
    return path


def sales(folder, shops=("",)):
    days = [date(2025, 1, 1) + timedelta(days=i) for i in range(40)]
    rows = [f"{day},{shop},{i % 7 + 0.5}" for i, day in enumerate(days) for shop in shops]
    return write(folder / "sales.csv", "day,shop,sold", *rows)


def reviews(folder, stars=lambda row: 5):
    rows = [f"{sentence(i)},{stars(i)},{'good' if i % 2 else 'bad'}" for i in range(30)]
    return write(folder / "reviews.csv", "review,stars,label", *rows)


def pairs(folder):
    return write(folder / "pairs.tsv", *(f"{sentence(i)}\t{sentence(i)[::-1]}" for i in range(30)))


def labels(folder):
    rows = (f"very light {'red' if i % 2 else 'blue'}\tgood" for i in range(30))
    return write(folder / "t.tsv", "colour\tverdict", *rows)


def arrays(folder):
    np.savez(folder / "arrays.npz", x=np.zeros((9, 2)), y=np.arange(9) % 3)
    return folder / "arrays.npz"


def image(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(path)


def classes_of_images(folder):
    for name in ("cats/1.png", "cats/2.png", "dogs/1.png"):
        image(folder / "animals" / name)
    return folder / "animals"


def splits_of_images(folder):
    for name in ("train/cats/1.png", "train/dogs/1.png"):
        image(folder / "animals" / name)
    return folder / "animals"


def unlabelled_images(folder):
    image(folder / "photos" / "1.png")
    image(folder / "photos" / "2025" / "2.png")
    return folder / "photos"


def splits_without_classes(folder):
    for name in ("train/1.png", "test/2.png"):
        image(folder / "photos" / name)
    return folder / "photos"


def captioned(folder):
    return write(folder / "captions.csv", "file,caption", "1.png,a cat", "2.png,a dog")


def graph(folder):
    write(folder / "net" / "nodes.csv", "name,age,team", *(f"n{i},{i % 5},{'xy'[i % 2]}" for i in range(20)))
    write(folder / "net" / "edges.csv", "a,b", "n0,n1")
    return folder / "net"


def graphs(folder):
    for name in ("one", "two"):
        write(folder / "nets" / name / "nodes.csv", "name,solvent", "a,yes", "b,no")
    return folder / "nets"


def idx(folder):
    write(folder / "mnist" / "train-images-idx3-ubyte.gz", "")
    return folder / "mnist"


def cifar(folder, layout):
    for name in layout.files:
        write(folder / "cifar" / name, "")
    return folder / "cifar"


def classes_of_texts(folder):
    for name in ("one/1.txt", "two/1.txt"):
        write(folder / "texts" / name, sentence(1))
    return folder / "texts"


def texts(folder):
    write(folder / "texts" / "1.txt", sentence(1))
    return folder / "texts"


KINDS = {
    "a table": (houses, "csv", []),
    "a table of dates": (sales, "csv", ["forecast"]),
    "a table of several series": (lambda folder: sales(folder, ("a", "b")), "csv", ["forecast"]),
    "a table in another encoding": (latin, "csv", []),
    "texts in a table": (reviews, "text-classifier", []),
    "texts and numbers in a table": (lambda folder: reviews(folder, lambda i: i % 5), "csv", ["text-classifier"]),
    "a table with a tab": (lambda folder: houses(folder).rename(folder / "houses.tsv"), "csv", []),
    "a table of two columns": (labels, "csv", []),
    "pairs of texts": (pairs, "translate", []),
    "arrays": (arrays, "npz", []),
    "images with classes": (classes_of_images, "images", ["images-diffusion"]),
    "splits of images": (splits_of_images, "images", ["images-diffusion"]),
    "images without classes": (unlabelled_images, "images-diffusion", []),
    "splits without classes": (splits_without_classes, "images-diffusion", []),
    "images with captions": (captioned, "captions", []),
    "a graph": (graph, "graph", ["graph"]),
    "graphs": (graphs, "graph", []),
    "MNIST": (idx, "mnist-lenet", []),
    "CIFAR-10": (lambda folder: cifar(folder, CIFAR10), "cifar10-lenet", []),
    "CIFAR-100": (lambda folder: cifar(folder, CIFAR100), "cifar100-lenet", []),
    "texts with classes": (classes_of_texts, "text-classifier", ["text-gpt", "text-bert"]),
    "text files": (texts, "text-gpt", ["text-bert"]),
    "a text": (lambda folder: write(folder / "notes.md", *map(sentence, range(9))), "text-gpt", ["text-bert"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_path_suggests_its_recipe_first(tmp_path, kind):
    make, recipe, others = KINDS[kind]
    trainings = recognize(make(tmp_path)).trainings
    assert trainings[0].recipe == recipe
    assert [training.recipe for training in trainings[1:]] == others


@pytest.mark.parametrize("kind", KINDS)
def test_every_suggested_command_is_a_training(tmp_path, kind):
    path = KINDS[kind][0](tmp_path)
    suggested = recognize(path)
    for training, command in zip(suggested.trainings, suggested.commands(path).values(), strict=True):
        words = shlex.split(command)[2:]
        data = words[words.index("--data") + 1] if "--data" in words else None
        changes = dict(word.split("=", 1) for word in words if "=" in word)
        request = TrainingRequest.complete(words[0], changes, data)
        assert request.name == training.recipe
        assert request.recipe().data.name == training.source
        assert str(request.data).rstrip("/") == str(path)
        values = flat(resolve(request.recipe()).data.plain())
        assert values.items() >= {key.removeprefix("data."): v for key, v in training.values.items()}.items()


def test_a_series_of_each_shop_is_named_by_its_column(tmp_path):
    forecast = recognize(sales(tmp_path, ("a", "b"))).trainings[1]
    assert forecast.settings == {"time": "day", "target": "sold", "series": "shop", "horizon": "14"}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.parquet", b"PAR1", "pandas or polars"),
        ("t.xlsx", b"PK", "pandas or polars"),
        ("t.csv.gz", b"\x1f\x8b", "Unpack it"),
        ("x.npy", b"\x93NUMPY", "numpy.savez"),
        ("one.png", b"\x89PNG", "name the folder"),
        ("noise.bin", b"\0\xff\0", "tables"),
        ("empty.txt", b"", "tables"),
    ],
)
def test_a_file_that_no_source_reads_is_refused_with_the_way_out(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(GradlabError, match=f"{name} is no data that gradlab knows. .*{says}"):
        recognize(tmp_path / name)


def test_a_folder_without_data_is_refused(tmp_path):
    with pytest.raises(GradlabError, match="folder for each class"):
        recognize(tmp_path)
