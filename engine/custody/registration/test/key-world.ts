/**
 * A service with one wallet, its store and a venue, over several lives: a life ends before or after any act on the
 * outside (a commit, a signature, a request), and the next one begins from what is durable.
 */
import { VirtualClock } from "../../../domain/virtual-clock.js";
import type { ServiceError } from "../../../domain/errors.js";
import { silentLogger } from "../../../domain/logger.js";
import type { AgentRegistrar, KeyRegistrar, StoredSecret } from "../../../key-registrar.js";
import { createMemoryStore, type MemoryStore } from "../../../storage/test/memory-store.js";
import { type Death, MortalLife, outcomeOf } from "../../../storage/test/mortal-life.js";
import { plainSealer } from "../../provider/test/plain-sealer.js";
import { seededRandom } from "../../sealing/test/sealing-doubles.js";
import { KeyBook } from "../key-book.js";
import { KeyKeeper } from "../key-keeper.js";
import type { KeyParts } from "../key-parts.js";
import { KeyTurns } from "../key-turns.js";
import { type RegisteredKey, KeyRegistrations } from "../registrations.js";
import { addressOf, FakeVenue, signatureOf, type Style } from "./fake-venue.js";

export const OWNER = {
  walletId: "5f0c7c3e-6f6b-4f0e-9a53-0a4c8f1f2d10",
  venue: "venueone",
  account: "0x00000000000000000000000000000000000000aa",
  requestId: "r-1",
} as const;

export interface Life {
  readonly registrations: KeyRegistrations;
  readonly keeper: KeyKeeper;
  readonly isDead: () => boolean;
  readonly acts: () => number;
}

export class KeyWorld {
  readonly clock = new VirtualClock();
  readonly venue: FakeVenue;
  readonly store: MemoryStore = createMemoryStore();
  /** What replies told: secret by signer, each time. */
  readonly told: { readonly signer: string; readonly secretHex: string }[] = [];
  /** What the signer answers; null: it signs. */
  signerError: ServiceError | null = null;
  signatures = 0;
  readonly warnings: string[] = [];
  /** A mistake of a room, planted. */
  spoiled: (registrar: AgentRegistrar) => AgentRegistrar = (registrar) => registrar;
  readonly #random = seededRandom(7);
  readonly #faults: string[] = [];
  #keeper: KeyKeeper | null = null;

  constructor(style: Style) {
    this.venue = new FakeVenue(this.clock, style);
    this.venue.funded.add(OWNER.account);
  }

  /** `registrar`: in place of that of the venue. */
  async live(death: Death | null = null, registrar: KeyRegistrar | null = null): Promise<Life> {
    const mortal = new MortalLife(death);
    const { gate, isDead, acts } = mortal;
    const parts: KeyParts = {
      book: new KeyBook(mortal.store(this.store)),
      sealer: { ...plainSealer, kekId: "plain", rewrap: () => null },
      provider: {
        sign: (_walletId, _origin, request) =>
          gate(async () => {
            if (this.signerError !== null) throw this.signerError;
            if (request.kind !== "typedData") throw new Error("another kind");
            this.signatures++;
            return { signature: signatureOf(OWNER.account, request.text), digest: "" };
          }),
      },
      registrars: new Map([[OWNER.venue, registrar ?? this.spoiled(this.venue.registrar(gate))]]),
      clock: this.clock,
      random: this.#random,
      logger: { ...silentLogger, warn: (event) => void this.warnings.push(event) },
    };
    await parts.book.load();
    const turns = new KeyTurns();
    // Of the life before: its timers go with it.
    void this.#keeper?.stop();
    this.#keeper = new KeyKeeper(parts, turns);
    return {
      registrations: new KeyRegistrations(parts, turns),
      keeper: this.#keeper,
      isDead,
      acts,
    };
  }

  /** The outcome of a call while time passes: a key, the code of a refusal, or `dead`. */
  async outcome(life: Life, call: Promise<unknown>, maxMs = 60_000): Promise<string> {
    const noted = call.then((value) => {
      this.#note(value);
      return "done";
    });
    return outcomeOf(this.clock, life, noted, { maxMs });
  }

  #note(value: unknown): void {
    const { signer, secretHex } = value as Partial<RegisteredKey>;
    if (signer !== undefined && !this.venue.takes(signer) && this.venue.live(OWNER.account).includes(signer))
      this.#faults.push("a key was told of that the venue does not take yet");
    if (signer !== undefined && typeof secretHex === "string") this.told.push({ signer, secretHex });
  }

  /** What must hold whenever nothing is under way; throws with what does not. */
  async judge(life: Life): Promise<void> {
    const [fault] = this.#faults;
    if (fault !== undefined) throw new Error(fault);
    const live = this.venue.live(OWNER.account);
    const known = life.registrations.list(OWNER.walletId);
    for (const signer of live)
      if (!known.some((key) => key.signer === signer)) throw new Error("the venue has a key whose secret is lost");
    const active = known.filter(({ status }) => status === "ACTIVE");
    if (active.length > 1) throw new Error("two keys trade");
    const [trading] = active;
    const blocks = await life.registrations.blocks.opened(OWNER.walletId);
    const block = blocks[OWNER.venue] as { readonly signer: string; readonly secret: StoredSecret } | undefined;
    if ((trading === undefined) !== (block === undefined)) throw new Error("a key that is shown does not trade");
    if (block !== undefined) {
      if (!live.includes(block.signer)) throw new Error("requests trade with a key that the venue has not");
      if (block.secret.use(addressOf) !== block.signer) throw new Error("the secret is of another key");
    }
    const signers = this.told.map(({ signer }) => signer);
    if (new Set(signers).size !== signers.length) throw new Error("a secret was told twice");
    for (const { signer, secretHex } of this.told)
      if (addressOf(Buffer.from(secretHex.slice(2), "hex")) !== signer)
        throw new Error("the secret of another was told");
  }
}

/** At the `long` style, in its first life. */
export async function begun(): Promise<{ world: KeyWorld; life: Life }> {
  const world = new KeyWorld("long");
  return { world, life: await world.live() };
}

/** With a key that a reply told of. */
export async function registered(): Promise<{ world: KeyWorld; life: Life }> {
  const { world, life } = await begun();
  const outcome = await world.outcome(life, life.registrations.register(OWNER, true));
  if (outcome !== "done") throw new Error(outcome);
  return { world, life };
}

export async function rowCount(world: KeyWorld): Promise<number> {
  return (await world.store.scan("venue-key", { prefix: "", limit: 10 })).length;
}
