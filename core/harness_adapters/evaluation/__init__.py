"""Did the adapter help, by how much, and how sure are we: run folders in, honest numbers out.

``arms`` reads a run folder, ``likeness`` refuses runs that must not be compared, ``pairs`` puts the
same tasks side by side; the statistics (``clustered``, ``difference``, ``sign_flip``, ``power``,
``equivalence``, ``holm``, ``pass_at_k``, ``proportions``) are pure functions of arrays; ``compare``
puts it all together and ``verdict`` says it in words.
"""
