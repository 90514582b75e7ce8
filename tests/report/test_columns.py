"""The report of a run on one's own table names the file, the target and the columns."""

import gradlab as gl


def test_the_report_tells_what_the_columns_were_taken_for(tmp_path):
    rows = [f"{i},{i * i % 7 / 7},{'a<b' if i % 3 else 'c'},{'yes' if i % 2 else 'no'}" for i in range(60)]
    (tmp_path / "mine.csv").write_text("id,size,kind,bought\n" + "\n".join(rows))
    changes = {"data.target": "bought", "train.epochs": 1}
    run = gl.train("csv", changes, data=tmp_path / "mine.csv", out=tmp_path / "run")
    page = (run.path / "report.html").read_text()
    assert "mine.csv (target bought)" in page
    assert "<td>id</td><td>number</td><td>left out</td><td>it counts the rows</td>" in page
    assert "a&lt;b" in page


def test_other_data_have_no_columns_to_tell_of(tmp_path):
    run = gl.train("moons-mlp", {"train.epochs": 1}, out=tmp_path / "run")
    assert "<h2>Columns</h2>" not in (run.path / "report.html").read_text()
