/**
 * Two parties, their rows and a network between them, for tests: does what a runner of sessions does, and lets a test
 * change any message and kill either side at any effect.
 */
import { failureOf } from "../base/outcome.js";
import { otherParty, type Party } from "../base/parameters.js";
import { labelled, type RandomSource } from "../base/random.js";
import type { FinalSignature } from "../parts/final-signature.js";
import { portableVerifier, type SignatureVerifier } from "../parts/final-signature.js";
import type { Effect, EndCause, SessionEnd, Step } from "../sessions/effects.js";
import type { EpochPorts } from "../sessions/epoch-exchange.js";
import { KeygenCosigner } from "../sessions/keygen-cosigner.js";
import { KeygenService } from "../sessions/keygen-service.js";
import { RefreshCosigner } from "../sessions/refresh-cosigner.js";
import { RefreshService } from "../sessions/refresh-service.js";
import type { SessionCore } from "../sessions/session-core.js";
import { type IntentReader, SignCosigner } from "../sessions/sign-cosigner.js";
import { computedGadgets } from "../sessions/sign-material.js";
import { SignService } from "../sessions/sign-service.js";
import { onFreezeNotice } from "../state/freeze.js";
import { freezeChange, freezeDroppingPrepared } from "../state/freeze.js";
import { OpenShare, shareContext } from "../state/share-record.js";
import { decodeStateRow, encodeStateRow, type RefreshMode, type StateRow } from "../state/state-row.js";
import { type OwnWallet, settle, viewOf } from "../state/two-phase.js";
import type { Message } from "../wire/header.js";
import { decodeState, encodeState } from "../wire/link-bodies.js";
import { MESSAGE } from "../wire/message-types.js";
import { createHash } from "node:crypto";

export const NOW = 1_764_000_000_000;
export const WALLET = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");

/** The intent of these tests is a text; its digest is the hash of it. "no" is forbidden, "bad" cannot be read. */
export const textIntents: IntentReader = {
  read(intent) {
    const text = Buffer.from(intent).toString("latin1");
    if (!text.startsWith("t:") || text === "t:bad") return null;
    return {
      digest: digestOf(intent),
      judge: () => (text === "t:no" ? { allowed: false, detail: 9 } : { allowed: true, reservation: { text } }),
    };
  },
};

export function digestOf(intent: Uint8Array): Buffer {
  return createHash("sha256").update(intent).digest();
}

/** Durable rows of a party. */
export interface Store {
  row: Buffer | null;
  readonly shares: Map<number, Buffer>;
  readonly backups: string[];
}

export interface Session {
  readonly core: Pick<SessionCore<string>, "isUnfinished" | "resume">;
  readonly ended: boolean;
  receive(message: Message): Step;
  end(cause: EndCause): Step;
}

const gadgets = new Map<string, readonly bigint[]>();

/** As a runner keeps them: they are public and last for an epoch. */
const keptGadgets: typeof computedGadgets = (share, direction) => {
  const key = `${share.sid.toString("hex")}/${direction}`;
  const found = gadgets.get(key) ?? computedGadgets(share, direction);
  gadgets.set(key, found);
  return found;
};

/** A plain sealing: what is tested here is the order of effects, not the cipher. */
export const plainSealer: EpochPorts["sealer"] = {
  seal: (context, plaintext) => Buffer.concat([contextHash(context), plaintext]),
  open: (context, record) => {
    if (!Buffer.from(record.subarray(0, 32)).equals(contextHash(context))) throw new Error("another context");
    return Buffer.from(record.subarray(32));
  },
};

const namedBackup: EpochPorts["sealBackup"] = (share, ctr) =>
  Buffer.from(`${share.epoch}/${ctr}/${share.tag.toString("hex")}`);

function contextHash(context: Parameters<EpochPorts["sealer"]["seal"]>[0]): Buffer {
  const parts = context.parts.map((part) => Buffer.from(part).toString("hex"));
  return createHash("sha256")
    .update(JSON.stringify([context.purpose, parts, context.recordVersion]))
    .digest();
}

export class Killed extends Error {}

export interface Outbound {
  readonly from: Party;
  readonly message: Message;
}

/** One party: rows, the session that runs, what it released. */
export class Node {
  readonly party: Party;
  readonly store: Store;
  readonly ports: EpochPorts;
  readonly released: FinalSignature[] = [];
  readonly ends: SessionEnd[] = [];
  readonly log: string[] = [];
  acknowledged: Buffer | null = null;
  /** The row in memory; of the store after a restart. */
  row: StateRow | null = null;
  publicKey: Buffer | null = null;
  session: Session | null = null;
  approved: RefreshMode | null = null;
  /** Set before its key is made. */
  walletId: Buffer = WALLET;
  /** What the co-signer reads intents with. */
  intents: IntentReader = textIntents;
  unreserved = 0;
  /** Called before (true) and after each durable effect and send; throws `Killed`. */
  onEffect: (before: boolean, effect: Effect) => void = () => {};
  /** Called at each stop of a long step; it may end the session and returns what that came to, else null. */
  onStop: (session: Session) => Step | null = () => null;

