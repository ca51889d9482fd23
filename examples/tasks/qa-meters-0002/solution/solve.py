"""Answers the question from the data files and writes answer.txt."""

import sqlite3


def load(name):
    """The rows of a table."""
    connection = sqlite3.connect("meters.sqlite")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM " + name)]
    connection.close()
    return rows


rows = load("meters")
rows = [row for row in rows if row["read_on"] < "2021-10-08"]
groups = {}
for row in rows:
    groups.setdefault(row["size"], []).append(row["cost"])
measured = {name: sum(values) / len(values) for name, values in groups.items()}
answer = max(measured, key=measured.get)

with open("answer.txt", "w", encoding="utf-8") as file:
    file.write(f"{answer}\n")
