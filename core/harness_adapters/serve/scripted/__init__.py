"""The scripted engine: a model server whose model is a script. The project's test engine."""
