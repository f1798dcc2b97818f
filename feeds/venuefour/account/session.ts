/**
 * One caller's credentials for venuefour, opened for one request and closed at its end; or an address alone, since
 * everything of an account can be read by whoever knows it.
 *
 * Invariant: the key leaves this object only into a synchronous callback, and is dropped by `close`.
 */
import { createHash, createHmac, randomBytes } from "node:crypto";
import type { AccountSession, OpenSession } from "../../../engine/ports.js";
import { readCredentials, type VenuefourCredentials } from "./credentials.js";
import { isAddress, type SigningKey } from "../sign/sign.js";

/** Never leaves the process, and dies with it. */
const TAG_KEY = randomBytes(32);

export class VenuefourSession implements AccountSession {
  readonly venue = "venuefour";
  /** The wallet address: public, and stable whichever agent signs. */
  readonly accountId: string;
  /**
   * A name for whole credentials, equal for equal ones only, useless outside this process: the stream that one session
   * opened is shared with another only under the same tag. The public key stands for the secret it was derived from.
   */
  readonly tag: string;
  /** As `tag`, of who signs for which account alone: what the venue says of that is as true with any config key. */
  readonly caller: string;
  #key: SigningKey | null;
  #configKey: string | null;
  #isOpen = true;

  constructor(account: string, key: SigningKey | null, configKey: string | null) {
    this.accountId = account;
    this.#key = key;
    this.#configKey = configKey;
    const publicKey = key?.publicKey ?? null;
    this.tag = tagOf([account, publicKey, configKey]);
    this.caller = tagOf([account, publicKey]);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** False: an address, which can be read and nothing more. */
  get canSign(): boolean {
    return this.#key !== null;
  }

  /** Goes into `PF-API-KEY`; its credits are the caller's own. */
  get configKey(): string | null {
    return this.#configKey;
  }

  /** Name of the budget of the config key's account; null without one. */
  get budgetName(): string | null {
    if (this.#configKey === null) return null;
    return `key:${createHash("sha256").update("unwind/venuefour/config-key\0").update(this.#configKey).digest("hex").slice(0, 40)}`;
  }

  /** Null once closed, and without a key. `use` must not keep it. */
  withKey<T>(use: (key: SigningKey) => T): T | null {
    return this.#isOpen && this.#key !== null ? use(this.#key) : null;
  }

  close(): void {
    this.#isOpen = false;
    this.#key = null;
    this.#configKey = null;
  }

  toJSON(): Record<string, never> {
    return {};
  }

  /** What util.inspect, and so console and test output, prints. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return "VenuefourSession {}";
  }
}

function tagOf(parts: readonly (string | null)[]): string {
  return createHmac("sha256", TAG_KEY).update(JSON.stringify(parts)).digest("base64");
}

/** Reads a block of interface spec 2.3. `problem` names a field, never its value. */
export function openVenuefourSession(raw: unknown): OpenSession {
  const read = readCredentials(raw);
  if (!read.ok) return read;
  const { account, key, configKey }: VenuefourCredentials = read.credentials;
  return { ok: true, session: new VenuefourSession(account, key, configKey) };
}

export function openVenuefourAddress(walletAddress: string): OpenSession {
  if (!isAddress(walletAddress))
    return { ok: false, problem: "venuefour.walletAddress must be a base58 address of 32 bytes" };
  return { ok: true, session: new VenuefourSession(walletAddress, null, null) };
}
