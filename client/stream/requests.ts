/**
 * Decides which subscriptions are wanted, and what to send for them. There is no queue of outgoing messages: each
 * message follows from the state. So the waiting work is bounded by the subscriptions, and a lost connection leaves
 * nothing old to send.
 *
 * Invariants: at most OPS_PER_SECOND operations a second; one recovery in flight per subscription.
 */
import {
  ANSWER_MS,
  type Effect,
  MAX_RECOVERIES,
  MAX_SUBSCRIPTIONS,
  markStale,
  OPS_PER_SECOND,
  type PendingOp,
  PRIVATE_RESUME_BATCH,
  RESUME_BATCH,
  type Request,
  type StreamState,
  type Subscription,
  type SubscribeParams,
  WAITING_ANSWER_MS,
} from "./state.js";

export type WantResult =
  | { readonly ok: true; readonly request: Request }
  | { readonly ok: false; readonly code: "TOO_MANY_SUBSCRIPTIONS" };

/** Adds a holder of these parameters. */
export function want(state: StreamState, params: SubscribeParams, nowMs: number): WantResult {
  const canonical = canonicalOf(params);
  for (const request of state.requests.values()) {
    if (request.canonical !== canonical) continue;
    request.holders++;
    return { ok: true, request };
  }
  let wanted = params.symbols?.length ?? 1;
  for (const request of state.requests.values()) wanted += request.params.symbols?.length ?? 1;
  if (wanted > MAX_SUBSCRIPTIONS) return { ok: false, code: "TOO_MANY_SUBSCRIPTIONS" };
  const request: Request = {
    id: state.nextRequestId++,
    params,
    canonical,
    holders: 1,
    phase: "wanted",
    notBeforeMs: nowMs,
    keys: [],
    refusal: null,
  };
  state.requests.set(request.id, request);
  return { ok: true, request };
}

/** Removes a holder; the last one ends the request and every subscription that no other request holds. */
export function unwant(state: StreamState, requestId: number): void {
  const request = state.requests.get(requestId);
  if (request === undefined || --request.holders > 0) return;
  state.requests.delete(requestId);
  for (const key of request.keys) letGo(state, key, requestId);
}

function letGo(state: StreamState, key: string, requestId: number): void {
  const sub = state.subs.get(key);
  if (sub === undefined) return;
  sub.requestIds.delete(requestId);
  if (sub.requestIds.size > 0) return;
  state.subs.delete(key);
  state.dropped.add(key);
}

/** Applies the keys that the server returned for a request. */
export function hold(state: StreamState, request: Request, keys: readonly string[], nowMs: number): void {
  for (const key of request.keys) if (!keys.includes(key)) letGo(state, key, request.id);
  request.phase = "held";
  request.refusal = null;
  request.keys = [...keys];
  for (const key of keys) {
    state.dropped.delete(key);
    const known = state.subs.get(key);
    if (known !== undefined) {
      known.requestIds.add(request.id);
      // Its snapshot is on the way, see below.
      if (known.data === null) Object.assign(known, { recovery: "resubscribe", askedAtMs: nowMs });
      continue;
    }
    state.subs.set(key, {
      key,
      requestIds: new Set([request.id]),
      topic: request.params.topic,
      symbol: "",
      epoch: "",
      seq: 0,
      data: null,
      stale: "waiting",
      // Its snapshot is on the way: it is requested only if it does not come.
      recovery: "resubscribe",
      askedAtMs: nowMs,
      recoveryCount: 0,
      waitsThere: false,
      heardMs: nowMs,
      tsMs: 0,
    });
  }
}

/** A new connection starts without state: known subscriptions are resumed, the rest requested. */
export function restoreAll(state: StreamState): void {
  state.pending.clear();
  state.dropped.clear();
  for (const request of state.requests.values()) {
    const seen = request.keys.every((key) => state.subs.get(key)?.data != null);
    if (request.phase === "held" && seen && request.keys.length > 0) continue;
    // A refusal may no longer apply (another server, a new listing).
    request.phase = "wanted";
    request.notBeforeMs = 0;
  }
  for (const sub of state.subs.values()) {
    sub.recovery = sub.data === null ? "none" : "resume";
    sub.askedAtMs = null;
    sub.recoveryCount = 0;
    sub.waitsThere = false;
  }
}

