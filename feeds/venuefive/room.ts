/**
 * The room of venuefive, wired: its endpoints and their heads, the pairs, what wallets hold, and the history beside them.
 * It only reads; what is traded there, the caller's own wallet signs and sends.
 */
import type {
  ChainRead,
  ClientSignedBalances,
  ClientSignedOrder,
  ClientSignedPosition,
  ClientSignedRoom,
  ClientSignedStatus,
} from "../../engine/client-signed-room.js";
import type { Clock } from "../../engine/domain/clock.js";
import { within } from "../../engine/domain/deadline.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import type { CallOptions } from "../../engine/ports.js";
import type { RpcEndpoint } from "../shared/chain/rpc-endpoint.js";
import { RpcPool, type RpcPoolOptions } from "../shared/chain/rpc-pool.js";
import { AccountReader } from "./account/reader.js";
import { BlockTimes } from "./chain/block-times.js";
import { ContractCalls, type ReadAddresses } from "./chain/contract-calls.js";
import { ExtraLooks } from "./chain/extra-looks.js";
import { ChainHeads } from "./chain/heads.js";
import { PinnedReads } from "./chain/pinned-reads.js";
import { dollarBasedBy, GuardedHistory, type HistoryPart } from "./history-guard.js";
import { differText, PairGuard } from "./market/pair-guard.js";
import type { PairMap } from "./market/pair-map.js";

export interface VenuefiveRoomParts {
  readonly chainId: number;
  /** Of http or https. They may contain keys. */
  readonly rpcUrls: readonly string[];
  readonly addresses: ReadAddresses;
  readonly map: PairMap;
  /** Between two looks for new blocks. */
  readonly pollMs: number;
  /** An endpoint so many blocks behind the best is not read. */
  readonly lagBlocksMax: number;
  /** Between two comparisons of the pairs. */
  readonly pairsEveryBlocks: number;
  /** Of each endpoint. */
  readonly callsPerMinute: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * Given the endpoints, which close with the room, and whether the base of a pair is the dollar: that throws for a pair
   * which is not compared with the chain yet, and its throw is to come out of the read. `believed`: the endpoints that are
   * read at the head, the best first; none while nothing is, after one more look at all of them.
   */
  readonly createHistory: (
    pool: RpcPool,
    isDollarBased: (pairIndex: number) => boolean,
    believed: (options: CallOptions) => Promise<readonly RpcEndpoint[]>,
  ) => HistoryPart;
  /** Default: a pool of HTTP connections. */
  readonly connect?: RpcPoolOptions["connect"];
}

/** Pages of all pairs of the live venue, of which each has 40 slots, are 9 MiB of hex. */
export const BODY_BYTES_MAX = 48 * 1024 * 1024;
/** Blocks come every two seconds. */
const STALE_MS = 30_000;
const CLOSE_GRACE_MS = 1_000;

export class VenuefiveRoom implements ClientSignedRoom {
  readonly venue = "venuefive";
  readonly #pool: RpcPool;
  readonly #heads: ChainHeads;
  readonly #guard: PairGuard;
  readonly #accounts: AccountReader;
  readonly #history: HistoryPart;
  #hasLooked = false;