  constructor(
    party: Party,
    random: RandomSource,
    verifier: SignatureVerifier = portableVerifier,
    store?: Store,
    sealBackup: EpochPorts["sealBackup"] = namedBackup,
  ) {
    this.party = party;
    this.store = store ?? { row: null, shares: new Map(), backups: [] };
    this.ports = {
      ...{ random: labelled(random, `${party}/`), verifier, gadgets: keptGadgets },
      ...{ sealer: plainSealer, sealBackup },
    };
    this.restart();
  }

  /** Only what is durable is left. */
  restart(): void {
    this.session = null;
    this.row = this.store.row === null ? null : decodeStateRow(this.store.row);
    const share = [...this.store.shares.keys()].map((epoch) => this.peek(epoch)).at(0);
    this.publicKey = share?.publicKey ?? null;
  }

  copyOfStore(): Store {
    const { row, shares, backups } = this.store;
    return { row: row === null ? null : Buffer.from(row), shares: new Map(shares), backups: [...backups] };
  }

  /** For the test's own eyes: P and tag of a record without its name. */
  peek(epoch: number): { readonly publicKey: Buffer; readonly tag: Buffer } {
    const record = this.store.shares.get(epoch);
    if (record === undefined) throw new Error(`no share of epoch ${epoch}`);
    const plain = record.subarray(32);
    return { tag: Buffer.from(plain.subarray(85, 117)), publicKey: Buffer.from(plain.subarray(149, 182)) };
  }

  openShare(epoch: number): OpenShare {
    const record = this.store.shares.get(epoch);
    const publicKey = this.peek(epoch).publicKey;
    const name = { walletId: this.walletId, party: this.party, epoch, publicKey };
    if (record === undefined) throw new Error("no record");
    return new OpenShare(plainSealer.open(shareContext(name), record), name);
  }

  own(): OwnWallet | null {
    const { row } = this;
    if (row === null) return null;
    const tag = (epoch: number) => (epoch === 0 ? null : this.peek(epoch).tag);
    return { row, activeTag: tag(row.activeEpoch), preparedTag: tag(row.preparedEpoch) };
  }

  run(step: Step): Outbound[] {
    const sent: Outbound[] = [];
    for (const effect of step.effects) {
      this.onEffect(true, effect);
      this.#perform(effect, sent);
      this.onEffect(false, effect);
    }
    return sent;
  }

