/** Both parties over memory and a virtual clock, for tests: starts, kills and restarts them, and waits for them. */
import { VirtualClock } from "../../../domain/virtual-clock.js";
import { Owners } from "../../../domain/owner.js";
import { ServiceError } from "../../../domain/errors.js";
import { encodeJson } from "../../../storage/state-store.js";
import type { Party } from "../../mpc/base/parameters.js";
import { labelled, type RandomSource } from "../../mpc/base/random.js";
import { portableVerifier } from "../../mpc/parts/final-signature.js";
import type { Message } from "../../mpc/wire/header.js";
import { digestOf } from "../../mpc/test/link.js";
import { seededBytes } from "../../mpc/test/seeded-random.js";
import { CosignerHost } from "../cosigner-host.js";
import type { CustodyEvent } from "../custody-events.js";
import { EmbeddedProvider } from "../embedded-provider.js";
import type { PartyIdentity } from "../hello.js";
import { createCosignerRunner, createServiceRunner, type RunnerPorts } from "../local-runner.js";
import type { NextTurn } from "../long-steps.js";
import type { SessionRunner } from "../session-runner.js";
import type { Wallet, WalletSignature } from "../wallet-provider.js";
import { cloning, plainDayBook } from "./bench-doubles.js";
import { MemoryLink } from "./memory-link.js";
import { copyOfRows, emptyRows, MemoryParty, type MemoryRows } from "./memory-party.js";
import { plainSealer } from "./plain-sealer.js";

/** As the audit log has them, without the time. */
export const CREATION_NAMESPACE = "creations";
const STEP_MS = 25;
const WAIT_MS_MAX = 300_000;

export interface BenchOptions {
  readonly seed?: string;
  readonly owners?: Owners;
  /** When a party's long steps go on; as all doubles, in microtasks by default. */
  readonly nextTurn?: (party: Party) => NextTurn;
  /** No draw is made twice, so that each wallet has keys of its own. */
  readonly isFresh?: boolean;
  readonly identities?: Partial<Record<Party, Partial<PartyIdentity>>>;
}

/** What a call came to: its value, or the code of its error. */
export type Told<Value> = Value | string;

export class CustodyBench {
  readonly clock = new VirtualClock();
  readonly link = new MemoryLink(this.clock);
  readonly rows: [MemoryRows, MemoryRows] = [emptyRows(), emptyRows()];
  readonly events: (CustodyEvent & { readonly party: Party })[] = [];
  /** Digests that C's policy let pass, in order. */
  readonly judged: string[] = [];
  readonly owners: string[] = [];
  parties: [MemoryParty, MemoryParty] = [new MemoryParty(this.rows[0]), new MemoryParty(this.rows[1])];
  service!: EmbeddedProvider;
  cosigner!: CosignerHost;
  seed: string;
  readonly #options: BenchOptions;
  #drawn = 0;

  constructor(options: BenchOptions = {}, rows?: readonly [MemoryRows, MemoryRows]) {
    this.#options = options;
    this.seed = options.seed ?? "host-1";
    if (rows !== undefined) this.rows = [copyOfRows(rows[0]), copyOfRows(rows[1])];
  }

  copyOfRows(): [MemoryRows, MemoryRows] {
    return [copyOfRows(this.rows[0]), copyOfRows(this.rows[1])];
  }

  /** Both start and meet. */
  async up(): Promise<this> {
    await this.start(0);
    await this.start(1);
    await this.meet();
    return this;
  }

