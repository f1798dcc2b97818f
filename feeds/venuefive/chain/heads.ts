/**
 * The newest block that the endpoints agree about, looked for at an interval.
 *
 * Invariants: the head that is shown does not fall back to a lower height, but where nobody names it any more and who
 * answers has had younger blocks below it for CONTRADICTED_MS: so one that lags brings back nothing, and one that named a
 * block of no chain holds nothing for good. Where endpoints have different blocks at one height, the larger part of them
 * decides; where there is none, there is no head to read at until they agree.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import { bestHead } from "../../shared/chain/rpc-pool.js";
import { monoMs } from "../../shared/net/weight-window.js";
import type { HeadBlock } from "./head-wire.js";
import { WatchedEndpoint, type WatchedEndpointOptions } from "./watched-endpoint.js";

export interface ChainHead extends HeadBlock {
  /** When it was seen first, wall ms. */
  readonly seenAtMs: number;
}

export interface ChainHeadsOptions {
  readonly chainId: number;
  /** In the order of configuration. */
  readonly endpoints: readonly Pick<WatchedEndpointOptions, "endpoint" | "host">[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Between two looks. */
  readonly pollMs: number;
  /** An endpoint so many blocks behind the best is lagging. */
  readonly lagBlocksMax: number;
}

export interface EndpointRow {
  readonly host: string;
  readonly state: "up" | "down" | "lagging" | "wrong-chain" | "disagrees";
  readonly block: number | null;
  readonly calls: number;
  readonly failures: number;
}

/** Why there is no head to read at: all are of other chains, they disagree, or none has answered. */
export type HeadProblem = { readonly code: "WRONG_CHAIN" | "DISAGREE" | "SILENT"; readonly message: string };

/** As many must have reached a height before it counts as the best, where there are as many. */
const AGREEMENT = 2;
/** So long a head is held that is contradicted: longer than servers of one endpoint differ, or a reorganisation takes. */
const CONTRADICTED_MS = 30_000;
/** What a block says of its time counts up to so far ahead of this machine's, and of all that others say. */
const FUTURE_MS = 60_000;

export class ChainHeads {
  readonly #options: ChainHeadsOptions;
  readonly #watched: readonly WatchedEndpoint[];
  readonly #listeners = new Set<(head: ChainHead) => void>();
  readonly #lookListeners = new Set<() => void>();
  #head: ChainHead | null = null;
  #seenAtMonoMs = 0;
  /** When it was made, by what can be believed of that. */
  #madeAtMs = 0;
  #contradictedSinceMs: number | null = null;
  #disagreeAt: number | null = null;
  #timer: TimerHandle | null = null;
  #isRunning = false;

  constructor(options: ChainHeadsOptions) {
    this.#options = options;
    const { chainId, clock, logger } = options;
    this.#watched = options.endpoints.map(
      (one, index) => new WatchedEndpoint({ ...one, place: index + 1, chainId, clock, logger }),
    );
  }

  /** The newest that was shown; null before the first. */
  get head(): ChainHead | null {
    return this.#head;
  }