/** The server reports that a snapshot waits there: it will come, and a new request would only restart the wait. */
export function awaitSnapshot(sub: Subscription, nowMs: number): void {
  if (sub.recovery === "none") sub.recovery = "resubscribe";
  sub.askedAtMs = nowMs;
  sub.waitsThere = true;
}

/** Requests a subscription's missing updates, or all of it again, unless that is requested already. */
export function recover(sub: Subscription, how: "resume" | "resubscribe"): void {
  if (sub.recovery !== "none" && !(sub.recovery === "resume" && how === "resubscribe")) return;
  sub.recovery = how;
  sub.askedAtMs = null;
}

export function recovered(sub: Subscription): void {
  sub.recovery = "none";
  sub.askedAtMs = null;
  sub.recoveryCount = 0;
  sub.waitsThere = false;
}

/** The server refused an operation: its subscriptions are requested again by plain subscribes. */
export function refuseOp(state: StreamState, op: PendingOp): void {
  for (const key of op.keys) {
    const sub = state.subs.get(key);
    if (sub === undefined) continue;
    sub.recovery = "resubscribe";
    sub.askedAtMs = null;
  }
}

function answerMs(sub: Subscription): number {
  return isPrivate(sub) || sub.waitsThere ? WAITING_ANSWER_MS : ANSWER_MS;
}

function isPrivate({ topic }: Pick<Subscription, "topic">): boolean {
  return topic === "positions" || topic === "orders" || topic === "transfers";
}

/** What is private waits for the proof of the key. */
function isHeldBack({ link }: StreamState, one: Pick<Subscription, "topic">): boolean {
  return link.auth === "sent" && isPrivate(one);
}

/** Checks for replies that did not come. Returns true when the connection should be given up. */
export function expire(state: StreamState, nowMs: number): boolean {
  for (const [id, op] of state.pending) {
    if (nowMs - op.sentAtMs < ANSWER_MS) continue;
    state.pending.delete(id);
    const request = state.requests.get(op.requestId);
    if (op.kind === "subscribe" && request?.phase === "asked") request.phase = "wanted";
  }
  for (const sub of state.subs.values()) {
    if (sub.recovery === "none" || sub.askedAtMs === null || nowMs - sub.askedAtMs < answerMs(sub)) continue;
    if (++sub.recoveryCount >= MAX_RECOVERIES) return true;
    sub.askedAtMs = null;
    sub.waitsThere = false;
    sub.recovery = "resubscribe";
  }
  return false;
}

/** Sends what the state requires, as far as the budget allows. Only while the link is open. */
export function pump(state: StreamState, nowMs: number, effects: Effect[]): void {
  const { link } = state;
  if (link.phase !== "open" || link.auth === "making") return;
  const earned = ((nowMs - link.opBudgetAtMs) * OPS_PER_SECOND) / 1000;
  link.opBudget = Math.min(OPS_PER_SECOND, link.opBudget + Math.max(0, earned));
  link.opBudgetAtMs = nowMs;

  if (state.dropped.size > 0 && takeOps(state, 1)) {
    const keys = [...state.dropped].slice(0, RESUME_BATCH);
    for (const key of keys) state.dropped.delete(key);
    send(state, "unsubscribe", { subs: keys }, 0, keys, nowMs, effects);
  }
  for (const request of state.requests.values()) {
    if (request.phase !== "wanted" || request.notBeforeMs > nowMs || isHeldBack(state, request.params)) continue;
    if (!takeOps(state, 1)) return;
    request.phase = "asked";
    send(state, "subscribe", subscribeBody(request.params), request.id, [], nowMs, effects);
  }
  sendResumes(state, nowMs, effects);
  for (const sub of state.subs.values()) {
    if (sub.recovery !== "resubscribe" || sub.askedAtMs !== null || isHeldBack(state, sub)) continue;
    const params = paramsOf(state, sub);
    if (params === null) continue;
    if (!takeOps(state, 2)) return;
    sub.askedAtMs = nowMs;
    send(state, "unsubscribe", { subs: [sub.key] }, 0, [], nowMs, effects);
    send(state, "subscribe", subscribeBody(params), 0, [], nowMs, effects);
  }
}

