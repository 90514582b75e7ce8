"""`gradlab data show`: a source in figures, and a page to look at it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Finished, ForkServer, check_refused, gradlab
from PIL import Image
from sklearn.datasets import load_iris


class Page(HTMLParser):
    """What a page shows: its text, its pictures, and the addresses it would load anything from."""

    def __init__(self, path: Path):
        super().__init__()
        self.pictures: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.within: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "img":
            self.pictures.append(values.get("alt") or "")
        if (address := values.get("src") or "") and not address.startswith("data:"):
            self.loads.append(address)
        if tag == "link":
            self.loads.append(values.get("href") or "")
        self.within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.within:
            del self.within[len(self.within) - 1 - self.within[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if "script" not in self.within and "style" not in self.within:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def check_page(path: Path, *words: str) -> Page:
    page = Page(path)
    assert page.loads == []
    for word in words:
        assert word in page.text, page.text[:2000]
    return page


def shown(ended: Finished) -> str:
    assert ended.code == 0, ended.err
    assert ended.err == ""
    assert "\x1b" not in ended.out
    return ended.out


HOUSES = """id,size,district,note,price
1,50.5,north,a<b>&c,100.5
2,70,south,a<b>&c,120
3,,north,x,90
4,90,,x,180.25
5,65,south,x,
"""


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    (tmp_path / "houses.csv").write_text(HOUSES)
    return tmp_path / "houses.csv"


def test_a_table_is_shown_with_ranges_gaps_and_notes(quick: ForkServer, houses: Path, tmp_path: Path) -> None:
    out = shown(quick("data", "show", "csv", "--data", "houses.csv", "target=price", cwd=tmp_path))
    assert "csv: 4 examples of shape 4 (float64)" in out
    assert "Left out 1 row in which 'price' is missing." in out
    assert re.search(r"^ *size +number +50\.5 +70\.1667 +90 +1 *$", out, re.MULTILINE)
    assert re.search(r"^ *district +category +2 values +1 *$", out, re.MULTILINE)
    assert re.search(r"^ *price +number +90 +122\.68[78] +180\.25 +0 *$", out, re.MULTILINE)
    page = tmp_path / "csv-data.html"
    assert str(page) in out
    check_page(page, "houses.csv", "4 examples, each of shape 4", "district", "50.5 to 90", "1 missing")


def test_classes_are_shown_with_their_counts(quick: ForkServer, houses: Path, tmp_path: Path) -> None:
    out = shown(quick("data", "show", "csv", "--data", "houses.csv", "data.target=district", cwd=tmp_path))
    assert re.search(r"^ *north +2 +█+ *$", out, re.MULTILINE)
    assert re.search(r"^ *south +2 +█+ *$", out, re.MULTILINE)
    check_page(tmp_path / "csv-data.html", "in 2 classes", "The rarest class has 2 examples")


def test_what_a_table_holds_is_no_markup_of_the_page(quick: ForkServer, houses: Path, tmp_path: Path) -> None:
    houses.write_text(HOUSES.replace("note", "<script>alert(1)</script>").replace("id,", "</script><img src=x>,"))
    shown(quick("data", "show", "csv", "--data", "houses.csv", "target=price", cwd=tmp_path))
    page = check_page(tmp_path / "csv-data.html", "<script>alert(1)</script>", "</script><img src=x>")
    assert page.pictures == []


def test_the_figures_as_json_are_one_object(quick: ForkServer, houses: Path, tmp_path: Path) -> None:
    arguments = ("data", "show", "csv", "--data", "houses.csv", "target=price", "--out", "page.html", "--json")
    found = json.loads(shown(quick(*arguments, cwd=tmp_path)))
    assert (found["source"], found["examples"], found["shape"], found["page"]) == ("csv", 4, [4], "page.html")
    size = next(f for f in found["features"] if f["name"] == "size")
    assert size == {
        "name": "size", "kind": "number", "low": 50.5, "mean": pytest.approx(210.5 / 3), "high": 90.0, "missing": 1,
        "std": pytest.approx(np.std([50.5, 70, 90])), "categories": None,
    }  # fmt: skip
    assert found["target"]["name"] == "price"
    assert (tmp_path / "page.html").is_file()


def test_pictures_are_shown_by_class_and_split(quick: ForkServer, tmp_path: Path) -> None:
    for i in range(8):
        path = tmp_path / "data" / ("train" if i < 6 else "test") / ("cat", "dog")[i % 2] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(i).integers(0, 256, (9, 7, 3), np.uint8)).save(path)
    out = shown(quick("data", "show", "images", "--data", "data", cwd=tmp_path))
    assert "images: 8 examples of shape 3×9×7 (uint8), 6 train, 2 test" in out
    assert re.search(r"^ *cat +4 +█+ *$", out, re.MULTILINE)
    for channel in ("red", "green", "blue"):
        assert re.search(rf"^ *{channel} +number ", out, re.MULTILINE)
    page = check_page(tmp_path / "images-data.html", "Its own splits: 6 train, 2 test.")
    assert page.pictures == ["cat"] * 4 + ["dog"] * 4


def test_a_bundled_source_is_shown_without_a_file(tmp_path: Path) -> None:
    ended = gradlab("data", "show", "digits", "--json", cwd=tmp_path)
    found = json.loads(shown(ended))
    assert found["examples"] == 1797
    assert sum(found["classes"].values()) == 1797
    assert found["splits"] == {}
    page = check_page(tmp_path / "digits-data.html", "1,797 examples, each of shape 1×8×8 (float32), in 10 classes.")
    assert len(page.pictures) == 60


@pytest.mark.parametrize("name", ["iris", "moons", "diabetes", "linear", "polynomial"])
def test_every_kind_of_source_has_a_page(quick: ForkServer, tmp_path: Path, name: str) -> None:
    out = shown(quick("data", "show", name, cwd=tmp_path))
    assert f"{name}: " in out
    check_page(tmp_path / f"{name}-data.html", "Columns", "Classes" if name in ("iris", "moons") else "Target")


def test_the_figures_of_irises_are_those_of_the_irises(quick: ForkServer, tmp_path: Path) -> None:
    features = quick("data", "show", "iris", "--json", cwd=tmp_path).json["features"]
    means = load_iris().data.mean(axis=0)
    assert [f["mean"] for f in features] == pytest.approx(means.tolist())


def test_knobs_of_a_generated_source_are_taken(quick: ForkServer, tmp_path: Path) -> None:
    assert quick("data", "show", "moons", "examples=60", "--json", cwd=tmp_path).json["examples"] == 60


def test_columns_of_odd_values_have_a_page(quick: ForkServer, tmp_path: Path) -> None:
    """Constant, huge, and so near each other that no bars fit between them."""
    lines = [f"3,{10.0**30 * i},{1e16 + 2 * (i % 2)},{1 + 1e-15 * (i % 3)},{'ab'[i % 2]}" for i in range(20)]
    (tmp_path / "odd.csv").write_text("\n".join(["constant,huge,near,close,y", *lines]))
    arguments = ("data", "show", "csv", "--data", "odd.csv", "target=y", "keep=constant")
    shown(quick(*arguments, cwd=tmp_path))
    check_page(tmp_path / "csv-data.html", "constant", "huge", "near", "close")


def test_many_classes_and_columns_are_cut_short_with_a_word(quick: ForkServer, tmp_path: Path) -> None:
    names = [f"x{i}" for i in range(50)]
    lines = [",".join([*(str((i * j) % 7) for j in range(1, 51)), f"c{i % 45:02d}"]) for i in range(135)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join([*names, "y"]), *lines]))
    out = shown(quick("data", "show", "csv", "--data", "wide.csv", "target=y", cwd=tmp_path))
    assert "5 more classes" in out
    assert "more columns; the page has them all" in out
    page = check_page(tmp_path / "csv-data.html")
    assert all(name in page.text for name in ("x0", "x49"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cvs"], ["'cvs'", "Did you mean 'csv'"]),
        (["csv"], ["data.path must be given"]),
        (["csv", "--data", "houses.csv", "target=prize"], ["'prize'", "Did you mean 'price'"]),
        (["csv", "--data", "houses.csv", "taget=price"], ["'taget'", "Did you mean 'target'"]),
        (["csv", "--data", "houses.csv", "price"], ["'price'", "key=value"]),
        (["csv", "--data", "nowhere.csv", "target=price"], ["nowhere.csv is not a file"]),
        (["digits", "--out", "missing/page.html"], ["missing/page.html cannot be written"]),
    ],
)
def test_what_cannot_be_shown_is_told(
    quick: ForkServer, houses: Path, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    check_refused(quick("data", "show", *arguments, cwd=tmp_path), *words)
    assert [path.name for path in tmp_path.iterdir()] == ["houses.csv"]


def test_dates_are_dates_and_whole_numbers_have_bins_of_their_own(quick: ForkServer, tmp_path: Path) -> None:
    rows = [f"2020-01-{1 + i % 31:02},{i % 6},{i * 7 % 300},{i / 7},{i % 2}" for i in range(400)]
    (tmp_path / "t.csv").write_text("day,children,age,size,bought\n" + "\n".join(rows))
    out = shown(quick("data", "show", "csv", "--data", "t.csv", "target=bought", "--out", "t.html", cwd=tmp_path))
    assert re.search(r"^ *day +date +2020-01-01 +2020-01-\d\d +2020-01-31 +0 *$", out, re.MULTILINE)
    check_page(tmp_path / "t.html", "2020-01-01 to 2020-01-31, mean 2020-01-")
    drawn = {
        title: json.loads(figure)
        for title, figure in re.findall(
            r'<h3>([^<]*)</h3><div class="chart".*?<script type="application/json">(.*?)</script>',
            (tmp_path / "t.html").read_text(),
        )
    }
    children = drawn["children"]["data"][0]
    assert children["x"] == [0, 1, 2, 3, 4, 5]
    assert children["y"] == [67, 67, 67, 67, 66, 66]
    assert set(np.diff(drawn["age"]["data"][0]["x"])) == {8.0}, "of 300 ages in 40 bins each has 8"
    assert len(drawn["size"]["data"][0]["x"]) == 40
    day = drawn["day"]
    assert day["layout"]["xaxis"]["type"] == "date"
    assert day["data"][0]["x"][0] == 18262 * 86_400_000
    assert "Bars are of" not in Page(tmp_path / "t.html").text


def test_bars_of_a_sample_say_so(quick: ForkServer, tmp_path: Path) -> None:
    shown(quick("data", "show", "moons", "examples=30000", cwd=tmp_path))
    words = "Bars are of 20,000 examples, evenly spread over all 30,000."
    check_page(tmp_path / "moons-data.html", words)


def test_a_text_is_shown_with_what_is_in_it(quick: ForkServer, tmp_path: Path) -> None:
    lines = ["the cat sat", "<b>the</b> übel", "the dog, the longest line of all of them"]
    (tmp_path / "one.txt").write_text("\n".join(lines), encoding="utf-8")
    out = shown(quick("data", "show", "text", "--data", "one.txt", "tokenizer=word", cwd=tmp_path))
    assert "text: 1 document, 69 bytes" in out
    assert re.search(r"characters +68 ", out)
    assert re.search(r"words +16 +11 ", out)
    assert "the 4" in out
    assert re.search(r"one\.txt:3 +40 +the dog, the longest line of all of them", out)
    assert "begins       the cat sat\n<b>the</b> übel" in out
    check_page(tmp_path / "text-data.html", "68 characters", "<b>the</b> übel", "The longest lines")
    figures = quick("data", "show", "text", "--data", "one.txt", "--json", cwd=tmp_path).json
    assert figures["tokenizer"] == "byte"
    assert figures["tokens"] == figures["bytes"] == 69
    assert figures["lines"] == 3
    assert figures["common_words"]["the"] == 4
    assert figures["longest_lines"][0] == {"document": "one.txt", "line": 3, "characters": 40, "text": lines[2]}
    (tmp_path / "one.txt").write_text("üü\n", encoding="utf-8")
    out = shown(quick("data", "show", "text", "--data", "one.txt", cwd=tmp_path))
    assert r"'\xbc' 2, '\xc3' 2, '\n' 1" in out  # tokens that are half a character


def test_texts_with_classes_are_shown_by_class(quick: ForkServer, tmp_path: Path) -> None:
    for label, texts in {"good": ["fine work", "fine", "very fine"], "bad": ["poor work indeed", "poor"]}.items():
        (tmp_path / "texts" / label).mkdir(parents=True)
        for i, text in enumerate(texts):
            (tmp_path / "texts" / label / f"{i}.txt").write_text(text)
    figures = quick("data", "show", "texts", "--data", "texts", "--json", cwd=tmp_path).json
    assert figures["classes"] == {"bad": 2, "good": 3}
    assert figures["text_tokens"] == {"least": 1, "median": 2.0, "most": 3}
    assert figures["documents"] == 5
    check_page(tmp_path / "texts-data.html", "Texts of each class", "1 to 3 tokens, 2 in the median")


def test_a_text_that_is_not_there_is_told(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("data", "show", "text", "--data", "absent.txt", cwd=tmp_path), "absent.txt is neither")
