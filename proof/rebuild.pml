/* Rebuild of a lane: generations, leader token, server fence, salvage, adoption (DESIGN §4.5 with
 * docs/decisions/rebuild-keeps-what-the-lane-knows.md).
 *
 * Promises: P1 the stock row is never short for a hold that a lane admitted or adopted · P3 no buyer's second ticket
 *   lands beside his first, by the lanes' rules alone (the store's CHECK never has to refuse) · P5 an answered ticket gets
 *   its row after the loss of Redis's tail or of the broker's content · P6, P2 when all is quiet: the lane is open and
 *   agrees with the store ticket by ticket.
 * Bounds: one lane, 1 or 2 units, limit 1; 2 buyers with 2 or 3 tickets; each request on a node of its own whose copy of the stock
 *   row is as old as it likes (no lease is assumed); 2 leaders, of which one is slow (LATE) or dies (CRASHES), at any step;
 *   one loss (failover to a replica that is any earlier state, also of an earlier generation, or all broker content);
 *   one rebuild by an operator (OPERATOR); one cancel (CANCELS); the worker dies once between adopting and landing.
 * Exact: one script or one store transaction is one step; a request, a reply or a node may stop between any two.
 * Merged: a stream entry and a live mark without a row are one thing here, an open intent; confirm and answer are one step
 *   (answering early only asks more of P5).
 * Left out: replays (admit_publish.pml), transfers that a rebuild closes (transfer.pml), the barrier and the node lease:
 *   nothing here waits for them, so these promises do not rest on any time.
 */
#include "promises.pml"

#define TICKETS 3
#ifndef UNITS
#define UNITS 1
#endif
#define same_buyer(t) (1 - (t)) /* tickets 0 and 1 are one buyer's, ticket 2 is another's */
#define GENERATIONS 5
#ifndef LATE
#define LATE 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef OPERATOR
#define OPERATOR 1
#endif
#ifndef CANCELS
#define CANCELS 1
#endif

#define NONE 0
#define LIVE 1
#define ENDED 2

/* the store: rows, stock row, outbox, leader lease */
byte row[TICKETS];
byte stock = UNITS;
byte generation;
bool row_open = true;
bit row_server;
bool outbox[TICKETS];
#define NOBODY 2
byte leads = NOBODY; /* whose token is current */
bit latest;          /* who got the last token */

/* the lane in Redis */
byte lane_generation;
bool lane_open = true;
bit server;
byte available = UNITS;
byte mark[TICKETS];
bool fenced[2];      /* the lane has seen a later token than this leader's */
bool safe[TICKETS]; /* the replica is known to have this mark and its intent, */
bool waited;        /* and to be of the lane's generation */

/* the broker */
bool queued[15];
#define copy(t, g) queued[(t) * GENERATIONS + (g)]

bool answered[TICKETS];
bool lost;
bool asked_for; /* an operator wants a rebuild */
byte late_left = LATE, crashes_left = CRASHES, operator_left = OPERATOR, cancels_left = CANCELS, worker_left = 1;

#define limit_reached(t) ((t) < 2 && mark[same_buyer(t)] == LIVE)
#ifdef ADOPT_WITHOUT_LIMIT
#define adopt_limit_reached(t) false
#else
#define adopt_limit_reached(t) limit_reached(t)
#endif
#ifdef ADOPT_WITHOUT_STOCK
#define adopt_short false
#else
#define adopt_short (available == 0)
#endif

#ifdef ADMIT_WITHOUT_SERVER
#define right_server(s) true
#else
#define right_server(s) (server == (s))
#endif
#ifdef LAND_WITHOUT_GENERATION
#define lands(g) true
#else
#define lands(g) (generation == (g))
#endif

/* mirrors: a node's authority copy (3 s) and request deadline (1 s), admission/redis admit, admission/relay publish() */
proctype request(byte t) {
  byte g;
  bit s;
  d_step { row_open -> g = generation; s = row_server; }
  atomic {
    if
    :: lane_open && lane_generation == g && right_server(s) && mark[t] == NONE && !limit_reached(t) && available > 0 ->
       available--;
       mark[t] = LIVE
    :: else -> g = 0; s = 0; goto done /* busy or refused */
    fi
  }
  /* A message that comes late is one that waits in the queue: the landing is as slow as it likes. */
  atomic {
    if
    :: copy(t, g) = true; answered[t] = true /* confirmed: 202 */
    :: server == s && lane_open && lane_generation == g && mark[t] == LIVE -> /* WAIT came back: 202 */
       safe[t] = true; waited = true; answered[t] = true;
       if
       :: copy(t, g) = true
       :: true /* lost on the way, or the node died before it sent it */
       fi
    :: copy(t, g) = true /* deadline: busy with the ticket */
    :: true
    fi;
    g = 0; s = 0
  }
done:
  skip
}

