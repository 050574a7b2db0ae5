"""Runs the real Linux kernel on described disks in virtual time: thousands of trials, and their
results as frames.
"""

from disklab.frames import load
from disklab.program import Error
from disklab.sweeping import sweep

__all__ = ["Error", "load", "sweep"]
