"""The client: one verb for each thing that can be asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal, Union, cast
from urllib.parse import quote, urlencode

from almanac_data.answers import (
    joined_revisions,
    json_data,
    parquet_data,
    provenance_of,
    read_json_table,
    record_series,
    whole_file,
)
from almanac_data.catalogue import Catalogue, segment, since_text
from almanac_data.lock import Lock
from almanac_data.questions import (
    Aggregate,
    AsOf,
    DataQuestion,
    Layout,
    Missing,
    Words,
    Years,
    as_of_text,
    derived_query,
)
from almanac_data.receipts import LogKey, Verified, parse_keys, verify_receipt
from almanac_data.records import Country, MadeFeed, Price, Verdict
from almanac_data.session import Session
from almanac_data.table import Table, has_arrow
from almanac_data.transport import Answer, Transport

Claim = Union[str, "tuple[str, str, int, str | int | float]"]
PathLike = Union[str, "os.PathLike[str]"]

DEFAULT_URL = "http://localhost:8080"
CLAIMS_MAX = 50


def _claim_text(indicator: str, country: str, year: int, value: str | int | float) -> str:
    # A comma separates: one within a name says nothing that a space does not.
    return f"{indicator},{country.replace(',', ' ')},{year},{value}"


class Receipt(bytes):
    """The answer of `receipt`: what to keep, and to verify offline."""

    def verify(self, keys: Sequence[LogKey]) -> Verified:
        """Raises Refused. Take keys from a moment at which you trusted the connection."""
        return verify_receipt(self, keys)

    def save(self, path: PathLike) -> None:
        Path(path).write_bytes(self)


class Almanac(Catalogue):
    """A client of one service.

    key: of the API; default the environment's `ALMANAC_KEY`. Catalogue calls need none.
    base_url: of the service; default `ALMANAC_URL`, else http://localhost:8080.
    lock: an `almanac.lock`: every figure then comes from the edition that it pins.
    max_credits: no call may cost more, unless it says otherwise itself.
    timeout: seconds without a byte.
    retries: how often a failed call is repeated, at most 5. A repeat is never paid again.
    progress: whether long downloads show a bar on stderr; default where that is a terminal.
    is_columnar: whether figures travel as Parquet instead of JSON; default where pyarrow is installed.

    Verbs raise ApiError for a refusal, which costs nothing, ConnectionFailed where the service cannot be reached,
    LockError where it does not serve what the lock pins, and ValueError for a wrong parameter.
    """

    def __init__(
        self,
        key: str | None = None,
        *,
        base_url: str | None = None,
        lock: PathLike | Lock | None = None,
        max_credits: int | None = None,
        timeout: float = 60.0,
        retries: int = 4,
        progress: bool | None = None,
        is_columnar: bool | None = None,
    ) -> None:
        self._session = Session(
            Transport(
                base_url or os.environ.get("ALMANAC_URL") or DEFAULT_URL,
                (key or os.environ.get("ALMANAC_KEY") or "").strip() or None,
                timeout=timeout,
                retries=retries,
                progress=progress,
            ),
            lock if lock is None or isinstance(lock, Lock) else Lock.read(lock),
            max_credits,
        )
        self._is_columnar = has_arrow() if is_columnar is None else is_columnar

    def __repr__(self) -> str:
        return f"Almanac(base_url={self._session.base_url!r})"

    # --- figures ------------------------------------------------------------------------------------------------------

    def data(
        self,
        indicator: Words,
        *,
        countries: Words = (),
        years: Years = None,
        latest: int | None = None,
        fields: Words = (),
        layout: Layout = "long",
        missing: Missing = "keep",
        transform: Words = (),
        aggregate: Aggregate | None = None,
        group: Words = (),
        names: bool = False,
        as_of: AsOf = None,
        max_credits: int | None = None,
    ) -> Table:
        """Observations of indicators, or what is derived from them. Costs a credit per row, at least 1.

        countries: ISO3, ISO2 or M49 codes, groups such as `@eu` and usual names; none means all. `unmatched` of the
            table names codes that no country has.
        years: `2020`; `(2000, 2010)` or `"2000-2010"` from the first to the last, of which either may be left out;
            `[2000, 2010]`, or any other list, set or `range`: these years alone.
        latest: of what passes, the newest n observed values of each country and indicator.
        fields: columns, in the order wanted. layout: `wide` has a column for each indicator.
        missing: `omit` leaves out rows without a value, which then cost nothing.
        transform: derived figures instead: `growth:5`, or two transforms, of which the second works on the first.
        aggregate: `declared` makes groups among the countries places of their own; the others are of `group`.
        group: a group of one's own, as one place: three countries or more.
        names: adds the column `name`, of countries and groups. layout="wide" has none.
        as_of: figures as they were then: a date, a moment, or the id of an edition.
        """
        question = DataQuestion.of(
            indicator,
            countries=countries,
            years=years,
            latest=latest,
            fields=fields,
            layout=layout,
            missing=missing,
            transform=transform,
            aggregate=aggregate,
            group=group,
            names=names,
        )
        query = question.query() + self._session.as_of(as_of)
        if self._is_columnar:
            return self._session.priced(
                "/v1/data", [*query, ("format", "parquet")], parquet_data(question), max_credits
            )
        return self._session.priced("/v1/data", query, json_data(question), max_credits)

    def price(
        self,
        indicator: Words,
        *,
        countries: Words = (),
        years: Years = None,
        latest: int | None = None,
        fields: Words = (),
        layout: Layout = "long",
        missing: Missing = "keep",
        transform: Words = (),
        aggregate: Aggregate | None = None,
        group: Words = (),
        names: bool = False,
        as_of: AsOf = None,
    ) -> Price:
        """What `data` would cost for the same parameters. Free."""
        question = DataQuestion.of(
            indicator,
            countries=countries,
            years=years,
            latest=latest,
            fields=fields,
            layout=layout,
            missing=missing,
            transform=transform,
            aggregate=aggregate,
            group=group,
            names=names,
        )
        query = question.query() + self._session.as_of(as_of)
        return cast("Price", self._session.data("/v1/data", [*query, ("dry_run", "true")]))

    def make_feed(
        self,
        name: str,
        indicator: Words,
        *,
        monthly_cap: int,
        format: Literal["csv", "xlsx", "json"] = "csv",
        expires: date | str | None = None,
        **asked: Any,
    ) -> MadeFeed:
        """A link to figures for tools that cannot send a key, such as sheets. Free; it pays when its rows have changed.

        monthly_cap: most credits that it may spend in a calendar month. expires: a date, or a moment with its offset.
        asked: which figures, as `data` takes them.

        The `url` is shown once. A lost answer is not repeated: `feeds` tells whether the link was made.
        """
        when = asked.pop("as_of", None)
        query = urlencode(DataQuestion.of(indicator, **asked).query() + self._session.as_of(when), quote_via=quote)
        body = {"name": name, "query": f"/v1/data?{query}", "format": format, "monthly_cap": monthly_cap}
        if expires is not None:
            body["expires_at"] = as_of_text(expires)
        found: MadeFeed = self._session.call("/v1/feeds", [], Answer.json, method="POST", body=body)["data"]
        return found

    def rank(
        self,
        indicator: str,
        year: int | None = None,
        *,
        transform: Words = (),
        as_of: AsOf = None,
        max_credits: int | None = None,
    ) -> Table:
        """All countries by one indicator; default in its latest year, which `meta["year"]` names. Costs 1 credit."""
        query = ([] if year is None else [("year", str(year))]) + derived_query(transform, None)
        path = f"/v1/rankings/{segment(indicator)}"
        return self._session.priced(path, query + self._session.as_of(as_of), read_json_table, max_credits)

    def country(
        self,
        country: str,
        *,
        topic: str | None = None,
        as_of: AsOf = None,
        max_credits: int | None = None,
    ) -> Country:
        """A country, by code or any usual name, with its latest value of every indicator, by topic. Costs 1 credit."""
        query = [] if topic is None else [("topic", topic)]
        path = f"/v1/countries/{segment(country)}"
        return cast(
            "Country", self._session.priced(path, query + self._session.as_of(as_of), Answer.json, max_credits)["data"]
        )

    def file(
        self,
        indicator: str,
        to: PathLike | None = None,
        *,
        as_of: AsOf = None,
        max_credits: int | None = None,
    ) -> Table:
        """All figures of an indicator, as the file in which they are published. Paid once in 24 hours.

        to: where the Parquet file is written; default it is kept in memory.
        """
        path = f"/v1/files/{segment(indicator)}.parquet"
        headers, content = self._session.priced(path, self._session.as_of(as_of), whole_file(to), max_credits)
        edition = [("as_of", str(headers["X-Snapshot"]))]
        record = self._session.data(f"/v1/indicators/{segment(indicator)}", edition)
        return Table(content, {}, provenance_of(headers, None, (record_series(record),)))

    def bundle(
        self,
        provider: str,
        to: PathLike | None = None,
        *,
        as_of: AsOf = None,
        max_credits: int | None = None,
    ) -> Table:
        """All figures of a provider that may be exported, as one file. Paid once in 24 hours."""
        path = f"/v1/bundles/{segment(provider)}.parquet"
        headers, content = self._session.priced(path, self._session.as_of(as_of), whole_file(to), max_credits)
        query = [("provider", provider), ("as_of", str(headers["X-Snapshot"]))]
        records = self._session.data("/v1/indicators", query)
        series = tuple(record_series(one) for one in records if one["access_tier"] == "open")
        return Table(content, {}, provenance_of(headers, None, series))

    def revisions(
        self,
        indicator: Words | Table,
        *,
        countries: Words = (),
        years: Years = None,
        since: AsOf | Lock = None,
        max_credits: int | None = None,
    ) -> Table:
        """Every change of a figure since an edition, a date or a lock. Costs a credit per row, at least 1 an indicator.

        indicator: ids, or a table of `data`: then its indicators, countries and years.
        """
        asked = indicator.question if isinstance(indicator, Table) else None
        if isinstance(indicator, Table) and asked is None:
            raise ValueError("revisions takes a table that `data` answered")
        question = asked or DataQuestion.of(cast("Words", indicator), countries=countries, years=years)
        after = since_text(since)
        bounds = question.extent() + ([] if after is None else [("since", after)])
        left = self._session.limit(max_credits)
        tables: list[Table] = []
        for one in question.indicators:
            table = self._session.priced("/v1/revisions", [("indicator", one), *bounds], read_json_table, left)
            # A repeated call does not say what it was charged: a credit per row, at least 1.
            paid = max(1, len(table)) if table.price is None else table.price
            left = None if left is None else max(0, left - paid)
            tables.append(table)
        return joined_revisions(tables)

    # --- proof --------------------------------------------------------------------------------------------------------

    def verify(self, claims: Sequence[Claim], *, max_credits: int | None = None) -> list[Verdict]:
        """Judges figures that somebody wrote down, against the newest edition. Costs a credit per claim that is read.

        claims: `indicator,country,year,value`, as a text or as a tuple. A value as text may be `1,300`, `8 %` or
        `33.8 million`; its digits tell how it is rounded.
        """
        texts = [one if isinstance(one, str) else _claim_text(*one) for one in claims]
        left = self._session.limit(max_credits)
        if left is not None and len(texts) > left:
            raise ValueError(f"{len(texts)} claims cost {len(texts)} credits, more than max_credits={left}")
        verdicts: list[Verdict] = []
        for start in range(0, len(texts), CLAIMS_MAX):
            query = [("claim", text) for text in texts[start : start + CLAIMS_MAX]]
            verdicts += self._session.priced("/v1/verify", query, Answer.json, left)["data"]
        return verdicts

    def receipt(
        self,
        indicator: str,
        country: str,
        year: int,
        *,
        transform: Words = (),
        aggregate: Literal["declared"] | None = None,
        as_of: AsOf = None,
        max_credits: int | None = None,
    ) -> Receipt:
        """The proof that a figure was published, to be verified offline. Costs 1 credit.

        With `transform` or `aggregate` (country: a group such as `@eu`) that of a derived figure, which
        `verify_derivation` reads. It costs a credit for each row in it.
        """
        figure = [("indicator", indicator), ("country", country), ("year", str(year))]
        query = figure + derived_query(transform, aggregate) + self._session.as_of(as_of)
        return Receipt(self._session.priced("/v1/receipts", query, Answer.whole, max_credits))

    def keys(self) -> list[LogKey]:
        """The keys that sign the log: those that the lock pins, else those that the service publishes."""
        pinned = self._session.lock
        return parse_keys(self.keys_document()) if pinned is None else pinned.log_keys

    def keys_document(self) -> bytes:
        """The list of keys as the service publishes it, to be kept beside receipts."""
        return self._session.keys_document()

    # --- lock ---------------------------------------------------------------------------------------------------------

    def lock(self, path: PathLike = "almanac.lock", *, edition: str | None = None) -> Lock:
        """Pins the newest edition, or the one named, in a file. Free."""
        lock = self._session.pin(edition)
        lock.write(path)
        return lock

    def check_lock(self) -> None:
        """Raises LockError unless the service still serves what the lock pins. The first call does it, too. Free."""
        self._session.check_lock()