/* mirrors: admission/relay sweep(), reconcile's republish from marks */
#define unlanded(t) (mark[t] == LIVE && row[t] == NONE && !copy(t, lane_generation))
active proctype sweep() {
end:
  do
  :: d_step { lane_open && server == row_server && unlanded(0) -> copy(0, lane_generation) = true }
  :: d_step { lane_open && server == row_server && unlanded(1) -> copy(1, lane_generation) = true }
  :: d_step { lane_open && server == row_server && unlanded(2) -> copy(2, lane_generation) = true }
  od
}

/* mirrors: orders/landing consume(), store land() with the stock row locked, admission/redis adopt */
#define reachable (lane_open && server == row_server)
#define take(n, k) copy(n, k) && (row[n] != NONE || lands(k) || reachable) -> t = n; g = k
#define land(n) \
  P1(stock > 0); \
  P3(n == 2 || row[same_buyer(n)] != LIVE); \
  stock--; \
  row[n] = LIVE
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
       :: row[t] == NONE && lands(g) -> land(t)
       :: row[t] == LIVE
       :: row[t] == ENDED -> outbox[t] = true /* its release is sent again */
       :: else -> /* of an older generation: the open lane is asked to adopt it */
          if
          :: mark[t] == LIVE -> now = lane_generation; goto adopted
          :: mark[t] == NONE && !adopt_limit_reached(t) && !adopt_short ->
             available = (available > 0 -> available - 1 : 0);
             mark[t] = LIVE;
             now = lane_generation;
             goto adopted
          :: else ->
             mark[t] = ENDED; goto refused
          fi
       fi;
       copy(t, g) = false; t = 0; g = 0
     }
     goto next;
adopted: /* landed with the new generation, unless it is old again: then the message, still there, begins again */
     atomic {
       if
       :: row[t] == NONE && lands(now) -> land(t); copy(t, g) = false
       :: row[t] == NONE && worker_left > 0 -> worker_left-- /* died */
       :: else
       fi;
       t = 0; g = 0; now = 0
     }
     goto next;
refused: /* failed(superseded), told to the buyer, with its release */
     atomic {
       row[t] = (row[t] == NONE -> ENDED : row[t]);
       outbox[t] = (row[t] == ENDED -> true : outbox[t]);
       copy(t, g) = false; t = 0; g = 0
     }
next:
     skip
  od
}

/* mirrors: orders/ticket_ends: the row and the outbox in one transaction, then the lane */
#ifdef CLOSED_LANE_ACKNOWLEDGES
#define release_reaches true
#else
#define release_reaches (lane_open && server == row_server)
#endif
#define release(t) \
  d_step { outbox[t] && release_reaches -> \
    if \
    :: mark[t] == LIVE && lane_open -> mark[t] = ENDED; available++ \
    :: else \
    fi; \
    outbox[t] = false }
active proctype ends() {
end:
  do
  :: d_step { cancels_left > 0 && row[0] == LIVE -> cancels_left--; row[0] = ENDED; stock++; outbox[0] = true }
  :: d_step { cancels_left > 0 && row[2] == LIVE -> cancels_left--; row[2] = ENDED; stock++; outbox[2] = true }
  :: release(0)
  :: release(1)
  :: release(2)
  od
}

/* The one permanent loss. The replica is some earlier state of the lane: marks that no WAIT covered may be missing, ended
 * ones may be live again, and unless a WAIT came back it may be of the generation before, open. */
#define survives(t) \
  if \
  :: mark[t] == LIVE -> available-- \
  :: mark[t] == LIVE && !safe[t] -> mark[t] = NONE \
  :: mark[t] != LIVE \
  fi
#define revives(t) \
  if \
  :: mark[t] == ENDED && available > 0 && !limit_reached(t) -> mark[t] = LIVE; available-- \
  :: true \
  fi
active proctype losses() {
end:
  do
  :: atomic { !lost -> lost = true; /* failover */
       server = 1; fenced[0] = false; fenced[1] = false;
       if
       :: lane_generation > 0 && !waited -> lane_generation--; lane_open = true
       :: lane_open = true
       :: !lane_open
       fi;
       available = UNITS;
       survives(0); survives(1); survives(2);
       revives(0); revives(1); revives(2);
       safe[0] = false; safe[1] = false; safe[2] = false; waited = false
     }
  :: d_step { !lost -> lost = true; /* the broker's content */
       queued[0] = false; queued[1] = false; queued[2] = false; queued[3] = false; queued[4] = false;
       queued[5] = false; queued[6] = false; queued[7] = false; queued[8] = false; queued[9] = false;
       queued[10] = false; queued[11] = false; queued[12] = false; queued[13] = false; queued[14] = false
     }
  :: d_step { operator_left > 0 -> operator_left--; asked_for = true }
  od
}

/* mirrors: admission/leader (lease, token), admission/rebuild: one attempt a turn, given up at the first answer that says
 * stale or foreign; whoever leads then begins again */
