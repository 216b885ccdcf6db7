"""kei-time: moments, zones, durations and timetables.

Owns: nothing. Touches: the clock (`now` alone) and the zone database of the machine, or that of the package `tzdata`.
Leaves to others: waiting for a moment.
"""
