"""Prints as JSON what changed since a lock: figures of a table, the table without the lock and with it, and indicators.

Usage: what_changed.py LOCK
"""

import json
import sys

from almanac_data import Almanac, Lock

lock = Lock.read(sys.argv[1])
client = Almanac(progress=False)
asked = {"indicator": ["atlas.cows", "atlas.goats"], "countries": ["FRA", "DEU"]}
now = client.data(**asked)
then = Almanac(lock=lock, progress=False).data(**asked)
revisions = client.revisions(now, since=lock)
found = {
    "now": now.rows,
    "then": then.rows,
    "revisions": revisions.rows,
    "price": revisions.price,
    "changes": client.changes(since=lock),
    "pandas": len(revisions.to_pandas()),
}
print(json.dumps(found))
