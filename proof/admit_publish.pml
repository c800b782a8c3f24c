/* Admission and publishing: from the request to the durable answer (DESIGN §4.1, §4.2 in brief).
 *
 * Promises: P1 the stock row is never short for an admitted hold · P4 whoever was answered with a ticket is never denied
 *   it · P5 an answered ticket gets its row after the loss of one Redis or of the broker's content · P6 and P2 when all is
 *   quiet: every hold has its row, lane and store agree, stream and queue are empty.
 * Bounds: TWO_LANES: 2 lanes × 3 buyers × 2 units (lane 0: two buyers, one unit; lane 1: one buyer, one unit), each on
 *   an api node of his own. Otherwise lane 0 alone, each buyer asking twice with one request id, on two api nodes at
 *   once. One sweep, one worker; at most one permanent loss (failover of lane 0 with a lost tail, or all broker content)
 *   and FAULTS lost messages or crashes of sweep and worker. Crashes of an api node are free: a request may stop after
 *   any step. Every number of faults ends, so that "no cycle" and "right when all is quiet" together mean that it ends.
 * Exact: a Redis script and a store transaction are one step each. A replica is some earlier state of its primary.
 * Left out: limit and phase (pure, tested in unit tests), stealing (transfer.pml), how an order ends (land_end.pml), the
 *   steps inside a rebuild (rebuild.pml; here one step after the node lease).
 */
#include "promises.pml"

#define BUYERS 3
#define lane_of(r) ((r) >> 1)
#define UNITS 1
#ifndef FAULTS
#define FAULTS 1
#endif

#define NONE 0
#define LIVE 1
#define ENDED 2 /* in the store: failed(superseded) */

/* the lanes, as Redis has them */
byte available[2] = UNITS;
bool open[2] = true;
bit generation[2];
bool undrained[2];        /* reopened before the barrier came back: may admit, must not deny */
byte mark[BUYERS];        /* NONE, LIVE, ENDED: of the buyer's one ticket */
bool published[BUYERS];   /* the mark's flag */
bool stream[BUYERS];      /* the intent is in the lane's stream */
bit intent_of[BUYERS];    /* the generation that the stream's intent carries */
bool replica[BUYERS];     /* the replica has the mark and the intent */

/* the broker: at most one copy a ticket and generation is told apart; a second copy is a redelivery */
bool queued[6];
#define copy(r, g) queued[(r) * 2 + (g)]

/* the store */
byte row[BUYERS];
byte stock[2] = UNITS;

/* what buyers were told, and who is between admission and answer */
bool answered[BUYERS];
byte waiting[2];
bool asked[BUYERS];

byte faults;
bool lost; /* the one permanent loss has happened */

/* mirrors: admission/lane_rules decide(), admission/redis admit script (one step), gateway's answer */
#define replay_durable (mark[r] == LIVE && published[r])
#ifdef REPLAY_BEFORE_PUBLISHED
#undef replay_durable
#define replay_durable (mark[r] == LIVE)
#endif
#ifdef STOCK_BEFORE_REPLAY
#define sold_out_for (available[lane_of(r)] == 0 && !undrained[lane_of(r)] && !(mark[r] == LIVE && !published[r]))
#else
#define sold_out_for (mark[r] == NONE && available[lane_of(r)] == 0 && !undrained[lane_of(r)])
#endif
#ifdef DENY_BEFORE_DRAINED
#undef sold_out_for
#define sold_out_for (mark[r] == NONE && available[lane_of(r)] == 0)
#endif

