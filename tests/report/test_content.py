"""What the report says is what the run did."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from gradlab.registry import Part
from gradlab.report.charts import PALETTE
from gradlab.report.pictures import signed, to_pixels
from gradlab.tasks.metrics import class_metrics

SERIES = ["train steps, averaged", "train sample", "validation"]


def pixels(address: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


def test_every_test_figure_stands_beside_its_baseline_and_validation(digits, digits_page):
    assert digits_page.titles[0] == "run", "a page is called as its user calls it: by the folder"
    assert "Run · digits-mlp · " in digits_page.text
    names = {"accuracy": "accuracy", "balanced accuracy": "balanced_accuracy", "macro F1": "f1", "AUROC": "auroc"}
    for name, metric in {**names, "loss": "loss"}.items():
        baseline = digits.finished["baseline"]["test"][metric]
        card = (
            f"test {name}{digits.test[metric]:.4f}majority class{baseline:.4f}validation{digits.validation[metric]:.4f}"
        )
        assert card in digits_page.text


def test_the_headline_says_what_was_trained(digits_page):
    assert "The model mlp with 910 parameters, trained on 1,222 examples of digits for 3 epochs" in digits_page.text
    assert "216 examples for validation, 359 for test" in digits_page.text


def test_a_figure_no_better_than_the_baseline_is_marked(train, read):
    still = read(train(Part("moons", {"examples": 100}), lr=1e-9, epochs=1)).path.read_text()
    assert 'class="figure poor"' in still


def test_curves_hold_the_metrics_log(digits, digits_page):
    loss = digits_page.figures["Loss"]["data"]
    assert [trace["name"] for trace in loss[:3]] == SERIES
    for trace, split in zip(loss, ("train", "train-sample", "validation"), strict=False):
        lines = [line for line in digits.metrics if line["split"] == split]
        assert trace["y"] == [line["loss"] for line in lines]
        assert trace["x"] == [line["epoch"] for line in lines]
    assert [trace["name"] for trace in digits_page.figures["Accuracy"]["data"][:2]] == SERIES[1:]
    assert {trace["name"] for trace in digits_page.figures["Update-to-weight ratio"]["data"]} == {
        "1.weight",
        "3.weight",
    }
    assert {"Gradient norm", "Learning rate", "Macro F1"} <= set(digits_page.figures)


def test_the_best_step_is_marked(train, read):
    run = train(Part("moons", {"examples": 100}), lr=0.3, epochs=12)  # so rash that the last step is not the best
    best = min((line for line in run.metrics if line["split"] == "validation"), key=lambda line: line["loss"])
    assert run.finished["weights"] == f"best, of step {best['step']}"
    mark = read(run).figures["Accuracy"]["data"][-1]
    assert mark["name"].startswith(f"best step, {best['step']}:")
    assert (mark["x"], mark["y"]) == ([best["epoch"]], [best["accuracy"]])


def test_the_confusion_matrix_agrees_with_the_figures(digits, digits_page):
    heat = digits_page.figures["Confusion matrix"]["data"][0]
    counts = np.array([[int(cell or 0) for cell in row] for row in heat["text"]])
    assert counts.sum() == 359
    assert counts.trace() / 359 == pytest.approx(digits.test["accuracy"])
    import torch

    assert class_metrics(10)["f1"].value(torch.from_numpy(counts).double()) == pytest.approx(digits.test["f1"])
    np.testing.assert_allclose(np.array(heat["z"]).sum(1), 1)
    actual = np.bincount(digits.dataset.test.targets.numpy())
    np.testing.assert_array_equal(counts.sum(1), actual)  # rows are actual classes, not predicted ones


def test_mistakes_are_shown_most_confident_first(digits, digits_page):
    dataset = digits.dataset
    rows = dataset.test.rows
    decoded = digits.describe(dataset.raw.inputs[rows])
    wrong = [(d, row) for d, row in zip(decoded, rows, strict=True) if d["label"] != str(dataset.raw.targets[row])]
    wrong.sort(key=lambda pair: -pair[0]["probability"])
    expected = [f"{dataset.raw.targets[row]}, taken for {d['label']}" for d, row in wrong]
    assert digits_page.pictures[: len(wrong[:24])] == expected[:24]
    assert f"probability {wrong[0][0]['probability']:.3f}" in digits_page.text
    shown = pixels(digits_page.loaded[0])
    np.testing.assert_array_equal(shown, to_pixels(dataset.raw.inputs[[r for _, r in wrong[:24]]])[0, ..., 0])


def test_mistakes_of_a_table_show_its_features(train, read):
    run = train(Part("iris"), "softmax", epochs=1, lr=1e-4)
    text = read(run).text
    assert "The most confident mistakes" in text
    assert "petal width (cm)" in text


def test_mistakes_of_a_table_show_categories_by_name_and_a_dash_for_what_is_missing(train, read, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{rng.choice(['red', 'blue'])},{i % 9 or ''},{rng.choice(['yes', 'no'])}" for i in range(200)]
    (tmp_path / "table.csv").write_text("colour,size,bought\n" + "\n".join(rows) + "\n")
    run = train(Part("csv", {"path": str(tmp_path / "table.csv"), "target": "bought"}), "softmax")
    page = read(run).path.read_text()
    cells = re.findall(r"<td>(.*?)</td>", page.partition("The most confident mistakes")[2].partition("</table>")[0])
    colours, sizes = cells[4::6], cells[5::6]
    assert set(colours) <= {"red", "blue"}
    assert set(sizes) <= {"–", *"12345678"}
    assert len(colours) == 12


def test_mistakes_of_a_table_show_dates_amounts_and_the_line_of_the_file(train, read, tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"{np.datetime64('2020-01-01') + i},{20_000 + i + 0.25},{rng.choice(['yes', 'no', '']) if i else 'yes'}"
        for i in range(300)
    ]
    (tmp_path / "loans.csv").write_text("opened,amount,paid\n" + "\n".join(rows) + "\n")  # rows without a target too
    page = read(train(Part("csv", {"path": str(tmp_path / "loans.csv"), "target": "paid"}), "softmax"))
    shown = page.path.read_text().partition("The most confident mistakes")[2].partition("</table>")[0]
    cells = re.findall(r"<td>(.*?)</td>", shown)
    assert "<th>line</th><th>actual</th>" in shown
    assert len(cells) == 12 * 6
    for line, actual, _, _, opened, amount in zip(*[iter(cells)] * 6, strict=True):
        assert rows[int(line) - 2] == f"{opened},{amount.replace(',', '')},{actual}"
    assert page.titles[0] == "run"
    assert "Run · loans.csv · tiny" in page.text


def test_axes_of_scores_follow_the_scores(digits, digits_page):
    for name in ("Loss", "Accuracy", "Macro F1"):
        axis = digits_page.figures[name]["layout"]["yaxis"]
        figure = {"Loss": "loss", "Accuracy": "accuracy", "Macro F1": "f1"}[name]
        values = [line[figure] for line in digits.metrics if line["step"] and figure in line]
        low, high = axis["range"]
        assert low < min(values) < max(values) < high, "after the first step"
        assert high - low < 1.2 * (max(values) - min(values))


def test_untrained_weights_are_not_praised(train, read):
    run = train(Part("moons", {"examples": 100}), lr=1e6, epochs=2)  # nothing is better than the weights it began with
    assert run.finished["weights"] == "best, of step 0"
    page = read(run)
    assert "nothing that was learned made it better" in page.text
    assert 'class="figure better"' not in page.path.read_text()


def test_a_chart_of_many_layers_has_no_legend(train, read, digits_page):
    assert digits_page.figures["Update-to-weight ratio"]["layout"]["showlegend"]
    deep = read(train(Part("moons", {"examples": 100}), Part("mlp", {"hidden": [4] * 9}), epochs=2))
    ratios = deep.figures["Update-to-weight ratio"]
    assert not ratios["layout"]["showlegend"]
    assert len({trace["line"]["color"] for trace in ratios["data"]}) == 10
    assert "point at a line to see its name" in deep.text


def test_first_layer_weights_are_pictures(digits, digits_page):
    assert len([alt for alt in digits_page.pictures if alt.startswith("weights of unit")]) == 12
    weight = next(digits.model.parameters()).detach().numpy().reshape(12, 8, 8)
    unit = int(digits_page.pictures[-1].rpartition(" ")[2])
    np.testing.assert_array_equal(pixels(digits_page.loaded[-1]), signed(weight[unit]))


def test_weights_are_blue_above_zero_red_below_and_the_stronger_the_larger():
    above, below, faint, zero = signed(np.array([2.0, -2.0, 1.0, 0.0])).astype(int)
    assert above[2] > above[0]
    assert below[0] > below[2]
    assert (above[3], below[3], faint[3], zero[3]) == (255, 255, 127, 0)


def test_two_features_have_decision_regions(train, read):
    run = train(Part("moons", {"examples": 400}), epochs=20)
    figure = read(run).figures["Decision regions"]
    plane = figure["layout"]["images"][0]
    image = pixels(plane["source"])
    height, width = image.shape[:2]
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    x = plane["x"] + plane["sizex"] * columns / (width - 1)
    y = plane["y"] - plane["sizey"] * rows / (height - 1)
    said = run.predict(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(height, width)
    for name, colour in zip(["upper", "lower"], PALETTE, strict=False):
        painted = (image[..., :3] == [int(colour[i : i + 2], 16) for i in (1, 3, 5)]).all(-1)
        assert painted.any()
        # A point on the boundary may fall to either side by rounding.
        assert (painted == (said == name)).mean() > 0.999
    points = np.concatenate([np.column_stack([t["x"], t["y"]]) for t in figure["data"]])
    test = run.dataset
    raw = test.raw.inputs[test.test.rows]
    np.testing.assert_array_equal(np.sort(points, axis=0), np.sort(raw, axis=0))


def test_other_inputs_have_no_decision_regions(digits_page):
    assert "Decision regions" not in digits_page.figures


def test_a_regression_shows_predictions_in_raw_units(train, read):
    run = train(Part("diabetes"), "linear", "regress")
    figures = read(run).figures
    dataset = run.dataset
    rows = dataset.test.rows
    cloud = figures["Predicted against actual"]["data"][1]
    assert cloud["x"] == dataset.raw.targets[rows].tolist()
    assert cloud["y"] == run.predict(dataset.raw.inputs[rows]).tolist()
    assert sum(figures["Residuals"]["data"][0]["y"]) == len(rows)
    assert "Data and fitted curve" not in figures
    assert "Confusion matrix" not in figures


def test_one_input_has_a_fitted_curve_in_raw_units(train, read):
    run = train(Part("polynomial"), Part("linear", {"degree": 3}), "regress")
    traces = {trace["name"]: trace for trace in read(run).figures["Data and fitted curve"]["data"]}
    curve = traces["model"]
    np.testing.assert_allclose(curve["y"], run.predict(np.array(curve["x"])[:, None]))
    dataset = run.dataset
    assert traces["train"]["y"] == dataset.raw.targets[dataset.train.rows].tolist()
    assert traces["test"]["x"] == dataset.raw.inputs[dataset.test.rows, 0].tolist()


def test_counts_are_shown_with_the_scatter_that_a_poisson_law_gives_them(train, read):
    run = train(Part("counts"), "linear", "poisson", epochs=20, lr=0.05)
    page = read(run)
    dataset = run.dataset
    rows = dataset.test.rows
    cloud = page.figures["Predicted against actual"]["data"][1]
    assert cloud["x"] == dataset.raw.targets[rows].tolist()
    np.testing.assert_allclose(cloud["y"], run.predict(dataset.raw.inputs[rows]))
    residuals = (np.array(cloud["y"]) - cloud["x"]) / np.sqrt(cloud["y"])
    assert f"standard deviation {residuals.std():.3g}" in page.text
    assert residuals.std() == pytest.approx(1, abs=0.15)
    bars = page.figures["Residuals"]["data"][0]
    assert sum(bars["y"]) == len(rows)
    assert np.average(bars["x"], weights=bars["y"]) == pytest.approx(residuals.mean(), abs=0.1)


def test_a_metric_that_is_undefined_has_no_curve_and_no_card(train, read, tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3))
    np.savez(tmp_path / "constant.npz", x=x, y=np.full(40, 2.5))
    page = read(train(Part("npz", {"path": str(tmp_path / "constant.npz")}), "linear", "regress"))
    assert "test R²" not in page.text
    assert page.figures["R²"]["data"] == [] or all(trace["y"] == [] for trace in page.figures["R²"]["data"])
    assert "test RMSE" in page.text


def test_the_loss_of_the_steps_is_told_to_be_another_where_it_is(train, read):
    plain = train(Part("moons", {"examples": 60}))
    smoothed = train(Part("moons", {"examples": 60}), task=Part("classify", {"label_smoothing": 0.1}))
    words = "The loss of the train steps is the one that is minimised"
    assert words not in read(plain).text
    assert words in read(smoothed).text


def test_several_targets_share_a_chart_in_standard_deviations(train, read, tmp_path):
    x = np.random.default_rng(0).normal(size=(80, 2))
    np.savez(tmp_path / "two.npz", x=x, y=x * [1.0, 1000.0])
    run = train(Part("npz", {"path": str(tmp_path / "two.npz")}), "linear", "regress")
    clouds = read(run).figures["Predicted against actual"]["data"][1:]
    assert [cloud["name"] for cloud in clouds] == ["target 0", "target 1"]
    assert all(np.std(cloud["x"]) == pytest.approx(1, abs=0.5) for cloud in clouds)


@pytest.mark.parametrize("absent", ["validation", "test"])
def test_a_split_may_be_absent(train, read, absent):
    page = read(train(Part("moons", {"examples": 60, absent: 0.0})))
    shown = {"validation": "test accuracy", "test": "validation accuracy"}[absent]
    assert shown in page.text
    assert ("Confusion matrix" in page.figures) == (absent != "test")
    assert ("Accuracy" in page.figures) == (absent != "validation")


def test_inputs_that_are_neither_a_table_nor_a_picture_are_fine(train, read, tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 2, 3)).astype(np.float32)
    np.savez(tmp_path / "odd.npz", x=x, y=np.arange(60) % 3)
    assert "Confusion matrix" in read(train(Part("npz", {"path": str(tmp_path / "odd.npz")}))).figures


def test_the_recipe_the_environment_and_the_next_commands_are_there(digits, digits_page):
    assert digits.recipe.to_toml() in digits_page.text
    assert digits.environment["torch"] in digits_page.text
    for command in (f"predict {digits.path} INPUT", f"evaluate {digits.path}", f"train {digits.path}/recipe.toml"):
        assert f"gradlab {command}" in digits_page.text


def test_a_run_that_goes_wrong_has_the_card_of_the_doctor(train, read, digits_page):
    run = train(Part("digits"), Part("mlp", {"hidden": [12]}), lr=30.0)
    page, (finding, *others) = read(run), run.findings
    titles = {title.lower() for title in page.titles}
    assert finding.severity == "error"
    assert finding.title.lower() in titles
    assert all(text in page.text for text in (finding.slug, finding.evidence.split(";")[0], finding.fix.split(" ")[0]))
    notes = {f.title.lower() for f in others if f.severity == "note"}
    assert notes
    assert not notes & titles
    assert "What the doctor says" not in digits_page.titles
