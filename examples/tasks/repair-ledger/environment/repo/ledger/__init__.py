"""A small double-entry ledger kept in CSV."""

from ledger.accounts import balances, statement
from ledger.journal import Entry, LedgerError, read_csv, write_csv

__all__ = ["Entry", "LedgerError", "balances", "read_csv", "statement", "write_csv"]
