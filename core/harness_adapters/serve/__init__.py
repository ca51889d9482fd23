"""Engines: the model servers that host adapters, and the scripted one for tests."""
