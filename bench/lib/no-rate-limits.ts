/** What a measured gateway is started with: its own limits are for strangers, and what is measured is its pace. */
const NONE = "1000000000";

export const NO_RATE_LIMITS: Readonly<Record<string, string>> = {
  RATE_READ_PER_SECOND: NONE,
  RATE_READ_BURST: NONE,
  RATE_TRADE_PER_SECOND: NONE,
  RATE_TRADE_BURST: NONE,
  RATE_EXIT_PER_SECOND: NONE,
  RATE_EXIT_BURST: NONE,
  RATE_ANON_PER_SECOND: NONE,
  RATE_ANON_BURST: NONE,
};
