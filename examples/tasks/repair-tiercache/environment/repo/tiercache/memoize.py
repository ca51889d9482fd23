"""Remembering the results of functions."""

import functools

_NOTHING = object()


def memoize(cache):
    """A decorator: results are kept in ``cache``, by function name and arguments. An exception is
    not a result and is not kept."""

    def decorate(function):
        @functools.wraps(function)
        def remembered(*args, **kwargs):
            key = (function.__qualname__, args, tuple(sorted(kwargs.items())))
            result = cache.get(key, _NOTHING)
            if result is _NOTHING:
                result = function(*args, **kwargs)
                cache.put(key, result)
            return result

        return remembered

    return decorate