  constructor(parts: VenuefiveRoomParts) {
    const { chainId, rpcUrls, clock, random, logger, callsPerMinute, connect, map } = parts;
    this.#pool = new RpcPool({
      ...{ chainId, urls: rpcUrls, callsPerMinute, maxBodyBytes: BODY_BYTES_MAX, clock, random, logger },
      ...(connect === undefined ? {} : { connect }),
    });
    const { pollMs, lagBlocksMax, pairsEveryBlocks } = parts;
    const endpoints = this.#pool.endpoints.map((endpoint, index) => ({ endpoint, host: hostOf(rpcUrls[index]) }));
    this.#heads = new ChainHeads({ chainId, endpoints, clock, logger, pollMs, lagBlocksMax });
    const heads = this.#heads;
    const looks = new ExtraLooks(heads, clock);
    const reads = new PinnedReads(heads, looks, clock);
    const calls = new ContractCalls(parts.addresses);
    this.#guard = new PairGuard({ map, calls, reads, heads, clock, logger, everyBlocks: pairsEveryBlocks });
    const past = parts.createHistory(this.#pool, dollarBasedBy(this.#guard), believedBy(heads, looks, clock));
    const history = new GuardedHistory(past, this.#guard, clock);
    this.#history = history;
    const times = new BlockTimes(reads);
    this.#accounts = new AccountReader({ map, calls, reads, heads, guard: this.#guard, times, history, clock });
  }

  async start(): Promise<void> {
    this.#heads.onLook(() => {
      if (this.#heads.problem === null && this.#guard.isDue()) void this.#guard.check();
    });
    await this.#heads.start();
    if (this.#heads.problem === null) await this.#guard.check();
    await this.#history.start();
    this.#hasLooked = true;
  }

  async stop(): Promise<void> {
    this.#heads.stop();
    // An endpoint that hangs would hold up a step of the history, at each of its calls: these end with the connections.
    await Promise.all([this.#history.stop(), this.#pool.close(CLOSE_GRACE_MS)]);
  }

  status(): ClientSignedStatus {
    const { head, headAgeMs } = this.#heads;
    return {
      venue: this.venue,
      ...this.#state(),
      block: head?.number ?? null,
      blockAgeMs: headAgeMs,
      differingPairs: this.#guard.known?.differing ?? [],
      index: this.#history.status(),
      endpoints: this.#heads.rows(),
    };
  }

  onBlock(listener: (block: number) => void): () => void {
    return this.#heads.onHead(({ number }) => listener(number));
  }

  readPositions(address: string, options: CallOptions): Promise<ChainRead<readonly ClientSignedPosition[]>> {
    return this.#accounts.positions(address, options);
  }

  readOpenOrders(address: string, options: CallOptions): Promise<ChainRead<readonly ClientSignedOrder[]>> {
    return this.#accounts.openOrders(address, options);
  }

  readBalances(address: string, options: CallOptions): Promise<ChainRead<ClientSignedBalances>> {
    return this.#accounts.balances(address, options);
  }

  readLiquidated(...args: Parameters<ClientSignedRoom["readLiquidated"]>) {
    return this.#history.readLiquidated(...args);
  }

  readClosedTrades(...args: Parameters<ClientSignedRoom["readClosedTrades"]>) {
    return this.#history.readClosedTrades(...args);
  }

  readOrders(...args: Parameters<ClientSignedRoom["readOrders"]>) {
    return this.#history.readOrders(...args);
  }

  findOrder(...args: Parameters<ClientSignedRoom["findOrder"]>) {
    return this.#history.findOrder(...args);
  }

  #state(): Pick<ClientSignedStatus, "state" | "problem"> {
    const { head, headAgeMs, problem } = this.#heads;
    if (!this.#hasLooked && head === null) return { state: "STARTING", problem: "the chain is looked at first" };
    const { known, failure } = this.#guard;
    if (known !== null && known.differing.length > 0) return { state: "DOWN", problem: differText(known.differing) };
    // Of what endpoints said before, the age says enough.
    if (problem !== null && (head === null || problem.code !== "SILENT"))
      return { state: "DOWN", problem: problem.message };
    if (known === null)
      return this.#hasLooked || failure !== null
        ? { state: "DOWN", problem: `the pairs could not be compared: ${failure?.message ?? "they were not answered"}` }
        : { state: "STARTING", problem: "the pairs are compared first" };
    if (problem !== null) return { state: "STALE", problem: problem.message };
    if (headAgeMs !== null && headAgeMs > STALE_MS)
      return { state: "STALE", problem: `no endpoint has had a new block for ${Math.floor(headAgeMs / 1_000)} s` };
    return { state: "LIVE", problem: null };
  }
}

export function createVenuefiveRoom(parts: VenuefiveRoomParts): ClientSignedRoom {
  return new VenuefiveRoom(parts);
}

/** One look that found nobody may have been one at a server that lags: a read of the state looks again too. */
function believedBy(
  heads: ChainHeads,
  looks: ExtraLooks,
  clock: Clock,
): Parameters<VenuefiveRoomParts["createHistory"]>[2] {
  return async ({ timeoutMs }) => {
    if (heads.problem !== null) await within(clock, looks.look(), timeoutMs);
    return heads.problem === null ? heads.sources().map(({ endpoint }) => endpoint) : [];
  };
}

function hostOf(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : "";
}
