/// Widgets. All that is C++ of the viewer is here.
#include "render/view/panel.h"

extern "C" {
#include "render/draw/font.h"
#include "render/draw/marks.h"
#include "render/view/words.h"
#include "sim/base/config.h"
}

#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>
#include <catena/contact.h>
#include <imgui.h>
#include <math.h>
#include <stdio.h>

static float letter;  // units, the size of the font

bool panel_create(void *glfw_window, double scale)
{
    letter = (float)round(15 * scale);
    IMGUI_CHECKVERSION();
    ImGui::CreateContext();
    ImGui::StyleColorsDark();
    ImGui::GetIO().IniFilename = nullptr;
    ImFontConfig font;
    font.FontDataOwnedByAtlas = false;
    ImGui::GetIO().Fonts->AddFontFromMemoryTTF((void *)font_file, (int)(font_end - font_file), letter, &font);
    ImGui::GetStyle().ScaleAllSizes((float)scale);
    ImGui::GetStyle().WindowRounding = 4, ImGui::GetStyle().Colors[ImGuiCol_WindowBg].w = 0.85f;
    return ImGui_ImplGlfw_InitForOpenGL((GLFWwindow *)glfw_window, true) && ImGui_ImplOpenGL3_Init("#version 330 core");
}

void panel_free(void)
{
    if (!ImGui::GetCurrentContext()) return;
    ImGui_ImplOpenGL3_Shutdown(), ImGui_ImplGlfw_Shutdown();
    ImGui::DestroyContext();
}

bool panel_wants_mouse(void) { return ImGui::GetIO().WantCaptureMouse; }
bool panel_wants_keys(void) { return ImGui::GetIO().WantTextInput; }

static float panel_across(void) { return 20 * letter; }

double panel_width(void) { return 20.5 * letter; }

/// An input of numbers that is taken when it is finished, however it is left.
static bool number(const char *label, double *x, const char *format)
{
    static ImGuiID active;
    static double typed;
    const ImGuiID id = ImGui::GetID(label);
    double shown = id == active ? typed : *x;
    ImGui::InputDouble(label, &shown, 0, 0, format);
    if (ImGui::IsItemActive()) active = id, typed = shown;
    else if (id == active) {
        active = 0;
        if (typed != *x) return *x = typed, true;
    }
    return false;
}

/// A time step on a scale of powers of ten, taken when it is let go.
static bool power_slider(const char *label, double *x)
{
    static float exponent;
    static bool active;
    if (!active) exponent = (float)log10(*x);
    char text[QUANTITY_WORDS];
    quantity_words(pow(10, exponent), "s", text);
    ImGui::SliderFloat(label, &exponent, -4, 0, text);
    active = ImGui::IsItemActive();
    if (!ImGui::IsItemDeactivatedAfterEdit()) return false;
    *x = pow(10, exponent);
    return true;
}

// ---- the clock

static void draw_clock(panel_state *s)
{
    const player_view *const v = s->view;
    if (ImGui::Button(v->running ? "Pause" : "Run", ImVec2(ImGui::GetFontSize() * 4, 0))) s->play = true;
    ImGui::SameLine();
    if (ImGui::Button("<")) s->back = true;
    ImGui::SameLine();
    if (ImGui::Button(">")) s->forward = true;
    ImGui::SameLine();
    if (ImGui::Button("Reset")) s->reset = true;
    ImGui::SameLine();
    ImGui::Text("%.3f s", v->time);
    float exponent = (float)log2(s->speed);
    char text[40];
    snprintf(text, sizeof text, s->speed < 1 ? "1/%.3g of real time" : "%.3g x real time",
             s->speed < 1 ? 1 / s->speed : s->speed);
    if (ImGui::SliderFloat("speed", &exponent, -6, 4, text)) s->speed = exp2(round(exponent)), s->set_speed = true;
    if (s->recorded) {
        float at = (float)v->time;
        if (ImGui::SliderFloat("time", &at, (float)s->first, (float)s->last, "%.3f s")) s->seek = true, s->time = at;
    }
    if (!s->recorded && s->last > 0 && v->time > s->last)
        ImGui::TextWrapped("after the scene's duration of %g s: it goes on", s->last);
    if (v->late) ImGui::TextColored(ImVec4(1, 0.7f, 0.3f, 1), "steps take longer than they last: the clock is slowed down");
}

// ---- methods

static bool choose(const char *label, int *value, const char *(*name)(int))
{
    bool changed = false;
    if (!ImGui::BeginCombo(label, name(*value))) return false;
    for (int k = 0; name(k); k++)
        if (ImGui::Selectable(name(k), k == *value)) changed = k != *value, *value = k;
    ImGui::EndCombo();
    return changed;
}

