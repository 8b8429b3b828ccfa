"""Tables for people, and the progress bar."""

import io

import pytest

from almanac_data import Listing, Provenance, Series, Table
from almanac_data.columns import Columns
from almanac_data.display import display_width, html_table, text_table
from almanac_data.progress import Progress

ROWS = [
    {"name": "Côte d’Ivoire", "value": 1234567.0, "rank": None},
    {"name": "日本 (Japan), the country", "value": 0.25, "rank": 12},
]


def test_aligns_numbers_to_the_right() -> None:
    assert text_table(["name", "value", "rank"], ROWS).split("\n") == [
        "name                         value  rank",
        "-------------------------  -------  ----",
        "Côte d’Ivoire              1234567",
        "日本 (Japan), the country     0.25    12",
    ]


def test_cuts_text_until_lines_fit() -> None:
    for width in range(28, 60):
        lines = text_table(["rank", "name", "value"], ROWS, width).split("\n")
        assert all(display_width(line) <= width for line in lines)
        assert "1234567" in lines[2]
    assert "…" in text_table(["rank", "name", "value"], ROWS, 28)


def test_never_cuts_what_a_row_is_about() -> None:
    assert "日本 (Japan), the country" in text_table(["name", "value", "rank"], ROWS, 28)


def test_html_is_escaped() -> None:
    html = html_table(["<a>"], [{"<a>": '<script>"&'}, {"<a>": 2.0}], "one & <two>\nthree")
    assert html == (
        "<table><caption>one &amp; &lt;two&gt;<br>three</caption><thead><tr><th>&lt;a&gt;</th></tr></thead><tbody>"
        "<tr><td>&lt;script&gt;&quot;&amp;</td></tr>"
        '<tr><td style="text-align: right">2</td></tr></tbody></table>'
    )


def test_a_list_of_records_shows_as_a_table_and_is_a_list() -> None:
    records = [{"id": f"<{at}>", "name": "one", "unit": None} for at in range(25)]
    listing = Listing(records, ("id", "name"))
    assert listing == records
    assert repr(listing).split("\n")[:3] == ["id    name", "----  ----", "<0>   one"]
    assert repr(listing).endswith("\n… 5 more")
    assert "<td>&lt;0&gt;</td><td>one</td>" in listing._repr_html_()
    assert (listing[0], repr(listing[:1])) == (records[0], "id   name\n---  ----\n<0>  one")


def test_a_table_shows_unit_credit_line_and_licence_and_gives_rows_by_position() -> None:
    series = Series("a.b", "Life <expectancy>", "years", "CC BY 4.0", None, "Institute")
    provenance = Provenance("20261120T020000Z-00000001", None, 12, None, None, (series,), ("UK",))
    columns: Columns = {
        **{"indicator": ["a.b"] * 12, "iso3": ["KEN"] * 12},
        **{"year": list(range(2000, 2012)), "ci_lo": [None] * 12},
    }
    table = Table(columns, {}, provenance)
    lines = repr(table).split("\n")
    assert lines[:4] == ["a.b: Life <expectancy>, years", "iso3  year", "----  ----", "KEN   2000"]
    assert lines[-4:] == [
        "… 2 more rows",
        "12 rows, snapshot 20261120T020000Z-00000001, 12 credits",
        "Institute (CC BY 4.0): Life <expectancy>, a.b. Almanac, snapshot 20261120T020000Z-00000001.",
        "no country has the code UK",
    ]
    html = table._repr_html_()
    assert html.startswith("<table><caption>a.b: Life &lt;expectancy&gt;, years</caption>")
    assert html.count("<tr>") == 11
    assert "Institute (CC BY 4.0): Life &lt;expectancy&gt;" in html
    assert table[0] == {"indicator": "a.b", "iso3": "KEN", "year": 2000, "ci_lo": None}
    assert [row["year"] for row in table[-2:]] == [2010, 2011]
    assert table[-1] == table.rows[-1]
    with pytest.raises(IndexError):
        table[12]
    with pytest.raises(KeyError, match="there are indicator, iso3, year, ci_lo"):
        table["valeu"]


def test_shows_no_control_characters() -> None:
    assert text_table(["a"], [{"a": "x\x1b[2J\ny"}]).split("\n")[-1] == "x [2J y"
    assert text_table(["a"], []) == "no rows"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_appears_only_at_a_terminal_and_after_a_while() -> None:
    now = [0.0]
    for stream, until, is_shown in ((Terminal(), 3.0, True), (Terminal(), 0.4, False), (io.StringIO(), 3.0, False)):
        now[0] = 0.0
        with Progress("data", stream=stream, clock=lambda: now[0]) as progress:
            progress.total = 1000
            for step in range(1, 5):
                now[0] = until * step / 4
                progress.add(250)
        shown = stream.getvalue()
        assert ("100%" in shown) is is_shown
        assert not is_shown or shown.split("\r")[-2].strip() == ""  # gone at the end
