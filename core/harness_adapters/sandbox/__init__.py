"""Places where agents' programs run: ``process`` (no boundary) and ``bubblewrap``."""
