"""Clients: one program in C and the same in Python. A harness starts one for each call; both refuse on any doubt."""
