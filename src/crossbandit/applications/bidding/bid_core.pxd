from crossbandit.learners.shell_core cimport LawShell

cdef class BidCore:
    cdef object bid_type, decision_type, rules, reason_of
    cdef list grid
    cdef double low, high, reserve, least
    cdef bint at_most_value, quiet
    cdef tuple made_of
