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
