/**
 * A signature, the co-signer's side (docs/mpc.md, section 8): F1, F3 and F5 come, F2, F4 and F6 leave. It signs no digest
 * that it was given: it reads the intent, computes the digest, and asks its own policy.
 */
import { isSame } from "../base/bits.js";
import { refused, transport, violation } from "../base/outcome.js";
import { HASH_BYTES } from "../base/parameters.js";
import { labelled } from "../base/random.js";
import {
  type FinalSignature,
  finalSignature,
  type JointNonce,
  type SignatureShare,
  signatureHash,
} from "../parts/final-signature.js";
import { isCtrAccepted, isRefreshDue, sessionBegun, sessionExplained } from "../state/abort-count.js";
import type { OpenShare } from "../state/share-record.js";
import { refreshDueRow, type StateRow, testedRow } from "../state/state-row.js";
import { isZero, type Message } from "../wire/header.js";
import type { MessageName } from "../wire/message-types.js";
import { decodeF1, decodeF3, decodeF5, encodeF2, encodeF4, type F1Body } from "../wire/sign-bodies.js";
import { commitOf, type Effect, type EndCause, type Reservation, type SessionEnd, type Step } from "./effects.js";
import { expectSid, SessionCore } from "./session-core.js";
import { checkMessageB } from "./sign-checks.js";
import { SignMaterial, type SignPorts } from "./sign-material.js";

/** What the intent says, read by C alone. */
export interface ReadIntent {
  readonly digest: Uint8Array;
  /** Asks the policy; called once the digests are equal. */
  judge(): PolicyVerdict;
}

export type PolicyVerdict =
  | { readonly allowed: true; readonly reservation: Reservation | null }
  /** The number of the rule. */
  | { readonly allowed: false; readonly detail: number };

export interface IntentReader {
  /** Null: not an intent of the page, to the letter. */
  read(intent: Uint8Array): ReadIntent | null;
}

export interface CosignedWallet {
  readonly row: StateRow;
  /** Tag of the epoch that signs: the active one, or the prepared one for a test. */
  readonly tag: Uint8Array;
  /** Opens the share of that epoch for this session, which wipes it. Not called before F1 is accepted. */
  openShare(): OpenShare;
}

export interface CosignRequest {
  readonly walletId: Uint8Array;
  /** Null: no such wallet. */
  readonly wallet: CosignedWallet | null;
  /** A session of this wallet is under way. */
  readonly busy: boolean;
  /** The digest of the test signature of the prepared epoch; null for all other sessions. */
  readonly testDigest: Uint8Array | null;
  readonly intents: IntentReader;
}

export const TEST_INTENT: Uint8Array = Uint8Array.of(0);
const UNREADABLE = 1;

type State = "IDLE" | "C1" | "C2";
const ACCEPTS: Readonly<Record<State, MessageName>> = { IDLE: "f1", C1: "f3", C2: "f5" };

interface Accepted {
  readonly wallet: CosignedWallet;
  readonly body: F1Body;
  readonly digest: Uint8Array;
  readonly reservation: Reservation | null;
}

export class SignCosigner {
  readonly core: SessionCore<State>;
  readonly #request: CosignRequest;
  readonly #ports: SignPorts;
  #row: StateRow | null;
  #share: OpenShare | null = null;
  #material: SignMaterial | null = null;
  #reservation: Reservation | null = null;
  #own: { readonly share: SignatureShare; readonly nonce: JointNonce } | null = null;

  constructor(request: CosignRequest, ports: SignPorts) {
    this.#request = request;
    this.#ports = ports;
    this.#row = request.wallet?.row ?? null;
    const names = { walletId: request.walletId, epoch: 0, ctr: 0n };
    this.core = new SessionCore<State>(1, names, "IDLE", {
      ending: (end) => this.#ending(end),
      wipe: () => this.#wipe(),
    });
  }

  get ended(): boolean {
    return this.core.single.ended;
  }

