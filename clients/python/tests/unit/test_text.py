"""Tables for people, and the progress bar."""

import io

from almanac_data.progress import Progress
from almanac_data.text import display_width, text_table

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
