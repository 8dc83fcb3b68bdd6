/// The largest of many errors, for tests: NaN is the largest of all, and stays. (fmax passes over it.)
#ifndef CATENA_TESTS_WORSE_H
#define CATENA_TESTS_WORSE_H

static inline double worse(double worst, double x) { return worst != worst || x <= worst ? worst : x; }

#endif
