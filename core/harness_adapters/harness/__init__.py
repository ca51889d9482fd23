"""What drivers of installed harnesses share: the cache, Node.js, npm and PyPI packages, event
streams, and how a harness is run to its end.

Public: plugins may import ``cache``, ``choice``, ``events``, ``headless``, ``node``, ``npm``,
``program`` and ``pypi``.
"""
