"""What holds for the package as a whole."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import gradlab
from gradlab.data import sources
from gradlab.models import models
from gradlab.nn.activations import activations
from gradlab.recipes import book, doc
from gradlab.tasks import tasks
from gradlab.training.optimizers import optimizers
from gradlab.training.plan import plan_schema
from gradlab.training.schedules import schedules

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "gradlab"
REGISTRIES = [sources, models, tasks, optimizers, schedules, activations]
BUILDERS = [(registry, name) for registry in REGISTRIES for name in registry]
ROOMS = ["data", "models", "nn", "probes", "recipes", "run", "sampling", "tasks"]


def every_module():
    found = pkgutil.walk_packages(gradlab.__path__, "gradlab.")
    return [m.name for m in found if not m.name.endswith("__main__") and ".contestants" not in m.name]


def test_public_names_are_still_there_after_importing_every_room():
    for name in every_module():
        importlib.import_module(name)
    for name in gradlab.__all__:
        assert inspect.ismodule(getattr(gradlab, name)) == (name in ("maths", "nn", "register")), name
    for name in ("train", "resume", "fit", "load_run"):
        assert inspect.isfunction(getattr(gradlab, name)), name


def test_a_name_that_is_not_public_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'trian'"):
        _ = gradlab.trian


def test_dir_lists_the_public_names_alone():
    assert dir(gradlab) == sorted(gradlab.__all__)


def test_tab_completion_offers_names_that_are_not_loaded():
    code = "import gradlab as gl, rlcompleter; print(rlcompleter.Completer({'gl': gl}).attr_matches('gl.fi'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "gl.find_lr(" in done.stdout
    assert "gl.fit(" in done.stdout


@pytest.mark.parametrize("name", ["nn", "maths", "register"])
def test_a_public_module_is_an_attribute_that_is_loaded_when_used(monkeypatch, name):
    monkeypatch.delattr(gradlab, name, raising=False)  # as after `import gradlab` alone
    assert getattr(gradlab, name) is sys.modules[f"gradlab.{name}"]


@pytest.mark.parametrize(
    "code",
    [
        "import gradlab",
        "import gradlab; dir(gradlab)",
        "from gradlab.cli import main; main(['--help'])",
        "from gradlab.cli import main; main(['--version'])",
        "from gradlab.cli import main; main(['train', '--help'])",
        "from gradlab.cli import main; main(['recipes'])",
        "from gradlab.cli import main; main(['recipes', '--json'])",
    ],
)
def test_what_answers_at_once_imports_neither_torch_nor_scikit_learn(code):
    watched = f"""
import sys
try:
    {code}
except SystemExit as end:
    assert not end.code, end.code
print("heavy:", sorted({{"torch", "sklearn", "plotly"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", watched], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_no_extra_has_replaced_torch():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (wanted,) = [r for r in map(Requirement, project["dependencies"]) if r.name == "torch"]
    installed = Version(version("torch"))
    assert wanted.specifier.contains(installed, prereleases=True)
    lines = [line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines()]
    for pin in (Requirement(line) for line in lines if line and not line.startswith("#")):
        if pin.name == "torch":
            # The local part names the build (cpu, cu128): the pin leaves it open.
            assert pin.specifier.contains(Version(installed.public))


def test_the_version_is_written_in_one_place():
    written = [p for p in SOURCE.rglob("*.py") if re.search(r"^__version__\s*(:.*)?=", p.read_text(), re.MULTILINE)]
    assert len(written) == 1
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert ROOT / project["tool"]["hatch"]["version"]["path"] == written[0]
    assert version("gradlab") == gradlab.__version__


@pytest.mark.parametrize(("registry", "name"), BUILDERS, ids=[f"{r.kind} {n}" for r, n in BUILDERS])
def test_every_builder_and_each_of_its_knobs_is_documented(registry, name):
    assert inspect.getdoc(registry[name])
    undocumented = [knob.name for knob in registry.schema(name).knobs.values() if not knob.doc]
    assert not undocumented


def test_every_key_of_the_training_plan_is_documented():
    assert not [knob.name for knob in plan_schema.knobs.values() if not knob.doc]


def test_every_default_is_a_value_that_its_own_knob_takes():
    schemas = [registry.schema(name) for registry, name in BUILDERS]
    for schema in [*schemas, plan_schema]:
        for knob in schema.knobs.values():
            if knob.default is not knob.empty and knob.default is not None:
                assert knob.choices or knob.resolve(knob.default, knob.name) == knob.default


@pytest.mark.parametrize("name", sorted(book))
def test_every_recipe_is_documented(name):
    assert doc(name)


def test_every_public_name_is_documented():
    rooms = [gradlab, *(importlib.import_module(f"gradlab.{room}") for room in ROOMS)]
    for room in rooms:
        assert room.__doc__
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                assert inspect.getdoc(thing), f"{room.__name__}.{name}"


@pytest.mark.parametrize("name", every_module())
def test_every_module_says_what_it_is(name):
    assert importlib.import_module(name).__doc__


def test_nothing_in_the_package_unpickles():
    loads = re.compile(r"\bpickle\b|torch\.load\(|allow_pickle=True|joblib")
    for path in SOURCE.rglob("*.py"):
        code = "\n".join(line for line in path.read_text().splitlines() if "allow_pickle=False" not in line)
        found = [m for m in loads.finditer(code) if _is_code(code, m.start())]
        assert not found, f"{path}: {found[0].group()}"


def _is_code(text, place):
    """Whether a match is in a statement and not in words about it."""
    line = text[text.rfind("\n", 0, place) + 1 : text.find("\n", place)]
    return bool(re.match(r"\s*(import|from)\s", line)) or "(" in line[line.find(text[place : place + 6]) :][:20]
