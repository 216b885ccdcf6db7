"""kei-agent: the queue of keisei's own project, from an atom.

Owns: nothing. Touches: keisei's store and evidence, through keisei itself. Leaves to others: running what is queued.
"""