static const char *method_name(int k) { return ctn_method_name((ctn_method)k); }
static const char *solver_name(int k) { return ctn_solver_name((ctn_solver)k); }

static void draw_method(panel_state *s)
{
    if (s->recorded || !ImGui::CollapsingHeader("Method", ImGuiTreeNodeFlags_DefaultOpen)) return;
    if (s->runs > 1 && ImGui::BeginCombo("of", s->name[s->run])) {
        for (int k = 0; k < s->runs; k++) {
            ImGui::PushID(k);
            if (ImGui::Selectable(s->name[k], k == s->run)) s->run = k;
            ImGui::PopID();
        }
        ImGui::EndCombo();
    }
    ctn_batch_config c = s->wanted[s->run];
    int method = c.method, solver = c.solver;
    bool changed = choose("integrator", &method, method_name);
    c.method = (ctn_method)method;
    double value;
    const char *const with = method_number(&c, &value);
    int whole = (int)value;
    float share = (float)value;
    if (with && with[0] == 'r') {
        if (ImGui::SliderFloat(with, &share, 0, 0.3f)) c.rho = fmin(0.3, fmax(0, (double)share)), changed = true;
    } else if (with && ImGui::SliderInt(with, &whole, with[0] == 's' ? 1 : 2, with[0] == 's' ? 4 : 6)) {
        (with[0] == 's' ? c.stages : c.order) = whole;
        changed = true;
    }
    if (ImGui::Checkbox("dt auto", &c.adaptive)) changed = true;
    changed = number(c.adaptive ? "interval (s)" : "dt (s)", &c.dt, "%.6g") || changed;
    changed = power_slider("##dt", &c.dt) || changed;
    if (c.adaptive) changed = number("error tolerance", &c.error_tolerance, "%.1e") || changed;
    if (ctn_method_is_implicit(c.method)) {
        changed = choose("solver", &solver, solver_name) || changed;
        c.solver = (ctn_solver)solver;
        if (!c.adaptive) changed = number("tolerance", &c.tolerance, "%.1e") || changed;
    }
    if (changed) s->cfg = c, s->configure = true;
    if (s->view->trouble[0])
        ImGui::TextColored(ImVec4(1, 0.5f, 0.4f, 1), "not changed:"), ImGui::TextWrapped("%s", s->view->trouble);
}

// ---- plots

/// The place of the entry that is nearest to a share of the plot's width.
static int entry_at(float share, int count)
{
    const int k = (int)roundf(share * (float)(count - 1));
    return k < 0 ? 0 : k < count ? k : count - 1;
}

/// The newest values over time: the last one beside the name, the range at the right, and what is under the mouse with its time.
static void draw_plot(const char *name, const char *unit, const float *time, const float *row, int count, const char *format)
{
    char now[40], text[80];
    float low = row[0], high = row[0];
    for (int k = 1; k < count; k++) low = fminf(low, row[k]), high = fmaxf(high, row[k]);
    const float middle = (low + high) / 2, half = high > low ? (high - low) / 2 : 1;
    snprintf(now, sizeof now, format, (double)row[count - 1]);
    ImGui::Text("%s  %s %s", name, now, unit);
    const ImVec2 size(ImGui::GetContentRegionAvail().x - 5 * letter, 5 * letter), at = ImGui::GetCursorScreenPos();
    const float margin = 0.2f * letter, right = at.x + size.x + margin;
    ImGui::InvisibleButton(name, size);
    ImDrawList *const list = ImGui::GetWindowDrawList();
    const float across = size.x - 2 * margin, apart = count > 1 ? across / (float)(count - 1) : 0;
    const auto x_of = [&](int k) { return at.x + margin + apart * (float)k; };
    const auto y_of = [&](float x) { return at.y + size.y / 2 - (size.y / 2 - margin) * (x - middle) / half; };
    list->AddRectFilled(at, ImVec2(at.x + size.x, at.y + size.y), ImGui::GetColorU32(ImGuiCol_FrameBg), 3);
    const ImU32 ink = ImGui::GetColorU32(ImGuiCol_PlotLines);
    for (int k = 1; k < count; k++)
        list->AddLine(ImVec2(x_of(k - 1), y_of(row[k - 1])), ImVec2(x_of(k), y_of(row[k])), ink, 1.5f);
    for (int end = 0; end < (high > low ? 2 : 1); end++) {
        snprintf(text, sizeof text, format, (double)(end ? low : high));
        list->AddText(ImVec2(right, end ? at.y + size.y - letter : at.y), ImGui::GetColorU32(ImGuiCol_TextDisabled), text);
    }
    if (!ImGui::IsItemHovered()) return;
    const int k = entry_at((ImGui::GetMousePos().x - at.x - margin) / across, count);
    list->AddLine(ImVec2(x_of(k), at.y), ImVec2(x_of(k), at.y + size.y), ImGui::GetColorU32(ImGuiCol_TextDisabled));
    list->AddCircleFilled(ImVec2(x_of(k), y_of(row[k])), 0.2f * letter, ImGui::GetColorU32(ImGuiCol_PlotLinesHovered));
    snprintf(now, sizeof now, format, (double)row[k]);
    ImGui::SetTooltip("%.3f s: %s %s", (double)time[k], now, unit);
}

