"""Is this machine, and an engine, fit for work? One check a module; ``checks.CHECKS`` names all."""
