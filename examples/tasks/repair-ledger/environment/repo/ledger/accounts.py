"""What the entries mean for each account."""

from ledger.money import format_amount


def movements(entries, account):
    """(entry, cents) for every entry of ``account``: what came in, or, negative, went out."""
    found = []
    for entry in entries:
        if entry.payee == account:
            found.append((entry, entry.cents))
        elif entry.payer == account:
            found.append((entry, -entry.cents))
    return found


def balances(entries, until=None):
    """Account -> balance as a text, accounts in order.

    :param until: only entries up to this day, the day included.
    """
    totals = {}
    for entry in entries:
        if until is None or entry.date <= until:
            totals[entry.payee] = totals.get(entry.payee, 0) + entry.cents
            totals[entry.payer] = totals.get(entry.payer, 0) - entry.cents
    return {account: format_amount(totals[account]) for account in sorted(totals)}


def statement(entries, account):
    """Lines of (date, other account, movement, balance after it)."""
    balance = 0
    lines = []
    for entry, cents in movements(entries, account):
        balance += cents
        other = entry.payer if entry.payee == account else entry.payee
        lines.append((entry.date, other, format_amount(cents), format_amount(balance)))
    return lines
