// usage: spin run CASE METHOD FORM DT SECONDS [ref]      one line of figures
//        spin steps CASE METHOD FORM DT NUMBER           q and v of every step, 17 digits
//        spin golden OUTFOLDER                           writes the golden files
#include "cases.h"
#include <ctime>
static double tip_error(const Model &m, const vec &q, const vec &p)
{
    Poses A, B;
    Twists X;
    kinematics(m, q, A, X);
    kinematics(m, p, B, X);
    double err = 0;
    for (size_t b = 0; b < A.size(); b++) {
        double l = m.b[b].mass > 0 ? 2 * m.b[b].com.x : 0;
        V3 e = {l, 0, 0};
        err = std::max(err, norm(mul(A[b], e) + A[b].c[3] - mul(B[b], e) - B[b].c[3]));
    }
    return err;
}
static double turn_error(const Model &m, const vec &q, const vec &p)
{
    Poses A, B;
    Twists X;
    kinematics(m, q, A, X);
    kinematics(m, p, B, X);
    double err = 0;
    for (size_t b = 0; b < A.size(); b++) {
        double t = 0;
        for (int c = 0; c < 3; c++) t += dot(A[b].c[c], B[b].c[c]);
        err = std::max(err, acos(std::max(-1.0, std::min(1.0, (t - 1) / 2))));
    }
    return err;
}
static void exact(const std::string &name, const Model &m, vec &q, vec &v, double T)
{
    char path[200];
    std::string s = name;
    for (auto &c : s)
        if (c == '/') c = '_';
    snprintf(path, sizeof path, "spin-ref-%s-%g", s.c_str(), T);
    FILE *f = fopen(path, "r");
    if (f) {
        bool ok = true;
        for (auto &x : q) ok &= fscanf(f, "%lf", &x) == 1;
        for (auto &x : v) ok &= fscanf(f, "%lf", &x) == 1;
        fclose(f);
        if (ok) return;
    }
    double fast = 1;
    for (double x : v) fast = std::max(fast, fabs(x));
    double step = std::min(2e-4, 0.004 / fast);
    if (m.b.size() >= 10) step = 1e-4;
    long R = (long)ceil(T / step);
    for (long j = 0; j < R; j++) rk4(m, q, v, T / R);
    f = fopen(path, "w");
    for (double x : q) fprintf(f, "%.17g ", x);
    for (double x : v) fprintf(f, "%.17g ", x);
    fclose(f);
}
static void list(FILE *f, const vec &x)
{
    fprintf(f, "[");
    for (size_t i = 0; i < x.size(); i++) fprintf(f, "%s%.17g", i ? ", " : "", x[i]);
    fprintf(f, "]");
}
#include "write.h"
int main(int n, char **a)
{
    std::string mode = n > 1 ? a[1] : "";
    if (mode == "golden" && n > 2) return write_golden(a[2]);
    if (n < 7) {
        fprintf(stderr, "usage: see spin.cc\n");
        return 2;
    }
    Model m;
    vec q, v;
    make(a[2], m, q, v);
    double h = atof(a[5]);
    if (getenv("TOLERANCE")) tolerance = atof(getenv("TOLERANCE"));
    Sim s(m, method_of(a[3]), Form(a[4]), q, v);
    if (mode == "steps") {
        for (int i = 0; i < atoi(a[6]); i++) {
            if (!s.advance(h)) {
                printf("dead\n");
                return 0;
            }
            for (double x : s.q) printf("%.17g ", x);
            for (double x : s.v) printf("%.17g ", x);
            printf("\n");
        }
        return 0;
    }
    double T = atof(a[6]);
    int N = (int)round(T / h);
    double E0 = s.E, J0 = energy_joint(m, q, v), top = -1e300;
    bool ok = true;
    V3 L0 = angular_momentum(m, q, v);
    int i;
    clock_t c0 = clock();
    for (i = 0; i < N && ok; i++) {
        ok = s.advance(h);
        if (!std::isfinite(s.E)) ok = false;
        if (s.m.b[0].tau == 0) top = std::max(top, s.E - E0);
        if (clock() - c0 > 100 * CLOCKS_PER_SEC) {
            printf("(cut) ");
            break;
        }
    }
    double sec = (double)(clock() - c0) / CLOCKS_PER_SEC;
    printf("%-9s %-8s %-8s %-5g %s v=", a[2], a[3], a[4], h, ok ? "ok" : "DEAD");
    for (int k = 0; k < m.nv; k++)
        if (m.nv <= 4 || k >= m.nv - 4) printf("%.6g ", s.v[k]);
    V3 L = angular_momentum(m, s.q, s.v);
    printf("dE/E0 %.2e top %.1e L %.6f it %.2f/%ld back %ld/%ld/%ld/%ld/%ld rises %ld %.0e full %ld",
           (energy_joint(m, s.q, s.v) - J0), top, norm(L0) > 0 ? norm(L) / norm(L0) : 0,
           (double)s.n.iterations / std::max(1L, s.n.steps), s.n.most, s.n.plain, s.n.fewer, s.n.order2, s.n.chords, s.n.half,
           s.n.rises, s.n.worst, s.n.full);
    if (n > 7) {
        exact(a[2], m, q, v, T);
        double dv = 0;
        for (int k = 0; k < m.nv; k++) dv = std::max(dv, fabs(v[k] - s.v[k]));
        printf(" err %.2e turn %.2e dv %.2e", tip_error(m, q, s.q), turn_error(m, q, s.q), dv);
    }
    printf(" [%.2fs]\n", sec);
}
