"""Linear attention on a GPU, with its divisor and its feature map, in as few passes over the data as there can be.

    S = Σ φ(kⱼ) vⱼᵀ    z = Σ φ(kⱼ)    o = φ(q)ᵀS / φ(q)ᵀz        over j ≤ i, or over all j
    g = ∂o / φ(q)ᵀz    c = -(∂o · o) / φ(q)ᵀz                    what comes back to numerator and divisor
    R = Σ φ(qᵢ) gᵢᵀ    r = Σ φ(qᵢ) cᵢ                            over i ≥ j, or over all i

Chunks of rows are worked on side by side, and what a chunk needs of all others are the sums before it (backwards,
behind it). These come in two levels, so that one long text fills the chip as well as many short ones. A segment is some
chunks: `sums` goes through each, and leaves the sums at each chunk since the start of its segment, and those of the
whole segment; `scan_sums` adds up segments. So `outputs` is: sums within the segment, sums of the segments before it,
and the weights within the chunk, written out. `gradients` is the same for all three.

Random features are exponentials, which neither overflow nor vanish if each key's are divided by their largest, e^scale.
Sums are then in units of the largest yet, e^top, and are brought to a new unit as it grows: a maximum over the whole
text would show the past what comes later. `SCALED` says that it is so.
"""

import triton
import triton.language as tl


@triton.jit
def dot(a, b, PRECISION: tl.constexpr):
    """A product of two matrices with sums in float32: of bf16 numbers, or of float32 ones in a given precision."""
    if PRECISION == "bf16":
        return tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16))
    elif PRECISION == "bf16 as float32":  # Triton's interpreter multiplies the bits of bf16 numbers
        return tl.dot(a.to(tl.bfloat16).to(tl.float32), b.to(tl.bfloat16).to(tl.float32), input_precision="ieee")
    else:
        return tl.dot(a.to(tl.float32), b.to(tl.float32), input_precision=PRECISION)


@triton.jit
def exp(x, PRECISION: tl.constexpr):
    """e^x; for bf16 numbers without what is below 10⁻³⁸, which takes three times as many instructions."""
    if PRECISION == "bf16":
        return tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x * 1.4426950408889634], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return tl.exp(x)


@triton.jit
def project(x, high, low, PRECISION: tl.constexpr):
    """x Ω, in float32 but for a rounding of 2⁻¹⁷: exponents may not be rounded as other numbers are."""
    if PRECISION == "bf16" or PRECISION == "bf16 as float32":
        return dot(x, high, PRECISION) + dot(x, low, PRECISION)
    else:
        return tl.dot(x.to(tl.float32), high, input_precision="tf32x3")


@triton.jit
def place(PLACES, length, segments, number, SEGMENT: tl.constexpr, PACKED: tl.constexpr):
    """Where a segment lies: its text, its batch, its rows, and those of its text."""
    if PACKED:
        text = tl.load(PLACES + 5 * number)
        start, stop = tl.load(PLACES + 5 * number + 1), tl.load(PLACES + 5 * number + 2)
        begin, end = tl.load(PLACES + 5 * number + 3), tl.load(PLACES + 5 * number + 4)
        batch = text * 0
    else:
        text = number // segments
        start = (number % segments) * SEGMENT
        stop = tl.minimum(start + SEGMENT, length)
        begin, end = start * 0, length
        batch = text
    return text, batch.to(tl.int64), start, stop, begin, end


@triton.jit
def load_rows(X, stride, first, valid, C: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, FULL: tl.constexpr):
    """C rows of x, of which columns `first` to `first` + WIDTH; zeros where it has none. FULL: all rows are valid."""
    columns = first + tl.arange(0, WIDTH)
    at = X + tl.arange(0, C)[:, None] * stride + columns[None, :]
    if FULL and WIDTH == SIZE:
        return tl.load(at)
    elif WIDTH == SIZE:
        return tl.load(at, mask=valid[:, None], other=0.0)
    else:
        return tl.load(at, mask=valid[:, None] & (columns < SIZE)[None, :], other=0.0)


@triton.jit
def store_rows(
    X, stride, first, values, valid, C: tl.constexpr, WIDTH: tl.constexpr, SIZE: tl.constexpr, FULL: tl.constexpr
):
    columns = first + tl.arange(0, WIDTH)
    at = X + tl.arange(0, C)[:, None] * stride + columns[None, :]
    if FULL and WIDTH == SIZE:
        tl.store(at, values.to(X.dtype.element_ty))
    else:
        tl.store(at, values.to(X.dtype.element_ty), mask=valid[:, None] & (columns < SIZE)[None, :])


