"""Matching paths like ``/users/42`` with patterns like ``/users/:id``."""


class PatternError(ValueError):
    """A pattern that cannot be used."""


def match(pattern, path):
    """The parts that a pattern names, or ``None`` where the path is another one."""
    wanted, given = _parts(pattern), _parts(path)
    _check(wanted)
    found = {}
    if wanted and wanted[-1].startswith("*"):
        before = len(wanted) - 1
        if len(given) < before:
            return None
        found[wanted.pop()[1:]] = "/".join(given[before:])
        given = given[:before]
    if len(wanted) != len(given):
        return None
    for part, value in zip(wanted, given):
        if part.startswith(":"):
            found[part[1:]] = value
        elif part != value:
            return None
    return found


def build(pattern, values):
    """The path in which a pattern finds these values."""
    wanted = _parts(pattern)
    _check(wanted)
    names = [part[1:] for part in wanted if part[0] in ":*"]
    if set(names) != set(values):
        raise PatternError("the values are not those that the pattern names")
    parts = []
    for part in wanted:
        if part.startswith(":"):
            value = values[part[1:]]
            if not value or "/" in value:
                raise PatternError(f"{value!r} is no part of a path")
            parts.append(value)
        elif part.startswith("*"):
            parts += _parts("/" + values[part[1:]])
        else:
            parts.append(part)
    return "/" + "/".join(parts)


def _parts(path):
    if not path.startswith("/"):
        raise PatternError(f"{path!r} does not start with a slash")
    return [part for part in path.split("/") if part]


def _check(parts):
    names = [part[1:] for part in parts if part[0] in ":*"]
    if any(part.startswith("*") for part in parts[:-1]):
        raise PatternError("only the last part can take the rest")
    if not all(name.isidentifier() for name in names):
        raise PatternError("a name is no identifier")
    if len(set(names)) < len(names):
        raise PatternError("a name stands twice")
