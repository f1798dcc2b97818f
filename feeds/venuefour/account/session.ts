/**
 * One caller's credentials for venuefour, opened for one request and closed at its end; or an address alone, since
 * everything of an account can be read by all who know it.
 *
 * Invariant: the key is given only to a synchronous callback, and is dropped by `close`.
 */
import type { AccountSession, OpenSession } from "../../../engine/ports.js";
import { credentialTag, HeldSecret, keyLabel, showNothingOf } from "../../shared/account/key-session.js";
import { readCredentials, type VenuefourCredentials } from "./credentials.js";
import { isAddress, type SigningKey } from "../sign/sign.js";

export class VenuefourSession implements AccountSession {
  static {
    showNothingOf(VenuefourSession);
  }

  readonly venue = "venuefour";
  /** The wallet address: public, and stable whichever agent signs. */
  readonly accountId: string;
  /**
   * A name for whole credentials, equal for equal ones only, useless outside this process: the stream that one session
   * opened is shared with another only under the same tag. The public key takes the place of the secret it was derived
   * from.
   */
  readonly tag: string;
  /** As `tag`, of who signs for which account alone: what the venue says of that is as true with any config key. */
  readonly caller: string;
  readonly payer: string | null;
  readonly #key: HeldSecret<SigningKey>;
  #configKey: string | null;

  constructor(account: string, key: SigningKey | null, configKey: string | null, payer: string | null = null) {
    this.accountId = account;
    this.payer = payer;
    this.#key = new HeldSecret(key, DROP);
    this.#configKey = configKey;
    const publicKey = key?.publicKey ?? null;
    this.tag = credentialTag([account, publicKey, configKey]);
    this.caller = credentialTag([account, publicKey]);
  }

  get isOpen(): boolean {
    return this.#key.isOpen;
  }

  /** False for an address, which can be read and nothing more. */
  get canSign(): boolean {
    return this.#key.isPresent && this.#key.isOpen;
  }

  /** Goes into `PF-API-KEY`; its credits are the caller's own. */
  get configKey(): string | null {
    return this.#configKey;
  }

  /** Name of the budget of the config key's account; null without one. */
  get budgetName(): string | null {
    return this.#configKey === null ? null : keyLabel("venuefour/config-key", this.#configKey);
  }

  /** Null once closed, and without a key. `use` must not keep it. */
  withKey<T>(use: (key: SigningKey) => T): T | null {
    return this.#key.use(use);
  }

  close(): void {
    this.#key.close();
    this.#configKey = null;
  }
}

/** A key object keeps its bytes to itself: what can be done is to let go of it. */
const DROP = (): void => undefined;

/** Reads a block of interface spec 2.3. `problem` names a field, never its value. */
export function openVenuefourSession(raw: unknown, payer: string | null = null): OpenSession {
  const read = readCredentials(raw);
  if (!read.ok) return read;
  const { account, key, configKey }: VenuefourCredentials = read.credentials;
  return { ok: true, session: new VenuefourSession(account, key, configKey, payer) };
}

export function openVenuefourAddress(walletAddress: string, payer: string | null = null): OpenSession {
  if (!isAddress(walletAddress))
    return { ok: false, problem: "venuefour.walletAddress must be a base58 address of 32 bytes" };
  return { ok: true, session: new VenuefourSession(walletAddress, null, null, payer) };
}
