"""Parameters of the verbs."""

from datetime import date, datetime, timedelta, timezone

import pytest

from almanac_data.questions import DataQuestion, as_of_text, years_query


def test_writes_the_query_of_the_service() -> None:
    question = DataQuestion.of(
        ["a.x", "b.y"], countries="@eu", years=range(2000, 2011), latest=3, fields=["year"], missing="omit"
    )
    assert question.query() == [
        ("indicators", "a.x,b.y"),
        ("countries", "@eu"),
        ("from", "2000"),
        ("to", "2010"),
        ("latest", "3"),
        ("fields", "year"),
        ("missing", "omit"),
    ]
    named = DataQuestion.of("a.x", countries=["Hong Kong SAR, China", "PER"]).query()
    assert named[1] == ("countries", "Hong Kong SAR  China,PER")
    assert DataQuestion.of("a.x", countries="PER,CHL").query()[1] == ("countries", "PER,CHL")
    assert DataQuestion.of("a.x", layout="wide").query() == [("indicator", "a.x"), ("layout", "wide")]
    assert DataQuestion.of("a.x").columns()[0] == "indicator"


@pytest.mark.parametrize(
    ("years", "query"),
    [
        (None, []),
        (2020, [("from", "2020"), ("to", "2020")]),
        ((2000, 2010), [("from", "2000"), ("to", "2010")]),
        ((None, 2010), [("to", "2010")]),
        ((2000, None), [("from", "2000")]),
        ("2020", [("from", "2020"), ("to", "2020")]),
        ("2000-2010", [("from", "2000"), ("to", "2010")]),
        ("2000-", [("from", "2000")]),
        ("-2010", [("to", "2010")]),
        (range(2000, 2011), [("from", "2000"), ("to", "2010")]),
    ],
)
def test_spans_of_years_include_both_ends(years, query) -> None:  # type: ignore[no-untyped-def]
    assert years_query(years) == query


class Integer:
    """Like one of NumPy."""

    def __index__(self) -> int:
        return 2000


@pytest.mark.parametrize(
    ("years", "query"),
    [
        ([2000, 2010], [("years", "2000,2010")]),
        ({2010, 2000, 2005}, [("years", "2000,2005,2010")]),
        (range(2000, 2011, 5), [("years", "2000,2005,2010")]),
        ("2010, 2000", [("years", "2000,2010")]),
        ([2010, Integer()], [("years", "2000,2010")]),
        ([2000, 2001, 2001], [("from", "2000"), ("to", "2001")]),
    ],
)
def test_listed_years_are_these_alone(years, query) -> None:  # type: ignore[no-untyped-def]
    assert years_query(years) == query
    iterator = iter(years) if not isinstance(years, str) else years
    assert DataQuestion.of("a.x", years=iterator).extent() == query


def test_names_are_a_column_after_the_place() -> None:
    assert DataQuestion.of("a.x", names=True).query()[1][1].split(",")[:4] == ["indicator", "iso3", "name", "year"]
    grouped = DataQuestion.of("a.x", group="@eu", names=True)
    assert grouped.columns()[:4] == ("indicator", "iso3", "group", "name")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: years_query(range(2000, 2000)),
        lambda: years_query(()),
        lambda: years_query((2000, 2005, 2010)),
        lambda: years_query((None, None)),
        lambda: years_query([2000.5]),
        lambda: years_query([True]),
        lambda: years_query("1e3"),
        lambda: years_query("2000-2005-2010"),
        lambda: years_query(""),
        lambda: DataQuestion.of("a.x", years=[]),
        lambda: DataQuestion.of([]),
        lambda: DataQuestion.of(["a.x", ""]),
        lambda: DataQuestion.of("a.x", layout="broad"),
        lambda: DataQuestion.of("a.x", missing="drop"),
        lambda: DataQuestion.of("a.x", names=True, layout="wide"),
        lambda: DataQuestion.of("a.x", names=True, fields="value"),
        lambda: as_of_text(datetime(2026, 11, 20)),
    ],
)
def test_refuses_before_anything_is_sent(wrong) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=r"must (not )?be"):
        wrong()


def test_moments_keep_their_offset() -> None:
    assert as_of_text(date(2026, 11, 20)) == "2026-11-20"
    moment = datetime(2026, 11, 20, 12, tzinfo=timezone(timedelta(hours=1)))
    assert as_of_text(moment) == "2026-11-20T12:00:00+01:00"
