"""Tasks for and from Harbor, and our sandbox as one of its environments.

``importer.py`` and ``export.py`` know the format and need no Harbor; ``environment.py`` is imported
by Harbor (extra ``harbor``, Python 3.12 or newer).
"""
