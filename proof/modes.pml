/* Modes: admission by database, entered and left by rebuilds, and synchronous ordering with late broker copies
 * (DESIGN §4.6).
 *
 * Promises: P1 the stock row is never short for what a lane admitted or adopted · P3 no buyer's second ticket lands beside
 *   his first · P5 an answered ticket gets its row · P6, P2 when all is quiet, in whichever mode: no message is left, lane
 *   and store agree when the lane decides.
 * Bounds: one lane, 2 units, limit 1; 2 buyers with 3 tickets, each asking once on a node whose copy of the stock row is as
 *   old as it likes; the operator enters the mode, and leaves it or not; the leader dies once at any step; the worker dies
 *   once. While the mode is entered nobody can close the lane: Redis is unusable for the leader, yet reached by others.
 * Exact: a script or a store transaction is one step. Whether a node orders synchronously is its own view at that moment,
 *   so any intent may go through the broker, through its own landing, through both or neither.
 * Left out: failover and two leaders (rebuild.pml), ends (land_end.pml), the bounded rate.
 */
#include "promises.pml"

#define TICKETS 3
#define UNITS 2
#define GENERATIONS 5
#define other(t) (2 - (t)) /* tickets 0 and 2 are one buyer's, ticket 1 is another's */
#define second(t) ((t) != 1)

#define NONE 0
#define LIVE 1
#define ENDED 2 /* in the store: failed(sold_out | limit_reached | superseded) */

#define LANE 1
#define STORE 2
#define SHUT 3

/* the store */
byte row[TICKETS];
byte stock = UNITS;
byte generation;
byte state = LANE;
/* the lane */
byte lane_generation;
bool lane_open = true;
byte available = UNITS;
byte mark[TICKETS];
/* the broker */
bool queued[15];
#define copy(t, g) queued[(t) * GENERATIONS + (g)]
bool undecided[TICKETS]; /* the ticket's message asks the store to decide */
bool answered[TICKETS];

byte wanted = LANE;
byte crashes_left = 1, deaths_left = 1;

#ifdef STORE_WITHOUT_LIMIT
#define store_limit(t) false
#else
#define store_limit(t) (second(t) && row[other(t)] == LIVE)
#endif
#define lane_limit(t) (second(t) && mark[other(t)] == LIVE)
#ifdef STORE_WITHOUT_GENERATION
#define store_decides(t, g) undecided[t]
#else
#define store_decides(t, g) (state == STORE && ((g) < generation || undecided[t]))
#endif
#ifdef OLD_INTENTS_WAIT
#undef store_decides
#define store_decides(t, g) (state == STORE && (g) == generation && undecided[t])
#endif
#define lands(t, g) (generation == (g) && !undecided[t])

/* mirrors: store land(): what a lane admitted lands in its generation; what the store decides may be refused */
#define land(t) \
  P1(stock > 0); \
  P3(!second(t) || row[other(t)] != LIVE); \
  stock--; \
  row[t] = LIVE
#define decide(t) \
  if \
  :: stock > 0 && !store_limit(t) -> land(t) \
  :: else -> row[t] = ENDED \
  fi

/* mirrors: gateway, admission admit, admission/relay with its switch; one request */
proctype request(byte t) {
  byte g;
  bool by_store;
  d_step { state != SHUT -> g = generation; by_store = (state == STORE) }
  atomic {
    if
    :: by_store ->
       undecided[t] = true;
       if
       :: copy(t, g) = true; answered[t] = true /* 202: queued, undecided */
       :: copy(t, g) = true
       :: true
       fi;
       goto done
    :: !by_store && lane_open && lane_generation == g && !lane_limit(t) && available > 0 -> available--; mark[t] = LIVE
    :: else -> goto done /* busy or refused */
    fi
  }
  atomic { /* the broker, or not */
    if
    :: copy(t, g) = true; answered[t] = true
    :: copy(t, g) = true /* late: synchronous ordering may come first */
    :: true
    fi
  }
  atomic { /* synchronous ordering, or not */
    if
#ifdef SYNCHRONOUS_WITHOUT_READING
    :: lands(t, g) -> P1(stock > 0); stock--; row[t] = LIVE; answered[t] = true
#else
    :: row[t] == NONE && lands(t, g) -> land(t); answered[t] = true
    :: row[t] != NONE -> answered[t] = true
#endif
    :: true
    fi
  }
done:
  atomic { g = 0; by_store = false }
}

/* mirrors: admission/relay sweep() */
#define unlanded(t) (mark[t] == LIVE && row[t] == NONE && !copy(t, lane_generation))
#define sweeps (lane_open && state == LANE && lane_generation == generation)
active proctype sweep() {
end:
  do
  :: d_step { sweeps && unlanded(0) -> copy(0, lane_generation) = true }
  :: d_step { sweeps && unlanded(1) -> copy(1, lane_generation) = true }
  :: d_step { sweeps && unlanded(2) -> copy(2, lane_generation) = true }
  od
}

