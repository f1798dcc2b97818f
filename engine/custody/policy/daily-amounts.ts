/**
 * What a wallet has spent on one UTC day, by asset. Pure: the state comes in, the next one goes out, and the clock is a
 * number. The caller writes the next state durably before the co-signer answers.
 *
 * Invariants: the day never goes back, so a clock set back frees nothing. An amount is counted once for each digest and
 * day, and of transactions that differ in the price of gas alone, of which a chain takes one, once for all: gas as the
 * dearest. What one of them shares with another that was signed since is not given back. Unknown counts as spent: on the day on which a store was put back nothing more is spent. Every map has a bound.
 */
import type { SpentAmount } from "./amounts.js";
import { type PolicyRefusal, refusal } from "./refusals.js";

const MS_PER_DAY = 86_400_000;
/** Digests of one wallet and day that spend something. Gas counts, so this bounds a day's transactions. */
export const MAX_DIGESTS_PER_DAY = 4096;
/** Assets come from the policy file; this bounds the row if the file is long. */
export const MAX_ASSETS_PER_DAY = 256;

/** What transactions have in common of which a chain takes one at most: all but the price of their gas. */
export interface Payload {
  /** `0x` and 64 digits, lower case. */
  readonly key: string;
  /** The asset of its gas, and the most that it may cost. */
  readonly gasAsset: string;
  readonly gas: bigint;
}

export interface CountedPayload {
  /** As far as it is counted. */
  readonly gas: bigint;
  /** Digests that count as this one. */
  readonly uses: number;
}

export interface DayState {
  /** Days since 1970-01-01, UTC; -1 before the first amount. */
  readonly day: number;
  /** On this day and before nothing more is spent; -1: no such day. */
  readonly spentThrough: number;
  readonly totals: ReadonlyMap<string, bigint>;
  /** `0x` and 64 digits, lower case. */
  readonly digests: ReadonlySet<string>;
  /** By key. */
  readonly payloads: ReadonlyMap<string, CountedPayload>;
}

export const NEW_DAY_STATE: DayState = {
  ...{ day: -1, spentThrough: -1 },
  ...{ totals: new Map(), digests: new Set(), payloads: new Map() },
};

/** What can be given back while no signature can exist. */
export interface Reservation {
  readonly day: number;
  readonly digest: string;
  readonly totals: ReadonlyMap<string, bigint>;
  /** Null: no transaction. `gasBefore`: as far as it was counted before; null: it was not. */
  readonly payload: {
    readonly key: string;
    readonly counted: CountedPayload;
    readonly gasBefore: bigint | null;
  } | null;
}

export type ReserveOutcome =
  /** Without a reservation nothing new was counted, and nothing may be given back. */
  { readonly ok: true; readonly state: DayState; readonly reservation: Reservation | null } | PolicyRefusal;

/** Throws RangeError for a clock that gives no time: the intent is not signed. */
export function reserveAmounts(
  before: DayState,
  digest: string,
  amounts: readonly SpentAmount[],
  nowMs: number,
  payload: Payload | null = null,
): ReserveOutcome {
  const state = onDay(before, nowMs);
  const counted = payload === null ? undefined : state.payloads.get(payload.key);
  const sums = sumByAsset(payload === null || counted === undefined ? amounts : dearer(amounts, payload, counted));
  if ((sums.size === 0 && counted === undefined) || state.digests.has(digest))
    return { ok: true, state, reservation: null };
  if (state.spentThrough >= state.day)
    return refusal("DAY_UNKNOWN", "what was spent today is unknown since the store was put back");
  if (state.digests.size >= MAX_DIGESTS_PER_DAY) return refusal("DAY_FULL", "too many intents of one day");
  const totals = new Map(state.totals);
  for (const [asset, { amount, perDay }] of sums) {
    const total = (totals.get(asset) ?? 0n) + amount;
    if (total > perDay) return refusal("AMOUNT_DAY", `more than ${asset} allows in one day`);
    totals.set(asset, total);
  }
  if (totals.size > MAX_ASSETS_PER_DAY) return refusal("DAY_FULL", "too many assets of one day");
  const taken = new Map([...sums].map(([asset, { amount }]) => [asset, amount] as const));
  const reservation = { day: state.day, digest, totals: taken, payload: usedBy(payload, counted) };
  return { ok: true, state: holdReservation(state, reservation), reservation };
}

