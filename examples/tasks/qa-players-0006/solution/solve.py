"""Answers the question from the data files and writes answer.txt."""

import json


def load(name):
    """The rows of a table."""
    with open(name + ".json", encoding="utf-8") as file:
        return json.load(file)


rows = load("players")
values = [row["points"] for row in rows]
answer = round(min(values))

with open("answer.txt", "w", encoding="utf-8") as file:
    file.write(f"{answer}\n")
