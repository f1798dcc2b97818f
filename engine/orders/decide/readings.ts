/**
 * What a trade reads of its accounts before it decides: live positions, all venues at once, fee rates where the cache
 * has none, and for an entry the free margin and the settings of the symbol.
 *
 * Invariant: a read that fails or misses the deadline is "not known", never "flat".
 */
import type { Clock } from "../../domain/clock.js";
import { parseScaledRounded } from "../../domain/decimal.js";
import { canonicalQtyDecimals, type Instrument } from "../../domain/instrument.js";
import type { Direction, PositionSide } from "../../domain/order.js";
import type { FeeRates, VenuePosition } from "../../domain/position.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { AccountSession, CallOptions, Read, ReadFailure, SymbolSettings } from "../../ports.js";
import type { OpenAccount } from "../accounts.js";
import { within } from "../../domain/deadline.js";
import type { FeeCache } from "./fee-cache.js";
import type { TradeRequest } from "../types.js";

export interface AccountReading {
  readonly account: OpenAccount;
  readonly instrument: Instrument;
  /** Null means not known. */
  readonly positions: readonly VenuePosition[] | null;
  readonly failure: ReadFailure | null;
  /** Why the credentials are refused, the venue's own words among it, not redacted; null: they are not. */
  readonly problem: string | null;
  readonly retryAfterMs: number | null;
  readonly source: "stream" | "venue";
  /** Null means not known in time; the instrument's default applies. */
  readonly fees: FeeRates | null;
  /** Entries only; null: not asked, or not known in time. Then the venue judges. */
  readonly free: string | null;
  readonly settings: SymbolSettings | null;
  /** Entries that name a leverage only, where the instrument does not say it; null: not asked, or not known in time. */
  readonly maxLeverage: number | null;
}

export type Readings = Map<RoutableVenue, AccountReading>;

type ReadRequest = Pick<TradeRequest, "symbol" | "direction" | "size" | "sizePercent" | "open">;

/** Reads all accounts that list the symbol; resolves by the deadline at the latest. */
export async function readAccounts(
  clock: Clock,
  accounts: readonly OpenAccount[],
  request: ReadRequest,
  feeCache: FeeCache,
  deadlineMs: number,
): Promise<Readings> {
  const startNs = clock.monoNs();
  const isEntry = request.open !== null;
  const isWhole = isOfWhole(request);
  const readings: Readings = new Map();
  const feeReads: Promise<void>[] = [];
  const reads: Promise<AccountReading>[] = [];
  for (const account of accounts) {
    const instrument = account.room.markets.get(request.symbol)?.instrument;
    if (instrument === undefined) continue;
    const feeRead = startFeeRead(account, instrument, feeCache, deadlineMs);
    if (feeRead !== null) feeReads.push(feeRead);
    if (isEntry) {
      reads.push(readEntry(clock, account, instrument, request.open?.leverage != null, deadlineMs));
      continue;
    }
    const held = isWhole ? null : heldPositions(account, instrument, request.size);
    // A streamed account is read without a wait, and so without a timer.
    if (held !== null) readings.set(account.venue, readingOf(account, instrument, held, null));
    else if (isWhole) reads.push(readVerified(clock, account, instrument, deadlineMs));
    else reads.push(readPositions(clock, account, instrument, deadlineMs));
  }
  if (reads.length > 0) for (const reading of await Promise.all(reads)) readings.set(reading.account.venue, reading);
  // Fees decide between venues; with one holder there is nothing to decide, and they are not waited for.
  if (feeReads.length > 0 && (isEntry ? readings.size : countHolders(readings, request.direction)) > 1) {
    const leftMs = deadlineMs - (clock.monoNs() - startNs) / 1e6;
    if (leftMs > 0) await within(clock, Promise.all(feeReads), leftMs);
  }
  for (const [venue, reading] of readings) {
    const fees = feeCache.get(feeKey(reading.account, reading.instrument));
    if (fees !== null) readings.set(venue, { ...reading, fees });
  }
  return readings;
}

