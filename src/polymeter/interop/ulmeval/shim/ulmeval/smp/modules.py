"""The modules, and names from modules, that ``from ulmeval.smp import *`` binds besides its own: files use them without
importing them. Modules outside the standard library are imported at first use.
"""

from __future__ import annotations

import abc
import argparse
import base64
import copy as cp
import csv
import datetime
import hashlib
import io
import json
import logging
import mimetypes
import multiprocessing as mp
import os
import os.path as osp
import pickle
import random as rd
import shutil
import string
import subprocess
import sys
import time
import warnings
from collections import OrderedDict, defaultdict
from json import JSONDecoder
from multiprocessing import Pool, current_process
from pathlib import Path
from uuid import uuid4

from PIL import Image

from polymeter.interop.ulmeval.shim.lazy import LazyModule, LazyObject

np = LazyModule("numpy")
pd = LazyModule("pandas")
requests = LazyModule("requests")
validators = LazyModule("validators")
plt = LazyModule("matplotlib.pyplot")
tqdm = LazyObject("tqdm", "tqdm")
tabulate = LazyObject("tabulate", "tabulate")
fg, bg, ef, rs = (LazyObject("sty", name) for name in ("fg", "bg", "ef", "rs"))

__all__ = [
    "Image",
    "JSONDecoder",
    "OrderedDict",
    "Path",
    "Pool",
    "abc",
    "argparse",
    "base64",
    "bg",
    "cp",
    "csv",
    "current_process",
    "datetime",
    "defaultdict",
    "ef",
    "fg",
    "hashlib",
    "io",
    "json",
    "logging",
    "mimetypes",
    "mp",
    "np",
    "os",
    "osp",
    "pd",
    "pickle",
    "plt",
    "rd",
    "requests",
    "rs",
    "shutil",
    "string",
    "subprocess",
    "sys",
    "tabulate",
    "time",
    "tqdm",
    "uuid4",
    "validators",
    "warnings",
]
