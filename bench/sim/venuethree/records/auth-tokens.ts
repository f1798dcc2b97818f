/**
 * Auth tokens, fact sheet 4: `deadline:account:key:signature`, signed by an API key that is registered now. Each read of
 * private data is judged again, so that replacing a key ends its tokens.
 */
import { hashText } from "../../../../feeds/venuethree/sign/tx.js";
import { verifySignature } from "../../../../feeds/venuethree/sign/schnorr.js";
import type { Accounts, VenueAccount } from "./accounts.js";
import { refuseAuth, refuseParameter } from "../wire/errors.js";

const TOKEN = /^((\d{1,15}):(\d{1,15}):(\d{1,3})):([0-9a-f]{160})$/;
const DEADLINE_AHEAD_MAX_S = 8 * 3600;
/** Tokens whose signature was found good, so that a busy reader does not pay for the curve at every call. */
const KNOWN_MAX = 1_000;

export class AuthTokens {
  readonly #accounts: Accounts;
  readonly #nowMs: () => number;
  /** Token → public key it was checked against. */
  readonly #known = new Map<string, string>();

  constructor(accounts: Accounts, nowMs: () => number) {
    this.#accounts = accounts;
    this.#nowMs = nowMs;
  }

  /** The account that a token speaks for; throws the venue's refusal. */
  accountOf(token: string): VenueAccount {
    const match = TOKEN.exec(token);
    if (match === null) throw refuseAuth("invalid token");
    const [, message = "", deadline, accountIndex, apiKeyIndex, signature = ""] = match;
    const deadlineS = Number(deadline);
    const nowS = this.#nowMs() / 1000;
    if (deadlineS <= nowS) throw refuseAuth("expired token");
    // Whole seconds: a client that adds eight hours to a rounded second is in time.
    if (deadlineS > Math.ceil(nowS) + DEADLINE_AHEAD_MAX_S) throw refuseAuth("invalid deadline");
    const account = this.#accounts.byIndex.get(Number(accountIndex));
    const key = account?.keys.get(Number(apiKeyIndex));
    if (account === undefined || key === undefined) throw refuseAuth("api key not found");
    const keyHex = Buffer.from(key.publicKey).toString("hex");
    if (this.#known.get(token) === keyHex) return account;
    if (!verifySignature(hashText(message), Buffer.from(signature, "hex"), key.publicKey))
      throw refuseAuth("invalid signature");
    this.#remember(token, keyHex);
    return account;
  }

  /** Throws unless `token` may read this account. Null means none was sent. */
  require(token: string | null, accountIndex: number): void {
    if (token === null) throw refuseParameter("auth query param and Authorization header are empty");
    if (this.accountOf(token).index !== accountIndex) throw refuseAuth("account index mismatch");
  }

  #remember(token: string, keyHex: string): void {
    this.#known.set(token, keyHex);
    if (this.#known.size <= KNOWN_MAX) return;
    const oldest = this.#known.keys().next();
    if (oldest.done === false) this.#known.delete(oldest.value);
  }
}