#define wanted (asked_for || !row_open || row_server != server)
#ifdef LEADER_WITHOUT_TOKEN
#define fenced_out false
#else
#define fenced_out (leads != me)
#endif
#define mortal :: atomic { crashes_left > 0 && leads == me -> crashes_left--; goto over }
#ifdef INSTALL_OVER_NEWER
#define may_install true
#else
#define may_install (lane_generation <= g && lane_obeys)
#endif
#ifdef LANE_WITHOUT_TOKEN
#define lane_obeys true
#else
#define lane_obeys (!fenced[me])
#endif
#define show_token fenced[1 - me] = (fenced[1 - me] || latest == me)

/* What only the closed lane knows: an intent of the row's generation is landed by the leader itself, as the worker would
 * (a closed row takes them); one that is older, in a lane that fell back further, can only be published again. */
#if defined(SALVAGE_NOTHING)
#define salvage(t) skip
#elif defined(SALVAGE_PUBLISHES)
#define salvage(t) copy(t, lane_generation) = (copy(t, lane_generation) || (mark[t] == LIVE && row[t] == NONE))
#else
#define salvage(t) \
  if \
  :: mark[t] == LIVE && row[t] == NONE && lane_generation == generation -> land(t) \
  :: mark[t] == LIVE && row[t] == NONE && lane_generation < generation -> copy(t, lane_generation) = true \
  :: else \
  fi
#endif

proctype leader(bit me) {
  byte g, units;
  byte seen[TICKETS];
  bit s;
end:
  atomic {
    if
    :: wanted && leads == NOBODY
    :: wanted && leads == 1 - me && late_left > 0 -> late_left-- /* the other is slow, not dead */
    fi;
    leads = me; latest = me; fenced[me] = false
  }
  /* close the row, fenced by the token; note which server the lane is on now */
  atomic {
    if
    :: fenced_out -> goto over
    :: else -> row_open = false; asked_for = false; g = generation; s = server
    fi
  }
  if mortal
  :: d_step { server == s && lane_obeys -> lane_open = (lane_generation <= g -> false : lane_open); show_token }
  :: server != s || !lane_obeys -> goto over
  fi;
  /* salvage */
  if mortal
  :: atomic { server == s -> salvage(0); salvage(1); salvage(2) }
  :: server != s -> goto over
  fi;
  /* one transaction: row locked, generation raised, every ticket read */
  if mortal
  :: atomic {
       if
       :: fenced_out -> goto over
       :: else
       fi;
#ifndef REBUILD_WITHOUT_GENERATION
       generation++;
#endif
       g = generation;
       row_open = false;
#ifndef REBUILD_WITHOUT_ROW_LOCK
       units = stock;
#endif
       seen[0] = row[0]; seen[1] = row[1]; seen[2] = row[2]
     }
  fi;
#ifdef REBUILD_WITHOUT_ROW_LOCK
  units = stock;
#endif
  /* install: begin empties the lane, batches fill it, open opens it when all are there */
  if mortal
  :: d_step { server == s && may_install ->
       lane_generation = g; lane_open = false; available = units; show_token;
       mark[0] = NONE; mark[1] = NONE; mark[2] = NONE;
       safe[0] = false; safe[1] = false; safe[2] = false; waited = false
     }
  :: server != s || !may_install -> goto over
  fi;
  if mortal
  :: d_step { server == s && lane_generation == g && lane_obeys ->
       mark[0] = seen[0]; mark[1] = seen[1]; mark[2] = seen[2]; lane_open = true }
  :: server != s || lane_generation != g || !lane_obeys -> goto over
  fi;
  /* open the row, fenced by token and generation */
  if mortal
  :: d_step { !fenced_out && generation == g -> row_open = true; row_server = s }
  :: fenced_out || generation != g
  fi;
over: /* done, given up or dead: the lease is free again, or somebody else's */
  atomic { leads = (leads == me -> NOBODY : leads); g = 0; s = 0; units = 0; seen[0] = 0; seen[1] = 0; seen[2] = 0 };
  goto end
}

#define settled(t) ((mark[t] == LIVE) == (row[t] == LIVE) && !outbox[t])
#define live(t) (row[t] == LIVE)
init {
  atomic {
    run leader(0); run leader(1);
    run request(0);
#if UNITS == 2
    run request(1);
#endif
#if UNITS == 1 || defined(ALL_TICKETS)
    run request(2)
#endif
  }
  atomic {
    timeout ->
    P5((!answered[0] || row[0] != NONE) && (!answered[1] || row[1] != NONE) && (!answered[2] || row[2] != NONE));
    P6(row_open && lane_open && server == row_server && lane_generation == generation);
    P6(settled(0) && settled(1) && settled(2));
    P2(available == stock && stock + live(0) + live(1) + live(2) == UNITS)
  }
}
