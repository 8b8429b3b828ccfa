"""Reads a CSV by its URL with pandas or DuckDB. Arguments: the reader, the URL. Prints the rows as a JSON list of lists."""

import json
import pathlib
import sys


def with_pandas(url):
    import pandas

    frame = pandas.read_csv(url, float_precision="round_trip")
    rows = frame.astype(object).where(frame.notna(), None)
    return [list(rows.columns), *rows.values.tolist()]


def with_duckdb(url):
    import duckdb
    import duckdb_extension_httpfs

    folder = pathlib.Path(duckdb_extension_httpfs.__file__).parent
    connection = duckdb.connect()
    connection.load_extension(str(next(folder.glob("extensions/*/httpfs.duckdb_extension"))))
    result = connection.execute("FROM read_csv(?)", [url])
    return [[name for name, *_ in result.description], *map(list, result.fetchall())]


reader, url = sys.argv[1:]
print(json.dumps({"pandas": with_pandas, "duckdb": with_duckdb}[reader](url)))
