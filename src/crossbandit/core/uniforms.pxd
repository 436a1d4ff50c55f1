cdef struct Bits:  # the `bitgen_t` of NumPy
    void *state
    void *next_uint64
    void *next_uint32
    double (*next_double)(void *) noexcept nogil
    void *next_raw

cdef class Uniforms:
    cdef object generator, source
    cdef Bits *bits
    cdef double next(self) noexcept
