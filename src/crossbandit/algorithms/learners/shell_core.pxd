from crossbandit.core.locks cimport Lock
from crossbandit.core.uniforms cimport Uniforms
from crossbandit.laws.law_core cimport LawCore, LawParts
from crossbandit.laws.test_core cimport TestCore, TestParts
from crossbandit.algorithms.learners.seen_core cimport DecisionFields, ON_PAGE, Page, SeenPages, ShellCore, now
from crossbandit.limits.pace_core cimport PaceCore
from crossbandit.limits.pace_core cimport WANTED

cdef class LawShell(ShellCore):
    cdef public object law, guard, learner, clock
    cdef public type decision
    cdef public Lock deciding, learning
    cdef public long long round, declined, total
    cdef public object test, watch
    cdef public set own
    cdef public SeenPages seen
    cdef public Py_ssize_t features
    cdef act_unguarded(self, double context, double worth, double cost, tuple labels, Py_ssize_t first, Py_ssize_t last)
    cpdef act_between(self, double context, double worth, double cost, tuple labels, double low, double high, double most)
    cdef set_round(self, LawCore law, tuple labels)
    cdef decided(self, Py_ssize_t arm, Py_ssize_t first, Py_ssize_t last, part)
    cdef make(self, long long number, Py_ssize_t arm, long long score, part)
    cdef learn_outcome(self, DecisionFields decision, context, tuple labels, shown, bint correction, payment)
    cdef bint pays(self, DecisionFields decision, money, key, double amount) except -1
    cdef add_outcome(self, DecisionFields decision, Page page, context, tuple labels, slots, shown)

cpdef bint is_watched(long long number) noexcept
cdef pay(reserved, key, bint won, double least)
