"""Equations in a terminal are compared as whole pictures, those on a page by their elements."""

from textwrap import dedent
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from gradlab.explanation.equations import _box, mathml, terminal
from gradlab.explanation.latex import tree

PICTURES = {
    "attention": (
        r"\mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d}}\right) V",
        """
               ⎛QKᵀ⎞
        softmax⎜───⎟ V
               ⎝√d ⎠
        """,
    ),
    "batch norm": (
        r"\hat x = \frac{x - \mu_B}{\sqrt{\sigma_B^2 + \varepsilon}}",
        """
             x − μ
                  B
        x̂ = ─────────
            √(σ² + ε)
               B
        """,
    ),
    "elu": (
        r"f(x) = \begin{cases} x & x > 0 \\ \alpha (e^x - 1) & \text{otherwise} \end{cases}",
        """
               ⎧x           x > 0
        f(x) = ⎨
               ⎩α(eˣ − 1)   otherwise
        """,
    ),
    "hard tanh": (
        r"f(x) = \begin{cases} -1 & x < -1 \\ x & |x| \le 1 \\ 1 & x > 1 \end{cases}",
        """
               ⎧−1   x < −1
        f(x) = ⎨x    |x| ≤ 1
               ⎩1    x > 1
        """,
    ),
    "divergence": (
        r"\mathrm{KL}(P \| Q) = \sum_i p_i \log \frac{p_i}{q_i}",
        """
                             pᵢ
        KL(P ‖ Q) = ∑ pᵢ log ──
                    i        qᵢ
        """,
    ),
    "recurrence": (
        r"h_t = \tanh(U x_t + b + W h_{t-1} + c)",
        """
        hₜ = tanh(Uxₜ + b + Whₜ₋₁ + c)
        """,
    ),
    "lstm cell": (
        r"c_t = f_t \odot c_{t-1} + i_t \odot \tilde c_t",
        """
        cₜ = fₜ ⊙ cₜ₋₁ + iₜ ⊙ c̃ₜ
        """,
    ),
    "rotary angle": (
        r"\theta_i = 10000^{-2i/d}",
        """
                  −2i/d
        θᵢ = 10000
        """,
    ),
    "rotation": (
        r"\begin{pmatrix} \cos a & -\sin a \\ \sin a & \cos a \end{pmatrix} \begin{pmatrix} x_1 \\ x_2 \end{pmatrix}",
        """
        ⎛cos a  −sin a⎞ ⎛x₁⎞
        ⎝sin a  cos a ⎠ ⎝x₂⎠
        """,
    ),
    "matrix transposed": (
        r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \\ 5 & 6 \end{bmatrix}^\top",
        """
        ⎡1  2⎤ᵀ
        ⎢3  4⎥
        ⎣5  6⎦
        """,
    ),
    "determinant": (
        r"\begin{vmatrix} a & b \\ c & d \end{vmatrix} = a d - b c",
        """
        │a  b│ = ad − bc
        │c  d│
        """,
    ),
    "space of matrices": (
        r"W \in \mathbb{R}^{n \times d}",
        """
             n×d
        W ∈ ℝ
        """,
    ),
    "norm": (
        r"\lVert x \rVert_2 = \sqrt{\sum_i x_i^2}",
        """
        ‖x‖₂ = √(∑ xᵢ²)
                 i
        """,
    ),
    "expectation": (
        r"\mathbb{E}_{x \sim p}[\log D(x)] + \mathbb{E}[\cdot]",
        """
        𝔼   [log D(x)] + 𝔼[·]
         x∼p
        """,
    ),
    "convolution size": (
        r"\left\lfloor \frac{n + 2p - k}{s} \right\rfloor + 1",
        """
        ⎢n + 2p − k⎥
        ⎢──────────⎥ + 1
        ⎣    s     ⎦
        """,
    ),
    "maximum": (
        r"y = \max_k x_k + \max(0, z)",
        """
        y = max xₖ + max(0, z)
             k
        """,
    ),
    "likelihood": (
        r"p(x) = \prod_{t=1}^{T} p(x_t \mid x_{<t})",
        """
                T
        p(x) =  ∏  p(xₜ ∣ x  )
               t=1         <t
        """,
    ),
    "aligned": (
        r"\begin{aligned} z &= W x + b \\ \hat y &= \sigma(z) \end{aligned}",
        """
        z = Wx + b
        ŷ = σ(z)
        """,
    ),
    "tall lines": (
        r"\begin{aligned} a &= b \\ c + d &= \frac{1}{2} \end{aligned}",
        """
            a = b

                1
        c + d = ─
                2
        """,
    ),
    "two equations a line": (
        r"\begin{aligned} a &= b & c &= d \\ e &= f & g &= h \end{aligned}",
        """
        a = b      c = d
        e = f      g = h
        """,
    ),
    "momentum": (
        r"\bar\theta \leftarrow d_t \bar\theta + (1 - d_t) \theta, \qquad d_t = \min(d, (1 + t) / (10 + t))",
        """
        θ̄ ← dₜθ̄ + (1 − dₜ)θ,      dₜ = min(d, (1 + t)/(10 + t))
        """,
    ),
    "penalty": (
        r"\tfrac{\lambda}{2} \lVert w \rVert_2^2 + \lambda_1 \lVert w \rVert_1",
        """
        λ
        ─ ‖w‖₂² + λ₁‖w‖₁
        2
        """,
    ),
    "cross-entropy": (
        r"\ell(z, y) = -\log \mathrm{softmax}(z)_y",
        """
        ℓ(z, y) = −log softmax(z)
                                 y
        """,
    ),
    "temperature": (
        r"T = \arg\min_T \sum_i -\log \mathrm{softmax}(z_i / T)_{y_i}",
        """
        T = arg min ∑ −log softmax(zᵢ/T)
               T    i                   yᵢ
        """,
    ),
    "softmax": (
        r"p_i = \frac{e^{x_i}}{\sum_j e^{x_j}}",
        """
               xᵢ
              e
        pᵢ = ──────
                 xⱼ
             ∑ⱼ e
        """,
    ),
    "rms norm": (
        r"y_i = g_i \, x_i \,/\, \sqrt{\tfrac1d \sum_j x_j^2 + \varepsilon}",
        """
                      ┌───────────
                      │1
        yᵢ = gᵢ xᵢ /  │─ ∑ xⱼ² + ε
                     √│d j
        """,
    ),
    "continued fraction": (
        r"\frac{1}{1 + \frac{1}{1 + \frac{1}{x}}}",
        """
              1
        ─────────────
                1
         1 + ───────
                  1
              1 + ─
                  x
        """,
    ),
    "gradient": (
        r"\frac{\partial L}{\partial w} = -\frac{1}{n} \sum_{i=1}^n (y_i - \hat y_i) \, x_i",
        """
        ∂L     1  n
        ── = − ─  ∑  (yᵢ − ŷᵢ) xᵢ
        ∂w     n i=1
        """,
    ),
    "adam": (
        r"\theta_t = \theta_{t-1} - \eta \frac{\hat m_t}{\sqrt{\hat v_t} + \varepsilon}",
        """
                        m̂ₜ
        θₜ = θₜ₋₁ − η ───────
                      √v̂ₜ + ε
        """,
    ),
    "gaussian": (
        r"\mathcal{N}(x) = \frac{1}{\sqrt{2\pi} \sigma} \exp\left(-\frac12 \left(\frac{x-\mu}{\sigma}\right)^2\right)",
        """
                 1       ⎛  1 ⎛x − μ⎞²⎞
        𝒩(x) = ────── exp⎜− ─ ⎜─────⎟ ⎟
               √(2π)σ    ⎝  2 ⎝  σ  ⎠ ⎠
        """,
    ),
    "limit": (
        r"\lim_{n \to \infty} \left( 1 + \frac{x}{n} \right)^n = e^x",
        """
            ⎛    x⎞ⁿ
        lim ⎜1 + ─⎟  = eˣ
        n→∞ ⎝    n⎠
        """,
    ),
    "calibration": (
        r"\sum_m \tfrac{n_m}n |\mathrm{accuracy}_m - \mathrm{confidence}_m|",
        """
          nₘ
        ∑ ── |accuracyₘ − confidenceₘ|
        m n
        """,
    ),
    "interval": (
        r"(\tfrac{m-1}M, \tfrac mM]",
        """
        ⎛m − 1  m⎤
        ⎜─────, ─⎥
        ⎝  M    M⎦
        """,
    ),
    "condition": (
        r"P\left( \frac{a}{b} \middle| c \right) = P(a | b)",
        """
         ⎛a │  ⎞
        P⎜─ │ c⎟ = P(a | b)
         ⎝b │  ⎠
        """,
    ),
    "double sum": (
        r"\sum_{i=1}^{n} \sum_{j \ne i} w_{ij} (x_i - x_j)^2",
        """
         n
         ∑   ∑  wᵢⱼ(xᵢ − xⱼ)²
        i=1 j≠i
        """,
    ),
    "integral": (
        r"\int_0^1 x^2 \, \mathrm{d}x = \frac13",
        """
                    1
        ∫₀¹ x² dx = ─
                    3
        """,
    ),
    "binomial": (
        r"\binom{n}{k} = \frac{n!}{k! (n - k)!}",
        """
        ⎛n⎞       n!
        ⎜ ⎟ = ──────────
        ⎝k⎠   k!(n − k)!
        """,
    ),
    "brackets": (
        r"\left\{ \frac a b \right\} + \left[ \frac a b \right] + \left\lVert \frac a b \right\rVert",
        """
        ⎧a⎫   ⎡a⎤   ║a║
        ⎨─⎬ + ⎢─⎥ + ║─║
        ⎩b⎭   ⎣b⎦   ║b║
        """,
    ),
    "small brackets": (
        r"(x^{\gamma\lambda}) + \left( x_W \right)",
        """
          γλ
        (x  ) + ⎛x ⎞
                ⎝ W⎠
        """,
    ),
    "roots": (
        r"\sqrt{d_k} + \sqrt{10} + \sqrt{x^2} + \sqrt[3]{x} + \sqrt[n]{\frac a b}",
        """
                                    ┌─
                                    │a
        √dₖ + √10 + √(x²) + ³√x +   │─
                                  ⁿ√│b
        """,
    ),
    "scripts": (
        r"x'_i + x^{(t+1)} + \theta^* + \sigma_B^2 + A^{-\top} + a_{n_k} + x_{ij}^2",
        """
        xᵢ′ + x⁽ᵗ⁺¹⁾ + θ* + σ² + A⁻ᵀ + a   + xᵢⱼ²
                             B          nₖ
        """,
    ),
    "scripts of a tall body": (
        r"\left( \frac a b \right)_W^\lambda x",
        """
        ⎛a⎞λ
        ⎜─⎟  x
        ⎝b⎠W
        """,
    ),
    "tall exponent": (
        r"e^{-\frac{x^2}{2}}",
        """
           x²
         − ──
           2
        e
        """,
    ),
    "accents": (
        r"\hat\theta + \bar x + \tilde y + \dot x + \ddot x + \vec v + \overline{ab} + \hat{xy}",
        """
                                ──   ^
        θ̂ + x̄ + ỹ + ẋ + ẍ + v⃗ + ab + xy
        """,
    ),
    "braces": (
        r"\underbrace{x + y}_{\text{sum}} + \overbrace{a + b}^{n}",
        """
                  n
                ╭─┴─╮
        x + y + a + b
        ╰─┬─╯
         sum
        """,
    ),
    "fonts": (
        r"\mathbf{W} x + \boldsymbol\theta + \mathcal L + \mathbb{1}[a = b] + \mathrm{d}x",
        """
        𝐖x + 𝜽 + ℒ + 𝟙[a = b] + dx
        """,
    ),
    "signs": (
        r"-x + (-1) \cdot \pm y \implies f \colon X \to Y, a := b \sim c",
        """
        −x + (−1) · ±y ⟹ f : X → Y, a ≔ b ∼ c
        """,
    ),
    "text": (
        r"f(x) = x \quad \text{if } x < 1 \text{ and}\ y",
        """
        f(x) = x   if x < 1 and y
        """,
    ),
}


