"""A slow, literal NumPy transcription of the paper: the oracle for the compiled code.

Nothing here is fast on purpose, and nothing here imports the library, except for Algorithm 2: its
literal definition is part of `crossbandit.verify.theory`. Names are the paper's:
``K`` arms, ``M`` contexts, ``T`` rounds, epoch length ``L``, ``p``, ``q``, ``r``, ``s``, ``W``.
Rounds, arms and contexts count from 0; epochs count from 1, as in the paper.
"""