@triton.jit
def load_omega(
    OMEGA, first,
    D: tl.constexpr, DP: tl.constexpr, F: tl.constexpr, BF: tl.constexpr, MAP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The directions of a block of random features, [DP, BF]; for bf16 inputs as a sum of two bf16 numbers."""
    high, low = 0.0, 0.0
    if MAP == "exp":
        rows, columns = tl.arange(0, DP), first + tl.arange(0, BF)
        mask = (rows < D)[:, None] & (columns < F)[None, :]
        high = tl.load(OMEGA + columns[None, :] * D + rows[:, None], mask=mask, other=0.0)
        low = high - high.to(tl.bfloat16).to(tl.float32)
        if PRECISION == "bf16":
            high, low = high.to(tl.bfloat16), low.to(tl.bfloat16)
    return high, low


@triton.jit
def load_inputs(
    X, stride, first, valid,
    D: tl.constexpr, DP: tl.constexpr, BF: tl.constexpr, C: tl.constexpr, MAP: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """What the features of a block are made of: all of x, or the same columns of it."""
    if MAP == "exp":
        return load_rows(X, stride, 0, valid, C, DP, D, FULL)
    else:
        return load_rows(X, stride, first, valid, C, BF, D, FULL)


@triton.jit
def narrow(x, PRECISION: tl.constexpr):
    """As products of matrices want it: bf16 numbers need half the registers."""
    if PRECISION == "bf16":
        return x.to(tl.bfloat16)
    else:
        return x


@triton.jit
def features(
    x, scale, high, low, first, valid,
    D: tl.constexpr, F: tl.constexpr, BF: tl.constexpr, MAP: tl.constexpr, PRECISION: tl.constexpr, FULL: tl.constexpr,
):  # fmt: skip
    """φ(x) / e^scale; zeros where nothing is."""
    wide = x.to(tl.float32)
    if MAP == "exp":
        half = tl.sum(wide * wide, 1) * (0.5 / (D**0.5))
        phi = exp(tl.minimum(project(x, high, low, PRECISION) - (half + scale)[:, None], 1.0), PRECISION)
    elif MAP == "elu":
        phi = tl.where(wide > 0, wide + 1, exp(wide, PRECISION))
    elif MAP == "relu":
        phi = tl.maximum(wide, 0)
    else:
        phi = wide
    columns = first + tl.arange(0, BF)
    if not FULL:
        phi = tl.where(valid[:, None], phi, 0.0)
    if F % BF != 0:
        phi = tl.where((columns < F)[None, :], phi, 0.0)
    return narrow(phi, PRECISION)


@triton.jit
def pull_back(
    x, phi, gradient, high,
    D: tl.constexpr, MAP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """What a gradient of features is as one of their inputs."""
    if MAP == "exp":
        slope = gradient * phi.to(tl.float32)
        return dot(slope, tl.trans(high), PRECISION) - x.to(tl.float32) * (tl.sum(slope, 1) * (1 / (D**0.5)))[:, None]
    elif MAP == "elu":
        return gradient * tl.minimum(phi.to(tl.float32), 1.0)
    elif MAP == "relu":
        return tl.where(x.to(tl.float32) > 0, gradient, 0.0)
    else:
        return gradient


@triton.jit
def load_sums(S, number, first, F: tl.constexpr, BF: tl.constexpr, E: tl.constexpr, EP: tl.constexpr):
    """S of one place, and as a row z, which lies behind it."""
    S += number.to(tl.int64) * (F * E + F)
    rows, columns = first + tl.arange(0, BF), tl.arange(0, EP)
    if F % BF == 0 and E == EP:
        total = tl.load(S + rows[:, None] * E + columns[None, :])
        weight = tl.load(S + F * E + rows)
    else:
        mask = (rows < F)[:, None] & (columns < E)[None, :]
        total = tl.load(S + rows[:, None] * E + columns[None, :], mask=mask, other=0.0)
        weight = tl.load(S + F * E + rows, mask=rows < F, other=0.0)
    return total.to(tl.float32), weight.to(tl.float32)[None, :]


@triton.jit
def sums_at(
    LOCAL, S, chunk, segment, shrink, first,
    F: tl.constexpr, BF: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
    SCALED: tl.constexpr, CAUSAL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """S and z before (or behind) a chunk: those of its segment so far, and of all segments before it."""
    total, weight = load_sums(S, segment, first, F, BF, E, EP)
    if CAUSAL:
        if SCALED:  # in the unit at the chunk
            total *= shrink
            weight *= shrink
        near, near_weight = load_sums(LOCAL, chunk, first, F, BF, E, EP)
        total += near
        weight += near_weight
    return narrow(total, PRECISION), weight


@triton.jit
def store_sums(S, number, first, total, weight, F: tl.constexpr, BF: tl.constexpr, E: tl.constexpr, EP: tl.constexpr):
    S += number.to(tl.int64) * (F * E + F)
    rows, columns = first + tl.arange(0, BF), tl.arange(0, EP)
    kind = S.dtype.element_ty
    mask = (rows < F)[:, None] & (columns < E)[None, :]
    tl.store(S + rows[:, None] * E + columns[None, :], total.to(kind), mask=mask)
    tl.store(S + F * E + rows, (tl.sum(weight, 1) * 0.0625).to(kind), mask=rows < F)


@triton.jit
def spread(x, PRECISION: tl.constexpr):
    """x in sixteen columns, to multiply by: sums over the rows of a tile would wait for all threads.

    They are the rows of another tile: one of sixteen columns is read wrongly from shared memory (Triton 3.6).
    """
    return tl.trans(narrow(tl.broadcast_to(x[None, :], (16, x.shape[0])), PRECISION))


@triton.jit
def times(x, factors, PRECISION: tl.constexpr):
    """Each row by its factor."""
    return narrow(x.to(tl.float32) * factors[:, None], PRECISION)


@triton.jit
def scales(
    X, OMEGA, MASK, SCALE, x_batch, x_head, x_row, heads, length,
    D: tl.constexpr, DP: tl.constexpr, F: tl.constexpr, BF: tl.constexpr, C: tl.constexpr,
    MASKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The logarithm of each row's largest random feature."""
    pair = tl.program_id(1)
    batch, head = (pair // heads).to(tl.int64), pair % heads
    rows = tl.program_id(0) * C + tl.arange(0, C)
    valid = rows < length
    X += batch * x_batch + head * x_head + tl.program_id(0).to(tl.int64) * C * x_row
    x = load_rows(X, x_row, 0, valid, C, DP, D, False)
    wide = x.to(tl.float32)
    largest = tl.full([C], -1e30, tl.float32)
    for first in range(0, F, BF):
        high, low = load_omega(OMEGA, first, D, DP, F, BF, "exp", PRECISION)
        columns = first + tl.arange(0, BF)
        logits = tl.where((columns < F)[None, :], project(x, high, low, PRECISION), -1e30)
        largest = tl.maximum(largest, tl.max(logits, 1))
    scale = largest - tl.sum(wide * wide, 1) * (0.5 / (D**0.5))
    if MASKED:
        scale = tl.where(tl.load(MASK + batch * length + rows, mask=valid, other=0) != 0, scale, -1e30)
    tl.store(SCALE + pair.to(tl.int64) * length + rows, scale, mask=valid)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_maximum(SCALE, FIRST, TOP, TEXTS, length, heads, B: tl.constexpr, PACKED: tl.constexpr):
    """top: the largest scale of a text so far."""
    text, head = tl.program_id(0), tl.program_id(1)
    if PACKED:
        begin, end = tl.load(TEXTS + 2 * text + 1), tl.load(TEXTS + 2 * text + 3)
        offset = head.to(tl.int64) * length
    else:
        begin, end = 0, length
        offset = (text * heads + head).to(tl.int64) * length
    top = tl.load(FIRST + text * heads + head)
    for start in range(begin, end, B):
        rows = start + tl.arange(0, B)
        scale = tl.load(SCALE + offset + rows, mask=rows < end, other=-1e30)
        tops = tl.maximum(tl.associative_scan(scale, 0, larger), top)
        tl.store(TOP + offset + rows, tops, mask=rows < end)
        top = tl.max(tops, 0)


@triton.jit
def takes_part(MASK, at, length, valid, C: tl.constexpr, MASKED: tl.constexpr):
    """Which rows count as keys: those that are there and not masked."""
    if MASKED:
        return valid & (tl.load(MASK + at + tl.arange(0, C), mask=valid, other=0) != 0)
    else:
        return valid


@triton.jit
def sums(
    X, Y, OUT, DIVISOR, OMEGA, MASK, SCALE, TOP, LOWEST, PLACES, LOCAL, S, CC,
    x_batch, x_head, x_row, y_batch, y_head, y_row, o_batch, o_head, o_row, heads, length, segments,
    D: tl.constexpr, DP: tl.constexpr, F: tl.constexpr, BF: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
    C: tl.constexpr, SEGMENT: tl.constexpr, MAP: tl.constexpr, SCALED: tl.constexpr, MASKED: tl.constexpr,
    FULL: tl.constexpr, CAUSAL: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr,
    BACKWARD: tl.constexpr, LEAST: tl.constexpr,
):  # fmt: skip
    """The sums of each segment, and those of it before each chunk: S and z of keys and values.

    BACKWARD: R and r of queries and what comes back to outputs, from the end to the start; on the way c of each row.
    """
    head, first, number = tl.program_id(0), tl.program_id(2) * BF, tl.program_id(1)
    text, batch, start, stop, begin, end = place(PLACES, length, segments, number, SEGMENT, PACKED)
    X += batch * x_batch + head * x_head
    Y += batch * y_batch + head * y_head
    OUT += batch * o_batch + head * o_head
    per_row = (batch * heads + head) * length
    high, low = load_omega(OMEGA, first, D, DP, F, BF, MAP, PRECISION)
    total = tl.zeros([BF, EP], tl.float32)
    weight = tl.zeros([BF, 16], tl.float32)
    lowest, unit = 0.0, 0.0
    if SCALED and CAUSAL:
        lowest = tl.load(LOWEST + text * heads + head)
        unit = top_at(TOP + per_row, stop - 1 if BACKWARD else start - 1, begin, lowest, start >= 0)
    elif SCALED and not BACKWARD:
        unit = tl.load(TOP + per_row + end - 1)
    chunks = tl.cdiv(stop - start, C)
    for i in range(chunks):
        chunk = (chunks - 1 - i) if BACKWARD else i
        row = start + chunk * C
        at = row.to(tl.int64)
        valid = row + tl.arange(0, C) < stop
        if CAUSAL:
            there = (number * (SEGMENT // C) + chunk) * heads + head
            store_sums(LOCAL, there, first, total, weight, F, BF, E, EP)
        scale = tl.load(SCALE + per_row + at + tl.arange(0, C), mask=valid, other=0.0) if SCALED else 0.0
        x = load_inputs(X + at * x_row, x_row, first, valid, D, DP, BF, C, MAP, FULL)
        y = load_rows(Y + at * y_row, y_row, 0, valid, C, EP, E, FULL)
        counts = takes_part(MASK, batch * length + at, length, valid, C, MASKED and not BACKWARD)
        phi = features(x, scale, high, low, first, counts, D, F, BF, MAP, PRECISION, FULL and not MASKED)
        if BACKWARD:
            y = y.to(tl.float32)
            divisor = tl.load(DIVISOR + per_row + at + tl.arange(0, C), mask=valid, other=1.0)
            none = tl.abs(divisor) < LEAST
            factor = 1 / tl.where(none, 1.0, divisor)
            output = load_rows(OUT + at * o_row, o_row, 0, valid, C, EP, E, FULL).to(tl.float32)
            c = tl.where(none, 0.0, -tl.sum(y * output, 1) * factor)
            if first == 0:
                tl.store(CC + per_row + at + tl.arange(0, C), c, mask=valid)
        else:
            c = tl.full([C], 1.0, tl.float32)
            factor = c
        if SCALED and CAUSAL:
            if BACKWARD:  # to the unit of the chunk before, which is smaller than that of any row
                new = top_at(TOP + per_row, row - 1, begin, lowest, row >= 0)
                top = tl.load(TOP + per_row + at + tl.arange(0, C), mask=valid, other=0.0)
                by = exp(tl.minimum(new - top, 0.0), PRECISION)
                shrink = exp(tl.minimum(new - unit, 0.0), PRECISION)
            else:
                new = tl.load(TOP + per_row + tl.minimum(row + C, stop) - 1)
                by = exp(tl.minimum(scale - new, 0.0), PRECISION)
                shrink = exp(tl.minimum(unit - new, 0.0), PRECISION)
            total *= shrink
            weight *= shrink
            factor *= by
            c *= by
            unit = new
        elif SCALED and not BACKWARD:
            by = exp(tl.minimum(scale - unit, 0.0), PRECISION)
            factor *= by
            c *= by
        if BACKWARD or SCALED:
            y = times(y, factor, PRECISION)
        total += dot(tl.trans(phi), y, PRECISION)
        weight += dot(tl.trans(phi), spread(c, PRECISION), PRECISION)
    store_sums(S, number * heads + head, first, total, weight, F, BF, E, EP)


@triton.jit
def top_at(TOP, rows, begin, lowest, valid):
    """The largest scale up to a row; before the first row that of the state at the start."""
    return tl.where(rows >= begin, tl.load(TOP + rows, mask=valid & (rows >= begin), other=0.0), lowest)


@triton.jit
def scan_sums(
    S, ADDED, START, END, TOP, LOWEST, TEXTS, width, heads, length, segments,
    B: tl.constexpr, T: tl.constexpr, SEGMENT: tl.constexpr, SCALED: tl.constexpr, PACKED: tl.constexpr,
    REVERSE: tl.constexpr, STARTS: tl.constexpr, ENDS: tl.constexpr,
):  # fmt: skip
    """What the segments before each one add up to (REVERSE: those behind it), T at a time.

    Sums of a segment are in units of the top at its end, and are wanted at its start. Backwards it is the other way
    round. So segment t counts for segment s by e to the minus distance of those two.
    """
    text, head = tl.program_id(0), tl.program_id(1)
    columns = tl.program_id(2) * B + tl.arange(0, B)
    there = columns < width
    if PACKED:
        first, last = tl.load(TEXTS + 2 * text), tl.load(TEXTS + 2 * text + 2)
        begin, end = tl.load(TEXTS + 2 * text + 1), tl.load(TEXTS + 2 * text + 3)
        TOP += head.to(tl.int64) * length
    else:
        first, last = text * segments, (text + 1) * segments
        begin, end = 0, length
        TOP += (text * heads + head).to(tl.int64) * length
    which = (text * heads + head).to(tl.int64)
    carry = tl.load(START + which * width + columns, mask=there, other=0.0) if STARTS else tl.zeros([B], tl.float32)
    unit = tl.load(LOWEST + which) if SCALED else 0.0
    lowest = unit
    order = tl.arange(0, T)
    for done in range(0, last - first, T):
        numbers = (last - 1 - done - order) if REVERSE else (first + done + order)
        valid = (numbers >= first) & (numbers < last)
        at = (numbers.to(tl.int64) * heads + head) * width
        sums = tl.load(S + at[:, None] + columns[None, :], mask=valid[:, None] & there[None, :], other=0.0)
        factors = tl.where(order[None, :] < order[:, None], 1.0, 0.0)
        carried = tl.where(order >= 0, 1.0, 0.0)
        if SCALED:
            rows = begin + (numbers - first) * SEGMENT
            before = top_at(TOP, rows - 1, begin, lowest, valid)
            behind = top_at(TOP, tl.minimum(rows + SEGMENT, end) - 1, begin, lowest, valid)
            if REVERSE:
                source, wanted = before, behind
            else:
                source, wanted = behind, before
            factors *= tl.exp(-tl.abs(source[None, :] - wanted[:, None]))
            carried *= tl.exp(-tl.abs(unit - wanted))
        if T < 16:  # too few for a product of matrices
            added = tl.sum(factors[:, :, None] * sums[None, :, :], 1)
        else:
            added = tl.dot(factors, sums, input_precision="ieee")
        added += carried[:, None] * carry[None, :]
        mask = valid[:, None] & there[None, :]
        tl.store(ADDED + at[:, None] + columns[None, :], added.to(ADDED.dtype.element_ty), mask=mask)
        final = order == tl.minimum(T, last - first - done) - 1
        if SCALED:
            unit = tl.sum(tl.where(final, source, 0.0), 0)
            added *= tl.exp(-tl.abs(source - wanted))[:, None]
        carry = tl.sum(tl.where(final[:, None], added + sums, 0.0), 0)
    if ENDS:
        tl.store(END + which * width + columns, carry, mask=there)


@triton.jit
def locate(
    PLACES, TOP, LOWEST, length, segments, heads, head,
    C: tl.constexpr, SEGMENT: tl.constexpr, SCALED: tl.constexpr, CAUSAL: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """Where the chunk of this program lies, and units: of sums before its segment, before it, at the ends of both."""
    number = tl.program_id(1) // (SEGMENT // C)
    text, batch, start, stop, begin, end = place(PLACES, length, segments, number, SEGMENT, PACKED)
    row = start + (tl.program_id(1) % (SEGMENT // C)) * C
    TOP += (batch * heads + head) * length
    before_segment, before, behind, behind_segment = 0.0, 0.0, 0.0, 0.0
    if SCALED and CAUSAL:
        lowest = tl.load(LOWEST + text * heads + head)
        there = row < stop
        before_segment = top_at(TOP, start - 1, begin, lowest, there)
        before = top_at(TOP, row - 1, begin, lowest, there)
        behind = top_at(TOP, tl.minimum(row + C, stop) - 1, begin, lowest, there)
        behind_segment = top_at(TOP, stop - 1, begin, lowest, there)
    return text, batch, number, row, stop, end, before_segment, before, behind, behind_segment


@triton.jit
def outputs(
    Q, K, V, OMEGA, MASK, Q_SCALE, SCALE, TOP, LOWEST, PLACES, LOCAL, S, OUT, DIVISOR,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, o_batch, o_head, o_row,
    heads, length, segments,
    D: tl.constexpr, DP: tl.constexpr, F: tl.constexpr, BF: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
    C: tl.constexpr, SEGMENT: tl.constexpr, MAP: tl.constexpr, SCALED: tl.constexpr, MASKED: tl.constexpr,
    FULL: tl.constexpr, CAUSAL: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr, LEAST: tl.constexpr,
):  # fmt: skip
    """o of each row, and its divisor."""
    head = tl.program_id(0)
    text, batch, number, row, stop, _, before_segment, before, _, _ = locate(
        PLACES, TOP, LOWEST, length, segments, heads, head, C, SEGMENT, SCALED, CAUSAL, PACKED
    )
    at = row.to(tl.int64)
    rows = at + tl.arange(0, C)
    valid = rows < stop
    per_row = (batch * heads + head) * length
    Q += batch * q_batch + head * q_head + at * q_row
    K += batch * k_batch + head * k_head + at * k_row
    V += batch * v_batch + head * v_head + at * v_row
    if MAP == "exp":
        every_q = load_rows(Q, q_row, 0, valid, C, DP, D, FULL)
        if CAUSAL:
            every_k = load_rows(K, k_row, 0, valid, C, DP, D, FULL)
    q_scale, scale, top = 0.0, 0.0, 0.0
    if SCALED:
        q_scale = tl.load(Q_SCALE + per_row + rows, mask=valid, other=0.0)
    if SCALED and CAUSAL:
        scale = tl.load(SCALE + per_row + rows, mask=valid, other=0.0)
        top = tl.load(TOP + per_row + rows, mask=valid, other=0.0)
    counts = takes_part(MASK, batch * length + at, length, valid, C, MASKED)
    numerator = tl.zeros([C, EP], tl.float32)
    divisor = tl.zeros([C], tl.float32)
    weights = tl.zeros([C, C], tl.float32)
    segment, chunk = (number if CAUSAL else text) * heads + head, tl.program_id(1) * heads + head
    for first in range(0, F, BF):
        high, low = load_omega(OMEGA, first, D, DP, F, BF, MAP, PRECISION)
        x = every_q if MAP == "exp" else load_rows(Q, q_row, first, valid, C, BF, D, FULL)
        q = features(x, q_scale, high, low, first, valid, D, F, BF, MAP, PRECISION, FULL)
        if CAUSAL:
            y = every_k if MAP == "exp" else load_rows(K, k_row, first, valid, C, BF, D, FULL)
            k = features(y, scale, high, low, first, counts, D, F, BF, MAP, PRECISION, FULL and not MASKED)
            weights += dot(q, tl.trans(k), PRECISION)
        shrink = exp(tl.minimum(before_segment - before, 0.0), PRECISION) if SCALED and CAUSAL else 1.0
        total, weight = sums_at(LOCAL, S, chunk, segment, shrink, first, F, BF, E, EP, SCALED, CAUSAL, PRECISION)
        numerator += dot(q, total, PRECISION)
        divisor += tl.sum(q.to(tl.float32) * weight, 1)
    if CAUSAL:
        v = load_rows(V, v_row, 0, valid, C, EP, E, FULL)
        if SCALED:
            old = exp(tl.minimum(before - top, 0.0), PRECISION)
            numerator *= old[:, None]
            divisor *= old
            weights *= exp(tl.minimum(scale[None, :] - top[:, None], 0.0), PRECISION)
        weights = tl.where(tl.arange(0, C)[:, None] >= tl.arange(0, C)[None, :], weights, 0.0)
        numerator += dot(weights, v, PRECISION)
        divisor += tl.sum(weights, 1)
    numerator *= (1 / tl.where(tl.abs(divisor) < LEAST, 1.0, divisor))[:, None]
    store_rows(OUT + batch * o_batch + head * o_head + at * o_row, o_row, 0, numerator, valid, C, EP, E, FULL)
    tl.store(DIVISOR + per_row + rows, divisor, mask=valid)


@triton.jit
def load_given(
    DO, DIVISOR, do_row, per_row, rows, valid,
    C: tl.constexpr, EP: tl.constexpr, E: tl.constexpr, FULL: tl.constexpr, PRECISION: tl.constexpr,
    LEAST: tl.constexpr,
):  # fmt: skip
    """g: what comes back to the numerator."""
    divisor = tl.load(DIVISOR + per_row + rows, mask=valid, other=1.0)
    factor = 1 / tl.where(tl.abs(divisor) < LEAST, 1.0, divisor)
    return times(load_rows(DO, do_row, 0, valid, C, EP, E, FULL), factor, PRECISION)


@triton.jit
def gradients(
    Q, K, V, DO, DIVISOR, CC, OMEGA, MASK, Q_SCALE, SCALE, TOP, LOWEST, PLACES, LOCAL, S, BACK, R, DQ, DK, DV,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, do_batch, do_head, do_row,
    dq_batch, dq_head, dq_row, dk_batch, dk_head, dk_row, dv_batch, dv_head, dv_row,
    heads, queries, query_segments, query_chunks, keys, key_segments, key_chunks,
    D: tl.constexpr, DP: tl.constexpr, F: tl.constexpr, BF: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
    C: tl.constexpr, SEGMENT: tl.constexpr, MAP: tl.constexpr, SCALED: tl.constexpr, MASKED: tl.constexpr,
    FULL: tl.constexpr, CAUSAL: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr, LEAST: tl.constexpr,
):  # fmt: skip
    """Those of a chunk's queries, and of its keys and values, by two programs that run beside each other.

    They read the same rows, the second of them from the cache; one program for both would need all registers.
    """
    head, chunk = tl.program_id(0) // 2, tl.program_id(1)
    if tl.program_id(0) % 2 == 0:
        if chunk < query_chunks:
            gradients_of_queries(
                Q, K, V, DO, DIVISOR, CC, OMEGA, MASK, Q_SCALE, SCALE, TOP, LOWEST, PLACES, LOCAL, S, DQ,
                q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, do_batch, do_head, do_row,
                dq_batch, dq_head, dq_row, heads, queries, query_segments, head,
                D, DP, F, BF, E, EP, C, SEGMENT, MAP, SCALED, MASKED, FULL, CAUSAL, PACKED, PRECISION, LEAST,
            )  # fmt: skip
    elif chunk < key_chunks:
        gradients_of_keys(
            Q, K, V, DO, DIVISOR, CC, OMEGA, MASK, Q_SCALE, SCALE, TOP, LOWEST, PLACES, BACK, R, DK, DV,
            q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, do_batch, do_head, do_row,
            dk_batch, dk_head, dk_row, dv_batch, dv_head, dv_row, heads, keys, key_segments, head,
            D, DP, F, BF, E, EP, C, SEGMENT, MAP, SCALED, MASKED, FULL, CAUSAL, PACKED, PRECISION, LEAST,
        )  # fmt: skip


@triton.jit
def gradients_of_queries(
    Q, K, V, DO, DIVISOR, CC, OMEGA, MASK, Q_SCALE, SCALE, TOP, LOWEST, PLACES, LOCAL, S, DQ,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, do_batch, do_head, do_row,
    dq_batch, dq_head, dq_row, heads, length, segments, head,
    D: tl.constexpr, DP: tl.constexpr, F: tl.constexpr, BF: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
    C: tl.constexpr, SEGMENT: tl.constexpr, MAP: tl.constexpr, SCALED: tl.constexpr, MASKED: tl.constexpr,
    FULL: tl.constexpr, CAUSAL: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr, LEAST: tl.constexpr,
):  # fmt: skip
    """∂φ(qᵢ) = S gᵢ + z cᵢ, of the sums before the chunk and of the keys within it, up to i."""
    text, batch, number, row, stop, _, before_segment, before, _, _ = locate(
        PLACES, TOP, LOWEST, length, segments, heads, head, C, SEGMENT, SCALED, CAUSAL, PACKED
    )
    at = row.to(tl.int64)
    rows = at + tl.arange(0, C)
    valid = rows < stop
    per_row = (batch * heads + head) * length
    Q += batch * q_batch + head * q_head + at * q_row
    K += batch * k_batch + head * k_head + at * k_row
    V += batch * v_batch + head * v_head + at * v_row
    DO += batch * do_batch + head * do_head + at * do_row
    DQ += batch * dq_batch + head * dq_head + at * dq_row
    g = load_given(DO, DIVISOR, do_row, per_row, rows, valid, C, EP, E, FULL, PRECISION, LEAST)
    c = tl.load(CC + per_row + rows, mask=valid, other=0.0)
    q_scale, scale, top, shrink = 0.0, 0.0, 0.0, 1.0
    if SCALED:
        q_scale = tl.load(Q_SCALE + per_row + rows, mask=valid, other=0.0)
    if MAP == "exp":
        every_q = load_rows(Q, q_row, 0, valid, C, DP, D, FULL)
    if CAUSAL:
        counts = takes_part(MASK, batch * length + at, length, valid, C, MASKED)
        slopes = dot(g, tl.trans(load_rows(V, v_row, 0, valid, C, EP, E, FULL)), PRECISION) + c[:, None]
        if SCALED:
            scale = tl.load(SCALE + per_row + rows, mask=valid, other=0.0)
            top = tl.load(TOP + per_row + rows, mask=valid, other=0.0)
            shrink = exp(tl.minimum(before_segment - before, 0.0), PRECISION)
            slopes *= exp(tl.minimum(scale[None, :] - top[:, None], 0.0), PRECISION)
        if MAP == "exp":
            every_k = load_rows(K, k_row, 0, valid, C, DP, D, FULL)
        slopes = narrow(tl.where(tl.arange(0, C)[:, None] >= tl.arange(0, C)[None, :], slopes, 0.0), PRECISION)
    d_queries = tl.zeros([C, DP], tl.float32)
    segment, chunk = (number if CAUSAL else text) * heads + head, tl.program_id(1) * heads + head
    for first in range(0, F, BF):
        high, low = load_omega(OMEGA, first, D, DP, F, BF, MAP, PRECISION)
        x = every_q if MAP == "exp" else load_rows(Q, q_row, first, valid, C, BF, D, FULL)
        q = features(x, q_scale, high, low, first, valid, D, F, BF, MAP, PRECISION, FULL)
        total, weight = sums_at(LOCAL, S, chunk, segment, shrink, first, F, BF, E, EP, SCALED, CAUSAL, PRECISION)
        gradient = dot(g, tl.trans(total), PRECISION) + c[:, None] * weight
        if CAUSAL:
            if SCALED:
                gradient *= exp(tl.minimum(before - top, 0.0), PRECISION)[:, None]
            y = every_k if MAP == "exp" else load_rows(K, k_row, first, valid, C, BF, D, FULL)
            k = features(y, scale, high, low, first, counts, D, F, BF, MAP, PRECISION, FULL and not MASKED)
            gradient += dot(slopes, k, PRECISION)
        gradient = pull_back(x, q, gradient, high, D, MAP, PRECISION)
        if MAP == "exp":
            d_queries += gradient
        else:
            store_rows(DQ, dq_row, first, gradient, valid, C, BF, D, FULL)
    if MAP == "exp":
        store_rows(DQ, dq_row, 0, d_queries, valid, C, DP, D, FULL)


@triton.jit
def gradients_of_keys(
    Q, K, V, DO, DIVISOR, CC, OMEGA, MASK, Q_SCALE, SCALE, TOP, LOWEST, PLACES, BACK, R, DK, DV,
    q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, do_batch, do_head, do_row,
    dk_batch, dk_head, dk_row, dv_batch, dv_head, dv_row, heads, length, segments, head,
    D: tl.constexpr, DP: tl.constexpr, F: tl.constexpr, BF: tl.constexpr, E: tl.constexpr, EP: tl.constexpr,
    C: tl.constexpr, SEGMENT: tl.constexpr, MAP: tl.constexpr, SCALED: tl.constexpr, MASKED: tl.constexpr,
    FULL: tl.constexpr, CAUSAL: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr, LEAST: tl.constexpr,
):  # fmt: skip
    """∂φ(kⱼ) = R vⱼ + r and ∂vⱼ = Rᵀ φ(kⱼ), of the sums behind the chunk and of the queries within it, from j on."""
    text, batch, number, row, stop, end, _, _, behind, behind_segment = locate(
        PLACES, TOP, LOWEST, length, segments, heads, head, C, SEGMENT, SCALED, CAUSAL, PACKED
    )
    at = row.to(tl.int64)
    rows = at + tl.arange(0, C)
    valid = rows < stop
    per_row = (batch * heads + head) * length
    Q += batch * q_batch + head * q_head + at * q_row
    K += batch * k_batch + head * k_head + at * k_row
    V += batch * v_batch + head * v_head + at * v_row
    DO += batch * do_batch + head * do_head + at * do_row
    DK += batch * dk_batch + head * dk_head + at * dk_row
    DV += batch * dv_batch + head * dv_head + at * dv_row
    v = load_rows(V, v_row, 0, valid, C, EP, E, FULL)
    counts = takes_part(MASK, batch * length + at, length, valid, C, MASKED)
    q_scale, scale, own, decay, grow = 0.0, 0.0, 0.0, 1.0, 1.0
    if SCALED:
        scale = tl.load(SCALE + per_row + rows, mask=valid, other=0.0)
        unit = behind if CAUSAL else tl.load(TOP + per_row + end - 1)
        own = exp(tl.minimum(scale - unit, 0.0), PRECISION)
    if MAP == "exp":
        every_k = load_rows(K, k_row, 0, valid, C, DP, D, FULL)
    if CAUSAL:  # of a key in its row, a query in its column
        g = load_given(DO, DIVISOR, do_row, per_row, rows, valid, C, EP, E, FULL, PRECISION, LEAST)
        c = tl.load(CC + per_row + rows, mask=valid, other=0.0)
        slopes = dot(v, tl.trans(g), PRECISION) + c[None, :]
        later = tl.arange(0, C)[:, None] <= tl.arange(0, C)[None, :]
        if SCALED:
            q_scale = tl.load(Q_SCALE + per_row + rows, mask=valid, other=0.0)
            top = tl.load(TOP + per_row + rows, mask=valid, other=0.0)
            decay = exp(tl.minimum(scale[:, None] - top[None, :], 0.0), PRECISION)
            grow = exp(tl.minimum(behind - behind_segment, 0.0), PRECISION)
            slopes *= decay
        if MAP == "exp":
            every_q = load_rows(Q, q_row, 0, valid, C, DP, D, FULL)
        slopes = narrow(tl.where(later, slopes, 0.0), PRECISION)
    weights = tl.zeros([C, C], tl.float32)
    d_values = tl.zeros([C, EP], tl.float32)
    d_keys = tl.zeros([C, DP], tl.float32)
    segment, chunk = (number if CAUSAL else text) * heads + head, tl.program_id(1) * heads + head
    for first in range(0, F, BF):
        high, low = load_omega(OMEGA, first, D, DP, F, BF, MAP, PRECISION)
        if CAUSAL:  # before the sums: in this order it takes the fewest registers
            x = every_q if MAP == "exp" else load_rows(Q, q_row, first, valid, C, BF, D, FULL)
            q = features(x, q_scale, high, low, first, valid, D, F, BF, MAP, PRECISION, FULL)
        y = every_k if MAP == "exp" else load_rows(K, k_row, first, valid, C, BF, D, FULL)
        k = features(y, scale, high, low, first, counts, D, F, BF, MAP, PRECISION, FULL and not MASKED)
        total, weight = sums_at(BACK, R, chunk, segment, grow, first, F, BF, E, EP, SCALED, CAUSAL, PRECISION)
        gradient = dot(v, tl.trans(total), PRECISION) + weight
        far = k
        if SCALED:
            gradient *= own[:, None]
            far = times(k, own, PRECISION)
        d_values += dot(far, total, PRECISION)
        if CAUSAL:
            gradient += dot(slopes, q, PRECISION)
            weights += dot(k, tl.trans(q), PRECISION)
        if MASKED:
            gradient = tl.where(counts[:, None], gradient, 0.0)
        gradient = pull_back(y, k, gradient, high, D, MAP, PRECISION)
        if MAP == "exp":
            d_keys += gradient
        else:
            store_rows(DK, dk_row, first, gradient, valid, C, BF, D, FULL)
    if CAUSAL:
        if SCALED:
            weights *= decay
        d_values += dot(tl.where(later, weights, 0.0), g, PRECISION)
    store_rows(DV, dv_row, 0, d_values, valid, C, EP, E, FULL)
    if MAP == "exp":
        store_rows(DK, dk_row, 0, d_keys, valid, C, DP, D, FULL)
