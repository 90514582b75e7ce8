"""What is said of users' own modules."""

from pathlib import Path

import pytest
import torch
from torch import nn

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.nn.blocks import blocks
from gradlab.verification import Subject, checks, run_check
from gradlab.verification.results import CheckResult
from gradlab.verification.user_code import import_object, read_values

FILE = Path(__file__).with_name("user_modules.py")


def user_module(name):
    return import_object(f"{FILE}:{name}")


@pytest.mark.parametrize("name", ["Rectifier", "build_rectifier"])
def test_a_right_class_or_factory_passes(name):
    verification = gl.verify(user_module(name), like="activation.relu", cases=10)
    assert verification.passed
    assert {v.kind for v in verification.results} == {"twin", "law", "peer"}


def test_a_wrong_class_is_caught_with_its_smallest_example():
    verification = gl.verify(user_module("Leaky"), like="activation.relu", cases=50)
    twin = verification.results[0]
    assert twin.passed is False
    assert twin.example["axes"] == 0
    assert twin.example["x"].item() == -3.0  # the first whole number, times the scale of 3, at which it leaks
    assert "x = -3" in str(verification)
    broken = [v.name for v in verification.broken]
    assert "stretching the input stretches the output" in broken
    assert "the slope at zero is zero" not in broken


def test_one_smallest_case_is_shown_and_the_other_findings_are_a_line_each():
    verification = gl.verify(user_module("Leaky"), like="activation.relu", cases=20)
    (first, case), *others = verification.findings
    assert first.startswith("twin broken: ")
    assert "x = -3" in case
    assert others
    assert not any(lines for _, lines in others)
    assert len(str(verification).splitlines()) == (
        1 + len(verification.results) + 1 + len(verification.findings) + len(case) + 1
    )


def test_weights_come_after_what_a_module_is_called_with_and_a_case_ends_somewhere():
    drawn = {"its weight": torch.zeros(1), **{f"size {i}": i for i in range(20)}, "x": torch.ones(1)}
    _, *lines = CheckResult("twin", "t", 1, 1.0, False, 0.0, "off", drawn).details()
    assert lines[0] == "size 0 = 0"
    assert len(lines) == 17
    assert lines[-1] == "… and 6 more"
    few = CheckResult("twin", "t", 1, 1.0, False, 0.0, "off", {"its weight": torch.zeros(1), "x": torch.ones(1)})
    assert few.details()[1:] == ["x = [1]", "its weight = [0]"]


@pytest.mark.parametrize(
    ("like", "bias"), [("recurrent.rnn_cell", "one"), ("transformer.mlp", False), ("transformer.gated_mlp", True)]
)
def test_a_bias_that_is_left_out_or_asked_for_is_part_of_the_comparison(like, bias):
    kind = blocks[like]

    class Mine(kind):
        pass

    class Wrong(kind):
        def forward(self, x, *args):
            return super().forward(x + 1, *args)

    assert gl.verify(Mine, like=like, bias=bias, cases=6)
    assert gl.verify(Wrong, like=like, bias=bias, cases=6).verdict == "broken"


@pytest.mark.parametrize("like", ["loss.hinge", "loss.squared_hinge"])
def test_the_slope_at_a_kink_is_a_convention(like):
    power = 2 if "squared" in like else 1

    def on_the_margin_it_slopes(output, y):  # as torch.clamp has it
        return (torch.clamp(1 - y * output, min=0) ** power).mean()

    def beyond_the_margin_it_slopes(output, y):
        return (torch.clamp(1 - y * output, min=-0.1) ** power).mean()

    assert gl.verify(on_the_margin_it_slopes, like=like, cases=20)
    assert gl.verify(beyond_the_margin_it_slopes, like=like, cases=20).verdict == "broken"


def test_a_module_is_checked_as_it_is_and_left_so():
    module = nn.PReLU(3, init=0.5)
    verification = gl.verify(module, like="activation.prelu", num_parameters=3, cases=10)
    assert verification.passed
    assert module.weight.tolist() == [0.5, 0.5, 0.5]
    assert module.weight.dtype == torch.float32


def test_the_sizes_of_a_module_are_read_off_its_attributes():
    assert gl.verify(nn.PReLU(2), like="activation.prelu", cases=5).passed


def test_a_module_whose_sizes_are_not_known_says_what_to_give():
    module = nn.PReLU(2)
    del module.num_parameters
    verification = gl.verify(module, like="activation.prelu", cases=5)
    assert verification.verdict == "undecided"
    assert not verification
    assert "has no attribute num_parameters; say num_parameters=…" in verification.conclusion