@pytest.mark.parametrize(("latex", "picture"), PICTURES.values(), ids=PICTURES)
def test_picture(latex, picture):
    assert terminal(latex) == dedent(picture).strip("\n")


@pytest.mark.parametrize("latex", [latex for latex, _ in PICTURES.values()], ids=PICTURES)
def test_mathml_is_well_formed_and_its_elements_have_their_parts(latex):
    root = page(latex)
    assert root.tag == "math"
    assert root.get("display") == "block"
    parts = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
    for element in root.iter():
        assert len(element) == parts.get(element.tag, len(element))
        assert "\\" not in (element.text or "")
        assert "&" not in (element.text or "")


letters = st.sampled_from(
    ["x", r"\alpha", "12", r"\hat y", r"\lVert x \rVert", r"\mathrm{relu}(x)", r"\log z", "-w", "a + b", r"i \in I"]
)
forms = [
    r"\frac{%s}{%s}",
    r"{%s}_{%s}",
    r"{%s}^{%s}",
    r"\sum_{%s} %s",
    r"\prod_{i}^{%s} (%s)",
    r"\left( %s, %s \right)",
    r"\sqrt{%s / %s}",
    r"\begin{cases} %s & %s \\ 0 & 1 \end{cases}",
    r"\begin{aligned} %s &= %s \\ c &= d \end{aligned}",
    r"\bar{%s} \, %s",
    r"%s = %s",
]
equations = st.recursive(
    letters,
    lambda parts: st.builds(lambda form, a, b: form % (a, b), st.sampled_from(forms), parts, parts),
    max_leaves=8,
)


