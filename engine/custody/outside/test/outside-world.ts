/**
 * A service with an outside signer over several lives: a life ends before or after any act on the outside (a commit, a
 * call of the signer), and the next one begins from what is durable. Calls of the signer may get lost on either way.
 */
import { hashMessage, recoverAddress, type Hex } from "viem";
import { SignerModel } from "../../../../bench/sim/signer/signer-model.js";
import { bodyOf, saysUnknown, standingOf } from "../../../../gateway/outside-signer/signer-wire.js";
import { delay } from "../../../domain/clock.js";
import { ServiceError } from "../../../domain/errors.js";
import { silentLogger } from "../../../domain/logger.js";
import { Owners } from "../../../domain/owner.js";
import { VirtualClock } from "../../../domain/virtual-clock.js";
import { createKeyedHash } from "../../../storage/server-secret.js";
import { createMemoryStore, type MemoryStore } from "../../../storage/test/memory-store.js";
import { type Death, type Gate, MortalLife, outcomeOf } from "../../../storage/test/mortal-life.js";
import { portableVerifier } from "../../mpc/parts/final-signature.js";
import type { Wallet, WalletSignature } from "../../provider/wallet-provider.js";
import { OutsideProvider } from "../outside-provider.js";
import type { OutsideName, OutsideReply, OutsideRequest, OutsideSigner } from "../outside-signer.js";
import { RequestIds } from "../request-ids.js";
import { OUTSIDE_REQUESTS, placeOf, readRequestRow } from "../request-row.js";
import { OUTSIDE_WALLETS, readWalletRow } from "../wallet-row.js";

/** What becomes of one call: `lostBefore` never reached the signer, `lostAfter` did. */
export type Fate = "pass" | "lostBefore" | "lostAfter" | "hang" | "notSent" | "busy" | "garbage";

export interface Life {
  readonly provider: OutsideProvider;
  readonly isDead: () => boolean;
  readonly acts: () => number;
}

export const OWNER = "ow_1";
const HASH = createKeyedHash(Buffer.alloc(32, 7));
const ROUNDS = 8;
const STEP_MS = 250;

export class OutsideWorld {
  readonly clock = new VirtualClock();
  readonly model = new SignerModel();
  readonly store: MemoryStore = createMemoryStore();
  readonly owners = new Owners();
  readonly ids = new RequestIds(HASH);
  /** Of call number `call` of all lives (from 1). */
  fate: (call: number, way: "begin" | "look", name: OutsideName) => Fate = () => "pass";
  calls = 0;
  /** Problems that only show at the signer's side. */
  readonly violations: string[] = [];
  readonly errors: string[] = [];
  takesDigests = false;
  #life: OutsideProvider | null = null;

  constructor() {
    // As a disk: what is not waited for is not there yet.
    this.store.gate = () => new Promise((resolve) => setImmediate(resolve));
  }