def test_a_parameter_of_another_name_is_found():
    assert gl.verify(user_module("Slope"), like="activation.prelu", cases=5)


def test_values_for_the_class_and_for_the_checks_may_have_different_names():
    verification = gl.verify(
        user_module("Largest"), like="activation.maxout", width=2, height=1, pieces=2, in_features=3, cases=10
    )
    assert verification.passed


def test_a_setting_that_the_class_does_not_take_is_assumed_to_be_our_default():
    verification = gl.verify(user_module("Largest"), like="activation.maxout", width=2, height=1, cases=5)
    assert verification.verdict == "agrees"
    assert gl.verify(user_module("Largest"), like="activation.maxout", width=3, height=1, cases=5).verdict == "broken"


def test_a_class_that_cannot_be_built_is_told_in_one_line():
    with pytest.raises(GradlabError, match=r"Picky\(.*in_features=1.*\) cannot be built: RuntimeError: not today"):
        gl.verify(user_module("Picky"), like="activation.maxout")


def test_a_module_that_raises_is_wrong():
    class Raises(nn.Module):
        def forward(self, x):
            raise TypeError("no")

    (result, *_) = gl.verify(Raises, like="activation.relu", cases=5).results
    assert result.passed is False
    assert result.reason == "it raises TypeError: no"


def test_what_is_raised_on_tensors_that_it_does_not_take_is_not_held_against_it():
    class OfThreeAxes(nn.Module):
        def forward(self, x):
            _batch, _steps, _features = x.shape
            return torch.relu(x)

    class OfShortOnes(nn.Module):
        def forward(self, x):
            if x.shape[-1:] > (3,):
                raise ValueError("too long")
            return torch.relu(x)

    assert gl.verify(OfThreeAxes, like="activation.relu", cases=20)
    assert gl.verify(OfShortOnes, like="activation.relu", cases=20).verdict == "broken"


def test_a_check_that_needs_another_value_than_the_fixed_one_is_not_made():
    verification = gl.verify(nn.GELU, like="activation.gelu", approximate="tanh", cases=10)
    assert verification.verdict == "agrees"
    outcomes = {result.name: result.passed for result in verification.results}
    assert outcomes["scratch.functions.gelu"] is None
    assert outcomes["scratch.functions.gelu_tanh"] is True
    assert gl.verify(nn.GELU(approximate="tanh"), like="activation.gelu", cases=10)


def test_a_result_of_another_shape_is_wrong():
    class Flat(nn.Module):
        def forward(self, x):
            return torch.relu(x).flatten()

    (result, *_) = gl.verify(Flat, like="activation.relu", cases=20).results
    assert result.passed is False
    assert "shape" in result.reason


def test_nan_is_wrong():
    class Nan(nn.Module):
        def forward(self, x):
            return torch.relu(x) * torch.nan

    (result, *_) = gl.verify(Nan, like="activation.relu", cases=5).results
    assert result.passed is False


def test_what_is_no_class_is_refused():
    with pytest.raises(GradlabError, match="neither a module"):
        gl.verify(3, like="activation.relu")
    with pytest.raises(GradlabError, match="say which block"):
        gl.verify(nn.ReLU)


def test_a_block_is_verified_by_its_name():
    assert gl.verify("activation.tanh", cases=5).passed


def test_the_same_cases_are_drawn_each_time():
    check = checks["activation.gelu"][0]
    first, second = (run_check(check, Subject.block("activation.gelu"), 10) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nothing", "names no class. Write FILE.py:Class"),
        ("absent.py:Class", "There is no file absent.py"),
        ("no_such_module_at_all:Class", "cannot be imported: ModuleNotFoundError"),
        (f"{FILE}:Rectifer", "Did you mean 'Rectifier'"),
    ],
)
def test_what_cannot_be_imported_is_reported(where, message):
    with pytest.raises(GradlabError, match=message):
        import_object(where)


def test_a_file_that_raises_is_told(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(GradlabError, match=r"broken\.py cannot be imported: ZeroDivisionError: division by zero"):
        import_object(f"{tmp_path}/broken.py:Class")


def test_a_class_is_found_in_an_importable_module():
    assert import_object("torch.nn:ReLU") is nn.ReLU


def test_words_that_are_no_values_are_refused():
    with pytest.raises(GradlabError, match="'heads' is no value"):
        read_values(["heads"])


def test_what_has_laws_alone_says_that_they_hold_and_that_it_has_no_twin():
    assert gl.verify("maths.weighted_bound", examples=3).conclusion == (
        "undecided: its laws hold, but there is no twin by whose values it could be compared"
    )
