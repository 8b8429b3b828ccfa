"""The words that the command takes."""

from __future__ import annotations

import argparse

from almanac_data._version import __version__
from almanac_data.questions import years_query

DESCRIPTION = """\
Country statistics on a terminal: search, figures, rankings, proofs.

The catalogue is free; figures need a key and cost credits (`--price` tells how many, for nothing). The key is read from
the file named with --key-file, else from the variable ALMANAC_KEY, else from ~/.config/almanac/key.
"""

EPILOG = """\
examples:
  almanac search how long do people live in Kenya
  almanac data world-bank.SP.POP.TOTL --countries @eu --latest 1 --names
  almanac data owid.life-expectancy world-bank.SP.POP.TOTL --countries PER,CHL --years 2000-2020 --wide --csv
  almanac data world-bank.SP.POP.TOTL --countries @world --aggregate declared --transform growth --latest 5
  almanac rank world-bank.SP.DYN.TFRT.IN --year 2022
  almanac country Peru --topic energy
  almanac verify world-bank.SP.POP.TOTL,PER,2023,33.8e6
  almanac receipt get world-bank.SP.POP.TOTL PER 2023 --output receipt.json
  almanac receipt keys --output keys.json && almanac receipt verify receipt.json --keys keys.json
  almanac lock && almanac --lock almanac.lock data world-bank.SP.POP.TOTL --countries PER
  almanac revisions world-bank.SP.POP.TOTL --since almanac.lock

exit codes:
  0  done
  1  nothing is found, a claim is not borne out, a receipt is refused, or the service does not serve what the lock
     pins
  2  usage error, or a file that cannot be read or written
  3  the receipt is sound, but no key was given, so anyone could have made it
  4  the service refused the call; nothing was charged
  5  the service cannot be reached
"""


YEARS_HELP = "2020, 2000-2020, 2000-, -2020, or single years: 2000,2010"


def years(text: str) -> str:
    try:
        years_query(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def codes(text: str) -> list[str]:
    """Words separated by commas."""
    return [word for word in (part.strip() for part in text.split(",")) if word]


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="almanac",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"almanac-data {__version__}")
    parser.add_argument("--url", metavar="URL", help="address of the service (default: ALMANAC_URL)")
    parser.add_argument("--key-file", metavar="FILE", help="file with the key of the API")
    parser.add_argument("--lock", metavar="FILE", help="answer from the edition that this almanac.lock pins")
    parser.add_argument("--max-credits", type=int, metavar="N", help="refuse whatever costs more")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _search(commands.add_parser("search", help="find indicators by the words that people use; free"))
    _indicators(commands.add_parser("indicators", help="list the catalogue, or a topic or provider of it; free"))
    _indicator(commands.add_parser("indicator", help="what is known about an indicator, and how to cite it; free"))
    _groups(commands.add_parser("groups", help="groups of countries, such as @eu; free"))
    _data(commands.add_parser("data", help="observations; a credit per row"))
    _country(commands.add_parser("country", help="a country with its latest figures by topic; 1 credit"))
    _rank(commands.add_parser("rank", help="all countries by one indicator; 1 credit"))
    _revisions(commands.add_parser("revisions", help="changes of figures; a credit per row, at least 1 an indicator"))
    _verify(commands.add_parser("verify", help="judge figures that somebody wrote down; a credit per claim"))
    _receipt(commands.add_parser("receipt", help="proofs that a figure was published"))
    _lock(commands.add_parser("lock", help="pin an edition, check the pin, list what changed since; free"))
    _output(commands.add_parser("balance", help="credits left; free"), has_csv=False)
    return parser


def _output(parser: argparse.ArgumentParser, has_csv: bool = True) -> None:
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--json", action="store_true", help="JSON, with everything that belongs to the rows")
    if has_csv:
        formats.add_argument("--csv", action="store_true", help="CSV, rows only")


def _search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="WORD", help="what is asked about, in English")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="at most N, up to 50 (default 10)")
    _output(parser)


