"""Monthly budgets per account."""

from ledger.accounts import movements
from ledger.money import format_amount, parse_amount, split_evenly


def spent(entries, account, month):
    """Cents that came into ``account`` in a month (``2024-01``), corrections taken off."""
    return sum(cents for entry, cents in movements(entries, account) if entry.date[:7] == month)


def over_budget(entries, limits, month):
    """Account -> amount above its limit, as texts, for those that are above."""
    result = {}
    for account, limit in sorted(limits.items()):
        above = spent(entries, account, month) - parse_amount(limit)
        if above > 0:
            result[account] = format_amount(above, thousands=True)
    return result


def shares(amount, people):
    """Person -> share of an amount; the cents that are left go to the first ones."""
    parts = split_evenly(parse_amount(amount), len(people))
    return {person: format_amount(part) for person, part in zip(people, parts)}
