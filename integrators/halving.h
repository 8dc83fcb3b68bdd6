/// A step in parts: a part that fails is halved, and doubled again where a half ends on the coarser grid. By lane.
#ifndef CATENA_HALVING_H
#define CATENA_HALVING_H

#include "dynamics/lane.h"

typedef struct {
    real size, here;  // of the next part and where it starts, as shares of the step
    real row;         // halvings in a row
} halving;

FN halving whole_step(void)
{
    halving H;
    H.size = rset(1), H.here = H.row = rset(0);
    return H;
}

/// After a part that was done in the lanes `ok` and not in `failed`: the next one. resized: lanes whose next part has another
/// size. Returns the lanes of these that go on: they have not reached the end, nor been halved more than max_halvings times in a
/// row.
FN mask next_part(halving *H, mask ok, mask failed, int max_halvings, mask *resized)
{
    const real one = rset(1), zero = rset(0), doubled = H->size + H->size;
    H->here = H->here + sel(ok, H->size, zero);
    H->row = sel(failed, H->row + one, H->row);
    const mask on_grid = both(ok, both(lt(H->size, one), is_whole(H->here / doubled)));
    H->size = sel(failed, rset(0.5) * H->size, sel(on_grid, doubled, H->size));
    H->row = sel(on_grid, H->row - one, H->row);
    *resized = either(failed, on_grid);
    return both(either(ok, failed), both(lt(H->here, one), le(H->row, rset(max_halvings))));
}

#endif
