import math

import pytest
import torch
from decoding_helpers import ByPrefix

from gradlab.sampling import Beam, beam_search, draw_tree

WORDS = ["START", "he", "I", "hit", "struck", "was", "got", "me", "a", *(f"word{i}" for i in range(20))]
FOLLOWING = {
    "START": {"he": -0.7, "I": -0.9},
    "START he": {"hit": -1.0, "struck": -2.2},
    "START I": {"was": -0.7, "got": -0.9},
    "START he hit": {"me": -0.8, "a": -1.1},
    "START I was": {"hit": -1.3, "struck": -2.2},
}


def the_course(tokens):
    """Log-probabilities of the example; what they leave is shared by words that are not in it."""
    rows = []
    for row in tokens.tolist():
        given = FOLLOWING.get(" ".join(WORDS[token] for token in row), {})
        rest = 1 - sum(math.exp(value) for value in given.values())
        share = math.log(rest / 20)
        rows.append([given.get(word, share if word.startswith("word") else -30.0) for word in WORDS])
    return torch.tensor(rows, dtype=torch.float64)[:, None].expand(-1, tokens.shape[1], -1)


def test_the_example_of_the_course():
    found = beam_search(the_course, [[0]], 3, Beam(2, n_best=2), record=True)
    texts = [" ".join(WORDS[token] for token in text[1:]) for text in found.tokens[0].tolist()]
    assert texts == ["he hit me", "he hit a"]
    assert found.log_probabilities[0].tolist() == pytest.approx([-2.5, -2.8])
    assert found.scores[0].tolist() == pytest.approx([-2.5 / 3, -2.8 / 3])
    assert draw_tree(found.trees[0], WORDS).splitlines() == [
        "START",
        "├─ he −0.7 ●",
        "│  ├─ hit −1.7 ●",
        "│  │  ├─ me −2.5 ■",
        "│  │  └─ a −2.8 ■",
        "│  └─ struck −2.9",
        "└─ I −0.9 ●",
        "   ├─ was −1.6 ●",
        "   │  ├─ hit −2.9",
        "   │  └─ struck −3.8",
        "   └─ got −1.8",
    ]


def test_recording_changes_nothing_and_the_tree_holds_what_was_found():
    for seed in range(10):
        model, prompts = ByPrefix(5, seed), [[1, 2, 3], [4]]
        for beam in (Beam(3, n_best=3), Beam(4, groups=2, diversity=0.6, n_best=3)):
            plain = beam_search(model, prompts, 5, beam, eos=0)
            found = beam_search(model, prompts, 5, beam, eos=0, record=True)
            assert torch.equal(plain.tokens, found.tokens)
            assert not plain.trees
            for i, root in enumerate(found.trees):
                for j in range(3):
                    node, text = root, found.tokens[i, j].tolist()[len(prompts[i]) :][: found.lengths[i, j]]
                    for token in text:
                        assert node.state == "kept"
                        (node,) = [child for child in node.children if child.token == token]
                    assert node.state == "finished"
                    assert node.log_probability == pytest.approx(float(found.log_probabilities[i, j]))


def test_every_node_is_as_probable_as_the_model_says():
    model = ByPrefix(4, 2)
    root = beam_search(model, [[1]], 4, Beam(2), eos=0, record=True).trees[0]

    def look(node, text):
        ranks = [child.log_probability for child in node.children]
        assert ranks == sorted(ranks, reverse=True)
        log_p = model.log_p(text)
        for child in node.children:
            assert child.log_probability == pytest.approx(node.log_probability + log_p[child.token])
            look(child, [*text, child.token])

    look(root, [1])
    assert {node.state for node in root} == {"kept", "dropped", "finished"}
    assert all(node.children == [] for node in root if node.state != "kept")


def test_at_most_as_many_are_followed_as_there_are_beams():
    root = beam_search(ByPrefix(6, 1), [[1]], 4, Beam(3), record=True).trees[0]
    level = [root]
    while level:
        level = [child for node in level for child in node.children]
        assert sum(node.state != "dropped" for node in level) <= 3


def test_tokens_are_drawn_as_numbers_or_by_a_function():
    root = beam_search(ByPrefix(3, 0), [[1]], 1, Beam(1), record=True).trees[0]
    assert draw_tree(root, digits=3, start="1").startswith("1\n└─ ")
    assert draw_tree(root, lambda token: "abc"[token]).splitlines()[1][3] in "abc"
