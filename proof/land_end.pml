/* Landing and the end of a ticket: at least once in, exactly once out (DESIGN §4.2, §4.4).
 *
 * Promises: P1 the stock row is never short · P6 a ticket ends once, and when all is quiet every ticket has ended, no
 *   outbox row is left and lane and store agree · P7 every payment is applied to one order or owed back once, and nobody
 *   can pay for an order that was voided with the provider's word.
 * Bounds: one lane, one unit, 2 tickets: the first holds the unit at the start, the second takes it when it comes back.
 *   SWEEPS nodes that end what is overdue; one order worker and one teller of the outbox (a second one would do what the
 *   first does again after a death); a repeated message, a repeated notice, PARKS parked tickets, UNKNOWNS lost answers of
 *   the provider, CRASHES deaths between any two steps.
 * Exact: a store transaction, a lane's script and what the provider does are one step each. Every update is conditional on
 *   the state it moves from; what was read before may be old.
 * Left out: generations (rebuild.pml), a notice before its order exists (it waits for the landing), refunds by hand.
 */
#include "promises.pml"

#define TICKETS 2
#ifndef UNKNOWNS
#define UNKNOWNS 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef SWEEPS
#define SWEEPS 2
#endif
#ifndef PARKS
#define PARKS 1
#endif

#define NONE 0
#define PARKED 1
#define AWAITING 2
#define CLOSING 3
#define PAID 4
#define VOID 5 /* cancelled, expired or failed */
#define HELD(s) ((s) == PARKED || (s) == AWAITING || (s) == CLOSING)

#define LIVE 1
#define SOLD 2
#define ENDED 3

#define POST 1
#define RELEASE 2

/* the lane */
byte available;
byte mark[TICKETS];
/* the queue */
bool queued[TICKETS];
/* the store */
byte stock = 1;
byte row[TICKETS];
byte outbox[TICKETS];
bool attempted[TICKETS]; /* a payment row exists */
byte applied[TICKETS], owed[TICKETS];
byte ends[TICKETS]; /* how often a ticket has left the held states */
/* the provider */
#define OPEN 1
#define SHUT 2
#define MONEY 3
byte provider[TICKETS];
bool handed_out[TICKETS]; /* the buyer can pay */
bool gave_up[TICKETS];    /* voided although the provider never answered */
bool noticed[TICKETS];

byte repeats_left = 1, notices_left = 1, unknowns_left = UNKNOWNS, crashes_left = CRASHES, parks_left = PARKS;

#define choose_ticket(condition) \
  if \
  :: condition(0) -> t = 0 \
  :: condition(1) -> t = 1 \
  fi
#define mortal :: atomic { crashes_left > 0 -> crashes_left--; goto next }

/* mirrors: model/order_state transition(), store end_tickets(): one conditional update with its outbox row */
#ifdef RELEASE_OUTSIDE_THE_TRANSACTION
#define tell(t, e) skip
#else
#define tell(t, e) outbox[t] = e
#endif
#define become_void(t) row[t] = VOID; stock++; ends[t]++; P6(ends[t] == 1); tell(t, RELEASE)
#define become_paid(t) row[t] = PAID; applied[t]++; ends[t]++; P6(ends[t] == 1); outbox[t] = POST

/* mirrors: orders/landing consume(), store land(), store fail_intent and parking */
#define in_queue(t) queued[t]
active proctype worker() {
  byte t;
end:
  do
  :: atomic { choose_ticket(in_queue);
#ifdef ACKNOWLEDGE_BEFORE_COMMIT
       queued[t] = false
     }
     if mortal
     :: atomic {
#endif
          if
#ifdef LAND_WITHOUT_READING
          :: true -> P1(stock > 0); stock--; row[t] = AWAITING
#else
          :: row[t] == NONE -> P1(stock > 0); stock--; row[t] = AWAITING
          :: row[t] == NONE && parks_left > 0 -> P1(stock > 0); stock--; row[t] = PARKED; parks_left--
          :: row[t] == VOID -> outbox[t] = RELEASE /* ended: its release is sent again */
          :: HELD(row[t]) || row[t] == PAID        /* a harmless duplicate */
#endif
          fi
        }
#ifdef ACKNOWLEDGE_BEFORE_COMMIT
     fi;
#endif
     if mortal
     :: d_step { queued[t] = false; t = 0 }
     fi;
next:
     t = 0
  od
}