@given(equations)
def test_every_line_of_an_equation_has_the_same_width(latex):
    box = _box(tree(latex))
    assert {cell_len(line) for line in box.lines} == {box.width}
    assert 0 <= box.baseline < box.height
    assert ElementTree.fromstring(mathml(latex)) is not None


def page(latex):
    root = ElementTree.fromstring(mathml(latex))
    for element in root.iter():
        namespace, element.tag = element.tag[1:].split("}")
        assert namespace == "http://www.w3.org/1998/Math/MathML"
    return root


def written(latex, tag):
    return ["".join(element.itertext()) for element in page(latex).iter(tag)]


def test_a_word_is_one_identifier_and_a_lone_upright_letter_stays_upright():
    assert written(r"\mathrm{softmax}(z)", "mi") == ["softmax", "z"]
    assert [(e.text, e.get("mathvariant")) for e in page(r"\mathrm{d}x").iter("mi")] == [("d", "normal"), ("x", None)]


def test_letters_of_other_alphabets_are_other_characters():
    latex = r"\mathcal L \mathcal{N} \mathbf{w} \mathbb{R} \mathbb 1 \boldsymbol\theta"
    assert written(latex, "mi") + written(latex, "mn") == ["ℒ", "𝒩", "𝐰", "ℝ", "𝜽", "𝟙"]


