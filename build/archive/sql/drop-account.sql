DELETE FROM ledger_entries WHERE account_id = $account;
