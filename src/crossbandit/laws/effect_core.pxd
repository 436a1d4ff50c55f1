cdef class EffectCore:
    cdef Py_ssize_t features, size, limit, fine, singles, count, pool, possible
    cdef bint alone
    cdef long long[::1] keys, owners, terms, pairs, counted, turn, block, knot, bands, term_keys, rows, awake, salts
    cdef long long[:, ::1] numbers, cuts, listed
    cdef double[::1] used, stages, gains, due, usual, since, part, s, i, s_fine, i_fine, us, ui, all, us_fine, ui_fine, all_fine, likely
    cdef double[:, ::1] scores, infos, fine_scores, fine_infos, tau, mu, fine_mu
    cdef double[:, ::1] laws, ratios, eta, eta_fine, var, var_fine, sums, weight, fine_sums, fine_weight
    cdef double[:, :, ::1] found
    cdef Py_ssize_t band_of(self, Py_ssize_t feature) noexcept nogil
    cdef long long level_of(self, Py_ssize_t feature) noexcept nogil
    cdef void find(self, double rounds) noexcept nogil
    cdef Py_ssize_t row_of(self, Py_ssize_t t) noexcept nogil
    cdef Py_ssize_t row_for(self, Py_ssize_t t, double used) noexcept nogil
    cdef void clear(self, Py_ssize_t row) noexcept nogil
    cdef void note_number(self, Py_ssize_t f) noexcept nogil
    cdef void apply(self, double[::1] chances, double[::1] spreads, Py_ssize_t low, double rounds, bint with_spreads) noexcept nogil
    cdef void move_spreads(self, double[::1] spreads, double first, double second) noexcept nogil
    cdef void gather(self, Py_ssize_t e, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
    cdef void expect(self, Py_ssize_t e, Py_ssize_t t) noexcept nogil
    cdef void set_ratios(self, Py_ssize_t e) noexcept nogil
    cdef void set_law(self, Py_ssize_t e, Py_ssize_t low) noexcept nogil
    cdef double likelihood(self, Py_ssize_t e, Py_ssize_t kind, Py_ssize_t column, bint below) noexcept nogil
    cdef double mixture(self, Py_ssize_t column) noexcept nogil
    cdef double explained(self, Py_ssize_t column) noexcept nogil
    cdef double exposure(self, Py_ssize_t kind, Py_ssize_t column, double rounds) noexcept nogil
    cdef void learn(self, Py_ssize_t kind, Py_ssize_t column, bint below, double rounds) noexcept nogil
    cdef void share_out(self) noexcept nogil
    cdef void correct(self, Py_ssize_t kind, Py_ssize_t old, bint below, Py_ssize_t new_kind, Py_ssize_t new, bint new_below) noexcept nogil
    cdef void score(self, Py_ssize_t e, Py_ssize_t kind, Py_ssize_t column, bint below, double sign) noexcept nogil
    cdef void learn_stage(self, Py_ssize_t e, Py_ssize_t start, Py_ssize_t stop, double rounds) noexcept nogil
    cdef void add(self, Py_ssize_t row, Py_ssize_t t, Py_ssize_t q) noexcept nogil
    cdef void clip(self, Py_ssize_t row) noexcept nogil
    cdef void add_fine(self, Py_ssize_t row, Py_ssize_t t) noexcept nogil
    cdef void review(self, double rounds) noexcept nogil
    cdef long long next_pair(self) noexcept nogil
    cdef void forget(self, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
    cdef void estimate(self) noexcept nogil
    cdef void weigh(self, Py_ssize_t t, Py_ssize_t z, double info, double centred, double total) noexcept nogil
    cdef void settle_blocks(self, const double[:, ::1] law) noexcept nogil

cdef long long mixed(long long number) noexcept nogil
cpdef long long level_key(long long level, long long term) noexcept nogil
