from crossbandit.laws.price_core cimport PriceEstimate
from crossbandit.laws.guard_core cimport GuardCore
from crossbandit.laws.law_core cimport LawCore

# The numbers of `state.py`.
cdef enum: BUDGET, TARGET, LOOSE_TARGET
cdef enum: GIVEN, SPENT, RESERVED, COUNTED, MOST
cdef enum: LOG, SQUARES, OPEN, OPEN_SQUARES, DUE, WAITING, HOLDING, HOLDING_SQUARES
cdef enum: PLANNED, RELAXES, OF_PERIOD, EXPECTED, COUNTS
cdef enum: MADE_AT, BID_FOR, CHANCE, LIKELY
cdef enum: COSTS, WANTED
cdef enum: AT_ONCE, BY_AUCTIONS, BY_TIME
cdef enum: START, END, LATEST, AUCTIONS, GAP, GAPS, PERIOD, STEP
cdef enum: BINS = 96
cdef enum: GROUPS = 16
cdef enum: WON, FORETOLD, BIDS
cdef enum: DOUBTS = 5

cdef Py_ssize_t TOLD
cdef long long MOST_UNITS
cdef double MOST_CREDIT, HIGHEST, MEMORY, WINDOW, LONG, PAUSE, FAR, RECENT, CHEAP, DOUBTFUL, LOG_2, LEAST

cdef class AuctionColumns:
    cdef const double[::1] contexts, worths, times
    cdef const long long[::1] firsts, lasts, cells, rows
    cdef const long long[:, ::1] slots
    cdef const double[:, ::1] uniforms
    cdef long long[::1] bids, usable
    cdef double[::1] pseudo_values, chances
    cdef long long[:, ::1] tightest

cdef class PaceCore:
    cdef const double[::1] amounts
    cdef const long long[::1] prices, kinds, plans
    cdef double[::1] risks, doubts
    cdef double[:, ::1] planned_from, credits, duals, wins, times, held
    cdef double[:, :, ::1] bins, tickets
    cdef long long[:, ::1] money, held_prices
    cdef double unit, worth, gap, before, value, now, chance, likely
    cdef bint surplus
    cdef Py_ssize_t limits, usable, cap, row, first
    cdef tuple made_of
    cpdef look(self, double value, Py_ssize_t first, Py_ssize_t last)
    cpdef open(self, Py_ssize_t row, double now, double value, Py_ssize_t first, Py_ssize_t last)
    cpdef reserve(self, Py_ssize_t row, double now, double value, long long price, long long wanted, double chance)
    cpdef decline(self, Py_ssize_t row, double value)
    cpdef decide(self, LawCore law, Py_ssize_t row, double now, tuple auction, const long long[::1] slots, const double[::1] uniforms)
    cdef Py_ssize_t decide_here(self, LawCore law, Py_ssize_t row, double now, double value, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cpdef decide_all(self, LawCore law, AuctionColumns auctions)
    cpdef play(self, LawCore law, AuctionColumns auctions)
    cpdef play_guarded(self, GuardCore guard, AuctionColumns auctions)
    cpdef void settle(self, Py_ssize_t row, bint won, double least, bint alone) noexcept nogil
    cpdef settle_all(self, const long long[::1] rows, const unsigned char[::1] won, const double[::1] least, Py_ssize_t others)
    cpdef void pay(self, Py_ssize_t limit, double value, long long price, Py_ssize_t times) noexcept nogil
    cpdef long long at_risk(self, Py_ssize_t limit, double value, long long price) noexcept nogil
    cpdef long long free_money(self, Py_ssize_t limit, double value) noexcept nogil
    cpdef long long counted(self, Py_ssize_t limit) noexcept nogil
    cpdef long long held_money(self, Py_ssize_t limit) noexcept nogil
    cpdef double limited_value(self, Py_ssize_t limit, double value) noexcept nogil
    cpdef double pseudo_value(self, double value) noexcept nogil
    cpdef double planned_until(self, Py_ssize_t limit, double now) noexcept nogil
    cpdef double pass_time(self, Py_ssize_t limit, double now) noexcept nogil
    cpdef double cost_of_holding(self) noexcept nogil
    cdef check(self, Py_ssize_t row, Py_ssize_t first, Py_ssize_t last)
    cdef check_law(self, LawCore law)
    cdef void look_at(self, double value, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t affordable(self, double value, Py_ssize_t last) noexcept nogil
    cdef long long credit_of(self, Py_ssize_t limit, double value) noexcept nogil
    cdef double inertia(self, Py_ssize_t limit, double squares) noexcept nogil
    cdef double clipped(self, Py_ssize_t limit, double at) noexcept nogil
    cdef double planned_share(self, Py_ssize_t limit, double now) noexcept nogil
    cdef void set_gap(self, Py_ssize_t limit, Py_ssize_t at) noexcept nogil
    cdef double expected_left(self, Py_ssize_t limit) noexcept nogil
    cdef void open_auction(self, Py_ssize_t row, double now, double value, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef void set_out(self, Py_ssize_t limit) noexcept nogil
    cdef bint open_next(self, AuctionColumns auctions, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t choose(self, LawCore law, double context) noexcept nogil
    cdef Py_ssize_t play_one_guarded(self, GuardCore guard, double context, Py_ssize_t cell) noexcept nogil
    cdef void set_tightest(self, AuctionColumns auctions, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t group_of(self, long long price) noexcept nogil
    cdef void reserve_or_pass(self, long long price, double chance) noexcept nogil
    cdef void reserve_price(self, long long price, double chance) noexcept nogil
    cdef double counts(self, Py_ssize_t limit, long long price) noexcept nogil
    cdef void hold(self, long long price, long long wanted) noexcept nogil
    cpdef void weigh_holding(self, long long price) noexcept nogil
    cdef void foresee(self, Py_ssize_t limit, double sign) noexcept nogil
    cdef void settle_at_once(self, Py_ssize_t feedback, Py_ssize_t amount, Py_ssize_t wanted, Py_ssize_t cell) noexcept nogil
    cdef void settle_bid(self, long long price, long long wanted, bint won, bint alone) noexcept nogil
    cdef void release(self, long long price, bint won) noexcept nogil
    cdef void count_outcome(self, long long price, bint won) noexcept nogil
    cdef void doubt(self, bint won) noexcept nogil
    cdef void adapt(self, long long paid, long long wanted) noexcept nogil

cdef class PacedAuctions:
    cdef PaceCore core
    cdef const double[::1] bids, values, times
    cdef const long long[::1] cells, entry
    cdef double[::1] pseudo
    cdef double factor
    cdef double[:, :, ::1] table
    cdef unsigned char[:, ::1] available
    cpdef limit(self, Py_ssize_t i)
    cpdef settle(self, Py_ssize_t i, Py_ssize_t arm)
    cpdef record(self, Py_ssize_t i, Py_ssize_t arm)
    cpdef respond(self, Py_ssize_t first, PriceEstimate estimate, long long[::1] out)
    cpdef throttle(self, const long long[::1] costs, const unsigned char[::1] won, made)
    cdef open(self, Py_ssize_t i)
