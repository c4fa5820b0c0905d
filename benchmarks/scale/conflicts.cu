// Searches on norm-conflicts, a warp a node: the dual method of Goldfarb and Idnani with certified norms, packings, and a
// depth-first search of subtrees. All in double precision. What `solvers.zero_one.loops.conflict_search` proves of its nodes is
// proved here by the same arguments; docs/explanation/zero-one-bb.md has them.
//
// Lane j of a warp holds coordinate j, lane k the multiplier u and the point of constraint k,
// and every lane prices each 32nd
// point. `point` is i for g'w >= 1, and -2 - i for a point that is to be violated, g'w >= -1.
#include <math_constants.h>
#define FULL 0xffffffffu
#define EPS 1.1102230246251565e-16
#define LEVELS 400
#define REC 44
typedef unsigned u32;
__device__ double total(double x) { for (int s = 16; s; s >>= 1) x += __shfl_xor_sync(FULL, x, s); return x; }
__device__ double least(double x) { for (int s = 16; s; s >>= 1) x = fmin(x, __shfl_xor_sync(FULL, x, s)); return x; }
struct Pair { double *g, *V, *R, *w; };
__device__ double ortho(const Pair& S, double* z, int k, int p, int Q, int lane) {
    if (lane < p) z[lane] = S.g[k * p + lane];
    if (lane < k) S.R[lane * Q + k] = 0.0;
    __syncwarp();
    for (int turn = 0; turn < 2; turn++) {
        double t = 0.0;
        if (lane < k) { for (int j = 0; j < p; j++) t += S.V[lane * p + j] * z[j]; S.R[lane * Q + k] += t; }
        double x = lane < p ? z[lane] : 0.0;
        for (int a = 0; a < k; a++) { double ta = __shfl_sync(FULL, t, a); if (lane < p) x -= ta * S.V[a * p + lane]; }
        __syncwarp();
        if (lane < p) z[lane] = x;
        __syncwarp();
    }
    return sqrt(total(lane < p ? z[lane] * z[lane] : 0.0));
}
__device__ double exclude(const Pair& S, double* z, int k, int drop, int p, int Q, int lane) {
    double *g = S.g, *V = S.V, *R = S.R;
    for (int a = drop; a < k; a++) {
        if (lane < p) g[a * p + lane] = g[(a + 1) * p + lane];
        double x = lane < min(a + 2, k) ? R[lane * Q + a + 1] : 0.0;
        __syncwarp();
        if (lane < min(a + 2, k)) R[lane * Q + a] = x;
        __syncwarp();
    }
    for (int a = drop; a < k - 1; a++) {
        double x = R[a * Q + a], y = R[(a + 1) * Q + a], size = sqrt(x * x + y * y);
        double c = size > 0.0 ? x / size : 1.0, s = size > 0.0 ? y / size : 0.0;
        __syncwarp();
        if (lane == 0) R[a * Q + a] = fmax(size, 1e-300);
        if (lane > a && lane < k) {
            double f = R[a * Q + lane], h = R[(a + 1) * Q + lane];
            R[a * Q + lane] = c * f + s * h, R[(a + 1) * Q + lane] = c * h - s * f;
        }
        if (lane < p) {
            double f = V[a * p + lane], h = V[(a + 1) * p + lane];
            V[a * p + lane] = c * f + s * h, V[(a + 1) * p + lane] = c * h - s * f;
        }
        __syncwarp();
    }
    if (lane < p) z[lane] += R[(k - 1) * Q + k - 1] * V[(k - 1) * p + lane];
    __syncwarp();
    return sqrt(total(lane < p ? z[lane] * z[lane] : 0.0));
}
__device__ double certified(const Pair& S, double u, double target, int q, int p, double reach, int lane) {
    double norm = 0.0, v = 0.0;
    if (lane < q) for (int j = 0; j < p; j++) norm += S.g[lane * p + j] * S.g[lane * p + j];
    double sum = total(lane < q ? u : 0.0), size = total(lane < q ? u * sqrt(norm) : 0.0), gain = total(lane < q ?
         u * target : 0.0);
    for (int k = 0; k < q; k++) { double uk = __shfl_sync(FULL, u, k); if (lane < p) v += uk * S.g[k * p + lane]; }
    double err = 4.0 * EPS * (q + p + 40) * size;
    gain -= sum * 2.0 * EPS * (q + 40);
    if (reach > 0.0) {
        double vb = __shfl_sync(FULL, v, p - 1);
        gain -= (fabs(vb) + err) * reach * (1.0 + 4.0 * EPS);
        if (lane == p - 1) v = 0.0;
    }
    double length = sqrt(total(lane < p ? v * v : 0.0)) * (1.0 + EPS * (p + 40)) + err;
    if (!(gain > 0.0)) return 0.0;
    double ratio = gain / length;
    return ratio * ratio * (1.0 - 8.0 * EPS);
}
struct Data { const double *A, *P; int n, p, Q; double reach; };
// 0 optimum, 1 conflict, 2 trouble. `point` is i, or -2 - i for a point that is to be violated.
__device__ int solve(const Data& D, const Pair& S, double* z, const u32* ok, const u32* kept, const u32* gone,
    double T, int& q, double& u,
                     int& point, double& N, int lane) {
    int n = D.n, p = D.p, Q = D.Q;
    double *w = S.w, *g = S.g;
    for (int turn = 0; turn < 60 * (p + 4); turn++) {
        double top = 0.0;
        int first = -1;
        for (int i = lane, b = 0; i < n; i += 32, b++) {
            double m = 0.0;
            for (int j = 0; j < p; j++) m += w[j] * D.A[j * n + i];
            bool g1 = gone[b] >> lane & 1u;
            double violation = g1 ?
                 (m - 1.0 - 1e-11) * D.P[i] * 20.0 : (1.0 - 1e-11 - m) * D.P[i] * ((kept[b] >> lane & 1u) ? 5.0 : 1.0);
            if (violation > top && (ok[b] >> lane & 1u)) top = violation, first = g1 ? -2 - i : i;
        }
        double largest = -least(-top);
        if (!(largest > 0.0)) { N = total(lane < p ? w[lane] * w[lane] : 0.0); return 0; }
        double worth = -1.0;
        if (top >= 0.5 * largest) {
            int i = first >= 0 ? first : -2 - first;
            double rest = 0.0;
            for (int j = 0; j < p; j++) rest += D.A[j * n + i] * D.A[j * n + i];
            for (int c = 0; c < q; c++) {
                double x = 0.0;
                for (int j = 0; j < p; j++) x += S.V[c * p + j] * D.A[j * n + i];
                rest -= x * x;
            }
            worth = top * top / fmin(fmax(rest * D.P[i] * D.P[i], 0.05), 1.0);
        }
        double best = -least(-worth);
        first = __shfl_sync(FULL, first, __ffs(__ballot_sync(FULL, worth == best)) - 1);
        if (__ballot_sync(FULL, lane < q && point == first)) { N = total(lane < p ? w[lane] * w[lane] : 0.0);
            return largest < 1e-7 ? 0 : 2; }
        int i = first >= 0 ? first : -2 - first;
        double target = first >= 0 ? 1.0 : -1.0;
        if (lane < p) g[q * p + lane] = first >= 0 ? D.A[lane * n + i] : -D.A[lane * n + i] / (1.0 + 4.0 * EPS);
        __syncwarp();
        double size = sqrt(total(lane < p ? g[q * p + lane] * g[q * p + lane] : 0.0));
        double rest = ortho(S, z, q, p, Q, lane), up = 0.0;
        while (true) {
            double r = lane < q ? S.R[lane * Q + q] : 0.0;
            for (int b = q - 1; b >= 0; b--) {
                double rb = __shfl_sync(FULL, r, b) / S.R[b * Q + b];
                if (lane == b) r = rb;
                if (lane < b) r -= S.R[lane * Q + b] * rb;
            }
            double limit = lane < q && r > 1e-12 ? u / r : CUDART_INF, t1 = least(limit);
            u32 at = __ballot_sync(FULL, limit == t1 && t1 < CUDART_INF);
            int drop = at ? __ffs(at) - 1 : -1;
            double violation = target - total(lane < p ? g[q * p + lane] * w[lane] : 0.0);
            bool independent = rest > 1e-12 * size && q < p;
            double t2 = independent ? fmax(violation, 0.0) / (rest * rest) : CUDART_INF;
            if (lane == q) point = first;
            double side = point >= 0 ? 1.0 : -1.0;
            if (t1 == CUDART_INF && t2 == CUDART_INF) {
                u = lane < q ? fmax(-r, 0.0) : lane == q ? 1.0 : 0.0;
                q++;
                N = certified(S, u, side, q, p, D.reach, lane);
                return N >= T ? 1 : 2;
            }
            double step = fmin(t1, t2);
            up += step;
            if (independent && lane < p) w[lane] += step * z[lane];
            if (lane < q) u = fmax(u - step * r, 0.0);
            if (lane == q) u = up;
            __syncwarp();
            double sum = total(lane <= q ? u * side : 0.0), norm = total(lane < p ? w[lane] * w[lane] : 0.0);
            if (D.reach > 0.0) norm -= w[p - 1] * w[p - 1], sum -= fabs(w[p - 1]) * D.reach;
            if (sum > 0.0 && sum * sum >= T * norm) {
                N = certified(S, u, side, q + 1, p, D.reach, lane);
                if (N >= T) { q++; return 1; }
            }
            if (t1 < t2) {
                rest = exclude(S, z, q, drop, p, Q, lane);
                double later = __shfl_down_sync(FULL, u, 1);
                int other = __shfl_down_sync(FULL, point, 1);
                if (lane >= drop) u = later, point = other;
                q--;
                continue;
            }
            if (lane == 0) S.R[q * Q + q] = fmax(rest, 1e-300);
            if (lane < p) S.V[q * p + lane] = z[lane] / fmax(rest, 1e-300);
            __syncwarp();
            q++;
            break;
        }
    }
    N = 0.0;
    return 2;
}
__device__ void load(double* A, double* P, const double* at, const double* pull, int n, int p) {
    for (int t = threadIdx.x; t < p * n; t += blockDim.x) A[t] = at[t];
    for (int t = threadIdx.x; t < n; t += blockDim.x) P[t] = pull[t];
    __syncthreads();
}
__device__ void copy(const Pair& from, const Pair& to, int q, int p, int Q, int lane) {
    for (int t = lane; t < q * p; t += 32) to.g[t] = from.g[t], to.V[t] = from.V[t];
    for (int t = lane; t < q * Q; t += 32) to.R[t] = from.R[t];
    if (lane < p) to.w[lane] = from.w[lane];
    __syncwarp();
}

