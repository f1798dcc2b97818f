/**
 * Fault knobs. Each request and each frame gets one verdict; all active faults that match it add up. One seed decides
 * the dice, so the same calls meet the same faults. Verdict objects are reused: read one before the next call.
 */
import type { Clock, TimerHandle } from "../../../../engine/domain/clock.js";
import { createSeededRandom, type Random } from "../../../../engine/domain/random.js";
import type { ActiveFault, FaultKind, FaultScope, FaultSpec, FrameVerdict, RestVerdict } from "./fault-types.js";

export const FAULT_KINDS: readonly FaultKind[] = [
  "latency",
  "fixedDelay",
  "loss",
  "duplicate",
  "reorder",
  "gap",
  "silent",
  "disconnect",
  "rate429",
  "ban418",
  "errorBefore",
  "errorAfter",
  "replyLost",
  "heldRequest",
  "clockSkew",
  "refuseHandshake",
  "halfFrame",
  "ignoreSubscribe",
];
const SCOPES: readonly FaultScope[] = ["rest", "market", "user"];
const REST_ONLY: ReadonlySet<FaultKind> = new Set([
  "fixedDelay",
  "rate429",
  "ban418",
  "errorBefore",
  "errorAfter",
  "replyLost",
  "heldRequest",
]);
const SOCKET_ONLY: ReadonlySet<FaultKind> = new Set([
  "duplicate",
  "reorder",
  "gap",
  "silent",
  "disconnect",
  "halfFrame",
]);
/** Read on occasions of their own, neither per request nor per frame. */
const APART: ReadonlySet<FaultKind> = new Set(["clockSkew", "refuseHandshake", "ignoreSubscribe"]);
/** Active at a time; one more is refused. */
const ACTIVE_MAX = 256;

interface Running {
  readonly id: number;
  readonly spec: FaultSpec;
  readonly sinceMs: number;
  hitCount: number;
  timer: TimerHandle | null;
}

export interface FaultInjectorOptions {
  readonly seed: number;
  readonly clock: Clock;
  /** Called after a fault was added, removed or ran out (clock skew must reach the exchange, disconnects the sockets). */
  readonly onChange?: () => void;
}

/** Returns the problems of a spec from outside; empty when it is usable. */
export function faultSpecProblems(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return ["a fault is an object"];
  const spec = value as Record<string, unknown>;
  const problems: string[] = [];
  if (!FAULT_KINDS.includes(spec.kind as FaultKind)) problems.push(`kind must be one of ${FAULT_KINDS.join(", ")}`);
  const { scope } = spec;
  if (scope !== undefined && !(Array.isArray(scope) && scope.every((entry) => SCOPES.includes(entry as FaultScope))))
    problems.push("scope must be a list of rest, market, user");
  if (spec.match !== undefined && typeof spec.match !== "string") problems.push("match must be text");
  for (const name of ["probability", "durationMs", "count", "delayMs", "jitterMs", "status", "retryAfterS"]) {
    const entry = spec[name];
    if (entry !== undefined && (typeof entry !== "number" || !Number.isFinite(entry)))
      problems.push(`${name} must be a number`);
  }
  return problems;
}

/** The Retry-After header of a refusal; none where the fault names no time. */
export function retryAfterHeaders({ retryAfterS }: RestVerdict): Readonly<Record<string, string>> {
  return retryAfterS < 0 ? {} : { "retry-after": String(retryAfterS) };
}

