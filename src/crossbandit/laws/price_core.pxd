

cdef class PriceEstimate:
    cdef Py_ssize_t feedback
    cdef const double[::1] bids
    cdef double[::1] told, hidden, chances
    cdef double[:, ::1] blocks
    cpdef Py_ssize_t best_bid(self, double value, Py_ssize_t first) noexcept nogil
    cpdef void learn(self, Py_ssize_t bid, Py_ssize_t cell) noexcept nogil
    cdef void set_chances(self) noexcept nogil
    cdef void from_above(self) noexcept nogil
    cdef void from_below(self) noexcept nogil
    cdef void pool(self) noexcept nogil


