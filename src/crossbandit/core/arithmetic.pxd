from libc.math cimport INFINITY, exp

cdef class Contexts:
    cdef const long long[::1] offset
    cdef const long long[::1] entry
    cdef const double[:, :, ::1] table
    cdef const unsigned char[:, ::1] available
    cdef bint restricted
    cdef bint may_play(self, Py_ssize_t i, Py_ssize_t a) noexcept nogil

cdef class Ranges:
    cdef const long long[::1] starts
    cdef const long long[::1] first
    cdef const long long[::1] last
    cdef bint has_self_loop(self, Py_ssize_t shift, Py_ssize_t a) noexcept nogil

cdef class Losses:
    cdef const double[:, :, ::1] base
    cdef const double[:, :, ::1] coefficients
    cdef const double[:, ::1] features
    cdef double low
    cdef double high

cdef class Batch:
    cdef Contexts contexts
    cdef Losses losses
    cdef long long[::1] arms
    cdef const long long[::1] numbers
    cdef const long long[::1] graph
    cdef Ranges out_ranges
    cdef Ranges in_ranges

cdef class EstimateCore:
    cdef Py_ssize_t arms
    cdef Py_ssize_t columns
    cdef bint single
    cdef double[:, :, ::1] estimates
    cdef float[:, :, ::1] narrow
    cdef double[:, ::1] bias
    cdef double[:, ::1] rows
    cdef double[:, ::1] sums
    cdef long long[::1] revealed
    cdef bint apart
    cdef dict arrays
    cdef tuple made_of
    cdef Contexts now
    cdef long long[::1] now_offset
    cdef double[:, :, ::1] now_table
    cdef unsigned char[:, ::1] now_available
    cdef read_context(self, reading)
    cdef Losses read_feedback(self, const double[::1] weights, out, arms, rows)
    cdef double read(self, Py_ssize_t copy, Contexts contexts, Py_ssize_t i, Py_ssize_t out) noexcept nogil
    cdef void weigh(self, Py_ssize_t copy, Contexts contexts, Py_ssize_t i, double eta, double rho, Py_ssize_t out) noexcept nogil
    cdef void normalise(self, Contexts contexts, Py_ssize_t i, double least, double eta, double rho, Py_ssize_t out) noexcept nogil
    cdef Py_ssize_t draw(self, Py_ssize_t row, double uniform) noexcept nogil
    cdef Py_ssize_t heaviest(self, long long[::1] arms, Py_ssize_t row) noexcept nogil
    cdef void combine(self, Py_ssize_t arm, double keep, Py_ssize_t out, double weight, Py_ssize_t copy) noexcept nogil
    cdef void copy_row(self, Py_ssize_t row, Py_ssize_t out) noexcept nogil
    cdef void add_row(self, Py_ssize_t row, Py_ssize_t out) noexcept nogil
    cdef void masses(self, Ranges ranges, Py_ssize_t shift, Py_ssize_t row, Py_ssize_t out) noexcept nogil
    cdef Py_ssize_t list_common(self, Ranges known, Ranges true, Py_ssize_t shift, Py_ssize_t arm) noexcept nogil
    cdef Py_ssize_t list_neighbors(self, Ranges ranges, Py_ssize_t shift, Py_ssize_t arm) noexcept nogil
    cdef void add_revealed(self, Py_ssize_t copy, Losses losses, Py_ssize_t i, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil
    cdef void add_loss_row(self, Py_ssize_t copy, Py_ssize_t arm, Losses losses, Py_ssize_t i, Py_ssize_t place, double weight) noexcept nogil
    cdef void add_long_row(self, Py_ssize_t copy, Py_ssize_t arm, Losses losses, Py_ssize_t i, Py_ssize_t place, double weight) noexcept nogil

cdef double loss_in_column(Losses losses, Py_ssize_t i, Py_ssize_t place, Py_ssize_t m) noexcept nogil
cdef double loss_of(Losses losses, Py_ssize_t t, Py_ssize_t place, Py_ssize_t arm, Contexts contexts, Py_ssize_t i) noexcept nogil
