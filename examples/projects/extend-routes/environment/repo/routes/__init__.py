"""Matching paths like ``/users/42`` with patterns like ``/users/:id``."""


class PatternError(ValueError):
    """A pattern that cannot be used."""


def match(pattern, path):
    """The parts that a pattern names, or ``None`` where the path is another one."""
    wanted, given = _parts(pattern), _parts(path)
    _check(wanted)
    if len(wanted) != len(given):
        return None
    found = {}
    for part, value in zip(wanted, given):
        if part.startswith(":"):
            found[part[1:]] = value
        elif part != value:
            return None
    return found


def _parts(path):
    if not path.startswith("/"):
        raise PatternError(f"{path!r} does not start with a slash")
    return [part for part in path.split("/") if part]


def _check(parts):
    names = [part[1:] for part in parts if part.startswith(":")]
    if not all(name.isidentifier() for name in names):
        raise PatternError("a name is no identifier")
    if len(set(names)) < len(names):
        raise PatternError("a name stands twice")
