// Dense trees of hinges, sliders, balls, free roots and racks (rolling): poses, subspaces, mass matrices. See README.md.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
typedef std::vector<double> vec;
struct V3 {
    double x, y, z;
};
inline V3 operator+(V3 a, V3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline V3 operator-(V3 a, V3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline V3 operator*(double s, V3 a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(V3 a, V3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline V3 cross(V3 a, V3 b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
inline double norm(V3 a) { return std::sqrt(dot(a, a)); }
struct Pose {
    V3 c[4];
};  // columns of R, p
inline Pose operator+(Pose a, const Pose &b)
{
    for (int i = 0; i < 4; i++) a.c[i] = a.c[i] + b.c[i];
    return a;
}
inline Pose operator-(Pose a, const Pose &b)
{
    for (int i = 0; i < 4; i++) a.c[i] = a.c[i] - b.c[i];
    return a;
}
inline Pose operator*(double s, Pose a)
{
    for (int i = 0; i < 4; i++) a.c[i] = s * a.c[i];
    return a;
}
inline V3 mul(const Pose &T, V3 a) { return a.x * T.c[0] + a.y * T.c[1] + a.z * T.c[2]; }
inline Pose zero_pose()
{
    Pose T;
    memset(&T, 0, sizeof T);
    return T;
}
inline Pose unit_pose()
{
    Pose T = zero_pose();
    T.c[0].x = T.c[1].y = T.c[2].z = 1;
    return T;
}
inline Pose compose(const Pose &A, const Pose &B)
{
    Pose T;
    for (int i = 0; i < 3; i++) T.c[i] = mul(A, B.c[i]);
    T.c[3] = mul(A, B.c[3]) + A.c[3];
    return T;
}
inline Pose rotation(V3 w)  // exp of a rotation vector
{
    double a = norm(w);
    Pose T = unit_pose();
    if (a < 1e-300) return T;
    V3 n = (1 / a) * w;
    double s = sin(a), k = 2 * sin(a / 2) * sin(a / 2);
    for (int i = 0; i < 3; i++) {
        V3 e = T.c[i];
        T.c[i] = e + s * cross(n, e) + k * cross(n, cross(n, e));
    }
    return T;
}
struct Q4 {
    double w, x, y, z;
};
inline Q4 qmul(Q4 a, Q4 b)
{
    return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
inline Q4 qexp(V3 w)
{
    double a = norm(w), s = a > 1e-12 ? sin(a / 2) / a : 0.5;
    return {cos(a / 2), s * w.x, s * w.y, s * w.z};
}
inline Q4 qunit(Q4 q)
{
    double n = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return {q.w / n, q.x / n, q.y / n, q.z / n};
}
inline Pose qrot(Q4 q)
{
    Pose T = unit_pose();
    for (int i = 0; i < 3; i++) {
        V3 u = {q.x, q.y, q.z}, t = 2 * cross(u, T.c[i]);
        T.c[i] = T.c[i] + q.w * t + cross(u, t);
    }
    return T;
}
enum { HINGE, SLIDE, BALL, TRANS, RACK, FREE };
struct Body {
    int parent = -1, kind = HINGE;
    Pose X = unit_pose();
    V3 axis = {0, 0, 1};
    double radius = 0;
    double mass = 0;
    V3 com = {0, 0, 0};
    double I[6] = {0, 0, 0, 0, 0, 0};  // about com: xx yy zz xy xz yz
    double damping = 0, armature = 0, stiffness = 0, rest = 0, tau = 0, kd = 0, target = 0;
    int q = 0, v = 0, nq = 1, nv = 1;
    double M[4][4];
};
struct Model {
    std::vector<Body> b;
    V3 g = {0, 0, -9.81};
    int nq = 0, nv = 0;
    std::vector<int> owner;
    double scale = 1;
    int root_of(int i) const
    {
        while (b[i].parent >= 0) i = b[i].parent;
        return i;
    }
    int add(Body x)
    {
        if (x.kind == FREE) {
            Body t;
            t.parent = x.parent;
            t.kind = TRANS;
            t.X = x.X;
            int p = add(t);
            x.parent = p;
            x.kind = BALL;
            x.X = unit_pose();
            return add(x);
        }
        x.nq = x.kind == BALL ? 4 : x.kind == TRANS ? 3 : 1;
        x.nv = x.kind == BALL || x.kind == TRANS ? 3 : 1;
        x.q = nq, x.v = nv, nq += x.nq, nv += x.nv;
        double tr = (x.I[0] + x.I[1] + x.I[2]) / 2, m = x.mass, c[3] = {x.com.x, x.com.y, x.com.z};
        double I[3][3] = {{x.I[0], x.I[3], x.I[4]}, {x.I[3], x.I[1], x.I[5]}, {x.I[4], x.I[5], x.I[2]}};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) x.M[i][j] = (i == j ? tr : 0) - I[i][j] + m * c[i] * c[j];
        for (int i = 0; i < 3; i++) x.M[i][3] = x.M[3][i] = m * c[i];
        x.M[3][3] = m;
        b.push_back(x);
        for (int k = 0; k < x.nv; k++) owner.push_back(b.size() - 1);
        return b.size() - 1;
    }
};
struct S6 {
    V3 w, v;
};  // twist about the world's origin
typedef std::vector<Pose> Poses;
typedef std::vector<S6> Twists;
inline Pose along(S6 s, const Pose &T)
{
    Pose D;
    for (int i = 0; i < 4; i++) D.c[i] = cross(s.w, T.c[i]);
    D.c[3] = D.c[3] + s.v;
    return D;
}
// poses, subspaces and, for racks, the part of the second derivative that is not [S]^2
inline void kinematics(const Model &m, const vec &q, Poses &T, Twists &S)
{
    T.resize(m.b.size());
    S.resize(m.nv);
    for (size_t i = 0; i < m.b.size(); i++) {
        const Body &b = m.b[i];
        Pose P = b.parent < 0 ? b.X : compose(T[b.parent], b.X), J = unit_pose();
        if (b.kind == HINGE) J = rotation(q[b.q] * b.axis);
        if (b.kind == SLIDE) J.c[3] = q[b.q] * b.axis;
        if (b.kind == TRANS) J.c[3] = {q[b.q], q[b.q + 1], q[b.q + 2]};
        if (b.kind == BALL) J = qrot({q[b.q], q[b.q + 1], q[b.q + 2], q[b.q + 3]});
        if (b.kind == RACK) {
            J = rotation({0, q[b.q], 0});
            J.c[3].x = b.radius * q[b.q];
        }
        T[i] = compose(P, J);
        V3 p = T[i].c[3];
        if (b.kind == HINGE) {
            V3 a = mul(P, b.axis);
            S[b.v] = {a, cross(p, a)};
        }
        if (b.kind == SLIDE) S[b.v] = {{0, 0, 0}, mul(P, b.axis)};
        if (b.kind == TRANS)
            for (int k = 0; k < 3; k++) S[b.v + k] = {{0, 0, 0}, P.c[k]};
        if (b.kind == BALL)
            for (int k = 0; k < 3; k++) S[b.v + k] = {T[i].c[k], cross(p, T[i].c[k])};
        if (b.kind == RACK) {
            V3 a = P.c[1];
            S[b.v] = {a, cross(p, a) + b.radius * P.c[0]};
        }
    }
}
inline vec plus(const Model &m, const vec &q, const vec &u)
{
    vec r = q;
    for (auto &b : m.b) {
        if (b.kind == BALL) {
            Q4 x = qunit(qmul({q[b.q], q[b.q + 1], q[b.q + 2], q[b.q + 3]}, qexp({u[b.v], u[b.v + 1], u[b.v + 2]})));
            r[b.q] = x.w, r[b.q + 1] = x.x, r[b.q + 2] = x.y, r[b.q + 3] = x.z;
        } else
            for (int k = 0; k < b.nv; k++) r[b.q + k] += u[b.v + k];
    }
    return r;
}
// rates and accelerations of bodies with joint rates v that stay constant
inline void bias_motion(const Model &m, const Poses &T, const Twists &S, const vec &v, Poses &dT, Poses &ddT,
                        Twists *out = nullptr)
{
    size_t n = m.b.size();
    Twists x(n), a(n);
    dT.resize(n), ddT.resize(n);
    for (size_t i = 0; i < n; i++) {
        const Body &b = m.b[i];
        S6 p = {{0, 0, 0}, {0, 0, 0}}, ap = p, j = p;
        if (b.parent >= 0) p = x[b.parent], ap = a[b.parent];
        for (int k = 0; k < b.nv; k++) j.w = j.w + v[b.v + k] * S[b.v + k].w, j.v = j.v + v[b.v + k] * S[b.v + k].v;
        // S moves with the parent: d/dt (S v) = p x (S v), for a ball its axes turn with the body but so that w is constant in it
        S6 d = {cross(p.w, j.w), cross(p.w, j.v) + cross(p.v, j.w)};
        if (b.kind == RACK)
            d.v = d.v + cross(b.radius * v[b.v] * S[b.v].w, V3{0, 0, 0}) +
                  v[b.v] * cross(b.radius * v[b.v] * (cross(S[b.v].w, T[i].c[3]) + S[b.v].v), S[b.v].w);
        x[i] = {p.w + j.w, p.v + j.v};
        a[i] = {ap.w + d.w, ap.v + d.v};
        dT[i] = along(x[i], T[i]);
        ddT[i] = along(a[i], T[i]);
        for (int c = 0; c < 4; c++) {
            V3 t = cross(x[i].w, T[i].c[c]);
            if (c == 3) t = t + x[i].v;
            ddT[i].c[c] = ddT[i].c[c] + cross(x[i].w, t);
        }
    }
    if (out) *out = x;
}
inline Pose timesM(const Pose &a, const Body &b)
{
    Pose G;
    for (int c = 0; c < 4; c++) {
        G.c[c] = {0, 0, 0};
        for (int d = 0; d < 4; d++) G.c[c] = G.c[c] + b.M[d][c] * a.c[d];
    }
    return G;
}
inline double inner(const Pose &a, const Pose &b)
{
    double s = 0;
    for (int c = 0; c < 4; c++) s += dot(a.c[c], b.c[c]);
    return s;
}
struct Wrench {
    V3 n, f;
};
inline Wrench wrench_of(const Pose &T, const Pose &G)
{
    Wrench w = {{0, 0, 0}, G.c[3]};
    for (int c = 0; c < 4; c++) w.n = w.n + cross(T.c[c], G.c[c]);
    return w;
}
// J' of forces G on bodies
inline vec pull(const Model &m, const Poses &T, const Twists &S, const Poses &G)
{
    std::vector<Wrench> w(m.b.size());
    for (size_t i = 0; i < m.b.size(); i++) w[i] = wrench_of(T[i], G[i]);
    vec r(m.nv);
    for (int i = (int)m.b.size() - 1; i >= 0; i--) {
        const Body &b = m.b[i];
        for (int k = 0; k < b.nv; k++) r[b.v + k] = dot(S[b.v + k].w, w[i].n) + dot(S[b.v + k].v, w[i].f);
        if (b.parent >= 0) w[b.parent].n = w[b.parent].n + w[i].n, w[b.parent].f = w[b.parent].f + w[i].f;
    }
    return r;
}
struct M6 {
    double a[6][6];
};
inline void put_cross(M6 &X, int r, int c, V3 t, double s)
{
    X.a[r][c + 1] -= s * t.z;
    X.a[r][c + 2] += s * t.y;
    X.a[r + 1][c] += s * t.z;
    X.a[r + 1][c + 2] -= s * t.x;
    X.a[r + 2][c] -= s * t.y;
    X.a[r + 2][c + 1] += s * t.x;
}
// L(A)' (k M) L(B)
inline M6 cross_inertia(const Body &b, const Pose &A, const Pose &B, double k)
{
    M6 X;
    memset(&X, 0, sizeof X);
    double W[3][3] = {{0}};
    Pose Y = timesM(B, b);  // sum_d M_cd B_d
    for (int c = 0; c < 4; c++) {
        double y[3] = {Y.c[c].x, Y.c[c].y, Y.c[c].z}, t[3] = {A.c[c].x, A.c[c].y, A.c[c].z};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) W[i][j] += y[i] * t[j];
    }
    double tr = W[0][0] + W[1][1] + W[2][2];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) X.a[i][j] = k * ((i == j ? tr : 0) - W[i][j]);
    V3 l = timesM(A, b).c[3], r = Y.c[3];
    put_cross(X, 0, 3, l, k);
    put_cross(X, 3, 0, r, -k);
    for (int i = 0; i < 3; i++) X.a[3 + i][3 + i] = k * b.M[3][3];
    return X;
}
inline double bilinear(const S6 &a, const M6 &X, const S6 &b)
{
    double l[6] = {a.w.x, a.w.y, a.w.z, a.v.x, a.v.y, a.v.z}, r[6] = {b.w.x, b.w.y, b.w.z, b.v.x, b.v.y, b.v.z}, s = 0;
    for (int i = 0; i < 6; i++) {
        double t = 0;
        for (int j = 0; j < 6; j++) t += X.a[i][j] * r[j];
        s += l[i] * t;
    }
    return s;
}
inline bool lu_solve(vec A, vec b, vec &x, int n)
{
    std::vector<int> p(n);
    for (int i = 0; i < n; i++) p[i] = i;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[best * n + k])) best = i;
        if (!(fabs(A[best * n + k]) > 1e-300)) return false;
        if (best != k) {
            for (int j = 0; j < n; j++) std::swap(A[k * n + j], A[best * n + j]);
            std::swap(b[k], b[best]);
        }
        for (int i = k + 1; i < n; i++) {
            double f = A[i * n + k] / A[k * n + k];
            if (f == 0) continue;
            for (int j = k; j < n; j++) A[i * n + j] -= f * A[k * n + j];
            b[i] -= f * b[k];
        }
    }
    x.assign(n, 0);
    for (int i = n - 1; i >= 0; i--) {
        double s = b[i];
        for (int j = i + 1; j < n; j++) s -= A[i * n + j] * x[j];
        x[i] = s / A[i * n + i];
        if (!std::isfinite(x[i])) return false;
    }
    return true;
}
inline bool chol_solve(vec A, vec b, vec &x, int n)
{
    for (int j = 0; j < n; j++) {
        double d = A[j * n + j];
        for (int k = 0; k < j; k++) d -= A[j * n + k] * A[j * n + k];
        if (!(d > 1e-14 * fabs(A[j * n + j]))) return false;
        d = sqrt(d);
        A[j * n + j] = d;
        for (int i = j + 1; i < n; i++) {
            double s = A[i * n + j];
            for (int k = 0; k < j; k++) s -= A[i * n + k] * A[j * n + k];
            A[i * n + j] = s / d;
        }
    }
    x = b;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= A[i * n + k] * x[k];
        x[i] /= A[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) x[i] -= A[k * n + i] * x[k];
        x[i] /= A[i * n + i];
    }
    return true;
}
// joint matrix S_i' (sum of blocks of what both carry) S_l into H at (r0, c0) of row length N; same stage: with curvature of G times th
inline void joint_matrix(const Model &m, const Twists &Si, const Twists &Sl, std::vector<M6> X, vec &H, int r0, int c0, int N,
                         const Poses *T, const Poses *G, double th)
{
    int nb = m.b.size();
    std::vector<V3> f(nb);
    std::vector<M6> K(nb);
    if (G)
        for (int i = 0; i < nb; i++) {
            f[i] = (*G)[i].c[3];
            memset(&K[i], 0, sizeof(M6));
            for (int c = 0; c < 4; c++) {
                V3 t = (*T)[i].c[c], g = (*G)[i].c[c];
                double a[3] = {t.x, t.y, t.z}, b[3] = {g.x, g.y, g.z};
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++) K[i].a[r][s] += a[r] * b[s];
            }
        }
    for (int i = nb - 1; i >= 0; i--) {
        int p = m.b[i].parent;
        if (p < 0) continue;
        for (int r = 0; r < 6; r++)
            for (int s = 0; s < 6; s++) X[p].a[r][s] += X[i].a[r][s];
        if (G) {
            f[p] = f[p] + f[i];
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++) K[p].a[r][s] += K[i].a[r][s];
        }
    }
    auto geo = [&](int j, int k, int i) {  // j at or above k, both carry sub(i)
        V3 w = Sl[k].w;
        const M6 &A = K[i];
        double tr = A.a[0][0] + A.a[1][1] + A.a[2][2];
        V3 y = {A.a[0][0] * w.x + A.a[0][1] * w.y + A.a[0][2] * w.z - tr * w.x,
                A.a[1][0] * w.x + A.a[1][1] * w.y + A.a[1][2] * w.z - tr * w.y,
                A.a[2][0] * w.x + A.a[2][1] * w.y + A.a[2][2] * w.z - tr * w.z};
        return dot(Sl[j].w, y + cross(Sl[k].v, f[i]));
    };
    for (int i = 0; i < nb; i++)
        for (int k = m.b[i].v; k < m.b[i].v + m.b[i].nv; k++)
            for (int a = i; a >= 0; a = m.b[a].parent)
                for (int j = m.b[a].v; j < m.b[a].v + m.b[a].nv; j++) {
                    double g = 0;
                    if (G) {
                        g = a == i ? 0.5 * (geo(j, k, i) + geo(k, j, i)) : geo(j, k, i);
                        if (a == i && m.b[i].kind == RACK) {
                            V3 e = m.b[i].radius * cross(m.b[i].radius * (cross(Sl[k].w, (*T)[i].c[3]) + Sl[k].v), Sl[k].w);
                            g += dot(e, f[i]) * (m.b[i].radius ? 1 / m.b[i].radius : 0);
                        }
                    }
                    H[(r0 + j) * N + c0 + k] += bilinear(Si[j], X[i], Sl[k]) + th * g;
                    if (a != i) H[(r0 + k) * N + c0 + j] += bilinear(Si[k], X[i], Sl[j]) + th * g;
                }
}
inline vec mass_matrix(const Model &m, const Poses &T, const Twists &S)
{
    std::vector<M6> X;
    for (size_t i = 0; i < m.b.size(); i++) X.push_back(cross_inertia(m.b[i], T[i], T[i], 1));
    vec H(m.nv * m.nv);
    joint_matrix(m, S, S, X, H, 0, 0, m.nv, nullptr, nullptr, 0);
    for (auto &b : m.b)
        for (int k = 0; k < b.nv; k++) H[(b.v + k) * m.nv + b.v + k] += b.armature;
    return H;
}
inline vec joint_force(const Model &m, const vec &q, const vec &v)
{
    vec f(m.nv);
    for (auto &b : m.b)
        if (b.nv == 1) f[b.v] = b.tau - b.damping * v[b.v] - b.stiffness * (q[b.q] - b.rest) - b.kd * (v[b.v] - b.target);
        else
            for (int k = 0; k < b.nv; k++) f[b.v + k] = -b.damping * v[b.v + k];
    return f;
}
inline vec acceleration(const Model &m, const vec &q, const vec &v, Poses *T2 = nullptr)
{
    Poses T, dT, ddT;
    Twists S;
    kinematics(m, q, T, S);
    bias_motion(m, T, S, v, dT, ddT);
    Poses G(m.b.size());
    for (size_t i = 0; i < m.b.size(); i++) {
        Pose a = ddT[i];
        a.c[3] = a.c[3] - m.g;
        G[i] = timesM(a, m.b[i]);
    }
    vec r = pull(m, T, S, G), f = joint_force(m, q, v), a;
    for (int k = 0; k < m.nv; k++) f[k] -= r[k];
    chol_solve(mass_matrix(m, T, S), f, a, m.nv);
    if (T2) {
        Twists s(m.b.size());
        for (size_t i = 0; i < m.b.size(); i++) {
            const Body &b = m.b[i];
            s[i] = {{0, 0, 0}, {0, 0, 0}};
            if (b.parent >= 0) s[i] = s[b.parent];
            for (int k = 0; k < b.nv; k++)
                s[i].w = s[i].w + a[b.v + k] * S[b.v + k].w, s[i].v = s[i].v + a[b.v + k] * S[b.v + k].v;
            ddT[i] = ddT[i] + along(s[i], T[i]);
        }
        *T2 = ddT;
    }
    return a;
}
inline double potential(const Model &m, const vec &q, const Poses &T)
{
    double U = 0;
    for (size_t i = 0; i < m.b.size(); i++) {
        const Body &b = m.b[i];
        U -= dot(m.g, b.mass * (mul(T[i], b.com) + T[i].c[3]));
        if (b.nv == 1) U += 0.5 * b.stiffness * (q[b.q] - b.rest) * (q[b.q] - b.rest);
    }
    return U;
}
inline double kinetic_joint(const Model &m, const vec &q, const vec &v)
{
    Poses T;
    Twists S;
    kinematics(m, q, T, S);
    vec H = mass_matrix(m, T, S);
    double K = 0;
    for (int i = 0; i < m.nv; i++)
        for (int j = 0; j < m.nv; j++) K += 0.5 * v[i] * H[i * m.nv + j] * v[j];
    return K;
}
inline double energy_joint(const Model &m, const vec &q, const vec &v)
{
    Poses T;
    Twists S;
    kinematics(m, q, T, S);
    return kinetic_joint(m, q, v) + potential(m, q, T);
}
inline V3 angular_momentum(const Model &m, const vec &q, const vec &v)
{
    Poses T, dT, ddT;
    Twists S;
    kinematics(m, q, T, S);
    bias_motion(m, T, S, v, dT, ddT);
    V3 L = {0, 0, 0};
    for (size_t i = 0; i < m.b.size(); i++) L = L + wrench_of(T[i], timesM(dT[i], m.b[i])).n;
    return L;
}
// exact motion: RK4 in joint space, balls by q (+) u about the step's start
inline void rk4(const Model &m, vec &q, vec &v, double h)
{
    auto shift = [&](const vec &x, const vec &r, double s) {
        vec u(m.nv);
        for (int k = 0; k < m.nv; k++) u[k] = s * r[k];
        return plus(m, x, u);
    };
    auto mix = [&](const vec &a, const vec &b, double s) {
        vec r = a;
        for (int k = 0; k < m.nv; k++) r[k] += s * b[k];
        return r;
    };
    // chart rates of balls: u' = w + u x w / 2 + c u x (u x w)
    auto chart = [&](const vec &u, const vec &w) {
        vec r = w;
        for (auto &b : m.b)
            if (b.kind == BALL) {
                V3 a = {u[b.v], u[b.v + 1], u[b.v + 2]}, x = {w[b.v], w[b.v + 1], w[b.v + 2]};
                V3 t = x + 0.5 * cross(a, x) + (1. / 12) * cross(a, cross(a, x));
                r[b.v] = t.x, r[b.v + 1] = t.y, r[b.v + 2] = t.z;
            }
        return r;
    };
    vec z(m.nv), a1 = acceleration(m, q, v), u1 = v;
    vec s2(m.nv);
    for (int k = 0; k < m.nv; k++) s2[k] = 0.5 * h * u1[k];
    vec v2 = mix(v, a1, 0.5 * h), a2 = acceleration(m, plus(m, q, s2), v2), u2 = chart(s2, v2);
    vec s3(m.nv);
    for (int k = 0; k < m.nv; k++) s3[k] = 0.5 * h * u2[k];
    vec v3 = mix(v, a2, 0.5 * h), a3 = acceleration(m, plus(m, q, s3), v3), u3 = chart(s3, v3);
    vec s4(m.nv);
    for (int k = 0; k < m.nv; k++) s4[k] = h * u3[k];
    vec v4 = mix(v, a3, h), a4 = acceleration(m, plus(m, q, s4), v4), u4 = chart(s4, v4);
    vec u(m.nv);
    for (int k = 0; k < m.nv; k++)
        u[k] = h / 6 * (u1[k] + 2 * u2[k] + 2 * u3[k] + u4[k]), v[k] += h / 6 * (a1[k] + 2 * a2[k] + 2 * a3[k] + a4[k]);
    q = plus(m, q, u);
    (void)shift;
    (void)z;
}
