/**
 * The outside signer as this service talks to it (docs/outside-signer.md): requests under ids of our own, whose end is
 * asked for. The adapter tells apart what decides what may be sent again.
 */
import type { SigningOrigin, SigningRequest } from "../provider/wallet-provider.js";

/** `test`: the signature that a new wallet must give before it is acknowledged. */
export type OutsideOrigin = SigningOrigin | "test";

/** The id is the idempotency key: the signer makes one request of it, however often it arrives. */
export type OutsideRequest =
  | { readonly kind: "wallet"; readonly requestId: string }
  | {
      readonly kind: "signature";
      readonly requestId: string;
      /** The signer's own name of the wallet. */
      readonly walletRef: string;
      readonly origin: OutsideOrigin;
      readonly payload: SigningRequest;
    };

/** As the signer wrote them: nothing is checked yet. */
export interface OutsideWallet {
  readonly walletRef: string;
  readonly publicKey: string;
  readonly address: string;
}

export type OutsideEnd =
  | { readonly state: "DONE"; readonly wallet: OutsideWallet | null; readonly signature: string | null }
  /** By a rule, or by its people. Nothing was signed. */
  | { readonly state: "REFUSED"; readonly reason: OutsideRefusal; readonly rule: string | null }
  /** A fault of the signer. Nothing was signed. */
  | { readonly state: "FAILED" };

export type OutsideRefusal = "POLICY" | "DESTINATION" | "PEOPLE" | "EXPIRED";

export type OutsideStanding = OutsideEnd | { readonly state: "PENDING" | "AWAITING_APPROVAL" };

/** What an operator must look at. */
export type OutsideProblem = "UNREACHABLE" | "TOKEN" | "CONTRACT";

export type OutsideReply =
  | { readonly kind: "standing"; readonly standing: OutsideStanding; readonly retryAfterMs: number | null }
  /** The signer knows of no such request. */
  | { readonly kind: "absent" }
  /** This call began nothing, for certain; a former one may have. `problem` null: it is only busy. */
  | { readonly kind: "notTaken"; readonly problem: OutsideProblem | null; readonly retryAfterMs: number | null }
  /** The signer read the call and will never take it. */
  | { readonly kind: "rejected" }
  /** It may have been taken. */
  | { readonly kind: "unknown"; readonly problem: OutsideProblem; readonly retryAfterMs: number | null };

export type OutsideName = Pick<OutsideRequest, "kind" | "requestId">;

/** Never rejects. Each call ends by its time. */
export interface OutsideSigner {
  /** Asks for it; a repetition is the same request. */
  begin(request: OutsideRequest, timeoutMs: number): Promise<OutsideReply>;
  /** What became of it. */
  look(request: OutsideName, timeoutMs: number): Promise<OutsideReply>;
  /** Whether it would take requests. Null: it would. */
  health(timeoutMs: number): Promise<OutsideProblem | null>;
}