/* mirrors: admission/relay publish(), wait for confirm or WAIT, deadline; one request on one api node */
proctype request(byte r; bit second) {
  bit g;
  atomic {
    asked[r] || !second;
    asked[r] = true;
    if
    :: sold_out_for && open[lane_of(r)] ->
       P4(!answered[r]);
       goto done
    :: else
    fi;
    if
    :: !open[lane_of(r)] -> goto done /* busy */
    :: open[lane_of(r)] && replay_durable ->
       answered[r] = true; /* replayed: 200 at once */
       goto done
    :: open[lane_of(r)] && mark[r] == LIVE && !replay_durable
    :: open[lane_of(r)] && mark[r] == ENDED -> goto done /* replayed with its end */
    :: open[lane_of(r)] && mark[r] == NONE && available[lane_of(r)] == 0 -> goto done /* undrained: busy */
    :: open[lane_of(r)] && mark[r] == NONE && available[lane_of(r)] > 0 ->
       available[lane_of(r)]--;
       mark[r] = LIVE;
       stream[r] = true;
       intent_of[r] = generation[lane_of(r)];
       published[r] = false;
#ifdef PUBLISHED_ON_SEND
       published[r] = true;
#endif
#ifdef ANSWER_BEFORE_DURABLE
       answered[r] = true;
#endif
    fi;
    g = generation[lane_of(r)];
    waiting[lane_of(r)]++
  }
  /* The message is on its way. A script's reply that is lost, or a node that dies before or after sending, is the same
   * as a message that nobody waits for and that may never arrive. */
  if
  :: atomic { copy(r, g) = true; goto stored }
  :: atomic { replica[r] && mark[r] == LIVE -> answered[r] = true; waiting[lane_of(r)]-- } /* WAIT n came back first */
  :: atomic { /* deadline: busy with the ticket; unknown, not failed */
       waiting[lane_of(r)]--;
#ifdef RELEASE_ON_PUBLISH_TIMEOUT
       if
       :: mark[r] == LIVE -> mark[r] = NONE; available[lane_of(r)]++; stream[r] = false
       :: else
       fi
#endif
     }
  fi;
  if
  :: d_step { copy(r, g) = true; g = 0 } /* late, but here */
  :: g = 0                               /* lost, refused or returned */
  fi;
  goto done;
stored: /* the broker has it; its confirm is on its way */
  if
  :: atomic { answered[r] = true; waiting[lane_of(r)]-- } /* 202 */
     if
     :: d_step { /* mirrors: admission/redis published script; finds the mark or does nothing */
          if
          :: mark[r] == LIVE && generation[lane_of(r)] == g -> published[r] = true; stream[r] = false; intent_of[r] = 0
          :: else
          fi;
          g = 0
        }
     :: g = 0 /* the node died first */
     fi
  :: d_step { waiting[lane_of(r)]--; g = 0 } /* the confirm is lost, or late: busy with the ticket */
  fi;
done:
  skip
}

/* mirrors: admission/relay sweep() over the streams, reconcile's republish from marks */
#define unlanded(r) (mark[r] == LIVE && row[r] == NONE && open[lane_of(r)] && !copy(r, generation[lane_of(r)]))
#ifdef NO_REPUBLISH_FROM_MARKS
#define to_publish(r) (stream[r])
#else
#define to_publish(r) (stream[r] || unlanded(r))
#endif

active proctype sweep() {
  byte r;
  bit g;
end:
  do
  :: atomic {
       if
       :: to_publish(0) -> r = 0
       :: to_publish(1) -> r = 1
       :: to_publish(2) -> r = 2
       fi;
       g = (stream[r] -> intent_of[r] : generation[lane_of(r)]);
#ifdef RECONCILE_RELEASES
       if
       :: !stream[r] -> mark[r] = NONE; available[lane_of(r)]++; r = 0; g = 0; goto again
       :: else
       fi;
#endif
       if
       :: copy(r, g) = true
       :: faults < FAULTS -> faults++; r = 0; g = 0; goto again /* lost on the way */
       fi
     }
     if
     :: d_step {
          if
          :: intent_of[r] == g -> stream[r] = false; intent_of[r] = 0
          :: else
          fi;
          if
          :: mark[r] == LIVE && generation[lane_of(r)] == g -> published[r] = true
          :: else
          fi;
          r = 0; g = 0
        }
     :: d_step { faults < FAULTS -> faults++; r = 0; g = 0 } /* died after the confirm */
     fi;
again:
     skip
  od
}

