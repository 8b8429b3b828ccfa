"""The verbs that are free: the catalogue, how to cite it, and the balance."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote

from almanac_data.lock import Lock
from almanac_data.questions import AsOf, Query, Words, as_of_text, words
from almanac_data.records import (
    Change,
    CountryRecord,
    Edition,
    Feed,
    Group,
    Hits,
    Indicator,
    IndicatorDetail,
    Listing,
    Topic,
)
from almanac_data.session import Session
from almanac_data.transport import Answer

INDICATOR_COLUMNS = ("id", "name", "unit", "topic")


class Catalogue:
    """Free verbs of a client. Only `balance`, `feeds` and `revoke_feed` need a key."""

    _session: Session

    def search(self, words: str, *, limit: int = 10) -> Hits:
        """Series by the words that people use, best first, one for each concept. Always of the newest edition."""
        answer = self._session.call("/v1/search", [("q", words), ("limit", str(limit))], Answer.json)
        return Hits(answer["data"], answer["meta"])

    def indicators(
        self, *, topic: str | None = None, provider: str | None = None, limit: int | None = None
    ) -> Listing[Indicator]:
        """Indicators by name: all, or those of a topic or a provider."""
        query = _given(topic=topic, provider=provider, limit=limit) + self._session.as_of(None)
        return Listing(self._session.data("/v1/indicators", query), INDICATOR_COLUMNS)

    def indicator(self, indicator: str, *, include: Words = (), as_of: AsOf = None) -> IndicatorDetail:
        """An indicator of the catalogue. include: of `sources`, `quality`, `twins`, `breaks`, `editions`."""
        query = [("include", ",".join(words(include, "include")))] if include else []
        found: IndicatorDetail = self._session.data(
            f"/v1/indicators/{segment(indicator)}", query + self._session.as_of(as_of)
        )
        return found

    def countries(self, *, region: str | None = None, income_group: str | None = None) -> Listing[CountryRecord]:
        """All countries by name, or those of a region or an income group. Always of the newest edition."""
        query = _given(region=region, income_group=income_group)
        return Listing(self._session.data("/v1/countries", query), ("iso3", "name", "region", "income_group"))

    def groups(self) -> Listing[Group]:
        """Groups of countries: `@` and the id stands for the members wherever countries are asked for."""
        return Listing(self._session.data("/v1/groups", []), ("id", "name", "as_of"))

    def topics(self) -> Listing[Topic]:
        """The topics of the catalogue, with how many indicators each has. `indicators(topic=slug)` lists them."""
        return Listing(self._session.data("/v1/topics", []), ("slug", "name", "n_indicators"))

    def citation(self, indicator: str, *, style: Literal["bibtex", "csl-json"] = "bibtex", as_of: AsOf = None) -> str:
        """How to cite an indicator in its newest edition, or that of a time, for managers of references."""
        if style not in _CITATION_FILES:
            raise ValueError(f"style must be one of {', '.join(_CITATION_FILES)}, not {style!r}")
        path = f"/v1/indicators/{segment(indicator)}/citation.{_CITATION_FILES[style]}"
        return bytes(self._session.call(path, self._session.as_of(as_of), Answer.whole)).decode()

    def editions(self) -> Listing[Edition]:
        """Every published snapshot, newest first."""
        return Listing(self._session.data("/v1/editions", []), ("id", "published_at", "rolled_back"))

    def changes(self, since: AsOf | Lock = None) -> list[Change]:
        """What each snapshot changed, newest first: all after `since`, else the newest thirty."""
        found: list[Change] = []
        after = since_text(since)
        while True:
            query = [] if after is None else [("since", after)]
            answer = self._session.call("/v1/changes", query, Answer.json)
            found = answer["data"] + found
            if after is None or not answer["meta"]["more"]:
                return found
            after = found[0]["edition"]

    def balance(self) -> int:
        """Credits left."""
        return int(self._session.data("/v1/ping", [])["balance"])

    def feeds(self) -> Listing[Feed]:
        """The feed links of the key with their use, oldest first."""
        return Listing(
            self._session.data("/v1/feeds", []), ("id", "name", "format", "state", "month_credits", "fetches")
        )

    def revoke_feed(self, feed_id: str) -> Feed:
        """Ends a feed link: its next fetch finds nothing."""
        path = f"/v1/feeds/{segment(feed_id)}"
        found: Feed = self._session.call(path, [], Answer.json, method="DELETE")["data"]
        return found


_CITATION_FILES = {"bibtex": "bib", "csl-json": "json"}


def _given(**parameters: Any) -> Query:
    return [(name, str(value)) for name, value in parameters.items() if value is not None]


def segment(text: str) -> str:
    """A part of a path."""
    return quote(text, safe="")


def since_text(since: AsOf | Lock) -> str | None:
    return since.edition if isinstance(since, Lock) else as_of_text(since)
