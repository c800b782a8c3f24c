/* Transfers between lanes, stealing, and the reading that says sold out (DESIGN §4.3).
 *
 * Promises: P1 a lane never admits what its stock row has not · P8 sold out is said only if at some moment of the reading no
 *   unit was free anywhere, lanes and transit together · P2 when all is quiet: no unit is lost or doubled, each lane agrees
 *   with its row, no transfer is left open.
 * Bounds: 2 lanes × 3 buyers × 2 units (lane 0: one unit, two buyers; lane 1: one unit, one buyer), each buyer on a node of
 *   his own; TRANSFERS steals of one unit; 2 nodes that finish what they find, one of which dies once at any step; each of
 *   them may sleep between any two steps; VOIDS returned units; REBUILDS rebuilds of a lane, at any moment
 *   when no committed transfer out of it waits for its credit (docs/decisions/transfers-leave-traces.md).
 * Exact: one script or one store transaction is one step. A steal's node dies after the debit, always: that is the worst
 *   case and leaves the rest to those who find it.
 * Merged: admission and landing are one step, so that lane and row differ by transfers alone; a rebuild is one step.
 * Left out: amounts above one; pool moves (one lane only, same steps); waiting callers (they are told busy here).
 */
#include "promises.pml"

#ifndef TRANSFERS
#define TRANSFERS 2
#endif
#ifndef VOIDS
#define VOIDS 0
#endif
#ifndef REBUILDS
#define REBUILDS 0
#endif
#define TRIES 1 /* how often a buyer asks again after a steal or an unequal reading */

#define NONE 0
#define COMMITTED 1
#define CLOSED 2
#define ABANDONED 3
#define TAKEN 1  /* the debit's record, with its unit */
#define UNDONE 2 /* the debit's record, given back */
#define GIVEN 1  /* the credit's record */
#define KNOWN 2  /* below the lane's floor: closed, never to be given again */

/* the lanes; records by transfer */
byte available[2] = 1;
byte epoch[2];
bit generation[2];
byte debit[TRANSFERS];
byte credit[TRANSFERS];
/* what every record and message of a transfer carries */
bit source[TRANSFERS];
bit source_generation[TRANSFERS];
bit target_generation[TRANSFERS];

/* the store */
byte stock[2] = 1;
byte row[TRANSFERS];

byte planned;
byte sold;
byte free_units = 2; /* in lanes and in transit */
bool empty_moment[3]; /* of a buyer's reading: there was a moment without a free unit */
byte voids_left = VOIDS, rebuilds_left = REBUILDS, deaths_left = 1;

#define target(i) (1 - source[i])
#define lane_of(b) ((b) >> 1)
#define open_at(l) \
  ((debit[0] != NONE && source[0] == (l)) || (credit[0] == GIVEN && target(0) == (l)) || \
   (TRANSFERS > 1 && ((debit[TRANSFERS - 1] != NONE && source[TRANSFERS - 1] == (l)) || \
                      (credit[TRANSFERS - 1] == GIVEN && target(TRANSFERS - 1) == (l)))) || \
   (TRANSFERS > 2 && ((debit[1] != NONE && source[1] == (l)) || (credit[1] == GIVEN && target(1) == (l)))))
#ifdef SOLD_OUT_IGNORES_TRANSFERS
#undef open_at
#define open_at(l) false
#endif
#ifdef SOLD_OUT_IGNORES_EPOCH
#define same_epoch(l, e) true
#else
#define same_epoch(l, e) (epoch[l] == (e))
#endif

/* mirrors: admission/redis admit and orders/landing, in one step */
#define take(l) \
  P1(stock[l] > 0); \
  available[l]--; stock[l]--; sold++; free_units--; \
  empty_moment[0] = (empty_moment[0] || free_units == 0); \
  empty_moment[1] = (empty_moment[1] || free_units == 0); \
  empty_moment[2] = (empty_moment[2] || free_units == 0)

/* mirrors: gateway → admission: admit; a short lane reads all lanes, steals or says sold out */
proctype buyer(byte b) {
  byte e0, e1, tries;
  byte i;
again:
  atomic {
    if
    :: available[lane_of(b)] > 0 -> take(lane_of(b)); goto done
    :: else -> empty_moment[b] = (free_units == 0)
    fi
  }
  /* first reading, lane by lane */
  if
  :: d_step { available[0] == 0 && !open_at(0) -> e0 = epoch[0] }
  :: available[0] > 0 || open_at(0) -> goto elsewhere
  fi;
  if
  :: d_step { available[1] == 0 && !open_at(1) -> e1 = epoch[1] }
  :: available[1] > 0 || open_at(1) -> goto elsewhere
  fi;
#ifndef SOLD_OUT_FROM_ONE_SCAN
  /* the second reading */
  if
  :: available[0] == 0 && !open_at(0) && same_epoch(0, e0)
  :: else -> goto elsewhere
  fi;
  if
  :: available[1] == 0 && !open_at(1) && same_epoch(1, e1)
  :: else -> goto elsewhere
  fi;
#endif
  P8(empty_moment[b]); /* sold_out */
  goto done;
elsewhere: /* not equal, a transfer is open, or another lane has units: steal, or busy */
  atomic {
    if
    :: planned < TRANSFERS ->
       i = planned; planned++;
       source[i] = 1 - lane_of(b);
       source_generation[i] = generation[1 - lane_of(b)];
       target_generation[i] = generation[lane_of(b)]
    :: goto retry
    fi
  }
  if
  :: d_step { row[i] == NONE -> row[i] = ABANDONED } /* the debit's answer was late: given up before it arrives */
  :: skip
  fi;
  atomic { /* debit */
    if
    :: available[source[i]] > 0 && generation[source[i]] == source_generation[i] ->
       available[source[i]]--; debit[i] = TAKEN
    :: else
    fi;
    i = 0
  }
retry:
  if
  :: tries < TRIES -> tries++; goto again
  :: skip /* busy */
  fi;
done:
  atomic { empty_moment[b] = false; e0 = 0; e1 = 0; tries = 0 }
}

