/**
 * Reads of accounts at venues, each with its own session, a deadline and a bound on how many run at once.
 *
 * Invariants: a venue's fault never throws: a failed read is a value with a reason, never an empty list. Every session
 * is closed when its read ends. A venue that answers late leaves nothing waiting.
 */
import type { ChainRead, ChainReadFailure } from "../../engine/client-signed-room.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import { within } from "../../engine/domain/deadline.js";
import type { AccountSession, CallOptions, OpenSession, Read, ReadFailure, VenueRoom } from "../../engine/ports.js";
import { scrub } from "../../engine/domain/scrub.js";
import { SharedRoom } from "../../engine/domain/shared-room.js";
import { DESCRIPTORS } from "../../feeds/registry.js";
import { CONTRACTS } from "../../schemas/venues.js";
import { isAccountName, isEvmAddress } from "./names.js";

/** The account: the block decides where there is one, else the public data of the address is read. */
export interface AccountRef {
  readonly walletAddress: string;
  /** Raw block of interface spec 2.3; null without one. */
  readonly block: unknown;
  /** The API key that pays for the read at the venue; null: the account itself does. */
  readonly payer: string | null;
  /**
   * Reads the account of the key, whichever it is, where the venue's reply names it. Absent: the address's account
   * only.
   */
  readonly takesAnyAccount?: true;
}

/** `AUTH_REQUIRED`: no credentials, and nothing public. `OVERLOADED`: too many of our reads run. */
export type AccountFailure = ReadFailure | "AUTH_REQUIRED" | "NOT_SUPPORTED" | "OVERLOADED";

export interface FailedRead {
  readonly ok: false;
  readonly code: AccountFailure;
  /** For people, without secrets. */
  readonly message: string;
  readonly retryAfterMs: number | null;
}

/** `account`: the address of the account that was read, where the room knows it. */
export type AccountRead<T> = (Extract<Read<T>, { ok: true }> & { readonly account?: string }) | FailedRead;

/** Of the chain of a client-signed venue: nobody opens a session there. */
export type ChainOutcome<T> =
  | Extract<ChainRead<T>, { ok: true }>
  | (Omit<FailedRead, "code"> & { readonly code: ChainReadFailure | "OVERLOADED" });

export interface ReadLimits {
  readonly timeoutMs: number;
  /** Maximum of reads over all requests, half of it for one API key beside others; one more fails at once. */
  readonly inFlightMax: number;
}

export const DEFAULT_READ_LIMITS: ReadLimits = { timeoutMs: 4_000, inFlightMax: 256 };
const KEY_SHARE = 0.5;
/** Time a room may need after its own timeout to report it. */
const GRACE_MS = 250;
const TOO_MANY = "too many account reads in flight";

export class AccountReads {
  readonly #clock: Clock;
  readonly #limits: ReadLimits;
  readonly #inFlight: SharedRoom;

  constructor(clock: Clock, limits: ReadLimits = DEFAULT_READ_LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
    this.#inFlight = new SharedRoom(limits.inFlightMax, KEY_SHARE, clock);
  }

  get inFlight(): number {
    return this.#inFlight.count;
  }

