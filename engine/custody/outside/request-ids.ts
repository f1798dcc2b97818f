/**
 * Ids of wallets and of requests, derived from what they are for by the service's secret: a store that was lost or is an
 * older copy leads to the same wallet and the same request at the signer, which learns no user id from them.
 */
import type { KeyedHash } from "../../storage/keyed-hash.js";
import { markedWalletId, walletIdText } from "../provider/wallet-names.js";
import type { OutsideOrigin } from "./outside-signer.js";

const WALLET_ID_BYTES = 16;

export class RequestIds {
  readonly #hash: KeyedHash;

  constructor(hash: KeyedHash) {
    this.#hash = hash;
  }

  /** UUID. `ownerId`: as the row has it. */
  wallet(ownerId: string | null, userId: string): string {
    return this.#id("wallet", [ownerId === null ? "-" : `+${ownerId}`, userId]);
  }

  /** `round`: grows with each request that the signer ended without a wallet. */
  creation(walletId: string, round: number): string {
    return this.#id("creation", [walletId, String(round)]);
  }

  signature(walletId: string, origin: OutsideOrigin, digest: Uint8Array, round: number): string {
    return this.#id("signature", [walletId, origin, digest, String(round)]);
  }

  #id(what: string, parts: readonly (string | Uint8Array)[]): string {
    const hex = this.#hash.hmacHex(`outside-signer ${what}`, parts);
    return walletIdText(markedWalletId(Buffer.from(hex, "hex").subarray(0, WALLET_ID_BYTES)));
  }
}