static void draw_warnings(const panel_state *s)
{
    if (!s->warnings[0] || !ImGui::CollapsingHeader("Warnings", ImGuiTreeNodeFlags_DefaultOpen)) return;
    ImGui::PushStyleColor(ImGuiCol_Text, ImVec4(1, 0.85f, 0.4f, 1));
    ImGui::TextWrapped("%s", s->warnings);
    ImGui::PopStyleColor();
}

static void draw_plots(const panel_state *s)
{
    if (!ImGui::CollapsingHeader("Plots", ImGuiTreeNodeFlags_DefaultOpen)) return;
    for (int k = 0; k < s->runs; k++) {
        const player_run *const r = &s->view->run[k];
        if (s->runs > 1) ImGui::TextUnformatted(s->name[k]);
        if (r->frozen != CTN_RUNNING) {
            char text[900];
            frozen_words(r, s->worlds, s->recorded, text, sizeof text);
            ImGui::PushStyleColor(ImGuiCol_Text, ImVec4(1, 0.5f, 0.4f, 1));
            ImGui::TextWrapped("%s", text);
            ImGui::PopStyleColor();
        }
        if (s->worlds > 1) ImGui::TextUnformatted("of the first world:");
        if (!r->plotted) continue;
        ImGui::PushID(k);
        draw_plot("energy", "J", r->plot_time, r->plot_energy, r->plotted, "%.5g");
        if (ctn_method_is_implicit(r->cfg.method))
            draw_plot("iterations", "a step", r->plot_time, r->plot_iterations, r->plotted, "%.0f");
        if (!s->recorded) draw_plot("speed of steps", "x real time", r->plot_time, r->plot_real_time, r->plotted, "%.5g");
        if (!s->recorded)
            ImGui::Text("%ld steps, %ld with fallbacks", r->steps, r->fallbacks),
                ImGui::TextWrapped("energy %+.3g J since the beginning or the last change", r->change);
        if (s->view->contacts) {
            char depth[QUANTITY_WORDS];
            quantity_words(fabs(r->depth), "m", depth);
            ImGui::TextWrapped("%d of %d contact points touch, %d stick%s, %d slide%s", r->touching,
                               s->worlds * ctn_model_ncontact(s->model), r->sticking, r->sticking == 1 ? "s" : "", r->sliding,
                               r->sliding == 1 ? "s" : "");
            if (r->depth > -INFINITY) ImGui::Text("%s %s", depth, r->depth < 0 ? "above the ground" : "deep");
        }
        if (!s->recorded && r->lanes) ImGui::Text("along the links, in %d lanes", r->lanes);
        ImGui::PopID();
    }
    ImGui::Text("%.0f pictures a second", s->frames);
}

// ---- what can be changed

static void parameter(panel_state *s, panel_value value, void *context, ctn_parameter_kind kind, int index, const char *label,
                      double least, double most, const char *format)
{
    double now;
    if (!value(context, ctn_parameter{kind, index}, &now) || s->recorded) return;
    float x = (float)now;
    if (!ImGui::SliderFloat(label, &x, (float)fmin(least, now), (float)fmax(most, now), format)) return;
    s->set_parameter = true, s->parameter = ctn_parameter{kind, index}, s->value = x;
}

/// How deep things sink into the ground, by powers of ten.
static void ground_depth(panel_state *s, panel_value value, void *context)
{
    const ctn_parameter of{CTN_GROUND_DEPTH, 0};
    double now;
    char text[QUANTITY_WORDS];
    if (!value(context, of, &now)) return;
    float exponent = (float)log10(now);
    quantity_words(now, "m", text);
    if (!ImGui::SliderFloat("depth in the ground", &exponent, fminf(-4, exponent), fmaxf(-1, exponent), text)) return;
    s->set_parameter = true, s->parameter = of, s->value = pow(10, exponent);
}

