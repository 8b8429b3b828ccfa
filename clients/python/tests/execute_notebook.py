"""Executes a notebook, in the folder of the output, and writes it with its outputs.

Usage: execute_notebook.py NOTEBOOK OUTPUT
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

WITHIN_S = 300

source, output = (Path(word) for word in sys.argv[1:])
notebook = nbformat.read(source, as_version=4)
where = {"metadata": {"path": str(output.parent)}}
client = NotebookClient(
    notebook, timeout=WITHIN_S, kernel_name="python3", resources=where, record_timing=False, coalesce_streams=True
)
client.execute()
# The version of the interpreter says nothing about the figures.
notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
nbformat.write(notebook, output)
