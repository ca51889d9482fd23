"""Our tasks and rollouts as an OpenEnv environment, and our transcripts as its training traces.

``traces.py`` knows the format and needs no OpenEnv; ``environment.py`` does (extra ``openenv``).
"""
