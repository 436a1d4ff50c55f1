

cdef class TestParts:
    cdef public TestCore core
    cdef public list ring

cdef class TestCore:
    cdef double[:, ::1] told, counts, shown, sums, variances, expected, risk, factors
    cdef double[:, :, ::1] usual
    cdef double[::1] ranks, groups, sides, flat
    cdef long long[::1] rows, owners, used, tested, answered
    cdef long long[:, ::1] waiting
    cdef Py_ssize_t size
    cdef double total
    cdef tuple made_of
    cdef double log_part(self, Py_ssize_t test, Py_ssize_t i) noexcept nogil
    cdef void test_one(self, Py_ssize_t feedback, bint mirrored, Py_ssize_t place, long long number, Py_ssize_t kind, Py_ssize_t index, Py_ssize_t amount) noexcept nogil
    cdef Py_ssize_t first_shown(self, Py_ssize_t feedback, bint mirrored, Py_ssize_t kind, Py_ssize_t lowest, Py_ssize_t amount) noexcept nogil
    cdef Py_ssize_t stratum_for(self, long long number) noexcept nogil
    cdef Py_ssize_t known_row(self, long long number) noexcept nogil
    cdef void set_hazards(self, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
    cdef void set_sides(self) noexcept nogil
    cdef void take_in(self, Py_ssize_t row, double rank, double bend, Py_ssize_t at, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t line) noexcept nogil
    cdef void move(self, Py_ssize_t feedback, Py_ssize_t row, Py_ssize_t kind, Py_ssize_t old, Py_ssize_t new_kind, Py_ssize_t new) noexcept nogil
    cdef void pair_up(self, Py_ssize_t feedback, Py_ssize_t band, Py_ssize_t row, Py_ssize_t lowest, bint hit, Py_ssize_t limit) noexcept nogil
    cdef double shows(self, Py_ssize_t lowest, bint hit, Py_ssize_t least, Py_ssize_t kind) noexcept nogil
    cdef void remember(self, Py_ssize_t row, double first, double second) noexcept nogil
    cdef double score(self, Py_ssize_t row, Py_ssize_t at) noexcept nogil

cdef Py_ssize_t first_at_risk(Py_ssize_t kind, Py_ssize_t column) noexcept nogil
