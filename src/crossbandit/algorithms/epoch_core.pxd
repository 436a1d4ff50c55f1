from crossbandit.core.arithmetic cimport Batch, Contexts, Losses, Ranges
from crossbandit.algorithms.learners.graph_core cimport GraphShell
from crossbandit.algorithms.learners.seen_core cimport DecisionFields
from crossbandit.core.rounds cimport RoundCore

cdef class EpochCore(RoundCore):
    cdef double eta
    cdef double gamma
    cdef double rho
    cdef double beta
    cdef long long epoch_length
    cdef long long[::1] loopless
    cdef double[::1] explore
    cdef double[::1] retention  # (2,): chance of keeping the feedback of each round of the pair
    cdef long long[::1] epoch  # (1,)
    cdef long long[::1] special  # (1,): the special arm, or -1
    cdef Contexts first  # the context of the pair's first round
    cdef long long[::1] pair_offset
    cdef double[:, :, ::1] pair_table
    cdef unsigned char[:, ::1] pair_available
    cdef long long[::1] pair_restricted  # (1,): how many of `pair_available` are used: K, or 0
    cdef readonly Py_ssize_t loss_side  # the pair's loss-estimation round: 0, 1, or -1 while it is open
    cdef readonly bint retained  # whether its feedback is kept
    cdef void learn_given(self, Py_ssize_t arm) noexcept
    cdef void simulate_round(self, Batch batch, Py_ssize_t i, long long number) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef void set_policies(self, long long epoch, Py_ssize_t snapshot, Py_ssize_t out) noexcept nogil
    cdef void weigh_mixed(self, Py_ssize_t copy, Contexts contexts, Py_ssize_t i, Py_ssize_t out) noexcept nogil
    cdef void open_pair(self) noexcept nogil
    cdef void set_upcoming(self, Py_ssize_t round_of_pair) noexcept nogil
    cdef void keep_snapshot(self) noexcept nogil
    cdef void set_weights(self) noexcept nogil
    cdef void begin_counting(self) noexcept nogil
    cdef void correct(self) noexcept nogil
    cdef void enter_epoch(self) noexcept nogil
    cdef void close_pair(self) noexcept nogil

cdef class VaryingCore(EpochCore):
    cdef bint always_loops  # whether no graph lacks a self-loop, so that no arm is special
    cdef bint by_context
    cdef Ranges first_ranges  # which arms reveal each arm in the pair's first round,
    cdef Py_ssize_t first_shift  # from here on
    cdef begin_batch(self, Batch batch)
    cdef void open_pair(self) noexcept nogil
    cdef void enter_epoch(self) noexcept nogil
    cdef void close_pair(self) noexcept nogil
    cdef void count_pair(self, Ranges ranges, Py_ssize_t shift, Ranges counted, Py_ssize_t counted_shift) noexcept nogil
    cdef Py_ssize_t special_arm(self, Ranges ranges, Py_ssize_t shift) noexcept nogil

cdef class PairShell(GraphShell):
    cdef public object _open  # the decision of the pair's first round, or None
    cdef public list _held  # decisions whose feedback came while it was open
    cdef double play_usual(self, DecisionFields one, Py_ssize_t context) except? -1.0
    cpdef close_pair(self, DecisionFields first, DecisionFields second)
    cdef learn_here(self, DecisionFields one, losses)
