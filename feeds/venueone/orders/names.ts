/**
 * The account behind a key: an agent's principal, or the vault that the credentials name once the key is proven to act
 * for it. A vault is only named, and its role can be read by whoever knows it; so the venue is asked with a signed
 * action that does nothing (`noop`), which it refuses for a vault that is not the signer's.
 *
 * Bounds: MAX_KEYS proofs, each believed for PROOF_TTL_MS, since an agent may be revoked.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { AccountNames, AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { Deadline } from "../../shared/net/deadline.js";
import { unprovenBy } from "../../shared/orders/exchange-outcome.js";
import { Proofs } from "../../shared/account/proofs.js";
import type { AccountResolver } from "../account/resolver.js";
import type { VenueoneExchange } from "./exchange.js";
import { VenueoneSession } from "../account/session.js";

const MAX_KEYS = 4_096;
const PROOF_TTL_MS = 10 * 60_000;

export interface AccountNamesDeps {
  readonly accounts: AccountResolver;
  readonly exchange: VenueoneExchange;
  readonly clock: Clock;
}

export class VenueoneAccountNames implements AccountNames {
  readonly #deps: AccountNamesDeps;
  /** By signer and vault. */
  readonly #proofs: Proofs;

  constructor(deps: AccountNamesDeps) {
    this.#deps = deps;
    this.#proofs = new Proofs(deps.clock, MAX_KEYS, PROOF_TTL_MS);
  }

  known(session: AccountSession): string | null {
    const account = session instanceof VenueoneSession ? this.#deps.accounts.resolveKnown(session) : null;
    if (!(session instanceof VenueoneSession) || account?.ok !== true) return null;
    return session.vaultAddress === null || this.#isProven(session) ? account.value : null;
  }

  async read(session: AccountSession, options: CallOptions): Promise<Read<string>> {
    const { accounts, clock, exchange } = this.#deps;
    if (!(session instanceof VenueoneSession)) return failedRead("AUTH", "session of another venue");
    const deadline = new Deadline(clock, options);
    const account = await accounts.resolve(session, options);
    if (!account.ok || session.vaultAddress === null || this.#isProven(session)) return account;
    const left = deadline.left();
    if (left === null) return failedRead("TIMEOUT", "no time left for the proof");
    const proof = await exchange.send(session, exchange.prepare({ type: "noop" }, null), left);
    if (proof.kind !== "answered") return unprovenBy(proof, "the key is not proven to act for vaultAddress");
    this.#proofs.add(proofName(session));
    return account;
  }

  #isProven(session: VenueoneSession): boolean {
    return this.#proofs.has(proofName(session));
  }
}

/** Of public parts: the signer's address is derived from its key. */
function proofName({ signerAddress, vaultAddress }: VenueoneSession): string {
  return `${signerAddress} ${vaultAddress ?? ""}`;
}