  /** Opens a session, reads, closes it. */
  async read<T>(
    room: VenueRoom,
    ref: AccountRef,
    run: (session: AccountSession, options: CallOptions) => Promise<Read<T>> | null,
  ): Promise<AccountRead<T>> {
    const { payer } = ref;
    if (!this.#inFlight.hasRoom(payer)) return failed("OVERLOADED", TOO_MANY);
    const opened = openAccount(room, ref);
    if (opened === null)
      return failed("AUTH_REQUIRED", `${room.venue} shows nothing of an account without credentials`);
    if (!opened.ok) return failed("AUTH", opened.problem);
    this.#inFlight.force(payer);
    try {
      const { timeoutMs } = this.#limits;
      const asked = run(opened.session, { timeoutMs, lane: "read" });
      if (asked === null) return failed("NOT_SUPPORTED", `${room.venue} has no such read`);
      const answer = await within(this.#clock, asked, timeoutMs + GRACE_MS);
      if (!answer.done) return failed("TIMEOUT", `no answer within ${timeoutMs} ms`);
      if (!answer.value.ok) return { ...answer.value, message: scrub(answer.value.message) };
      const account = room.addressOf?.(opened.session) ?? null;
      return account === null ? answer.value : { ...answer.value, account };
    } finally {
      this.#inFlight.leave(payer);
      opened.session.close();
    }
  }

  /** Likewise of a client-signed venue, within the same bounds. */
  async readChain<T>(
    payer: string | null,
    run: (options: CallOptions) => Promise<ChainRead<T>>,
  ): Promise<ChainOutcome<T>> {
    if (!this.#inFlight.enter(payer)) return failed("OVERLOADED", TOO_MANY);
    try {
      const { timeoutMs } = this.#limits;
      const answer = await within(this.#clock, run({ timeoutMs, lane: "read", payer }), timeoutMs + GRACE_MS);
      if (!answer.done) return failed("TIMEOUT", `no answer within ${timeoutMs} ms`);
      return answer.value.ok ? answer.value : { ...answer.value, message: scrub(answer.value.message) };
    } finally {
      this.#inFlight.leave(payer);
    }
  }
}

function failed<C extends AccountFailure>(code: C, message: string): FailedRead & { readonly code: C } {
  return { ok: false, code, message: scrub(message), retryAfterMs: null };
}

/** Returns null when there is nothing to open it with. */
function openAccount(room: VenueRoom, ref: AccountRef): OpenSession | null {
  if (ref.block !== null) return room.openSession(namingAccount(room.venue, ref), ref.payer);
  return room.openAddress === undefined ? null : room.openAddress(ref.walletAddress, ref.payer);
}

/**
 * Where a key names no account by itself, this adds the requested account to the block, and the room refuses a key of a
 * different one. Otherwise a caller could be shown another account's positions under the requested address.
 */
export function namingAccount(
  venue: RoutableVenue,
  { block, walletAddress, takesAnyAccount }: Omit<AccountRef, "payer">,
): unknown {
  if (CONTRACTS[venue].credentials.accountForm !== "evm") return block;
  if (takesAnyAccount === true && DESCRIPTORS[venue].readsNameAccount) return block;
  if (block === null || typeof block !== "object" || !isEvmAddress(walletAddress)) return block;
  return namedAccount(venue, block) === null ? { ...block, walletAddress } : block;
}

/**
 * Throws MISSING_CREDENTIALS where the block names a different account than the path. Addresses of different forms are
 * not compared: a wallet may have one of each.
 */
export function requirePathsAccount(venue: RoutableVenue, { block, walletAddress }: Omit<AccountRef, "payer">): void {
  if (block === null || typeof block !== "object") return;
  const named = CONTRACTS[venue].credentials.accountFields.map((field) => (block as Block)[field]);
  const isEvm = isEvmAddress(walletAddress);
  const comparable = named.filter(
    (name) => typeof name === "string" && isAccountName(name, isEvm ? "evm" : "base58"),
  ) as string[];
  const same = (name: string): boolean =>
    isEvm ? name.toLowerCase() === walletAddress.toLowerCase() : name === walletAddress;
  if (comparable.length > 0 && !comparable.some(same))
    throw new ServiceError("MISSING_CREDENTIALS", {
      exchange: venue,
      problem: "the credentials are of another wallet than the path's",
    });
}

type Block = Readonly<Record<string, unknown>>;

/** As the block has it: the first field that holds an address, else the last one, unchecked. */
function namedAccount(venue: RoutableVenue, block: object): unknown {
  let name: unknown = null;
  for (const field of CONTRACTS[venue].credentials.accountFields) {
    name = (block as Block)[field];
    if (typeof name === "string" && isEvmAddress(name)) return name;
  }
  return name ?? null;
}

/**
 * Returns the account that the rows belong to: the block's own address where it has one, and no other content of the
 * block.
 */
export function accountAddress(venue: RoutableVenue, { block, walletAddress }: Omit<AccountRef, "payer">): string {
  const named = block !== null && typeof block === "object" ? namedAccount(venue, block) : null;
  if (typeof named !== "string") return walletAddress;
  return isAccountName(named, CONTRACTS[venue].credentials.accountForm) ? named : walletAddress;
}
