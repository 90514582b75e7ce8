"""How the numbers of a column are written: plain, or with a unit, with thousands apart, with a decimal comma."""

import re
from dataclasses import dataclass
from functools import cache

_SYMBOLS = "$€£¥₹₩₽₺%‰"
_CURRENCIES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|MXN|kr|zł"
_UNIT = f"[{_SYMBOLS}]|{_CURRENCIES}"
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[+−-])?\s*(?P<before>{_UNIT})?\s*(?P<inner>[+−-])?"
    rf"(?P<digits>\d[\d.,' ]*(?<! )|[.,]\d+)\s*(?P<after>{_UNIT})?(?P<close>\))?"
)
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'"})


@dataclass(frozen=True)
class NumberForm:
    """A point or a comma before the decimals, and what stands between thousands."""

    decimal: str = "."
    thousands: str = ""

    def parse(self, text: str, unit: str = "") -> float | None:
        """The number; None for a text of another form, or with another unit where the unit is known.

        >>> NumberForm(".", ",").parse("$36,989.46"), NumberForm(",", ".").parse("4.654,72"), NumberForm().parse("12 %")
        (36989.46, 4654.72, 12.0)
        >>> NumberForm(".", ",").parse("4.654,72"), NumberForm(".", ",").parse("(1,200)")
        (None, -1200.0)
        >>> NumberForm(".", ",").parse("€12", unit="$"), NumberForm(".", ",").parse("12", unit="$")
        (None, 12.0)
        """
        parts = split(text)
        if parts is None or not _digits(self).fullmatch(parts.digits) or (unit and parts.unit not in ("", unit)):
            return None
        plain = parts.digits.replace(self.thousands, "") if self.thousands else parts.digits
        value = float(plain.replace(self.decimal, "."))
        return -value if parts.negative else value


@dataclass(frozen=True)
class Written:
    """The parts of a number."""

    digits: str
    negative: bool
    unit: str


def split(text: str) -> Written | None:
    """A text that is a number in some form; one in brackets is negative, as in accounts.

    >>> split("-€ 1.200"), split("soon")
    (Written(digits='1.200', negative=True, unit='€'), None)
    """
    match = _NUMBER.fullmatch(text.translate(_SPACES))
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    signs = [sign for sign in (match["sign"], match["inner"], match["open"]) if sign]
    if len(signs) > 1 or (match["before"] and match["after"]):
        return None
    return Written(match["digits"], bool(signs) and signs[0] != "+", match["before"] or match["after"] or "")


@cache
def _digits(form: NumberForm) -> re.Pattern[str]:
    decimals = rf"(?:{re.escape(form.decimal)}\d*)?"
    grouped = rf"|\d{{1,3}}(?:{re.escape(form.thousands)}\d{{3}})+{decimals}" if form.thousands else ""
    return re.compile(rf"\d+{decimals}|{re.escape(form.decimal)}\d+{grouped}")


def forms(decimal: str) -> list[NumberForm]:
    """All forms, those with this decimal sign first: where several fit, the first holds."""
    other = "," if decimal == "." else "."
    return [
        NumberForm(sign, thousands)
        for sign, thousands_of in ((decimal, other), (other, decimal))
        for thousands in ("", thousands_of, " ", "'")
    ]
