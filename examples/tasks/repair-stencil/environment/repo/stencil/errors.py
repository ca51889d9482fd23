class TemplateError(Exception):
    """The template is wrong, or names something that is not there; ``line`` counts from 1."""

    def __init__(self, message, line):
        super().__init__(f"line {line}: {message}")
        self.line = line
