from crossbandit.core.arithmetic cimport Batch, Contexts, EstimateCore, Losses, Ranges, loss_of
from crossbandit.core.uniforms cimport Uniforms

cdef class RoundCore(EstimateCore):
    cdef Ranges in_ranges
    cdef Ranges out_ranges
    cdef bint changing
    cdef object one_row  # the array of `one_number`
    cdef double[:, ::1] one_number
    cdef const double[:, ::1] numbers
    cdef Contexts contexts
    cdef Ranges ranges
    cdef Ranges shown
    cdef Py_ssize_t shift
    cdef Py_ssize_t i
    cdef long long number
    cdef Py_ssize_t copy  # that of the context if each learns apart; otherwise 0
    cdef double probability
    cdef double baseline
    cdef long long last
    cdef void set_policy(self, Py_ssize_t out) noexcept nogil
    cdef Py_ssize_t choose(self) noexcept nogil
    cdef void learn_losses(self, Py_ssize_t arm, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil
    cdef void add_own(self, Losses losses, Py_ssize_t t, Py_ssize_t weights, Py_ssize_t count, bint by_arm) noexcept nogil
    cdef void count(self) noexcept nogil
    cdef void weigh_revealed(self, Py_ssize_t arm) noexcept nogil
    cdef void begin_round(self, long long number, Py_ssize_t context) noexcept
    cdef at_round(self, number, context, reading, graph)
    cdef double[:, ::1] given  # (K, columns), room for the losses of one round
    cdef Losses feedback  # the same
    cdef bytes packed_weights(self)
    cdef bint give_weights(self, weights) except -1
    cdef make_room(self, Py_ssize_t columns)
    cdef Py_ssize_t play_usual(self, long long number, Py_ssize_t context, Uniforms uniforms, Py_ssize_t count) noexcept
    cdef void learn_usual(self, long long number, Py_ssize_t context, long long last, Py_ssize_t arm, double baseline) noexcept
    cdef void move_to(self, Py_ssize_t i, long long number, const long long[::1] named) noexcept nogil
    cdef void play_in(self, Batch batch, Py_ssize_t i, long long number) noexcept nogil
    cdef Py_ssize_t list_shown(self, Batch batch, Py_ssize_t i) noexcept nogil
    cdef begin_batch(self, Batch batch)
    cdef void simulate_round(self, Batch batch, Py_ssize_t i, long long number) noexcept nogil
    cdef set_loop(self, Contexts contexts, random, count)

cdef bint copy_floats(given, int dimensions, Py_ssize_t rows, Py_ssize_t columns, double[:, ::1] out) except -1
