from crossbandit.laws.price_core cimport PriceEstimate
from crossbandit.laws.guard_core cimport GuardCore
from crossbandit.laws.law_core cimport LawCore

cdef class PaceCore:
    cdef const double[::1] amounts
    cdef const long long[::1] prices, kinds, plans
    cdef double[:, ::1] credits, duals, wins, times, held
    cdef double[:, :, ::1] bins, tickets
    cdef long long[:, ::1] money, held_prices
    cdef double unit, worth, gap, before
    cdef bint surplus
    cdef Py_ssize_t limits, usable, cap
    cdef tuple made_of
    cdef check(self, Py_ssize_t row, Py_ssize_t first, Py_ssize_t last)
    cdef check_law(self, LawCore law)
    cdef Py_ssize_t play_one_guarded(self, GuardCore guard, Py_ssize_t row, double context, double value, Py_ssize_t first, Py_ssize_t cell) noexcept nogil
    cdef long long credit_of(self, Py_ssize_t limit, double value) noexcept nogil
    cdef double pseudo(self, double value) noexcept nogil
    cdef double clipped(self, Py_ssize_t limit, double at) noexcept nogil
    cdef double value_under(self, Py_ssize_t limit, double value) noexcept nogil
    cdef void look_at(self, double value, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t affordable(self, double value, Py_ssize_t last) noexcept nogil
    cdef long long free(self, Py_ssize_t limit, double value) noexcept nogil
    cdef long long risk_of(self, Py_ssize_t limit, double value, long long price) noexcept nogil
    cdef double planned_share(self, Py_ssize_t limit, double now) noexcept nogil
    cdef double advance(self, Py_ssize_t limit, double now) noexcept nogil
    cdef void set_gap(self, Py_ssize_t limit, Py_ssize_t at) noexcept nogil
    cdef double plan_at(self, Py_ssize_t limit, double now) noexcept nogil
    cdef double expected_left(self, Py_ssize_t limit) noexcept nogil
    cdef void open_auction(self, Py_ssize_t row, double now, double value, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t group_of(self, long long price) noexcept nogil
    cdef void reserve_price(self, Py_ssize_t row, double value, long long price) noexcept nogil
    cdef double holding(self) noexcept nogil
    cdef void weigh_holding(self, long long price) noexcept nogil
    cdef void foresee(self, Py_ssize_t row, Py_ssize_t limit, double sign) noexcept nogil
    cdef void release(self, Py_ssize_t row, double value, long long price, bint won) noexcept nogil
    cdef void count_outcome(self, long long price, bint won) noexcept nogil
    cdef void choose_nothing(self, Py_ssize_t row, double value) noexcept nogil
    cdef void reserve_or_pass(self, Py_ssize_t row, double value, long long price) noexcept nogil
    cdef void pay_for(self, Py_ssize_t limit, double value, long long price, Py_ssize_t times) noexcept nogil
    cdef void adapt(self, Py_ssize_t row, double value, long long paid, long long wanted) noexcept nogil
    cdef void settle_bid(self, Py_ssize_t row, double value, long long price, long long wanted, bint won, bint alone) noexcept nogil
    cdef void settle_row(self, Py_ssize_t row, bint won, double least, bint alone) noexcept nogil
    cdef void settle_at_once(self, Py_ssize_t feedback, Py_ssize_t row, double value, Py_ssize_t amount, Py_ssize_t wanted, Py_ssize_t cell) noexcept nogil
    cdef void hold(self, Py_ssize_t row, double now, double value, Py_ssize_t amount, Py_ssize_t wanted) noexcept nogil
    cdef Py_ssize_t decide_in(self, LawCore law, Py_ssize_t row, double context, double now, double value, Py_ssize_t first, Py_ssize_t last) noexcept nogil

cdef class PacedAuctions:
    cdef PaceCore core
    cdef const double[::1] bids, values, times
    cdef const long long[::1] cells, entry
    cdef double[::1] pseudo
    cdef double factor
    cdef double[:, :, ::1] table
    cdef unsigned char[:, ::1] available
    cdef open(self, Py_ssize_t i)
    cdef pay(self, Py_ssize_t i, Py_ssize_t arm)


