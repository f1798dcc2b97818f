/**
 * The later flights of a key generation or a refresh, the service's side, and the two-phase end (docs/mpc.md, 5.1 from
 * KG6 on, 5.3, 9): prepared, tested, decided, acknowledged. The decision is the own fsync after F6; from it on nothing
 * is removed.
 */
import { isSame } from "../base/bits.js";
import { violation } from "../base/outcome.js";
import type { StateRow } from "../state/state-row.js";
import { activation } from "../state/two-phase.js";
import { type Message, NO_SID } from "../wire/header.js";
import { decode6, decode8, pair } from "../wire/keygen-bodies.js";
import { decodeTag, encodeTag } from "../wire/link-bodies.js";
import { MESSAGE, type MessageName } from "../wire/message-types.js";
import { commitOf, type Effect, type SessionEnd, type Step } from "./effects.js";
import {
  type BaseOtExchange,
  type EpochPorts,
  type NewEpoch,
  openSealed,
  type SealedEpoch,
  sealEpoch,
  sealedShare,
  type Transcript,
  testDigest,
} from "./epoch-exchange.js";
import { endPrepared, type EpochEnd } from "./epoch-end.js";
import { expectSid, type SessionCore } from "./session-core.js";
import { TEST_INTENT } from "./sign-cosigner.js";
import { SignService } from "./sign-service.js";

export type ServiceState = "IDLE" | "K1" | "K2" | "K3" | "K4" | "K5" | "K6" | "decided";

/** After the fifth flight was sent. */
export interface ServiceRun {
  readonly epoch: NewEpoch;
  readonly ot: BaseOtExchange;
  readonly transcript: Transcript;
  /** The row once the epoch is prepared. */
  readonly preparedRow: StateRow;
}

export class EpochService {
  readonly #core: SessionCore<ServiceState>;
  readonly #run: ServiceRun;
  readonly #ports: EpochPorts;
  #tag: Buffer | null = null;
  #sealed: SealedEpoch | null = null;
  #test: SignService | null = null;
  #row: StateRow;
  #isPrepared = false;

  constructor(core: SessionCore<ServiceState>, run: ServiceRun, ports: EpochPorts) {
    this.#core = core;
    this.#run = run;
    this.#ports = ports;
    this.#row = run.preparedRow;
  }