  /** Since it was seen first, or for how much longer its own time is past by this machine's clock. */
  get headAgeMs(): number | null {
    if (this.#head === null) return null;
    const { clock } = this.#options;
    const sinceSeenMs = monoMs(clock) - this.#seenAtMonoMs;
    return Math.floor(Math.max(sinceSeenMs, clock.wallMs() - this.#head.timestampMs));
  }

  get problem(): HeadProblem | null {
    if (this.#watched.every(({ isOtherChain }) => isOtherChain))
      return { code: "WRONG_CHAIN", message: "every endpoint is of another chain" };
    if (this.#disagreeAt !== null) {
      const names = this.#live().map(({ place, host }) => `${place} (${host})`);
      return {
        code: "DISAGREE",
        message: `endpoints ${names.join(" and ")} have different blocks ${this.#disagreeAt}`,
      };
    }
    const head = this.#head;
    if (head === null) return { code: "SILENT", message: "no endpoint has named a block yet" };
    if (this.#live().length === 0) return { code: "SILENT", message: "no endpoint answers" };
    const isThere = this.#believed().some((one) => !one.isMinority && heightOf(one) >= head.number);
    return isThere ? null : { code: "SILENT", message: `no endpoint has got to block ${head.number}, which was shown` };
  }

  /** The first look; resolves when all have answered or had their time, and have been compared. */
  async start(): Promise<void> {
    this.#isRunning = true;
    await this.look();
    // At different heights they have nothing to compare yet.
    if (commonHeight(this.#compared()) !== null) await this.look();
    this.#schedule();
  }

  stop(): void {
    this.#isRunning = false;
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    this.#timer = null;
  }

  /** All are asked; what each answers counts at once. */
  async look(): Promise<void> {
    const compareAt = commonHeight(this.#compared());
    await Promise.all(
      this.#watched.map(async (one) => {
        await one.look(compareAt);
        this.#judge();
      }),
    );
    for (const listener of this.#lookListeners) listener();
  }

  /** Who can be read at the head, best first: at its height and with its block; then those that lag a little. */
  sources(): readonly WatchedEndpoint[] {
    const head = this.#head;
    if (head === null) return [];
    const { lagBlocksMax } = this.#options;
    const near = this.#believed().filter((one) => !one.isMinority && heightOf(one) >= head.number - lagBlocksMax);
    const rank = (one: WatchedEndpoint): number =>
      (heightOf(one) >= head.number ? 0 : 2) + (one.endpoint.isWell ? 0 : 1);
    return [...near].sort((left, right) => rank(left) - rank(right));
  }

  onHead(listener: (head: ChainHead) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** After each look at all of them, whatever it found. */
  onLook(listener: () => void): () => void {
    this.#lookListeners.add(listener);
    return () => void this.#lookListeners.delete(listener);
  }

  rows(): readonly EndpointRow[] {
    const top = best(this.#believed());
    return this.#watched.map((one) => {
      const isLagging = heightOf(one) < top - this.#options.lagBlocksMax;
      const state = one.isOtherChain
        ? "wrong-chain"
        : !one.isAnswering
          ? "down"
          : isLagging
            ? "lagging"
            : one.isMinority || one.isContradicted
              ? "disagrees"
              : "up";
      const { callCount: calls } = one.endpoint;
      return {
        host: one.host,
        state,
        block: one.head?.number ?? null,
        calls,
        failures: one.endpoint.status().failedCount,
      };
    });
  }

  #live(): readonly WatchedEndpoint[] {
    return this.#watched.filter((one) => one.isAnswering && !one.isOtherChain && one.head !== null);
  }

  #believed(): readonly WatchedEndpoint[] {
    return this.#live().filter((one) => !one.isContradicted);
  }

  #fresh(): readonly WatchedEndpoint[] {
    const believed = this.#believed();
    const least = best(believed) - this.#options.lagBlocksMax;
    return believed.filter((one) => heightOf(one) >= least);
  }

  /** Who is compared with whom: those that do not lag; where one is far above all others, those too. */
  #compared(): readonly WatchedEndpoint[] {
    const fresh = this.#fresh();
    return fresh.length < 2 ? this.#live() : fresh;
  }

  #judge(): void {
    // The first to answer may be one that is wrong: nothing counts before all have had their time.
    if (this.#watched.some((one) => !one.hasLooked && !one.isOtherChain)) return;
    judgeTimes(this.#live(), this.#options.clock.wallMs());
    const fresh = this.#fresh();
    // Of two at any heights: the higher one is of another chain, or the lower.
    const compared = this.#compared().filter((one) => !one.isContradicted);
    this.#disagreeAt = compare(compared);
    if (this.#disagreeAt !== null) return;
    const agreed = fresh.filter((one) => !one.isMinority);
    const top = best(agreed);
    const at = agreed.find((one) => heightOf(one) === top);
    if (at === undefined || at.head === null || isUnproven(at, compared)) return;
    if (this.#counts(at.head)) this.#show(at, at.head);
  }

  /** A lower block than the head counts once the head has been contradicted for long. */
  #counts(block: HeadBlock): boolean {
    const nowMs = monoMs(this.#options.clock);
    const before = this.#head;
    const isContradicted = before !== null && block.number < before.number && block.timestampMs > this.#madeAtMs;
    this.#contradictedSinceMs = isContradicted ? (this.#contradictedSinceMs ?? nowMs) : null;
    if (before === null || block.number >= before.number) return true;
    if (this.#contradictedSinceMs === null || nowMs - this.#contradictedSinceMs < CONTRADICTED_MS) return false;
    this.#contradictedSinceMs = null;
    return true;
  }

  #show(of: WatchedEndpoint, block: HeadBlock): void {
    if (block.hash === this.#head?.hash) return;
    const { clock } = this.#options;
    const head = { ...block, seenAtMs: clock.wallMs() };
    this.#head = head;
    this.#seenAtMonoMs = monoMs(clock);
    this.#madeAtMs = of.timeAt(block.number) ?? block.timestampMs;
    for (const listener of this.#listeners) listener(head);
  }

  #schedule(): void {
    if (!this.#isRunning) return;
    const { clock, pollMs } = this.#options;
    this.#timer = clock.setTimer(() => {
      // One that hangs is skipped in the next looks, until its own has ended.
      void this.look();
      this.#schedule();
    }, pollMs);
  }
}

function heightOf({ head }: WatchedEndpoint): number {
  return head?.number ?? -1;
}

/** That all of them have reached; null: there is nobody to compare with. */
function commonHeight(of: readonly WatchedEndpoint[]): number | null {
  return of.length < 2 ? null : Math.min(...of.map(heightOf));
}

function best(of: readonly WatchedEndpoint[]): number {
  return bestHead(of.map(heightOf), Math.min(AGREEMENT, of.length));
}

/** Above all others that it is compared with, by its word alone so far. */
function isUnproven(top: WatchedEndpoint, compared: readonly WatchedEndpoint[]): boolean {
  const others = compared.filter((one) => one !== top);
  const isAlone = others.every((one) => heightOf(one) < heightOf(top));
  return isAlone && others.some((one) => !top.isComparedWith(one));
}

/**
 * Who names blocks above another's that are older than that, or one of a time to come: the height of it is not believed.
 * The only one that answers is.
 */
function judgeTimes(live: readonly WatchedEndpoint[], nowMs: number): void {
  const ofTimeToCome = new Set<WatchedEndpoint>();
  for (const one of live) {
    const others = live.filter((other) => other !== one);
    const latestMs = Math.max(nowMs, ...others.map(({ head }) => head?.timestampMs ?? 0)) + FUTURE_MS;
    // One that is another with each look has no later block to outdo it.
    if (others.length > 0 && (one.head?.timestampMs ?? 0) > latestMs) ofTimeToCome.add(one);
    one.boundTimes(latestMs);
  }
  for (const one of live)
    one.isContradicted = ofTimeToCome.has(one) || live.some((other) => other !== one && isOutdoneBy(one, other));
}

/** Where both have the block, or the higher none there. Of different blocks neither is the right one by its time. */
function isOutdoneBy(one: WatchedEndpoint, other: WatchedEndpoint): boolean {
  const height = one.outdoneAt(other);
  if (height === null) return false;
  const hash = one.hashAt(height);
  return hash === null || hash === other.hashAt(height);
}

/** Marks those that are in the minority. Returns the height at which no part of them is the larger; null: there is none. */
function compare(compared: readonly WatchedEndpoint[]): number | null {
  const [first, ...others] = compared;
  const height = first?.heights().find((at) => others.every((one) => one.hashAt(at) !== null));
  const counts = new Map<string | null, number>();
  const nameOf = (one: WatchedEndpoint): string | null => (height === undefined ? null : one.nameAt(height));
  for (const one of compared) counts.set(nameOf(one), (counts.get(nameOf(one)) ?? 0) + 1);
  const [common] = [...counts].find(([, count]) => count * 2 > compared.length) ?? [];
  for (const one of compared) one.isMinority = common !== undefined && nameOf(one) !== common;
  return common === undefined && compared.length > 0 ? (height ?? null) : null;
}