export class FaultInjector {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #onChange: () => void;
  readonly #running = new Map<number, Running>();
  readonly #hits: Record<FaultKind, number>;
  readonly #rest: RestVerdict = { before: "none", after: "none", status: 0, retryAfterS: -1, delayMs: 0, holdMs: 0 };
  readonly #frame: FrameVerdict = {
    drop: false,
    copies: 1,
    holdBack: false,
    silent: false,
    disconnect: false,
    half: false,
    delayMs: 0,
  };
  #nextId = 1;

  constructor(options: FaultInjectorOptions) {
    this.#clock = options.clock;
    this.#random = createSeededRandom(options.seed ^ 0x0fa017);
    this.#onChange = options.onChange ?? (() => undefined);
    this.#hits = Object.fromEntries(FAULT_KINDS.map((kind) => [kind, 0])) as Record<FaultKind, number>;
  }

  add(spec: FaultSpec): ActiveFault {
    if (this.#running.size >= ACTIVE_MAX) throw new RangeError(`at most ${ACTIVE_MAX} faults at a time`);
    const running: Running = { id: this.#nextId++, spec, sinceMs: this.#clock.wallMs(), hitCount: 0, timer: null };
    this.#running.set(running.id, running);
    if (spec.durationMs !== undefined)
      running.timer = this.#clock.setTimer(() => this.remove(running.id), spec.durationMs);
    if (spec.kind === "clockSkew") this.#hit(running);
    this.#onChange();
    return running;
  }

  remove(id: number): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    if (running.timer !== null) this.#clock.clearTimer(running.timer);
    this.#running.delete(id);
    this.#onChange();
  }

  clear(): void {
    for (const id of [...this.#running.keys()]) this.remove(id);
  }

  active(): readonly ActiveFault[] {
    return [...this.#running.values()].map(({ id, spec, sinceMs, hitCount }) => ({ id, spec, sinceMs, hitCount }));
  }

  /** Totals per kind since start, also of ended faults. */
  hits(): Readonly<Record<FaultKind, number>> {
    return this.#hits;
  }

  /** `route`: `POST /fapi/v1/order`. The verdict object is reused: read it before the next call. */
  onRequest(route: string): RestVerdict {
    const verdict = this.#rest;
    verdict.before = "none";
    verdict.after = "none";
    verdict.status = 0;
    verdict.retryAfterS = -1;
    verdict.delayMs = 0;
    verdict.holdMs = 0;
    for (const running of this.#running.values()) {
      const { spec } = running;
      if (SOCKET_ONLY.has(spec.kind) || APART.has(spec.kind)) continue;
      if (!this.#applies(running, "rest", route)) continue;
      this.#hit(running);
      if (spec.kind === "latency") verdict.delayMs += (spec.delayMs ?? 0) + (spec.jitterMs ?? 0) * this.#random.next();
      else if (spec.kind === "fixedDelay") verdict.delayMs += spec.delayMs ?? 0;
      else if (spec.kind === "heldRequest")
        verdict.holdMs += (spec.delayMs ?? 0) + (spec.jitterMs ?? 0) * this.#random.next();
      else if (spec.kind === "loss") verdict.before = "drop";
      else if (spec.kind === "replyLost") verdict.after = "cut";
      else if (spec.kind === "errorAfter") {
        verdict.after = "error";
        verdict.status = spec.status ?? 503;
      } else {
        verdict.before = spec.kind === "errorBefore" ? "error" : spec.kind === "ban418" ? "ban418" : "rate429";
        verdict.status = spec.status ?? (spec.kind === "errorBefore" ? 503 : spec.kind === "ban418" ? 418 : 429);
        verdict.retryAfterS = spec.retryAfterS ?? -1;
      }
    }
    return verdict;
  }

  /** `stream`: name of the stream; `sequenced`: frame carries a book sequence. Reused object as well. */
  onFrame(scope: "market" | "user", stream: string, sequenced: boolean): FrameVerdict {
    const verdict = this.#frame;
    verdict.drop = false;
    verdict.copies = 1;
    verdict.holdBack = false;
    verdict.silent = false;
    verdict.disconnect = false;
    verdict.half = false;
    verdict.delayMs = 0;
    if (this.#running.size === 0) return verdict;
    for (const running of this.#running.values()) {
      const { spec } = running;
      if (REST_ONLY.has(spec.kind) || APART.has(spec.kind)) continue;
      // An account's frames carry no sequence: a fault that names their scope applies to them.
      if (spec.kind === "gap" && !sequenced && !(scope === "user" && spec.scope?.includes("user") === true)) continue;
      if (!this.#applies(running, scope, stream)) continue;
      this.#hit(running);
      if (spec.kind === "latency") verdict.delayMs += (spec.delayMs ?? 0) + (spec.jitterMs ?? 0) * this.#random.next();
      else if (spec.kind === "loss" || spec.kind === "gap") verdict.drop = true;
      else if (spec.kind === "duplicate") verdict.copies++;
      else if (spec.kind === "reorder") verdict.holdBack = true;
      else if (spec.kind === "silent") verdict.silent = true;
      else if (spec.kind === "disconnect") verdict.disconnect = true;
      else if (spec.kind === "halfFrame") verdict.half = true;
    }
    return verdict;
  }

  /** Returns true when a client's subscription to this stream is ignored. */
  onSubscribe(stream: string): boolean {
    for (const running of this.#running.values()) {
      if (running.spec.kind !== "ignoreSubscribe" || !this.#applies(running, null, stream)) continue;
      this.#hit(running);
      return true;
    }
    return false;
  }

  /** Status to refuse a WebSocket upgrade with, or 0. */
  onHandshake(path: string): number {
    for (const running of this.#running.values()) {
      if (running.spec.kind !== "refuseHandshake" || !this.#applies(running, null, path)) continue;
      this.#hit(running);
      return running.spec.status ?? 503;
    }
    return 0;
  }

  /** True while `silent` applies to pongs and pings of this scope. */
  isSilent(scope: "market" | "user"): boolean {
    for (const { spec } of this.#running.values()) {
      if (
        spec.kind === "silent" &&
        spec.match === undefined &&
        (spec.scope === undefined || spec.scope.includes(scope))
      )
        return true;
    }
    return false;
  }

  /** Current sum of clockSkew faults. */
  clockSkewMs(): number {
    let sum = 0;
    for (const { spec } of this.#running.values()) if (spec.kind === "clockSkew") sum += spec.delayMs ?? 0;
    return sum;
  }

  /** `scope` null: the kind has no scopes (handshakes). */
  #applies(running: Running, scope: FaultScope | null, name: string): boolean {
    const { spec } = running;
    if (scope !== null && spec.scope !== undefined && !spec.scope.includes(scope)) return false;
    if (spec.match !== undefined && !name.includes(spec.match)) return false;
    return spec.probability === undefined || this.#random.next() < spec.probability;
  }

  #hit(running: Running): void {
    running.hitCount++;
    this.#hits[running.spec.kind]++;
    if (running.spec.count !== undefined && running.hitCount >= running.spec.count) this.remove(running.id);
  }
}
