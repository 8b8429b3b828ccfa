"""Reads files over HTTP as their readers do by themselves. Arguments: the reader, the service's address, a key, ids.

Prints what was read as JSON: rows of two indicators joined, `[iso3, year, value, other value]`, sorted.
"""

import json
import pathlib
import sys


def attached(url, key, first, second):
    """A connection of DuckDB that has attached the catalogue, which lists both with a file."""
    import duckdb
    import duckdb_extension_httpfs

    folder = pathlib.Path(duckdb_extension_httpfs.__file__).parent
    connection = duckdb.connect()
    connection.load_extension(str(next(folder.glob("extensions/*/httpfs.duckdb_extension"))))
    connection.execute(f"CREATE SECRET (TYPE http, BEARER_TOKEN '{key}', SCOPE '{url}')")
    connection.execute(f"ATTACH '{url}/v1/almanac.duckdb' AS almanac (READ_ONLY)")
    listed = connection.execute(
        "SELECT count(*) FROM almanac.indicators WHERE id IN (?, ?) AND url IS NOT NULL", [first, second]
    ).fetchone()
    if listed != (2,):
        sys.exit(f"{listed} of the two are listed with a file")
    return connection


def with_observations(url, key, first, second):
    query = f"""
        SELECT iso3, year, a.value, b.value
        FROM almanac.observations('{first}') AS a
        JOIN almanac.observations('{second}') AS b USING (iso3, year)
        WHERE iso3 IN (SELECT unnest(members) FROM almanac.groups WHERE id = 'eu')
        ORDER BY ALL"""
    return attached(url, key, first, second).execute(query).fetchall()


def with_bundle(url, key, first, second):
    provider = first.split(".")[0]
    query = f"""
        SELECT iso3, year, a.value, b.value
        FROM (FROM almanac.bundle('{provider}') WHERE indicator = '{first}') AS a
        JOIN almanac.observations('{second}') AS b USING (iso3, year)
        ORDER BY ALL"""
    return attached(url, key, first, second).execute(query).fetchall()


def joined(url, read, first, second):
    """read gives columns of a file as a pandas frame."""
    address = f"{url}/v1/files/{{}}.parquet"
    frames = [read(address.format(id)) for id in (first, second)]
    both = frames[0].merge(frames[1], on=["iso3", "year"], suffixes=("", "_other"))
    both = both.sort_values(["iso3", "year"])
    columns = [both[name] for name in ("iso3", "year", "value", "value_other")]
    return [[none_of_nan(cell) for cell in row] for row in zip(*columns)]


def none_of_nan(cell):
    return None if cell != cell else cell


COLUMNS = ["iso3", "year", "value"]


def with_pandas(url, key, first, second):
    import pandas

    headers = {"Authorization": f"Bearer {key}"}
    return joined(
        url, lambda path: pandas.read_parquet(path, columns=COLUMNS, storage_options=headers), first, second
    )


def with_pyarrow(url, key, first, second):
    import fsspec
    import pyarrow.parquet

    files = fsspec.filesystem("http", client_kwargs={"headers": {"Authorization": f"Bearer {key}"}})

    def read(path):
        with files.open(path, cache_type="readahead", block_size=65536) as file:
            return pyarrow.parquet.ParquetFile(file).read(columns=COLUMNS).to_pandas()

    return joined(url, read, first, second)


READERS = {
    "duckdb": with_observations,
    "duckdb, bundle": with_bundle,
    "pandas": with_pandas,
    "pyarrow": with_pyarrow,
}

reader, *arguments = sys.argv[1:]
print(json.dumps([list(row) for row in READERS[reader](*arguments)], default=float))
