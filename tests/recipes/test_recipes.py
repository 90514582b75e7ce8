import inspect

import pytest
import torch

from gradlab.data import Stream, sources
from gradlab.errors import GradlabError
from gradlab.recipe import Recipe
from gradlab.recipes import DEFAULT, book, cpu_changes, doc, find
from gradlab.tasks.objective import named
from gradlab.training.experiment import Experiment, resolve


def found(name, path="/somewhere", device=""):
    """The recipe, with what its source needs to be told."""
    recipe = find(name, device)
    told = {"path": str(path), "target": "price", "time": "day", "horizon": 7}
    knobs = sources.schema(recipe.data.name).knobs
    return recipe.override({f"data.{key}": value for key, value in told.items() if key in knobs})


@pytest.mark.parametrize("name", sorted(book))
def test_every_recipe_has_the_name_it_is_found_by_and_a_sentence_about_it(name):
    assert find(name).name == name
    assert doc(name).endswith(".")


@pytest.mark.parametrize("name", sorted(book))
def test_every_recipe_resolves_and_goes_through_toml_exactly(name):
    resolved = resolve(found(name))
    text = resolved.to_toml()
    again = resolve(Recipe.from_toml(text, f"{name}.toml"))
    assert again == resolved
    assert again.to_toml() == text


@pytest.mark.parametrize("name", sorted(cpu_changes))
def test_what_has_a_gpu_in_mind_is_smaller_on_a_cpu(name):
    large, small = (resolve(found(name, device=device)) for device in ("cuda", "cpu"))
    assert large == resolve(found(name))
    apart = {key for key, value in small.flat().items() if large.flat()[key] != value}
    assert apart == set(cpu_changes[name])


@pytest.mark.parametrize("name", [n for n in sorted(book) if "path" not in sources.schema(find(n).data.name).knobs])
def test_every_recipe_that_brings_its_data_can_be_built(name):
    experiment = Experiment.of(find(name), torch.device("cpu"))
    batch = _first_batch(experiment)
    output = experiment.task.forward(experiment.model.eval(), batch)
    if not isinstance(output, torch.Tensor):  # losses, of which there may be several
        assert all(total.isfinite() for losses in output for total, _ in named(losses, "loss").values())
    elif experiment.task.outputs:
        assert (output.shape[0], output.shape[-1]) == (len(batch["targets"]), experiment.task.outputs)
    else:  # examples again
        assert output.shape == batch["inputs"].shape
    assert experiment.steps > 0


def _first_batch(experiment):
    """Some examples; of what acts, the first batch that comes of acting."""
    train = experiment.splits["train"]
    if not isinstance(train, Stream):
        return experiment.dataset.train.batch(slice(0, 3))
    train.start(experiment.model)
    return next(train.batches(0))


def test_the_default_recipe_is_in_the_book():
    assert DEFAULT in book


def test_a_recipe_is_made_anew_each_time():
    assert find(DEFAULT) == find(DEFAULT)
    assert inspect.isfunction(book[DEFAULT])


def test_a_variant_is_its_parent_with_some_values_changed():
    parent, variant = find("digits-mlp"), find("digits-dropout")
    assert (variant.data, variant.task, variant.train) == (parent.data, parent.task, parent.train)
    assert variant.model.values["dropout"] == 0.3


def test_a_recipe_may_come_from_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(find("moons-mlp").to_toml())
    assert find(str(path)) == find("moons-mlp")


def test_an_unknown_recipe_is_answered_with_the_nearest_name():
    with pytest.raises(GradlabError, match=r"There is no recipe 'digit-mlp'\. Did you mean 'digits-mlp'"):
        find("digit-mlp")


@pytest.mark.parametrize("name", ["nowhere.toml", "x" * 300])
def test_a_file_that_cannot_be_read_is_told(name):
    with pytest.raises(GradlabError):
        find(name)


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(GradlabError, match=r"mine\.toml is damaged"):
        find(str(tmp_path / "mine.toml"))
