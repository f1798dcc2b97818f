/**
 * A signature, the service's side (docs/mpc.md, section 8): F1, F3 and F5 leave, F2, F4 and F6 come. The signature is
 * released after F6 alone. A test signature has the prepared epoch and counts in none.
 */
import { isSame } from "../base/bits.js";
import { refused, transport, violation } from "../base/outcome.js";
import { HASH_BYTES } from "../base/parameters.js";
import { labelled } from "../base/random.js";
import { type FinalSignature, finalSignature, type SignatureShare, signatureHash } from "../parts/final-signature.js";
import { CTR_MAX, isRefreshDue, sessionBegun, sessionExplained } from "../state/abort-count.js";
import type { OpenShare } from "../state/share-record.js";
import { refreshDueRow, type StateRow } from "../state/state-row.js";
import { type Message, NO_SID } from "../wire/header.js";
import { decodeTag } from "../wire/link-bodies.js";
import type { MessageName } from "../wire/message-types.js";
import { decodeF2, decodeF4, encodeF1, encodeF3, encodeF5, type MessageA } from "../wire/sign-bodies.js";
import { commitOf, type Effect, type EndCause, type SessionEnd, type Step } from "./effects.js";
import { expectSid, SessionCore } from "./session-core.js";
import { checkMessageB } from "./sign-checks.js";
import { SignMaterial, type SignPorts } from "./sign-material.js";

export interface SignRequest {
  readonly row: StateRow;
  /** Opened for this session, which wipes it. */
  readonly share: OpenShare;
  readonly intent: Uint8Array;
  readonly digest: Uint8Array;
  readonly isTest: boolean;
}

type State = "IDLE" | "S1" | "S2" | "S3";
const ACCEPTS: Readonly<Record<State, MessageName>> = { IDLE: "f2", S1: "f2", S2: "f4", S3: "f6" };

export class SignService {
  readonly core: SessionCore<State>;
  readonly #request: SignRequest;
  readonly #ports: SignPorts;
  readonly #nonce = Buffer.alloc(HASH_BYTES);
  #row: StateRow;
  #material: SignMaterial | null = null;
  #otherCommitment: Buffer | null = null;
  #signature: FinalSignature | null = null;

  constructor(request: SignRequest, ports: SignPorts) {
    if (request.digest.byteLength !== HASH_BYTES) throw new Error("a digest has 32 bytes");
    const { row, share } = request;
    this.#request = request;
    this.#row = row;
    const names = { walletId: share.walletId, epoch: share.epoch, ctr: row.ctr + 1n };
    this.#ports = { ...ports, random: labelled(ports.random, `t${names.ctr}/`) };
    this.core = new SessionCore<State>(0, names, "IDLE", {
      ending: (end) => this.#ending(end),
      wipe: () => this.#wipe(),
    });
  }

  get ended(): boolean {
    return this.core.single.ended;
  }

