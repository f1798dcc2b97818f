/**
 * What every session does alike: one message is one step; the header is compared with the session; what is thrown is
 * one of the five classes; an end wipes, always; and who ends a session for another reason than a lost connection, a
 * received `Abort` or a freeze tells the peer its class.
 *
 * A long step may stop (`isUnfinished`): whoever runs the session resumes it until it has its result. Between two stops
 * the session may be ended and takes no message.
 */
import { type Failure, failureOf, refused, transport, violation } from "../base/outcome.js";
import type { Party } from "../base/parameters.js";
import type { Slices } from "../base/slices.js";
import type { StateRow } from "../state/state-row.js";
import { checkSession, headerOf, isZero, type Message, type SessionNames, sameBytes } from "../wire/header.js";
import { type AbortBody, decodeAbort, encodeAbort } from "../wire/link-bodies.js";
import { kindNamed, kindOfType, MESSAGE, type MessageName } from "../wire/message-types.js";
import { DROPPED, type Effect, type EndCause, type SessionEnd, type Step, stepOf } from "./effects.js";
import { SingleUse, used } from "./single-use.js";

const ZERO_SID = new Uint8Array(32);

/** What only the session itself knows. */
export interface SessionPlan {
  /** What an end of this kind has to make durable first, and the row in memory after it. */
  readonly ending: (end: SessionEnd) => { readonly effects: readonly Effect[]; readonly row: StateRow | null };
  /** Called at each end, whatever happened. Must not throw. */
  readonly wipe: () => void;
}

/** What a message comes to, at once or in slices. */
export type Handled = readonly Effect[] | Slices<readonly Effect[]>;

export class SessionCore<State extends string> {
  readonly single: SingleUse<State, EndCause>;
  readonly #self: Party;
  readonly #plan: SessionPlan;
  #names: SessionNames;
  #checking = false;
  /** What is left of a long step; null while a slice of it runs. */
  #rest: Slices<readonly Effect[]> | null = null;

  constructor(self: Party, names: SessionNames, first: State, plan: SessionPlan) {
    this.#self = self;
    this.#names = names;
    this.#plan = plan;
    this.single = new SingleUse(first);
  }

  get names(): SessionNames {
    return this.#names;
  }

  /** C learns ctr and epoch from F1. */
  rename(names: SessionNames): void {
    this.#names = names;
  }

  /** The last step has no result yet: no effect of it is known, and `resume` runs the next slice. */
  get isUnfinished(): boolean {
    return this.#rest !== null;
  }

