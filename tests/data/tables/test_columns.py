import math
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradlab.data.tables.columns import (
    DATE_FORMATS,
    ISO,
    MISSING,
    MISSING_CODE,
    UNKNOWN_CODE,
    Column,
    parse_date,
    parse_number,
    read_numbers,
)
from gradlab.errors import GradlabError

FINITE = st.floats(allow_nan=False)


def line(index):
    return f"line {index + 2}"


@given(st.lists(st.one_of(FINITE.map(repr), st.integers().map(str), st.sampled_from(sorted(MISSING)))))
def test_numbers_come_back_as_they_were_written_and_missing_ones_as_nan(texts):
    want = [math.nan if text in MISSING else float(text) for text in texts]
    np.testing.assert_array_equal(read_numbers(texts), want)
    np.testing.assert_array_equal(Column(name="a", kind="number").encode(texts, line), want)


@given(st.lists(FINITE, min_size=1))
def test_a_decimal_comma_is_read_like_a_point(values):
    texts = [repr(value).replace(".", ",") for value in values]
    assert read_numbers(texts, ",").tolist() == values
    assert [parse_number(text, ",") for text in texts] == values


@example("1_000")
@example("+nan")
@example("١٢")
@example("1\0")
@example(" 1 ")
@example("0x10")
@example("1e")
@given(st.one_of(st.text(alphabet="0123456789+-.eE_ ,infatyINF\0", max_size=6), st.text(max_size=6)))
def test_many_at_once_are_read_exactly_where_each_alone_is(text):
    if text in MISSING:
        return
    try:
        together = read_numbers([text, "1"])[0]
    except ValueError:
        together = None
    assert together == parse_number(text)


@pytest.mark.parametrize("text", ["1_000", "10_2", "+nan", "-NAN", "1 000", "one", "1.2.3", "true"])
def test_what_only_resembles_a_number_is_refused_with_its_place(text):
    with pytest.raises(GradlabError) as caught:
        Column(name="size", kind="number").encode(["1", "", text], line)
    assert f"line 4, column 'size': {text!r} is not a number. Mend it, or leave it empty." in str(caught.value)


def test_categories_become_their_index_the_missing_and_the_unknown_codes_of_their_own():
    column = Column(name="colour", kind="category", values=["blue", "red"])
    codes = column.encode(["red", "", "blue", "green", "NA", "Red"], line)
    assert codes.tolist() == [1, MISSING_CODE, 0, UNKNOWN_CODE, MISSING_CODE, UNKNOWN_CODE]


@given(st.datetimes(min_value=datetime(1000, 1, 1)))
def test_dates_are_days_since_1970_in_every_form(moment):
    days = (moment - datetime(1970, 1, 1)) / timedelta(days=1)
    assert parse_date(moment.isoformat(), ISO) == pytest.approx(days, abs=1e-9)
    assert parse_date(moment.isoformat(" ", "seconds"), ISO) == pytest.approx(days, abs=1.2e-5)
    for form in DATE_FORMATS[1:]:
        assert parse_date(moment.strftime(form), form) == math.floor(days)


@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.just(UTC)),
    st.integers(-12, 14),
)
def test_the_same_moment_is_the_same_day_in_every_time_zone(moment, hours):
    there = moment.astimezone(timezone(timedelta(hours=hours)))
    assert parse_date(there.isoformat(), ISO) == parse_date(moment.replace(tzinfo=None).isoformat(), ISO)


@given(st.text(max_size=12))
@example("0001-01-01T00:00+01:00")
def test_any_other_text_is_no_date_and_no_accident(text):
    for form in DATE_FORMATS:
        assert parse_date(text, form) is None or math.isfinite(parse_date(text, form))


def test_a_date_that_is_none_is_refused_with_its_place_and_the_form():
    column = Column(name="born", kind="date", format="%d.%m.%Y")
    assert column.encode(["02.01.1970", ""], line).tolist() == [1, pytest.approx(math.nan, nan_ok=True)]
    with pytest.raises(GradlabError) as caught:
        column.encode(["01.01.1970", "31.02.1970"], line)
    assert "line 3, column 'born': '31.02.1970' is not a date of the form %d.%m.%Y." in str(caught.value)
