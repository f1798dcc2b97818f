/**
 * Environment of a measured gateway without rate limits of its own: they hold back strangers, and a measurement is
 * about pace.
 */
const NONE = "1000000000";

export const NO_RATE_LIMITS: Readonly<Record<string, string>> = {
  RATE_READ_PER_SECOND: NONE,
  RATE_READ_BURST: NONE,
  RATE_TRADE_PER_SECOND: NONE,
  RATE_TRADE_BURST: NONE,
  RATE_EXIT_PER_SECOND: NONE,
  RATE_EXIT_BURST: NONE,
  RATE_TRANSFER_PER_SECOND: NONE,
  RATE_TRANSFER_BURST: NONE,
  RATE_ANON_PER_SECOND: NONE,
  RATE_ANON_BURST: NONE,
};
