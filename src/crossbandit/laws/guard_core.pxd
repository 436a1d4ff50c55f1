from crossbandit.laws.law_core cimport LawCore

cdef class GuardCore:
    cdef LawCore law
    cdef double top, x, y, weight
    cdef Py_ssize_t bid
    cdef double[::1] wins, spent, gains, chances, seen
    cdef tuple made_of
    cdef void take_row(self, const long long[:, ::1] slots, const double[:, ::1] uniforms, Py_ssize_t i) noexcept nogil
    cdef void set_policy(self, double worth, Py_ssize_t last) noexcept nogil
    cdef double weight_of_law(self) noexcept nogil
    cdef void set_seen(self, double weight, Py_ssize_t bid) noexcept nogil
    cdef Py_ssize_t choose(self, Py_ssize_t band, double worth, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t draw(self, Py_ssize_t last) noexcept nogil
    cdef void lower(self, Py_ssize_t cap) noexcept nogil
    cdef void learn_outcome(self, double worth, Py_ssize_t bid, Py_ssize_t played, Py_ssize_t cell) noexcept nogil


