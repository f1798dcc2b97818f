/**
 * The later flights of a key generation or a refresh, the co-signer's side, and the two-phase end (docs/mpc.md, 5.1 from
 * KG5 on, 5.3, 9). From its fsync of `tested` on it removes nothing: only S knows whether it has decided.
 */
import { isSame } from "../base/bits.js";
import { violation } from "../base/outcome.js";
import type { StateRow } from "../state/state-row.js";
import { activation } from "../state/two-phase.js";
import { type Message, NO_SID } from "../wire/header.js";
import { decode7, pair } from "../wire/keygen-bodies.js";
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
import { isFlight } from "./epoch-service.js";
import { endPrepared, type EpochEnd } from "./epoch-end.js";
import { expectSid, type SessionCore } from "./session-core.js";
import { type IntentReader, SignCosigner } from "./sign-cosigner.js";

export type CosignerState = "IDLE" | "K1" | "K2" | "K3" | "K4" | "K5" | "K6";

/** After the sixth flight was sent. */
export interface CosignerRun {
  readonly epoch: NewEpoch;
  readonly ot: BaseOtExchange;
  readonly transcript: Transcript;
  readonly preparedRow: StateRow;
}

/** A test signature reads no intent but its own. */
const NO_INTENTS: IntentReader = { read: () => null };

export class EpochCosigner {
  readonly #core: SessionCore<CosignerState>;
  readonly #run: CosignerRun;
  readonly #ports: EpochPorts;
  #tag: Buffer | null = null;
  #sealed: SealedEpoch | null = null;
  #test: SignCosigner | null = null;
  #row: StateRow;
  #isPrepared = false;

  constructor(core: SessionCore<CosignerState>, run: CosignerRun, ports: EpochPorts) {
    this.#core = core;
    this.#run = run;
    this.#ports = ports;
    this.#row = run.preparedRow;
  }

  receive(message: Message): Step {
    const { state } = this.#core.single;
    const { type, ctr, epoch } = message.header;
    const test = this.#test;
    const isSigning = type === MESSAGE.f1 || type === MESSAGE.f3 || type === MESSAGE.f5 || ctr !== 0n;
    // What is of the epoch before is late, and not for the test to judge, which knows no names before its F1.
    const isOfTest = isSigning && epoch >= this.#run.epoch.epoch;
    if (state === "K5" && test !== null && isOfTest) return this.#core.step(() => this.#tested(test.receive(message)));
    return this.#core.receive(message, this.#accepts(), (accepted) => {
      if (state === "K3") return this.#on7(accepted);
      if (state === "K4") return this.#on9(accepted);
      if (state === "K5") throw violation("order");
      return this.#onActivate(accepted);
    });
  }

  ending(end: SessionEnd): EpochEnd | null {
    if (!this.#isPrepared) return null;
    return endPrepared(this.#core, this.#run.epoch, this.#row, end, this.#core.single.state === "K6");
  }

  wipe(): void {
    this.#run.ot.wipe();
    if (this.#test?.ended === false) this.#test.end("stopped");
  }

  #accepts(): MessageName {
    const { flow } = this.#run.epoch;
    switch (this.#core.single.state) {
      case "K3":
        return `${flow}7`;
      case "K4":
        return `${flow}9`;
      case "K5":
        return "f1";
      default:
        return "activate";
    }
  }

  #on7(message: Message): readonly Effect[] {
    const { epoch, ot, transcript } = this.#run;
    expectSid(message, epoch.scope.sid);
    const { response, opening: otherOpening } = decode7(message.body);
    transcript.add(message.body);
    const opening = ot.chooser.open(response);
    ot.multiplier.verify(otherOpening);
    transcript.add(opening);
    this.#tag = transcript.tag(epoch.flow, epoch.scope);
    this.#core.single.move("K4");
    const body = pair(opening, this.#tag);
    return [this.#core.send(`${epoch.flow}8`, epoch.scope.sid, body, `${epoch.flow}9`)];
  }

  #on9(message: Message): readonly Effect[] {
    const { epoch, ot, preparedRow } = this.#run;
    expectSid(message, epoch.scope.sid);
    const tag = this.#ownTag();
    if (!isSame(decodeTag(message.body), tag)) throw violation("fin");
    const sealed = sealEpoch(epoch, tag, ot, preparedRow.ctr, this.#ports);
    ot.wipe();
    this.#sealed = sealed;
    this.#isPrepared = true;
    this.#test = this.#newTest();
    this.#core.single.move("K5");
    return [
      commitOf(preparedRow, { put: sealedShare(sealed, tag) }),
      { kind: "backup", epoch: epoch.epoch, tag, file: sealed.backup },
      this.#core.send(`${epoch.flow}10`, epoch.scope.sid, encodeTag(tag), "f1"),
    ];
  }

  #newTest(): SignCosigner {
    const sealed = this.#sealed;
    if (sealed === null) throw new Error("nothing is sealed");
    const wallet = { row: this.#row, tag: this.#ownTag(), openShare: () => openSealed(sealed, this.#ports) };
    const { epoch } = this.#run;
    const { walletId } = epoch.scope;
    const request = { walletId, wallet, busy: false, testDigest: testDigest(epoch), intents: NO_INTENTS };
    return new SignCosigner(request, this.#ports);
  }

  #tested(step: Step): readonly Effect[] {
    const effects: Effect[] = [];
    for (const effect of step.effects) {
      if (effect.kind === "commit" && effect.row !== null) this.#row = effect.row;
      if (effect.kind === "commit" || isFlight(effect)) effects.push(effect);
      if (effect.kind !== "end") continue;
      this.#row = effect.row ?? this.#row;
      if (effect.end.kind === "failed") return [...effects, ...this.#core.fail(effect.end.failure, effect.end.by)];
      this.#core.single.move("K6");
    }
    return effects;
  }

  #onActivate(message: Message): readonly Effect[] {
    if (!isSame(decodeTag(message.body), this.#ownTag())) throw violation("tag");
    const change = activation(1, this.#row);
    if (change.row === null) throw new Error("nothing to activate");
    this.#row = change.row;
    const activated = this.#core.send("activated", NO_SID, encodeTag(this.#ownTag()), null);
    return [commitOf(change.row, { erase: change.erase }), activated, ...this.#core.done()];
  }

  #ownTag(): Buffer {
    if (this.#tag === null) throw new Error("no tag");
    return this.#tag;
  }
}
