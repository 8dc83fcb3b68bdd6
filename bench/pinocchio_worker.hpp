/// Pinocchio as a worker, over any scalar: `lanes` states in one call. The templates are instantiated here, not taken from the
/// library of the wheel, which is built for the plainest x86-64.
///
///     WORKER MODELS
///     eval MODEL ALGORITHM FRAMES STATES FILE    results of the first STATES states into FILE, in Pinocchio's conventions
///     dynamics MODEL ALGORITHM FRAMES SECONDS    ns a state
///
/// FRAMES, that the algorithm works in: local or world.
#pragma once
#include "bench.h"

#include <fstream>
#include <memory>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/multibody/joint.hpp>
#include <string>
#include <vector>

namespace worker
{
using namespace pinocchio;

/// The text that models.py writes: the number of links, then for each: parent, joint, two axes, the frame of the joint in the
/// parent's (R by rows, p), mass, centre of mass, inertia about it by rows.
inline bool read_model(const std::string &path, Model &model)
{
    std::ifstream file(path);
    int links = 0;
    file >> links;
    for (int i = 0; i < links; i++) {
        int parent;
        std::string type;
        Eigen::Vector3d a, b, p, com;
        Eigen::Matrix<double, 3, 3, Eigen::RowMajor> R, I;
        double mass;
        const auto read = [&file](double *x, int n) {
            for (int k = 0; k < n; k++) file >> x[k];
        };
        file >> parent >> type;
        read(a.data(), 3), read(b.data(), 3), read(R.data(), 9), read(p.data(), 3);
        read(&mass, 1), read(com.data(), 3), read(I.data(), 9);

        // an axis along a coordinate has a joint of its own, which is faster
        JointModel joint;
        const bool x = a == Eigen::Vector3d::UnitX(), y = a == Eigen::Vector3d::UnitY(), z = a == Eigen::Vector3d::UnitZ();
        if (type == "revolute") {
            if (x) joint = JointModelRX();
            else if (y) joint = JointModelRY();
            else if (z) joint = JointModelRZ();
            else joint = JointModelRevoluteUnaligned(a);
        } else if (type == "universal") {
            joint = JointModelUniversal(a, b);
        } else if (type == "ball") {
            joint = JointModelSpherical();
        } else if (type == "free") {
            joint = JointModelFreeFlyer();
        } else {
            return false;
        }
        const JointIndex id = model.addJoint(JointIndex(parent + 1), joint, SE3(R, p), "joint" + std::to_string(i));
        model.appendBodyToJoint(id, Inertia(mass, com, I), SE3::Identity());
    }
    return bool(file) && links > 0;
}

/// Lane `l` of a number; a plain double has one.
inline double &lane(double &x, int) { return x; }

template <class Scalar, int lanes> struct Peer {
    typedef Eigen::Matrix<Scalar, Eigen::Dynamic, 1> Vector;
    typedef ModelTpl<Scalar> ModelS;
    typedef DataTpl<Scalar> DataS;

    std::string folder, name;
    std::unique_ptr<ModelS> model;
    std::unique_ptr<DataS> data;
    std::vector<Vector> q, v, a, tau;  // a pack of `lanes` states each

    static void pack(std::vector<Vector> &to, const double *rows, int count, int n)
    {
        to.assign(size_t(count / lanes), Vector(n));
        for (int i = 0; i < count / lanes * lanes; i++)
            for (int k = 0; k < n; k++) lane(to[size_t(i / lanes)][k], i % lanes) = bench_row(rows, i, n)[k];
    }

    bool load(const std::string &wanted)
    {
        if (wanted == name) return true;
        name.clear(), data.reset(), model.reset();
        Model read;
        bench_states states = {};
        if (!read_model(folder + "/" + wanted + ".txt", read)) return printf("error %s.txt: not read", wanted.c_str()), false;
        if (!bench_states_load(&states, (folder + "/" + wanted + ".pinocchio.states").c_str()))
            return printf("error %s.pinocchio.states: not read", wanted.c_str()), false;
        model.reset(new ModelS(read.template cast<Scalar>()));
        data.reset(new DataS(*model));
        pack(q, states.q, states.count, states.nq), pack(v, states.v, states.count, states.nv);
        pack(a, states.a, states.count, states.nv), pack(tau, states.tau, states.count, states.nv);
        free(states.numbers);
        name = wanted;
        return true;
    }

    void evaluate(bench_algorithm which, Convention frames, size_t i)
    {
        switch (which) {
        case BENCH_ABA: aba(*model, *data, q[i], v[i], tau[i], frames); break;
        case BENCH_RNEA: rnea(*model, *data, q[i], v[i], a[i]); break;
        default: crba(*model, *data, q[i], frames); break;
        }
    }

    void eval(bench_algorithm which, Convention frames, size_t count, const char *path)
    {
        const int nv = model->nv;
        std::vector<double> out;
        for (size_t i = 0; i < count; i++) {
            const int l = int(i % lanes);
            if (l == 0) evaluate(which, frames, i / lanes);
            if (which == BENCH_CRBA)  // its upper triangle
                for (int r = 0; r < nv; r++)
                    for (int c = 0; c < nv; c++) out.push_back(lane(data->M(r < c ? r : c, r < c ? c : r), l));
            else
                for (int k = 0; k < nv; k++) out.push_back(lane(which == BENCH_ABA ? data->ddq[k] : data->tau[k], l));
        }
        printf(bench_write(path, out.data(), out.size()) ? "ok states %zu" : "error results not written (%zu states)", count);
    }

    /// Rotates over the pool of states.
    struct Sweep {
        Peer *peer;
        bench_algorithm which;
        Convention frames;
        size_t at;

        static void run(void *self)
        {
            Sweep *s = static_cast<Sweep *>(self);
            DataS &d = *s->peer->data;
            s->peer->evaluate(s->which, s->frames, s->at);
            bench_sink = lane(s->which == BENCH_ABA ? d.ddq[0] : s->which == BENCH_RNEA ? d.tau[0] : d.M(0, 0), 0);
            if (++s->at == s->peer->q.size()) s->at = 0;
        }
    };

    void dynamics(bench_algorithm which, Convention frames, double seconds)
    {
        Sweep sweep = {this, which, frames, 0};
        const bench_job job = {nullptr, Sweep::run, &sweep, lanes};
        bench_time(&job, seconds);
    }

    static Peer &the()
    {
        static Peer peer;
        return peer;
    }

    static void answer(int n, char **w)
    {
        Peer &p = the();
        if (n < 2 || !p.load(w[1])) return void(n < 2 && printf("error '%s': a model is missing", w[0]));
        const bench_algorithm which = n > 2 ? bench_algorithm_from(w[2]) : BENCH_ALGORITHMS;
        const Convention frames = n > 3 && !strcmp(w[3], "world") ? Convention::WORLD : Convention::LOCAL;
        if (!strcmp(w[0], "eval") && n == 6 && which != BENCH_ALGORITHMS) p.eval(which, frames, size_t(atoi(w[4])), w[5]);
        else if (!strcmp(w[0], "dynamics") && n == 5 && which != BENCH_ALGORITHMS) p.dynamics(which, frames, atof(w[4]));
        else printf("error request '%s' not understood", w[0]);
    }

    static int main(int argc, char **argv)
    {
        if (argc != 2) return fprintf(stderr, "usage: %s MODELS\n", argv[0]), 2;
        the().folder = argv[1];
        bench_serve(answer);
        return 0;
    }
};
}  // namespace worker
