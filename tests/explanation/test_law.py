"""What `explain` shows of a law: its statements, how each is asked, and of what."""

import pytest

from gradlab.explanation.law import LawExplanation, Statement, law_summaries
from gradlab.explanation.pages import _formula, law_page
from gradlab.verification.course import LAWS
from gradlab.verification.laws import checks_of


@pytest.fixture(scope="module")
def equivariance() -> LawExplanation:
    return LawExplanation.of("attention-query-equivariance")


def test_subjects_of_one_law_stand_together(equivariance: LawExplanation):
    assert [statement.words for statement in equivariance.statements] == [
        "The order of queries is kept.",
        "The order of tokens is carried through.",
    ]
    kept, carried = equivariance.statements
    assert kept.formula == "att(Q[τ], K, V) = att(Q, K, V)[τ]"
    assert {"attention.dot", "attention.hard", "attention.gaussian"} <= set(kept.worst)
    assert list(carried.worst) == ["attention.multihead"]
    assert all(error is not None and 0 <= error < 1e-9 for error in (kept.worst | carried.worst).values())


def test_the_code_that_asks_stands_beside_the_code_that_is_asked(equivariance: LawExplanation):
    names = [code.name.rpartition(".")[2] for code in equivariance.codes]
    assert names == [
        *("the_order_of_queries_is_kept", "DotAttention"),
        *("the_order_of_tokens_is_carried_through", "MultiheadAttention"),
    ]
    assert 'id="attention-query-equivariance"' in equivariance.codes[0].text
    assert "permutation" in equivariance.codes[0].text


def test_json_has_a_row_for_each_check(equivariance: LawExplanation):
    plain = equivariance.plain()
    assert (plain["name"], plain["group"]) == ("attention-query-equivariance", "Attention")
    assert len(plain["checks"]) == len(checks_of("attention-query-equivariance"))
    assert {tuple(row) for row in plain["checks"]} == {("about", "law", "formula", "worst_error")}
    assert all("def " in code["text"] for code in plain["code"])


def test_a_page_has_each_statement_with_its_formula(equivariance: LawExplanation):
    text = law_page(equivariance)
    assert text.count('class="statement"') == 2
    assert "att(Q[τ], K, V) = att(Q, K, V)[τ]" in text
    assert "default-src 'none'" in text


def test_a_formula_in_latex_is_drawn_and_others_are_text():
    drawn, text = Statement("", r"$\frac{a}{b} = c$", {}), Statement("", r"$x$ and $y$", {})
    assert drawn.latex == r"\frac{a}{b} = c"
    assert drawn.in_characters.splitlines() == ["a", "─ = c", "b"]
    assert (text.latex, text.in_characters) == ("", "x and y")


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("R_p R_q = R_(p+q)", "R<sub>p</sub> R<sub>q</sub> = R<sub>p+q</sub>"),
        ("∂h_i/∂h_{i-1}", "∂h<sub>i</sub>/∂h<sub>i-1</sub>"),
        ("e^(-β gap), ℓ_sum, e_iᵀ E", "e<sup>-β gap</sup>, ℓ<sub>sum</sub>, e<sub>i</sub>ᵀ E"),
        ("2 / fan_in, gain_of(f), a < b", "2 / fan_in, gain_of(f), a &lt; b"),
    ],
)
def test_indices_and_exponents_of_a_formula_stand_lower_and_higher(formula: str, shown: str):
    assert _formula(formula) == shown


def test_each_law_that_is_stated_has_a_sentence():
    summaries = law_summaries()
    assert list(summaries) == [law for law in LAWS if checks_of(law)]
    assert all(text[0].isupper() and text.endswith(".") for text in summaries.values())