/* mirrors: orders/landing consume(), admission adopt */
#define adoptable (state == LANE && lane_open)
#define ready(t, g) (row[t] != NONE || lands(t, g) || store_decides(t, g) || (g) < generation && adoptable)
#define take(n, k) copy(n, k) && ready(n, k) -> t = n; g = k
active proctype worker() {
  byte t, g, now;
end:
  do
  :: atomic {
       if
       :: take(0, 0) :: take(0, 1) :: take(0, 2) :: take(0, 3)
       :: take(1, 0) :: take(1, 1) :: take(1, 2) :: take(1, 3)
       :: take(2, 0) :: take(2, 1) :: take(2, 2) :: take(2, 3)
       fi;
       if
       :: row[t] != NONE
       :: row[t] == NONE && store_decides(t, g) -> decide(t)
       :: row[t] == NONE && lands(t, g) && !store_decides(t, g) -> land(t)
       :: else -> /* of an older generation, and the lane decides */
          if
          :: mark[t] == LIVE -> now = lane_generation; goto adopted
          :: mark[t] == NONE && !lane_limit(t) && available > 0 ->
             available--; mark[t] = LIVE; now = lane_generation; goto adopted
          :: else -> mark[t] = ENDED; goto refused
          fi
       fi;
       copy(t, g) = false; t = 0; g = 0
     }
     goto next;
adopted:
     atomic {
       if
       :: row[t] == NONE && generation == now && state != STORE -> land(t); copy(t, g) = false
       :: row[t] == NONE && deaths_left > 0 -> deaths_left-- /* died: delivered again */
       :: else                                               /* the mode changed meanwhile: it begins again */
       fi;
       t = 0; g = 0; now = 0
     }
     goto next;
refused:
     atomic {
       row[t] = (row[t] == NONE -> ENDED : row[t]);
       copy(t, g) = false; t = 0; g = 0
     }
next:
     skip
  od
}

/* mirrors: the switch, audited; whether the mode is left again is the operator's affair */
active proctype operator() {
  wanted = STORE;
end_stays:
  atomic { state == STORE -> wanted = LANE }
}
#ifdef NEVER_LEFT
#define may_leave false
#else
#define may_leave true
#endif

/* mirrors: admission/leader, admission/rebuild with the wanted state */
#define mortal :: atomic { crashes_left > 0 -> crashes_left--; goto over }
active proctype leader() {
  byte g, units;
  byte seen[TICKETS];
end:
  atomic { state != wanted && (wanted == STORE || may_leave) ->
#ifdef ENTER_WITHOUT_REBUILD
    if
    :: wanted == STORE -> state = STORE; goto over
    :: else
    fi;
#endif
#ifdef LEAVE_WITHOUT_REBUILD
    if
    :: wanted == LANE && state == STORE -> generation++; state = LANE; lane_generation = generation; lane_open = true; goto over
    :: else
    fi;
#endif
    state = SHUT
  }
  if mortal
  :: d_step { wanted == LANE -> lane_open = false }
  :: wanted == STORE /* Redis is unusable: the generation alone fences the lane */
  fi;
  /* salvage: intents of before the mode are older than the row, so they are published, not landed */
#define salvage(t) copy(t, lane_generation) = (copy(t, lane_generation) || (mark[t] == LIVE && row[t] == NONE))
  if mortal
  :: d_step { wanted == LANE -> salvage(0); salvage(1); salvage(2) }
  :: wanted == STORE
  fi;
  if mortal
  :: d_step { generation++; g = generation; units = stock; seen[0] = row[0]; seen[1] = row[1]; seen[2] = row[2] }
  fi;
  if mortal
  :: d_step { wanted == LANE -> mark[0] = seen[0]; mark[1] = seen[1]; mark[2] = seen[2]; lane_generation = g; lane_open = true; available = units }
  :: wanted == STORE
  fi;
  if mortal
  :: d_step { state = wanted }
  fi;
over:
  atomic { g = 0; units = 0; seen[0] = 0; seen[1] = 0; seen[2] = 0 };
  goto end
}

#define settled(t) ((mark[t] == LIVE) == (row[t] == LIVE))
#define live(t) (row[t] == LIVE)
#define told(t) (!answered[t] || row[t] != NONE)
#define waits(n) (queued[n] || queued[n + 1] || queued[n + 2] || queued[n + 3] || queued[n + 4])
init {
  atomic { run request(0); run request(1); run request(2) }
  atomic {
    timeout ->
    P6(!waits(0) && !waits(5) && !waits(10) && state != SHUT);
    P5(told(0) && told(1) && told(2));
    P6(state == STORE || settled(0) && settled(1) && settled(2));
    P2(stock + live(0) + live(1) + live(2) == UNITS && (state == STORE || available == stock))
  }
}