/* mirrors: orders/landing consume(), store land() (one transaction), admission adopt(), release of a failed ticket */
active proctype worker() {
  byte r;
  bit g;
end:
  do
  :: atomic { /* read: row there? generation of the stock row? */
       if
       :: copy(0, 0) -> r = 0; g = 0
       :: copy(0, 1) -> r = 0; g = 1
       :: copy(1, 0) -> r = 1; g = 0
       :: copy(1, 1) -> r = 1; g = 1
       :: copy(2, 0) -> r = 2; g = 0
       fi;
       if
       :: row[r] == LIVE -> goto acknowledge
       :: row[r] == ENDED -> goto release
       :: row[r] == NONE && g < generation[lane_of(r)] -> goto adopt
       :: row[r] == NONE && g == generation[lane_of(r)] ->
          P1(stock[lane_of(r)] > 0);
          stock[lane_of(r)]--;
          row[r] = LIVE;
          goto acknowledge
       fi
     }
adopt:
     atomic { /* a closed lane is asked again later */
       open[lane_of(r)];
       if
       :: mark[r] == LIVE -> goto adopted
       :: mark[r] == ENDED -> goto refused
       :: mark[r] == NONE && available[lane_of(r)] > 0 ->
          available[lane_of(r)]--;
          mark[r] = LIVE;
          published[r] = true;
          goto adopted
       :: mark[r] == NONE && available[lane_of(r)] == 0 ->
#ifndef ADOPT_REFUSAL_FORGETS
          mark[r] = ENDED;
#endif
          goto refused
       fi
     }
adopted:
     if
     :: d_step { row[r] == NONE -> P1(stock[lane_of(r)] > 0); stock[lane_of(r)]--; row[r] = LIVE }
     :: row[r] != NONE
     :: atomic { faults < FAULTS -> faults++; r = 0; g = 0; goto next } /* died between adopting and landing */
     fi;
     goto acknowledge;
refused:
     atomic { row[r] = (row[r] == NONE -> ENDED : row[r]) };
release:
     atomic {
       if
       :: mark[r] == LIVE && row[r] == ENDED -> mark[r] = ENDED; available[lane_of(r)]++
       :: else
       fi
     }
acknowledge:
     if
     :: d_step { copy(r, g) = false; r = 0; g = 0 }
     :: d_step { faults < FAULTS -> faults++; r = 0; g = 0 } /* died before the acknowledgement, or commit unknown */
     fi;
next:
     skip
  od
}

/* Redis's asynchronous replication: the replica of lane 0 becomes what the primary is now. */
active proctype replication() {
end:
  do
  :: d_step {
       !lost && ((mark[0] == LIVE) != replica[0] || (mark[1] == LIVE) != replica[1]) ->
       replica[0] = (mark[0] == LIVE);
       replica[1] = (mark[1] == LIVE)
     }
  od
}

/* mirrors: admission/rebuild, in two steps: closed; then what the surviving replica holds live without a row is landed,
 * rows are read, the lane is installed and opened. The barrier may come back before or after. */
#ifdef SALVAGE_NOTHING
#define salvage(r) skip
#else
#define salvage(r) \
  if \
  :: mark[r] == LIVE && row[r] == NONE -> P1(stock[0] > 0); stock[0]--; row[r] = LIVE \
  :: else \
  fi
#endif

/* 5 s are longer than a request's 1 s, so nobody is answered 202 for what was admitted before. */
#ifdef NO_NODE_LEASE
#define node_lease_over true
#else
#define node_lease_over (waiting[0] == 0)
#endif

active proctype failover() {
end_alive:
  if
  :: d_step { !lost -> lost = true; open[0] = false;
       mark[0] = replica[0]; mark[1] = replica[1]; /* the tail is lost */
       stream[0] = replica[0]; stream[1] = replica[1];
       intent_of[0] = 0; intent_of[1] = 0
     }
     d_step { node_lease_over ->
       salvage(0); salvage(1);
       available[0] = stock[0];
       mark[0] = row[0]; mark[1] = row[1];
       published[0] = (row[0] == LIVE); published[1] = (row[1] == LIVE);
       stream[0] = false; stream[1] = false;
       generation[0] = 1; open[0] = true; undrained[0] = true;
       replica[0] = false; replica[1] = false
     }
     /* the barrier comes back: nothing of the old generation is on its way to the landing */
     d_step { !copy(0, 0) && !copy(1, 0) -> undrained[0] = false }
  :: d_step { !lost -> lost = true; queued[0] = false; queued[1] = false; queued[2] = false; queued[3] = false;
       queued[4] = false; queued[5] = false }
  fi
}

#define settled(r) ((mark[r] == LIVE) == (row[r] == LIVE) && !stream[r] && !copy(r, 0) && !copy(r, 1))
#define live(r) (row[r] == LIVE)

init {
  atomic {
    run request(0, 0);
    run request(1, 0);
#if defined(TWO_LANES)
    run request(2, 0)
#elif !defined(ONE_NODE)
    run request(0, 1);
    run request(1, 1)
#endif
  }
  atomic {
    timeout ->
    P5((!answered[0] || row[0] != NONE) && (!answered[1] || row[1] != NONE) && (!answered[2] || row[2] != NONE));
    P6(settled(0) && settled(1) && settled(2));
    P2(available[0] + live(0) + live(1) == UNITS && available[1] + live(2) == UNITS);
    P2(available[0] == stock[0] && available[1] == stock[1])
  }
}
