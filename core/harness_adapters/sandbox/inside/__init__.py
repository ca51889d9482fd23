"""What runs inside a sandbox: a supervisor that starts, watches and ends programs there.

Everything here needs nothing but the standard library, and only those parts of it that load fast,
because it is loaded anew in every sandbox. The host imports ``wire`` only.
"""
