/**
 * What a local signer knows: wallets and requests, decided as its control says. It speaks no protocol: signer-server.ts
 * puts it behind HTTP, and a test may call it in memory.
 *
 * It keeps the contract where its control does not tell it to lie: one request for an id, final states stay.
 */
import { digestOf, keyOf, type LocalKey, signatureOf, type SignatureLie, type SignerPayload } from "./signer-keys.js";

export interface SignBody {
  readonly walletRef: string;
  readonly origin: "caller" | "service" | "test";
  readonly payload: SignerPayload;
}

type State = "PENDING" | "AWAITING_APPROVAL" | "DONE" | "REFUSED" | "FAILED";
export type SignerRefusal = {
  readonly reason: "POLICY" | "DESTINATION" | "PEOPLE" | "EXPIRED";
  readonly rule?: string;
};

/** At once, by itself after so many looks, or by `decide`. */
export type Decision =
  | { readonly kind: "approve" }
  | { readonly kind: "later"; readonly looks: number; readonly state?: "PENDING" | "AWAITING_APPROVAL" }
  | { readonly kind: "people" }
  | { readonly kind: "refuse"; readonly refusal: SignerRefusal }
  | { readonly kind: "fail" };

export type WalletLie = "none" | "otherAddress" | "noPoint" | "uncompressed" | "sameKey";
/** @testonly All of them. */
export const WALLET_LIES: readonly Exclude<WalletLie, "none">[] = [
  "otherAddress",
  "noPoint",
  "uncompressed",
  "sameKey",
];

interface LocalRequest {
  readonly requestId: string;
  readonly kind: "wallet" | "signature";
  /** The text that it came with: another one under the same id is a conflict. */
  readonly bodyText: string;
  readonly body: SignBody | null;
  state: State;
  looksLeft: number;
  refusal: SignerRefusal | null;
}

export type Reply = Readonly<Record<string, unknown>>;

export class SignerModel {
  readonly #requests = new Map<string, LocalRequest>();
  readonly #wallets = new Map<string, LocalKey>();
  /** How the next requests are decided. */
  decision: (kind: "wallet" | "signature", body: SignBody | null) => Decision = () => ({ kind: "approve" });
  signatureLie: SignatureLie = "none";
  walletLie: WalletLie = "none";

  get requests(): readonly Readonly<LocalRequest>[] {
    return [...this.#requests.values()];
  }

  /** The signer's own count of keys. */
  get walletCount(): number {
    return this.#wallets.size;
  }

  /** `conflict`: the id is another body's. `invalid`: no such wallet. */
  begin(kind: "wallet" | "signature", requestId: string, bodyText: string): Reply | "conflict" | "invalid" {
    const known = this.#requests.get(requestId);
    if (known !== undefined)
      return known.bodyText === bodyText && known.kind === kind ? this.#replyOf(known) : "conflict";
    const body = kind === "wallet" ? null : (JSON.parse(bodyText) as SignBody);
    if (body !== null && !this.#wallets.has(body.walletRef)) return "invalid";
    const request: LocalRequest = {
      ...{ requestId, kind, bodyText, body, state: "PENDING", looksLeft: -1, refusal: null },
    };
    this.#requests.set(requestId, request);
    this.#decide(request, this.decision(kind, body));
    return this.#replyOf(request);
  }

  /** Null: unknown. */
  look(requestId: string): Reply | null {
    const request = this.#requests.get(requestId);
    if (request === undefined) return null;
    if (request.looksLeft > 0 && --request.looksLeft === 0) this.#decide(request, { kind: "approve" });
    return this.#replyOf(request);
  }

  /** What people say to all that wait for them. */
  decide(decision: Decision): void {
    for (const request of this.#requests.values()) if (isOpen(request)) this.#decide(request, decision);
  }

  /** As a signer that lost them, or kept them no longer. */
  forget(): void {
    this.#requests.clear();
  }

  #decide(request: LocalRequest, decision: Decision): void {
    switch (decision.kind) {
      case "approve":
        if (request.kind === "wallet") this.#wallets.set(refOf(request), this.#keyFor(request));
        request.state = "DONE";
        return;
      case "later":
        request.state = decision.state ?? "PENDING";
        request.looksLeft = decision.looks;
        return;
      case "people":
        request.state = "AWAITING_APPROVAL";
        return;
      case "refuse":
        request.state = "REFUSED";
        request.refusal = decision.refusal;
        return;
      case "fail":
        request.state = "FAILED";
    }
  }

  #keyFor(request: LocalRequest): LocalKey {
    return keyOf(this.walletLie === "sameKey" ? "the one key" : request.requestId);
  }

  #replyOf(request: LocalRequest): Reply {
    const { requestId, kind, state, refusal } = request;
    const reply = { requestId, kind, state };
    if (refusal !== null && state === "REFUSED") return { ...reply, refusal };
    if (state !== "DONE") return reply;
    return kind === "wallet"
      ? { ...reply, wallet: this.#walletReply(request) }
      : { ...reply, signature: this.#signatureFor(request) };
  }

  #walletReply(request: LocalRequest): Reply {
    const walletRef = refOf(request);
    const { publicKey, address } = this.#wallets.get(walletRef) ?? keyOf(request.requestId);
    switch (this.walletLie) {
      case "otherAddress":
        return { walletRef, publicKey, address: keyOf("another").address };
      case "noPoint":
        // The x coordinate 5 belongs to no point of the curve.
        return { walletRef, publicKey: `0x02${"5".padStart(64, "0")}`, address };
      case "uncompressed":
        return { walletRef, publicKey: `0x04${publicKey.slice(4)}${publicKey.slice(4)}`, address };
      default:
        return { walletRef, publicKey, address };
    }
  }

  #signatureFor({ body }: LocalRequest): string {
    const key = body === null ? undefined : this.#wallets.get(body.walletRef);
    if (body === null || key === undefined) throw new Error("a signature without its wallet");
    return signatureOf(key, digestOf(body.payload), this.signatureLie);
  }
}

function isOpen({ state }: LocalRequest): boolean {
  return state === "PENDING" || state === "AWAITING_APPROVAL";
}

function refOf({ requestId }: LocalRequest): string {
  return `local/${requestId}`;
}
