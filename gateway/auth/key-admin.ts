/**
 * The administration of API keys: what the admin socket offers to the CLI (gateway/admin), and what api-keys.ts does.
 */
import type { Scope } from "../../schemas/operation.js";

export interface KeyWish {
  /** An owner that has keys already, or a new one; null: a new owner with an id of its own. */
  readonly ownerId: string | null;
  readonly label: string;
  readonly scopes: readonly Scope[];
  /** Addresses and CIDR blocks (IPv4, IPv6); empty: any address. */
  readonly ips: readonly string[];
  /** Hands the rows of public mode (`local`) over to this owner, once. */
  readonly adoptLocal: boolean;
}

/** What a key is and may do, as it is stored and shown. No secret in it. Times are wall ms. */
export interface KeyIdentity {
  readonly keyId: string;
  readonly ownerId: string;
  readonly label: string;
  readonly scopes: readonly Scope[];
  readonly ips: readonly string[];
  readonly createdAtMs: number;
  readonly rotatedAtMs: number | null;
  readonly revokedAtMs: number | null;
}

export interface KeyView extends KeyIdentity {
  /** Until then the secret before the rotation works too; null: there is none. */
  readonly formerSecretUntilMs: number | null;
  readonly lastUsedAtMs: number | null;
}

/** The one time that a secret is shown. */
export interface NewSecret {
  readonly key: KeyView;
  readonly secret: string;
}

/** Rejects with ServiceError: INVALID_PARAMETERS, KEY_NOT_FOUND, KEY_REVOKED, STORE_UNAVAILABLE. Each act is durable, with its audit row, when its promise resolves. */
export interface KeyAdmin {
  create(wish: KeyWish): Promise<NewSecret>;
  list(): Promise<readonly KeyView[]>;
  /** The secret before keeps working for `overlapMs`. */
  rotate(keyId: string, overlapMs: number): Promise<NewSecret>;
  /** Effective for the next request; its streams end within a second. */
  revoke(keyId: string): Promise<KeyView>;
}
