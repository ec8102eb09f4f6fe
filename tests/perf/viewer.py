#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Open a database in perf's exported-sql-viewer.py, and print the contents of the viewer's windows.

    viewer.py VIEWER DATABASE PICTURE

VIEWER is scripts/python/exported-sql-viewer.py of the kernel's source, which runs without changes with PySide2 and
without a screen. This program opens the reports through the viewer's menu. The program prints a line for each row,
with the name of the window and the cells, separated by tabs:

    graph DEPTH CALL-PATH OBJECT COUNT
    tree DEPTH CALL-PATH OBJECT
    branch TIME CPU COMMAND PID TID TYPE BRANCH

PICTURE is the name of a PNG file, to which the program writes a picture of the main window.
"""
import importlib.util
import os
import sys
import time

os.environ.setdefault('QT_QPA_PLATFORM', 'offscreen')
os.environ.setdefault('XDG_RUNTIME_DIR', '/tmp')
TIMEOUT = 300


def load(path):
    spec = importlib.util.spec_from_file_location('viewer', path)
    module = importlib.util.module_from_spec(spec)
    sys.modules['viewer'] = module
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def open_window(viewer, database):
    """Do the same as the viewer's Main() until its event loop starts"""
    ref = viewer.DBRef(True, database)
    db, name = ref.Open('main')
    glb = viewer.Glb(ref, db, name)
    glb.app = viewer.QApplication(sys.argv)
    glb.mainwindow = viewer.MainWindow(glb)
    glb.mainwindow.resize(1600, 900)
    glb.mainwindow.show()
    return glb


def report(glb, title):
    """Open the report @name through the menu, and return its window"""
    before = set(glb.mainwindow.mdi_area.subWindowList())
    for menu in glb.mainwindow.menuBar().actions():
        for action in menu.menu().actions():
            if action.text().replace('&', '') == title:
                action.trigger()
    new = [w for w in glb.mainwindow.mdi_area.subWindowList() if w not in before]
    if len(new) != 1:
        raise SystemExit(f'{title}: {len(new)} windows were opened')
    return new[0]


def cells(model, index, columns):
    return [str(model.index(index.row(), column, index.parent()).data()) for column in columns]


def print_tree(viewer, model, name, columns):
    # Use a list instead of recursion, because the tree is as deep as the program's stack
    stack = [(viewer.QModelIndex(), -1)]
    while stack:
        index, depth = stack.pop()
        if depth >= 0:
            print(name, depth, *cells(model, index, columns), sep='\t')
        for row in reversed(range(model.rowCount(index))):
            stack.append((model.index(row, 0, index), depth + 1))


def fetch_all(glb, model):
    """Wait for branches, which another process fetches in small groups"""
    end = time.monotonic() + TIMEOUT
    while model.more:
        if time.monotonic() > end:
            raise SystemExit('branches are not fetched')
        glb.app.processEvents()
        model.FetchMoreRecords(10000)
        time.sleep(0.05)


def main():
    viewer = load(sys.argv[1])
    glb = open_window(viewer, DATABASE)
    columns = {'Context-Sensitive Call Graph': (0, 1, 2), 'Call Tree': (0, 1)}
    for title, name in (('Context-Sensitive Call Graph', 'graph'), ('Call Tree', 'tree')):
        window = report(glb, title)
        print_tree(viewer, window.model, name, columns[title])
        window.view.expandToDepth(5)
    window = report(glb, 'All branches')
    fetch_all(glb, window.model)
    model = window.model
    for row in range(model.rowCount(viewer.QModelIndex())):
        index = model.index(row, 0, viewer.QModelIndex())
        last = model.columnCount() - 1
        print('branch', *cells(model, index, (0, 1, 2, 3, 4, 5, last)), sep='\t')
    glb.mainwindow.mdi_area.tileSubWindows()
    glb.app.processEvents()
    glb.mainwindow.grab().save(PICTURE)
    glb.ShutdownInstances()


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    DATABASE, PICTURE = sys.argv[2:]
    main()
