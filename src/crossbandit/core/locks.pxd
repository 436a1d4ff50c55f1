from cpython.pythread cimport PyThread_type_lock

cdef class Lock:
    cdef PyThread_type_lock lock
    cdef unsigned long owner
    cdef long depth, waiting
    cdef bint taken
    cdef object plain
    cpdef acquire(self)
    cpdef release(self)
    cdef wait(self)
