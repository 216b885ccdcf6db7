"""kei-http: HTTP requests that stay inside their bounds.

Owns: nothing. Touches: the network, and the one file `download` is told to write. Leaves to others: which hosts may be
asked (the gate and the sandbox say), secrets' storage, what an answer means.
"""
