/** The account streams of the room: one user stream for each set of credentials (shared/account/account-session-streams.ts). */
import type { Random } from "../../../engine/domain/random.js";
import type { AccountSession } from "../../../engine/ports.js";
import { AccountSessionStreams } from "../../shared/account/account-session-streams.js";
import type { ConnectionBudget } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { UnknownWords } from "../../shared/room/unknown-words.js";
import { MAX_ACCOUNT_STREAMS } from "../rules/limits.js";
import { type AccountFeedOptions, VenuetwoAccountFeed } from "./account-feed.js";
import { credentialTagOf } from "./credential-tag.js";
import { VenuetwoSession } from "./session.js";

export interface AccountStreamsOptions extends AccountFeedOptions {
  readonly connector: Connector;
  readonly random: Random;
  readonly budget: ConnectionBudget;
}

export type VenuetwoAccountStreams = AccountSessionStreams<VenuetwoSession>;

const RECONCILE_BACKOFF = { baseMs: 250, capMs: 10_000 } as const;
/** A read of all positions weighs 5 of the 1,920 a minute that we take. */
const TRUTH_EVERY_MS = 60_000;

export function venuetwoAccountStreams(options: AccountStreamsOptions): VenuetwoAccountStreams {
  const { budget, clock, clockOffsetMs, connector, logger, random } = options;
  const words = new UnknownWords("venuetwo", () => logger);
  return new AccountSessionStreams<VenuetwoSession>({
    ...{ name: "venuetwo.account", clock, random, logger, connector, budget, clockOffsetMs, words },
    maxStreams: MAX_ACCOUNT_STREAMS,
    pace: { backoff: RECONCILE_BACKOFF, truthEveryMs: TRUTH_EVERY_MS },
    isUsable: (session: AccountSession): session is VenuetwoSession =>
      session instanceof VenuetwoSession && session.isOpen,
    tagOf: credentialTagOf,
    feed: (parts) => new VenuetwoAccountFeed(options, words, parts),
  });
}
