# SPDX-License-Identifier: GPL-2.0-only
"""Implement the part of Qt's database classes that perf's export-to-sqlite.py uses, with Python's own SQLite. With
this module, the script runs without changes on a machine without Qt."""
import sqlite3

__all__ = ['QSqlDatabase', 'QSqlQuery']


class QSqlDatabase:
    @staticmethod
    def addDatabase(kind):
        assert kind == 'QSQLITE'
        return QSqlDatabase()

    def setDatabaseName(self, name):
        self.name = name

    def open(self):
        # Switch off automatic transactions, because the script controls transactions
        self.connection = sqlite3.connect(self.name, isolation_level=None)
        return True

    def close(self):
        self.connection.close()


class Error:
    def __init__(self, text):
        self.message = text

    def text(self):
        return self.message


class QSqlQuery:
    def __init__(self, db):
        self.connection, self.text, self.values = db.connection, '', []
        self.rows, self.error = None, ''

    def prepare(self, text):
        self.text = text

    def addBindValue(self, value):
        self.values.append(value)

    def exec_(self, text=None):
        values, self.values = self.values, []
        try:
            self.rows = self.connection.execute(text or self.text, values)
        except sqlite3.Error as error:
            self.error = f'{error}: {text or self.text}'
            return False
        return True

    def next(self):
        return self.rows.fetchone() is not None

    def lastError(self):
        return Error(self.error)
