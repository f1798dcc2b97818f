/**
 * Which account a key acts for. A venueone key may be an agent's: positions and orders then belong to its principal,
 * and the agent's own address looks like a flat account. So no read of an account happens before the venue has named
 * the role of the address (`userRole`, weight 60, hence cached; cached are addresses only, never account data).
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { CallerStanding } from "../../shared/net/caller-standing.js";
import { paidBy } from "../../shared/account/paid-by.js";
import { SharedLookup } from "../../shared/account/shared-lookup.js";
import { TimedCache } from "../../shared/account/timed-cache.js";
import type { VenueoneWireRole } from "./wire.js";
import type { VenueoneRest } from "./rest.js";
import { callOf, type VenueoneSession } from "./session.js";

const MAX_ADDRESSES = 4096;
/** An agent's principal never changes (the venue refuses a used agent address); revocation shows in the order's refusal, which forgets. */
const ROLE_TTL_MS = 10 * 60_000;
/** A fresh approval needs a second or two to be seen everywhere: a miss is remembered just long enough to stop a flood. */
const MISSING_TTL_MS = 2_000;

export class AccountResolver {
  readonly #rest: VenueoneRest;
  readonly #clock: Clock;
  readonly #standing: CallerStanding;
  /** By address. */
  readonly #roles: TimedCache<string, VenueoneWireRole>;
  readonly #lookup: SharedLookup<VenueoneWireRole>;

  constructor(rest: VenueoneRest, clock: Clock, standing: CallerStanding) {
    this.#rest = rest;
    this.#clock = clock;
    this.#standing = standing;
    this.#roles = new TimedCache(clock, MAX_ADDRESSES);
    this.#lookup = new SharedLookup(clock, "the role's look-up");
  }

  /** The address to read and to charge. An AUTH failure says why this key acts for nobody. */
  async resolve(session: VenueoneSession, options: CallOptions): Promise<Read<string>> {
    const known = this.resolveKnown(session);
    if (known !== null) return known;
    const address = addressOf(session);
    const call = paidBy(session, callOf(session, options));
    const role = await this.#lookup.find(address, call, (left) => this.#ask(address, left));
    return role.ok ? this.#accountOf(session, role.value, role.asOfMs) : role;
  }

  /** As `resolve` while the role is remembered; null where the venue has to be asked. */
  resolveKnown(session: VenueoneSession): Read<string> | null {
    if (!session.isOpen) return failedRead("AUTH", "session is closed");
    const role = this.#roles.get(addressOf(session));
    return role === null ? null : this.#accountOf(session, role, this.#clock.wallMs());
  }

  /** The account if it is known without asking; for budgets, where the key's own address will do until then. */
  peek(session: VenueoneSession): string {
    if (session.vaultAddress !== null) return session.vaultAddress;
    const role = this.#roles.last(session.signerAddress);
    return role?.role === "agent" ? role.user : session.signerAddress;
  }

  /** The venue refused the signer: ask again next time. */
  forget(session: VenueoneSession): void {
    this.#roles.delete(session.signerAddress);
  }

  /** A key whose own account the venue names is known by that, and so is the account; what a session only names is not. */
  #accountOf(session: VenueoneSession, role: VenueoneWireRole, asOfMs: number): Read<string> {
    const account = accountRead(session, role, asOfMs);
    if (account.ok && session.canSign && session.vaultAddress === null) {
      this.#standing.answeredWell(session.signerAddress);
      this.#standing.answeredWell(account.value);
    }
    return account;
  }

  async #ask(address: string, options: CallOptions): Promise<Read<VenueoneWireRole>> {
    const answer = await this.#rest.userRole(address, options);
    const isMissing = answer.ok && answer.value.role === "missing";
    // Once answered well, an address is asked about again at once: the server that misses it may lag behind.
    if (answer.ok && !(isMissing && this.#standing.isProven(address)))
      this.#roles.set(address, answer.value, isMissing ? MISSING_TTL_MS : ROLE_TTL_MS);
    return answer;
  }
}

/** Whose role decides. */
function addressOf(session: VenueoneSession): string {
  return session.vaultAddress ?? session.signerAddress;
}

function accountRead(session: VenueoneSession, role: VenueoneWireRole, asOfMs: number): Read<string> {
  const account = accountOf(session, role);
  return account.ok ? { ok: true, value: account.value, asOfMs, source: "venue" } : failedRead("AUTH", account.problem);
}

type Resolved = { readonly ok: true; readonly value: string } | { readonly ok: false; readonly problem: string };

function accountOf(session: VenueoneSession, role: VenueoneWireRole): Resolved {
  // An address that was only named: an agent's is read as its principal's, as its own looks flat.
  if (!session.canSign) return { ok: true, value: role.role === "agent" ? role.user : session.signerAddress };
  return session.vaultAddress === null ? accountOfKey(session, role) : accountOfVault(session, role);
}

function accountOfKey(session: VenueoneSession, role: VenueoneWireRole): Resolved {
  if (role.role === "missing")
    return { ok: false, problem: "AGENT_NOT_APPROVED: the key is neither an account's nor an approved agent's" };
  // Neither kind of address has a key of its own: a key for one cannot act.
  if (role.role === "vault" || role.role === "subAccount")
    return { ok: false, problem: "the key's address is not an account that signs" };
  const account = role.role === "agent" ? role.user : session.signerAddress;
  if (session.walletAddress !== null && session.walletAddress !== account) {
    return { ok: false, problem: "walletAddress is not the account of this key" };
  }
  return { ok: true, value: account };
}

function accountOfVault(session: VenueoneSession, role: VenueoneWireRole): Resolved {
  const { vaultAddress, walletAddress } = session;
  if (vaultAddress === null || (role.role !== "vault" && role.role !== "subAccount")) {
    return { ok: false, problem: "vaultAddress is neither a vault nor a sub-account" };
  }
  if (walletAddress !== null && role.role === "subAccount" && role.master !== walletAddress) {
    return { ok: false, problem: "vaultAddress is not a sub-account of walletAddress" };
  }
  return { ok: true, value: vaultAddress };
}
