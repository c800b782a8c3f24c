/* The promises as assertions, shared by every model (DESIGN §1). The hidden flags are never set: they put the promise's
 * name into the text of a violated assertion, where run.py reads which promise a mutation has broken. */
hidden byte P1_broken;
hidden byte P2_broken;
hidden byte P3_broken;
hidden byte P4_broken;
hidden byte P5_broken;
hidden byte P6_broken;
hidden byte P7_broken;
hidden byte P8_broken;

#define P1(x) assert((x) || P1_broken) /* never oversell */
#define P2(x) assert((x) || P2_broken) /* conservation */
#define P3(x) assert((x) || P3_broken) /* purchase limit */
#define P4(x) assert((x) || P4_broken) /* one admitted request, one ticket */
#define P5(x) assert((x) || P5_broken) /* durable before acknowledged */
#define P6(x) assert((x) || P6_broken) /* everything ends, once */
#define P7(x) assert((x) || P7_broken) /* money matches */
#define P8(x) assert((x) || P8_broken) /* no stranded units */
