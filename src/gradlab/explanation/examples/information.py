"""Worked examples of information: a divergence that is infinite one way."""

from gradlab.explanation.walk import Step, worked
from gradlab.maths import information


@worked("kl-asymmetry-exercise", "A divergence that is log 2 one way, and infinite the other")
def one_way_and_the_other() -> list[Step]:
    p, q = [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]
    surprises = [information.surprise(each, base=2).tolist() for each in (p, q)]
    there, back = information.kl(p, q), information.kl(q, p)
    bits, extra = information.kl(p, q, base=2), information.huffman(q).mean_length(p)
    return [
        Step(
            "Two distributions over three outcomes, of which one holds the last impossible.",
            r"P = \left( \tfrac{1}{2}, \tfrac{1}{2}, 0 \right), \quad "
            r"Q = \left( \tfrac{1}{4}, \tfrac{1}{4}, \tfrac{1}{2} \right)",
            f"surprises in bits: {_row(surprises[0])} and {_row(surprises[1])}",
        ),
        Step(
            "Where P is true, the last outcome never happens and adds nothing, since 0 log 0 = 0. The others surprise "
            "one who believes in Q by one bit more.",
            r"\mathrm{KL}(P \Vert Q) = 2 \cdot \tfrac{1}{2} \log \frac{1/2}{1/4} + 0 \log \frac{0}{1/2} = \log 2",
            f"{there.item():.4f} nats = {bits.item():g} bit",
        ),
        Step(
            "Where Q is true, half of all outcomes were held impossible: no number of nats makes up for that.",
            r"\mathrm{KL}(Q \Vert P) = 2 \cdot \tfrac{1}{4} \log \frac{1/4}{1/2} "
            r"+ \tfrac{1}{2} \log \frac{1/2}{0} = \infty",
            _row([back.item()]).strip("()"),
        ),
        Step(
            "A code shows both. That for Q has words for all three, and spends that one bit more on outcomes of P than "
            "P's own code does; that for P has no word for the last outcome at all.",
            r"L_Q(P) - L_P(P) = \mathrm{KL}(P \Vert Q)",
            f"words {_words(information.huffman(q))} need {extra.item():g} bits, words "
            f"{_words(information.huffman(p))} need {information.huffman(p).mean_length(p).item():g}",
        ),
        Step(
            "Symmetric measures of the same two are finite.",
            r"d_{TV} = \tfrac{1}{2} \sum_i | P_i - Q_i |, \qquad \mathrm{JS} \le \log 2",
            f"d_TV = {information.total_variation(p, q).item():g}, JS = {information.jensen_shannon(p, q).item():.4f}",
        ),
    ]


def _row(values: list[float]) -> str:
    return f"({', '.join('∞' if value == float('inf') else f'{value:g}' for value in values)})"


def _words(code: information.HuffmanCode) -> str:
    return ", ".join(code.words[i] for i in sorted(code.words))
