/**
 * A refresh, the co-signer's side (docs/mpc.md, section 9). The first flights are here, the later ones are
 * `EpochCosigner`. Modes 1 and 2 need the own operator's approval, which is used up by the refresh that it lets in.
 */
import { isSame } from "../base/bits.js";
import type { HashScope } from "../base/hash.js";
import { refused, transport, violation } from "../base/outcome.js";
import type { Slices } from "../base/slices.js";
import { CTR_STEP_MAX } from "../state/abort-count.js";
import { allowsRefresh } from "../state/refresh-mode.js";
import type { OpenShare } from "../state/share-record.js";
import { preparedRow, type RefreshMode, type StateRow } from "../state/state-row.js";
import { isZero, type Message } from "../wire/header.js";
import { joined, pair } from "../wire/keygen-bodies.js";
import { decodeRf1, decodeRf3, decodeRf5, encodeRf2, type Rf1Body, refreshFields } from "../wire/refresh-bodies.js";
import type { Effect, EndCause, Step } from "./effects.js";
import { type CosignerState, EpochCosigner } from "./epoch-cosigner.js";
import { BaseOtExchange, type EpochPorts, flowRandom, type NewEpoch, Transcript } from "./epoch-exchange.js";
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
import type { CosignedWallet } from "./sign-cosigner.js";

export interface RefreshAdmission {
  readonly walletId: Uint8Array;
  /** With the tag of the active epoch; null: no such wallet. */
  readonly wallet: CosignedWallet | null;
  readonly busy: boolean;
  /** Uses the operator's approval of this wallet, mode and epoch up; false: there is none. Not asked for mode 0. */
  useApproval(mode: RefreshMode, epoch: number): boolean;
}

interface First {
  readonly scope: HashScope;
  readonly draws: RefreshDraws;
  readonly share: OpenShare;
  readonly preparedRow: StateRow;
}

export class RefreshCosigner {
  readonly core: SessionCore<CosignerState>;
  readonly #admission: RefreshAdmission;
  readonly #ports: EpochPorts;
  readonly #transcript = new Transcript();
  #first: First | null = null;
  #exchange: { readonly epoch: NewEpoch; readonly ot: BaseOtExchange; readonly preparedRow: StateRow } | null = null;
  #later: EpochCosigner | null = null;

  constructor(admission: RefreshAdmission, ports: EpochPorts) {
    this.#admission = admission;
    this.#ports = ports;
    const names = { walletId: admission.walletId, epoch: 0, ctr: 0n };
    this.core = new SessionCore<CosignerState>(1, names, "IDLE", {
      ending: (end) => this.#later?.ending(end) ?? { effects: [], row: admission.wallet?.row ?? null },
      wipe: () => this.#wipe(),
    });
  }

  get ended(): boolean {
    return this.core.single.ended;
  }

  receive(message: Message): Step {
    const { state } = this.core.single;
    if (state === "ENDED") throw new Error("session is ended");
    if (this.#later !== null) return this.#later.receive(message);
    if (state === "IDLE") {
      const { epoch, ctr } = message.header;
      this.core.rename({ walletId: this.#admission.walletId, epoch, ctr });
      return this.core.receive(message, "rf1", (accepted) => this.#onRf1(accepted));
    }
    return this.core.receive(message, state === "K1" ? "rf3" : "rf5", (accepted) =>
      state === "K1" ? this.#onRf3(accepted) : this.#onRf5(accepted),
    );
  }

  end(cause: EndCause): Step {
    return this.core.end(cause);
  }

  #onRf1(message: Message): readonly Effect[] {
    const { wallet, body } = this.#admit(message);
    const { row, tag } = wallet;
    const { walletId } = this.#admission;
    const epoch = row.activeEpoch + 1;
    const nonce = drawnBytes(this.#random(epoch), "nonce");
    if (isSame(nonce, body.nonce)) throw violation("nonce");
    const scope = refreshScope(walletId, epoch, [body.nonce, nonce], tag);
    const draws = drawRefresh(1, scope, this.#random(epoch));
    const share = wallet.openShare();
    this.#first = { scope, draws, share, preparedRow: preparedRow(row, body.mode, body.ctr) };
    const answer = encodeRf2({ nonce, ctr: row.ctr, tag, commitment: draws.commitment });
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    this.core.single.move("K1");
    // Who no longer has a ctr that it had is of a store that was put back: the amounts of the day are older too. S's own
    // ctr says nothing of that: it runs ahead with each session that C never began.
    const isOlder = body.peerCtr > row.ctr;
    return [...(isOlder ? [{ kind: "amounts spent" as const }] : []), this.core.send("rf2", scope.sid, answer, "rf3")];
  }

  #admit(message: Message): { readonly wallet: CosignedWallet; readonly body: Rf1Body } {
    const { wallet, busy, useApproval } = this.#admission;
    if (wallet === null) throw refused("WALLET");
    const { row } = wallet;
    if (message.header.epoch !== row.activeEpoch + 1) throw refused("EPOCH");
    if (message.header.ctr !== 0n || !isZero(message.header.sid)) throw violation("header");
    const body = decodeRf1(message.body);
    if (busy) throw transport("busy");
    if (!allowsRefresh(row, body.mode)) throw refused("STATE");
    if (!isSame(body.tag, wallet.tag)) throw refused("TAG");
    if (body.ctr > row.ctr + CTR_STEP_MAX) throw refused("CTR");
    if (body.mode !== 0 && !useApproval(body.mode, row.activeEpoch + 1)) throw refused("STATE");
    return { wallet, body };
  }

  *#onRf3(message: Message): Slices<readonly Effect[]> {
    const first = this.#first;
    if (first === null) throw new Error("nothing is drawn");
    const { scope, draws, share, preparedRow: row } = first;
    expectSid(message, scope.sid);
    const { commitment, reveal } = decodeRf3(message.body);
    const made = sharesAfter(share, scope, draws.reveal, commitment, reveal);
    yield;
    const random = this.#random(scope.epoch);
    const ot = new BaseOtExchange(1, scope, draws.key, reveal.key, random);
    const epoch = { flow: "rf" as const, party: 1 as const, epoch: scope.epoch, scope, ...made };
    this.#exchange = { epoch, ot, preparedRow: row };
    const proof = proveShare(1, scope, made, random);
    const answer = joined(...refreshFields(draws.reveal), proof, yield* ot.multiplier.points());
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    share.wipe();
    this.#first = null;
    this.core.single.move("K2");
    return [this.core.send("rf4", scope.sid, answer, "rf5")];
  }

  *#onRf5(message: Message): Slices<readonly Effect[]> {
    const exchange = this.#exchange;
    if (exchange === null) throw new Error("no exchange");
    const { epoch, ot, preparedRow: row } = exchange;
    expectSid(message, epoch.scope.sid);
    const { shareProof, points, challenge } = yield* decodeRf5(message.body);
    checkShareProof(1, epoch.scope, epoch, shareProof);
    yield;
    const own = yield* ot.chooser.challenge(points);
    const answer = pair(own, ot.multiplier.respond(challenge));
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    const run = { epoch, ot, transcript: this.#transcript, preparedRow: row };
    this.#later = new EpochCosigner(this.core, run, this.#ports);
    this.core.single.move("K3");
    return [this.core.send("rf6", epoch.scope.sid, answer, "rf7")];
  }

  #random(epoch: number) {
    return flowRandom(this.#ports.random, "rf", epoch);
  }

  #wipe(): void {
    this.#first?.share.wipe();
    this.#first = null;
    this.#exchange?.ot.wipe();
    this.#later?.wipe();
  }
}
