"""Reports: what was found, as tables and charts that a page and a terminal show alike.

``document`` is what a report is made of; ``run``, ``comparison`` and ``evaluation`` make one from
results; ``html`` writes it as one file that needs nothing else, ``charts`` draws for it.
"""