static void draw_world(panel_state *s, panel_value value, void *context)
{
    static const char *const axes[] = {"gravity x", "gravity y", "gravity z"};
    if (s->recorded || !ImGui::CollapsingHeader("World")) return;
    for (int k = 0; k < 3; k++) parameter(s, value, context, CTN_GRAVITY, k, axes[k], -20, 20, "%.4g m/s²");
    parameter(s, value, context, CTN_GROUND_FRICTION, 0, "friction of the ground", 0, 2, "%.3g");
    ground_depth(s, value, context);
}

/// Whether degree of freedom k of a link's joint is a way, not an angle.
static bool slides(const ctn_link *l, int k)
{
    return l->joint == CTN_PRISMATIC || (l->joint == CTN_PLANAR && k < 2) || (l->joint == CTN_FREE && k < 3);
}

static void draw_link(panel_state *s, panel_value value, void *context)
{
    const panel_link *const at = &s->selected;
    if (at->link < 0) return;
    const ctn_link *const l = ctn_model_link(s->model, at->link);
    if (!ImGui::CollapsingHeader("Link", ImGuiTreeNodeFlags_DefaultOpen)) return;
    ImGui::TextWrapped("%s%s%s", l->name, *at->of ? " of " : "", at->of);
    if (at->pulled) ImGui::Text("pulled with %s", at->pull);
    ImGui::Text("mass      %.4g kg", at->mass);
    ImGui::Text("position  %.3f %.3f %.3f m", at->position[0], at->position[1], at->position[2]);
    ImGui::Text("velocity  %.3f %.3f %.3f m/s", at->twist[3], at->twist[4], at->twist[5]);
    ImGui::Text("angular   %.3f %.3f %.3f rad/s", at->twist[0], at->twist[1], at->twist[2]);
    for (int k = 0; k < l->nq; k++) ImGui::Text(k < l->nv ? "q %8.4f   v %8.4f" : "q %8.4f", at->q[k], k < l->nv ? at->v[k] : 0);
    if (s->recorded) return;
    for (int k = 0; k < l->nv; k++) {
        char label[40];
        float x = (float)s->force[l->vadr + k];
        const float most = (float)fmax(20 * at->mass, 1);
        snprintf(label, sizeof label, l->nv > 1 ? "joint force %d" : "joint force", k);
        if (ImGui::SliderFloat(label, &x, -most, most, slides(l, k) ? "%.3g N" : "%.3g N m"))
            s->set_force = true, s->dof = l->vadr + k, s->value = x;
    }
    for (int k = 0; k < 6; k++) {
        if (!at->motor_unit[k]) continue;
        char label[40], format[40];
        snprintf(label, sizeof label, l->nv > 1 || k > 2 ? "motor's target %d" : "motor's target", k);
        snprintf(format, sizeof format, "%%.4g %s", at->motor_unit[k]);
        parameter(s, value, context, at->motor[k].kind, at->motor[k].index, label, -at->motor_most[k], at->motor_most[k], format);
    }
    parameter(s, value, context, CTN_REST, at->link, "spring's rest", -3.2, 3.2, slides(l, 0) ? "%.4g m" : "%.4g rad");
    parameter(s, value, context, CTN_STIFFNESS, at->link, "stiffness", 0, 100, slides(l, 0) ? "%.4g N/m" : "%.4g N m/rad");
    parameter(s, value, context, CTN_DAMPING, at->link, "damping", 0, 10, slides(l, 0) ? "%.4g N s/m" : "%.4g N m s/rad");
    parameter(s, value, context, CTN_MASS_SCALE, at->link, "mass", 0.1, 10, "%.4g times");
}

static void draw_marks(panel_state *s)
{
    static const struct {
        const char *label;
        unsigned bit;
    } marks[] = {{"joint axes", SHOW_AXES}, {"frames", SHOW_FRAMES}, {"centre of mass", SHOW_COM},
                 {"trails", SHOW_TRAILS},   {"names", SHOW_NAMES},   {"contact points", SHOW_CONTACTS}};
    if (!ImGui::CollapsingHeader("Picture")) return;
    for (const auto &mark : marks) ImGui::CheckboxFlags(mark.label, &s->show, mark.bit);
    ImGui::Combo("colours", &s->colors, "of the scene\0by link\0by kinetic energy\0by run and world\0");
    if (s->runs > 1)
        ImGui::Checkbox("runs over each other", &s->overlaid), ImGui::Checkbox("ghosts of the first run", &s->ghosts);
    else if (s->worlds > 1) ImGui::Checkbox("worlds over each other", &s->overlaid);
}