/* mirrors: orders/deadlines sweep and bell, the buyer's cancel, orders/payment_close; the parked desk and its deadline */
#define overdue(t) (row[t] == AWAITING || row[t] == CLOSING || row[t] == PARKED)
#ifdef END_WITHOUT_STATE
#define still(condition) true
#else
#define still(condition) (condition)
#endif
active [SWEEPS] proctype sweep() {
  byte t;
end:
  do
  :: atomic { choose_ticket(overdue);
       if
       :: row[t] == AWAITING && !attempted[t] -> goto unpaid
       :: row[t] == AWAITING && attempted[t] -> goto close
       :: row[t] == CLOSING -> goto ask
       :: row[t] == PARKED -> goto desk
       fi
     }
unpaid: /* nobody ever tried to pay: no need to ask */
     atomic {
#ifdef RELEASE_BEFORE_ROW
       if
       :: mark[t] == LIVE -> mark[t] = ENDED; available++
       :: else
       fi;
     }
     atomic {
#endif
       if
       :: still(row[t] == AWAITING && !attempted[t]) -> become_void(t)
       :: !still(row[t] == AWAITING && !attempted[t])
       fi;
#ifndef RELEASE_OUTSIDE_THE_TRANSACTION
       goto next
#endif
     }
     if mortal
     :: atomic { outbox[t] = (row[t] == VOID -> RELEASE : outbox[t]); goto next }
     fi;
close:
     atomic {
#ifdef EXPIRY_WITHOUT_CLOSING
       if
       :: row[t] == AWAITING -> become_void(t)
       :: else
       fi;
       goto next
#else
       row[t] = (row[t] == AWAITING -> CLOSING : row[t])
#endif
     }
ask:
     if mortal
     :: atomic { provider[t] != MONEY -> provider[t] = SHUT; goto shut } /* also what it does not know (yet) */
     :: atomic { provider[t] == MONEY -> goto money }
     :: atomic { unknowns_left > 0 -> unknowns_left--; /* the answer is lost, executed or not */
          if
          :: provider[t] != MONEY && provider[t] != NONE -> provider[t] = SHUT
          :: true
          fi;
          if
          :: goto next /* ask again later */
          :: goto given_up
          fi
        }
     fi;
given_up:
     atomic {
       if
       :: row[t] == CLOSING -> gave_up[t] = true; become_void(t)
       :: else
       fi;
       goto next
     }
shut:
     if mortal
     :: atomic {
          if
          :: row[t] == CLOSING -> become_void(t)
          :: else
          fi;
          goto next
        }
     fi;
money: /* as a notice */
     atomic {
       if
       :: (row[t] == AWAITING || row[t] == CLOSING) && applied[t] == 0 && owed[t] == 0 -> become_paid(t)
       :: else
       fi;
       goto next
     }
desk:
     atomic {
       if
       :: still(row[t] == PARKED) -> row[t] = AWAITING /* replay */
       :: still(row[t] == PARKED) -> become_void(t)    /* discard */
       :: !still(row[t] == PARKED)
       fi
     }
next:
     t = 0
  od
}

/* mirrors: payments: attempt, hand-out, the buyer's money, the provider's notice (repeated) */
proctype payer(byte t) {
end:
  d_step { row[t] == AWAITING -> attempted[t] = true };
  /* the provider's order, unless it was told to close what it did not know yet */
  atomic { provider[t] = OPEN };
  atomic {
#ifdef HAND_OUT_WITHOUT_CHECK
    handed_out[t] = true
#else
    handed_out[t] = (row[t] == AWAITING)
#endif
  }
end_payable:
  atomic { handed_out[t] && provider[t] == OPEN -> provider[t] = MONEY;
    P7(row[t] != VOID || gave_up[t]) /* nobody pays for what was voided with the provider's word */
  }
notice: /* the payment row decides once: applied or owed back */
  atomic {
    if
#ifdef NOTICE_TWICE
    :: row[t] == AWAITING || row[t] == CLOSING -> become_paid(t)
    :: row[t] == VOID -> owed[t]++
    :: row[t] == PAID
#else
    :: (row[t] == AWAITING || row[t] == CLOSING) && applied[t] == 0 && owed[t] == 0 -> become_paid(t)
    :: row[t] == VOID && applied[t] == 0 && owed[t] == 0 -> owed[t]++
    :: else
#endif
    fi;
    if
    :: notices_left > 0 -> notices_left--; goto notice
    :: true
    fi
  }
}

/* mirrors: orders/ticket_ends: outbox → lane, by ticket; the reply may be lost, two tellers may send the same */
#define to_tell(t) (outbox[t] != NONE)
active proctype teller() {
  byte t;
end:
  do
  :: atomic { choose_ticket(to_tell);
       if
#ifdef RELEASE_WITHOUT_TICKET
       :: outbox[t] == RELEASE -> mark[t] = ENDED; available++
#else
       :: outbox[t] == RELEASE && mark[t] == LIVE -> mark[t] = ENDED; available++
#endif
       :: outbox[t] == POST && mark[t] == LIVE -> mark[t] = SOLD
       :: else
       fi
     }
     if mortal
     :: d_step { outbox[t] = NONE; t = 0 }
     fi;
next:
     t = 0
  od
}

/* mirrors: admission and relay, in short: the second ticket takes the unit that comes back; messages repeat */
active proctype admission() {
end:
  do
  :: d_step { mark[1] == NONE && available > 0 -> available--; mark[1] = LIVE; queued[1] = true }
  :: d_step { repeats_left > 0 && mark[0] != NONE -> repeats_left--; queued[0] = true }
  od
}

#define ended(t) (row[t] == NONE && mark[t] == NONE || row[t] == PAID && mark[t] == SOLD || row[t] == VOID && mark[t] == ENDED)
#define matched(t) (applied[t] + owed[t] == (provider[t] == MONEY) && applied[t] == (row[t] == PAID))
init {
  atomic {
    mark[0] = LIVE; queued[0] = true;
    run payer(0)
#ifdef BOTH_PAY
    ;
    run payer(1)
#endif
  }
  atomic {
    timeout ->
    P6(ended(0) && ended(1) && outbox[0] == NONE && outbox[1] == NONE && !queued[0] && !queued[1]);
    P2(available == stock && stock + (row[0] == PAID) + (row[1] == PAID) == 1);
    P7(matched(0) && matched(1))
  }
}