/** The state with the reservation in it. Twice is once, and what a later day begins without is gone already. */
export function holdReservation(before: DayState, reservation: Reservation): DayState {
  const state = before.day < reservation.day ? dayBegun(before, reservation.day) : before;
  if (state.day > reservation.day || state.digests.has(reservation.digest)) return state;
  const totals = new Map(state.totals);
  for (const [asset, amount] of reservation.totals) totals.set(asset, (totals.get(asset) ?? 0n) + amount);
  const digests = new Set([...state.digests, reservation.digest]);
  const { payload } = reservation;
  const payloads = payload === null ? state.payloads : new Map(state.payloads).set(payload.key, payload.counted);
  return { ...state, totals, digests, payloads };
}

/** Only before the co-signer sends what makes a signature possible (F4). A reservation of another day is gone already. */
export function releaseAmounts(state: DayState, reservation: Reservation): DayState {
  if (state.day !== reservation.day || !state.digests.has(reservation.digest)) return state;
  const { payload } = reservation;
  // Another one since counts on what this one took.
  if (payload !== null && state.payloads.get(payload.key)?.uses !== payload.counted.uses) return state;
  const totals = new Map(state.totals);
  for (const [asset, amount] of reservation.totals) {
    const rest = (totals.get(asset) ?? 0n) - amount;
    if (rest > 0n) totals.set(asset, rest);
    else totals.delete(asset);
  }
  const digests = new Set([...state.digests].filter((digest) => digest !== reservation.digest));
  return { ...state, totals, digests, payloads: withoutUse(state.payloads, payload) };
}

/** After a restore, and when the other side finds this store behind. */
export function markDaySpent(before: DayState, nowMs: number): DayState {
  const state = onDay(before, nowMs);
  return { ...state, spentThrough: Math.max(state.spentThrough, state.day) };
}

/** Days since 1970-01-01, UTC. Throws RangeError for a clock that gives no time. */
export function dayNumber(nowMs: number): number {
  if (!Number.isSafeInteger(nowMs) || nowMs < 0) throw new RangeError("the clock gives no time");
  return Math.floor(nowMs / MS_PER_DAY);
}

/** A later day begins with nothing spent; an earlier one does not come back. */
function onDay(state: DayState, nowMs: number): DayState {
  const day = dayNumber(nowMs);
  return day > state.day ? dayBegun(state, day) : state;
}

function dayBegun(state: DayState, day: number): DayState {
  return { ...state, day, totals: new Map(), digests: new Set(), payloads: new Map() };
}

/** What a transaction may cost more than those like it that are counted: gas alone. */
function dearer(amounts: readonly SpentAmount[], { gas, gasAsset }: Payload, counted: CountedPayload): SpentAmount[] {
  const more = gas > counted.gas ? gas - counted.gas : 0n;
  return amounts.flatMap((one) => (one.asset === gasAsset ? [{ ...one, amount: more }] : []));
}

function usedBy(payload: Payload | null, before: CountedPayload | undefined): Reservation["payload"] {
  if (payload === null) return null;
  const gas = before !== undefined && before.gas > payload.gas ? before.gas : payload.gas;
  return { key: payload.key, counted: { gas, uses: (before?.uses ?? 0) + 1 }, gasBefore: before?.gas ?? null };
}

function withoutUse(before: DayState["payloads"], payload: Reservation["payload"]): DayState["payloads"] {
  if (payload === null) return before;
  const payloads = new Map(before);
  if (payload.gasBefore === null) payloads.delete(payload.key);
  else payloads.set(payload.key, { gas: payload.gasBefore, uses: payload.counted.uses - 1 });
  return payloads;
}

/**
 * Amounts of one intent in one asset are one amount, under the narrowest of their limits: parts of a batch would each
 * pass alone. Zero spends nothing.
 */
function sumByAsset(amounts: readonly SpentAmount[]): ReadonlyMap<string, { amount: bigint; perDay: bigint }> {
  const sums = new Map<string, { amount: bigint; perDay: bigint }>();
  for (const { asset, amount, perDay } of amounts) {
    if (amount < 0n) throw new RangeError("an amount is negative");
    if (amount === 0n) continue;
    const sum = sums.get(asset);
    sums.set(asset, {
      amount: (sum?.amount ?? 0n) + amount,
      perDay: sum !== undefined && sum.perDay < perDay ? sum.perDay : perDay,
    });
  }
  return sums;
}