// ---- over the picture

/// In the middle of the window or of what is beside the panel, from `y` on downwards, or with its lower edge there.
static void draw_message(const char *id, const char *title, const char *text, float y, bool above, bool beside)
{
    const ImGuiViewport *const port = ImGui::GetMainViewport();
    const float left = beside ? fminf((float)panel_width(), 0.5f * port->Size.x) : 0, room = port->Size.x - left;
    ImGui::SetNextWindowPos(ImVec2(left + room / 2, y), ImGuiCond_Always, ImVec2(0.5f, above ? 1.0f : 0.0f));
    ImGui::Begin(id, nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoInputs |
                     ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoFocusOnAppearing);
    if (title) ImGui::TextColored(ImVec4(1, 0.5f, 0.4f, 1), "%s", title);
    ImGui::PushTextWrapPos(0.9f * room);
    ImGui::TextUnformatted(text);
    ImGui::PopTextWrapPos();
    ImGui::End();
}

static void draw_help(panel_state *s)
{
    static const char *const rows[][2] = {{"left mouse", "orbit; click: select a link"},
                                          {"right mouse, shift + left", "pan"},
                                          {"wheel", "zoom"},
                                          {"ctrl + left mouse", "pull at a link"},
                                          {"space", "run, pause"},
                                          {"right, left arrow", "one step, one step back (shift: ten)"},
                                          {"R", "reset to the beginning"},
                                          {"[  ]", "slower, faster"},
                                          {",  .", "half, twice the time step"},
                                          {"M", "next integrator"},
                                          {"C", "look at all of it again"},
                                          {"V", "the scene's next camera"},
                                          {"T", "follow what travels or the selected link, or not"},
                                          {"O", "runs, or worlds, over each other or side by side"},
                                          {"A F B P N", "axes of joints, frames, centre of mass, trails, names and numbers"},
                                          {"G", "contact points and their forces"},
                                          {"K", "other colours"},
                                          {"F1", "this list"},
                                          {"F2", "panel"},
                                          {"F5", "read the scene again (it is also read when its file is saved)"},
                                          {"F9", "begin or end a movie"},
                                          {"F11", "full screen"},
                                          {"F12", "picture (shift: with the panel)"},
                                          {"escape", "select nothing, close the list"},
                                          {"ctrl + Q", "quit"},
                                          {"a scene file dropped here", "opens it"}};
    ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetCenter(), ImGuiCond_Appearing, ImVec2(0.5f, 0.5f));
    ImGui::Begin("Keys and mouse", &s->help, ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoCollapse);
    if (ImGui::BeginTable("keys", 2)) {
        for (const auto &row : rows) {
            ImGui::TableNextColumn(), ImGui::TextUnformatted(row[0]);
            ImGui::TableNextColumn(), ImGui::TextUnformatted(row[1]);
        }
        ImGui::EndTable();
    }
    ImGui::End();
}

void panel_draw(panel_state *s, panel_value value, void *context)
{
    ImGui_ImplOpenGL3_NewFrame(), ImGui_ImplGlfw_NewFrame();
    ImGui::NewFrame();
    const float unit = letter, height = ImGui::GetMainViewport()->Size.y;
    if (s->open) {
        ImGui::SetNextWindowPos(ImVec2(unit / 2, unit / 2), ImGuiCond_Once);
        ImGui::SetNextWindowSizeConstraints(ImVec2(panel_across(), 0), ImVec2(panel_across(), height - unit));
        ImGui::Begin(s->scene, &s->open, ImGuiWindowFlags_AlwaysAutoResize);
        ImGui::PushItemWidth(-7 * unit);
        draw_clock(s);
        draw_warnings(s);
        draw_method(s);
        draw_plots(s);
        draw_world(s, value, context);
        draw_marks(s);
        draw_link(s, value, context);
        ImGui::PopItemWidth();
        ImGui::End();
    }
    if (s->help) draw_help(s);
    if (s->trouble[0])
        draw_message("trouble", "The scene's file has errors; what it was before runs on:", s->trouble, unit, false, s->open);
    for (int k = 0; k < s->runs && !s->trouble[0]; k++) {
        char text[900];
        if (!s->view->run[k].stands) continue;
        frozen_words(&s->view->run[k], s->worlds, s->recorded, text, sizeof text);
        draw_message("frozen", s->runs > 1 ? s->name[k] : nullptr, text, unit, false, s->open);
        break;  // of several runs the first one
    }
    if (s->notice[0]) draw_message("notice", nullptr, s->notice, height - unit, true, s->open);
    ImGui::Render();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}