/* mirrors: admission/steal finish(): whoever finds an old open transfer. What it read may be old when it acts. */
#define found(i) ((debit[i] != NONE || row[i] == COMMITTED || credit[i] == GIVEN))
#ifdef COMMIT_WITHOUT_GENERATION
#define may_commit(i) (stock[source[i]] > 0)
#else
#define may_commit(i) (stock[source[i]] > 0 && generation[source[i]] == source_generation[i] && generation[target(i)] == target_generation[i])
#endif
#ifdef CREDIT_WITHOUT_GENERATION
#define may_credit(i) (credit[i] == NONE)
#elif defined(CREDIT_WITHOUT_ONCE)
#define may_credit(i) (generation[target(i)] == target_generation[i])
#else
#define may_credit(i) (generation[target(i)] == target_generation[i] && credit[i] == NONE)
#endif
#define mortal :: atomic { deaths_left > 0 -> deaths_left--; goto next }

active [2] proctype finisher() {
  byte i;
end:
  do
  :: atomic {
       if
       :: found(0) -> i = 0
#if TRANSFERS > 1
       :: found(1) -> i = 1
#endif
#if TRANSFERS > 2
       :: found(2) -> i = 2
#endif
       fi
     }
     /* one store transaction: the key decides between commit and abandon */
     atomic {
       if
       :: row[i] == NONE && may_commit(i) ->
          row[i] = COMMITTED; stock[source[i]]--; stock[target(i)]++
       :: row[i] == NONE ->
#ifndef UNDO_BEFORE_ROW
          row[i] = ABANDONED;
#endif
          goto undo
       :: row[i] == COMMITTED
       :: row[i] == CLOSED -> goto forget
       :: row[i] == ABANDONED -> goto undo
       fi
     }
     if mortal
     :: atomic { /* credit, once per id */
          if
          :: may_credit(i) -> available[target(i)]++; epoch[target(i)]++; credit[i] = GIVEN
          :: else /* given before, or a rebuild has it already */
          fi
        }
     fi;
     if mortal
     :: d_step { row[i] = (row[i] == COMMITTED -> CLOSED : row[i]) }
     fi;
forget:
     if mortal
     :: d_step { debit[i] = NONE }
     fi;
     if mortal
#ifdef CREDIT_FORGOTTEN
     :: d_step { credit[i] = NONE; i = 0 }
#else
     :: d_step { credit[i] = KNOWN; i = 0 }
#endif
     fi;
     goto next;
undo:
     if mortal
     :: atomic {
          if
          :: debit[i] == TAKEN -> available[source[i]]++; epoch[source[i]]++; debit[i] = UNDONE
          :: else
          fi;
#ifdef UNDO_BEFORE_ROW
          row[i] = (row[i] == NONE -> ABANDONED : row[i]);
#endif
        }
     fi;
     if mortal
     :: atomic { debit[i] = (debit[i] == UNDONE -> NONE : debit[i]); i = 0 }
     fi;
next:
     skip
  od
}

/* mirrors: orders/ticket_ends (a unit comes back), admission/rebuild in one step */
#ifdef REBUILD_LEAVES_TRANSIT
#define leaves(i, l) false
#else
#define leaves(i, l) (row[i] == COMMITTED && source[i] == l) /* the leader finishes it before it opens the lane */
#endif
#define may_rebuild(l) (rebuilds_left > 0 && !leaves(0, l) && !leaves(TRANSFERS - 1, l))
#define rebuild(l) \
  generation[l] = 1; available[l] = stock[l]; epoch[l]++; \
  forget_at(0, l); forget_at(TRANSFERS - 1, l)
#define forget_at(i, l) \
  debit[i] = (source[i] == l -> NONE : debit[i]); \
  row[i] = (target(i) == l && row[i] == COMMITTED -> CLOSED : row[i])
active proctype events() {
end:
  do
  :: d_step { voids_left > 0 && sold > 0 -> voids_left--; sold--; stock[0]++; available[0]++; epoch[0]++; free_units++ }
  :: d_step { may_rebuild(0) -> rebuilds_left--; rebuild(0) }
  :: d_step { may_rebuild(1) -> rebuilds_left--; rebuild(1) }
  od
}

init {
  atomic { run buyer(0); run buyer(1); run buyer(2) }
  atomic {
    timeout ->
    P2(available[0] == stock[0] && available[1] == stock[1]);
    P2(stock[0] + stock[1] + sold == 2 && free_units == stock[0] + stock[1]);
    P2(!open_at(0) && !open_at(1) && row[0] != COMMITTED && row[TRANSFERS - 1] != COMMITTED)
  }
}
