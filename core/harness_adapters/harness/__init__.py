"""What drivers of installed harnesses share: the cache, Node.js, npm packages, event streams.

Public: plugins may import ``cache``, ``events``, ``node`` and ``npm``.
"""