/** The same for a close where nothing has to be asked: every account streamed, every fee rate known. Else null. */
export function readHeldAccounts(
  accounts: readonly OpenAccount[],
  request: ReadRequest,
  feeCache: FeeCache,
): Readings | null {
  if (isOfWhole(request)) return null;
  const readings: Readings = new Map();
  for (const account of accounts) {
    const instrument = account.room.markets.get(request.symbol)?.instrument;
    if (instrument === undefined) continue;
    const fees = feeCache.get(feeKey(account, instrument));
    const held = fees === null ? null : heldPositions(account, instrument, request.size);
    if (held === null) return null;
    readings.set(account.venue, readingOf(account, instrument, held, fees));
  }
  return readings;
}

function heldPositions(
  account: OpenAccount,
  instrument: Instrument,
  size: string | null,
): Read<readonly VenuePosition[]> | null {
  const { reader } = account.room;
  if (reader.heldPositions === undefined) return null;
  const wantedLots = size === null ? Number.NaN : parseScaledRounded(size, canonicalQtyDecimals(instrument), "ceil");
  return wantedLots > 0
    ? reader.heldPositions(account.session, instrument, wantedLots)
    : reader.heldPositions(account.session, instrument);
}

function countHolders(readings: ReadonlyMap<RoutableVenue, AccountReading>, direction: Direction): number {
  let count = 0;
  for (const reading of readings.values()) if (openLots(reading.positions ?? [], direction) > 0) count++;
  return count;
}

/** Positions, free margin and settings at once; what is not known beside the positions is left to the venue. */
async function readEntry(
  clock: Clock,
  account: OpenAccount,
  instrument: Instrument,
  namesLeverage: boolean,
  timeoutMs: number,
): Promise<AccountReading> {
  const { room, session } = account;
  const options = { timeoutMs, lane: "trade" } as const;
  const maximum = namesLeverage ? room.settings?.maxLeverage?.(session, instrument, options) : undefined;
  const held = room.reader.heldPositions?.(session, instrument) ?? null;
  const [positions, summary, settings, max] = await Promise.all([
    held === null
      ? within(clock, room.reader.readPositions(session, instrument, options), timeoutMs)
      : ({ done: true, value: held } as const),
    room.reader.readAccount === undefined ? null : within(clock, room.reader.readAccount(session, options), timeoutMs),
    room.settings === undefined ? null : within(clock, room.settings.read(session, instrument, options), timeoutMs),
    maximum === undefined ? null : within(clock, maximum, timeoutMs),
  ]);
  return {
    ...readingOf(account, instrument, positions.done ? positions.value : null, null),
    free: summary?.done === true && summary.value.ok ? summary.value.value.free : null,
    settings: settings?.done === true && settings.value.ok ? settings.value.value : null,
    maxLeverage: max?.done === true ? max.value : null,
  };
}

/** One account's positions in one contract. */
function readPositions(
  clock: Clock,
  account: OpenAccount,
  instrument: Instrument,
  timeoutMs: number,
): Promise<AccountReading> {
  const { reader } = account.room;
  return readOne(clock, account, instrument, timeoutMs, (options) =>
    reader.readPositions(account.session, instrument, options),
  );
}

/** The same as the venue itself says it, whatever is streamed. */
export function readVerified(
  clock: Clock,
  account: OpenAccount,
  instrument: Instrument,
  timeoutMs: number,
): Promise<AccountReading> {
  const { room, session } = account;
  return readOne(clock, account, instrument, timeoutMs, (options) =>
    verifiedPositions(room, session, instrument, options),
  );
}

/**
 * The streamed ones of `readings` read at the venue, where the request may use them: nothing is refused for what a
 * stream shows. Null when none of them is streamed. What the venue does not answer is not known.
 */
export async function verifyReadings(
  clock: Clock,
  readings: Readings,
  request: Pick<TradeRequest, "excludeExchanges" | "preferredExchange">,
  timeoutMs: number,
): Promise<Readings | null> {
  const streamed = [...readings.values()].filter((reading) => isStreamedFor(reading, request));
  if (streamed.length === 0) return null;
  const verified: Readings = new Map(readings);
  const reads = streamed.map(({ account, instrument }) => readVerified(clock, account, instrument, timeoutMs));
  for (const reading of await Promise.all(reads)) {
    const { venue } = reading.account;
    verified.set(venue, { ...reading, fees: readings.get(venue)?.fees ?? null });
  }
  return verified;
}

