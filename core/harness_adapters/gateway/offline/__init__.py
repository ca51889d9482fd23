"""The guard without a wire: rows of a corpus, recorded sessions, single calls, finished runs."""
