"""Answers the question from the data files and writes answer.txt."""

import sqlite3


def load(name):
    """The rows of a table."""
    connection = sqlite3.connect("gardens.sqlite")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM " + name)]
    connection.close()
    return rows


rows = load("gardens")
rows = [row for row in rows if "ll" in row["name"].lower()]
answer = len(rows)

with open("answer.txt", "w", encoding="utf-8") as file:
    file.write(f"{answer}\n")
