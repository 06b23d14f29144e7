"""Compiled sums of chunks of rows, which are gathered by class in transposed tiles."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False

import numpy as np

from suffice.core.compiled import njit

LANES = 256
# row length of a tile; not a power of two, so that columns fall into different cache sets
STRIDE = LANES + 8

_FAST = {"contract", "reassoc", "nsz"}


@njit(nogil=True, fastmath=_FAST)
def add_gram(left, right, lanes, whole, gram):
    """Add Σ_r left[i, r] right[j, r] to gram[i, j]; unless ``whole``, only in the lower blocks."""
    for i in range(0, len(gram), 4):
        for j in range(0, len(gram) if whole else i + 4, 4):
            c00 = c01 = c02 = c03 = c10 = c11 = c12 = c13 = 0.0
            c20 = c21 = c22 = c23 = c30 = c31 = c32 = c33 = 0.0
            for r in range(lanes):
                x0 = left[i, r]
                x1 = left[i + 1, r]
                x2 = left[i + 2, r]
                x3 = left[i + 3, r]
                y0 = right[j, r]
                y1 = right[j + 1, r]
                y2 = right[j + 2, r]
                y3 = right[j + 3, r]
                c00 += x0 * y0
                c01 += x0 * y1
                c02 += x0 * y2
                c03 += x0 * y3
                c10 += x1 * y0
                c11 += x1 * y1
                c12 += x1 * y2
                c13 += x1 * y3
                c20 += x2 * y0
                c21 += x2 * y1
                c22 += x2 * y2
                c23 += x2 * y3
                c30 += x3 * y0
                c31 += x3 * y1
                c32 += x3 * y2
                c33 += x3 * y3
            gram[i, j] += c00
            gram[i, j + 1] += c01
            gram[i, j + 2] += c02
            gram[i, j + 3] += c03
            gram[i + 1, j] += c10
            gram[i + 1, j + 1] += c11
            gram[i + 1, j + 2] += c12
            gram[i + 1, j + 3] += c13
            gram[i + 2, j] += c20
            gram[i + 2, j + 1] += c21
            gram[i + 2, j + 2] += c22
            gram[i + 2, j + 3] += c23
            gram[i + 3, j] += c30
            gram[i + 3, j + 1] += c31
            gram[i + 3, j + 2] += c32
            gram[i + 3, j + 3] += c33


@njit(nogil=True)
def sort_block(codes, lo, hi, order, starts):
    """Sort rows by class: order[starts[k] : starts[k+1]] are the rows of class k, in row order."""
    starts[:] = 0
    for r in range(lo, hi):
        starts[codes[r] + 1] += 1
    for k in range(len(starts) - 1):
        starts[k + 1] += starts[k]
    for r in range(lo, hi):
        k = codes[r]
        order[starts[k]] = r
        starts[k] += 1
    for k in range(len(starts) - 1, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0


@njit(nogil=True, fastmath=_FAST)
def touch(x, lo, hi, by_column):
    """Load a block into the cache by reading one number of each cache line, in memory order."""
    total = 0.0
    if by_column:
        for j in range(x.shape[1]):
            for r in range(lo, hi, 8):
                total += x[r, j]
    else:
        for r in range(lo, hi):
            for j in range(0, x.shape[1], 8):
                total += x[r, j]
    return total


@njit(nogil=True)
def gather(x, rows, shift, by_column, tile):
    """Write x[rows] − shift, transposed, and zeros in the lanes up to a multiple of 8."""
    n = len(rows)
    d = x.shape[1]
    lanes = (n + 7) // 8 * 8
    # unsigned indices need no test for negative indices
    if by_column:
        for j in range(d):
            column = x[:, j]
            for p in range(n):
                tile[j, np.uintp(p)] = column[np.uintp(rows[p])] - shift[j]
            tile[j, n:lanes] = 0.0
        return lanes
    quads = n - n % 4
    for p in range(0, quads, 4):
        r0 = np.uintp(rows[p])
        r1 = np.uintp(rows[p + 1])
        r2 = np.uintp(rows[p + 2])
        r3 = np.uintp(rows[p + 3])
        p0 = np.uintp(p)
        p1 = np.uintp(p + 1)
        p2 = np.uintp(p + 2)
        p3 = np.uintp(p + 3)
        for j in range(d):
            # read all four numbers before writing one, so that the compiler combines the writes
            z0 = x[r0, j] - shift[j]
            z1 = x[r1, j] - shift[j]
            z2 = x[r2, j] - shift[j]
            z3 = x[r3, j] - shift[j]
            tile[j, p0] = z0
            tile[j, p1] = z1
            tile[j, p2] = z2
            tile[j, p3] = z3
    for j in range(d):
        for p in range(quads, n):
            tile[j, p] = x[rows[p], j] - shift[j]
        tile[j, n:lanes] = 0.0
    return lanes


@njit(nogil=True)
def gather_tile(x, rows, shift, lanes, tile):
    """Write x[rows] − shift to a tile (chunks, D, lanes), with zeros in unused lanes."""
    for c in range(len(tile)):
        part = rows[c * lanes : (c + 1) * lanes]
        if len(part) < lanes:
            tile[c] = 0.0
        gather(x, part, shift, False, tile[c])


@njit(nogil=True, fastmath=_FAST)
def add_sums(left, lanes, sums):
    """Add Σ_r left[j, r] to sums[j]."""
    for j in range(len(sums)):
        total = 0.0
        for r in range(lanes):
            total += left[j, r]
        sums[j] += total


@njit(nogil=True, fastmath=_FAST)
def add_odd_powers(left, right, lanes, sums, cubes, fourths):
    """Add Σ_r w z, Σ_r w z³ and Σ_r w z⁴ of each column j; ``left`` is w z, ``right`` is z."""
    for j in range(len(sums)):
        s1 = s3 = s4 = 0.0
        for r in range(lanes):
            wz = left[j, r]
            z = right[j, r]
            wzzz = wz * (z * z)
            s1 += wz
            s3 += wzzz
            s4 += wzzz * z
        sums[j] += s1
        cubes[j] += s3
        fourths[j] += s4


@njit(nogil=True, fastmath=_FAST)
def add_squares(left, right, lanes, squares):
    """Add Σ_r left[j, r] right[j, r] to squares[j]."""
    for j in range(len(squares)):
        total = 0.0
        for r in range(lanes):
            total += left[j, r] * right[j, r]
        squares[j] += total


@njit(nogil=True, fastmath=_FAST)
def weigh(tile, w, rows, lanes, out):
    """Write w_r z_r to ``out``, and return Σ_r w_r."""
    total = 0.0
    row_weights = np.zeros(lanes)
    for r in range(len(rows)):
        row_weights[r] = w[rows[r]]
        total += row_weights[r]
    for j in range(len(tile)):
        for r in range(lanes):
            out[j, r] = tile[j, r] * row_weights[r]
    return total


@njit(nogil=True, fastmath=_FAST)
def add_higher_powers(tile, offset, w, rows, cubes, fourths):
    """Add Σ_r w_r z³ to cubes[j] and Σ_r w_r z⁴ to fourths[j], with z = tile[j, r] + offset[j]."""
    n = len(rows)
    row_weights = np.ones(n)
    if len(w):
        for r in range(n):
            row_weights[r] = w[rows[r]]
    for j in range(len(offset)):
        e = offset[j]
        s3 = s4 = 0.0
        if len(w):
            for r in range(n):
                z = tile[j, r] + e
                square = z * z
                weighted_square = row_weights[r] * square
                s3 += weighted_square * z
                s4 += weighted_square * square
        else:
            for r in range(n):
                z = tile[j, r] + e
                square = z * z
                s3 += square * z
                s4 += square * square
        cubes[j] += s3
        fourths[j] += s4


@njit(nogil=True)
def class_chunk(
    x,
    codes,
    w,
    lo,
    hi,
    block,
    by_column,
    has_missing,
    seen,
    weights,
    shifts,
    sums,
    squares,
    grams,
    cubes,
    fourths,
):
    """Sum rows lo … hi−1 about a shift per class; the returned number has no meaning."""
    # ``w`` is empty if every weight is 1. Unless they are empty, the loop fills ``squares`` (K, d)
    # and ``grams`` (K, D, D), where D is d rounded up to a multiple of 4. ``seen`` marks the
    # classes that have a shift. If ``has_missing``, all rows of a class must lack the same columns;
    # the sums of these columns are zeros.
    n_classes, d = shifts.shape
    padded = (d + 3) // 4 * 4
    tile = np.zeros((padded, STRIDE))
    weighted = tile if len(w) == 0 else np.zeros((padded, STRIDE))
    order = np.empty(block, np.intp)
    starts = np.empty(n_classes + 1, np.intp)
    touched = 0.0  # returned, so that the compiler does not remove the reads
    for b in range(lo, hi, block):
        touched += touch(x, b, min(b + block, hi), by_column)
        sort_block(codes, b, min(b + block, hi), order, starts)
        for k in range(n_classes):
            for s in range(starts[k], starts[k + 1], LANES):
                rows = order[s : min(s + LANES, starts[k + 1])]
                if not seen[k]:
                    seen[k] = start(x, w, rows, shifts[k])
                    if has_missing:
                        zero_missing(shifts[k : k + 1], d)
                lanes = gather(x, rows, shifts[k], by_column, tile)
                if has_missing:
                    zero_missing(tile, lanes)
                if len(w):
                    weights[k] += weigh(tile, w, rows, lanes, weighted)
                else:
                    weights[k] += len(rows)
                add_odd_powers(weighted, tile, lanes, sums[k], cubes[k], fourths[k])
                if len(squares):
                    add_squares(weighted, tile, lanes, squares[k])
                if len(grams):
                    add_gram(weighted, tile, lanes, False, grams[k])
    return touched


@njit(nogil=True)
def zero_missing(tile, lanes):
    """Write zeros for missing numbers."""
    for j in range(len(tile)):
        for r in range(lanes):
            tile[j, r] = 0.0 if np.isnan(tile[j, r]) else tile[j, r]


@njit(nogil=True)
def start(x, w, rows, shift):
    """Set the shift of a class to the mean of the rows with positive weight.

    Return whether there are such rows.
    """
    counted = rows[w[rows] > 0] if len(w) else rows
    for j in range(len(shift) if len(counted) else 0):
        first = float(x[counted[0], j])
        total = 0.0
        for r in counted:
            total += x[r, j] - first
        shift[j] = first + total / len(counted)
    return len(counted) > 0


@njit(nogil=True)
def fourth_chunk(x, codes, w, lo, hi, block, by_column, shifts, thirds, fourths):
    """Add Σ w z² zᵀ to ``thirds`` and Σ w z² (z²)ᵀ to ``fourths``, z = x − shift of the class."""
    n_classes = len(shifts)
    padded = thirds.shape[1]
    tile = np.zeros((padded, STRIDE))
    weighted = np.zeros((padded, STRIDE))
    order = np.empty(block, np.intp)
    starts = np.empty(n_classes + 1, np.intp)
    for b in range(lo, hi, block):
        sort_block(codes, b, min(b + block, hi), order, starts)
        for k in range(n_classes):
            for s in range(starts[k], starts[k + 1], LANES):
                rows = order[s : min(s + LANES, starts[k + 1])]
                lanes = gather(x, rows, shifts[k], by_column, tile)
                if len(w):
                    weigh(tile, w, rows, lanes, weighted)
                for j in range(padded):
                    for r in range(lanes):
                        wz = weighted[j, r] if len(w) else tile[j, r]
                        weighted[j, r] = wz * tile[j, r]
                add_gram(weighted, tile, lanes, True, thirds[k])
                for j in range(padded):
                    for r in range(lanes):
                        tile[j, r] *= tile[j, r]
                add_gram(weighted, tile, lanes, False, fourths[k])


@njit(nogil=True)
def pooled_chunk(
    x, codes, w, lo, hi, by_column, weights, shifts, sums, gram, origin, cubes, fourths
):
    """Sum rows lo … hi−1 about a shift per class, and add all products to one matrix."""
    # ``cubes`` and ``fourths`` are about ``origin``, which is set to the first row with a weight
    n_classes, d = shifts.shape
    padded = len(gram)
    tile = np.zeros((padded, STRIDE))
    weighted = tile if len(w) == 0 else np.zeros((padded, STRIDE))
    no_shift = np.zeros(d)
    seen = np.zeros(n_classes, np.bool_)
    rows = np.empty(LANES, np.intp)
    for b in range(lo, hi, LANES):
        n = min(LANES, hi - b)
        for r in range(n):
            rows[r] = b + r
            k = codes[b + r]
            if not seen[k] and (len(w) == 0 or w[b + r] > 0.0):
                is_first = not seen.any()
                seen[k] = True
                for j in range(d):
                    shifts[k, j] = x[b + r, j]
                    if is_first:
                        origin[j] = x[b + r, j]
        lanes = gather(x, rows[:n], no_shift, by_column, tile)
        add_higher_powers(tile, -origin, w, rows[:n], cubes, fourths)
        for r in range(n):
            k = codes[b + r]
            for j in range(d):
                tile[j, r] -= shifts[k, j]
        if len(w):
            weigh(tile, w, rows[:n], lanes, weighted)
        for r in range(n):
            k = codes[b + r]
            weights[k] += w[b + r] if len(w) else 1.0
            for j in range(d):
                sums[k, j] += weighted[j, r]
        add_gram(weighted, tile, lanes, False, gram)


@njit(nogil=True, fastmath={"contract"})
def diagonal_chunk(x, codes, w, lo, hi, weights, shifts, sums, squares):
    """Sum z and z² of rows lo … hi−1, row by row, where z = x − shift of the class."""
    n_classes, d = shifts.shape
    seen = np.zeros(n_classes, np.bool_)
    for r in range(lo, hi):
        k = codes[r]
        u = w[r] if len(w) else 1.0
        if not seen[k] and u > 0.0:
            seen[k] = True
            for j in range(d):
                shifts[k, j] = x[r, j]
        weights[k] += u
        for j in range(d):
            z = x[r, j] - shifts[k, j]
            uz = u * z
            sums[k, j] += uz
            squares[k, j] += uz * z


@njit(nogil=True, fastmath={"contract"})
def observed_chunk(x, codes, w, lo, hi, counts, weights, shifts, sums, squares):
    """Sum z = x − shift and z² column by column, over the observed numbers; sums are (K, d)."""
    n_classes = len(shifts)
    d = x.shape[1]
    unseen = np.ones((n_classes, d), np.bool_)
    left = np.full(n_classes, d)
    for r in range(lo, hi):
        k = codes[r]
        u = w[r] if len(w) else 1.0
        if left[k]:
            for j in range(d):
                if unseen[k, j] and not np.isnan(x[r, j]):
                    unseen[k, j] = False
                    shifts[k, j] = x[r, j]
                    left[k] -= 1
        for j in range(d):
            hole = np.isnan(x[r, j])
            z = 0.0 if hole else x[r, j] - shifts[k, j]
            uz = u * z
            counts[k, j] += 0.0 if hole else 1.0
            weights[k, j] += 0.0 if hole else u
            sums[k, j] += uz
            squares[k, j] += uz * z


@njit(nogil=True)
def observed_powers(x, w, lo, hi, block, by_column, sums):
    """Write w, μ and Σ w (x − μ)ᵖ for p = 2, 3, 4, over the observed numbers.

    ``sums`` (B, 5, d) has one entry for each of the B blocks of rows lo … hi−1.
    """
    d = x.shape[1]
    tile = np.zeros((d, STRIDE))
    tile_weights = np.zeros(STRIDE)
    no_shift = np.zeros(d)
    rows = np.empty(LANES, np.intp)
    for b in range(len(sums)):
        first = lo + b * block
        last = min(first + block, hi)
        weights, means, squares, cubes, fourths = sums[b]
        for s in range(first, last, LANES):
            n = row_tile(w, s, min(s + LANES, last), rows, tile_weights)
            lanes = gather(x, rows[:n], no_shift, by_column, tile)
            add_observed_sums(tile, tile_weights, lanes, weights, means)
        for j in range(d):
            means[j] = means[j] / weights[j] if weights[j] > 0.0 else 0.0
        for s in range(first, last, LANES):
            n = row_tile(w, s, min(s + LANES, last), rows, tile_weights)
            lanes = gather(x, rows[:n], means, by_column, tile)
            add_observed_powers(tile, tile_weights, lanes, squares, cubes, fourths)


@njit(nogil=True)
def row_tile(w, lo, hi, rows, tile_weights):
    """Write the row numbers lo … hi−1, and their weights followed by zeros; return hi − lo."""
    n = hi - lo
    for r in range(n):
        rows[r] = lo + r
        tile_weights[r] = w[lo + r] if len(w) else 1.0
    tile_weights[n:] = 0.0
    return n


@njit(nogil=True, fastmath=_FAST)
def add_observed_sums(tile, tile_weights, lanes, weights, sums):
    """Add Σ_r w and Σ_r w z of the observed numbers z = tile[j, r]."""
    for j in range(len(sums)):
        s0 = s1 = 0.0
        for r in range(lanes):
            z = tile[j, r]
            u = 0.0 if np.isnan(z) else tile_weights[r]
            s0 += u
            s1 += u * (0.0 if np.isnan(z) else z)
        weights[j] += s0
        sums[j] += s1


@njit(nogil=True, fastmath=_FAST)
def add_observed_powers(tile, tile_weights, lanes, squares, cubes, fourths):
    """Add Σ_r w z², Σ_r w z³ and Σ_r w z⁴ of the observed numbers z = tile[j, r]."""
    for j in range(len(squares)):
        s2 = s3 = s4 = 0.0
        for r in range(lanes):
            z = 0.0 if np.isnan(tile[j, r]) else tile[j, r]
            square = z * z
            weighted_square = tile_weights[r] * square
            s2 += weighted_square
            s3 += weighted_square * z
            s4 += weighted_square * square
        squares[j] += s2
        cubes[j] += s3
        fourths[j] += s4


@njit(nogil=True)
def level_chunk(levels, codes, w, lo, hi, starts, weights):
    """Add each row's weight to its levels in ``weights`` (K, C); ``levels`` is (hi − lo, q)."""
    for j in range(levels.shape[1]):
        for r in range(hi - lo):
            level = levels[r, j]
            if level >= 0:
                weights[codes[lo + r], starts[j] + level] += w[lo + r] if len(w) else 1.0