  #perform(effect: Effect, sent: Outbound[]): void {
    this.log.push(effect.kind === "send" ? `send ${effect.message.header.type.toString(16)}` : effect.kind);
    switch (effect.kind) {
      case "commit":
        this.commit(effect.row, effect.erase, effect.put);
        break;
      case "backup":
        this.store.backups.push(`${effect.epoch}/${Buffer.from(effect.tag).toString("hex")}`);
        break;
      case "send":
        sent.push({ from: this.party, message: copyOf(effect.message) });
        break;
      case "freeze": {
        const change = effect.dropsPrepared
          ? freezeDroppingPrepared(effect.row, NOW)
          : freezeChange(this.party, effect.row, NOW);
        if (change === null) throw new Error("nothing to freeze");
        this.commit(change.row, change.erase, null);
        break;
      }
      case "release":
        this.released.push(effect.signature);
        break;
      case "acknowledge":
        this.acknowledged = Buffer.from(effect.publicKey);
        break;
      case "unreserve":
        this.unreserved++;
        break;
      case "amounts spent":
        break;
      case "end":
        this.ends.push(effect.end);
        this.session = null;
        // An opening of a wallet that is another's ends without a row of this one.
        if (classOf(effect.end) === "refused WALLET") break;
        // A freeze has written the row of this end already.
        if (this.row?.status !== "frozen" || effect.row === null) this.row = effect.row;
    }
  }

  commit(row: StateRow | null, erase: readonly number[], put: { epoch: number; record: Uint8Array } | null): void {
    this.store.row = row === null ? null : encodeStateRow(row);
    for (const epoch of erase) this.store.shares.delete(epoch);
    if (put !== null) this.store.shares.set(put.epoch, Buffer.from(put.record));
    this.row = row;
  }

  /** A message of the peer as a runner takes it. */
  take(message: Message): Outbound[] {
    if (this.session === null && this.party === 1) this.session = this.#opened(message);
    if (this.session === null || this.session.ended) return [];
    const { session } = this;
    let step = session.receive(message);
    while (session.core.isUnfinished) step = this.onStop(session) ?? session.core.resume();
    return this.run(step);
  }

  #opened(message: Message): Session | null {
    const { type, walletId } = message.header;
    const isKnown = Buffer.compare(walletId, this.walletId) === 0 && this.row !== null;
    if (type === MESSAGE.kg1) {
      const admission = { walletId, isKnown, hasRoom: true, isBlocked: false, busy: false };
      return new KeygenCosigner(admission, this.ports);
    }
    const { row } = this;
    const wallet =
      !isKnown || row === null || row.activeEpoch === 0
        ? null
        : { row, tag: this.peek(row.activeEpoch).tag, openShare: () => this.openShare(row.activeEpoch) };
    if (type === MESSAGE.f1)
      return new SignCosigner({ walletId, wallet, busy: false, testDigest: null, intents: this.intents }, this.ports);
    if (type !== MESSAGE.rf1) return null;
    const useApproval = (mode: RefreshMode) => this.approved === mode;
    return new RefreshCosigner({ walletId, wallet, busy: false, useApproval }, this.ports);
  }

  keygen(): Outbound[] {
    const session = new KeygenService(this.walletId, this.ports);
    this.session = session;
    return this.run(session.start());
  }

  sign(intent: Uint8Array, digest = digestOf(intent)): Outbound[] {
    const { row } = this;
    if (row === null || row.activeEpoch === 0) return [];
    const request = { row, share: this.openShare(row.activeEpoch), intent, digest, isTest: false };
    const session = new SignService(request, this.ports);
    this.session = session;
    return this.run(session.start());
  }

  refresh(mode: RefreshMode): Outbound[] {
    const { row } = this;
    if (row === null) return [];
    const session = new RefreshService({ row, mode, share: this.openShare(row.activeEpoch) }, this.ports);
    this.session = session;
    return this.run(session.start());
  }

  freezeNotice(epoch: number): void {
    if (this.row === null) return;
    const { session } = this;
    if (session !== null && !session.ended && epoch === this.row.activeEpoch) this.run(session.end("freeze notice"));
    if (this.row === null) return;
    const notice = onFreezeNotice(this.party, this.row, epoch, NOW);
    if (notice.verdict === "freeze") this.commit(notice.change.row, notice.change.erase, null);
  }
}

export function copyOf({ header, body }: Message): Message {
  return {
    header: { ...header, walletId: Buffer.from(header.walletId), sid: Buffer.from(header.sid) },
    body: Buffer.from(body),
  };
}

export type Tamper = (message: Message, from: Party) => readonly Message[];
export const HONEST: Tamper = (message) => [message];

/** Carries messages until none is left; `tamper` may change, add or hold back any. */
export function carry(nodes: readonly [Node, Node], first: readonly Outbound[], tamper: Tamper = HONEST): number {
  const queue = [...first];
  let carried = 0;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const message of tamper(next.message, next.from)) {
      carried++;
      queue.push(...nodes[otherParty(next.from)].take(message));
    }
  }
  return carried;
}

/** Lost connection at both, then what section 11 does, until nothing changes. */
export function reconnect(nodes: readonly [Node, Node]): string {
  for (const node of nodes) if (node.session !== null && !node.session.ended) node.run(node.session.end("lost"));
  for (let round = 0; round < 10; round++) {
    const views = nodes.map((node) => decodeState(encodeState(viewOf(node.own())), node.party));
    const [ofService, ofCosigner] = views;
    if (ofService === undefined || ofCosigner === undefined) throw new Error("no views");
    const settled = [settle(0, nodes[0].own(), ofCosigner, NOW), settle(1, nodes[1].own(), ofService, NOW)] as const;
    for (const [index, { change }] of settled.entries())
      if (change !== null) nodes[index === 0 ? 0 : 1].commit(change.row, change.erase, null);
    if (settled[0].verdict !== "again" && settled[1].verdict !== "again") return settled[0].verdict;
  }
  throw new Error("never settles");
}

/** The class of an end, for tables. */
export function classOf(end: SessionEnd | undefined): string {
  if (end === undefined) return "none";
  if (end.kind !== "failed") return end.kind;
  const { failure } = end;
  return failure.kind === "refused" ? `refused ${failure.code}` : failure.kind;
}

export function problemOf(end: SessionEnd | undefined): unknown {
  if (end?.kind !== "failed") return null;
  return end.failure.kind === "fault" ? failureOf(end.failure.error) : null;
}
