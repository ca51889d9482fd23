"""The contract kit that plugin authors run; built-ins run it too."""
