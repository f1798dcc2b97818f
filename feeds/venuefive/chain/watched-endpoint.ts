/**
 * What one endpoint has said of the newest blocks. Every look asks for its chain id, its newest block, and the block at
 * the height where all are compared.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { RpcEndpoint } from "../../shared/chain/rpc-endpoint.js";
import { readQuantity } from "../../shared/chain/rpc-wire.js";
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

/** Heights whose hashes are remembered of one endpoint. */
const HEIGHTS_MAX = 16;
const LOOK_MS_MAX = 3_000;
const CHAIN_ID_CALL = { method: "eth_chainId", params: [] };

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
  readonly #options: WatchedEndpointOptions;
  readonly #hashes = new Map<number, string>();
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
    return this.#hashes.get(height) ?? null;
  }

  /** At which it has named a block; the highest first. */
  heights(): readonly number[] {
    return [...this.#hashes.keys()].sort((left, right) => right - left);
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
    this.#note(head, other);
  }

  #note(head: HeadBlock, other: HeadBlock | null): void {
    this.head = head;
    this.#hashes.set(head.number, head.hash);
    if (other !== null) this.#hashes.set(other.number, other.hash);
    // What is above its newest block, is of a branch that it has left.
    for (const height of this.#hashes.keys()) if (height > head.number) this.#hashes.delete(height);
    for (const height of this.heights().slice(HEIGHTS_MAX)) this.#hashes.delete(height);
  }

  #setAside(): void {
    this.#isOtherChain = true;
    const { chainId, place, logger } = this.#options;
    logger.error("chain.other_id", { name: `chain ${chainId}`, part: `endpoint ${place}` });
  }
}
