/** Account streams over a harness's own reads and a network opened by hand, for tests. */
import type { Clock } from "../../../engine/domain/clock.js";
import { type Logger, silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { FakeNetwork } from "../../shared/test/fake-connector.js";
import { VenuethreeAccountStreams } from "../account/streams.js";
import type { Harness } from "./trading-harness.js";

export interface AccountStreamsOptions {
  readonly seed: number;
  readonly maxAccounts?: number;
  readonly logger?: Logger;
  /** In place of the harness's own. */
  readonly clock?: Clock;
  readonly clockOffsetMs?: () => number;
  /** Shared with others of the address. */
  readonly messages?: MessagePacer;
}

export function accountStreamsOf(
  { clock, trading }: Harness,
  network: FakeNetwork,
  options: AccountStreamsOptions,
): VenuethreeAccountStreams {
  const { seed, ...rest } = options;
  return new VenuethreeAccountStreams({
    clock,
    random: createSeededRandom(seed),
    logger: silentLogger,
    rest: trading.rest,
    tokens: trading.tokens,
    instrumentOf: (marketId) => trading.instruments.byNativeId(marketId),
    clockOffsetMs: () => 0,
    wsUrl: "ws://venue/stream",
    connector: network.connector,
    budget: new ConnectionBudget(clock, { maxConnections: 10, connectsPerMinute: 60 }),
    messages: new MessagePacer(clock, 1_000, 60_000),
    resolveKey: (session, call) => trading.resolveKey(session, call),
    ...rest,
  });
}
