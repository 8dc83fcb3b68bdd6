// Order 2, generalised-alpha and Radau IIA on poses (docs/theory.md 4, 4.9, 5), each body made of parts that may be seen from turning frames,
// R = Es(t) Q(t) Eb(t), the method applied to Q, or about a reference motion. Dense: columns of the matrix by the product rule.
#pragma once
#include "tree.h"
enum { ORDER2, ALPHA, RADAU };
struct Form {
    std::string name = "plain", frame = "plain";
    bool top = false, nodd = false, mult = false, tree = false, ctree = false, sym = false, drop = false, law = false,
         unify = false, guard = true, project = false, perp = false, onev = false, restframe = false,
         norest = false, decided = false;
    bool uneven = false, lump = false, still = false;
    double cut = 0;
    Form(std::string s) : name(s)
    {
        size_t i = 0;
        bool first = true;
        while (i <= s.size()) {
            size_t j = s.find('+', i);
            if (j == std::string::npos) j = s.size();
            std::string w = s.substr(i, j - i);
            i = j + 1;
            if (first) {
                frame = w;
                if (w == "S" || w == "Su") mult = perp = decided = true;
                if (w == "Sl") mult = perp = decided = true, frame = "S", lump = true;
                if (w == "Su") frame = "S", uneven = true, cut = 0.5;
            } else if (w == "B") top = true;
            else if (w == "b") top = nodd = true;
            else if (w == "M") mult = true;
            else if (w == "C") tree = true;
            else if (w == "c") ctree = true;
            else if (w == "y") sym = true;
            else if (w == "x") drop = true;
            else if (w == "t") law = true;
            else if (w == "u") unify = true;
            else if (w == "g") guard = false;
            else if (w == "p") project = true;
            else if (w == "2") {
            } else if (w == "n") perp = true;
            else if (w == "E") onev = true;
            else if (w == "r") restframe = true;
            else if (w == "q") norest = true;
            else if (w == "s") still = true;
            else if (w.substr(0, 3) == "cut") cut = atof(w.c_str() + 3);
            else {
                fprintf(stderr, "form %s?\n", w.c_str());
                exit(2);
            }
            first = false;
        }
    }
};
struct Method {
    int kind = RADAU, s = 2;
    double rho = 0;
};
inline Method method_of(std::string s)
{
    Method M;
    M.kind = s == "order2" ? ORDER2 : s.substr(0, 5) == "alpha" ? ALPHA : RADAU;
    if (M.kind == RADAU) M.s = s[5] - '0';
    if (M.kind == ALPHA) M.rho = atof(s.c_str() + 5);
    return M;
}
struct Counts {
    long steps = 0, iterations = 0, most = 0, plain = 0, fewer = 0, order2 = 0, chords = 0, full = 0, unsolved = 0, half = 0,
         rises = 0;
    double worst = 0;
};
static double tolerance = 1e-12;
static int depth_limit = 6;
struct Table {
    int s;
    double c[3], d[3][3], h[3][3], hV[3], e[3];
};
inline Table radau_table(int s)
{
    Table t;
    t.s = s;
    double A[3][3] = {{1}};
    if (s == 2) {
        double B[3][3] = {{5. / 12, -1. / 12}, {.75, .25}};
        memcpy(A, B, sizeof A);
    }
    if (s == 3) {
        double r = sqrt(6.), B[3][3] = {{(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225},
                                        {(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225},
                                        {(16 - r) / 36, (16 + r) / 36, 1. / 9}};
        memcpy(A, B, sizeof A);
    }
    vec a;
    for (int i = 0; i < s; i++)
        for (int j = 0; j < s; j++) a.push_back(A[i][j]);
    for (int j = 0; j < s; j++) {
        vec e(s), x;
        e[j] = 1;
        lu_solve(a, e, x, s);
        for (int i = 0; i < s; i++) t.d[i][j] = x[i];
    }
    for (int i = 0; i < s; i++) {
        t.c[i] = t.hV[i] = 0;
        for (int j = 0; j < s; j++) {
            t.c[i] += A[i][j];
            t.hV[i] += t.d[i][j];
            t.h[i][j] = 0;
            for (int l = 0; l < s; l++) t.h[i][j] += t.d[i][l] * t.d[l][j];
        }
    }
    for (int l = 0; l < s; l++) {
        t.e[l] = 1 / t.c[l];
        for (int j = 0; j < s; j++)
            if (j != l) t.e[l] *= -t.c[j] / (t.c[l] - t.c[j]);
    }
    return t;
}
// 3x3 matrices are poses whose last column is not used
inline Pose hat(V3 w)
{
    Pose D = zero_pose();
    V3 e[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int c = 0; c < 3; c++) D.c[c] = cross(w, e[c]);
    return D;
}
inline Pose transpose(const Pose &b)
{
    Pose t = zero_pose();
    t.c[0] = {b.c[0].x, b.c[1].x, b.c[2].x}, t.c[1] = {b.c[0].y, b.c[1].y, b.c[2].y}, t.c[2] = {b.c[0].z, b.c[1].z, b.c[2].z};
    return t;
}
inline Pose lr(const Pose &L, const Pose &X, const Pose &R)
{
    Pose Y = X;
    for (int c = 0; c < 3; c++) Y.c[c] = mul(L, mul(X, R.c[c]));
    return Y;
}
inline Pose rot_only(Pose X)
{
    X.c[3] = {0, 0, 0};
    return X;
}
inline V3 back(const Pose &R, V3 w) { return {dot(R.c[0], w), dot(R.c[1], w), dot(R.c[2], w)}; }
inline V3 logarithm(const Pose &Z)
{
    V3 a = {0.5 * (Z.c[1].z - Z.c[2].y), 0.5 * (Z.c[2].x - Z.c[0].z), 0.5 * (Z.c[0].y - Z.c[1].x)};
    double s = norm(a), c = 0.5 * (Z.c[0].x + Z.c[1].y + Z.c[2].z - 1), th = atan2(s, c);
    if (s > 1e-8) return (th / s) * a;
    if (c > 0) return a;
    double d[3] = {Z.c[0].x, Z.c[1].y, Z.c[2].z};
    int k = 0;
    for (int i = 1; i < 3; i++)
        if (d[i] > d[k]) k = i;
    V3 e = Z.c[k];
    if (k == 0) e.x += 1;
    if (k == 1) e.y += 1;
    if (k == 2) e.z += 1;
    return (M_PI / norm(e)) * e;
}
struct Frame {
    Pose s0, s1, s2, b0, b1, b2;
};
// second derivative of Es Q Eb from Q, Q', Q''; first derivative
inline Pose second(const Frame &F, const Pose &q, const Pose &r, const Pose &a)
{
    Pose A = lr(F.s0, a, F.b0) + lr(F.s2, q, F.b0) + lr(F.s0, q, F.b2) +
             2.0 * (lr(F.s1, r, F.b0) + lr(F.s0, r, F.b1) + lr(F.s1, q, F.b1));
    A.c[3] = a.c[3];
    return A;
}
inline Pose first(const Frame &F, const Pose &q, const Pose &r)
{
    Pose A = lr(F.s0, r, F.b0) + lr(F.s1, q, F.b0) + lr(F.s0, q, F.b1);
    A.c[3] = r.c[3];
    return A;
}
struct Part {
    bool carrier = false;
    V3 lcom = {0, 0, 0};
    double lI[3][3];
    int body;
    double M[4][4], keep[4][4];
    bool off = false;
    double factor = 0;
    bool com = false, fr = false, top = false, gy = false;
    V3 g = {0, 0, 0};
    int how = 0;
    V3 axis = {0, 0, 0}, os = {0, 0, 0}, ob = {0, 0, 0};
};
enum { NONE, LEFT, BOTH, SPIN, SPINABS, WHOLE, PARENT, TOPM, PARENTJ, BOTHB };
typedef std::vector<Frame> Frames;
inline Pose partM(const Pose &a, const Part &b)
{
    Pose G;
    for (int c = 0; c < 4; c++) {
        G.c[c] = {0, 0, 0};
        for (int d = 0; d < 4; d++) G.c[c] = G.c[c] + b.M[d][c] * a.c[d];
    }
    return G;
}
inline void eig3(double A[3][3], double w[3], V3 e[3])
{
    double V[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int n = 0; n < 60; n++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (fabs(A[p][q]) < 1e-300) continue;
                double th = 0.5 * atan2(2 * A[p][q], A[q][q] - A[p][p]), c = cos(th), s = sin(th);
                for (int k = 0; k < 3; k++) {
                    double x = A[k][p], y = A[k][q];
                    A[k][p] = c * x - s * y;
                    A[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    double x = A[p][k], y = A[q][k];
                    A[p][k] = c * x - s * y;
                    A[q][k] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    double x = V[k][p], y = V[k][q];
                    V[k][p] = c * x - s * y;
                    V[k][q] = s * x + c * y;
                }
            }
    for (int i = 0; i < 3; i++) {
        w[i] = A[i][i];
        e[i] = {V[0][i], V[1][i], V[2][i]};
    }
}
struct Sim {
    const Model &m;
    Method M;
    Form f;
    vec q, v, r, a, b, gain;
    std::vector<Part> parts;
    Poses T;
    Twists S;
    Poses V, A, B;
    Counts n;
    double created = 0, E = 0, asize = 0;
    size_t np, nb;
    std::vector<char> leaf, freeleaf;
    bool with_tree = false;
    V3 comof(const Part &p) const { return p.carrier ? p.lcom : m.b[p.body].com; }
    Pose at(const Part &p, const Pose &T) const
    {
        Pose X = T;
        if (p.com) X.c[3] = X.c[3] + mul(T, comof(p));
        return X;
    }
    void build()
    {
        nb = m.b.size();
        leaf.assign(nb, 1), freeleaf.assign(nb, 0);
        for (auto &z : m.b)
            if (z.parent >= 0) leaf[z.parent] = 0;
        for (size_t i = 0; i < nb; i++) {
            const Body &y = m.b[i];
            if (y.mass == 0 && y.I[0] == 0) continue;
            Part p;
            p.body = i;
            memcpy(p.M, y.M, sizeof p.M);
            const std::string &k = f.frame;
            auto tocom = [&] {
                p.com = true;
                double c[3] = {y.com.x, y.com.y, y.com.z};
                for (int a = 0; a < 3; a++) {
                    for (int b = 0; b < 3; b++) p.M[a][b] -= y.mass * c[a] * c[b];
                    p.M[a][3] = p.M[3][a] = 0;
                }
            };
            bool fl = y.kind == BALL && y.parent >= 0 && m.b[y.parent].kind == TRANS && leaf[i];
            freeleaf[i] = fl;
            bool iso = y.I[0] == y.I[1] && y.I[1] == y.I[2] && !y.I[3] && !y.I[4] && !y.I[5];
            // symmetric about an axis through the origin?
            auto symmetric = [&](V3 ax) {
                double s[3][3];
                for (int a = 0; a < 3; a++)
                    for (int b = 0; b < 3; b++) s[a][b] = y.M[a][b];
                V3 e[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
                V3 P = cross(ax, fabs(ax.x) < 0.5 ? e[0] : e[1]);
                P = (1 / norm(P)) * P;
                V3 O = cross(ax, P);
                auto S2 = [&](V3 u, V3 w) {
                    double a[3] = {u.x, u.y, u.z}, b[3] = {w.x, w.y, w.z}, t = 0;
                    for (int i = 0; i < 3; i++)
                        for (int j = 0; j < 3; j++) t += a[i] * s[i][j] * b[j];
                    return t;
                };
                double z = fabs(S2(P, P)) + fabs(S2(ax, ax));
                return norm(cross(y.com, ax)) < 1e-12 && fabs(S2(P, P) - S2(O, O)) < 1e-12 * z && fabs(S2(P, O)) < 1e-12 * z &&
                       fabs(S2(P, ax)) < 1e-12 * z && fabs(S2(O, ax)) < 1e-12 * z;
            };
            bool Alike = k == "A" || k == "Aa" || k == "H" || k == "Ha" || k == "Hl" || k == "Hla" || k == "N" || k == "Na" ||
                         k == "R" || k == "S";
            bool abs = k == "Aa" || k == "Ha" || k == "Hla" || k == "Na" || k == "S";
            if (fl && f.mult) {
                tocom();
                p.fr = true;
                p.how = TOPM;
                parts.push_back(p);
                continue;
            }
            if (fl && f.top) {
                p.top = true;
                parts.push_back(p);
                continue;
            }
            if (k == "L") {
                tocom();
                p.fr = true;
                p.how = LEFT;
            } else if (k == "LR") {
                tocom();
                p.fr = true;
                p.how = BOTH;
                double I[3][3] = {{y.I[0], y.I[3], y.I[4]}, {y.I[3], y.I[1], y.I[5]}, {y.I[4], y.I[5], y.I[2]}}, w[3];
                V3 e[3];
                eig3(I, w, e);
                double md = w[0] + w[1] + w[2] - std::max({w[0], w[1], w[2]}) - std::min({w[0], w[1], w[2]});
                int best = 0;
                for (int a = 1; a < 3; a++)
                    if (fabs(w[a] - md) > fabs(w[best] - md)) best = a;
                double It = (w[0] + w[1] + w[2] - w[best]) / 2;
                p.axis = e[best];
                p.factor = 1 - w[best] / It;
                if (fabs(p.factor) < 1e-12) p.axis = {0, 0, 0};
            } else if (k == "P" || k == "Pj") {
                tocom();
                if (y.kind == HINGE || y.kind == BALL) {
                    p.fr = true;
                    p.how = k == "P" ? PARENT : PARENTJ;
                }
            } else if (k == "W") {
                if (y.kind == HINGE) {
                    p.fr = true;
                    p.how = SPIN;
                    p.axis = y.axis;
                }
            } else if (Alike) {
                if ((y.kind == BALL || y.kind == RACK) && iso && norm(y.com) == 0 && leaf[i]) {
                    p.fr = true;
                    p.how = WHOLE;
                } else if (y.kind == BALL && leaf[i] && (k[0] == 'N' || !fl)) {
                    double s[3][3], w[3];
                    for (int a = 0; a < 3; a++)
                        for (int b = 0; b < 3; b++) s[a][b] = y.M[a][b];
                    V3 e[3];
                    eig3(s, w, e);
                    double md = w[0] + w[1] + w[2] - std::max({w[0], w[1], w[2]}) - std::min({w[0], w[1], w[2]});
                    int best = 0;
                    for (int a = 1; a < 3; a++)
                        if (fabs(w[a] - md) > fabs(w[best] - md)) best = a;
                    if (symmetric(e[best])) {
                        p.fr = true;
                        p.how = SPINABS;
                        p.axis = e[best];
                    }
                } else if (y.kind == HINGE && !(k == "S" && y.stiffness != 0)) {
                    bool s = symmetric(y.axis);
                    double ua[3] = {y.axis.x, y.axis.y, y.axis.z}, Ia = y.M[0][0] + y.M[1][1] + y.M[2][2];
                    for (int a = 0; a < 3; a++)
                        for (int b = 0; b < 3; b++) Ia -= ua[a] * y.M[a][b] * ua[b];
                    V3 off = cross(y.com, y.axis);
                    bool wheel = k == "S" && f.uneven && leaf[i] && dot(off, off) < 1e-20 * Ia / y.mass;
                    if (s && (leaf[i] || k[0] == 'H' || k[0] == 'N' || k == "S")) {
                        p.fr = true;
                        p.how = abs ? SPINABS : SPIN;
                        p.axis = y.axis;
                    } else if (wheel || ((k[0] == 'H') && (leaf[i] || k[1] != 'l'))) {
                        Part o = p;
                        double u[3] = {y.axis.x, y.axis.y, y.axis.z}, c[3] = {y.com.x, y.com.y, y.com.z}, tr = 0, aa = 0, ca = 0;
                        for (int x = 0; x < 3; x++) {
                            tr += y.M[x][x];
                            ca += c[x] * u[x];
                            for (int z = 0; z < 3; z++) aa += u[x] * y.M[x][z] * u[z];
                        }
                        for (int x = 0; x < 3; x++) {
                            for (int z = 0; z < 3; z++)
                                p.M[x][z] = (x == z ? (tr - aa) / 2 : 0) + (aa - (tr - aa) / 2) * u[x] * u[z];
                            p.M[x][3] = p.M[3][x] = y.mass * ca * u[x];
                        }
                        for (int x = 0; x < 4; x++)
                            for (int z = 0; z < 4; z++) o.M[x][z] = y.M[x][z] - p.M[x][z];
                        p.fr = true;
                        p.how = abs ? SPINABS : SPIN;
                        p.axis = y.axis;
                        p.gy = f.name.find("+2") == std::string::npos;
                        if (f.restframe) o.fr = true, o.how = p.how, o.axis = p.axis;
                        parts.push_back(p);
                        parts.push_back(o);
                        continue;
                    }
                }
            }
            if (k == "R" && p.fr && p.how == SPIN) {
                tocom();
                p.how = PARENT;
            } else if (k == "R" && p.fr) {
                p.how = BOTHB;
            }
            p.gy = p.fr && (p.how == SPIN || p.how == SPINABS || p.how == WHOLE) && k != "W" &&
                   f.name.find("+2") == std::string::npos;
            if (f.ctree && !p.com && !p.fr) tocom();
            parts.push_back(p);
        }
        np = parts.size();
        if (f.lump) lump();
    }
    // a free body whose children are all wheels: their masses become its own
    void lump()
    {
        for (size_t i = 0; i < nb; i++) {
            const Body &y = m.b[i];
            if (!(y.kind == BALL && y.parent >= 0 && m.b[y.parent].kind == TRANS) || leaf[i]) continue;
            bool all = true;
            std::vector<size_t> kids;
            size_t own = np;
            for (size_t k = 0; k < np; k++) {
                if (parts[k].body == (int)i) own = k;
                if (m.b[parts[k].body].parent == (int)i) {
                    if (parts[k].gy && parts[k].how == SPINABS && leaf[parts[k].body]) kids.push_back(k);
                    else all = false;
                }
            }
            if (!all || own == np) continue;
            Part &p = parts[own];
            double M[4][4];
            memcpy(M, y.M, sizeof M);
            double It[3][3] = {{0}};
            for (size_t k : kids) {
                Part &w = parts[k];
                const Body &z = m.b[w.body];
                V3 r = mul(z.X, z.com) + z.X.c[3];
                double q[4] = {r.x, r.y, r.z, 1}, c[3] = {z.com.x, z.com.y, z.com.z};
                for (int a = 0; a < 4; a++)
                    for (int b = 0; b < 4; b++) M[a][b] += z.mass * q[a] * q[b];
                for (int a = 0; a < 3; a++) {
                    for (int b = 0; b < 3; b++) w.M[a][b] -= z.mass * c[a] * c[b];
                    w.M[a][3] = w.M[3][a] = 0;
                }
                w.M[3][3] = 0;
                V3 ax = mul(rot_only(z.X), z.axis);
                double A[3] = {ax.x, ax.y, ax.z}, ti = 0, ia = 0;
                for (int a = 0; a < 3; a++) ti += w.M[a][a];
                double u[3] = {z.axis.x, z.axis.y, z.axis.z};
                for (int a = 0; a < 3; a++)
                    for (int b = 0; b < 3; b++) ia += u[a] * w.M[a][b] * u[b];
                double Iax = ti - ia, Itr = (ti + ia) / 2;
                (void)Iax;
                for (int a = 0; a < 3; a++)
                    for (int b = 0; b < 3; b++) It[a][b] += (a == b ? Itr : 0) - Itr * A[a] * A[b];
            }
            double ms = M[3][3];
            p.lcom = {M[0][3] / ms, M[1][3] / ms, M[2][3] / ms};
            double c[3] = {p.lcom.x, p.lcom.y, p.lcom.z}, tr = 0;
            for (int a = 0; a < 3; a++) {
                for (int b = 0; b < 3; b++) M[a][b] -= ms * c[a] * c[b];
                M[a][3] = M[3][a] = 0;
            }
            for (int a = 0; a < 3; a++) tr += M[a][a];
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) p.lI[a][b] = (a == b ? tr : 0) - M[a][b] + It[a][b];
            memcpy(p.M, M, sizeof M);
            p.com = p.carrier = p.fr = true;
            p.how = TOPM;
            p.gy = false;
        }
    }
    V3 wheels(size_t i) const
    {
        V3 g = {0, 0, 0};
        for (auto &w : parts)
            if (m.b[w.body].parent == (int)i && w.gy) {
                const Body &z = m.b[w.body];
                g = g + mul(rot_only(z.X), w.g);
            }
        return g;
    }
    Sim(const Model &mm, Method me, Form ff, vec q0, vec v0) : m(mm), M(me), f(ff), q(q0), v(v0), r(v0), gain(mm.nv)
    {
        build();
        kinematics(m, q, T, S);
        rigid();
        start();
        E = energy();
    }
    void rigid()
    {
        Poses x, y;
        bias_motion(m, T, S, v, x, y);
        V.resize(np);
        for (size_t k = 0; k < np; k++) V[k] = at(parts[k], x[parts[k].body]);
    }
    void start()
    {
        Poses x;
        a = acceleration(m, q, v, &x);
        A.resize(np);
        for (size_t k = 0; k < np; k++) A[k] = at(parts[k], x[parts[k].body]);
        B = A;
        b = a;
    }
    double kinetic(const Poses &W) const
    {
        double K = 0;
        for (size_t k = 0; k < np; k++) {
            bool rest = k > 0 && parts[k].body == parts[k - 1].body;
            if (rest && f.norest) continue;
            size_t j = f.onev && rest ? k - 1 : k;
            K += 0.5 * inner(W[j], partM(W[j], parts[k]));
        }
        return K;
    }
    double rotors(const vec &x) const
    {
        double K = 0;
        for (auto &y : m.b)
            if (y.nv == 1) K += 0.5 * y.armature * x[y.v] * x[y.v];
        return K;
    }
    double energy() const { return kinetic(V) + rotors(r) + potential(m, q, T); }
    // forces on parts to forces on bodies
    Poses bodies(const Poses &G) const
    {
        Poses H(nb, zero_pose());
        for (size_t k = 0; k < np; k++) {
            const Part &p = parts[k];
            Pose g = G[k];
            if (p.com) {
                double c[3] = {comof(p).x, comof(p).y, comof(p).z};
                for (int i = 0; i < 3; i++) g.c[i] = g.c[i] + c[i] * g.c[3];
            }
            H[p.body] = H[p.body] + g;
        }
        return H;
    }
    vec nearest(const Poses &T, const Twists &S, const Poses &W, const vec &rr) const
    {
        Poses G(np);
        for (size_t k = 0; k < np; k++)
            G[k] = partM(W[f.onev && k > 0 && parts[k].body == parts[k - 1].body ? k - 1 : k], parts[k]);
        vec p = pull(m, T, S, bodies(G)), x;
        for (auto &y : m.b)
            if (y.nv == 1) p[y.v] += y.armature * rr[y.v];
        chol_solve(mass_matrix(m, T, S), p, x, m.nv);
        return x;
    }
    // orientation, rate and its derivative of a free body after t, from T, w
    void freetop(size_t i, double t, Pose R, V3 &w, V3 &al, Pose &out) const
    {
        const Body &y = m.b[i];
        R.c[3] = {0, 0, 0};
        V3 W = back(R, w);
        Q4 z = {1, 0, 0, 0};
        double I[3][3] = {{y.I[0], y.I[3], y.I[4]}, {y.I[3], y.I[1], y.I[5]}, {y.I[4], y.I[5], y.I[2]}};
        V3 gw = {0, 0, 0};
        for (auto &p : parts)
            if (p.carrier && p.body == (int)i) {
                memcpy(I, p.lI, sizeof I);
                if (!f.still) gw = wheels(i);
            }
        vec Iv;
        for (auto &row : I)
            for (double e : row) Iv.push_back(e);
        auto acc = [&](V3 W) {
            V3 L = {I[0][0] * W.x + I[0][1] * W.y + I[0][2] * W.z, I[1][0] * W.x + I[1][1] * W.y + I[1][2] * W.z,
                    I[2][0] * W.x + I[2][1] * W.y + I[2][2] * W.z},
               g = cross(L + gw, W);
            vec o, e = {g.x, g.y, g.z};
            lu_solve(Iv, e, o, 3);
            return V3{o[0], o[1], o[2]};
        };
        auto dq = [&](Q4 z, V3 W) { return qmul(z, {0, W.x / 2, W.y / 2, W.z / 2}); };
        auto mix = [](Q4 a, Q4 b, double s) { return Q4{a.w + s * b.w, a.x + s * b.x, a.y + s * b.y, a.z + s * b.z}; };
        int N = std::max(4, (int)ceil(norm(W) * fabs(t) / 0.004));
        double k = t / N;
        for (int j = 0; j < N && t != 0; j++) {
            V3 a1 = acc(W), a2 = acc(W + 0.5 * k * a1), a3 = acc(W + 0.5 * k * a2), a4 = acc(W + k * a3);
            Q4 d1 = dq(z, W), d2 = dq(mix(z, d1, k / 2), W + 0.5 * k * a1), d3 = dq(mix(z, d2, k / 2), W + 0.5 * k * a2),
               d4 = dq(mix(z, d3, k), W + k * a3);
            W = W + (k / 6) * (a1 + 2 * a2 + 2 * a3 + a4);
            z = {z.w + k / 6 * (d1.w + 2 * d2.w + 2 * d3.w + d4.w), z.x + k / 6 * (d1.x + 2 * d2.x + 2 * d3.x + d4.x),
                 z.y + k / 6 * (d1.y + 2 * d2.y + 2 * d3.y + d4.y), z.z + k / 6 * (d1.z + 2 * d2.z + 2 * d3.z + d4.z)};
        }
        out = compose(R, qrot(qunit(z)));
        out.c[3] = {0, 0, 0};
        w = mul(out, W);
        al = mul(out, acc(W));
    }
    // the rest of a wheel that turns fast is left out of the step
    std::vector<double> full_rest;
    void weigh(double h)
    {
        for (size_t k = 1; k < np; k++)
            if (parts[k].body == parts[k - 1].body) {
                Part &p = parts[k];
                bool was = p.off, fast = fabs(v[m.b[p.body].v]) * h > (was ? 0.5 : 1.0) * f.cut;
                if (fast == was) continue;
                p.off = fast;
                if (fast) {
                    memcpy(p.keep, p.M, sizeof p.M);
                    memset(p.M, 0, sizeof p.M);
                } else {
                    memcpy(p.M, p.keep, sizeof p.M);
                    V[k] = V[k - 1], A[k] = A[k - 1], B[k] = B[k - 1];
                }
                E = energy();
            }
    }
    void set_rates()
    {
        Poses D, DD;
        Twists x;
        bias_motion(m, T, S, v, D, DD, &x);
        for (auto &p : parts)
            if (p.fr) {
                const Body &y = m.b[p.body];
                V3 w = x[p.body].w, wb = back(T[p.body], w);
                p.os = {0, 0, 0};
                if (p.how == LEFT || p.how == TOPM) p.os = w;
                if (p.how == LEFT) p.ob = {0, 0, 0};
                if (p.how == BOTH) {
                    double n = norm(p.axis);
                    p.ob = n > 0 ? (dot(wb, p.axis) / n * p.factor / n) * p.axis : V3{0, 0, 0};
                    p.os = w - mul(rot_only(T[p.body]), p.ob);
                }
                if (p.how == BOTHB) {
                    if (norm(p.axis) == 0) {
                        p.os = w;
                    } else {
                        p.ob = dot(wb, p.axis) * p.axis;
                        p.os = w - mul(rot_only(T[p.body]), p.ob);
                    }
                }
                if (p.how == SPIN) p.ob = v[y.v] * p.axis;
                if (p.how == SPINABS) p.ob = dot(wb, p.axis) * p.axis;
                if (p.how == WHOLE) p.ob = wb;
                if (p.gy) {
                    Part &P = p;
                    double t = P.M[0][0] + P.M[1][1] + P.M[2][2];
                    V3 w = P.ob;
                    P.g = {t * w.x - P.M[0][0] * w.x - P.M[0][1] * w.y - P.M[0][2] * w.z,
                           t * w.y - P.M[1][0] * w.x - P.M[1][1] * w.y - P.M[1][2] * w.z,
                           t * w.z - P.M[2][0] * w.x - P.M[2][1] * w.y - P.M[2][2] * w.z};
                }
                if (p.how == PARENT) {
                    p.os = y.parent >= 0 ? x[y.parent].w : V3{0, 0, 0};
                    p.ob = back(T[p.body], w - p.os);
                }
                if (p.how == PARENTJ) {
                    V3 a = mul(rot_only(T[p.body]), y.axis);
                    p.ob = y.kind == HINGE ? dot(w, a) * y.axis : wb;
                    p.os = w - mul(rot_only(T[p.body]), p.ob);
                }
            }
    }
    Frame frame(const Part &p, double t) const
    {
        Frame F;
        Pose I = unit_pose();
        I.c[3] = {0, 0, 0};
        F.s0 = F.b0 = I;
        F.s1 = F.s2 = F.b1 = F.b2 = zero_pose();
        if (!p.fr) return F;
        if (p.how == TOPM) {
            V3 w = p.os, al;
            Pose R;
            freetop(p.body, t, T[p.body], w, al, R);
            F.s0 = lr(R, transpose(T[p.body]), I);
            Pose W = hat(w);
            F.s1 = lr(W, F.s0, I);
            F.s2 = lr(hat(al), F.s0, I) + lr(W, F.s1, I);
            return F;
        }
        F.s0 = rotation(t * p.os), F.b0 = rotation(t * p.ob);
        F.s0.c[3] = F.b0.c[3] = {0, 0, 0};
        Pose s = hat(p.os), o = hat(p.ob);
        F.s1 = lr(s, F.s0, I);
        F.s2 = lr(s, F.s1, I);
        F.b1 = lr(F.b0, o, I);
        F.b2 = lr(F.b1, o, I);
        return F;
    }
    void treeref(double t, Poses &R0, Poses &R1, Poses &R2) const
    {
        vec u(m.nv);
        for (int k = 0; k < m.nv; k++) u[k] = t * v[k];
        Twists X;
        kinematics(m, plus(m, q, u), R0, X);
        bias_motion(m, R0, X, v, R1, R2);
        for (size_t i = 0; i < nb; i++)
            if (m.b[i].kind == TRANS) {
                V3 c0 = {0, 0, 0}, c = c0, d0 = c0, d = c0, e = c0;
                double ms = 0;
                Poses D, DD;
                bias_motion(m, T, S, v, D, DD);
                for (size_t j = i; j < nb; j++)
                    if (m.root_of(j) == (int)i) {
                        const Body &y = m.b[j];
                        ms += y.mass;
                        c0 = c0 + timesM(T[j], y).c[3];
                        c = c + timesM(R0[j], y).c[3];
                        d0 = d0 + timesM(D[j], y).c[3];
                        d = d + timesM(R1[j], y).c[3];
                        e = e + timesM(R2[j], y).c[3];
                    }
                V3 s = (1 / ms) * (c0 + t * d0 - c), s1 = (1 / ms) * (d0 - d), s2 = (-1 / ms) * e;
                for (size_t j = i; j < nb; j++)
                    if (m.root_of(j) == (int)i)
                        R0[j].c[3] = R0[j].c[3] + s, R1[j].c[3] = R1[j].c[3] + s1, R2[j].c[3] = R2[j].c[3] + s2;
            }
    }
    // reference of Q of every part at time t, with derivatives
    void reference(bool on, double t, const Frames &F, Poses &Q0, Poses &Q1, Poses &Q2) const
    {
        Q0.resize(np), Q1.assign(np, zero_pose()), Q2.assign(np, zero_pose());
        for (size_t k = 0; k < np; k++) Q0[k] = at(parts[k], T[parts[k].body]);
        if (!on) return;
        Poses R0, R1, R2;
        bool ft = f.tree && with_tree, fc = f.ctree && with_tree;
        if (ft || fc) treeref(t, R0, R1, R2);
        Poses D, DD;
        Twists x;
        if (f.top) bias_motion(m, T, S, v, D, DD, &x);
        for (size_t k = 0; k < np; k++) {
            const Part &p = parts[k];
            Pose X0, X1, X2;
            if (p.top) {
                size_t i = p.body;
                const Body &y = m.b[i];
                V3 w = x[i].w, al;
                Pose R;
                V3 cv = mul(D[i], y.com) + D[i].c[3], c0 = mul(T[i], y.com) + T[i].c[3];
                freetop(i, t, T[i], w, al, R);
                X0 = R;
                X0.c[3] = c0 + t * cv - mul(R, y.com);
                for (int c = 0; c < 3; c++) X1.c[c] = cross(w, R.c[c]), X2.c[c] = cross(al, R.c[c]) + cross(w, X1.c[c]);
                X1.c[3] = cv - mul(X1, y.com), X2.c[3] = -1.0 * mul(X2, y.com);
                if (f.nodd)
                    for (int c = 0; c < 3; c++) X2.c[c] = {0, 0, 0};
                Q0[k] = X0, Q1[k] = X1, Q2[k] = X2;
                continue;
            }
            if (p.how == TOPM) {
                if (ft || fc) {
                    Q0[k].c[3] = at(p, R0[p.body]).c[3], Q1[k].c[3] = at(p, R1[p.body]).c[3], Q2[k].c[3] = at(p, R2[p.body]).c[3];
                }
                continue;
            }
            if (!ft && !fc) continue;
            X0 = at(p, R0[p.body]), X1 = at(p, R1[p.body]), X2 = at(p, R2[p.body]);
            if (fc) {
                Q0[k].c[3] = X0.c[3], Q1[k].c[3] = X1.c[3], Q2[k].c[3] = X2.c[3];
                continue;
            }
            Frame G;
            const Frame &e = F[k];
            G.s0 = transpose(e.s0), G.s1 = transpose(e.s1), G.s2 = transpose(e.s2), G.b0 = transpose(e.b0),
            G.b1 = transpose(e.b1), G.b2 = transpose(e.b2);
            Q0[k] = lr(G.s0, X0, G.b0);
            Q1[k] = first(G, X0, X1);
            Q2[k] = second(G, X0, X1, X2);
        }
    }
    struct Trial {
        int s;
        double k[3][3], dr[3][3];
        Poses Y[3], gd[3], Q0[3], Q1[3], Q2[3], D[3], Tn[3], G[3];
        Frames F[3];
        std::vector<V3> nn[3];
        vec Yj[3], rc[3];
        std::vector<vec> x, u;
        Twists Sn[3];
        bool ok = false, fr = false, order2 = false;
        long it = 0;
        std::vector<V3> rw[3];
        V3 raw(int i, int k, const Part &, const Poses &) const { return rw[i][k]; }
    };
    double rows(Trial &t, vec &R) const
    {
        R.assign(t.s * m.nv, 0);
        double E = 0;
        for (int i = 0; i < t.s; i++) {
            kinematics(m, t.x[i], t.Tn[i], t.Sn[i]);
            t.D[i].resize(np);
            for (size_t k = 0; k < np; k++) {
                Pose X = at(parts[k], t.Tn[i][parts[k].body]);
                if (t.fr && parts[k].fr) X = lr(transpose(t.F[i][k].s0), X, transpose(t.F[i][k].b0));
                t.D[i][k] = X - t.Q0[i][k];
            }
        }
        for (int i = 0; i < t.s; i++) {
            Poses g(np);
            t.nn[i].assign(np, V3{0, 0, 0});
            for (size_t k = 0; k < np; k++) {
                Pose a = t.Q2[i][k] - t.Y[i][k];
                for (int l = 0; l < t.s; l++) a = a + t.k[i][l] * t.D[l][k];
                if (t.s == 1) { E += 0.5 / t.k[0][0] * inner(a, partM(a, parts[k])); }
                V3 nn = {0, 0, 0};
                if (t.fr && parts[k].gy) {
                    Pose w = t.gd[i][k];
                    for (int l = 0; l < t.s; l++) w = w + t.dr[i][l] * (t.D[l][k] + t.Q0[l][k] - at(parts[k], T[parts[k].body]));
                    nn = mul(rot_only(w), parts[k].g);
                    const Part &p = parts[k];
                    V3 b = mul(rot_only(t.Tn[i][p.body]), p.g);
                    t.rw[i].resize(np);
                    t.rw[i][k] = nn;
                    double b2 = dot(b, b);
                    if (f.perp && b2 > 0) nn = nn - (dot(nn, b) / b2) * b;
                    a = lr(t.F[i][k].s0, a, t.F[i][k].b0);
                    t.nn[i][k] = nn;
                } else if (t.fr && parts[k].fr) {
                    Pose w = t.gd[i][k] + t.Q1[i][k];
                    for (int l = 0; l < t.s; l++) w = w + t.dr[i][l] * t.D[l][k];
                    a = second(t.F[i][k], t.D[i][k] + t.Q0[i][k], w, a);
                }
                a.c[3] = a.c[3] - m.g;
                g[k] = partM(a, parts[k]);
                for (int c = 0; c < 3; c++) g[k].c[c] = g[k].c[c] + 0.5 * cross(nn, t.Tn[i][parts[k].body].c[c]);
            }
            t.G[i] = bodies(g);
            vec p = pull(m, t.Tn[i], t.Sn[i], t.G[i]);
            for (auto &y : m.b)
                if (y.nv == 1) {
                    int k = y.v;
                    double ra = t.rc[i][k], ac = -t.Yj[i][k];
                    for (int l = 0; l < t.s; l++) ra += t.dr[i][l] * t.u[l][k], ac += t.k[i][l] * t.u[l][k];
                    double x = t.x[i][y.q];
                    p[k] += y.armature * ac + (y.damping + y.kd) * ra - y.kd * y.target + y.stiffness * (x - y.rest) - y.tau;
                    if (t.s == 1)
                        E += 0.5 * y.armature * ac * ac / t.k[0][0] + 0.5 * (y.damping + y.kd) * ra * ra / t.dr[0][0] -
                             (y.kd * y.target + y.tau) * t.u[0][k];
                }
            for (int k = 0; k < m.nv; k++) R[i * m.nv + k] = p[k];
            if (t.s == 1) E += potential(m, t.x[0], t.Tn[0]);
        }
        return E;
    }
    vec matrix(const Trial &t, double th) const
    {
        int N = t.s * m.nv;
        vec H(N * N);
        std::vector<M6> zero(nb);
        memset(zero.data(), 0, nb * sizeof(M6));
        bool sym = f.sym, drop = f.drop;
        for (int l = 0; l < t.s; l++)
            for (int c = 0; c < m.nv; c++) {
                int own = m.owner[c];
                std::vector<char> in(nb, 0);
                for (size_t j = 0; j < nb; j++) in[j] = (int)j == own || (m.b[j].parent >= 0 && in[m.b[j].parent]);
                Poses dQ(np, zero_pose()), dX = dQ;
                std::vector<char> on(np, 0);
                for (size_t k = 0; k < np; k++)
                    if (in[parts[k].body]) {
                        on[k] = 1;
                        const Part &p = parts[k];
                        Pose X = at(p, along(t.Sn[l][c], t.Tn[l][p.body]));
                        if (p.com) {
                            Pose d = along(t.Sn[l][c], t.Tn[l][p.body]);
                            X = d;
                            X.c[3] = d.c[3] + mul(rot_only(d), comof(p));
                        }
                        dX[k] = X;
                        if (t.fr && p.fr) X = lr(transpose(t.F[l][k].s0), X, transpose(t.F[l][k].b0));
                        dQ[k] = X;
                    }
                for (int i = 0; i < t.s; i++) {
                    Poses g(np, zero_pose());
                    for (size_t k = 0; k < np; k++)
                        if (on[k]) {
                            Pose a = t.k[i][l] * dQ[k];
                            if (t.fr && parts[k].gy) {
                                a = lr(t.F[i][k].s0, a, t.F[i][k].b0);
                                g[k] = partM(a, parts[k]);
                                if (!drop) {
                                    const Part &p = parts[k];
                                    V3 dn = t.dr[i][l] * mul(rot_only(dQ[k]), p.g);
                                    V3 db = mul(rot_only(dX[k]), p.g), b = mul(rot_only(t.Tn[i][p.body]), p.g);
                                    double b2 = dot(b, b);
                                    if (f.perp && b2 > 0) {
                                        V3 raw = t.raw(i, k, p, T);
                                        if (i != l) db = {0, 0, 0};
                                        dn = dn - (1 / b2) * ((dot(dn, b) + dot(raw, db)) * b + dot(raw, b) * db);
                                    }
                                    for (int c = 0; c < 3; c++)
                                        g[k].c[c] = g[k].c[c] + 0.5 * cross(dn, t.Tn[i][parts[k].body].c[c]) +
                                                    (i == l ? 0.5 : 0.0) * cross(t.nn[i][k], dX[k].c[c]);
                                }
                                continue;
                            }
                            if (t.fr && parts[k].fr)
                                a = second(t.F[i][k], i == l ? (drop ? 0.0 : 1.0) * dQ[k] : zero_pose(),
                                           (drop ? 0.0 : t.dr[i][l]) * dQ[k], a);
                            g[k] = partM(a, parts[k]);
                        }
                    vec p = pull(m, t.Tn[i], t.Sn[i], bodies(g));
                    for (int k = 0; k < m.nv; k++) H[(i * m.nv + k) * N + l * m.nv + c] += p[k];
                }
            }
        for (int i = 0; i < t.s; i++) {
            joint_matrix(m, t.Sn[i], t.Sn[i], zero, H, i * m.nv, i * m.nv, N, &t.Tn[i], &t.G[i], th);
            for (int l = 0; l < t.s; l++)
                for (auto &y : m.b)
                    if (y.nv == 1)
                        H[(i * m.nv + y.v) * N + l * m.nv + y.v] +=
                            y.armature * t.k[i][l] + (y.damping + y.kd) * t.dr[i][l] + (i == l ? y.stiffness : 0);
            if (sym)
                for (int a = 0; a < m.nv; a++)
                    for (int b = 0; b < a; b++) {
                        double &x = H[(i * m.nv + a) * N + i * m.nv + b], &y = H[(i * m.nv + b) * N + i * m.nv + a];
                        x = y = 0.5 * (x + y);
                    }
        }
        return H;
    }
    bool solve(Trial &t, double h) const
    {
        int N = t.s * m.nv;
        vec R, d;
        double E = rows(t, R);
        bool sym = t.s == 1 && !t.fr;
        double scale = m.scale / (h * h);
        auto nrm = [&](const vec &R) {
            double s = 0;
            for (double x : R) s += x * x;
            return sqrt(s);
        };
        double last = 1e300;
        int most = f.sym || f.drop ? 100 : 40;
        for (int it = 0; it < most; it++) {
            double nr = nrm(R);
            if (!std::isfinite(nr)) return false;
            if (it > 0 && (nr < tolerance * scale || (nr < 1e-9 * scale && nr > 0.5 * last))) {
                t.it = it;
                return t.ok = true;
            }
            last = nr;
            if (sym) {
                double th = 1;
                while (!chol_solve(matrix(t, th), R, d, N)) {
                    if (th == 0) return false;
                    th = th > 0.1 ? 0.5 * th : 0;
                }
            } else if (!lu_solve(matrix(t, 1), R, d, N)) return false;
            double big = 0, slope = 0;
            for (int k = 0; k < N; k++) {
                d[k] = -d[k];
                big = std::max(big, fabs(d[k]));
                slope += d[k] * R[k];
            }
            double al = std::min(1.0, 3.1 / big);
            auto x0 = t.x;
            auto u0 = t.u;
            double E0 = E;
            bool good = false;
            int ls = 0;
            for (; ls < 12; ls++) {
                for (int i = 0; i < t.s; i++) {
                    vec s(m.nv);
                    for (int k = 0; k < m.nv; k++) s[k] = al * d[i * m.nv + k], t.u[i][k] = u0[i][k] + s[k];
                    t.x[i] = plus(m, x0[i], s);
                }
                E = rows(t, R);
                double n1 = nrm(R);
                good = n1 < 1e-11 * scale ||
                       (sym ? E <= E0 + 1e-4 * al * slope + 1e-12 * (fabs(E0) + scale) : n1 * n1 <= (1 - 2e-4 * al) * nr * nr);
                if (good) break;
                al *= 0.4;
            }
            if (!good) {
                if (nr < 1e-9 * scale) {
                    t.it = it;
                    return t.ok = true;
                }
                return false;
            }
        }
        return false;
    }
    // level 0: plain; 1: frames and free tops; 2: the tree's reference besides
    bool attempt(int kind, int s, int level, double h, bool test)
    {
        Trial t;
        t.s = kind == RADAU ? s : 1;
        t.x.resize(t.s), t.u.resize(t.s);
        bool cure = level > 0;
        t.fr = false;
        if (cure) {
            for (auto &p : parts)
                if (p.fr) t.fr = true;
        }
        bool ref = (cure && f.top) || (level > 1 && (f.tree || f.ctree));
        with_tree = level > 1;
        double rho = M.rho, am = (2 * rho - 1) / (rho + 1), af = rho / (rho + 1), gm = 0.5 - am + af,
               be = (gm + 0.5) * (gm + 0.5) / 4, c = (1 - am) / ((1 - af) * be * h * h), sg = gm / (be * h),
               ka = 1 / ((1 - af) * c);
        Table tb;
        if (kind == RADAU) tb = radau_table(s);
        else tb.s = 1, tb.c[0] = 1;
        if (f.cut > 0) weigh(h);
        set_rates();
        t.order2 = kind == ORDER2;
        Frames F0(np), Fx(np);
        Poses Qz, Q10, Q20, Qx, Qy, Q2s, Q2e;
        auto frames = [&](double z, Frames &F) {
            F.resize(np);
            for (size_t k = 0; k < np; k++) {
                Part p = parts[k];
                p.fr = p.fr && t.fr;
                F[k] = frame(p, z);
            }
        };
        frames(0, F0);
        reference(ref, 0, F0, Qz, Q10, Q20);
        for (int i = 0; i < t.s; i++) {
            frames(tb.c[i] * h, t.F[i]);
            reference(ref, tb.c[i] * h, t.F[i], t.Q0[i], t.Q1[i], t.Q2[i]);
        }
        if (kind == ALPHA && ref) {
            frames((am - af) * h, Fx);
            reference(ref, (am - af) * h, Fx, Qx, Qy, Q2s);
            frames(h + (am - af) * h, Fx);
            reference(ref, h + (am - af) * h, Fx, Qx, Qy, Q2e);
        } else Q2s = Q20, Q2e.assign(np, zero_pose());
        // rates and accelerations seen from the frames
        Poses X(np), Vq(np), Vd(np), Ad(np), Bd(np), As = A;
        vec as = a;
        if (kind == ALPHA && asize > 0 && asize != h) {
            for (size_t j = 0; j < np; j++) As[j] = B[j] + (h / asize) * (A[j] - B[j]);
            for (int k = 0; k < m.nv; k++) as[k] = b[k] + (h / asize) * (a[k] - b[k]);
        }
        for (size_t k = 0; k < np; k++) {
            X[k] = at(parts[k], T[parts[k].body]);
            Vq[k] = V[k];
            Pose a0 = zero_pose();
            if (t.fr && parts[k].fr) {
                Vq[k] = V[k] - rot_only(first(F0[k], X[k], zero_pose()));
                a0 = rot_only(second(F0[k], X[k], Vq[k], zero_pose()));
            }
            Vd[k] = Vq[k] - Q10[k];
            Bd[k] = B[k] - a0 - Q20[k];
            Ad[k] = asize > 0 ? As[k] - a0 - Q2s[k] : Bd[k];
        }
        Poses P(np);
        vec Pj(m.nv);
        for (int i = 0; i < t.s; i++) {
            t.Y[i].resize(np);
            t.gd[i].assign(np, zero_pose());
            t.Yj[i].assign(m.nv, 0);
            t.rc[i].assign(m.nv, 0);
        }
        if (kind == RADAU)
            for (int i = 0; i < s; i++) {
                for (int l = 0; l < s; l++) t.k[i][l] = tb.h[i][l] / (h * h), t.dr[i][l] = tb.d[i][l] / h;
                for (size_t j = 0; j < np; j++) t.Y[i][j] = (tb.hV[i] / h) * Vd[j];
                for (int k = 0; k < m.nv; k++) t.Yj[i][k] = tb.hV[i] / h * r[k];
            }
        else if (kind == ORDER2) {
            t.k[0][0] = 1 / (h * h), t.dr[0][0] = 1 / h;
            for (size_t j = 0; j < np; j++) t.Y[0][j] = (1 / h) * Vd[j];
            for (int k = 0; k < m.nv; k++) t.Yj[0][k] = r[k] / h;
        } else {
            t.k[0][0] = c, t.dr[0][0] = sg;
            for (size_t j = 0; j < np; j++) {
                P[j] = h * Vd[j] + (h * h * (0.5 - be)) * Ad[j];
                t.Y[0][j] = c * (P[j] - ka * (am * Ad[j] - af * Bd[j]));
                t.gd[0][j] = (-sg) * (P[j] - (1 / sg) * (Vd[j] + (h * (1 - gm)) * Ad[j]));
            }
            for (int k = 0; k < m.nv; k++) {
                Pj[k] = h * r[k] + h * h * (0.5 - be) * as[k];
                t.Yj[0][k] = c * (Pj[k] - ka * (am * as[k] - af * b[k]));
                t.rc[0][k] = -sg * (Pj[k] - (r[k] + h * (1 - gm) * as[k]) / sg);
            }
        }
        for (int i = 0; i < t.s; i++) {
            vec u(m.nv);
            double z = tb.c[i] * h;
            for (int k = 0; k < m.nv; k++) u[k] = z * (v[k] + 0.5 * tb.c[i] * gain[k]);
            if (cure)
                for (auto &p : parts)
                    if (p.top || p.how == TOPM) {
                        const Body &y = m.b[p.body];
                        Poses D, DD;
                        Twists x;
                        bias_motion(m, T, S, v, D, DD, &x);
                        V3 w = x[p.body].w, al;
                        Pose R;
                        freetop(p.body, z, T[p.body], w, al, R);
                        Pose Z = lr(transpose(T[p.body]), R, unit_pose());
                        V3 l = logarithm(Z);
                        u[y.v] = l.x + 0.5 * tb.c[i] * z * gain[y.v] * 0, u[y.v + 1] = l.y, u[y.v + 2] = l.z;
                    }
            t.u[i] = u;
            t.x[i] = plus(m, q, u);
        }
        bool ok = solve(t, h);
        n.iterations += t.it;
        n.most = std::max(n.most, t.it);
        if (!ok) return false;
        int e = t.s - 1;
        Poses V1(np), A1(np), B1(np);
        vec r1(m.nv), a1, b1;
        for (size_t j = 0; j < np; j++) {
            Pose A2 = zero_pose(), B2 = A2;
            if (kind == RADAU) {
                V1[j] = zero_pose();
                for (int l = 0; l < s; l++) V1[j] = V1[j] + (tb.d[e][l] / h) * t.D[l][j];
            } else if (kind == ORDER2) V1[j] = (1 / h) * t.D[0][j];
            else {
                A2 = (1 / (be * h * h)) * (t.D[0][j] - P[j]);
                V1[j] = Vd[j] + h * ((1 - gm) * Ad[j] + gm * A2);
                B2 = (1 / (1 - af)) * ((1 - am) * A2 + am * Ad[j] - af * Bd[j]) + t.Q2[0][j];
                A2 = A2 + Q2e[j];
            }
            V1[j] = V1[j] + t.Q1[e][j];
            Pose qe = t.D[e][j] + t.Q0[e][j];
            if (t.fr && parts[j].fr) {
                A2 = second(t.F[e][j], qe, V1[j], A2), B2 = second(t.F[e][j], qe, V1[j], B2);
                V1[j] = first(t.F[e][j], qe, V1[j]);
            }
            A1[j] = A2, B1[j] = B2;
        }
        if (kind == ALPHA) {
            a1.resize(m.nv), b1.resize(m.nv);
            for (int k = 0; k < m.nv; k++) {
                a1[k] = (t.u[0][k] - Pj[k]) / (be * h * h);
                b1[k] = ((1 - am) * a1[k] + am * as[k] - af * b[k]) / (1 - af);
            }
        }
        for (int k = 0; k < m.nv; k++) {
            r1[k] = t.rc[e][k];
            for (int l = 0; l < t.s; l++) r1[k] += t.dr[e][l] * t.u[l][k];
        }
        if (f.unify && cure)
            for (size_t j = 1; j < np; j++)
                if (parts[j].body == parts[j - 1].body) V1[j] = V1[j - 1], A1[j] = A1[j - 1], B1[j] = B1[j - 1];
        double K = kinetic(V1) + rotors(r1), U = potential(m, t.x[e], t.Tn[e]), E1 = K + U, work = 0;
        for (auto &y : m.b)
            if (y.nv == 1) work += (y.tau + y.kd * y.target) * t.u[e][y.v];
        double rise = E1 - E - work, Kc = K;
        for (size_t i = 0; i < nb; i++)
            if (m.b[i].kind == TRANS) {
                V3 p = {0, 0, 0};
                double ms = 0;
                for (size_t j = 0; j < np; j++)
                    if (m.root_of(parts[j].body) == (int)i) p = p + partM(V1[j], parts[j]).c[3];
                for (size_t j = i; j < nb; j++)
                    if (m.root_of(j) == (int)i) ms += m.b[j].mass;
                Kc -= 0.5 * dot(p, p) / ms;
            }
        double slack = 1e-9 * (fabs(E1) + K + fabs(work));
        if (f.decided && kind == ORDER2 && M.kind == ORDER2 && f.perp && level > 0 && created + rise > slack) return false;
        if (f.law && cure && kind == ORDER2 && rise > slack) return false;
        if (test && f.guard) {
            double most = 0.25 * Kc;
            if (kind == RADAU) {
                double Ed = 0;
                for (size_t j = 0; j < np; j++) {
                    Pose D = Vd[j];
                    for (int l = 0; l < s; l++) D = D - (tb.e[l] / h) * t.D[l][j];
                    Part whole = parts[j];
                    if (j > 0 && parts[j - 1].body == parts[j].body) memcpy(whole.M, m.b[parts[j].body].M, sizeof whole.M);
                    Ed += 0.5 * inner(D, partM(D, whole));
                }
                most = std::min(sqrt(Kc * std::max(0.0, Ed)), 0.01 * Kc);
            }
            bool one = rise <= slack + most, run = rise <= slack || created + rise <= slack + 0.01 * Kc;
            if (!(one && run)) return false;
        }
        n.worst = std::max(n.worst, Kc > 0 ? rise / Kc : 0);
        if (rise > slack) n.rises++;
        vec vold = v, rold = r;
        Poses Vold = V;
        q = t.x[e], T = t.Tn[e], S = t.Sn[e];
        r = r1;
        V = V1;
        if (test || f.decided) created += rise;
        v = nearest(T, S, V, r);
        if (f.project || (kind == ORDER2 && M.kind == RADAU)) {
            rigid();
            for (auto &y : m.b)
                if (y.nv == 1) r[y.v] = v[y.v];
        }
        if (kind == ALPHA) A = A1, B = B1, a = a1, b = b1;
        else if (M.kind == ALPHA) {
            for (size_t j = 0; j < np; j++) A[j] = B[j] = (1 / h) * (V[j] - Vold[j]);
            a.resize(m.nv);
            for (int k = 0; k < m.nv; k++) a[k] = (r[k] - rold[k]) / h;
            b = a;
        }
        asize = h;
        for (int k = 0; k < m.nv; k++) {
            gain[k] = v[k] - vold[k];
            if (fabs(gain[k] * h) > 1) gain[k] = 0;
        }
        E = energy();
        n.steps++;
        return true;
    }
    bool advance(double h, int depth = 0)
    {
        bool g = M.kind != ORDER2, frames = f.frame != "plain" || f.mult || f.top, tree = f.tree || f.ctree;
        int base = frames ? 1 : 0;
        if (attempt(M.kind, M.s, tree ? 2 : base, h, g)) return true;
        if (f.decided && M.kind == ORDER2) {
            n.full++;
            f.perp = false;
            bool ok = attempt(ORDER2, 1, 1, h, false);
            f.perp = true;
            if (ok) return true;
        }
        if (tree) {
            n.plain++;
            if (attempt(M.kind, M.s, base, h, g)) return true;
        }
        if (M.kind == RADAU && M.s == 3) {
            n.fewer++;
            if (attempt(RADAU, 2, base, h, g)) return true;
        }
        if (g) {
            n.order2++;
            if (attempt(ORDER2, 1, base, h, false)) return true;
        }
        if (frames) {
            n.chords++;
            if (attempt(ORDER2, 1, 0, h, false)) return true;
        }
        n.unsolved++;
        if (depth > depth_limit) return false;
        n.half++;
        for (auto &x : gain) x = 0;
        return advance(h / 2, depth + 1) && advance(h / 2, depth + 1);
    }
};
