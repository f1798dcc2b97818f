/** What the steps of a registration are made with, and what they have in common: time, seals, errors. */
import { type Clock, delay } from "../../domain/clock.js";
import type { Deadline } from "../../domain/deadline.js";
import { type ErrorContext, ServiceError } from "../../domain/errors.js";
import type { Logger } from "../../domain/logger.js";
import type { RoutableVenue } from "../../domain/venue.js";
import type { ActOutcome, KeyRegistrar, WalletText } from "../../key-registrar.js";
import type { CallOptions } from "../../ports.js";
import type { WalletProvider } from "../provider/wallet-provider.js";
import type { Sealer } from "../sealing/sealer.js";
import type { SecretRandom } from "../sealing/secret-bytes.js";
import type { KeyBook } from "./key-book.js";
import { type KeyPlace, sealContext, type StoredKey } from "./key-row.js";

export interface KeyParts {
  readonly book: KeyBook;
  readonly sealer: Sealer;
  readonly provider: Pick<WalletProvider, "sign">;
  readonly registrars: ReadonlyMap<RoutableVenue, KeyRegistrar>;
  readonly clock: Clock;
  readonly random: SecretRandom;
  readonly logger: Logger;
}

/** Of one call of a venue. */
const CALL_MS = 3_000;

/** Null: no time is left for a call. */
export function callWithin(time: Deadline): CallOptions | null {
  const timeoutMs = Math.min(CALL_MS, Math.floor(time.leftMs()));
  return timeoutMs <= 0 ? null : { timeoutMs, lane: "trade" };
}

/** False, at once: the time is over before. */
export async function waitWithin({ clock }: Pick<KeyParts, "clock">, time: Deadline, ms: number): Promise<boolean> {
  if (time.leftMs() <= ms) return false;
  await delay(clock, ms);
  return true;
}

export function sealed(
  { sealer }: KeyParts,
  place: KeyPlace,
  key: Omit<StoredKey, "sealed">,
  secret: Uint8Array,
): StoredKey {
  return { ...key, sealed: Buffer.from(sealer.seal(sealContext(place, key), secret)).toString("base64") };
}

/**
 * `use` must not keep the bytes: they are wiped when it has ended. Rejects with SEAL_BROKEN, or SEAL_KEY_UNKNOWN, and with
 * what `use` rejects with.
 */
export async function withSecret<T>(
  parts: Pick<KeyParts, "sealer" | "book">,
  place: KeyPlace,
  key: StoredKey,
  use: (secret: Uint8Array) => T | Promise<T>,
): Promise<T> {
  const secret = await opened(parts, place, key);
  try {
    return await use(secret);
  } finally {
    secret.fill(0);
  }
}

/** A rotation of the sealing key may have written the row since it was read. */
async function opened(
  { sealer, book }: Pick<KeyParts, "sealer" | "book">,
  place: KeyPlace,
  key: StoredKey,
): Promise<Buffer> {
  const open = (one: StoredKey) => sealer.open(sealContext(place, one), Buffer.from(one.sealed, "base64"));
  try {
    return open(key);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "SEAL_KEY_UNKNOWN") throw error;
    await book.reload(place);
    const again = book.keysOf(place).find(({ serial }) => serial === key.serial);
    if (again === undefined) throw error;
    return open(again);
  }
}

/** Rejects with what the provider rejects with; FAILED_TO_REGISTER_KEY for a fault of a signing party. */
export async function signed(
  { provider }: KeyParts,
  { walletId }: KeyPlace,
  { kind, text }: WalletText,
): Promise<string> {
  const request = kind === "typedData" ? { kind, text } : { kind, bytes: Buffer.from(text, "utf8") };
  try {
    const { signature } = await provider.sign(walletId, "service", request);
    return signature;
  } catch (error) {
    if (error instanceof ServiceError && error.code !== "FAILED_TO_SIGN") throw error;
    throw new ServiceError("FAILED_TO_REGISTER_KEY", {}, { cause: error });
  }
}

export function venueAway(venue: RoutableVenue, problem: string, retryAfterMs: number | null): ServiceError {
  const context: ErrorContext = {
    exchange: venue,
    reason: problem,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  };
  return new ServiceError("VENUE_UNAVAILABLE", context);
}

/** The venue refused, and nothing changed there. */
export function refusedBy(
  venue: RoutableVenue,
  refusal: Extract<ActOutcome, { readonly kind: "refused" }>,
): ServiceError {
  const { reason, venueText, retryAfterMs } = refusal;
  const retry = retryAfterMs === null ? {} : { retryAfterMs };
  if (reason === "NOT_FUNDED") return new ServiceError("ACCOUNT_NOT_FUNDED", { exchange: venue, venueText });
  if (reason === "BUSY")
    return new ServiceError("VENUE_UNAVAILABLE", {
      exchange: venue,
      reason: "KEY_REMOVAL_PENDING",
      venueText,
      ...retry,
    });
  if (reason === "RATE_LIMITED") return new ServiceError("VENUE_RATE_LIMITED", { exchange: venue, ...retry });
  return new ServiceError("REGISTRATION_REJECTED", { exchange: venue, reason, venueText });
}

/** Whether the key is approved shows later; asked for again it is this key, or another once this one is known not to be. */
export function unsettled(venue: RoutableVenue): ServiceError {
  return new ServiceError("REGISTRATION_UNSETTLED", { exchange: venue, isUnsettled: true });
}

/** Of a commit behind what the venue did: where the store does not take it, `otherwise` is what is true of the key. */
export async function behindVenue(commit: Promise<void>, otherwise: () => ServiceError): Promise<void> {
  try {
    await commit;
  } catch (error) {
    throw error instanceof ServiceError && error.code === "STORE_UNAVAILABLE" ? otherwise() : error;
  }
}

/** Of an agent's venue; the rest is our own mistake. */
export function registrarOf({ registrars }: KeyParts, { venue }: KeyPlace): KeyRegistrar {
  const registrar = registrars.get(venue);
  if (registrar === undefined)
    throw new ServiceError("VENUE_UNAVAILABLE", { exchange: venue, reason: "NOT_CONFIGURED" });
  return registrar;
}

export function agentsOf(parts: KeyParts, place: KeyPlace): Extract<KeyRegistrar, { readonly kind: "agent" }> {
  const registrar = registrarOf(parts, place);
  // The flow of a venue was changed while a key of the other one is under way.
  if (registrar.kind !== "agent")
    throw new ServiceError("VENUE_UNAVAILABLE", { exchange: place.venue, reason: "KEY_FLOW" });
  return registrar;
}