// The packing of each node: conflicts of squared norm T, their points removed,
// until none is proved. counts[node] = (conflicts,
// solves); points and multipliers are those of the node's last conflict.
extern "C" __global__ void packings(const double* at, const double* pull, const u32* open, int n, int p, int nodes,
    double T, int* counts,
                                    int* points, double* multipliers) {
    extern __shared__ double shared[];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, Q = p + 2, words = (n + 31) / 32;
    double *A = shared, *P = A + p * n, *own = P + n + warp * (2 * Q * p + Q * Q + 2 * p + words);
    load(A, P, at, pull, n, p);
    Data D = {A, P, n, p, Q, 0.0};
    Pair S = {own, own + Q * p, own + 2 * Q * p, own + 2 * Q * p + Q * Q};
    double* z = S.w + p;
    u32 *left = (u32*)(z + p), *none = left + words;
    for (int t = lane; t < words; t += 32) none[t] = 0;
    for (int node = blockIdx.x * warps + warp; node < nodes; node += gridDim.x * warps) {
        for (int t = lane; t < words; t += 32) left[t] = open[node * words + t];
        int conflicts = 0, solves = 0, status = 1;
        while (status == 1) {
            int q = 0, point = -1;
            double u = 0.0, N;
            if (lane < p) S.w[lane] = 0.0;
            __syncwarp();
            status = solve(D, S, z, left, none, none, T, q, u, point, N, lane);
            solves++;
            if (status == 1) {
                conflicts++;
                if (lane < Q) points[node * Q + lane] = lane < q ? point : -1;
                if (lane < Q) multipliers[node * Q + lane] = lane < q ? u : 0.0;
                if (lane < q) atomicAnd(&left[point >> 5], ~(1u << (point & 31)));
                __syncwarp();
            }
        }
        if (lane == 0) counts[2 * node] = conflicts, counts[2 * node + 1] = solves;
        __syncwarp();
    }
}

