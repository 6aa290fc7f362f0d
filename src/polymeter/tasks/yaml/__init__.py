"""The task YAML format: benchmarks written as YAML files with ``!function`` hooks, in any dialect.

Three layers, the first two of which run no task code:

- ``files`` reads them: ``files.reader`` gives pure data, ``files.index`` lists names, ``files.load`` makes specs of
  them, ``files.inspection`` shows and checks them. A ``files.dialects.Dialect`` describes the differences of a family
  of files; ``own`` has ours.
- ``config`` knows our fields, ``task_code`` a task's files.
- ``compile`` makes a Task of a spec: ``pieces`` collects the task's compiled hooks, ``prompts`` builds its messages
  from rows and forms, an output type (``outputs``) makes its rollout and score, and ``scoring`` makes values of
  answers. Facts that a YAML alone cannot hold are attached through ``extensions``.
"""

from __future__ import annotations

from polymeter.tasks.yaml.own import own_format

__all__ = ["FORMAT"]

FORMAT = own_format()
