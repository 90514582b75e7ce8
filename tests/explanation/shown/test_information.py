"""Pictures of information, bounds and convexity: they can be drawn, and show what they say."""

import json

import numpy as np
import pytest
import torch
from torch.distributions import Normal

from gradlab.explanation.picture import figure_of, figure_page
from gradlab.explanation.shown import convexity, information, latent

PICTURES = [
    *(information.coin, information.uniforms, information.code_lengths, information.normals_that_agree),
    *(information.both_ways, information.change_of_variable, latent.bounds_and_evidence),
    *(convexity.gap, convexity.counterexample, convexity.below_sets),
]


@pytest.mark.parametrize("draw", PICTURES, ids=lambda draw: draw.__name__)
def test_a_picture_has_named_axes_and_says_what_is_seen(draw):
    figure = draw()
    assert all(figure.layout[name]["title"]["text"] for name in ("xaxis", "yaxis"))
    assert len(figure.note) > 50
    for slider in figure.layout.get("sliders", ()):
        for i, step in enumerate(slider["steps"]):
            shown = step["args"][1]
            assert len(shown) == len(figure.traces)
            assert any(shown)
            if i == slider["active"]:
                assert shown == [trace.get("visible", True) for trace in figure.traces]


def test_laws_and_blocks_have_their_pictures():
    for name in ("jensen", "elbo", "divergence.kl", "kl-diffeo-invariance", "convex-function", "entropy-bounds"):
        assert figure_of(name) in PICTURES


def test_the_bound_rises_to_the_evidence():
    figure = latent.bounds_and_evidence()
    evidence = Normal(0.0, 1.25**0.5).log_prob(torch.tensor(1.8)).item()
    for trace in figure.traces[1::2]:
        assert (np.diff(trace["y"]) > -0.02).all()  # where it is there, luck is all that is left
        assert trace["y"][-1] == pytest.approx(evidence, abs=0.05)


def test_divergences_are_the_same_in_all_coordinates():
    names = [trace["name"] for trace in information.change_of_variable().traces[1::2]]
    assert len(set(names)) == 1


def test_the_normal_that_takes_one_is_at_a_mode_and_the_other_between():
    figure = information.both_ways()
    *_, p, wide, narrow = (trace for trace in figure.traces if trace["visible"])
    x = np.asarray(p["x"])
    assert x[np.asarray(narrow["y"]).argmax()] == pytest.approx(-2, abs=0.05)
    assert x[np.asarray(wide["y"]).argmax()] == pytest.approx(-0.4, abs=0.05)  # 0.6 · -2 + 0.4 · 2


def test_a_picture_is_plain_json():
    page = figure_page("jensen-gap", convexity.gap())
    start = page.index('type="application/json">') + len('type="application/json">')
    assert json.loads(page[start : page.index("</script>", start)])["data"]
