/** The account streams of the room: one connection for each set of credentials (shared/account/account-session-streams.ts). */
import type { Random } from "../../../engine/domain/random.js";
import type { AccountSession } from "../../../engine/ports.js";
import { AccountSessionStreams } from "../../shared/account/account-session-streams.js";
import type { ConnectionBudget } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { UnknownWords } from "../../shared/room/unknown-words.js";
import { MAX_ACCOUNT_STREAMS } from "../rules/limits.js";
import { type AccountFeedOptions, VenuefourAccountFeed } from "./account-feed.js";
import { VenuefourSession } from "./session.js";

export interface AccountStreamsOptions extends AccountFeedOptions {
  readonly connector: Connector;
  readonly random: Random;
  readonly budget: ConnectionBudget;
}

export type VenuefourAccountStreams = AccountSessionStreams<VenuefourSession>;

const RECONCILE_BACKOFF = { baseMs: 500, capMs: 15_000 } as const;
/** Two credits of the hundred a minute that all share. */
const TRUTH_EVERY_MS = 5 * 60_000;
/** A frame that is so late is late: our clock estimate is off by up to two seconds. */
const LATE_AFTER_MS = 5_000;

export function venuefourAccountStreams(options: AccountStreamsOptions): VenuefourAccountStreams {
  const { budget, clock, clockOffsetMs, connector, logger, random } = options;
  const words = new UnknownWords("venuefour", () => logger);
  return new AccountSessionStreams<VenuefourSession>({
    ...{ name: "venuefour.account", clock, random, logger, connector, budget, clockOffsetMs, words },
    maxStreams: MAX_ACCOUNT_STREAMS,
    pace: { backoff: RECONCILE_BACKOFF, truthEveryMs: TRUTH_EVERY_MS, lateAfterMs: LATE_AFTER_MS },
    isUsable: (session: AccountSession): session is VenuefourSession =>
      session instanceof VenuefourSession && session.isOpen,
    tagOf: ({ tag }) => tag,
    feed: (parts) => new VenuefourAccountFeed(options, words, parts),
  });
}
