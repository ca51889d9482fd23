"""Answers the question from the data files and writes answer.txt."""

import sqlite3


def load(name):
    """The rows of a table."""
    connection = sqlite3.connect("branches.sqlite")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM " + name)]
    connection.close()
    return rows


rows = load("branches")
rows = [row for row in rows if row["profit"] > 35580 and row["region"] == "south"]
answer = "\n".join(sorted({row["city"] for row in rows}))

with open("answer.txt", "w", encoding="utf-8") as file:
    file.write(f"{answer}\n")