  async live(death: Death | null = null): Promise<Life> {
    this.#life?.stop();
    const mortal = new MortalLife(death);
    const { gate, isDead, acts } = mortal;
    const provider = new OutsideProvider({
      ...{ signer: this.#signer(gate), store: mortal.store(this.store), owners: this.owners, hash: HASH },
      creationWrites: ({ walletId }) => [{ namespace: "audit-test", key: walletId, value: Buffer.of(1) }],
      ...{ verifier: portableVerifier, clock: this.clock, takesDigests: this.takesDigests },
      logger: { ...silentLogger, error: (event) => void this.errors.push(event) },
    });
    this.#life = provider;
    await provider.start();
    return { provider, isDead, acts };
  }

  /** What a call comes to while time passes: its value, the code of its refusal, or `dead`. */
  async outcome<T>(life: Life, call: Promise<T>, maxMs = 60_000): Promise<T | string> {
    return outcomeOf(this.clock, life, call, { maxMs, stepMs: STEP_MS });
  }

  /** The rejection of a call, while time passes. */
  async refusal(life: Life, call: Promise<unknown>): Promise<ServiceError> {
    let caught: unknown = null;
    await this.outcome(
      life,
      call.catch((error: unknown) => {
        caught = error;
        throw error;
      }),
    );
    if (!(caught instanceof ServiceError)) throw new Error(`no refusal: ${String(caught)}`);
    return caught;
  }

  async create(life: Life, userId: string, ownerId: string | null = OWNER): Promise<Wallet | string> {
    return this.outcome(life, life.provider.create(userId, ownerId, "local"));
  }

  async sign(life: Life, walletId: string, text: string): Promise<WalletSignature | string> {
    return this.outcome(life, life.provider.sign(walletId, "caller", { kind: "message", bytes: Buffer.from(text) }));
  }

  /** Throws with what must never be. */
  async judge(users: readonly string[]): Promise<void> {
    if (this.violations.length > 0) throw new Error(this.violations.join("; "));
    for (const userId of users) {
      const walletId = this.ids.wallet(OWNER, userId);
      const ids = new Set(Array.from({ length: ROUNDS }, (_, round) => this.ids.creation(walletId, round)));
      const live = this.model.requests.filter(({ requestId, state }) => ids.has(requestId) && isLive(state));
      if (live.length > 1) throw new Error(`${userId} has ${live.length} wallets at the signer`);
    }
    if (this.model.walletCount > users.length) throw new Error("the signer has more wallets than there are users");
    const seen = new Map<string, number>();
    for (const { kind, body, state } of this.model.requests) {
      if (kind !== "signature" || body === null || !isLive(state)) continue;
      const intent = JSON.stringify([body.walletRef, body.origin, body.payload]);
      seen.set(intent, (seen.get(intent) ?? 0) + 1);
    }
    for (const [intent, count] of seen) if (count > 1) throw new Error(`${count} requests for ${intent}`);
  }

  async judgeSignature({ address }: Wallet, { signature, digest }: WalletSignature, text: string): Promise<void> {
    if (digest !== hashMessage(text)) throw new Error("another digest");
    const recovered = await recoverAddress({ hash: digest as Hex, signature: signature as Hex });
    if (recovered !== address) throw new Error("a signature of another key left");
  }

  #signer(gate: Gate): OutsideSigner {
    const called = (way: "begin" | "look", name: OutsideName, timeoutMs: number, act: () => OutsideReply) =>
      gate(() => this.#called(way, name, timeoutMs, act));
    return {
      begin: async (request, timeoutMs) => {
        if (!(await this.#isDurable(request.requestId))) this.violations.push("a request was sent before its row was");
        return called("begin", request, timeoutMs, () => this.#begun(request));
      },
      look: (name, timeoutMs) => called("look", name, timeoutMs, () => this.#looked(name)),
      health: async () => null,
    };
  }

  async #isDurable(requestId: string): Promise<boolean> {
    const ids: string[] = [];
    for (const { key, value } of await this.store.scan(OUTSIDE_WALLETS, { prefix: "", limit: 1_000 }))
      ids.push(this.ids.creation(key, readWalletRow(key, value).round));
    for (const { key, value } of await this.store.scan(OUTSIDE_REQUESTS, { prefix: "", limit: 1_000 })) {
      const place = placeOf(key);
      if (place === null) throw new Error("a key of no request");
      const { walletId, origin, digest } = place;
      ids.push(this.ids.signature(walletId, origin, digest, readRequestRow(key, value).round));
    }
    return ids.includes(requestId);
  }

  async #called(
    way: "begin" | "look",
    name: OutsideName,
    timeoutMs: number,
    act: () => OutsideReply,
  ): Promise<OutsideReply> {
    const fate = this.fate(++this.calls, way, name);
    const lost = { kind: "unknown", problem: "UNREACHABLE", retryAfterMs: null } as const;
    if (fate === "notSent") return { kind: "notTaken", problem: "UNREACHABLE", retryAfterMs: null };
    if (fate === "busy") return { kind: "notTaken", problem: null, retryAfterMs: 1_000 };
    if (fate === "garbage") return { kind: "unknown", problem: "CONTRACT", retryAfterMs: null };
    if (fate === "hang" || fate === "lostBefore") {
      if (fate === "hang") await delay(this.clock, timeoutMs);
      return lost;
    }
    const reply = act();
    return fate === "lostAfter" ? lost : reply;
  }

  #begun(request: OutsideRequest): OutsideReply {
    if (this.model.requests.some(({ requestId }) => requestId === request.requestId))
      this.violations.push("a request that the signer has was sent again before it was asked for");
    const reply = this.model.begin(request.kind, request.requestId, bodyOf(request));
    if (typeof reply === "string") return { kind: "rejected" };
    return this.#read(reply, request);
  }

  #looked(name: OutsideName): OutsideReply {
    const reply = this.model.look(name.requestId);
    if (reply !== null) return this.#read(reply, name);
    const text = JSON.stringify({ code: "REQUEST_UNKNOWN", requestId: name.requestId });
    if (!saysUnknown(text, name)) throw new Error("the word for an unknown request is not understood");
    return { kind: "absent" };
  }

  #read(reply: object, name: OutsideName): OutsideReply {
    const standing = standingOf(JSON.stringify(reply), name);
    if (standing === null) return { kind: "unknown", problem: "CONTRACT", retryAfterMs: null };
    return { kind: "standing", standing, retryAfterMs: null };
  }
}

function isLive(state: string): boolean {
  return state !== "REFUSED" && state !== "FAILED";
}
