/**
 * A refresh, the service's side (docs/mpc.md, section 9): new shares and base OTs of the same address. The first flights
 * are here, the later ones are `EpochService`.
 */
import { isSame } from "../base/bits.js";
import type { HashScope } from "../base/hash.js";
import { refused, violation } from "../base/outcome.js";
import type { Slices } from "../base/slices.js";
import { CTR_STEP_MAX } from "../state/abort-count.js";
import { allowsRefresh } from "../state/refresh-mode.js";
import type { OpenShare } from "../state/share-record.js";
import { expectedPeerCtr, preparedRow, type RefreshMode, type StateRow } from "../state/state-row.js";
import { type Message, NO_SID } from "../wire/header.js";
import { joined } from "../wire/keygen-bodies.js";
import { decodeRf2, decodeRf4, encodeRf1, refreshFields } from "../wire/refresh-bodies.js";
import type { Effect, EndCause, SessionEnd, Step } from "./effects.js";
import { BaseOtExchange, type EpochPorts, flowRandom, Transcript } from "./epoch-exchange.js";
import { EpochService, type ServiceState } from "./epoch-service.js";
import { drawnBytes } from "./keygen-draws.js";
import {
  checkShareProof,
  drawRefresh,
  proveShare,
  type RefreshDraws,
  refreshScope,
  sharesAfter,
} from "./refresh-shares.js";
import { expectSid, SessionCore } from "./session-core.js";

export interface RefreshRequest {
  readonly row: StateRow;
  readonly mode: RefreshMode;
  /** The active epoch's, opened for this run, which wipes it. */
  readonly share: OpenShare;
}

interface First {
  readonly scope: HashScope;
  readonly draws: RefreshDraws;
  readonly commitment: Buffer;
  readonly peerCtr: bigint;
}

export class RefreshService {
  readonly core: SessionCore<ServiceState>;
  readonly #request: RefreshRequest;
  readonly #ports: EpochPorts;
  readonly #epoch: number;
  readonly #transcript = new Transcript();
  #nonce: Buffer | null = null;
  #first: First | null = null;
  /** From its first buffer on, whatever its arithmetic comes to. */
  #ot: BaseOtExchange | null = null;
  #later: EpochService | null = null;

  constructor(request: RefreshRequest, ports: EpochPorts) {
    this.#request = request;
    this.#ports = ports;
    this.#epoch = request.share.epoch + 1;
    const names = { walletId: request.share.walletId, epoch: this.#epoch, ctr: 0n };
    this.core = new SessionCore<ServiceState>(0, names, "IDLE", {
      ending: (end) => this.#ending(end),
      wipe: () => this.#wipe(),
    });
  }

  get ended(): boolean {
    return this.core.single.ended;
  }

  start(): Step {
    if (this.core.single.state !== "IDLE") throw new Error("session is under way already");
    return this.core.step(() => {
      const { row, mode, share } = this.#request;
      // The peer does not know this session, so it gets no message about its end.
      if (!allowsRefresh(row, mode) || row.activeEpoch !== share.epoch)
        return this.core.fail(refused("STATE").failure, "self").filter(({ kind }) => kind !== "send");
      this.#nonce = drawnBytes(this.#random(), "nonce");
      const body = encodeRf1({ nonce: this.#nonce, ctr: row.ctr, peerCtr: expectedPeerCtr(row), tag: share.tag, mode });
      this.#transcript.add(body);
      this.core.single.move("K1");
      return [this.core.send("rf1", NO_SID, body, "rf2")];
    });
  }

  receive(message: Message): Step {
    const { state } = this.core.single;
    if (state === "ENDED" || state === "IDLE") throw new Error("session is not under way");
    if (this.#later !== null) return this.#later.receive(message);
    return this.core.receive(message, state === "K1" ? "rf2" : "rf4", (accepted) =>
      state === "K1" ? this.#onRf2(accepted) : this.#onRf4(accepted),
    );
  }

  end(cause: EndCause): Step {
    return this.core.end(cause);
  }

  #onRf2(message: Message): readonly Effect[] {
    const { row, share } = this.#request;
    const nonce = this.#nonce;
    if (nonce === null) throw new Error("no nonce");
    const body = decodeRf2(message.body);
    if (isSame(body.nonce, nonce)) throw violation("nonce");
    if (!isSame(body.tag, share.tag)) throw refused("TAG");
    if (body.ctr > row.ctr + CTR_STEP_MAX) throw refused("CTR");
    const scope = refreshScope(share.walletId, this.#epoch, [nonce, body.nonce], share.tag);
    expectSid(message, scope.sid);
    const draws = drawRefresh(0, scope, this.#random());
    this.#first = { scope, draws, commitment: Buffer.from(body.commitment), peerCtr: body.ctr };
    const answer = joined(draws.commitment, ...refreshFields(draws.reveal));
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    this.core.single.move("K2");
    return [this.core.send("rf3", scope.sid, answer, "rf4")];
  }

  *#onRf4(message: Message): Slices<readonly Effect[]> {
    const first = this.#first;
    if (first === null) throw new Error("nothing is drawn");
    const { scope, draws, commitment, peerCtr } = first;
    const { row, mode, share } = this.#request;
    expectSid(message, scope.sid);
    const body = yield* decodeRf4(message.body);
    const made = sharesAfter(share, scope, draws.reveal, commitment, body.reveal);
    checkShareProof(0, scope, made, body.shareProof);
    yield;
    const random = this.#random();
    const ot = new BaseOtExchange(0, scope, draws.key, body.reveal.key, random);
    this.#ot = ot;
    const challenge = yield* ot.chooser.challenge(body.points);
    const answer = joined(proveShare(0, scope, made, random), yield* ot.multiplier.points(), challenge);
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    const epoch = { flow: "rf" as const, party: 0 as const, epoch: this.#epoch, scope, ...made };
    const run = { epoch, ot, transcript: this.#transcript, preparedRow: preparedRow(row, mode, peerCtr) };
    this.#later = new EpochService(this.core, run, this.#ports);
    this.#first = null;
    share.wipe();
    this.core.single.move("K3");
    return [this.core.send("rf5", scope.sid, answer, "rf6")];
  }

  #random() {
    return flowRandom(this.#ports.random, "rf", this.#epoch);
  }

  #ending(end: SessionEnd) {
    return this.#later?.ending(end) ?? { effects: [], row: this.#request.row };
  }

  #wipe(): void {
    this.#nonce?.fill(0);
    this.#first = null;
    this.#request.share.wipe();
    this.#ot?.wipe();
    this.#ot = null;
    this.#later?.wipe();
  }
}