  step(run: () => Handled): Step {
    if (this.#rest !== null) throw used("in a step");
    return this.#slice(() => {
      const handled = run();
      return "next" in handled ? this.#next(handled) : handled;
    });
  }

  /** The result of the step, or nothing yet. */
  resume(): Step {
    const rest = this.#rest;
    if (rest === null) throw used("not in a step");
    this.#rest = null;
    return this.#slice(() => this.#next(rest));
  }

  #next(slices: Slices<readonly Effect[]>): readonly Effect[] {
    const { done, value } = slices.next();
    if (done === true) return value;
    this.#rest = slices;
    return [];
  }

  #slice(run: () => readonly Effect[]): Step {
    const guarded = (): Step => {
      try {
        return stepOf(...run());
      } catch (thrown) {
        return stepOf(...this.#failed(failureOf(thrown), "self"));
      }
    };
    return this.single.step(guarded, (step, waiting) => {
      if (waiting === null || this.single.ended) return step;
      // Of a step whose session was ended meanwhile nothing leaves; a failed check has ended it by itself already.
      return stepOf(...this.#endedBy(waiting));
    });
  }

  /** A message of this session, or one that only looks like it. */
  receive(message: Message, accepts: MessageName, handle: (message: Message) => Handled): Step {
    const verdict = checkSession(message.header, this.#names);
    // An `Abort` that fits no session ends none, and is nobody's fault.
    const isStray = verdict === "violation" && message.header.type === MESSAGE.abort;
    if (verdict === "dropped" || isStray) {
      if (this.single.ended) throw violation("ended");
      return DROPPED;
    }
    return this.step(() => {
      if (verdict === "violation") throw violation("header");
      const { type, from, to, seq, length } = message.header;
      if (type === MESSAGE.abort) return this.#aborted(message);
      const kind = kindOfType(type);
      if (kind === null || kind.name !== accepts) throw violation("order");
      if (from !== 1 - this.#self || to !== this.#self || seq !== kind.seq) throw violation("header");
      if (length !== message.body.byteLength) throw violation("length");
      if (kind.scope !== "session" && !isZero(message.header.sid)) throw violation("sid");
      return handle(message);
    });
  }

  end(cause: EndCause): Step {
    if (this.single.defer(cause)) return stepOf();
    return this.single.step(
      () => stepOf(...this.#endedBy(cause)),
      (step) => step,
    );
  }

  /** Runs the checks of a message: a fault of ours in here leaves the abort unexplained. */
  check<Result>(run: () => Result): Result {
    this.#checking = true;
    const result = run();
    this.#checking = false;
    return result;
  }

  send(name: MessageName, sid: Uint8Array, body: Uint8Array, awaits: MessageName | null): Effect {
    const header = headerOf(kindNamed(name), this.#self, this.#names, sid, body.byteLength);
    return { kind: "send", message: { header, body }, awaits };
  }

  /** The end in order. */
  done(): readonly Effect[] {
    return this.#conclude({ kind: "done" }, null);
  }

  fail(failure: Failure, by: "self" | "peer"): readonly Effect[] {
    return this.#failed(failure, by);
  }

  #failed(failure: Failure, by: "self" | "peer", tells = true): readonly Effect[] {
    // An exception that is none of the classes can come out of a check; those of the check itself can not.
    const explained = failure.kind !== "fault" || !this.#checking;
    const abort = by === "self" && tells ? abortOf(failure) : null;
    return this.#conclude({ kind: "failed", failure, by, explained }, abort);
  }

  #endedBy(cause: EndCause): readonly Effect[] {
    switch (cause) {
      case "deadline":
        return this.#failed(transport("timeout").failure, "self");
      case "lost":
        return this.#failed(transport("connection-lost").failure, "self", false);
      case "stopped":
        return this.#failed(transport("busy").failure, "self");
      case "freeze notice":
        return this.#conclude({ kind: "frozen by peer" }, null);
      case "store failed":
        this.#checking = false;
        return this.#failed({ kind: "fault", error: new Error("store") }, "self");
    }
  }

  #aborted(message: Message): readonly Effect[] {
    if (!isZero(message.header.sid)) throw violation("sid");
    const abort = decodeAbort(message.body);
    return this.#failed(failureToldBy(abort), "peer");
  }

  #conclude(end: SessionEnd, abort: AbortBody | null): readonly Effect[] {
    const rest = this.#rest;
    this.#rest = null;
    try {
      // Its own arenas are wiped on the way out; what it held of the session is wiped below.
      rest?.return([]);
      const { effects, row } = this.#plan.ending(end);
      const told = abort === null ? [] : [this.send("abort", ZERO_SID, encodeAbort(abort), null)];
      return [...effects, ...told, { kind: "end", end, row }];
    } finally {
      this.#plan.wipe();
      this.single.move("ENDED");
    }
  }
}

export function expectSid(message: Message, sid: Uint8Array): void {
  if (!sameBytes(message.header.sid, sid)) throw violation("sid");
}

/** Null: the peer hears of it by `Freeze`. */
function abortOf(failure: Failure): AbortBody | null {
  switch (failure.kind) {
    case "cheat":
      return null;
    case "refused":
      return { class: "refused", code: failure.code, detail: failure.detail };
    case "transport":
    case "violation":
    case "fault":
      return { class: failure.kind };
  }
}

function failureToldBy(abort: AbortBody): Failure {
  switch (abort.class) {
    case "transport":
      return transport("busy").failure;
    case "fault":
      return transport("peer-restarted").failure;
    case "violation":
      return violation("abort").failure;
    case "refused":
      return refused(abort.code, abort.detail).failure;
  }
}
