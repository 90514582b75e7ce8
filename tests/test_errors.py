import pytest

from gradlab.errors import GradlabError, Interrupted, TrainingError, one_line, unknown


@pytest.mark.parametrize(("kind", "code"), [(GradlabError, 2), (TrainingError, 1), (Interrupted, 130)])
def test_every_error_is_a_value_error_with_the_exit_code_of_its_kind(kind, code):
    assert issubclass(kind, ValueError)
    assert kind.exit_code == code


def test_an_unknown_name_is_answered_with_the_closest_valid_ones():
    error = unknown("optimizer", "adm", ["adam", "adamw", "sgd"])
    assert str(error) == "There is no optimizer 'adm'. Did you mean 'adam' or 'adamw'? Valid: adam, adamw, sgd."


def test_a_message_cannot_steer_a_terminal():
    assert str(GradlabError("the file \x1b[2J\nis damaged")) == "the file \\x1b[2J\nis damaged"


def test_an_exception_that_cannot_be_printed_is_named_by_its_class():
    unprintable = type("Unprintable", (Exception,), {"__str__": lambda self: self.missing})
    assert one_line(unprintable()) == "a Unprintable without a readable message"


def test_a_name_like_no_other_gets_no_guess():
    assert str(unknown("model", "zzz", ["mlp"])) == "There is no model 'zzz'. Valid: mlp."


def test_an_empty_set_of_names_is_said_to_be_empty():
    assert str(unknown("column", "a", [])) == "There is no column 'a'. Valid: none."
