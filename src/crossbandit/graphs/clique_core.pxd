cdef class CliqueSearch:
    cdef public Py_ssize_t record  # its size
    cdef Py_ssize_t vertices
    cdef Py_ssize_t words
    cdef Py_ssize_t depth  # NONE once all is searched
    cdef unsigned long long[:, ::1] near  # (n, w): the neighbours of each vertex
    cdef unsigned long long[:, ::1] candidates  # (n + 1, w): at each depth, without those searched
    cdef unsigned long long[:, ::1] branches  # (n + 1, w): those of them on which to branch
    cdef long long[::1] path  # (n + 1,): the vertex branched on last; n before the first
    cdef long long[::1] best  # (n,): the record, if the search set one
    cdef unsigned long long[:, ::1] colours  # (n, w), scratch: the vertices of each colour
    cdef long long[::1] colour_of  # (n,), scratch
    cdef long long[::1] size  # (n,), scratch: of each colour
    cdef long long[::1] used  # (n,), scratch: whether a proof has used the colour
    cdef unsigned long long[:, ::1] sets  # (4, w), scratch
    cdef long long[::1] left  # (n,), scratch: how many of a colour are left; NONE once traced
    cdef long long[::1] cause  # (n,), scratch: the colour whose last vertex excluded this one
    cdef long long[::1] queue  # (n,), scratch
    cdef long long[::1] places
    cdef bint branches_on(self, Py_ssize_t vertex) noexcept nogil
    cdef Py_ssize_t vertex_of(self, Py_ssize_t w, unsigned long long bit) noexcept nogil
    cdef void colour(self, Py_ssize_t allowed) noexcept nogil
    cdef bint excluded(self, Py_ssize_t vertex, Py_ssize_t colours) noexcept nogil
    cdef void trace(self, Py_ssize_t empty) noexcept nogil
