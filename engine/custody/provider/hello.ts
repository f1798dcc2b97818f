/** The first message of a connection (docs/mpc.md, 3.3): who speaks, and whether the two may work together. */
import { hash } from "node:crypto";
import { otherParty, type Party, SUITE } from "../mpc/base/parameters.js";
import { sameBytes } from "../mpc/wire/header.js";
import { decodeHello, encodeHello, type Hello } from "../mpc/wire/link-bodies.js";
import type { HeldWallet } from "./held-wallet.js";

export interface PartyIdentity {
  readonly party: Party;
  /** 8 bytes: the sealer's key id. */
  readonly kekId: Uint8Array;
  /** SHA-256 of the backup public key. */
  readonly backupKeyId: Uint8Array;
  /** 16 random bytes of this start. */
  readonly bootId: Uint8Array;
}

export type HelloProblem = "SUITE" | "SAME_PARTY" | "SAME_KEK" | "SAME_BACKUP_KEY";

export function helloBody(identity: PartyIdentity, wallets: Iterable<HeldWallet>): Buffer {
  return encodeHello({ suite: SUITE, ...identity, inventory: inventoryOf(wallets) });
}

function problemOfHello(own: PartyIdentity, hello: Hello): HelloProblem | null {
  if (!sameBytes(hello.suite, SUITE)) return "SUITE";
  if (hello.party !== otherParty(own.party)) return "SAME_PARTY";
  if (sameBytes(hello.kekId, own.kekId)) return "SAME_KEK";
  if (sameBytes(hello.backupKeyId, own.backupKeyId)) return "SAME_BACKUP_KEY";
  return null;
}

/** What is known of the peer of the present connection. */
export class Greeting {
  readonly #own: PartyIdentity;
  #isConnected = false;
  #isGreeted = false;
  #problem: HelloProblem | null = null;

  constructor(own: PartyIdentity) {
    this.#own = own;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  get isGreeted(): boolean {
    return this.#isGreeted;
  }

  /** Of the last greeting. */
  get problem(): HelloProblem | null {
    return this.#problem;
  }

  connected(): void {
    this.#isConnected = true;
  }

  lost(): void {
    this.#isConnected = false;
    this.#isGreeted = false;
  }

  /** Null: the connection is of no use. */
  received(body: Uint8Array): Hello | null {
    const hello = tryDecoded(body);
    if (hello === null || this.#isGreeted) return null;
    this.#problem = problemOfHello(this.#own, hello);
    this.#isGreeted = this.#problem === null;
    return this.#isGreeted ? hello : null;
  }
}

function tryDecoded(body: Uint8Array): Hello | null {
  try {
    return decodeHello(body);
  } catch {
    return null;
  }
}

/** SHA-256 over id, active epoch and tag of every wallet with an active epoch, in ascending order of the id. */
export function inventoryOf(wallets: Iterable<HeldWallet>): Buffer {
  const parts: Buffer[] = [];
  for (const { walletId, activeName } of wallets) {
    if (activeName === null) continue;
    const epoch = Buffer.alloc(4);
    epoch.writeUInt32BE(activeName.epoch);
    parts.push(Buffer.concat([walletId, epoch, activeName.tag]));
  }
  return hash("sha256", Buffer.concat(parts.sort(Buffer.compare)), "buffer");
}
