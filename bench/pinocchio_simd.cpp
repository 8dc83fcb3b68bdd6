/// The worker that measures Pinocchio over a scalar of LANES doubles: as many states a call. Pinocchio does not ship this, but
/// its templates allow it, and it is the strongest form of it on a CPU.
#include <cmath>
#include <Eigen/Core>
#include <limits>
#include <ostream>

#ifndef LANES
#define LANES 4
#endif

typedef double lanes_double __attribute__((vector_size(8 * LANES)));

/// One number of LANES states. Pinocchio's algorithms branch on no number, so that comparing first lanes is enough to compile.
struct Pack {
    lanes_double x;
    Pack() {}
    Pack(double d) { x = d - lanes_double{}; }
    explicit Pack(lanes_double v) : x(v) {}
    explicit operator double() const { return x[0]; }
    Pack operator-() const { return Pack(-x); }
    Pack operator+() const { return *this; }
    Pack &operator+=(const Pack &b) { return x += b.x, *this; }
    Pack &operator-=(const Pack &b) { return x -= b.x, *this; }
    Pack &operator*=(const Pack &b) { return x *= b.x, *this; }
    Pack &operator/=(const Pack &b) { return x /= b.x, *this; }
};

#define ARITHMETIC(op)                                                                                                           \
    inline Pack operator op(const Pack &a, const Pack &b) { return Pack(a.x op b.x); }
ARITHMETIC(+)
ARITHMETIC(-)
ARITHMETIC(*)
ARITHMETIC(/)

#define COMPARISON(op)                                                                                                           \
    inline bool operator op(const Pack &a, const Pack &b) { return a.x[0] op b.x[0]; }
COMPARISON(<)
COMPARISON(>)
COMPARISON(<=)
COMPARISON(>=)
COMPARISON(==)
COMPARISON(!=)

#define FUNCTION(f)                                                                                                              \
    inline Pack f(const Pack &a)                                                                                                 \
    {                                                                                                                            \
        Pack r;                                                                                                                  \
        for (int l = 0; l < LANES; l++) r.x[l] = std::f(a.x[l]);                                                                 \
        return r;                                                                                                                \
    }
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(tan)
FUNCTION(asin)
FUNCTION(acos)
FUNCTION(atan)
FUNCTION(sqrt)
FUNCTION(exp)
FUNCTION(log)
FUNCTION(fabs)
FUNCTION(floor)
FUNCTION(ceil)
FUNCTION(abs)

#define FUNCTION2(f)                                                                                                             \
    inline Pack f(const Pack &a, const Pack &b)                                                                                  \
    {                                                                                                                            \
        Pack r;                                                                                                                  \
        for (int l = 0; l < LANES; l++) r.x[l] = std::f(a.x[l], b.x[l]);                                                         \
        return r;                                                                                                                \
    }
FUNCTION2(atan2)
FUNCTION2(pow)

inline Pack abs2(const Pack &a) { return a * a; }
inline bool isfinite(const Pack &a) { return std::isfinite(a.x[0]); }
inline std::ostream &operator<<(std::ostream &out, const Pack &a) { return out << a.x[0]; }

namespace std
{
template <> struct numeric_limits<Pack> : numeric_limits<double> {
    static Pack epsilon() { return numeric_limits<double>::epsilon(); }
    static Pack min() { return numeric_limits<double>::min(); }
    static Pack max() { return numeric_limits<double>::max(); }
    static Pack lowest() { return numeric_limits<double>::lowest(); }
    static Pack infinity() { return numeric_limits<double>::infinity(); }
    static Pack quiet_NaN() { return numeric_limits<double>::quiet_NaN(); }
};
}  // namespace std

namespace Eigen
{
template <> struct NumTraits<Pack> : NumTraits<double> {
    typedef Pack Real, NonInteger, Nested, Literal;
    enum { IsComplex = 0, IsInteger = 0, IsSigned = 1, RequireInitialization = 0, ReadCost = 1, AddCost = 1, MulCost = 1 };
    static Pack epsilon() { return NumTraits<double>::epsilon(); }
    static Pack dummy_precision() { return NumTraits<double>::dummy_precision(); }
    static Pack highest() { return NumTraits<double>::highest(); }
    static Pack lowest() { return NumTraits<double>::lowest(); }
    static Pack infinity() { return NumTraits<double>::infinity(); }
    static Pack quiet_NaN() { return NumTraits<double>::quiet_NaN(); }
};
}  // namespace Eigen

#include <pinocchio/math.hpp>

// glibc's vector mathematics
extern "C" {
#if LANES == 8
lanes_double _ZGVeN8v_sin(lanes_double);
lanes_double _ZGVeN8v_cos(lanes_double);
#define VECTOR_SIN _ZGVeN8v_sin
#define VECTOR_COS _ZGVeN8v_cos
#else
lanes_double _ZGVdN4v_sin(lanes_double);
lanes_double _ZGVdN4v_cos(lanes_double);
#define VECTOR_SIN _ZGVdN4v_sin
#define VECTOR_COS _ZGVdN4v_cos
#endif
}

namespace pinocchio
{
template <> struct SINCOSAlgo<Pack> {
    static void run(const Pack &a, Pack *s, Pack *c) { s->x = VECTOR_SIN(a.x), c->x = VECTOR_COS(a.x); }
};
}  // namespace pinocchio

inline double &lane(Pack &p, int l) { return reinterpret_cast<double *>(&p.x)[l]; }

#include "pinocchio_worker.hpp"

int main(int argc, char **argv) { return worker::Peer<Pack, LANES>::main(argc, argv); }