  receive(message: Message): Step {
    const { state } = this.#core.single;
    const { type, ctr, epoch } = message.header;
    // What is of the epoch before is late, which is not for the test to count.
    const isOfTest = !(type === MESSAGE.abort && ctr === 0n) && epoch >= this.#run.epoch.epoch;
    const test = this.#test;
    if (state === "K6" && test !== null && isOfTest) return this.#core.step(() => this.#tested(test.receive(message)));
    return this.#core.receive(message, this.#accepts(), (accepted) => {
      if (state === "K3") return this.#on6(accepted);
      if (state === "K4") return this.#on8(accepted);
      return state === "K5" ? this.#on10(accepted) : this.#onActivated(accepted);
    });
  }

  /** What an end removes and freezes; null: the row of before is still the row. */
  ending(end: SessionEnd): EpochEnd | null {
    if (!this.#isPrepared) return null;
    return endPrepared(this.#core, this.#run.epoch, this.#row, end, this.#core.single.state === "decided");
  }

  wipe(): void {
    this.#run.ot.wipe();
    if (this.#test?.ended === false) this.#test.end("stopped");
  }

  #accepts(): MessageName {
    const { flow } = this.#run.epoch;
    switch (this.#core.single.state) {
      case "K3":
        return `${flow}6`;
      case "K4":
        return `${flow}8`;
      case "K5":
        return `${flow}10`;
      default:
        return "activated";
    }
  }

  #on6(message: Message): readonly Effect[] {
    const { epoch, ot, transcript } = this.#run;
    expectSid(message, epoch.scope.sid);
    const { challenge, response } = decode6(message.body);
    transcript.add(message.body);
    const opening = ot.chooser.open(response);
    const body = pair(ot.multiplier.respond(challenge), opening);
    transcript.add(body);
    this.#core.single.move("K4");
    return [this.#core.send(`${epoch.flow}7`, epoch.scope.sid, body, `${epoch.flow}8`)];
  }

  #on8(message: Message): readonly Effect[] {
    const { epoch, ot, transcript, preparedRow } = this.#run;
    expectSid(message, epoch.scope.sid);
    const { opening, fin } = decode8(message.body);
    ot.multiplier.verify(opening);
    transcript.add(opening);
    const tag = transcript.tag(epoch.flow, epoch.scope);
    if (!isSame(fin, tag)) throw violation("fin");
    const sealed = sealEpoch(epoch, tag, ot, preparedRow.ctr, this.#ports);
    ot.wipe();
    this.#tag = tag;
    this.#sealed = sealed;
    this.#isPrepared = true;
    this.#core.single.move("K5");
    return [
      commitOf(preparedRow, { put: sealedShare(sealed, tag) }),
      { kind: "backup", epoch: epoch.epoch, tag, file: sealed.backup },
      this.#core.send(`${epoch.flow}9`, epoch.scope.sid, encodeTag(tag), `${epoch.flow}10`),
    ];
  }

  #on10(message: Message): readonly Effect[] {
    const { epoch } = this.#run;
    const sealed = this.#sealed;
    if (sealed === null) throw new Error("nothing is sealed");
    expectSid(message, epoch.scope.sid);
    if (!isSame(decodeTag(message.body), this.#ownTag())) throw violation("fin");
    const digest = testDigest(epoch);
    const share = openSealed(sealed, this.#ports);
    const request = { row: this.#row, share, intent: TEST_INTENT, digest, isTest: true };
    this.#test = new SignService(request, this.#ports);
    this.#core.single.move("K6");
    return this.#tested(this.#test.start());
  }

  /** What the test signature asks for, but its end, which is ours to decide. */
  #tested(step: Step): readonly Effect[] {
    const effects: Effect[] = [];
    for (const effect of step.effects) {
      if (effect.kind === "commit" && effect.row !== null) this.#row = effect.row;
      if (effect.kind === "commit" || isFlight(effect)) effects.push(effect);
      if (effect.kind !== "end") continue;
      this.#row = effect.row ?? this.#row;
      if (effect.end.kind === "failed") return [...effects, ...this.#core.fail(effect.end.failure, effect.end.by)];
      effects.push(...this.#decide());
    }
    return effects;
  }

  #decide(): readonly Effect[] {
    const change = activation(0, this.#row);
    if (change.row === null) throw new Error("nothing to activate");
    this.#row = change.row;
    this.#core.single.move("decided");
    const activate = this.#core.send("activate", NO_SID, encodeTag(this.#ownTag()), "activated");
    return [commitOf(change.row, { erase: change.erase }), activate];
  }

  #onActivated(message: Message): readonly Effect[] {
    if (!isSame(decodeTag(message.body), this.#ownTag())) throw violation("tag");
    const { epoch, key } = this.#run.epoch;
    const erased: Effect[] = [];
    if (this.#row.keptEpoch !== 0) {
      const erase = [this.#row.keptEpoch];
      this.#row = { ...this.#row, keptEpoch: 0 };
      erased.push(commitOf(this.#row, { erase }));
    }
    return [...erased, { kind: "acknowledge", epoch, publicKey: key.bytes }, ...this.#core.done()];
  }

  #ownTag(): Buffer {
    if (this.#tag === null) throw new Error("no tag");
    return this.#tag;
  }
}

/** An `Abort` of the test is sent as one of the run. */
export function isFlight(effect: Effect): boolean {
  return effect.kind === "send" && effect.message.header.type !== MESSAGE.abort;
}
