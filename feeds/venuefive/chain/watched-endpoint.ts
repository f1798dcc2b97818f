/**
 * What one endpoint has said of the newest blocks. Every look asks for its chain id, its newest block, and the block at
 * the height where all are compared.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { RpcEndpoint } from "../../shared/chain/rpc-endpoint.js";
import { readQuantity } from "../../shared/chain/rpc-wire.js";
import { monoMs } from "../../shared/net/weight-window.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import { blockCall, type HeadBlock, readHeadBlock } from "./head-wire.js";

export interface WatchedEndpointOptions {
  readonly chainId: number;
  /** From 1. */
  readonly place: number;
  readonly host: string;
  readonly endpoint: RpcEndpoint;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Heights whose blocks are remembered of one endpoint, those that it named last: so many, however long ago that was. */
const HEIGHTS_MIN = 16;
const HEIGHTS_MAX = 1_024;
/**
 * Those of so long ago are remembered too. It is longer than a block's time may be ahead of this machine's: else one that is
 * always ahead is forgotten before the others come to what it said.
 */
const REMEMBERED_MS = 90_000;
const LOOK_MS_MAX = 3_000;
const CHAIN_ID_CALL = { method: "eth_chainId", params: [] };

/** `hash` null: it has no such block. `timeMs`: of its making, by what can be believed of that; `saidMs`: as named. */
interface NamedBlock {
  readonly hash: string | null;
  readonly saidMs: number;
  timeMs: number;
  /** Last, monotonic. */
  readonly namedAtMs: number;
}

export class WatchedEndpoint {
  readonly endpoint: RpcEndpoint;
  readonly place: number;
  readonly host: string;
  /** Its newest block by the last answer; null before the first. */
  head: HeadBlock | null = null;
  /** It has been asked, and has answered or had its time. */
  hasLooked = false;
  /** Its last look was answered. */
  isAnswering = false;
  /** Most of the others have another block at a height of its own. */
  isMinority = false;
  /** What it says of its height contradicts what it and another say of a block. */
  isContradicted = false;
  readonly #options: WatchedEndpointOptions;
  readonly #named = new Map<number, NamedBlock>();
  #isOtherChain = false;
  #look: Promise<void> | null = null;

  constructor(options: WatchedEndpointOptions) {
    const { endpoint, place, host } = options;
    this.endpoint = endpoint;
    this.place = place;
    this.host = host;
    this.#options = options;
  }

  /** It is asked for nothing any more. */
  get isOtherChain(): boolean {
    return this.#isOtherChain || this.endpoint.isSetAside;
  }

  hashAt(height: number): string | null {
    return this.#named.get(height)?.hash ?? null;
  }

  /** Of what it named there: a hash is of one time, so that of two with it one is no block of the chain. Null: nothing. */
  nameAt(height: number): string | null {
    const named = this.#named.get(height);
    return named === undefined || named.hash === null ? null : `${named.hash} ${named.saidMs}`;
  }

  /** At which it has named a block; the highest first. */
  heights(): readonly number[] {
    const named = [...this.#named.keys()].filter((height) => this.hashAt(height) !== null);
    return named.sort((left, right) => right - left);
  }

  /** When the block was made, at most `latestMs` of `boundTimes` after its naming. */
  timeAt(height: number): number | null {
    return this.#named.get(height)?.timeMs ?? null;
  }

  /** No block that it has named so far counts as made later. */
  boundTimes(latestMs: number): void {
    for (const named of this.#named.values()) named.timeMs = Math.min(named.timeMs, latestMs);
  }

  /** It has been asked for a block that the other has. */
  isComparedWith(other: WatchedEndpoint): boolean {
    return other.heights().some((height) => this.#named.has(height));
  }

  /**
   * The height of a block of the other that is no older than a block which this one has named above it. Where both have
   * it, or this one has none there, this one is wrong of its height: blocks have later times, the higher they are. Of one
   * block with two times one of the two is wrong, and nothing follows from it. Null: there is none, as where the other lags.
   */
  outdoneAt(other: WatchedEndpoint): number | null {
    const own = [...this.heights()];
    let leastMs = Number.POSITIVE_INFINITY;
    for (const height of other.heights()) {
      while (own[0] !== undefined && own[0] > height)
        leastMs = Math.min(leastMs, this.timeAt(own.shift() ?? height) ?? leastMs);
      const [mine, its] = [this.#named.get(height), other.#named.get(height)];
      if (mine === undefined || its === undefined) continue;
      const isOneOfTwoTimes = mine.hash === its.hash && mine.saidMs !== its.saidMs;
      if (!isOneOfTwoTimes && leastMs <= its.timeMs) return height;
    }
    return null;
  }

  /** One look at a time: who comes during one waits for it. */
  look(compareAt: number | null): Promise<void> {
    if (this.isOtherChain) return Promise.resolve();
    this.#look ??= this.#ask(compareAt).finally(() => {
      this.#look = null;
      this.hasLooked = true;
    });
    return this.#look;
  }

  async #ask(compareAt: number | null): Promise<void> {
    const { chainId } = this.#options;
    const calls = [CHAIN_ID_CALL, blockCall(null), ...(compareAt === null ? [] : [blockCall(compareAt)])];
    const result = await this.endpoint.batch(
      calls,
      ([id, newest, compared]) => {
        // What it says of another chain's blocks is not read.
        if (readQuantity(id, "chain id") !== BigInt(chainId)) return null;
        const head = readHeadBlock(newest, null);
        if (head === null) throw new WireFault("block", "is missing");
        return { head, other: compareAt === null ? null : readHeadBlock(compared, compareAt) };
      },
      { timeoutMs: LOOK_MS_MAX, lane: "reconcile" },
    );
    this.isAnswering = result.kind === "value" && result.value !== null;
    if (result.kind !== "value") return;
    if (result.value === null) return this.#setAside();
    const { head, other } = result.value;
    this.#note(head, compareAt, other);
  }

  #note(head: HeadBlock, compareAt: number | null, other: HeadBlock | null): void {
    this.head = head;
    if (compareAt !== null) this.#name(compareAt, other);
    this.#name(head.number, head);
    // What is above its newest block, is of a branch that it has left.
    this.#forgetAbove(head.number);
    const oldMs = monoMs(this.#options.clock) - REMEMBERED_MS;
    // In the order of the last naming.
    for (const [height, { namedAtMs }] of this.#named) {
      const { size } = this.#named;
      if (size <= HEIGHTS_MIN || (size <= HEIGHTS_MAX && namedAtMs >= oldMs)) break;
      this.#named.delete(height);
    }
  }

  #name(height: number, block: HeadBlock | null): void {
    const before = this.#named.get(height);
    const hash = block?.hash ?? null;
    const isSame = before !== undefined && before.hash === hash;
    // What it named above another block there, is of the branch of that one.
    if (before !== undefined && !isSame) this.#forgetAbove(height);
    // In the order of the last naming.
    this.#named.delete(height);
    const saidMs = block?.timestampMs ?? 0;
    const namedAtMs = monoMs(this.#options.clock);
    this.#named.set(height, { hash, saidMs, timeMs: saidMs, ...(isSame ? before : {}), namedAtMs });
  }

  #forgetAbove(top: number): void {
    for (const height of this.#named.keys()) if (height > top) this.#named.delete(height);
  }

  #setAside(): void {
    this.#isOtherChain = true;
    const { chainId, place, logger } = this.#options;
    logger.error("chain.other_id", { name: `chain ${chainId}`, part: `endpoint ${place}` });
  }
}
