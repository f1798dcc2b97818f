/**
 * Keys with a secret of the venue's making (sheet section 9.1), for operators whose accounts may still have them: the venue
 * makes no new ones for others. The wallet signs a text with a nonce, once for the key, and once more to log in where the
 * venue never saw the wallet. No call deletes a key.
 *
 * Invariant: a key is created at most once a call of `issue`; what it answers as `refused` or `notSent` made none.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { IssuingRegistrar, StoredSecret, VenueKey, WalletText } from "../../../engine/key-registrar.js";
import type { CallOptions } from "../../../engine/ports.js";
import { type FailedAct, notSentAct, refusedAct } from "../../shared/orders/act-outcome.js";
import { signInMessage } from "../sign/sign-wallet.js";
import type { NewKey, NoncePurpose, WebAnswer, WebGateway } from "./web-gateway.js";

export interface VenuetwoIssuedKeysDeps {
  readonly gateway: WebGateway;
  readonly clock: Clock;
  /** From where the keys may be used; empty: from everywhere. */
  readonly ipWhitelist: readonly string[];
}

type Sign = (text: WalletText) => Promise<string>;
type Issued = Awaited<ReturnType<IssuingRegistrar["issue"]>>;

/** What stands before and behind the secret in the bytes that are kept, and the key before it. */
const SECRET_MEMBER = Buffer.from('","apiSecret":"');
const KEY_MEMBER = Buffer.from('{"apiKey":"');
const QUOTE = 0x22;

export class VenuetwoIssuedKeys implements IssuingRegistrar {
  readonly kind = "issued";
  readonly #deps: VenuetwoIssuedKeysDeps;
  #lastMs = 0;

  constructor(deps: VenuetwoIssuedKeysDeps) {
    this.#deps = deps;
  }

  /** `options` bounds each request; there are five at most. */
  async issue(account: string, sign: Sign, options: CallOptions): Promise<Issued> {
    const first = await this.#create(account, sign, options);
    if (first.kind !== "noAccount") return first;
    const login = await this.#logIn(account, sign, options);
    if (login !== null) return login;
    const second = await this.#create(account, sign, options);
    return second.kind === "noAccount" ? refusedAct("OTHER", second.text) : second;
  }

  /** The secret of an `issue`: a key that is a header's text, and the bytes that sign. */
  block(key: VenueKey, secret: StoredSecret): unknown {
    const apiKey = secret.use((bytes) => {
      const text = bufferOf(bytes);
      return text.toString("latin1", KEY_MEMBER.length, text.indexOf(SECRET_MEMBER));
    });
    return { apiKey, apiSecret: secret.part(secretPart), walletAddress: key.account };
  }

  async #create(
    account: string,
    sign: Sign,
    options: CallOptions,
  ): Promise<Issued | Extract<WebAnswer<never>, { readonly kind: "noAccount" }>> {
    const signature = await this.#signature(account, "CREATE_API_KEY", sign, options);
    if (typeof signature !== "string") return signature;
    const { gateway, ipWhitelist } = this.#deps;
    const name = this.#newName();
    const created = await gateway.createKey(account, signature, { desc: name, ipWhitelist }, options);
    if (created.kind === "nonceOver") return NONCE_OVER;
    if (created.kind !== "done") return created;
    const key = { account, signer: account, name, expiresAtMs: null };
    return { kind: "done", key, secret: secretOf(created.value) };
  }

  /** Null: the venue knows the wallet now. */
  async #logIn(account: string, sign: Sign, options: CallOptions): Promise<FailedAct | null> {
    const signature = await this.#signature(account, "LOGIN", sign, options);
    if (typeof signature !== "string")
      return signature.kind === "noAccount" ? refusedAct("OTHER", signature.text) : signature;
    const login = await this.#deps.gateway.logIn(account, signature, options);
    if (login.kind === "done") return null;
    if (login.kind === "noAccount") return refusedAct("OTHER", login.text);
    if (login.kind === "nonceOver") return NONCE_OVER;
    return withoutKey(login);
  }

  async #signature(
    account: string,
    type: NoncePurpose,
    sign: Sign,
    options: CallOptions,
  ): Promise<string | FailedAct | Extract<WebAnswer<never>, { readonly kind: "noAccount" }>> {
    const nonce = await this.#deps.gateway.nonce(account, type, options);
    if (nonce.kind === "done") return sign({ kind: "message", text: signInMessage(nonce.value) });
    if (nonce.kind === "nonceOver") return NONCE_OVER;
    return nonce.kind === "noAccount" ? nonce : withoutKey(nonce);
  }

  /** Twenty characters, and unique for the account. */
  #newName(): string {
    this.#lastMs = Math.max(this.#deps.clock.wallMs(), this.#lastMs + 1);
    return `unwind-${this.#lastMs}`;
  }
}

/** The venue refused the nonce of a signature, before it made anything: the same may be asked again. */
const NONCE_OVER: FailedAct = notSentAct("NONCE_OVER", 0);

/** A step before the key's: whatever became of it, no key was made. */
function withoutKey(failed: FailedAct): FailedAct {
  return failed.kind === "unknown" ? notSentAct("NO_ANSWER") : failed;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function secretPart(secret: Uint8Array): Uint8Array {
  const bytes = bufferOf(secret);
  const start = bytes.indexOf(SECRET_MEMBER) + SECRET_MEMBER.length;
  return bytes.subarray(start, bytes.indexOf(QUOTE, start));
}

/** Both are letters and digits. In memory of its own, which the caller wipes. */
function secretOf({ apiKey, apiSecret }: NewKey): Uint8Array {
  const text = JSON.stringify({ apiKey, apiSecret });
  const bytes = Buffer.alloc(text.length);
  bytes.write(text, "latin1");
  return bytes;
}
