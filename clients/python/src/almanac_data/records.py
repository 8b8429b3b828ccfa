"""Records of the catalogue and verdicts, as the service gives them. The served reference describes each member."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, TypedDict, TypeVar, overload

from almanac_data.display import html_table, text_table

Record = TypeVar("Record", bound=Mapping[str, Any])
LISTED_ROWS = 20


class Listing(list[Record]):
    """Records of the catalogue: a list that shows as a table of their main columns."""

    __slots__ = ("_columns",)

    def __init__(self, records: Iterable[Record], columns: Sequence[str]) -> None:
        super().__init__(records)
        self._columns = columns

    @overload
    def __getitem__(self, at: SupportsIndex) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> Listing[Record]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> Record | Listing[Record]:
        return Listing(super().__getitem__(at), self._columns) if isinstance(at, slice) else super().__getitem__(at)

    def __repr__(self) -> str:
        return f"{text_table(self._columns, list(self)[:LISTED_ROWS])}{self._more()}"

    def _repr_html_(self) -> str:
        return f"{html_table(self._columns, list(self)[:LISTED_ROWS])}{self._more()}"

    def _more(self) -> str:
        return f"\n… {len(self) - LISTED_ROWS:,} more" if len(self) > LISTED_ROWS else ""


class Coverage(TypedDict):
    n_countries: int
    yr_min: int | None
    yr_max: int | None
    latest_year: int | None


class Provider(TypedDict):
    id: str
    name: str
    licence: str
    licence_url: str | None
    attribution: str


class Related(TypedDict):
    id: str
    name: str
    topic: str
    unit: str | None
    relation: str


class Indicator(TypedDict):
    """An indicator of the catalogue. access_tier: `open`, or `display` for one that may be shown but not exported."""

    id: str
    name: str
    description: str | None
    unit: str | None
    topic: str
    higher_is_better: bool | None
    preferred: bool
    featured: bool
    access_tier: str
    no_rank: bool
    licence: str
    licence_url: str | None
    attribution: str
    provider: Provider
    coverage: Coverage | None


class IndicatorDetail(Indicator):
    """An indicator with up to twelve related ones, and what `include` adds."""

    related: list[Related]


class Hit(TypedDict):
    """A series found by words. match: `good` if it was asked for, `weak` if it is close. why: what it was found by."""

    id: str
    name: str
    unit: str | None
    provider: str
    concept: str | None
    twins: list[str]
    coverage: Coverage | None
    match: str
    why: list[str]


class Hits(Listing[Hit]):
    """Series found by words, best first.

    match: that of the first, or `none`. places, groups, years: named in the words, and not searched for.
    nearest: where nothing is found, the known words that are spelt most like those asked for.
    """

    def __init__(self, hits: Iterable[Hit], meta: Mapping[str, Any]) -> None:
        super().__init__(hits, ("id", "name", "unit", "match"))
        self.match: str = meta["match"]
        self.places: list[dict[str, str]] = meta["places"]
        self.groups: list[dict[str, str]] = meta["groups"]
        self.years: list[int] = meta["years"]
        self.nearest: list[str] = meta["nearest"]


class LatestValue(TypedDict):
    indicator: str
    name: str
    unit: str | None
    year: int
    value: float | None
    rank: int | None
    rank_delta_1y: int | None
    featured: bool


class CountryRecord(TypedDict):
    """A country. region: of the World Bank. subregion: of the United Nations."""

    iso3: str
    iso2: str | None
    m49: int | None
    name: str
    official_name: str | None
    region: str | None
    subregion: str | None
    income_group: str | None
    wb_code: str | None
    capital: str | None
    wikidata_id: str | None
    flag_emoji: str | None


class Country(CountryRecord):
    """A country with its latest value of every indicator, by topic."""

    topics: dict[str, list[LatestValue]]


class Group(TypedDict):
    """A group of countries. source: where the membership is stated. as_of: the day for which it holds."""

    id: str
    name: str
    members: list[str]
    source: str
    as_of: str


class Feed(TypedDict):
    """A feed link. query: the frozen call. month_credits: spent in this calendar month. edition: of its last answer."""

    id: str
    name: str
    query: str
    format: str
    secret_ends_with: str
    state: str
    monthly_cap: int
    month_credits: int
    fetches: int
    fetched_at: str | None
    edition: str | None
    created_at: str
    expires_at: str | None
    revoked_at: str | None


class MadeFeed(Feed):
    """A new feed link. url: is shown once; whoever has it gets the figures. price: of the answer today, in credits."""

    url: str
    price: int


class Topic(TypedDict):
    """A topic of the catalogue. n_countries: for how many there are figures."""

    slug: str
    name: str
    description: str
    n_indicators: int
    n_featured: int
    n_countries: int


class Reason(TypedDict):
    reason: str
    indicator: str
    iso3: str
    year: int
    value: float
    factor: float
    fit: str
    matches: int


class Unread(TypedDict):
    """A part of a claim that cannot be read, and what it may be."""

    part: str
    expected: str


class Verdict(TypedDict):
    """How a claim stands against the figure held. `docs/claims.md` of Almanac lists verdicts and reasons."""

    claim: str
    indicator: str
    iso3: str | None
    year: int | None
    number: float | None
    digits: int | None
    verdict: str
    unread: list[Unread]
    unknown: str | None
    value: float | None
    deviation_percent: float | None
    unit: str | None
    projected: bool | None
    edition: str
    earlier: dict[str, Any] | None
    redefined: dict[str, Any] | None
    reasons: list[Reason]


class Price(TypedDict):
    """What a call would cost. balance_after may be negative."""

    price: int
    rows: int
    balance_after: int


class Edition(TypedDict):
    """A published snapshot."""

    id: str
    published_at: str
    base: str | None
    counts: dict[str, int]
    root: str
    rolled_back: bool
    rolled_back_at: str | None
    rollback_reason: str | None
    never_served: bool
    backfilled: bool
    changed: dict[str, dict[str, int]] | None
    withheld: list[dict[str, Any]]


class Change(TypedDict):
    """What a snapshot changed. revised: numbers of figures by indicator and kind."""

    edition: str
    published_at: str
    base: str | None
    added: list[str]
    withdrawn: list[str]
    renamed: list[dict[str, str]]
    revised: list[dict[str, Any]]
    redefined: list[dict[str, Any]]
