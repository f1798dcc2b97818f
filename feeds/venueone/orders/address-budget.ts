/**
 * The cumulative request budget of an address: 10 000 requests and one for each USDC traded, over the whole life of the
 * address. Only the venue knows it (`userRateLimit`), so it is read now and then, and what is sent from here is counted
 * between two readings.
 *
 * Invariants: an exit is never refused here, even with nothing left. Other requests keep a quarter of the budget free,
 * at most KEPT_FOR_EXITS_MAX, for exits. What is under way while a reading is taken counts twice, never not at all.
 *
 * An account without a reading has what every address is granted, less what was sent from here. A reading that fails
 * keeps the one before, with the count. The larger cap that the venue has for cancels is not counted on: a cancel is an
 * exit, and passes; it spends what orders spend.
 *
 * Bounds: MAX_ACCOUNTS, the one used longest ago is forgotten; a reading of an account each READ_GAP_MS, of all accounts
 * READS_PER_MINUTE, of which those that were read within the minute leave half to the others. What is not read now is
 * read at the next call.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Lane } from "../../../engine/ports.js";
import type { AccountBudget } from "../../shared/net/account-limiter.js";
import { monoMs, WeightWindow } from "../../shared/net/weight-window.js";

/** What an address may send before it has traded. */
export const GRANTED_REQUESTS = 10_000;
/** A quarter of what every address is granted. A quarter of a large budget would refuse who trades much for good. */
const KEPT_FOR_EXITS_MAX = 2_500;
const KEPT_SHARE = 0.25;
const READ_GAP_MS = 10_000;
/** Other programs spend too, and fills add: a reading is never older than this while the account trades. */
const MAX_AGE_MS = 10 * 60_000;
/** Weight 20 each: a fifth of the weight that the venue grants an IP. */
const READS_PER_MINUTE = 12;
/** Of accounts that were read within the minute: what is spent is always due. */
const REPEATS_PER_MINUTE = 6;
const MINUTE_MS = 60_000;
const MAX_ACCOUNTS = 4_096;

interface AddressUse {
  used: number;
  cap: number;
  /** Sent from here since the last reading began, or since the address was first seen. */
  sentCount: number;
  /** Sent before the reading that is under way began; null while none is. */
  sentBeforeRead: number | null;
  readAtMs: number;
  /** When the last reading began, whether or not it succeeded. */
  beganAtMs: number;
  nextReadMs: number;
}

/** What an account has left for entries and for exits, by the last reading and the count since. */
export interface AddressLeft {
  readonly left: number;
  readonly cap: number;
}

export class AddressBudget implements AccountBudget {
  readonly #clock: Clock;
  readonly #maxAccounts: number;
  readonly #reads = new WeightWindow(MINUTE_MS);
  readonly #repeats = new WeightWindow(MINUTE_MS);
  /** Insertion order is order of use: the first entry is the one to forget. */
  readonly #addresses = new Map<string, AddressUse>();

  constructor(clock: Clock, maxAccounts = MAX_ACCOUNTS) {
    this.#clock = clock;
    this.#maxAccounts = maxAccounts;
  }

  tryTake(address: string, count: number, lane: Lane): number {
    const use = this.#use(address);
    const waitMs = this.#waitOf(use, count, lane);
    if (waitMs === 0) use.sentCount += count;
    return waitMs;
  }

  /** An estimate for those refused: when the budget may be read again. Only trading makes it grow. */
  waitMs(address: string, count: number, lane: Lane): number {
    const use = this.#addresses.get(address);
    return use === undefined ? 0 : this.#waitOf(use, count, lane);
  }

  refund(address: string, count: number): void {
    const use = this.#addresses.get(address);
    if (use !== undefined) use.sentCount = Math.max(0, use.sentCount - count);
  }

  /** The venue's limit replies are the address's own refusals (`noteRefused`); its 429 is the IP's. */
  block(): void {}

  left(address: string): AddressLeft {
    const { cap, used, sentCount } = this.#addresses.get(address) ?? UNREAD;
    return { left: Math.max(0, cap - used - sentCount), cap };
  }

  /** Returns true when it is to be read now; the caller reports the outcome. */
  beginRead(address: string): boolean {
    const nowMs = monoMs(this.#clock);
    const use = this.#use(address);
    if (use.sentBeforeRead !== null || nowMs < use.nextReadMs || !isDue(use, nowMs)) return false;
    const isRepeat = nowMs - use.beganAtMs < MINUTE_MS;
    if (this.#reads.used(nowMs) >= READS_PER_MINUTE) return false;
    if (isRepeat && this.#repeats.used(nowMs) >= REPEATS_PER_MINUTE) return false;
    this.#reads.add(nowMs, 1);
    if (isRepeat) this.#repeats.add(nowMs, 1);
    use.beganAtMs = nowMs;
    use.sentBeforeRead = use.sentCount;
    use.nextReadMs = nowMs + READ_GAP_MS;
    return true;
  }

  noteReading(address: string, used: number, cap: number): void {
    const use = this.#use(address);
    use.used = used;
    use.cap = cap;
    use.sentCount -= Math.min(use.sentCount, use.sentBeforeRead ?? 0);
    use.sentBeforeRead = null;
    use.readAtMs = monoMs(this.#clock);
  }

  noteUnread(address: string): void {
    const use = this.#addresses.get(address);
    if (use !== undefined) use.sentBeforeRead = null;
  }

  /** The venue refused for this very budget and named its count: `used` of `cap`. */
  noteRefused(address: string, used: number, cap: number): void {
    const use = this.#use(address);
    use.used = Math.max(use.used, used);
    // The refusal of a cancel names the larger cap.
    use.cap = Math.min(use.cap, cap);
  }

  #waitOf(use: AddressUse, count: number, lane: Lane): number {
    if (lane === "exit" || use.used + use.sentCount + count <= forEntries(use)) return 0;
    return Math.max(1, use.nextReadMs - monoMs(this.#clock));
  }

  #use(address: string): AddressUse {
    let use = this.#addresses.get(address);
    if (use === undefined) {
      use = { ...UNREAD };
      if (this.#addresses.size >= this.#maxAccounts) {
        const oldest = this.#addresses.keys().next();
        if (oldest.done !== true) this.#addresses.delete(oldest.value);
      }
    } else {
      this.#addresses.delete(address);
    }
    this.#addresses.set(address, use);
    return use;
  }
}

const UNREAD: Readonly<AddressUse> = {
  used: 0,
  cap: GRANTED_REQUESTS,
  sentCount: 0,
  sentBeforeRead: null,
  readAtMs: Number.NEGATIVE_INFINITY,
  beganAtMs: Number.NEGATIVE_INFINITY,
  nextReadMs: 0,
};

function forEntries({ cap }: AddressUse): number {
  return cap - Math.min(KEPT_FOR_EXITS_MAX, Math.floor(cap * KEPT_SHARE));
}

/** Never read, old, or half of what was left for entries then is gone. */
function isDue(use: AddressUse, nowMs: number): boolean {
  const leftThen = forEntries(use) - use.used;
  return nowMs - use.readAtMs >= MAX_AGE_MS || 2 * use.sentCount >= leftThen;
}