// A depth-first search below each root, `budget` nodes at most; open nodes go to `out`. A root is two masks of points,
// kept and
// deleted. stats = nodes, solves, leaves without a certificate, exported nodes,
// next root. A solution below the cut lowers it.
extern "C" __global__ void dfs(const double* at, const double* pull, int n, int p, double reach, double weight,
    unsigned long long* cut_bits,
                               const u32* roots, int count, int budget, u32* out, int capacity, u32* levels,
                                   unsigned long long* stats,
                               double* best) {
    extern __shared__ double shared[];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, Q = p + 2, words = (n + 31) / 32;
    int per = 2 * (2 * Q * p + Q * Q + p) + p + 2 * words + 8 + 8;
    double *A = shared, *P = A + p * n, *own = P + n + warp * per;
    load(A, P, at, pull, n, p);
    Pair K = {own, own + Q * p, own + 2 * Q * p, own + 2 * Q * p + Q * Q};
    double* next = K.w + p;
    Pair S = {next, next + Q * p, next + 2 * Q * p, next + 2 * Q * p + Q * Q};
    double* z = S.w + p;
    u32 *kept = (u32*)(z + p), *gone = kept + words, *ok = gone + words, *left = ok + words;
    int* pts = (int*)(left + words);  // 16
    Data D = {A, P, n, p, Q, reach};
    u32* mine = levels + (size_t)(blockIdx.x * warps + warp) * LEVELS * REC;
    double my_best = CUDART_INF;
    while (true) {
        int root = 0;
        if (lane == 0) root = (int)atomicAdd(&stats[4], 1ull);
        root = __shfl_sync(FULL, root, 0);
        if (root >= count) break;
        for (int t = lane; t < words; t += 32) kept[t] = roots[(size_t)root * 2 * words + t],
            gone[t] = roots[(size_t)root * 2 * words + words + t];
        __syncwarp();
        int level = -1;
        long long nodes = 0, solves = 0;
        while (true) {
            int m = 0;  // branching points
            if (nodes >= budget || level >= LEVELS - 2) {  // export
                unsigned long long slot = 0;
                if (lane == 0) slot = atomicAdd(&stats[3], 1ull);
                slot = __shfl_sync(FULL, slot, 0);
                if (slot < capacity) for (int t = lane; t < words; t += 32) out[slot * 2 * words + t] = kept[t],
                    out[slot * 2 * words + words + t] = gone[t];
            } else {
                nodes++;
                int candidates = 0;
                while (true) {  // until nothing more is fixed
                    double cut = __longlong_as_double(*(volatile unsigned long long*)cut_bits);
                    int deleted = (int)total(lane < words ? (double)__popc(gone[lane]) : 0.0);
                    double B = cut - weight * deleted + 4.0 * EPS * (n + 8) * cut;
                    if (!(B > 0.0)) break;
                    for (int t = lane; t < words; t += 32) ok[t] = kept[t] | gone[t];
                    if (lane < p) K.w[lane] = 0.0;
                    __syncwarp();
                    int kq = 0, kpoint = -1, status;
                    double ku = 0.0, N;
                    status = solve(D, K, z, ok, kept, gone, B, kq, ku, kpoint, N, lane);
                    solves++;
                    if (status == 1) break;
                    double norm = certified(K, ku, kpoint >= 0 ? 1.0 : -1.0, kq, p, reach, lane);
                    bool pruned = false, redo = false;
                    int packed = 0, size = 99;
                    for (int t = lane; t < words; t += 32) {
                        u32 all = t < n / 32 ? FULL : (1u << (n & 31)) - 1u;
                        left[t] = all & ~(kept[t] | gone[t]);  // free points of the packing's rest
                    }
                    __syncwarp();
                    int offset = 0;
                    while (true) {
                        double T = B - weight * (packed + offset);
                        if (norm >= T) { if (!offset) pruned = true; break; }
                        for (int t = lane; t < words; t += 32) ok[t] = kept[t] | gone[t] | left[t];
                        copy(K, S, kq, p, Q, lane);
                        int q = kq, point = kpoint;
                        double u = ku;
                        status = solve(D, S, z, ok, kept, gone, T, q, u, point, N, lane);
                        solves++;
                        if (status != 1) {
                            if (offset) break;
                            if (status == 0 && packed == 0 && N < B) {  // keeps all that is left: a better solution
                                double pen = N - (reach > 0.0 ? S.w[p - 1] * S.w[p - 1] : 0.0),
                                    value = pen + weight * deleted;
                                if (value < cut && candidates < 3) {
                                    candidates++;
                                    if (value < my_best) {
                                        my_best = value;
                                        double* slot = best + (size_t)(blockIdx.x * warps + warp) * (p + 1);
                                        if (lane == 0) slot[0] = value;
                                        if (lane < p) slot[1 + lane] = S.w[lane];
                                    }
                                    if (lane == 0) atomicMin(cut_bits,
                                        (unsigned long long)__double_as_longlong(value * (1.0 - 1e-6)));
                                    __syncwarp();
                                    redo = true;
                                    break;
                                }
                            }
                            if (packed == 0) {  // unresolved by certificates: branch on its free points
                                u32 is_free = 0;
                                if (lane < q && point >= 0 && u > 0.0) is_free = left[point >> 5] >> (point & 31) & 1u;
                                u32 ballot = __ballot_sync(FULL, is_free);
                                m = __popc(ballot);
                                if (is_free) pts[__popc(ballot & ((1u << lane) - 1u))] = point;
                                __syncwarp();
                                size = m;
                                break;
                            }
                            if (B - weight * packed - norm > 2.0 * weight) break;
                            offset = 1;
                            continue;
                        }
                        u32 is_free = 0;
                        if (lane < q && point >= 0 && u > 0.0) is_free = left[point >> 5] >> (point & 31) & 1u;
                        u32 ballot = __ballot_sync(FULL, is_free);
                        int k = __popc(ballot);
                        if (k == 0) { if (!offset) pruned = true; else packed = 1 << 20; break; }
                        if (k < size && !offset) {
                            size = m = k;
                            if (is_free) pts[__popc(ballot & ((1u << lane) - 1u))] = point;
                        }
                        __syncwarp();
                        if (is_free) atomicAnd(&left[point >> 5], ~(1u << (point & 31)));
                        __syncwarp();
                        packed++;
                        if (k == 1 && !offset) break;
                    }
                    if (redo) continue;
                    if (pruned) { m = 0; break; }
                    if (size == 99) { m = 0; if (lane == 0) atomicAdd(&stats[2], 1ull); break; }
                    if (size == 1) {  // it is deleted
                        int i = pts[0];
                        if (lane == 0) gone[i >> 5] |= 1u << (i & 31);
                        __syncwarp();
                        m = 0;
                        continue;
                    }
                    // points outside the packing that are too expensive to delete on top of it are kept
                    double reachable = norm + weight * packed - B;
                    if (packed > 0 && reachable + weight >= 0.0) {
                        bool any = false;
                        for (int t = lane; t < words; t += 32) { any |= left[t] != 0; }
                        any = __ballot_sync(FULL, any) != 0;
                        if (any) {
                            for (int t = lane; t < words; t += 32) kept[t] |= left[t];
                            __syncwarp();
                            m = 0;
                            continue;
                        }
                    }
                    if (size == 0) { m = 0; if (lane == 0) atomicAdd(&stats[2], 1ull); }
                    break;
                }
            }
            if (m > 0) {
                level++;
                u32* rec = mine + level * REC;
                for (int t = lane; t < words; t += 32) rec[t] = kept[t], rec[words + t] = gone[t];
                // most violated at the kept points' solution first
                double v = -1e300;
                int mypoint = lane < m ? pts[lane] : -1;
                if (lane < m) { v = 0.0; for (int j = 0; j < p; j++) v += K.w[j] * A[j * n + mypoint];
                    v = (1.0 - v) * P[mypoint]; }
                int rank = 0;
                for (int k = 0; k < m; k++) { double o = __shfl_sync(FULL, v, k); rank += o > v || (o == v && k < lane); }
                if (lane < m) ((unsigned short*)(rec + 2 * words))[rank] = (unsigned short)mypoint;
                if (lane == 0) rec[42] = m, rec[43] = 0;
                __syncwarp();
            }
            bool over = false;
            while (true) {
                if (level < 0) { over = true; break; }
                u32* rec = mine + level * REC;
                u32 c = rec[43], cnt = rec[42];
                __syncwarp();
                if (c >= cnt) { level--; continue; }
                for (int t = lane; t < words; t += 32) kept[t] = rec[t], gone[t] = rec[words + t];
                __syncwarp();
                if (lane == 0) {
                    unsigned short* list = (unsigned short*)(rec + 2 * words);
                    for (int k = 0; k < (int)c; k++) kept[list[k] >> 5] |= 1u << (list[k] & 31);
                    gone[list[c] >> 5] |= 1u << (list[c] & 31);
                    rec[43] = c + 1;
                }
                __syncwarp();
                break;
            }
            if (over) break;
        }
        if (lane == 0) atomicAdd(&stats[0], (unsigned long long)nodes), atomicAdd(&stats[1], (unsigned long long)solves);
    }
}