  receive(message: Message): Step {
    const { state } = this.core.single;
    if (state === "ENDED") throw new Error("session is ended");
    if (state === "IDLE") {
      const { epoch, ctr } = message.header;
      this.core.rename({ walletId: this.#request.walletId, epoch, ctr });
    }
    return this.core.receive(message, ACCEPTS[state], (accepted) => {
      if (state === "IDLE") return this.#onF1(accepted);
      return state === "C1" ? this.#onF3(accepted) : this.#onF5(accepted);
    });
  }

  end(cause: EndCause): Step {
    return this.core.end(cause);
  }

  #onF1(message: Message): readonly Effect[] {
    const { wallet, body, digest, reservation } = this.#admit(message);
    const { ctr } = message.header;
    const previousCtr = wallet.row.ctr;
    const isTest = this.#request.testDigest !== null;
    this.#share = wallet.openShare();
    this.#reservation = reservation;
    this.#row = sessionBegun({ ...wallet.row, peerCtr: ctr }, ctr, isTest);
    const nonce = Buffer.alloc(HASH_BYTES);
    const ports = { ...this.#ports, random: labelled(this.#ports.random, `t${ctr}/`) };
    ports.random.fill("nonce", nonce);
    const names = { ctr, digest, nonces: [Buffer.from(body.nonce), nonce] as const };
    const material = new SignMaterial(this.#share, names, ports);
    this.#material = material;
    const messageA = material.makeMessageA();
    this.core.single.move("C1");
    const answer = encodeF2({ nonce, tag: wallet.tag, previousCtr, messageA });
    return [commitOf(this.#row, { reservation }), this.core.send("f2", material.scope.sid, answer, "f3")];
  }

  /** The table of 8.3 for F1, in its order. Nothing secret is used. */
  #admit(message: Message): Accepted {
    const { wallet, busy, testDigest, intents } = this.#request;
    if (wallet === null) throw refused("WALLET");
    if (!isZero(message.header.sid)) throw violation("sid");
    const body = decodeF1(message.body);
    const { row } = wallet;
    const isTestIntent = isSame(body.intent, TEST_INTENT);
    if (testDigest === null) {
      if (row.status !== "active" || row.stage !== "none" || isTestIntent) throw refused("STATE");
    } else if (row.stage !== "prepared" || !isTestIntent) throw refused("STATE");
    if (busy) throw transport("busy");
    if (message.header.epoch !== (testDigest === null ? row.activeEpoch : row.preparedEpoch)) throw refused("EPOCH");
    if (!isSame(body.tag, wallet.tag)) throw refused("TAG");
    if (!isCtrAccepted(row.ctr, message.header.ctr)) throw refused("CTR");
    if (testDigest !== null) {
      if (!isSame(body.digest, testDigest)) throw refused("DIGEST");
      return { wallet, body, digest: testDigest, reservation: null };
    }
    if (isRefreshDue(row)) throw refused("STATE");
    const intent = intents.read(body.intent);
    if (intent === null) throw refused("POLICY", UNREADABLE);
    if (!isSame(body.digest, intent.digest)) throw refused("DIGEST");
    const verdict = intent.judge();
    if (!verdict.allowed) throw refused("POLICY", verdict.detail);
    return { wallet, body, digest: Buffer.from(intent.digest), reservation: verdict.reservation };
  }

  #onF3(message: Message): readonly Effect[] {
    const [material, share] = [this.#material, this.#share];
    if (material === null || share === null) throw new Error("no material");
    expectSid(message, material.scope.sid);
    const { messageA, messageB } = decodeF3(message.body);
    const { pads, checked } = this.core.check(() => {
      const extended = material.extend(messageA.extension);
      return { pads: extended, checked: checkMessageB(material, messageA.commitment, messageB, share.publicShares[0]) };
    });
    const answer = material.makeMessageB(pads, messageA.extension);
    const own = material.makeShare(checked.chosen, messageB.psi, checked.nonce);
    this.#own = { share: own, nonce: checked.nonce };
    this.core.single.move("C2");
    return [this.core.send("f4", material.scope.sid, encodeF4(answer, own), "f5")];
  }

  #onF5(message: Message): readonly Effect[] {
    const [material, share, own, row] = [this.#material, this.#share, this.#own, this.#row];
    if (material === null || share === null || own === null || row === null) throw new Error("no share");
    expectSid(message, material.scope.sid);
    const other = decodeF5(message.body);
    const signature = this.core.check((): FinalSignature => {
      const shares = [other, own.share] as const;
      const { digest } = material;
      const { verifier } = this.#ports;
      return finalSignature({ shares, nonce: own.nonce, digest, publicKey: share.key, verifier });
    });
    const tested: Effect[] = [];
    if (this.#request.testDigest !== null) {
      this.#row = testedRow(row);
      tested.push(commitOf(this.#row));
    }
    const answer = this.core.send("f6", material.scope.sid, signatureHash(signature), null);
    return [...tested, answer, ...this.core.done()];
  }

  #ending(end: SessionEnd): { readonly effects: readonly Effect[]; readonly row: StateRow | null } {
    const { state, names } = { state: this.core.single.state, names: this.core.names };
    const begun = this.#row;
    if (begun === null) return { effects: [], row: null };
    const isTest = this.#request.testDigest !== null;
    const isExplained = end.kind !== "failed" || end.explained;
    const row = isExplained && state !== "IDLE" ? sessionExplained(begun, names.epoch, isTest) : begun;
    const isFault = end.kind === "failed" && end.failure.kind === "fault";
    // Before F4 no signature can exist. After a fault the row may or may not hold the amount, which errs to the safe side.
    const unreserved: Effect[] =
      state === "C1" && this.#reservation !== null && !isFault && end.kind !== "done"
        ? [{ kind: "unreserve", reservation: this.#reservation }]
        : [];
    if (end.kind === "failed" && end.failure.kind === "cheat")
      return { effects: [{ kind: "freeze", row, dropsPrepared: false }, ...unreserved], row };
    const due = state === "IDLE" && !isTest && row.status === "active" && isRefreshDue(row) ? refreshDueRow(row) : row;
    return { effects: due === row ? unreserved : [commitOf(due)], row: due };
  }

  #wipe(): void {
    this.#material?.wipe();
    this.#share?.wipe();
    this.#own = null;
  }
}