def _indicators(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", help="only of this topic")
    parser.add_argument("--provider", help="only of this provider")
    parser.add_argument("--limit", type=int, metavar="N", help="at most N (default all)")
    _output(parser)


def _data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("indicators", nargs="+", metavar="INDICATOR")
    _extent(parser)
    parser.add_argument("--names", "-n", action="store_true", help="with the names of the countries")
    parser.add_argument("--latest", type=int, metavar="N", help="the newest N values of each country")
    parser.add_argument("--fields", type=codes, default=[], help="columns, in the order wanted")
    parser.add_argument("--wide", action="store_true", help="a column for each indicator")
    parser.add_argument("--omit-missing", action="store_true", help="no rows without a value")
    parser.add_argument(
        "--transform", "-t", type=codes, default=[], help="derived figures: growth:5 or per_head,growth"
    )
    parser.add_argument("--aggregate", choices=("declared", "median", "min", "max"), help="groups as places: declared")
    parser.add_argument("--group", type=codes, default=[], help="a group of one's own, as one place: KEN,UGA,TZA")
    parser.add_argument("--as-of", metavar="WHEN", help="figures of a date, a moment, or an edition")
    parser.add_argument("--price", action="store_true", help="say what it would cost, and charge nothing")
    _output(parser)


def _extent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--countries", "-c", type=codes, default=[], help="codes, groups, names: PER,@eu,Viet Nam")
    parser.add_argument("--years", "-y", type=years, help=YEARS_HELP)


def _indicator(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("indicator")
    parser.add_argument("--cite", choices=("bibtex", "csl-json"), help="print the reference instead")
    _output(parser, has_csv=False)


def _groups(parser: argparse.ArgumentParser) -> None:
    _output(parser)


def _country(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("country", help="code or any usual name")
    parser.add_argument("--topic", help="only of this topic")
    parser.add_argument("--as-of", metavar="WHEN", help="figures of a date, a moment, or an edition")
    _output(parser)


def _revisions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("indicators", nargs="+", metavar="INDICATOR")
    _extent(parser)
    parser.add_argument("--since", metavar="WHEN", help="a date, a moment, an edition, or an almanac.lock")
    _output(parser)


def _rank(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("indicator")
    parser.add_argument("--year", type=int, help="default the latest")
    parser.add_argument("--transform", "-t", type=codes, default=[], help="rank what is derived: per_head")
    parser.add_argument("--as-of", metavar="WHEN", help="ranks of a date, a moment, or an edition")
    parser.add_argument("--top", type=int, metavar="N", help="only the first N rows")
    _output(parser)


def _verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("claims", nargs="+", metavar="CLAIM", help="INDICATOR,COUNTRY,YEAR,VALUE")
    _output(parser, has_csv=False)


def _receipt(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    get = actions.add_parser("get", help="the receipt of a figure; 1 credit, of a derived one a credit per row in it")
    get.add_argument("indicator")
    get.add_argument("country", metavar="COUNTRY|@GROUP")
    get.add_argument("year", type=int)
    get.add_argument("--transform", "-t", type=codes, default=[], help="of a derived figure: growth:5")
    get.add_argument("--aggregate", choices=("declared",), help="of the figure of a group")
    get.add_argument("--as-of", metavar="WHEN", help="of a date, a moment, or an edition")
    get.add_argument("--output", "-o", metavar="FILE", help="default: printed")
    keys = actions.add_parser("keys", help="the keys of the log, to be kept; free")
    keys.add_argument("--output", "-o", metavar="FILE", help="default: printed")
    verify = actions.add_parser("verify", help="verify a receipt offline")
    verify.add_argument("file", metavar="RECEIPT")
    verify.add_argument("--keys", metavar="FILE|KEY", help="keys that were kept, one key, or an almanac.lock")
    verify.add_argument("--rows", metavar="FILE", help="all rows of the indicator as JSON: its tree is rebuilt")
    verify.add_argument("--since", metavar="CHECKPOINT", help="a checkpoint kept earlier, which the log must extend")
    verify.add_argument("--consistency", metavar="PROOF", help="the answer of /v1/log/consistency between the two")
    _output(verify, has_csv=False)


def _lock(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="almanac.lock", help="default almanac.lock")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--edition", metavar="ID", help="pin this edition (default: the newest)")
    action.add_argument("--check", action="store_true", help="check that the service still serves what is pinned")
    action.add_argument("--changes", action="store_true", help="list which indicators changed since the pin")
    _output(parser)