def test_limits_stand_below_in_a_line_of_its_own_and_beside_in_a_fraction():
    for name in (r"\sum", r"\max", r"\arg\min", r"\operatorname*{argmax}"):
        assert len(written(rf"{name}_k x", "munder")) == 1
        assert len(written(rf"\left( {name}_k x \right)", "munder")) == 1
        assert written(rf"\frac{{{name}_k x}}{{2}}", "munder") == []
        assert written(rf"x^{{{name}_k x}}", "munder") == []
        assert written(rf"\begin{{pmatrix}} {name}_k x & 1 \end{{pmatrix}}", "munder") == []


def test_a_pair_of_brackets_is_a_row_and_carries_the_script_after_it():
    power = page("2 (a + b)^2").find(".//msup")
    assert [child.tag for child in power] == ["mrow", "mn"]
    assert [(child.text, child.get("form")) for child in power[0]] == [
        ("(", "prefix"),
        ("a", None),
        ("+", None),
        ("b", None),
        (")", "postfix"),
    ]


def test_a_sign_without_an_operand_before_it_is_a_prefix():
    latex = r"-a - b = \, -c, -d \cdot (-e) \quad - f + \sum_i -g - \mathrm{relu} - h"
    signs = [element.get("form") for element in page(latex).iter("mo") if element.text == "−"]
    assert signs == ["prefix", None, "prefix", "prefix", "prefix", None, "prefix", None, None]
    assert [element.get("rspace") for element in page(r"f(\cdot)").iter("mo")] == [None, "0", None]


