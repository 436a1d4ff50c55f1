from crossbandit.core.arithmetic cimport Contexts
from crossbandit.core.rounds cimport RoundCore
from libc.math cimport log, pow, sqrt

cdef class ExponentialCore(RoundCore):
    cdef double scale
    cdef double beta
    cdef double exponent
    cdef double spread
    cdef double floor
    cdef bint anytime
    cdef double power
    cdef long long[::1] loopless  # the arms without self-loop; (0,) if nothing is corrected
    cdef double[:, ::1] rates  # (copies, 2): eta and rho of the next round
    cdef double[:, ::1] entropies  # (copies, 2): sum of the policies' entropies, and how many
    cdef void normalise(self, Contexts contexts, Py_ssize_t i, double least, double eta, double rho, Py_ssize_t out) noexcept nogil
    cdef double raised(self, double x) noexcept nogil
    cdef void explore(self, double rho, Py_ssize_t out) noexcept nogil
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef void count(self) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef void adapt(self) noexcept nogil
    cdef void set_weights(self, Py_ssize_t arm) noexcept nogil
    cdef void correct(self) noexcept nogil

cdef class KnownCore(RoundCore):
    cdef double eta
    cdef double gamma
    cdef double rho
    cdef double beta
    cdef long long[::1] loopless
    cdef Contexts support
    cdef const double[::1] probabilities
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef void count(self) noexcept nogil
