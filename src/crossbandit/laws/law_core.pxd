from crossbandit.laws.effect_core cimport EffectCore
from crossbandit.laws.test_core cimport TestCore

cdef class LawParts:
    cdef public LawCore core
    cdef public object uniforms, levels

cdef class LawCore:
    cdef double[::1] amounts, cuts, growth, half_lives, visits, since, scale, weights, untried, rounds, flat, ring
    cdef Py_ssize_t depth, recent_depth, feedback, payoff, features, size, memories, experts, lowest
    cdef double share, optimism, probing, power, unit, heed
    cdef readonly double predicted
    cdef bint mirrored, strict, laid
    cdef public bint stale
    cdef double[:, ::1] latest
    cdef long long[:, ::1] latest_keys
    cdef double[:, ::1] told, hidden, law, spread, evidence, totals, asked, reached, work
    cdef double[::1] chances, spreads
    cdef double[:, :, ::1] kept_chances, kept_spreads
    cdef long long[:, :, ::1] kept
    cdef long long[::1] changed
    cdef long long changes
    cdef Py_ssize_t line
    cdef long long[:, ::1] rows
    cdef long long[::1] keys
    cdef EffectCore effects
    cdef long long combined
    cdef double u, v, w, probability, plays
    cdef tuple made_of
    cdef Py_ssize_t settle_one(self, TestCore test, double context, double amount, bint reached, double number, bint tried) noexcept nogil
    cdef check(self, Py_ssize_t first, Py_ssize_t last, const double[::1] uniforms)
    cdef void set_keys(self, const long long[::1] slots) noexcept nogil
    cdef void take_keys(self, const long long[:, ::1] slots, Py_ssize_t i) noexcept nogil
    cdef void set_uniforms(self, const double[::1] uniforms) noexcept nogil
    cdef void take_row(self, const long long[:, ::1] slots, const double[:, ::1] uniforms, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t band_of(self, double context) noexcept nogil
    cdef Py_ssize_t first_row(self, Py_ssize_t memory) noexcept nogil
    cdef Py_ssize_t node_of(self, Py_ssize_t band, Py_ssize_t depth) noexcept nogil
    cdef Py_ssize_t column_of(self, Py_ssize_t kind, Py_ssize_t index) noexcept nogil
    cdef bint is_told(self, Py_ssize_t kind) noexcept nogil
    cdef Py_ssize_t place_of(self, double number, bint strict) noexcept nogil
    cdef Py_ssize_t grid_place(self, double amount) noexcept nogil
    cdef Py_ssize_t show(self, double amount, Py_ssize_t played, bint reached, double number) noexcept nogil
    cdef void find_rows(self, Py_ssize_t band) noexcept nogil
    cdef Py_ssize_t read_law(self, double context) noexcept nogil
    cdef Py_ssize_t read_to_choose(self, double context) noexcept nogil
    cdef Py_ssize_t read_chances(self, double context, bint with_spreads) noexcept nogil
    cdef double noise(self) noexcept nogil
    cdef void mix(self, Py_ssize_t low, bint with_spreads) noexcept nogil
    cdef bint is_below(self, Py_ssize_t kind) noexcept nogil
    cdef void read_near(self, Py_ssize_t column) noexcept nogil
    cdef void find_laws(self, Py_ssize_t low, Py_ssize_t high, bint with_spreads) noexcept nogil
    cdef void keep_chances(self, Py_ssize_t e, Py_ssize_t low, Py_ssize_t high) noexcept nogil
    cdef void keep_spreads(self, Py_ssize_t e) noexcept nogil
    cdef void set_stays(self, Py_ssize_t e, Py_ssize_t low, Py_ssize_t stop) noexcept nogil
    cdef void add_odds(self, Py_ssize_t e, Py_ssize_t low, Py_ssize_t high) noexcept nogil
    cdef void note_change(self, Py_ssize_t row) noexcept nogil
    cdef double likelihood(self, Py_ssize_t e, Py_ssize_t kind, Py_ssize_t column) noexcept nogil
    cdef double chance_of(self, Py_ssize_t amount) noexcept nogil
    cdef Py_ssize_t best_amount(self, double noise, double worth, double cost, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t scatter(self, Py_ssize_t best, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t choose(self, Py_ssize_t band, double worth, double cost, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef bint may_try(self) noexcept nogil
    cdef Py_ssize_t without_tries(self, double worth, double cost, Py_ssize_t first, Py_ssize_t last) noexcept nogil
    cdef Py_ssize_t set_try(self, Py_ssize_t row, Py_ssize_t best, double worth, Py_ssize_t first) noexcept nogil
    cdef double highest_chance(self, Py_ssize_t row, Py_ssize_t amount) noexcept nogil
    cdef Py_ssize_t probe(self, Py_ssize_t band, Py_ssize_t best, double worth, Py_ssize_t first, double uniform) noexcept nogil
    cdef void weigh_tries(self, Py_ssize_t band, Py_ssize_t best, double worth, Py_ssize_t first, double weight, double[::1] out) noexcept nogil
    cdef void learn_at(self, Py_ssize_t band, Py_ssize_t kind, Py_ssize_t index, Py_ssize_t amount) noexcept nogil
    cdef void absorb_cell(self, Py_ssize_t band, Py_ssize_t amount, Py_ssize_t cell, Py_ssize_t tried) noexcept nogil
    cdef bint shows_nothing(self, Py_ssize_t amount, Py_ssize_t cell) noexcept nogil
    cdef void absorb(self, Py_ssize_t band, Py_ssize_t kind, Py_ssize_t index, Py_ssize_t amount) noexcept nogil
    cdef void weigh(self, Py_ssize_t kind, Py_ssize_t column) noexcept nogil
    cdef void note_likelihood(self, Py_ssize_t kind, Py_ssize_t column) noexcept nogil
    cdef double chance_up_to(self, double number) noexcept nogil
    cdef double mixture(self, Py_ssize_t amount) noexcept nogil
    cdef void share_out(self) noexcept nogil
    cdef void reweigh(self, Py_ssize_t kind, Py_ssize_t old, Py_ssize_t new_kind, Py_ssize_t new) noexcept nogil
    cdef void move(self, Py_ssize_t row, double unit, bint was_told, Py_ssize_t old, bint now_told, Py_ssize_t new) noexcept nogil
    cdef void grow(self, Py_ssize_t memory) noexcept nogil
    cdef void begin(self, Py_ssize_t row) noexcept nogil
    cdef void count(self, Py_ssize_t memory, Py_ssize_t band, Py_ssize_t column, double told, double exposed) noexcept nogil
    cdef void ask(self, Py_ssize_t row, Py_ssize_t column) noexcept nogil
    cdef void refresh(self, Py_ssize_t group, Py_ssize_t row, Py_ssize_t parent, Py_ssize_t place, Py_ssize_t level) noexcept nogil
    cdef void set_flat(self, Py_ssize_t row) noexcept nogil
    cdef void at_risk(self, Py_ssize_t row, double unit) noexcept nogil
    cdef double sum_of(self, Py_ssize_t line) noexcept nogil
    cdef double heterogeneity(self, double found, double weight, double noise, Py_ssize_t row, Py_ssize_t kind, Py_ssize_t at, double most) noexcept nogil
    cdef void shrink_blocks(self, Py_ssize_t row, double unit, double noise, Py_ssize_t kind) noexcept nogil
    cdef void shrink_columns(self, Py_ssize_t row, double unit, double noise, Py_ssize_t kind) noexcept nogil
    cdef void draw_near(self, Py_ssize_t row, double unit, double differs, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
    cdef void shrink_odds(self, Py_ssize_t row, double unit, double noise, bint root, Py_ssize_t kind) noexcept nogil
    cdef void move_odds(self, Py_ssize_t row, double unit, double differs, double fading) noexcept nogil
    cdef double far_below(self, Py_ssize_t amount) noexcept nogil
    cdef void keep(self, double context, double amount, bint reached, double number, bint tried) noexcept nogil
    cdef double nearest(self, double amount) noexcept nogil
    cdef Py_ssize_t amount_up_to(self, double number) noexcept nogil
    cdef double unit_at(self, double context) noexcept nogil
    cdef double split(self) noexcept nogil
    cdef void raise_odds(self, Py_ssize_t row) noexcept nogil

cdef Py_ssize_t place_in(double[::1] grid, Py_ssize_t size, double number, bint strict) noexcept nogil
cdef bint tells(Py_ssize_t feedback, bint reached) noexcept nogil
cdef Py_ssize_t outcome_kind(Py_ssize_t feedback, Py_ssize_t amount, Py_ssize_t cell) noexcept nogil
cdef double reaches(Py_ssize_t kind, Py_ssize_t index, Py_ssize_t amount) noexcept nogil
