/** What is read of wallets, once for all who ask: while it is being read, and for as long as its block is the head. */
import { LRUCache } from "lru-cache";
import type { ChainRead } from "../../../engine/client-signed-room.js";
import type { Clock } from "../../../engine/domain/clock.js";
import { within } from "../../../engine/domain/deadline.js";
import type { CallOptions } from "../../../engine/ports.js";
import { Deadline } from "../../shared/net/deadline.js";
import type { ChainHeads } from "../chain/heads.js";
import { failedChainRead } from "../chain/pinned-reads.js";

/** Wallets whose last read is kept; the one used longest ago goes. */
const WALLETS_MAX = 1_000;
const NO_TIME = failedChainRead("TIMEOUT", "no time left");

export type Good<T> = Extract<ChainRead<T>, { ok: true }>;

/** One question for all who ask the same at the same time; its answer is kept while its block is the head. */
export class SharedReads<T> {
  readonly #heads: Pick<ChainHeads, "head" | "problem">;
  readonly #clock: Clock;
  readonly #kept = new LRUCache<string, { readonly hash: string; readonly read: Good<T> }>({ max: WALLETS_MAX });
  readonly #pending = new Map<string, Promise<ChainRead<T>>>();

  constructor(heads: Pick<ChainHeads, "head" | "problem">, clock: Clock) {
    this.#heads = heads;
    this.#clock = clock;
  }

  async of(
    wallet: string,
    options: CallOptions,
    ask: (left: CallOptions) => Promise<ChainRead<T>>,
  ): Promise<ChainRead<T>> {
    const deadline = new Deadline(this.#clock, options);
    for (;;) {
      const head = this.#heads.problem === null ? this.#heads.head : null;
      const kept = this.#kept.get(wallet);
      if (head !== null && kept?.hash === head.hash) return kept.read;
      // A reader of a later block does not wait for what may be of the one before.
      const key = `${options.lane} ${options.payer ?? ""} ${wallet} ${head?.hash ?? ""}`;
      const asked = this.#pending.get(key);
      if (asked === undefined) return this.#ask(key, wallet, deadline, ask);
      const waited = await within(this.#clock, asked, Math.max(0, deadline.leftMs()));
      if (!waited.done) return NO_TIME;
      // Whoever asked had less time than this one: it asks by itself.
      if (waited.value.ok || waited.value.code !== "TIMEOUT") return waited.value;
      if (deadline.left() === null) return NO_TIME;
    }
  }

  async #ask(
    key: string,
    wallet: string,
    deadline: Deadline,
    ask: (left: CallOptions) => Promise<ChainRead<T>>,
  ): Promise<ChainRead<T>> {
    const left = deadline.left();
    if (left === null) return NO_TIME;
    const { head } = this.#heads;
    const pending = ask(left).finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    const read = await pending;
    // Under the head alone that it was read at, and not where that changed meanwhile.
    if (read.ok && head !== null && head === this.#heads.head && head.number === read.block)
      this.#kept.set(wallet, { hash: head.hash, read });
    return read;
  }
}