/** Past the streams of a room that has some. */
export function verifiedPositions(
  { reader }: OpenAccount["room"],
  session: AccountSession,
  instrument: Instrument | null,
  options: CallOptions,
): Promise<Read<readonly VenuePosition[]>> {
  return reader.verifyPositions?.(session, instrument, options) ?? reader.readPositions(session, instrument, options);
}

async function readOne(
  clock: Clock,
  account: OpenAccount,
  instrument: Instrument,
  timeoutMs: number,
  work: (options: CallOptions) => Promise<Read<readonly VenuePosition[]>>,
): Promise<AccountReading> {
  // The room has the same deadline; the outer wait holds even if it should not keep it.
  const read = await within(clock, work({ timeoutMs, lane: "exit" }), timeoutMs);
  return readingOf(account, instrument, read.done ? read.value : null, null);
}

/** Streamed, and of a venue that the request may use. */
export function isStreamedFor(
  { account: { venue }, positions, source }: AccountReading,
  { excludeExchanges, preferredExchange }: Pick<TradeRequest, "excludeExchanges" | "preferredExchange">,
): boolean {
  if (source !== "stream" || positions === null || excludeExchanges.includes(venue)) return false;
  return preferredExchange === null || preferredExchange === venue;
}

/** A close of all that is held, or of a share of it: its size is the venue's to say. */
function isOfWhole({ open, size, sizePercent }: ReadRequest): boolean {
  return open === null && (sizePercent !== null || size === "ALL");
}

/** `read` null: no answer in time. */
function readingOf(
  account: OpenAccount,
  instrument: Instrument,
  read: Read<readonly VenuePosition[]> | null,
  fees: FeeRates | null,
): AccountReading {
  const answered = read?.ok === true;
  return {
    account,
    instrument,
    positions: answered
      ? read.value.filter((position) => position.nativeSymbol === instrument.nativeSymbol && position.qtyLots > 0)
      : null,
    failure: read === null ? "TIMEOUT" : read.ok ? null : read.code,
    problem: read?.ok === false && isRefusedKey(read.code) ? read.message : null,
    retryAfterMs: read === null || read.ok ? null : read.retryAfterMs,
    source: answered ? read.source : "venue",
    fees,
    free: null,
    settings: null,
    maxLeverage: null,
  };
}

function isRefusedKey(code: ReadFailure): boolean {
  return code === "AUTH" || code === "NEEDS_CREDENTIALS";
}

/** Open lots in one direction; both hedge sides may be held at once. */
export function openLots(positions: readonly VenuePosition[], direction: Direction): number {
  let qtyLots = 0;
  for (const position of positions) if (position.direction === direction) qtyLots += position.qtyLots;
  return qtyLots;
}

export function heldPosition(positions: readonly VenuePosition[], direction: Direction): VenuePosition | null {
  return positions.find((position) => position.direction === direction) ?? null;
}

/** The side an order names to close `direction`: BOTH on one-way accounts. */
export function positionSideOf(positions: readonly VenuePosition[], direction: Direction): PositionSide {
  return heldPosition(positions, direction)?.positionSide ?? "BOTH";
}

/** Does the account hold both directions apart? What it holds says so; a flat one's settings do, where the venue says. */
export function isHedged(reading: AccountReading): boolean {
  const held = reading.positions?.[0];
  return held === undefined ? reading.settings?.hedgeMode === true : held.positionSide !== "BOTH";
}

/** Null when the cache has the rates. The read fills the cache also when nobody waits for it any more. */
function startFeeRead(
  account: OpenAccount,
  instrument: Instrument,
  feeCache: FeeCache,
  timeoutMs: number,
): Promise<void> | null {
  const key = feeKey(account, instrument);
  if (feeCache.get(key) !== null) return null;
  return account.room.reader.readFeeRates(account.session, instrument, { timeoutMs, lane: "read" }).then(
    (read) => {
      if (read.ok) feeCache.set(key, read.value);
    },
    // A fee rate that cannot be had is replaced by the default; it never fails a close.
    () => {},
  );
}

function feeKey(account: OpenAccount, instrument: Instrument): string {
  return `${account.accountHash}|${instrument.nativeSymbol}`;
}
