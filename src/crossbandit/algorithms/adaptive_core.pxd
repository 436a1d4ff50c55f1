from crossbandit.core.arithmetic cimport Batch, Losses, Ranges, loss_of
from crossbandit.core.rounds cimport RoundCore
from libc.math cimport INFINITY, NAN, exp, isnan, log, pow, sqrt

cdef class AdaptiveCore(RoundCore):
    cdef double rate
    cdef double exploration
    cdef double recency
    cdef double half_life
    cdef double eta
    cdef const long long[::1] anchor
    cdef const long long[::1] order
    cdef const long long[::1] roots
    cdef bint anchored
    cdef const long long[::1] weak
    cdef const long long[::1] dominating
    cdef bint by_context
    cdef double[::1] counted  # (1,): number of rounds played, discounted
    cdef double[::1] gap  # (1,): sum of mixability gaps
    cdef double[::1] least  # (1,): the least loss revealed
    cdef double[::1] largest  # (1,): the largest loss revealed
    cdef double[::1] lost  # (1,): running mean of the policy's weighted losses
    cdef double[::1] lost_weight  # (1,): and of their weights; the baseline is the quotient
    cdef long long[::1] reference  # (1,): the round at which losses count once
    cdef unsigned char[::1] shown_arms  # (K,), scratch: revealed arms; all 0 between two rounds
    cdef long long[::1] places  # (K,), scratch: which row of the feedback has a revealed arm
    cdef double rate_at(self, double gap) noexcept nogil
    cdef double growth(self, long long round_) noexcept nogil
    cdef void set_softmax(self, double gap, long long round_, Py_ssize_t out) noexcept nogil
    cdef double estimate(self, Py_ssize_t a, Py_ssize_t m) noexcept nogil
    cdef double floor_at(self, double count) noexcept nogil
    cdef double weak_floor_at(self, double count) noexcept nogil
    cdef void mix_exploration(self, double count, Py_ssize_t weights, Py_ssize_t out) noexcept nogil
    cdef Py_ssize_t count_available(self) noexcept nogil
    cdef Py_ssize_t showing(self, Py_ssize_t count, Py_ssize_t a) noexcept nogil
    cdef double lacking(self, double floor) noexcept nogil
    cdef void explore(self, double floor, Py_ssize_t weights, Py_ssize_t out) noexcept nogil
    cdef void explore_weak(self, double floor, Py_ssize_t out) noexcept nogil
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef void count(self) noexcept nogil
    cdef void count_at(self, long long round_, Ranges ranges, Py_ssize_t shift) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef void set_shares(self) noexcept nogil
    cdef void weigh_revealed(self, Py_ssize_t arm) noexcept nogil
    cdef void set_weights(self, Py_ssize_t count) noexcept nogil
    cdef void rescale(self, long long round_) noexcept nogil
    cdef void simulate_round(self, Batch batch, Py_ssize_t i, long long number) noexcept nogil
    cdef void learn_losses(self, Py_ssize_t arm, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil
    cdef void learn_round(self, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil
    cdef void subtract(self, Py_ssize_t b, double factor, Py_ssize_t weights, double baseline) noexcept nogil
    cdef double gap_of(self, double factor, Py_ssize_t weights, double baseline, Py_ssize_t count, double eta) noexcept nogil
    cdef double mixability_gap(self, Py_ssize_t chosen, Py_ssize_t count, double eta) noexcept nogil
    cdef void add_differences(self, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, double factor) noexcept nogil