function sendResumes(state: StreamState, nowMs: number, effects: Effect[]): void {
  const due = [...state.subs.values()].filter(
    (sub) => sub.recovery === "resume" && sub.askedAtMs === null && !isHeldBack(state, sub),
  );
  const batches = [
    ...batchesOf(
      due.filter((sub) => !isPrivate(sub)),
      RESUME_BATCH,
    ),
    ...batchesOf(due.filter(isPrivate), PRIVATE_RESUME_BATCH),
  ];
  for (const batch of batches) {
    if (!takeOps(state, 1)) return;
    for (const sub of batch) sub.askedAtMs = nowMs;
    const subs = batch.map((sub) => ({ sub: sub.key, epoch: sub.epoch, seq: sub.seq, ...proofOf(state, sub) }));
    send(
      state,
      "resume",
      { subs },
      0,
      batch.map((sub) => sub.key),
      nowMs,
      effects,
    );
  }
}

function batchesOf(subs: readonly Subscription[], size: number): Subscription[][] {
  const batches: Subscription[][] = [];
  for (let from = 0; from < subs.length; from += size) batches.push(subs.slice(from, from + size));
  return batches;
}

/** Returns what a private key needs to be opened again; nothing for other keys. */
function proofOf(state: StreamState, sub: Subscription): Pick<SubscribeParams, "exchanges" | "credentials"> {
  if (!isPrivate(sub)) return {};
  const { exchanges, credentials } = paramsOf(state, sub) ?? {};
  return {
    ...(exchanges === undefined ? {} : { exchanges }),
    ...(credentials === undefined ? {} : { credentials }),
  };
}

/** Returns the parameters of just this subscription. */
function paramsOf(state: StreamState, sub: Subscription): SubscribeParams | null {
  for (const id of sub.requestIds) {
    const params = state.requests.get(id)?.params;
    if (params === undefined) continue;
    // The key's own symbol: the others of the request stay as they are.
    const symbol = symbolOf(sub);
    return symbol === "" || params.symbols === undefined ? params : { ...params, symbols: [symbol] };
  }
  return null;
}

/** Before the first snapshot names the symbol, the key does: `topic:symbol:…`. Returns "" if neither does. */
function symbolOf({ key, symbol }: Subscription): string {
  return symbol === "" ? (key.split(":", 2)[1] ?? "") : symbol;
}

function subscribeBody(params: SubscribeParams): Record<string, unknown> {
  const body: Record<string, unknown> = { topic: params.topic };
  for (const name of [
    "symbols",
    "walletAddress",
    "walletIdOrAddress",
    "exchanges",
    "credentials",
    "intervalMs",
    "depth",
  ] as const)
    if (params[name] !== undefined) body[name] = params[name];
  return body;
}

function takeOps(state: StreamState, count: number): boolean {
  if (state.link.opBudget < count) return false;
  state.link.opBudget -= count;
  return true;
}

/** The proof of the key that the connection begins with. */
export function sendClaim(state: StreamState, claim: object, effects: Effect[]): void {
  const { link } = state;
  link.auth = "sent";
  link.opBudget--;
  link.authOpId = String(link.nextOpId++);
  effects.push({ kind: "send", text: JSON.stringify({ op: "auth", id: link.authOpId, ...claim }) });
}

function send(
  state: StreamState,
  kind: PendingOp["kind"],
  body: Readonly<Record<string, unknown>>,
  requestId: number,
  keys: readonly string[],
  nowMs: number,
  effects: Effect[],
): void {
  const id = String(state.link.nextOpId++);
  // An unanswered unsubscribe does no harm.
  if (kind !== "unsubscribe") state.pending.set(id, { kind, requestId, keys, sentAtMs: nowMs });
  effects.push({ kind: "send", text: JSON.stringify({ op: kind, id, ...body }) });
}

/** The same subscriptions give the same text: order and repetition of symbols and exchanges do not matter. */
function canonicalOf(params: SubscribeParams): string {
  const sorted = (names: readonly string[] | undefined) => (names === undefined ? null : [...new Set(names)].sort());
  return JSON.stringify([
    params.topic,
    sorted(params.symbols),
    sorted(params.exchanges),
    params.intervalMs ?? null,
    params.depth ?? null,
    params.walletAddress ?? null,
    params.credentials ?? null,
  ]);
}

/** The connection is gone, so every subscription is out of date at once. */
export function markAllStale(state: StreamState, effects: Effect[]): void {
  for (const sub of state.subs.values()) markStale(sub, "disconnected", effects);
}
