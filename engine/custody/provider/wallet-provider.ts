/**
 * Server wallets as the rest of the service knows them: who holds the key, and how many parties sign, stays behind this
 * port (interface spec 1.2, 4.1). A signature is asked for by an intent, never by a digest that somebody else computed.
 *
 * Invariants: an owner reaches its own wallets alone; a stranger's name is answered as one that nobody has. A user id is
 * unique for its owner, so one user id has one wallet, whatever was killed meanwhile. A wallet that was acknowledged is
 * durable at both parties, with both backups written and one signature verified.
 */
import type { StateWrite } from "../../storage/state-store.js";

/** `REFRESH_DUE` and `RESTORED` sign again by themselves, or after the operator's refresh. */
export type WalletState = "ACTIVE" | "FROZEN" | "REFRESH_DUE" | "RESTORED";

export interface Wallet {
  /** Owner of the API key that made it; null: made without a key. */
  readonly ownerId: string | null;
  /** UUID, lower case. */
  readonly walletId: string;
  readonly userId: string;
  /** `0x` and 40 hex digits, EIP-55. */
  readonly address: string;
  /** `0x` and 66 hex digits, lower case: compressed. */
  readonly publicKey: string;
  /** Unix epoch, integer ms. */
  readonly createdAt: number;
  readonly state: WalletState;
  /** Version of the shares; grows with each refresh. */
  readonly epoch: number;
}

/** Integers in their natural unit; addresses as `0x` hex in any case; data as bytes. */
export type SigningRequest =
  | { readonly kind: "message"; readonly bytes: Uint8Array }
  /** JSON of EIP-712; both parties read the same bytes, strictly. */
  | { readonly kind: "typedData"; readonly text: string }
  | { readonly kind: "transaction"; readonly transaction: UnsignedTransaction }
  /** 32 bytes; refused unless the co-signer's configuration allows it. */
  | { readonly kind: "digest"; readonly digest: Uint8Array };

export type UnsignedTransaction =
  | {
      readonly type: "eip1559";
      readonly chainId: bigint;
      readonly nonce: bigint;
      readonly maxPriorityFeePerGas: bigint;
      readonly maxFeePerGas: bigint;
      readonly gasLimit: bigint;
      readonly to: string;
      readonly value: bigint;
      readonly data: Uint8Array;
    }
  | {
      readonly type: "legacy";
      readonly chainId: bigint;
      readonly nonce: bigint;
      readonly gasPrice: bigint;
      readonly gasLimit: bigint;
      readonly to: string;
      readonly value: bigint;
      readonly data: Uint8Array;
    };

/** `caller`: `POST …/sign`, where a caller chose what is signed. `service`: the service built it itself. */
export type SigningOrigin = "caller" | "service";

export interface WalletSignature {
  /** r ‖ s ‖ v of 65 bytes, `0x` hex; v is 27 or 28. */
  readonly signature: string;
  /** `0x` and 64 hex digits: what was signed. */
  readonly digest: string;
}

export interface WalletPage {
  readonly wallets: readonly Wallet[];
  /** The last wallet id of the page; null at the end. */
  readonly next: string | null;
}

/** What `/ready`, `/api/status` and metrics show. */
export interface WalletProviderStatus {
  /** Null: signatures can be made. Otherwise why not, as a word for operators. */
  readonly problem: SignerProblem | null;
  readonly wallets: number;
  readonly frozen: number;
  /** Wallets that the co-signer or the backups have and the service's store lost: none is made until they are restored. */
  readonly lost: number;
  readonly sessions: SessionCounts;
}

export type SignerProblem =
  | "CONNECTING"
  | "UNREACHABLE"
  | "PIN"
  | "VERSION"
  | "SUITE"
  | "SAME_PARTY"
  | "SAME_KEK"
  | "SAME_BACKUP_KEY"
  | "STORE"
  /** An outside signer does not take our token. */
  | "TOKEN"
  /** An outside signer does not answer as its contract says. */
  | "CONTRACT"
  | "STOPPED";

export interface SessionCounts {
  readonly signed: number;
  readonly failed: Readonly<Record<"transport" | "refused" | "violation" | "cheat" | "fault", number>>;
  readonly dropped: number;
  readonly queued: number;
}

/**
 * Rejections are ServiceErrors: SIGNER_UNAVAILABLE (nothing left, may be asked again; context `reason`: what an operator
 * must look at), APPROVAL_PENDING (an outside signer waits for its people: the same, asked for again, continues it), RESTORED_STORE, POLICY_REFUSED or DESTINATION_NOT_ALLOWED (context `rule`: name of the rule),
 * WALLET_FROZEN, FAILED_TO_SIGN or FAILED_TO_CREATE_WALLET (our fault or a violation), WALLET_NOT_FOUND,
 * INVALID_PARAMETERS (typed data that does not read in exactly one way; context `fields`, as the routes have them).
 */
export interface WalletProvider {
  /**
   * Rejects with WALLET_EXISTS, context `walletId`, where the owner has a wallet of this user id. SIGNER_UNAVAILABLE with
   * context `isUnsettled`, and APPROVAL_PENDING: the wallet may still come to be; asked for again it is that one, made now,
   * or in doubt still.
   * `who`: for the audit log. A wallet that is made leaves its row there, in the same commit, and so does one that was in
   * doubt and is given up; every other rejection is left to the caller.
   */
  create(userId: string, ownerId: string | null, who: string): Promise<Wallet>;
  /** By user id, wallet id or address (hex in any case). Null: the owner has none of this name. */
  find(name: string, ownerId: string | null): Wallet | null;
  /** In ascending order of wallet id. `after`: exclusive start. */
  list(ownerId: string | null, after: string | null, limit: number): WalletPage;
  /** Of all owners, for the operator. */
  all(): readonly Wallet[];
  /** SIGNER_UNAVAILABLE with context `isUnsettled`: asked for again it is the same request, not a second one. */
  sign(walletId: string, origin: SigningOrigin, request: SigningRequest): Promise<WalletSignature>;
  status(): WalletProviderStatus;
}

/** What an attempt to make a wallet came to, for the audit log. */
export interface CreationEnd {
  /** Who asked, as the audit log names him. */
  readonly who: string;
  /** UUID. */
  readonly walletId: string;
  readonly isMade: boolean;
}

/** What makes the row of an attempt durable, for a commit. */
export type CreationWrites = (end: CreationEnd) => readonly StateWrite[];
