cimport cython

cdef enum: ON_PAGE = 1023  # counter & ON_PAGE is the place of a decision on its page

cdef class ShellCore:
    cdef public object id, _key

@cython.no_gc  # a decision is in no cycle, and there may be very many
cdef class MadeFields:
    cdef public long long round, arm
    cdef public str learner, decider
    cdef public double time
    cdef public object key

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
    cpdef Page find(self, decider, long long counter, double time)