  async start(party: Party): Promise<void> {
    const memory = new MemoryParty(this.rows[party]);
    this.parties[party] = memory;
    const shared = {
      ...{ identity: this.#identity(party), link: this.link.end(party), store: memory, backups: memory },
      ...{
        clock: this.clock,
        events: { emit: (from: Party, event: CustodyEvent) => void this.events.push({ ...event, party: from }) },
      },
    };
    const random = this.#random(party);
    const ports: RunnerPorts = {
      ...{ sealer: plainSealer, random, verifier: portableVerifier },
      nextTurn: this.#options.nextTurn?.(party) ?? queueMicrotask,
      sealBackup: (_share, _ctr, owner) => {
        this.owners.push(`${party} ${owner === null ? "-" : owner.userId}`);
        return Buffer.from("backup");
      },
    };
    if (party === 1) {
      const runner = this.mortal(memory, createCosignerRunner(ports));
      this.cosigner = new CosignerHost({
        ...{ ...shared, runner, dayBook: plainDayBook(this.judged) },
        counts: { told: async (theirs) => theirs },
      });
      await this.cosigner.start();
      return;
    }
    this.service = new EmbeddedProvider({
      ...{ ...shared, runner: this.mortal(memory, cloning(createServiceRunner(ports))), rows: memory, random },
      owners: this.#options.owners ?? new Owners(),
      backedUp: () => memory.backedUp(),
      intents: { encode: (_origin, request) => encoded(request) },
      rules: {
        explain: (detail) => ({
          code: detail === 9 ? "DESTINATION_NOT_ALLOWED" : "POLICY_REFUSED",
          rule: `rule ${detail}`,
        }),
      },
      linkProblem: () => "UNREACHABLE",
      instance: { toTell: { id: "00".repeat(16), count: 1 }, met() {}, heard() {} },
      creationWrites: ({ who, walletId, isMade }) => {
        const [outcome, details] = isMade ? ["done", {}] : ["failed", { code: "SIGNER_UNAVAILABLE" }];
        const value = encodeJson({ who, what: "wallet.create", subject: walletId, outcome, details });
        return [{ namespace: CREATION_NAMESPACE, key: `${walletId}/${outcome}`, value }];
      },
    });
    await this.service.start();
  }

  /** Connects and lets both settle. */
  async meet(): Promise<void> {
    this.link.connect();
    await this.quiet();
  }

  kill(party: Party): void {
    this.parties[party].isDead = true;
    this.link.gone(party);
  }

  async restart(party: Party): Promise<void> {
    if (!this.parties[party].isDead) this.kill(party);
    await this.start(party);
    await this.meet();
  }

  /** Everything that needs no time is done: all doubles work in microtasks. */
  async quiet(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advanceAsync(ms);
  }

  /** Lets time pass until the call is answered. */
  async told<Value>(call: Promise<Value>): Promise<Told<Value>> {
    let answer: { readonly told: Told<Value> } | null = null;
    call.then(
      (value) => {
        answer = { told: value };
      },
      (error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
        answer = { told: error.code };
      },
    );
    for (let ms = 0; ms < WAIT_MS_MAX; ms += STEP_MS) {
      await this.quiet();
      if (answer !== null) return (answer as { readonly told: Told<Value> }).told;
      await this.clock.advanceAsync(STEP_MS);
    }
    throw new Error("never answered");
  }

  create(userId = "ada", ownerId: string | null = null): Promise<Told<Wallet>> {
    return this.told(this.service.create(userId, ownerId));
  }

  sign(walletId: string, text = "t:pay"): Promise<Told<WalletSignature>> {
    return this.told(this.signing(walletId, text));
  }

  signing(walletId: string, text = "t:pay"): Promise<WalletSignature> {
    return this.service.sign(walletId, "caller", { kind: "message", bytes: Buffer.from(text) });
  }

  eventsOf(kind: CustodyEvent["kind"]): string[] {
    const found = this.events.filter((event) => event.kind === kind);
    return found.map((event) => `${event.party} ${detailOf(event)}`.trim());
  }

  /** A killed process computes and answers nothing more. */
  mortal<Request>(memory: MemoryParty, runner: SessionRunner<Request>): SessionRunner<Request> {
    const unless = async <Value>(run: () => Promise<Value>): Promise<Value> =>
      memory.isDead
        ? new Promise<Value>(() => {})
        : memory.isThreadGone
          ? Promise.reject(new Error("the thread ended"))
          : run();
    return {
      open: (id, request) => unless(() => runner.open(id, request)),
      receive: (id, message) => unless(() => runner.receive(id, message)),
      end: (id, cause) => unless(() => runner.end(id, cause)),
      abandon: (id) => {
        if (!memory.isDead && !memory.isThreadGone) runner.abandon(id);
      },
      close: () => runner.close(),
    };
  }

  #identity(party: Party): PartyIdentity {
    const bytes = (name: string, length: number) => seededBytes(`identity ${party}`, name, length);
    return {
      ...{ party, kekId: bytes("kek", 8), backupKeyId: bytes("backup", 32), bootId: bytes("boot", 16) },
      ...this.#options.identities?.[party],
    };
  }

  /** A seed's draws are the same for each wallet unless asked otherwise; its id never is. */
  #random(party: Party): RandomSource {
    const source: RandomSource = {
      fill: (label, target) => {
        const drawn = label.endsWith("walletId") || this.#options.isFresh === true ? `${label}${this.#drawn++}` : label;
        target.set(seededBytes(this.seed, drawn, target.length));
      },
    };
    return labelled(source, `${party}/`);
  }
}

function detailOf(event: CustodyEvent): string {
  if (event.kind === "frozen") return event.by;
  if (event.kind === "refused") return event.code;
  return event.kind === "alert" ? event.alert : "";
}

function encoded(request: Parameters<EmbeddedProvider["sign"]>[2]) {
  if (request.kind !== "message") throw new ServiceError("INVALID_PARAMETERS");
  return { intent: Buffer.from(request.bytes), digest: digestOf(request.bytes) };
}

/** One bit of the other's extension: an honest peer never sends this. */
export function flipped(message: Message, at = 200): Message {
  const body = Buffer.from(message.body);
  body.writeUInt8(body.readUInt8(at) ^ 1, at);
  return { header: message.header, body };
}

export function walletOf(told: Told<Wallet>): Wallet {
  if (typeof told === "string") throw new Error(told);
  return told;
}

/** Made once for a file: rows of both parties with one wallet. */
export async function madeRows(): Promise<{ readonly rows: [MemoryRows, MemoryRows]; readonly wallet: Wallet }> {
  const bench = await new CustodyBench().up();
  const wallet = walletOf(await bench.create());
  return { rows: bench.copyOfRows(), wallet };
}
