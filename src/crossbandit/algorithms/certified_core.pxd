from crossbandit.core.arithmetic cimport Batch, Losses, Ranges, loss_of
from crossbandit.core.rounds cimport RoundCore
from libc.math cimport INFINITY, NAN, exp, isnan, log, pow, sqrt

cdef class CertifiedCore(RoundCore):
    cdef double alpha
    cdef long long block
    cdef Py_ssize_t slots
    cdef Py_ssize_t parts
    cdef double coins
    cdef long long memory
    cdef bint by_round
    cdef long long longest  # the longest block, unless many slots are in use
    cdef Py_ssize_t chains  # how many a slot has for each arm: 1, or one for each round
    cdef long long[::1] dominating  # arms that reveal the weakly observable ones; empty: none are
    cdef unsigned char[:, :, ::1] graphs  # (slots * chains, K, K): whether an arm is revealed by one
    cdef double[:, ::1] seen  # (chains, K): 1 for arms that plays of the open block reveal
    cdef public bint frozen  # whether decisions change nothing: those of a snapshot
    cdef bint elsewhere  # whether a round that was played elsewhere was entered, and not left
    cdef long long[::1] key  # (1,)
    cdef unsigned char[::1] loopless
    cdef bint any_loopless
    cdef double[:, ::1] products  # (slots * chains, K): of each chain, after its block
    cdef double[:, ::1] added  # (slots * chains, K): the sum of the products that was added so far
    cdef double[:, ::1] coming  # (slots * chains, K): of this block, to be added at its end
    cdef double[:, ::1] instalments  # (slots * chains, K): what was added at the end of the last block
    cdef double[:, ::1] left  # (slots * chains, K): the sum over rounds of the products in their block
    cdef double[:, ::1] ending  # (slots * chains, K): the rest of chains that ended in this block
    cdef double[:, ::1] ended  # (slots * chains, K): of the last block, times the blocks it stands for
    cdef unsigned char[:, ::1] goes_on  # (slots * chains, K)
    cdef long long[:, ::1] slot
    cdef double[:, ::1] constants
    cdef double[:, ::1] own  # (block, K): the probabilities of not observing, in this block
    cdef unsigned char[:, ::1] used  # (parts, K)
    cdef double[:, :, ::1] part_weights  # scratch
    cdef long long[::1] counts
    cdef double[::1] measured
    cdef double[:, :, ::1] weight  # (2, memory, K): what is known of a round's weights; the rest
    cdef long long[:, ::1] home  # (memory, 3): a round; its slot, or -1; its part
    cdef double cap_at(self, long long round_) noexcept nogil
    cdef double far_at(self, long long round_) noexcept nogil
    cdef double rate_now(self) noexcept nogil
    cdef long long block_at(self, long long round_) noexcept nogil
    cdef double explored_at(self, long long round_) noexcept nogil
    cdef double rho_now(self) noexcept nogil
    cdef bint knows_mean(self) noexcept nogil
    cdef bint is_over(self) noexcept nogil
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef double explore(self, double rho, Py_ssize_t out) noexcept nogil
    cdef double mix(self, double rho, Py_ssize_t out) noexcept nogil
    cdef double limit(self, double rho, Py_ssize_t out) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef void count(self) noexcept nogil
    cdef void enter_round(self) noexcept nogil
    cdef void weigh_here(self) noexcept nogil
    cdef void keep_graph(self, Py_ssize_t k) noexcept nogil
    cdef Py_ssize_t chain_of(self, Py_ssize_t e, Py_ssize_t g) noexcept nogil
    cdef double missed(self, Py_ssize_t k, Py_ssize_t a, double[:, ::1] policies, Py_ssize_t row) noexcept nogil
    cdef void leave_round(self, Py_ssize_t arm) noexcept nogil
    cdef void finish_count(self) noexcept nogil
    cdef long long round_learned(self, Py_ssize_t arm, Py_ssize_t weights, Py_ssize_t count) noexcept nogil
    cdef double lot(self, long long first) noexcept nogil
    cdef Py_ssize_t part_of(self, Py_ssize_t place, Py_ssize_t size) noexcept nogil
    cdef void open_block(self) noexcept nogil
    cdef double score(self, Py_ssize_t copy, Py_ssize_t a) noexcept nogil
    cdef void measure(self, Py_ssize_t new) noexcept nogil
    cdef double base_of(self, Py_ssize_t slot) noexcept nogil
    cdef double mixability_gap(self, double eta) noexcept nogil
    cdef void step(self, Py_ssize_t j, Py_ssize_t policy) noexcept nogil
    cdef void close_block(self, Py_ssize_t e) noexcept nogil
    cdef void pay(self, Py_ssize_t j) noexcept nogil
    cdef void end_chain(self, Py_ssize_t j, Py_ssize_t k, Py_ssize_t a) noexcept nogil
    cdef void settle(self, Py_ssize_t j) noexcept nogil
    cdef void weigh_block(self, Py_ssize_t e) noexcept nogil
    cdef void weigh_part(self, Py_ssize_t e, Py_ssize_t begin, Py_ssize_t end, double rounds) noexcept nogil
    cdef void add_part(self, Py_ssize_t e, Py_ssize_t g) noexcept nogil
    cdef void learn_losses(self, Py_ssize_t arm, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil
    cdef void add_measured(self, Py_ssize_t copy, Py_ssize_t b, Losses losses, Py_ssize_t t, Py_ssize_t place, double weight, double base) noexcept nogil
    cdef double look_at(self, Py_ssize_t arm, Losses losses, Py_ssize_t t, Py_ssize_t count, bint by_arm) noexcept nogil