  start(): Step {
    this.#expectState("IDLE");
    return this.core.step(() => {
      const problem = this.#unfit();
      // The peer does not know this session, so it gets no message about its end.
      if (problem) return this.core.fail(refused("STATE").failure, "self").filter(({ kind }) => kind !== "send");
      const { row, share, intent, digest, isTest } = this.#request;
      this.#ports.random.fill("nonce", this.#nonce);
      const { ctr } = this.core.names;
      // A test signature spends nothing, so none of its amounts can be lost.
      this.#row = { ...sessionBegun(row, ctr, isTest), openCtr: isTest ? row.openCtr : ctr };
      this.core.single.move("S1");
      const body = encodeF1({ nonce: this.#nonce, tag: share.tag, digest, intent });
      return [commitOf(this.#row), this.core.send("f1", NO_SID, body, "f2")];
    });
  }

  receive(message: Message): Step {
    const { state } = this.core.single;
    if (state === "ENDED" || state === "IDLE") throw new Error("session is not under way");
    return this.core.receive(message, ACCEPTS[state], (accepted) => {
      if (state === "S1") return this.#onF2(accepted);
      return state === "S2" ? this.#onF4(accepted) : this.#onF6(accepted);
    });
  }

  end(cause: EndCause): Step {
    return this.core.end(cause);
  }

  #unfit(): boolean {
    const { row, share, isTest } = this.#request;
    if (row.ctr >= CTR_MAX) return true;
    if (isTest) return row.preparedEpoch !== share.epoch;
    const isPlain = row.status === "active" && row.stage === "none" && row.activeEpoch === share.epoch;
    return !isPlain || isRefreshDue(row);
  }

  #onF2(message: Message): readonly Effect[] {
    const { share, digest } = this.#request;
    const { ctr } = this.core.names;
    const body = decodeF2(message.body);
    if (body.previousCtr >= ctr) throw violation("prevCtr");
    if (body.previousCtr < this.#row.peerCtr) return this.#peerIsOlder();
    if (!isSame(body.tag, share.tag)) throw violation("tag");
    const names = { ctr, digest, nonces: [this.#nonce, body.nonce] as const };
    const material = new SignMaterial(share, names, this.#ports);
    this.#material = material;
    expectSid(message, material.scope.sid);
    const { extension, commitment } = body.messageA;
    const pads = this.core.check(() => material.extend(extension));
    this.#row = { ...this.#row, peerCtr: ctr };
    this.#otherCommitment = Buffer.from(commitment);
    const messageA: MessageA = material.makeMessageA();
    const messageB = material.makeMessageB(pads, extension);
    this.#nonce.fill(0);
    this.core.single.move("S2");
    return [this.core.send("f3", material.scope.sid, encodeF3(messageA, messageB), "f4")];
  }

  /**
   * C's store was put back: it heals in a refresh, which takes the greater ctr. C has used secrets, so it hears 1. F1
   * gave C the present ctr, so both are raised: RF1 tells by `peerCtr` that C's amounts of the day are older too. The
   * own one goes along, since the test signature of that refresh meets a C that has the greater of both.
   */
  #peerIsOlder(): readonly Effect[] {
    const ctr = this.#row.ctr < CTR_MAX ? this.#row.ctr + 1n : CTR_MAX;
    this.#row = { ...refreshDueRow(this.#row), ctr, peerCtr: ctr };
    const told = this.core.fail(transport("busy").failure, "self");
    const failure = refused("CTR").failure;
    const renamed = told.map(
      (effect): Effect =>
        effect.kind === "end" ? { ...effect, end: { kind: "failed", failure, by: "self", explained: true } } : effect,
    );
    return [commitOf(this.#row), ...renamed];
  }

  #onF4(message: Message): readonly Effect[] {
    const [material, commitment] = [this.#material, this.#otherCommitment];
    if (material === null || commitment === null) throw new Error("no material");
    expectSid(message, material.scope.sid);
    const { messageB, share } = decodeF4(message.body);
    const checkedShare = this.core.check((): SignatureShare => {
      const { publicShares, key } = this.#request.share;
      const { chosen, nonce } = checkMessageB(material, commitment, messageB, publicShares[1]);
      const own = material.makeShare(chosen, messageB.psi, nonce);
      const shares = [own, share] as const;
      const { digest } = material;
      this.#signature = finalSignature({ shares, nonce, digest, publicKey: key, verifier: this.#ports.verifier });
      return own;
    });
    this.core.single.move("S3");
    return [this.core.send("f5", material.scope.sid, encodeF5(checkedShare), "f6")];
  }

  #onF6(message: Message): readonly Effect[] {
    const [material, signature] = [this.#material, this.#signature];
    if (material === null || signature === null) throw new Error("no signature");
    expectSid(message, material.scope.sid);
    if (!isSame(decodeTag(message.body), signatureHash(signature))) throw violation("F6");
    return [{ kind: "release", signature }, ...this.core.done()];
  }

  #ending(end: SessionEnd): { readonly effects: readonly Effect[]; readonly row: StateRow } {
    const { share, isTest } = this.#request;
    const isExplained = end.kind !== "failed" || end.explained;
    const row = isExplained && this.core.single.state !== "IDLE" ? this.#explained() : this.#row;
    if (end.kind !== "failed") return { effects: [], row };
    const { failure, by } = end;
    if (failure.kind === "cheat") return { effects: [{ kind: "freeze", row, dropsPrepared: false }], row };
    // C says that the ctr of S is too low, or that a refresh is due there.
    const isDue =
      isRefreshDue(this.#request.row) || (by === "peer" && failure.kind === "refused" && failure.code === "CTR");
    const due = isDue && !isTest && share.epoch === row.activeEpoch ? refreshDueRow(row) : row;
    return { effects: due === row ? [] : [commitOf(due)], row: due };
  }

  #explained(): StateRow {
    const { row, share, isTest } = this.#request;
    // What C had of this session is in `peerCtr`; had it none that S heard of, no signature came of it either.
    return { ...sessionExplained(this.#row, share.epoch, isTest), openCtr: row.openCtr };
  }

  #expectState(state: State): void {
    if (this.core.single.state !== state) throw new Error("session is under way already");
  }

  #wipe(): void {
    this.#nonce.fill(0);
    this.#material?.wipe();
    this.#request.share.wipe();
    this.#signature = null;
  }
}
