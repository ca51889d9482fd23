"""Names and what they mean, block inside block."""

from contextlib import contextmanager


class Scope:
    """A stack of blocks; a name means what the innermost block that defines it says."""

    def __init__(self, values):
        self._blocks = [dict(values)]

    def define(self, name, value):
        """Give a name a meaning until the current block ends."""
        for names in reversed(self._blocks):
            if name in names:
                names[name] = value
                return
        self._blocks[-1][name] = value

    @contextmanager
    def block(self):
        """A block inside the current one: names defined in it are forgotten when it ends."""
        self._blocks.append({})
        try:
            yield
        finally:
            self._blocks.pop()

    def lookup(self, path):
        """The value of a dotted path: keys of mappings, positions of lists.

        :raises KeyError: nothing of that name.
        """
        first, *rest = path.split(".")
        for names in reversed(self._blocks):
            if first in names:
                value = names[first]
                break
        else:
            raise KeyError(first)
        for part in rest:
            value = _member(value, part)
        return value


def _member(value, part):
    if isinstance(value, dict):
        return value[part]
    if isinstance(value, (list, tuple)) and part.isdigit() and int(part) < len(value):
        return value[int(part)]
    raise KeyError(part)
