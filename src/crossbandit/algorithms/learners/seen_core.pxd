cdef enum: ON_PAGE = 1023  # counter & ON_PAGE is the place of a decision on its page

cdef class ShellCore:
    cdef public object id, _key

cdef class DecisionFields:
    cdef public long long round, arm, counter
    cdef public str learner, decider
    cdef public double time, probability
    cdef public object key, written
    cdef public bint by_law, remembered, sealed
    # with a feedback graph
    cdef public object context, revealed, known, baseline, rows, graph
    cdef public object form, reading, factors  # until `readout` and `weights` are asked for
    # by a law
    cdef public long long score, total
    cdef public object guard
    cdef tuple shown(self)

cdef class Page:
    cdef public object codes
    cdef public double newest
    cdef public long long generation
    cdef unsigned short[::1] table

cdef class SeenPages:
    cdef public double span, dropped
    cdef public long long generation
    cdef public dict pages
    cdef public object clock
    cdef public Page latest  # the page that was found last, of this decider and with this number
    cdef public object decider
    cdef public long long number
    cdef Page page_for(self, decider, long long counter, double time)
    cdef Page find(self, decider, long long counter, double time)

cdef double now(clock) except -1.0

cdef class WatchCounts:
    cdef public long long _start, _first, _begin, _end
    cdef public list _cohorts
    cdef bint is_latest(self, long long round_) noexcept
    cdef Py_ssize_t cohort_of(self, long long round_) except -2
    cdef count(self, Py_ssize_t cohort, Py_ssize_t kind, Py_ssize_t arm)
