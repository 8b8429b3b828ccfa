"""How fast the Python client brings figures into pandas, beside `pandas.read_parquet` of the same file on disk.

Usage: clients.py URL KEY DIRECTORY PROVIDER INDICATOR... Prints for each download its name, rows, and of each round
the seconds by the clock and of the processor.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas
from almanac import Almanac, Table

ROUNDS = 21

url, key, directory, provider, *indicators = sys.argv[1:]
client = Almanac(key, base_url=url, progress=False)


def seconds(work: Callable[[], pandas.DataFrame]) -> tuple[float, float]:
    """By the clock, and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


def compare(name: str, download: Callable[[], Table]) -> dict[str, object]:
    table = download()
    file = Path(directory) / f"{name}.parquet"
    file.write_bytes(table.content)
    contestants = {
        "client": lambda: download().to_pandas(),
        "disk": lambda: pandas.read_parquet(file),
    }
    pandas.testing.assert_frame_equal(contestants["client"](), contestants["disk"]())
    rounds: dict[str, list[tuple[float, float]]] = {"client": [], "disk": []}
    for number in range(ROUNDS):
        order = contestants if number % 2 == 0 else reversed(contestants)
        for contestant in order:
            rounds[contestant].append(seconds(contestants[contestant]))
    return {"name": name, "rows": len(table), **rounds}


found = [
    compare("bundle", lambda: client.bundle(provider)),
    compare("data", lambda: client.data(indicators)),
]
print(json.dumps(found))
