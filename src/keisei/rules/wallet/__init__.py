"""Wallets that are only looked at: addresses are read, signatures over messages verified, nothing is ever signed.

Pure Python, and no private key anywhere: verification handles public values only, so how long it takes tells nothing.
Everything here is given by strangers. What cannot be read raises ValueError with one plain sentence that repeats none
of it, since it may be a secret that was pasted into the wrong place; a signature that cannot be read is not valid.
"""
