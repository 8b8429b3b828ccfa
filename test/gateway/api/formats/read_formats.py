"""Reads every answer of a folder with software of others, and compares it with the JSON answer to the same call.

A call has files of one number: `12.json` and `12.<format>`. Prints how many cells were compared by reader.
"""

import collections
import csv
import json
import pathlib
import struct
import sys

COMPARED = collections.Counter()


def bits(value):
    """Doubles are equal where all their bits are."""
    return struct.pack("<d", value)


def same(got, expected):
    if expected is None:
        return got is None
    if isinstance(expected, bool) or isinstance(expected, str):
        return got == expected and type(got) is type(expected)
    return not isinstance(got, (bool, str)) and got is not None and bits(float(got)) == bits(float(expected))


def compare(reader, path, columns, expected):
    """columns: lists of cells by name."""
    for name, cells in columns.items():
        wanted = expected(name)
        if len(cells) != len(wanted):
            sys.exit(f"{reader} {path} {name}: {len(cells)} cells instead of {len(wanted)}")
        for row, (got, cell) in enumerate(zip(cells, wanted)):
            if not same(got, cell):
                sys.exit(f"{reader} {path} {name} row {row}: {got!r} instead of {cell!r}")
        COMPARED[reader] += len(cells)


def expectation(answer):
    rows, meta = answer["data"], answer["meta"]

    def cells(name):
        if name in (rows[0] if rows else {}):
            return [row[name] for row in rows]
        return [meta.get(name)] * len(rows)

    return cells


def number(text):
    return None if text == "" else float(text)


def flag(text):
    return {"": None, "true": True, "false": False}[text]


def by_type(name, texts):
    if name == "projected":
        return [flag(text) for text in texts]
    if name in TEXTS:
        return [text or None for text in texts]
    return [number(text) for text in texts]


TEXTS = {"indicator", "indicator_name", "unit", "iso3", "iso2", "name", "region", "income_group", "status"}
CONCEPTS = {
    "iso3": "REF_AREA",
    "year": "TIME_PERIOD",
    "value": "OBS_VALUE",
    "status": "OBS_STATUS",
    "unit": "UNIT_MEASURE",
}
ATTRIBUTES_ADDED = {"UNIT_MEASURE", "LICENCE", "LICENCE_URL", "ATTRIBUTION", "EDITION"}


def read_csv(path, names):
    with open(path, newline="", encoding="utf-8") as file:
        header, *records = csv.reader(file)
    # A record of one empty field is an empty line, which this reader gives as no field.
    records = [record or [""] for record in records]
    return {name: by_type(name, [record[at] for record in records]) for at, name in enumerate(header)}


def read_sdmx_csv(path, names):
    from sdmx.model import v30
    from sdmx.reader.csv import Reader

    with open(path, newline="", encoding="utf-8") as file:
        header = next(csv.reader(file))[3:]
    structure = v30.DataStructureDefinition(id="OBSERVATIONS")
    dimensions = ["INDICATOR", "REF_AREA", "TIME_PERIOD"]
    attributes = [name for name in header if name not in (*dimensions, "OBS_VALUE")]
    for name in dimensions:
        structure.dimensions.append(v30.Dimension(id=name))
    structure.measures.append(v30.Measure(id="OBS_VALUE"))
    for name in attributes:
        structure.attributes.append(v30.DataAttribute(id=name))
    with open(path, "rb") as file:
        message = Reader().convert(file, structure)
    observations = [one for data_set in message.data for one in data_set.obs]

    def texts(concept):
        if concept in dimensions:
            return [one.key[concept].value for one in observations]
        if concept == "OBS_VALUE":
            return [one.value for one in observations]
        return [one.attached_attribute[concept].value for one in observations]

    if not set(header) >= ATTRIBUTES_ADDED:
        sys.exit(f"{path}: {header}")
    concepts = {name: CONCEPTS.get(name, name.upper()) for name in names}
    return {name: by_type(name, texts(concept)) for name, concept in concepts.items() if concept in header}


def check_metadata(path, metadata):
    """Whatever file it is: licence, credit line, edition, units."""
    for name in ("licence", "attribution", "edition"):
        if not metadata[name]:
            sys.exit(f"{path}: no {name}")
    credits = json.loads(metadata["indicators"])
    if not credits or any("unit" not in one for one in credits):
        sys.exit(f"{path}: {credits}")


def read_pyarrow(path, names):
    import pyarrow.ipc

    with pyarrow.ipc.open_stream(path) as reader:
        table = reader.read_all()
    check_metadata(path, {key.decode(): value.decode() for key, value in table.schema.metadata.items()})
    return table.to_pydict()


def read_polars_arrow(path, names):
    import polars

    return polars.read_ipc_stream(path).to_dict(as_series=False)


def pandas_columns(frame):
    import pandas

    return {
        name: [None if missing else cell for cell, missing in zip(frame[name].tolist(), pandas.isna(frame[name]))]
        for name in frame.columns
    }


def read_pandas_arrow(path, names):
    import pyarrow.ipc

    with pyarrow.ipc.open_stream(path) as reader:
        return pandas_columns(reader.read_pandas())


def read_pyarrow_parquet(path, names):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    check_metadata(path, {key.decode(): value.decode() for key, value in table.schema.metadata.items()})
    return table.to_pydict()


def read_polars_parquet(path, names):
    import polars

    return polars.read_parquet(path).to_dict(as_series=False)


def read_pandas_parquet(path, names):
    import pandas

    return pandas_columns(pandas.read_parquet(path))


def read_duckdb(path, names):
    import duckdb

    found = duckdb.sql("select * from read_parquet('" + str(path) + "')")
    rows = found.fetchall()
    return {name: [row[at] for row in rows] for at, name in enumerate(found.columns)}


def read_openpyxl(path, names):
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True)
    header, *rows = book["Data"].iter_rows(values_only=True)
    about = [row for row in book["About"].iter_rows(values_only=True)]
    metadata = {row[0]: row[1] for row in about if len(row) > 1}
    start = next(at for at, row in enumerate(about) if row and row[0] == "id")
    credits = [dict(zip(about[start], row)) for row in about[start + 1 :]]
    check_metadata(path, {**metadata, "indicators": json.dumps(credits)})
    return {name: [row[at] for row in rows] for at, name in enumerate(header)}


READERS = {
    "csv": {"csv": read_csv},
    "arrow": {"pyarrow": read_pyarrow, "polars": read_polars_arrow, "pandas": read_pandas_arrow},
    "parquet": {
        "pyarrow": read_pyarrow_parquet,
        "polars": read_polars_parquet,
        "pandas": read_pandas_parquet,
        "duckdb": read_duckdb,
    },
    "xlsx": {"openpyxl": read_openpyxl},
    "sdmx-csv": {"sdmx1": read_sdmx_csv},
}


def main(folder):
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        answer = json.loads(path.read_text(encoding="utf-8"))
        names = ["indicator", *(answer["data"][0] if answer["data"] else [])]
        for form, readers in READERS.items():
            file = path.with_suffix(f".{form}")
            if not file.exists():
                continue
            for reader, read in readers.items():
                columns = read(file, names)
                missing = {*(answer["data"][0] if answer["data"] else [])} - set(columns)
                if missing:
                    sys.exit(f"{reader} {file} lacks {missing}")
                compare(reader, file, columns, expectation(answer))
    print(json.dumps(COMPARED))


main(sys.argv[1])
