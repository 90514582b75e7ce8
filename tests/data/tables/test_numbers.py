"""Money, percent and European numbers, through the file and through the command line."""

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import check_refused, gradlab
from hypothesis import given
from hypothesis import strategies as st

import gradlab.data.tables.records as records
from gradlab.data.tables.csv_files import csv
from gradlab.data.tables.numbers import NumberForm, forms
from gradlab.errors import GradlabError


def written(value: float, form: NumberForm, unit: str = "") -> str:
    """A number as a ledger of that form has it."""
    text = f"{value:,.2f}".translate(str.maketrans({",": form.thousands, ".": form.decimal}))
    return f"{unit}{text}"


def table(folder: Path, columns: dict[str, list[str]]) -> Path:
    quoted = [[f'"{value}"' for value in row] for row in zip(*columns.values(), strict=True)]
    (folder / "table.csv").write_text("\n".join(",".join(row) for row in [list(columns), *quoted]))
    return folder / "table.csv"


AMOUNTS = [36989.46, 1200.0, -3.5, 0.0, 4654.72, 1234567.89] * 5


@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), st.sampled_from(forms(".") + forms(",")), st.sampled_from("$€"))
def test_what_is_written_in_a_form_is_read_in_it(value, form, unit):
    assert form.parse(written(value, form, unit)) == value
    assert form.parse(written(value, form) + " %") == value


@pytest.mark.parametrize(
    "form", [NumberForm(".", ","), NumberForm(",", "."), NumberForm(",", " "), NumberForm(".", "'")]
)
def test_the_form_is_read_off_the_column(tmp_path, form):
    amounts = [written(value, form, "$") for value in AMOUNTS]
    raw = csv(0, path=str(table(tmp_path, {"paid": amounts, "y": ["yes", "no"] * 15})), target="y")
    assert raw.inputs[:, 0].tolist() == AMOUNTS
    [column] = raw.reader.inputs
    assert (column.kind, column.unit, column.form) == ("number", "$", form)
    assert f"written as {amounts[0]}" in column.note


def test_a_form_that_only_later_rows_show_holds_for_the_rows_before(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "_TOGETHER", 40)  # characters: a few rows at a time
    paid = ["4.654", "1.200", "3.000"] * 5 + ["12.345,50"] * 2
    raw = csv(0, path=str(table(tmp_path, {"paid": paid, "y": [str(i % 3) for i in range(17)]})), target="y")
    assert raw.inputs[:3, 0].tolist() == [4654, 1200, 3000]
    assert raw.inputs[-1, 0] == 12345.5


def test_money_as_a_target_is_a_number_and_not_a_class(tmp_path):
    path = table(
        tmp_path,
        {"size": [str(i) for i in range(30)], "price": [written(v, NumberForm(".", ","), "$") for v in AMOUNTS]},
    )
    raw = csv(0, path=str(path), target="price", keep=["size"])
    assert raw.classes is None
    assert raw.targets.tolist() == AMOUNTS


def test_new_rows_are_read_in_the_form_of_training(tmp_path):
    paid = [written(value, NumberForm(",", ".")) for value in AMOUNTS]
    raw = csv(0, path=str(table(tmp_path, {"paid": paid, "y": ["yes", "no"] * 15})), target="y")
    (tmp_path / "new.csv").write_text('paid\n"4.654"\n"1,5"\n')  # 4.654 alone looks like a number of another form
    assert raw.reader.read(str(tmp_path / "new.csv")).values[:, 0].tolist() == [4654.0, 1.5]
    (tmp_path / "bad.csv").write_text('paid\n"1,234.50"\n')
    with pytest.raises(GradlabError, match=r"bad.csv, line 2, column 'paid': '1,234.50' is not a number"):
        raw.reader.read(str(tmp_path / "bad.csv"))


@pytest.mark.parametrize("other", ["4.654,72", "€ 12"])
def test_two_ways_of_writing_in_one_column_are_refused(tmp_path, other):
    path = table(tmp_path, {"paid": ["$1,200.50"] * 20 + [other], "y": ["yes", "no", "no"] * 7})
    ended = gradlab("train", "csv", "--data", path, "data.target=y", cwd=tmp_path)
    check_refused(ended, "line 22", other, "$1,200.50", "data.categories=paid")


def test_a_regression_of_money_is_trained_and_used_by_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    size, share = rng.uniform(20, 120, 400), rng.uniform(0, 50, 400)
    price = 300 * size * (1 + share / 100) + rng.normal(0, 500, 400)
    columns = {
        "size": [written(v, NumberForm(",", ".")) for v in size],
        "share": [f"{v:.1f} %".replace(".", ",") for v in share],
        "price": [written(v, NumberForm(",", "."), "€ ") for v in price],
    }
    table(tmp_path, columns)
    ended = gradlab("train", "csv", "--data", "table.csv", "data.target=price", "--out", "run", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.json["test"]["r2"] > 0.9
    (tmp_path / "new.csv").write_text('size,share\n"100,00","10 %"\n')
    used = gradlab("predict", "run", "new.csv", "--json", cwd=tmp_path)
    assert used.code == 0, used.err
    assert used.json["predictions"][0]["value"] == pytest.approx(33_000, rel=0.1)
    for size, share, form in (("100,00", "10 ‰", "1234,50 %"), ("1,000.00", "10 %", "1234,50")):
        (tmp_path / "other.csv").write_text(f'size,share\n"{size}","{share}"\n')
        check_refused(gradlab("predict", "run", "other.csv", cwd=tmp_path), "other.csv, line 2", f"of the form {form},")
