"""Your robot, your step: catena beside MuJoCo and Pinocchio on one file.

    catena compare robot.xml --out robot.html        (or: python -m catena.compare robot.xml)

docs/compare.md says what is compared, and how.
"""

from .report import Report, measure
from .robot_file import Robot, read_robot

__all__ = ["Report", "Robot", "measure", "read_robot"]
