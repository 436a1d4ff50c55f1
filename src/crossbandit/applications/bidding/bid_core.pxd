from crossbandit.core.locks cimport Lock
from crossbandit.laws.law_core cimport LawCore, LawParts
from crossbandit.algorithms.learners.seen_core cimport DecisionFields
from crossbandit.algorithms.learners.shell_core cimport LawShell
from crossbandit.limits.pace_core cimport PaceCore

cdef class BidFields:
    cdef public object decision, amount, value, reserve, classes, reason

cdef class BidCore:
    cdef type bid_type, decision_type
    cdef object rules, reason_of, first_key
    cdef const double[::1] amounts
    cdef list grid
    cdef double low, high, reserve, least
    cdef bint at_most_value, quiet
    cdef tuple made_of
    cdef Py_ssize_t last_amount(self, value) except -2
    cdef decide(self, LawShell shell, money, double now, value, tuple labels, list taken)
    cdef make(self, decision, value, amount, tuple labels, reason)
