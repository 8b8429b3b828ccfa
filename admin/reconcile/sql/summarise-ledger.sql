-- Summarises a part of the ledger; compares each entry with the one before it in the file.
-- One row an account (`entries` above 0; `day` when all its entries are of one day), one for each of its days when there
-- are several, and one for each of its orders.
-- `astray` counts entries that do not follow from the one before. `link` is a sum of hashes that ledger-totals.sql uses.
-- `weighed` is the credits spent on a day times a pseudo-random factor of that day: summed, it is a checksum over days.
COPY (
  WITH lined_up AS (
    SELECT
      account_id, id_ms, id_seq, at_ms, delta, balance,
      -- A refund of a debit counts on the day of the debit.
      coalesce(
        if(kind = 'refund' AND more IS NOT NULL, try_cast(regexp_extract(more, '"of_ms":"(\d+)"', 1) AS BIGINT), NULL),
        at_ms
      ) // 86400000 AS day,
      CASE WHEN kind = 'debit' OR (kind = 'refund' AND route IS NOT NULL) THEN -delta ELSE 0 END AS spent,
      row_number() OVER () AS place,
      lag(account_id) OVER () AS account_before,
      lag(id_ms) OVER () AS ms_before,
      lag(id_seq) OVER () AS seq_before,
      lag(balance) OVER () AS balance_before
    FROM read_parquet($entries)
  ),
  days AS MATERIALIZED (
    SELECT
      account_id, day::INTEGER AS day,
      count(*) AS entries, sum(delta)::BIGINT AS moved, sum(spent)::BIGINT AS spent,
      min(place) AS first_place, arg_min(id_ms, place) AS first_ms, arg_min(id_seq, place) AS first_seq,
      max(place) AS last_place, arg_max(id_ms, place) AS last_ms, arg_max(id_seq, place) AS last_seq,
      arg_min(balance - delta, place) AS opening, arg_max(balance, place) AS closing, min(at_ms) AS since_ms,
      count(*) FILTER (
        WHERE CASE
          WHEN account_id = account_before
          THEN id_ms < ms_before OR (id_ms = ms_before AND id_seq <= seq_before) OR balance <> balance_before + delta
          ELSE account_id < account_before
        END
      ) AS astray
    FROM lined_up
    GROUP BY account_id, lined_up.day
  ),
  weighed_days AS (
    SELECT
      account_id, day, spent,
      spent * ((day::BIGINT * 2654435761 % 2147483647) * (day::BIGINT * 2654435761 % 2147483647) % 268435399 + 1) AS weighed
    FROM days
  ),
  accounts AS (
    SELECT
      account_id, if(count(*) = 1, any_value(day), NULL) AS day,
      sum(entries)::BIGINT AS entries, sum(moved)::BIGINT AS moved, sum(spent)::BIGINT AS spent,
      arg_min(first_ms, first_place) AS first_ms, arg_min(first_seq, first_place) AS first_seq,
      arg_max(last_ms, last_place) AS last_ms, arg_max(last_seq, last_place) AS last_seq,
      arg_min(opening, first_place) AS opening, arg_max(closing, last_place) AS closing, min(since_ms) AS since_ms,
      sum(astray)::BIGINT AS astray
    FROM days
    GROUP BY account_id
  )
  SELECT
    accounts.account_id, accounts.day, NULL::VARCHAR AS "order",
    entries, moved, accounts.spent, accounts.spent AS of_day,
    first_ms, first_seq, last_ms, last_seq, opening, closing, since_ms, astray,
    (hash(opening) >> 2)::BIGINT - (hash(closing) >> 2)::BIGINT AS link,
    coalesce(weighed, 0) AS weighed
  FROM accounts
  LEFT JOIN weighed_days ON weighed_days.account_id = accounts.account_id AND weighed_days.day = accounts.day
  UNION ALL BY NAME
  SELECT
    weighed_days.account_id, weighed_days.day,
    0::BIGINT AS entries, 0::BIGINT AS moved, 0::BIGINT AS spent, weighed_days.spent AS of_day, weighed
  FROM weighed_days JOIN accounts ON accounts.account_id = weighed_days.account_id
  WHERE accounts.day IS NULL
  UNION ALL BY NAME
  SELECT account_id, "order", 0::BIGINT AS entries, sum(delta)::BIGINT AS moved, 0::BIGINT AS spent
  FROM read_parquet($entries)
  WHERE "order" IS NOT NULL
  GROUP BY account_id, "order"
) TO $file (FORMAT parquet)
