/** Key generation, the co-signer's side (docs/mpc.md, section 5): the first flights; later ones are `EpochCosigner`. */
import { isSame } from "../base/bits.js";
import type { HashScope } from "../base/hash.js";
import { refused, transport, violation } from "../base/outcome.js";
import { labelled } from "../base/random.js";
import type { Slices } from "../base/slices.js";
import { newWalletRow } from "../state/state-row.js";
import { isZero, type Message } from "../wire/header.js";
import { decodeKg1, decodeKg3, decodeKg5, joined, pair, revealFields } from "../wire/keygen-bodies.js";
import type { Effect, EndCause, SessionEnd, Step } from "./effects.js";
import { type CosignerState, EpochCosigner } from "./epoch-cosigner.js";
import { BaseOtExchange, type EpochPorts, type NewEpoch, Transcript } from "./epoch-exchange.js";
import { checkReveal, drawKeygen, drawnBytes, type KeygenDraws, keygenScope } from "./keygen-draws.js";
import { expectSid, SessionCore } from "./session-core.js";

/** What C's runner knows before a creation may begin. */
export interface KeygenAdmission {
  readonly walletId: Uint8Array;
  /** A row of this wallet exists. */
  readonly isKnown: boolean;
  /** More wallets fit, and the ten minutes after three violations do not run. */
  readonly hasRoom: boolean;
  /** A wallet that S has lost, or a State that is not answered, blocks all creations. */
  readonly isBlocked: boolean;
  readonly busy: boolean;
}

export class KeygenCosigner {
  readonly core: SessionCore<CosignerState>;
  readonly #admission: KeygenAdmission;
  readonly #ports: EpochPorts;
  readonly #transcript = new Transcript();
  #first: { readonly scope: HashScope; readonly draws: KeygenDraws } | null = null;
  #exchange: { readonly epoch: NewEpoch; readonly ot: BaseOtExchange } | null = null;
  #later: EpochCosigner | null = null;

  constructor(admission: KeygenAdmission, ports: EpochPorts) {
    this.#admission = admission;
    this.#ports = ports;
    const names = { walletId: admission.walletId, epoch: 1, ctr: 0n };
    this.core = new SessionCore<CosignerState>(1, names, "IDLE", {
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
    if (this.#later !== null) return this.#later.receive(message);
    if (state === "IDLE") return this.#open(message);
    return this.core.receive(message, state === "K1" ? "kg3" : "kg5", (accepted) =>
      state === "K1" ? this.#onKg3(accepted) : this.#onKg5(accepted),
    );
  }

  end(cause: EndCause): Step {
    return this.core.end(cause);
  }

  #open(message: Message): Step {
    const { epoch, ctr } = message.header;
    const { walletId } = this.#admission;
    this.core.rename({ walletId, epoch, ctr });
    return this.core.receive(message, "kg1", (accepted) => {
      if (epoch !== 1) throw refused("EPOCH");
      if (ctr !== 0n || !isZero(accepted.header.sid)) throw violation("header");
      return this.#onKg1(accepted);
    });
  }

  #onKg1(message: Message): readonly Effect[] {
    const { walletId, isKnown, hasRoom, isBlocked, busy } = this.#admission;
    if (isKnown) throw refused("WALLET");
    const otherNonce = decodeKg1(message.body);
    if (!hasRoom) throw refused("RATE");
    if (isBlocked) throw refused("STATE");
    if (busy) throw transport("busy");
    const nonce = drawnBytes(this.#random(), "nonce");
    if (isSame(nonce, otherNonce)) throw violation("nonce");
    const scope = keygenScope(walletId, [otherNonce, nonce]);
    const draws = drawKeygen(1, scope, this.#random());
    this.#first = { scope, draws };
    const answer = pair(nonce, draws.commitment);
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    this.core.single.move("K1");
    return [this.core.send("kg2", scope.sid, answer, "kg3")];
  }

  *#onKg3(message: Message): Slices<readonly Effect[]> {
    const first = this.#first;
    if (first === null) throw new Error("nothing is drawn");
    const { scope, draws } = first;
    expectSid(message, scope.sid);
    const { commitment, reveal } = decodeKg3(message.body);
    const joint = checkReveal(1, scope, draws.reveal, commitment, reveal);
    yield;
    const ot = new BaseOtExchange(1, scope, draws.key, reveal.key, this.#random());
    const epoch = { flow: "kg" as const, party: 1 as const, epoch: 1, scope, share: draws.share, ...joint };
    this.#exchange = { epoch, ot };
    const answer = pair(joined(...revealFields(draws.reveal)), yield* ot.multiplier.points());
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    this.#first = null;
    this.core.single.move("K2");
    return [this.core.send("kg4", scope.sid, answer, "kg5")];
  }

  *#onKg5(message: Message): Slices<readonly Effect[]> {
    const exchange = this.#exchange;
    if (exchange === null) throw new Error("no exchange");
    const { epoch, ot } = exchange;
    expectSid(message, epoch.scope.sid);
    const { points, challenge } = yield* decodeKg5(message.body);
    const own = yield* ot.chooser.challenge(points);
    const answer = pair(own, ot.multiplier.respond(challenge));
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    const run = { epoch, ot, transcript: this.#transcript, preparedRow: newWalletRow() };
    this.#later = new EpochCosigner(this.core, run, this.#ports);
    this.core.single.move("K3");
    return [this.core.send("kg6", epoch.scope.sid, answer, "kg7")];
  }

  #random() {
    return labelled(this.#ports.random, "kg/");
  }

  #ending(end: SessionEnd) {
    return this.#later?.ending(end) ?? { effects: [], row: null };
  }

  #wipe(): void {
    this.#first = null;
    this.#exchange?.ot.wipe();
    this.#later?.wipe();
  }
}
