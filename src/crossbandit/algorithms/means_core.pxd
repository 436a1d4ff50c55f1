from crossbandit.core.arithmetic cimport Losses, loss_of
from crossbandit.core.rounds cimport RoundCore
from libc.math cimport INFINITY, NAN, log, pow, sqrt

cdef class BoundsCore(RoundCore):
    cdef Py_ssize_t observing_arm(self, Py_ssize_t b) noexcept nogil
    cdef Py_ssize_t optimistic_arm(self) noexcept nogil

cdef class MeansCore(BoundsCore):
    cdef bint optimism
    cdef bint sampling
    cdef double scale
    cdef double[:, ::1] counts  # (copies, K): how often each arm was observed
    cdef void set_means(self) noexcept nogil
    cdef void set_bounds(self) noexcept nogil
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef Py_ssize_t sampled_arm(self) noexcept nogil
    cdef void learn_losses(self, Py_ssize_t arm, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil

cdef class LinUcbCore(BoundsCore):
    cdef double[:, :, :, ::1] inverses
    cdef double[:, :, ::1] responses  # (blocks, K, d): sums of loss * x
    cdef double[::1] product  # (d,), scratch: inverse times x
    cdef double width
    cdef double x(self, Py_ssize_t arm, Py_ssize_t v) noexcept nogil
    cdef double quadratic(self, Py_ssize_t arm, double total) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef void learn_losses(self, Py_ssize_t arm, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil

cdef class EdgeCore(RoundCore):
    cdef long long warm_up
    cdef double rounds
    cdef double[::1] rates  # (2,): eta and rho; 0 until the warm-up is over
    cdef double[:, ::1] seen  # (K, K): how often playing an arm (row) revealed an arm (column)
    cdef double eta  # of the round
    cdef double rho
    cdef double observed(self, Py_ssize_t b) noexcept nogil
    cdef void set_rates(self) noexcept nogil
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef void learn_losses(self, Py_ssize_t arm, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil
