/** Key generation, the service's side (docs/mpc.md, section 5): the first flights; the later ones are `EpochService`. */
import { isSame } from "../base/bits.js";
import { violation } from "../base/outcome.js";
import { labelled } from "../base/random.js";
import type { Slices } from "../base/slices.js";
import { newWalletRow } from "../state/state-row.js";
import { type Message, NO_SID } from "../wire/header.js";
import { decodeKg2, decodeKg4, joined, pair, revealFields } from "../wire/keygen-bodies.js";
import type { Effect, EndCause, SessionEnd, Step } from "./effects.js";
import { BaseOtExchange, type EpochPorts, Transcript } from "./epoch-exchange.js";
import { EpochService, type ServiceState } from "./epoch-service.js";
import { checkReveal, drawKeygen, drawnBytes, type KeygenDraws, keygenScope } from "./keygen-draws.js";
import { expectSid, SessionCore } from "./session-core.js";
import type { HashScope } from "../base/hash.js";

export class KeygenService {
  readonly core: SessionCore<ServiceState>;
  readonly #walletId: Uint8Array;
  readonly #ports: EpochPorts;
  readonly #transcript = new Transcript();
  #nonce: Buffer | null = null;
  #first: { readonly scope: HashScope; readonly draws: KeygenDraws; readonly commitment: Buffer } | null = null;
  /** From its first buffer on, whatever its arithmetic comes to. */
  #ot: BaseOtExchange | null = null;
  #later: EpochService | null = null;

  /** `walletId`: random, made for this attempt alone. */
  constructor(walletId: Uint8Array, ports: EpochPorts) {
    this.#walletId = walletId;
    this.#ports = ports;
    this.core = new SessionCore<ServiceState>(0, { walletId, epoch: 1, ctr: 0n }, "IDLE", {
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
      this.#nonce = drawnBytes(this.#random(), "nonce");
      this.#transcript.add(this.#nonce);
      this.core.single.move("K1");
      return [this.core.send("kg1", NO_SID, this.#nonce, "kg2")];
    });
  }

  receive(message: Message): Step {
    const { state } = this.core.single;
    if (state === "ENDED" || state === "IDLE") throw new Error("session is not under way");
    if (this.#later !== null) return this.#later.receive(message);
    const accepts = state === "K1" ? "kg2" : "kg4";
    return this.core.receive(message, accepts, (accepted) =>
      state === "K1" ? this.#onKg2(accepted) : this.#onKg4(accepted),
    );
  }

  end(cause: EndCause): Step {
    return this.core.end(cause);
  }

  #onKg2(message: Message): readonly Effect[] {
    const nonce = this.#nonce;
    if (nonce === null) throw new Error("no nonce");
    const body = decodeKg2(message.body);
    if (isSame(body.nonce, nonce)) throw violation("nonce");
    const scope = keygenScope(this.#walletId, [nonce, body.nonce]);
    expectSid(message, scope.sid);
    const draws = drawKeygen(0, scope, this.#random());
    this.#first = { scope, draws, commitment: Buffer.from(body.commitment) };
    const answer = pair(draws.commitment, joined(...revealFields(draws.reveal)));
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    this.core.single.move("K2");
    return [this.core.send("kg3", scope.sid, answer, "kg4")];
  }

  *#onKg4(message: Message): Slices<readonly Effect[]> {
    const first = this.#first;
    if (first === null) throw new Error("nothing is drawn");
    const { scope, draws } = first;
    expectSid(message, scope.sid);
    const { reveal, points } = yield* decodeKg4(message.body);
    const joint = checkReveal(0, scope, draws.reveal, first.commitment, reveal);
    yield;
    const random = this.#random();
    const ot = new BaseOtExchange(0, scope, draws.key, reveal.key, random);
    this.#ot = ot;
    const challenge = yield* ot.chooser.challenge(points);
    const answer = pair(yield* ot.multiplier.points(), challenge);
    this.#transcript.add(message.body);
    this.#transcript.add(answer);
    const epoch = { flow: "kg" as const, party: 0 as const, epoch: 1, scope, share: draws.share, ...joint };
    const run = { epoch, ot, transcript: this.#transcript, preparedRow: newWalletRow() };
    this.#later = new EpochService(this.core, run, this.#ports);
    this.#first = null;
    this.core.single.move("K3");
    return [this.core.send("kg5", scope.sid, answer, "kg6")];
  }

  #random() {
    return labelled(this.#ports.random, "kg/");
  }

  #ending(end: SessionEnd) {
    return this.#later?.ending(end) ?? { effects: [], row: null };
  }

  #wipe(): void {
    this.#nonce?.fill(0);
    this.#first = null;
    this.#ot?.wipe();
    this.#ot = null;
    this.#later?.wipe();
  }
}