@njit(nogil=True)
def joint_chunk(
    x,
    levels,
    codes,
    w,
    lo,
    hi,
    centre,
    group_of,
    strides,
    empty_codes,
    starts,
    cells,
    sums,
    tables,
):
    """Add Σ w m_joint (x − μ, 1)ᵀ to ``sums``, and the weights of pairs to ``tables``.

    ``JointLevels`` explains the terms. ``sums`` is (M J, P) with P > p, and ``tables`` (M cells,),
    where M is K, or 1 if classes are pooled. ``levels`` is (hi − lo, q).
    """
    p = x.shape[1]
    n_groups = len(starts) - 1
    n_joint = np.uintp(starts[-1])
    n_cells = np.uintp(cells[-1])
    per_class = len(sums) > n_joint
    joint = np.zeros((n_groups, LANES), np.uintp)
    z = np.zeros((LANES, sums.shape[1]))
    z[:, p] = 1.0
    row_weights = np.ones(LANES)
    class_of = np.zeros(LANES, np.uintp)
    table_of = np.zeros(LANES, np.uintp)
    place = np.zeros(LANES, np.uintp)
    for b in range(lo, hi, LANES):
        n = min(LANES, hi - b)
        for r in range(n):
            class_of[r] = codes[b + r]
            table_of[r] = class_of[r] if per_class else np.uintp(0)
        if len(w):
            for r in range(n):
                row_weights[r] = w[b + r]
                z[r, p] = w[b + r]
        for j in range(p):
            column = x[b : b + n, j]
            means = centre[:, j]
            for r in range(n):
                deviation = column[r] - means[class_of[r]]
                z[r, j] = 0.0 if np.isnan(deviation) else row_weights[r] * deviation
        joint[:] = 0
        for j in range(len(group_of)):
            of_group = joint[group_of[j]]
            column = levels[b - lo : b - lo + n, j]
            stride = np.uintp(strides[j])
            empty = empty_codes[j]
            for r in range(n):
                of_group[r] += np.uintp(column[r] if column[r] >= 0 else empty) * stride
        pair = 0
        for g in range(n_groups):
            start = np.uintp(starts[g])
            for r in range(n):
                place[r] = table_of[r] * n_joint + start + joint[g, r]
            for r in range(n):
                row = sums[place[r]]
                values = z[np.uintp(r)]
                for j in range(len(row)):
                    row[j] += values[j]
            for h in range(g + 1, n_groups):
                right = joint[h]
                start = np.uintp(cells[pair])
                width = np.uintp(starts[h + 1] - starts[h])
                for r in range(n):
                    place[r] = table_of[r] * n_cells + start + joint[g, r] * width + right[r]
                for r in range(n):
                    tables[place[r]] += row_weights[r]
                pair += 1


@njit(nogil=True, fastmath=_FAST)
def shared_chunk(tile, shares, means, lanes, weights, sums, grams):
    """Add Σ p, Σ p z and the lower blocks of Σ p z zᵀ of R components, z = x − μ_r.

    ``shares`` holds p, the share of each component in each row.
    """
    # ``tile`` is (chunks, D, lanes), ``shares`` (chunks, R, lanes), ``grams`` (R, D, D)
    n_means, d = means.shape
    z = np.zeros((tile.shape[1], 4 * lanes))
    weighted = np.zeros_like(z)
    for first in range(0, tile.shape[0], 4):
        n = min(4, tile.shape[0] - first)
        for r in range(n_means):
            for c in range(n):
                p = shares[first + c, r]
                at = c * lanes
                for b in range(lanes):
                    weights[r] += p[b]
                for j in range(d):
                    for b in range(lanes):
                        z[j, at + b] = tile[first + c, j, b] - means[r, j]
                        weighted[j, at + b] = p[b] * z[j, at + b]
            add_sums(weighted, n * lanes, sums[r])
            add_gram(weighted, z, n * lanes, False, grams[r])