def test_letters_among_the_operators_keep_no_distance():
    assert written(r"\nabla f + \partial x + \infty", "mi") == ["∇", "f", "∂", "x", "∞"]


def test_the_accent_of_one_letter_is_small():
    narrow, wide = page(r"\hat m + \hat{xy}").iter("mover")
    assert (narrow[1].text, narrow[1].get("stretchy")) == ("ˆ", "false")
    assert (wide[1].text, wide[1].get("stretchy")) == ("^", None)


def test_spaces_around_functions():
    def spaces(latex):
        return len(written(latex, "mspace"))

    assert spaces(r"2 \log x") == 2
    assert spaces(r"\log(x)") == spaces(r"-\log^2(x)") == spaces(r"\mathrm{softmax}(x)_i") == 0
    assert spaces(r"\sum_i (x)") == spaces(r"\max_i (x)") == spaces(r"\sum_i -x") == 1
    assert spaces(r"a \, \log \, x") == 2


def test_columns_have_their_sides_in_a_style_that_browsers_know():
    cases = page(r"\begin{cases} a & b \\ c & d \end{cases}")
    assert all("text-align: left" in cell.get("style") for cell in cases.iter("mtd"))
    right, left, *_ = page(r"\begin{aligned} a &= b \\ c &= d \end{aligned}").iter("mtd")
    assert "text-align: -webkit-right" in right.get("style")
    assert "text-align: left" in left.get("style")


def test_text_is_escaped():
    assert "a &lt; b &amp; c" in mathml(r"\text{a < b & c}").replace("\N{NO-BREAK SPACE}", " ")
    assert terminal(r"\text{a < b & c}") == "a < b & c"


@pytest.mark.parametrize(
    ("latex", "named"),
    [
        (r"\foo x", r"\foo"),
        (r"\frac{\foo}{2}", r"\foo"),
        (r"x_\foo", r"\foo"),
        (r"\text{a \foo}", r"\foo"),
        (r"\mathfoo{x}", r"\mathfoo"),
        (r"\begin{foo} x \end{foo}", "foo"),
        (r"a \\ b", r"\\"),
        (r"a & b", "&"),
        (r"\operatorname*{arg\,max}_k", r"\operatorname"),
        (r"\boxed{x}", "menclose"),
        (r"\frac{a}", "mfrac"),
        (r"\frac{a}{b", "brace"),
        (r"\left( a", "ExtraLeftOrMissingRightError"),
        ("x_1_2", "DoubleSubscriptsError"),
    ],
)
@pytest.mark.parametrize("draw", [mathml, terminal])
def test_what_is_not_known_is_named(draw, latex, named):
    with pytest.raises(ValueError, match="LaTeX") as caught:
        draw(latex)
    assert named in str(caught.value)
    assert latex in str(caught.value)
