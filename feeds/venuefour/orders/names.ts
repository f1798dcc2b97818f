/**
 * The account behind credentials: the wallet that they name, once it is proven to be theirs. Everything of a wallet can
 * be read by all who know it, and a key signs for itself, not for the wallet it names; so the venue is asked with a
 * signed operation that changes nothing: the cancel of an order that was never placed. It checks signature and binding
 * before it looks for the order (fact sheet 12.3), so that "no such order" is reported only to the wallet's own agents.
 *
 * The wallet's own key needs no question: the wallet's address is its public key.
 *
 * Bounds: MAX_KEYS proofs, each believed for PROOF_TTL_MS, since an agent may be revoked.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Random } from "../../../engine/domain/random.js";
import type { AccountNames, AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { unprovenBy } from "../../shared/orders/exchange-outcome.js";
import { Proofs } from "../../shared/account/proofs.js";
import { uuidOf } from "../account/client-id.js";
import { CANCEL_CREDITS } from "../rules/limits.js";
import type { VenuefourExchange } from "./exchange.js";
import { VenuefourSession } from "../account/session.js";

const MAX_KEYS = 4_096;
const PROOF_TTL_MS = 10 * 60_000;
/** What the venue says of an order that it does not find. */
const NOT_FOUND_CODES: ReadonlySet<string> = new Set(["ORDER_NOT_FOUND", "UNUSED_CLIENT_ORDER_ID"]);

export interface AccountNamesDeps {
  readonly exchange: VenuefourExchange;
  readonly clock: Clock;
  readonly random: Random;
  /** Any contract that the venue lists, by its own name; null while none is known. */
  readonly anySymbol: () => string | null;
}

export class VenuefourAccountNames implements AccountNames {
  readonly #deps: AccountNamesDeps;
  /** By whole credentials. */
  readonly #proofs: Proofs;

  constructor(deps: AccountNamesDeps) {
    this.#deps = deps;
    this.#proofs = new Proofs(deps.clock, MAX_KEYS, PROOF_TTL_MS);
  }

  known(session: AccountSession): string | null {
    if (!(session instanceof VenuefourSession) || !session.canSign) return null;
    const isOwn = session.withKey((key) => key.publicKey === session.accountId) === true;
    return session.isOpen && (isOwn || this.#proofs.has(session.tag)) ? session.accountId : null;
  }

  async read(session: AccountSession, options: CallOptions): Promise<Read<string>> {
    const { anySymbol, clock, exchange, random } = this.#deps;
    if (!(session instanceof VenuefourSession)) return failedRead("AUTH", "session of another venue");
    if (!session.canSign) return failedRead("NEEDS_CREDENTIALS", "an address alone proves nothing");
    const known = this.known(session);
    if (known !== null) return { ok: true, value: known, asOfMs: clock.wallMs(), source: "venue" };
    const symbol = anySymbol();
    if (symbol === null) return failedRead("VENUE_ERROR", "the venue's contracts are not known yet");
    const payload = { symbol, client_order_id: uuidOf(unusedIdHex(random)) };
    const exchanged = await exchange.send(session, "cancel_order", payload, CANCEL_CREDITS, () => true, options);
    const isNotFound = exchanged.kind === "rejected" && NOT_FOUND_CODES.has(exchanged.rejected.venueCode);
    if (exchanged.kind !== "answered" && !isNotFound)
      return unprovenBy(exchanged, "the key is not proven to act for walletAddress");
    this.#proofs.add(session.tag);
    return { ok: true, value: session.accountId, asOfMs: clock.wallMs(), source: "venue" };
  }
}

/** 128 bits: no order has them. */
function unusedIdHex(random: Random): string {
  let hex = "";
  for (let digit = 0; digit < 32; digit++) hex += Math.floor(random.next() * 16).toString(16);
  return hex;
}
