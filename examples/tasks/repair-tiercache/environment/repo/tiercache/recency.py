"""Which key was used longest ago."""


class Recency:
    """Keys in the order of their last use. A ``dict`` keeps the order of insertion, so a key that
    is used is taken out and put in again."""

    def __init__(self):
        self._order = {}

    def __len__(self):
        return len(self._order)

    def __iter__(self):
        """From the least to the most recently used."""
        return iter(self._order)

    def touch(self, key):
        """The key is used now; it need not be known yet."""
        self._order.pop(key, None)
        self._order[key] = None

    def forget(self, key):
        self._order.pop(key, None)

    def oldest(self):
        """The key that was used longest ago.

        :raises LookupError: there are no keys.
        """
        for key in self._order:
            return key
        raise LookupError("no keys")
