/// The worker that measures Pinocchio as it is: one state a call, over double. Built with and without Eigen's own vectorisation.
#include "pinocchio_worker.hpp"

int main(int argc, char **argv) { return worker::Peer<double, 1>::main(argc, argv); }
