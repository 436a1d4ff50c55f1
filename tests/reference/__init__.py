"""A slow, literal NumPy transcription of the paper: the oracle for the compiled code.

Nothing here imports the library, and nothing here is fast on purpose. Names are the paper's:
``K`` arms, ``M`` contexts, ``T`` rounds, epoch length ``L``, ``p``, ``q``, ``r``, ``s``, ``W``.
Rounds, arms and contexts count from 0; epochs count from 1, as in the paper.
"""
