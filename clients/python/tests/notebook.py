"""A notebook: asks for figures in several ways and writes every byte of what it gets to a file.

Usage: notebook.py OUTPUT [LOCK]
"""

import json
import sys
from pathlib import Path

from almanac_data import Almanac

output, *lock = sys.argv[1:]
client = Almanac(lock=lock[0] if lock else None, progress=False)

COWS, GOATS = "atlas.cows", "atlas.goats"
long = client.data([COWS, GOATS], countries=["FRA", "DEU"])
wide = client.data([COWS, GOATS], layout="wide", years=(2000, 2002))
ranking = client.rank(COWS, 2000)
pages = [
    long.to_pandas().to_csv(index=False),
    wide.to_pandas().to_csv(index=False),
    client.data(COWS, latest=1).to_polars().write_csv(),
    json.dumps([long.attrs, wide.attrs, ranking.attrs]),
    json.dumps(ranking.rows),
    json.dumps(client.country("FRA")),
    json.dumps(client.indicator(COWS)),
    json.dumps(client.indicators()),
    client.file(COWS).to_pandas().to_csv(index=False),
    json.dumps(client.receipt(COWS, "FRA", 2000).verify(client.keys()).row),
]
Path(output).write_text("\n\n".join(pages), encoding="utf-8")
