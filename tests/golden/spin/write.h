// Golden steps of the decided form, S: every solve at 1e-14, and once more at 1e-12.
static int write_golden(const char *folder)
{
    for (std::string c : {"spinup", "wheelarm", "wheelarm3", "gyro", "lagrange", "spinball", "top", "flip", "rover", "quad"}) {
        Model m;
        vec q, v;
        make(c, m, q, v);
        FILE *f = fopen((std::string(folder) + "/" + c + ".json").c_str(), "w");
        if (!f) return 1;
        fprintf(f, "{\"gravity\": [%.17g, %.17g, %.17g],\n \"bodies\": [\n", m.g.x, m.g.y, m.g.z);
        const char *kinds[] = {"hinge", "slide", "ball", "translation"};
        for (size_t i = 0; i < m.b.size(); i++) {
            auto &b = m.b[i];
            fprintf(f,
                    "  {\"parent\": %d, \"joint\": \"%s\", \"position\": [%.17g, %.17g, %.17g], \"axis\": [%.17g, %.17g, %.17g], "
                    "\"mass\": %.17g, \"com\": [%.17g, %.17g, %.17g], \"inertia_about_com\": [%.17g, %.17g, %.17g, %.17g, %.17g, "
                    "%.17g], \"damping\": %.17g, \"torque\": %.17g}%s\n",
                    b.parent, kinds[b.kind], b.X.c[3].x, b.X.c[3].y, b.X.c[3].z, b.axis.x, b.axis.y, b.axis.z, b.mass, b.com.x,
                    b.com.y, b.com.z, b.I[0], b.I[1], b.I[2], b.I[3], b.I[4], b.I[5], b.damping, b.tau,
                    i + 1 < m.b.size() ? "," : "");
        }
        fprintf(f, " ],\n \"runs\": [\n");
        bool first = true;
        int N = 10;
        bool carrier = c == "quad" || c == "rover";
        for (std::string form : {"S", "Sl+s"})
            if (form == "S" || carrier)
                for (std::string me : {"order2", "alpha0.2", "radau2", "radau3"})
                    for (double h : {0.01, 0.05}) {
                        std::vector<vec> Q, V;
                        double off = 0;
                        Counts n;
                        bool ok = true;
                        for (double t : {1e-12, 1e-14}) {
                            tolerance = t;
                            Sim s(m, method_of(me), Form(form), q, v);
                            for (int i = 0; i < N && ok; i++) {
                                ok = s.advance(h);
                                if (!ok) break;
                                if (t == 1e-12) Q.push_back(s.q), V.push_back(s.v);
                                else {
                                    for (int k = 0; k < m.nq; k++) off = std::max(off, fabs(Q[i][k] - s.q[k]));
                                    for (int k = 0; k < m.nv; k++)
                                        off = std::max(off, fabs(V[i][k] - s.v[k]) / (1 + fabs(s.v[k])));
                                    Q[i] = s.q;
                                    V[i] = s.v;
                                }
                            }
                            n = s.n;
                        }
                        bool kept = ok && !n.plain && !n.fewer && !n.order2 && !n.half && !n.full && off < 1e-9;
                        printf("%-10s %-5s %-9s %g: tolerances differ by %.1e%s\n", c.c_str(), form.c_str(), me.c_str(), h, off,
                               kept ? "" : "  LEFT OUT");
                        if (!kept) continue;
                        fprintf(f,
                                "%s  {\"method\": \"%s\", \"dt\": %g, \"form\": \"%s\", \"difference_between_tolerances\": %.1e, "
                                "\"steps\": [\n   {\"q\": ",
                                first ? "" : ",\n", me.c_str(), h, form.c_str(), off);
                        first = false;
                        list(f, q);
                        fprintf(f, ", \"v\": ");
                        list(f, v);
                        fprintf(f, "}");
                        for (size_t i = 0; i < Q.size(); i++) {
                            fprintf(f, ",\n   {\"q\": ");
                            list(f, Q[i]);
                            fprintf(f, ", \"v\": ");
                            list(f, V[i]);
                            fprintf(f, "}");
                        }
                        fprintf(f, "]}");
                    }
        fprintf(f, "\n ]}\n");
        fclose(f);
    }
    return 0;
}
