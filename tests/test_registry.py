from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlab.errors import GradlabError
from gradlab.registry import Count, Fraction, Knob, Natural, Part, Positive, Registry, Schema, plain_values, type_name

colours: Registry[str] = Registry("colour")


@colours.register("red")
def red(*, shade: Annotated[Fraction, "how dark"] = 0.5) -> str:
    """Red."""
    return f"red {shade}"


@colours.register("blue")
def blue() -> str:
    """Blue."""
    return "blue"


def shared(*, seed: Annotated[Natural, "of the paint"] = 0) -> None: ...


houses: Registry[str] = Registry("house", shared=shared)


@houses.register("hut")
def hut(
    place: str,
    *,
    owner: Annotated[str, "who lives there"],
    rooms: Annotated[list[Count], "size of each room"] = [3],  # noqa: B006
    height: Annotated[Positive, "in metres"] = 2.0,
    doors: Annotated[Count, "how many"] = 1,
    tenants: Annotated[Count | None, "if any"] = None,
    roof: Annotated[Literal["flat", "steep"], "its form"] = "flat",
    beds: Annotated[Count | Literal["many"], "how many"] = 1,
    heated: Annotated[bool, "in winter"] = False,
    colour: Annotated[Part, colours, "of the walls"] = Part("red", {"shade": 0.25}),  # noqa: B008
) -> str:
    """A hut."""
    return f"{place}: {owner}, {colours.build(colour)}"


@dataclass(frozen=True, kw_only=True)
class Walls:
    height: Annotated[Positive, "in metres"] = 5.0
    colour: Annotated[Part, colours, "of the walls"] = Part("blue")  # noqa: RUF009


@dataclass(frozen=True, kw_only=True)
class CastleWalls(Walls):
    height: Annotated[Positive, "in metres; the keep has more"] = 9.0
    gates: Annotated[Count, "how many"] = 1
    moats: Annotated[list[Count], "width of each"] = field(default_factory=lambda: [3, 2])


forts: Registry[tuple[object, ...]] = Registry("fort", shared=shared)


@forts.register("castle")
def castle(place: str, *, owner: Annotated[str, "who lives there"], walls: CastleWalls, towers: Count = 4):
    """A castle."""
    return place, owner, walls, towers


def resolved(**values):
    return houses.resolve(Part("hut", {"owner": "me", **values}), "house").values


def refused(**values):
    with pytest.raises(GradlabError) as caught:
        resolved(**values)
    return str(caught.value)


