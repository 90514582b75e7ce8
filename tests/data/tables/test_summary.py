import pytest

from gradlab.data.tables.summary import TableSummary


def summary(folder, header, row, rows=30):
    path = folder / "t.csv"
    path.write_text("\n".join([header, *map(row, range(rows))]) + "\n")
    return TableSummary.read(path)


def test_every_column_is_described(tmp_path):
    table = summary(tmp_path, "size,kind,day,empty", lambda i: f"{i or ''},{'ab'[i % 2]},2025-01-{i + 1:02},")
    kinds = {column.name: (column.kind, column.values, column.distinct, column.missing) for column in table.columns}
    assert kinds == {
        "size": ("number", "1 to 29", 29, 1),
        "kind": ("category", "a, b", 2, 0),
        "day": ("date", "2025-01-01 to 2025-01-30 (ISO 8601)", 30, 0),
        "empty": ("category", "no value", 0, 30),
    }
    assert table.rows == 30
    assert table.head[1] == ["1", "b", "2025-01-02", ""]


def test_a_column_that_turns_out_to_be_text_is_read_again(tmp_path):
    filling = "x" * 100  # so that the file has several blocks
    table = summary(tmp_path, "a,b", lambda i: f"{i // 600 if i < 29_999 else 'x'},{filling}", rows=30_000)
    assert (table.columns[0].kind, table.columns[0].distinct) == ("category", 51)


@pytest.mark.parametrize(
    ("header", "row", "target"),
    [
        ("price,area", lambda i: f"{i * 1.5},{i % 7}", "price"),
        ("area,worth", lambda i: f"{i % 7},{i * 1.5}", "worth"),
        ("area,kind,id,day,same", lambda i: f"{i % 7},{'ab'[i % 2]},{i},2025-01-{i + 1:02},1", "kind"),
        ("id,day", lambda i: f"{i},2025-01-{i + 1:02}", None),
    ],
)
def test_the_likely_target_can_be_predicted(tmp_path, header, row, target):
    assert summary(tmp_path, header, row).likely_target == target


def test_sentences_are_told_from_names(tmp_path):
    table = summary(tmp_path, "name,review", lambda i: f"n{i},this is what customer {i} wrote")
    assert table.text_column == "review"
