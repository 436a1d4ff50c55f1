from crossbandit.algorithms.learners.seen_core cimport DecisionFields, ON_PAGE, Page, SeenPages, ShellCore, WatchCounts, now
from crossbandit.core.losses cimport first_beyond_box, first_loss_outside, first_outside
from crossbandit.core.rounds cimport RoundCore, copy_floats
from crossbandit.core.uniforms cimport Uniforms

cdef class GraphShell(ShellCore):
    cdef public object _lock, _watch, _max_pending, core
    cdef public dict _pending, _revealed
    cdef public long long round, _waiting
    cdef public SeenPages learned_from
    cdef object numbers
    cdef Uniforms uniforms
    cdef public int quick  # 1 if rounds may be usual, -1 if not, 0 if that is not known
    cdef RoundCore usual_core
    cdef object limits, form
    cdef public object decision_type, _last_expired
    cdef public bint remembers, watches
    cdef bint weighted, shares
    cdef Py_ssize_t contexts  # -1 if they are vectors
    cdef const double[:, :, ::1] entries  # the vectors of numbered contexts
    cdef const double[:, :] least, most  # the box around them
    cdef bint prepare(self) except -1
    cpdef set_counts(self, long long number, long long waiting)
    cpdef act_usual(self, context)
    cdef read_usual(self, context)
    cdef read_vector(self, context)
    cdef bint is_usual(self) except -1
    cdef DecisionFields decided(self, context)
    cdef bint is_learnable(self, decision, losses) except -1
    cdef learn_read(self, DecisionFields one, losses)
    cpdef DecisionFields make(self, context, readout, long long number)
    cpdef finish(self, DecisionFields one, double probability)
    cpdef record(self, DecisionFields one, double probability)
    cdef double play_usual(self, DecisionFields one, Py_ssize_t context) except? -1.0
    cpdef bint learn_usual(self, decision, losses) except -1
    cdef bint is_own(self, DecisionFields one) except -1
    cdef bint read_feedback(self, DecisionFields one, losses) except -1
    cdef bint accepts(self, Py_ssize_t count) noexcept
    cdef learn_here(self, DecisionFields one, losses)