def test_every_knob_is_filled_in_with_its_default():
    assert resolved() == {
        "owner": "me",
        "rooms": [3],
        "height": 2.0,
        "doors": 1,
        "tenants": None,
        "roof": "flat",
        "beds": 1,
        "heated": False,
        "colour": Part("red", {"shade": 0.25}),
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("doors", "3", 3),
        ("height", "1e-3", 1e-3),
        ("height", "3", 3.0),
        ("heated", "true", True),
        ("heated", "False", False),
        ("heated", "0", False),
        ("rooms", "4,5", [4, 5]),
        ("rooms", " 4 , 5 ", [4, 5]),
        ("rooms", "7", [7]),
        ("rooms", "", []),
        ("beds", "12", 12),
        ("beds", "many", "many"),
        ("tenants", "5", 5),
        ("tenants", "none", None),
        ("tenants", "None", None),
        ("owner", "none", "none"),
    ],
)
def test_text_is_read_by_the_type_of_the_knob(key, text, value):
    got = resolved(**{key: text})[key]
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("doors", "two", "house.doors=two is not valid"),
        ("doors", "0", "It takes: int ≥ 1."),
        ("doors", 1.5, "It takes: int ≥ 1."),
        ("doors", None, "house.doors=None is not valid"),
        ("doors", "none", "house.doors=none is not valid"),
        ("height", "nan", "house.height=nan is not valid"),
        ("height", float("inf"), "house.height=inf is not valid"),
        ("height", 0, "greater than 0"),
        ("rooms", "4,x", "house.rooms=4,x is not valid"),
        ("rooms", [4, 0], "house.rooms=4,0 is not valid"),
        ("roof", "round", "It takes: flat | steep."),
        ("heated", "perhaps", "It takes: bool."),
        ("beds", "few", "It takes: int ≥ 1 | many."),
        ("tenants", "x", "It takes: int ≥ 1 | none."),
        ("colour", 5, "house.colour must be a name or a table with a 'name', got 5."),
        ("colour", "rde", "There is no colour 'rde'. Did you mean 'red'?"),
        ("colour", Part(5), "colour"),
        ("colour", {"name": "red", "shade": 1}, "house.colour.shade=1 is not valid"),
        ("colour", {"name": "blue", "shade": 0.1}, "There is no key in house.colour, 'shade'"),
        ("door", 2, "There is no key in house, 'door'. Did you mean 'doors'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_key_and_what_it_takes(key, value, says):
    assert says in refused(**{key: value})


def test_a_knob_without_a_default_must_be_given():
    with pytest.raises(GradlabError, match=r"house.owner must be given: who lives there\."):
        houses.resolve(Part("hut"), "house")


def test_a_nested_part_keeps_the_defaults_of_its_knob_only_under_its_own_name():
    assert resolved(colour={"name": "red"})["colour"] == Part("red", {"shade": 0.25})
    assert resolved(colour=Part("", {"shade": 0.75}))["colour"] == Part("red", {"shade": 0.75})
    assert resolved(colour="blue")["colour"] == Part("blue", {})


def test_building_passes_the_given_things_and_the_own_knobs_but_not_the_shared_ones():
    part = houses.resolve(Part("hut", {"owner": "me", "seed": 3}), "house")
    assert houses.build(part, "wood") == "wood: me, red 0.25"
    assert houses.shared(part) == {"seed": 3}


def test_resolving_twice_is_resolving_once():
    part = houses.resolve(Part("hut", {"owner": "me", "rooms": "1,2", "colour": "blue"}), "house")
    assert houses.resolve(part, "house") == part


@given(
    st.lists(st.integers(1, 10**9)),
    st.floats(0, 3.4e38, exclude_min=True),
    st.booleans(),
    st.none() | st.integers(1, 2**63 - 1),
    st.floats(0, 1, exclude_max=True),
)
def test_a_resolved_value_written_as_text_is_read_back_exactly(rooms, height, heated, tenants, shade):
    values = resolved(rooms=rooms, height=height, heated=heated, tenants=tenants, colour=Part("red", {"shade": shade}))
    again = resolved(
        rooms=",".join(map(str, rooms)),
        height=repr(height),
        heated=str(heated),
        tenants=str(tenants),
        colour=Part("red", {"shade": repr(shade)}),
    )
    assert again == values


def test_an_unknown_builder_is_answered_with_the_names():
    with pytest.raises(GradlabError, match=r"There is no house 'hat'. Did you mean 'hut'\? Valid: hut\."):
        houses["hat"]


def test_names_come_sorted():
    assert colours.names() == list(colours) == ["blue", "red"]


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(GradlabError, match="There is a colour named 'red' already"):
        colours.register("red")(blue)


def test_documentation_type_and_choices_come_from_the_signature():
    knobs = houses.schema("hut").knobs
    assert (knobs["rooms"].doc, knobs["rooms"].type_name) == ("size of each room", "list of int ≥ 1")
    assert (knobs["colour"].choices, knobs["colour"].type_name) == (colours, "blue | red")
    assert knobs["owner"].default is Knob.empty
    assert knobs["seed"].doc == "of the paint"


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (int, "int"),
        (str, "text"),
        (bool, "bool"),
        (Count | None, "int ≥ 1 | none"),
        (Fraction | None, "float ≥ 0 < 1 | none"),
        (Count | Literal["full"], "int ≥ 1 | full"),
        (list[Count] | None, "list of int ≥ 1 | none"),
        (list[str], "list of text"),
        (Positive, "float > 0"),
    ],
)
def test_a_type_is_named_as_people_say_it(annotation, said):
    assert type_name(annotation) == said


def test_only_keyword_parameters_are_knobs():
    assert list(Schema(red).knobs) == ["shade"]
    assert "place" not in Schema(hut).knobs


def test_none_is_written_by_absence_and_a_bare_part_by_its_name():
    values = {"a": None, "b": Part("red"), "c": Part("red", {"shade": 0.1}), "d": [1]}
    assert plain_values(values) == {"b": "red", "c": {"name": "red", "shade": 0.1}, "d": [1]}


def test_a_dataclass_stands_for_its_fields_in_the_place_of_its_parameter():
    knobs = forts.schema("castle").knobs
    assert list(knobs) == ["owner", "height", "colour", "gates", "moats", "towers", "seed"]
    assert (knobs["height"].doc, knobs["height"].default) == ("in metres; the keep has more", 9.0)
    assert knobs["colour"].choices is colours
    assert (knobs["moats"].default, forts.resolve(Part("castle", {"owner": "me"}), "fort").values["moats"]) == (
        [3, 2],
    ) * 2


def test_a_dataclass_is_put_together_again_to_build():
    values = {
        "owner": "me",
        "gates": "3",
        "colour": {"name": "red", "shade": "0.1"},
        "towers": 2,
        "seed": 7,
        "moats": "4,1",
    }
    part = forts.resolve(Part("castle", values), "fort")
    walls = CastleWalls(gates=3, moats=[4, 1], colour=Part("red", {"shade": 0.1}))
    assert forts.build(part, "hill") == ("hill", "me", walls, 2)
    assert forts.resolve(Part("castle", part.values), "fort") == part
    assert forts.build(Part("castle", {"owner": "me"}), "hill") == ("hill", "me", CastleWalls(), 4)


def test_errors_name_the_fields_of_a_dataclass_as_any_other_knob():
    for values, says in {
        "gates": r"^fort\.gates=0 is not valid",
        "gate": r"^There is no key in fort, 'gate'\. Did you mean 'gates'",
        "walls": r"^There is no key in fort, 'walls'\.",
    }.items():
        with pytest.raises(GradlabError, match=says):
            forts.resolve(Part("castle", {"owner": "me", values: "0"}), "fort")
