"""Answers the question from the data files and writes answer.txt."""

from statistics import median
import sqlite3


def load(name):
    """The rows of a table."""
    connection = sqlite3.connect("courses.sqlite")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM " + name)]
    connection.close()
    return rows


rows = load("courses")
rows = [row for row in rows if row["starts"] >= "2023-01-11"]
values = [row["seats"] for row in rows]
answer = round(median(values), 2)

with open("answer.txt", "w", encoding="utf-8") as file:
    file.write(f"{answer}\n")
