// The models and starts that the figures of DECISION.md are of.
#pragma once
#include "frames.h"
static Body bar(int parent, double l, double mass, V3 at, V3 axis, double thick = 0.02)
{
    Body b;
    b.parent = parent;
    b.X.c[3] = at;
    b.axis = axis;
    b.mass = mass;
    b.com = {l / 2, 0, 0};
    double t = mass * l * l / 12, s = mass * thick * thick / 2;
    b.I[0] = s;
    b.I[1] = b.I[2] = t + s / 2;
    return b;
}
static Body disc(int parent, V3 at, V3 axis, double mass, double It, double Ia)
{
    Body b;
    b.parent = parent;
    b.X.c[3] = at;
    b.axis = axis;
    b.mass = mass;
    b.I[0] = axis.x != 0 ? Ia : It;
    b.I[1] = axis.y != 0 ? Ia : It;
    b.I[2] = axis.z != 0 ? Ia : It;
    return b;
}
static Body ball(double mass, V3 com, double a, double b, double c)
{
    Body y;
    y.kind = BALL;
    y.mass = mass;
    y.com = com;
    y.I[0] = a, y.I[1] = b, y.I[2] = c;
    return y;
}
static void read_model(const char *name, Model &m, vec &q, vec &v)
{
    FILE *f = fopen(name, "r");
    if (!f) {
        fprintf(stderr, "no %s\n", name);
        exit(2);
    }
    int n;
    auto d = [&] {
        double x;
        if (fscanf(f, "%lf", &x) != 1) exit(3);
        return x;
    };
    m.g = {d(), 0, 0};
    m.g.y = d(), m.g.z = d();
    n = (int)d();
    std::vector<int> id(n);
    for (int i = 0; i < n; i++) {
        Body b;
        int p = (int)d();
        b.parent = p < 0 ? -1 : id[p];
        b.kind = (int)d();
        for (int c = 0; c < 4; c++) { b.X.c[c].x = d(), b.X.c[c].y = d(), b.X.c[c].z = d(); }
        b.axis.x = d(), b.axis.y = d(), b.axis.z = d();
        b.mass = d();
        b.com.x = d(), b.com.y = d(), b.com.z = d();
        for (int c = 0; c < 6; c++) b.I[c] = d();
        b.damping = d(), b.armature = d(), b.stiffness = d(), b.rest = d();
        id[i] = m.add(b);
    }
    q.resize(m.nq), v.resize(m.nv);
    for (auto &x : q) x = d();
    for (auto &x : v) x = d();
    m.scale = 0.1;
    fclose(f);
}
static void make(std::string c, Model &m, vec &q, vec &v)
{
    auto state = [&] {
        q.assign(m.nq, 0);
        v.assign(m.nv, 0);
        for (auto &b : m.b)
            if (b.kind == BALL) q[b.q] = 1;
    };
    int n = 0;
    char k;
    if (c == "flywheel" || c == "spinup" || c == "servo" || c == "spin500") {
        Body w = disc(-1, {0, 0, 0}, {0, 0, 1}, 2, 0.01, 0.02);
        if (c == "spinup") w.tau = 1, w.damping = 0.01;
        if (c == "servo") w.kd = 0.05, w.target = 60;
        m.add(w);
        m.scale = 0.02;
        state();
        if (c == "flywheel") v[0] = 30;
        if (c == "spin500") v[0] = 500;
    } else if (c == "prop1" || c == "prop1up") {
        Body w;
        w.axis = {0, 0, 1};
        w.mass = 0.05;
        w.I[0] = 4e-4, w.I[1] = 2e-5, w.I[2] = 4.2e-4;
        if (c == "prop1up") w.tau = 0.042, w.damping = 4.2e-4;
        m.add(w);
        m.scale = 4e-4;
        state();
        if (c == "prop1") v[0] = 100;
    }  // two blades, fixed axis
    else if (c == "bolt") {
        Body w;
        w.axis = {0, 1, 0};
        w.mass = 2;
        w.com = {0.01, 0, 0.005};
        w.I[0] = 0.011, w.I[1] = 0.02, w.I[2] = 0.01;
        w.I[3] = 0.0003;
        m.add(w);
        m.scale = 0.02;
        state();
        v[0] = 60;
    }  // a wheel with something bolted on, horizontal axis, gravity
    else if (c == "boltarm") {
        m.add(bar(-1, 0.5, 1, {0, 0, 0}, {0, 1, 0}));
        Body w = disc(0, {0.5, 0.05, 0}, {0, 1, 0}, 0.5, 0.002, 0.004);
        w.com = {0.003, 0, 0.002};
        w.I[0] = 0.0022;
        w.I[3] = 5e-5;
        m.add(w);
        m.scale = 0.3;
        state();
        v[1] = 60;
    } else if (c == "planet") {
        Body w = disc(-1, {0, 0, 0}, {0, 1, 0}, 2, 0.01, 0.02);
        m.add(w);
        Body p = disc(0, {0.05, 0, 0}, {0, 1, 0}, 0.3, 2e-4, 4e-4);
        m.add(p);
        m.scale = 0.02;
        m.g = {0, 0, 0};
        state();
        v[0] = 30;
        v[1] = -60;
    }  // a wheel that carries a wheel
    else if (c == "roll") {
        Body b;
        b.kind = RACK;
        b.radius = 0.1;
        b.mass = 3.35;
        b.I[0] = b.I[1] = b.I[2] = 0.4 * b.mass * 0.01;
        m.add(b);
        m.g = {9.81 * sin(M_PI / 12), 0, -9.81 * cos(M_PI / 12)};
        m.scale = 0.04;
        state();
    } else if (c == "spinaxis" || c == "tumble") {
        Body b;
        b.kind = FREE;
        b.mass = 1;
        b.I[0] = 0.02, b.I[1] = 0.05, b.I[2] = 0.06;
        m.add(b);
        m.g = {0, 0, 0};
        m.scale = 0.06;
        state();
        if (c == "spinaxis") v = {0, 0, 0, 0.05, 0.05, 8};
        else v = {0, 0, 0, 0.05, 8, 0.05};
    } else if (c == "top" || c == "flip" || c == "rod") {
        Body b;
        b.kind = FREE;
        b.mass = 1;
        if (c == "top") b.I[0] = b.I[1] = 1, b.I[2] = 2;
        if (c == "flip") b.I[0] = 1, b.I[1] = 2, b.I[2] = 2.5;
        if (c == "rod") b.I[0] = 0.1, b.I[1] = b.I[2] = 2;
        m.add(b);
        m.g = {0, 0, 0};
        m.scale = 2;
        state();
        if (c == "top") v = {0, 0, 0, 2, 0, 10};
        if (c == "flip") v = {0, 0, 0, 0.5, 8, 0.5};
        if (c == "rod") v = {0, 0, 0, 40, 3, 0};
    } else if (c == "pushtop") {
        Body b;
        b.kind = FREE;
        b.mass = 1;
        b.I[0] = 0.01, b.I[1] = 0.01, b.I[2] = 0.02;
        b.com = {0, 0, 0.0};
        int t = m.add(b);
        (void)t;
        m.g = {0, 0, 0};
        m.scale = 0.02;
        state();
        v = {0, 0, 0, 0.5, 0, 60};
        for (auto &y : m.b)
            if (y.kind == BALL) y.damping = 0.002;
    }  // free top that a damper brakes
    else if (c == "gyro") {
        Body y = disc(-1, {0, 0, 0}, {0, 0, 1}, 0.1, 1e-4, 1e-4);
        m.add(y);
        Body p = disc(0, {0, 0, 0}, {0, 1, 0}, 0.1, 1e-4, 1e-4);
        m.add(p);
        Body w = disc(1, {0.1, 0, 0}, {1, 0, 0}, 1, 0.0025, 0.005);
        m.add(w);
        m.scale = 0.02;
        state();
        v[2] = 100;
        v[0] = 9.81 * 0.1 / (0.005 * 100);
        q[1] = 0.2;
    } else if (c == "cardan") {
        Body y = disc(-1, {0, 0, 0}, {0, 0, 1}, 0.05, 5e-5, 5e-5);
        m.add(y);
        Body p = disc(0, {0, 0, 0}, {0, 1, 0}, 0.05, 5e-5, 5e-5);
        m.add(p);
        Body w = disc(1, {0, 0, 0}, {1, 0, 0}, 1, 0.0026, 0.005);
        m.add(w);
        m.scale = 0.005;
        state();
        v[2] = 300;
        v[0] = 2;
        v[1] = 1;
        q[1] = 0.2;
    }  // balanced, nutates fast
    else if (c == "lagrange") {
        Body b = ball(0.5, {0, 0, 0.06}, 4e-4, 4e-4, 7e-4);
        m.add(b);
        m.scale = 0.002;
        state();
        double a = 0.25;
        q[0] = cos(a), q[1] = sin(a);
        v[2] = 120;
    }  // heavy top on its tip
    else if (c == "balltop") {
        Body b = ball(1, {0, 0, 0}, 4e-3, 4e-3, 4e-3);
        m.add(b);
        m.scale = 0.004;
        m.b[0].damping = 4e-4;
        state();
        v = {3, 0, 60};
    } else if (c == "spinball") {
        m.add(bar(-1, 0.4, 1, {0, 0, 0}, {0, 1, 0}));
        Body b = ball(0.5, {0, 0, 0}, 1e-3, 1e-3, 1e-3);
        b.parent = 0;
        b.X.c[3] = {0.4, 0, 0};
        m.add(b);
        m.scale = 0.2;
        state();
        v[1] = 20, v[2] = 60, v[3] = 5;
    }  // a sphere that spins in a socket at the end of an arm
    else if (c == "wheelarm") {
        m.add(bar(-1, 0.5, 1, {0, 0, 0}, {0, 1, 0}));
        Body w = disc(0, {0.5, 0, 0}, {0, 1, 0}, 0.5, 0.002, 0.004);
        m.add(w);
        m.scale = 0.3;
        state();
        v[1] = 60;
    } else if (c == "wheelarm3") {
        Body u = bar(-1, 0.3, 0.7, {0, 0, 0}, {0, 0, 1});
        m.add(u);
        Body a = bar(0, 0.4, 1, {0.3, 0, 0}, {0, 1, 0});
        m.add(a);
        Body w = disc(1, {0.4, 0.05, 0}, {0, 1, 0}, 0.5, 0.002, 0.004);
        m.add(w);
        m.scale = 0.3;
        state();
        v[0] = 1, v[2] = 60;
    } else if (c == "prop" || c == "prop80") {
        m.add(bar(-1, 0.4, 0.5, {0, 0, 0}, {0, 1, 0}));
        Body w;
        w.parent = 0;
        w.X.c[3] = {0.4, 0, 0};
        w.axis = {1, 0, 0};
        w.mass = 0.05;
        w.I[0] = 4.2e-4, w.I[1] = 4e-4, w.I[2] = 2e-5;
        m.add(w);
        m.scale = 0.1;
        state();
        v[1] = c == "prop" ? 100 : 80;
        q[0] = 0.5;
    } else if (c == "whirl") {
        m.add(bar(-1, 0.5, 1, {0, 0, 0}, {0, 0, 1}));
        m.scale = 0.1;
        state();
        v[0] = 20;
    } else if (c == "whirl2") {
        m.add(bar(-1, 0.3, 1, {0, 0, 0}, {0, 0, 1}));
        m.add(bar(0, 0.3, 0.5, {0.3, 0, 0}, {0, 1, 0}));
        m.scale = 0.1;
        state();
        v[0] = 20;
        m.b[1].damping = 0.02;
    }  // flyball governor
    else if (c == "quad" || c == "quadfree") {
        Body t;
        t.kind = FREE;
        t.mass = 1;
        t.I[0] = t.I[1] = 0.008, t.I[2] = 0.014;
        int r = m.add(t);
        for (int i = 0; i < 4; i++) {
            Body w = disc(r, {i % 2 ? 0.17 : -0.17, i / 2 ? 0.17 : -0.17, 0.03}, {0, 0, 1}, 0.02, 1.5e-5, 3e-5);
            m.add(w);
        }
        m.g = {0, 0, 0};
        m.scale = 0.01;
        state();
        double s[4] = {1, -1, -1, 1};
        v[3] = 2, v[4] = -1, v[5] = 3;
        for (int i = 0; i < 4; i++) v[6 + i] = (c == "quad" ? 600 : 590 + 20 * i) * s[i];
    } else if (c == "rover") {
        Body t;
        t.kind = FREE;
        t.mass = 10;
        t.I[0] = 0.1, t.I[1] = 0.3, t.I[2] = 0.35;
        t.com = {0.02, 0, 0.05};
        int r = m.add(t);
        for (int i = 0; i < 4; i++) {
            Body w = disc(r, {i % 2 ? 0.25 : -0.25, i / 2 ? 0.2 : -0.2, 0}, {0, 1, 0}, 0.8, 0.002, 0.004);
            m.add(w);
        }
        m.g = {0, 0, 0};
        m.scale = 0.3;
        state();
        v[0] = 10;
        v[5] = 0.5;
        v[3] = 0.2;
        for (int i = 0; i < 4; i++) v[6 + i] = 100;
    } else if (c == "wheelie") {
        Body t;
        t.kind = FREE;
        t.mass = 3;
        t.I[0] = 0.02, t.I[1] = 0.05, t.I[2] = 0.05;
        int r = m.add(t);
        for (int i = 0; i < 2; i++) {
            Body w = disc(r, {i ? 0.25 : -0.25, 0, 0}, {0, 1, 0}, 0.8, 0.002, 0.004);
            w.damping = 1e-3;
            if (i) w.tau = 0.2;
            m.add(w);
        }
        m.g = {0, 0, 0};
        m.scale = 0.05;
        state();
        for (int i = 0; i < 2; i++) v[6 + i] = 100;
        v[5] = 1;
    } else if (sscanf(c.c_str(), "chain%d%c", &n, &k) >= 1) {
        double L = 2.0;
        bool arc = c.find('a', 5) != std::string::npos, d3 = c.find('u') != std::string::npos;
        for (int i = 0; i < n; i++)
            m.add(bar(i - 1, L / n, 1.0 / n, {i ? L / n : 0, 0, 0}, d3 && i % 2 ? V3{0, 0, 1} : V3{0, 1, 0}));
        m.scale = 1;
        state();
        if (arc)
            for (int i = 1; i < n; i++) q[i] = 0.9 / (n - 1);
        if (d3)
            for (int i = 1; i < n; i += 2) q[i] = 0.1;
    } else if (sscanf(c.c_str(), "ballchain%d", &n) == 1) {
        double L = 2.0;
        for (int i = 0; i < n; i++) {
            Body b = bar(i - 1, L / n, 1.0 / n, {i ? L / n : 0, 0, 0}, {0, 1, 0});
            b.kind = BALL;
            m.add(b);
        }
        m.scale = 1;
        state();
        for (auto &b : m.b) v[b.v + 2] = 0.3;
    } else if (sscanf(c.c_str(), "rand%d", &n) == 1 || sscanf(c.c_str(), "ecc%d", &n) == 1 ||
               sscanf(c.c_str(), "asy%d", &n) == 1 || sscanf(c.c_str(), "off%d", &n) == 1) {
        srand(n);
        auto U = [](double a, double b) { return a + (b - a) * rand() / RAND_MAX; };
        auto unit = [&] {
            V3 a = {U(-1, 1), U(-1, 1), U(-1, 1)};
            return (1 / norm(a)) * a;
        };
        int arms = 1 + n % 3;
        if (n % 4 == 3) {
            Body t;
            t.kind = FREE;
            t.mass = 2;
            t.I[0] = 0.02, t.I[1] = 0.03, t.I[2] = 0.04;
            m.add(t);
        }
        int at = (int)m.b.size() - 1;
        for (int i = 0; i < arms; i++) {
            Body b = bar(at, U(0.1, 0.4), U(0.2, 1), {i ? 0.25 : 0.1, 0, 0}, unit(), 0.05);
            m.add(b);
            at = m.b.size() - 1;
        }
        for (int i = 0; i < 1 + n % 2; i++) {
            Body w;
            w.parent = at;
            w.axis = unit();
            w.X.c[3] = {U(0.1, 0.4), U(-0.1, 0.1), U(-0.1, 0.1)};
            w.mass = U(0.1, 1);
            double r = U(0.02, 0.12), Ia = w.mass * r * r / 2, It = Ia * U(0.5, 0.9);
            double a[3] = {w.axis.x, w.axis.y, w.axis.z};
            w.I[0] = It + (Ia - It) * a[0] * a[0], w.I[1] = It + (Ia - It) * a[1] * a[1], w.I[2] = It + (Ia - It) * a[2] * a[2],
            w.I[3] = (Ia - It) * a[0] * a[1], w.I[4] = (Ia - It) * a[0] * a[2], w.I[5] = (Ia - It) * a[1] * a[2];
            if (c[0] == 'a') w.I[0] += 0.3 * It, w.I[1] -= 0.1 * It, w.I[3] += 0.05 * It;
            if (c[0] == 'o') {
                V3 o = cross(w.axis, unit());
                w.com = (0.2 * r * U(0, 1) / norm(o)) * o;
            }
            if (c[0] == 'e') {
                V3 o = cross(w.axis, unit());
                w.com = (0.2 * r * U(0, 1) / norm(o)) * o;
                w.I[0] += 0.1 * It, w.I[3] += 0.05 * It;
            }
            m.add(w);
        }
        m.scale = 0.1;
        state();
        for (auto &x : v) x = U(-2, 2);
        for (int i = 0; i < 1 + n % 2; i++) v[m.nv - 1 - i] = U(20, 300) * (rand() % 2 ? 1 : -1);
    } else if (c == "flyer") {
        Body t;
        t.kind = FREE;
        t.mass = 2;
        t.I[0] = 0.03, t.I[1] = 0.035, t.I[2] = 0.018;
        t.com = {-0.05, 0.03, -0.02};
        int r = m.add(t);
        Body a = bar(r, 0.35, 1, {0.15, 0.2, 0}, {0.28, 0, 0.96});
        int i = m.add(a);
        m.add(bar(i, 0.3, 0.4, {0.35, 0, 0}, {0.8, 0.6, 0}));
        Body l = bar(r, 0.4, 0.8, {-0.1, -0.1, -0.2}, {0, 1, 0});
        l.kind = BALL;
        l.I[0] = 0.004;
        int j = m.add(l);
        m.add(bar(j, 0.35, 0.5, {0.4, 0, 0}, {0, 1, 0}));
        m.scale = 0.5;
        state();
        v = {0.5, -0.3, 1.2, 1, -2, 3, 1.5, 0.6, -0.9, 1.1, -1.3, 2};
        q[m.b[2].q] = 0.4;
    } else read_model(c.c_str(), m, q, v);
}
