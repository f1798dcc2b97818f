/**
 * What C agrees to: the intent read by C itself, its own policy, and what each wallet has spent today (docs/mpc.md,
 * section 12). The ledger of a wallet is one row, `custody-day`, which goes into commits of the host; memory follows the
 * rows that it gave out.
 *
 * Invariants: one session a wallet, so nothing is judged between a judgement and the row of its reservation. An amount
 * counts from the commit of its session's `ctr` on, and is given back only where no signature can exist. What is unknown
 * counts as spent: a row that cannot be read, and a store that was put back, allow nothing more on that day. Memory holds
 * two days: amounts of a day before them are in the store alone, so a clock that is set back to there allows nothing.
 */
import type { StateRow, StateWrite } from "../../storage/state-store.js";
import { toHex } from "../digest/bytes.js";
import { decodeIntent, intentDigest } from "../digest/intent.js";
import type { Reservation as OpaqueReservation } from "../mpc/sessions/effects.js";
import type { IntentReader, PolicyVerdict } from "../mpc/sessions/sign-cosigner.js";
import {
  dayNumber,
  type DayState,
  holdReservation,
  markDaySpent,
  NEW_DAY_STATE,
  releaseAmounts,
  type Reservation,
} from "../policy/daily-amounts.js";
import { decodeDayRow, encodeDayRow } from "../policy/day-row.js";
import { decidePolicy } from "../policy/decide.js";
import type { Rulebook } from "../policy/policy.js";
import { POLICY_RULES, type PolicyRefusal, refusal } from "../policy/refusals.js";

export const DAY_NAMESPACE = "custody-day";

export interface DayBookParts {
  readonly book: Rulebook;
  /** Unix epoch, ms, of the wall clock: days are of UTC. */
  nowMs(): number;
  /** For the operator of C, who alone learns the reason. */
  refused(walletId: Uint8Array, refused: PolicyRefusal): void;
}

export class PolicyDayBook {
  readonly #parts: DayBookParts;
  readonly #days = new Map<string, DayState>();
  /** A wallet that is not in `#days` has spent nothing on this day and after it. */
  #firstKnownDay = -1;

  constructor(parts: DayBookParts) {
    this.#parts = parts;
  }

  /**
   * All rows of `DAY_NAMESPACE`, before the first session. Returns the keys of those that cannot be read, for an alert:
   * today's amounts of these wallets count as spent.
   */
  load(rows: readonly StateRow[]): readonly string[] {
    const damaged: string[] = [];
    const nowMs = this.#parts.nowMs();
    for (const { key, value } of rows) {
      let day: DayState;
      try {
        day = decodeDayRow(value);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        damaged.push(key);
        day = markDaySpent(NEW_DAY_STATE, nowMs);
      }
      this.#days.set(key, day);
    }
    this.#dropFormerDays(nowMs);
    return damaged;
  }

  /** Wallets that have amounts in memory. */
  get heldCount(): number {
    return this.#days.size;
  }

  /** `address`: 20 bytes, of the wallet's own row. */
  reader(walletId: Uint8Array, address: Uint8Array): IntentReader {
    const addressText = toHex(address);
    return {
      read: (bytes) => {
        const decoded = decodeIntent(bytes);
        if (!decoded.ok || decoded.intent.kind === "test") {
          // What is wrong with it names parts of a caller's request. S read it first and answered the caller.
          const reason = decoded.ok ? "a test outside a refresh" : "it cannot be read";
          this.#parts.refused(walletId, refusal("INTENT", reason));
          return null;
        }
        const { intent } = decoded;
        const digest = intentDigest(intent);
        return { digest, judge: () => this.#judge(walletId, addressText, { intent, digest }) };
      },
    };
  }

  #judge(walletId: Uint8Array, address: string, what: Parameters<typeof decidePolicy>[1]): PolicyVerdict {
    const { book } = this.#parts;
    const nowMs = this.#parts.nowMs();
    this.#dropFormerDays(nowMs);
    const outcome = decidePolicy(book, what, { address, day: this.#dayOf(walletId) }, nowMs);
    if (outcome.ok)
      return { allowed: true, reservation: outcome.reservation === null ? null : { ...outcome.reservation } };
    this.#parts.refused(walletId, outcome);
    return { allowed: false, detail: POLICY_RULES[outcome.rule] };
  }

  /** The row that makes a reservation durable, for the commit of its session's `ctr`. */
  writeOf(walletId: Uint8Array, reservation: OpaqueReservation): readonly StateWrite[] {
    return [this.#write(walletId, holdReservation(this.#dayOf(walletId), reservationOf(reservation)))];
  }

  /** The amount is free again: no signature can exist. Empty where the day of it is over. */
  releaseOf(walletId: Uint8Array, reservation: OpaqueReservation): readonly StateWrite[] {
    const before = this.#dayOf(walletId);
    const after = releaseAmounts(before, reservationOf(reservation));
    return after === before ? [] : [this.#write(walletId, after)];
  }

  /** Nothing more is spent today: what is known is of an older store. */
  spentOf(walletId: Uint8Array): readonly StateWrite[] {
    return [this.#write(walletId, markDaySpent(this.#dayOf(walletId), this.#parts.nowMs()))];
  }

  #dayOf(walletId: Uint8Array): DayState {
    const held = this.#days.get(keyOf(walletId));
    if (held !== undefined) return held;
    const before = this.#firstKnownDay - 1;
    return { ...NEW_DAY_STATE, day: before, spentThrough: before };
  }

  /** The day before is kept too: a clock that is set back over midnight finds its amounts. */
  #dropFormerDays(nowMs: number): void {
    const first = dayNumber(nowMs) - 1;
    if (first <= this.#firstKnownDay) return;
    this.#firstKnownDay = first;
    for (const [key, { day }] of this.#days) if (day < first) this.#days.delete(key);
  }

  /** Memory goes first: if the commit fails, the amount counts until the store works again, and is read from it then. */
  #write(walletId: Uint8Array, day: DayState): StateWrite {
    const key = keyOf(walletId);
    this.#days.set(key, day);
    return { namespace: DAY_NAMESPACE, key, value: encodeDayRow(day) };
  }
}

/** 32 hex digits, lower case. */
function keyOf(walletId: Uint8Array): string {
  return toHex(walletId).slice(2);
}

/** Sessions carry it without a look inside. Throws TypeError for what no judgement made. */
function reservationOf({ day, digest, totals, payload }: OpaqueReservation): Reservation {
  if (typeof day !== "number" || typeof digest !== "string" || !(totals instanceof Map) || typeof payload !== "object")
    throw new TypeError("not a reservation of the day");
  return { day, digest, totals: totals as ReadonlyMap<string, bigint>, payload: payload as Reservation["payload"] };
}
