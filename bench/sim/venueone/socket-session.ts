/**
 * Sessions of `/ws`: control frames, session limits, idle close, and `post` requests. Invariant: every refusal is one
 * text frame on a socket that stays open, except for subscriptions that the venue answers by dropping the connection.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { SimSocket } from "../core/server/server-types.js";
import { MinuteBudget } from "./records/budgets.js";
import type { InfoContext } from "./account/info-account.js";
import type { Journal } from "./orders/journal.js";
import { type JsonNode, readJson } from "./wire/json.js";
import type { RequestHandler, RequestOutcome } from "./router.js";
import { decodeOrNull, mismatch, readOneOf, readStruct, readUint } from "./wire/shape.js";
import { SocketStreams } from "./streams.js";
import { readSubscription, type Subscription } from "./market/subscriptions.js";
import { SOCKET } from "./wire/texts.js";

/** A user that nobody watches any more still counts for this long. */
const USER_RELEASE_MS = 2_000;
const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: "Bad Request",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  500: "Internal Server Error",
};

interface Session {
  readonly socket: SimSocket;
  readonly streams: SocketStreams;
  lastSentMs: number;
  pendingPosts: number;
  idleTimer: TimerHandle | null;
}

type Request =
  | { readonly method: "subscribe" | "unsubscribe"; readonly subscription: JsonNode }
  | { readonly method: "ping" }
  | { readonly method: "post"; readonly id: number; readonly type: "info" | "action"; readonly payload: JsonNode };

export class Sessions {
  readonly #context: InfoContext;
  readonly #handler: RequestHandler;
  readonly #clock: Clock;
  readonly #messages: MinuteBudget;
  readonly #sessions = new Map<SimSocket, Session>();
  readonly #released = new ReleasedUsers();
  readonly #unlisten: readonly (() => void)[];

  constructor(context: InfoContext, journal: Journal, handler: RequestHandler) {
    const { exchange, limits } = context.venue;
    this.#context = context;
    this.#handler = handler;
    this.#clock = exchange.clock;
    this.#messages = new MinuteBudget(limits.messagesPerMinute);
    const each = (act: (streams: SocketStreams) => void): void => {
      for (const { streams } of this.#sessions.values()) act(streams);
    };
    journal.addReader((commit) => each((streams) => streams.onCommit(commit)));
    this.#unlisten = [
      exchange.addListener({ onTrade: (trade) => each((streams) => streams.onTrade(trade)) }),
      context.venue.onLedgerRow((account, row) => each((streams) => streams.onLedgerRow(account.address, row))),
    ];
  }

  get count(): number {
    return this.#sessions.size;
  }

  open(socket: SimSocket): void {
    if (this.#ofAddress(socket.remoteAddress).length >= this.#context.venue.limits.connections) {
      socket.terminate();
      return;
    }
    const onSend = (): void => {
      session.lastSentMs = this.#clock.wallMs();
    };
    const streams = new SocketStreams({ context: this.#context, socket, onSend });
    const session: Session = { socket, streams, lastSentMs: this.#clock.wallMs(), pendingPosts: 0, idleTimer: null };
    this.#sessions.set(socket, session);
    this.#watchIdle(session);
  }

  message(socket: SimSocket, text: string): void {
    const session = this.#sessions.get(socket);
    const refusal = session === undefined ? null : this.#answer(session, text);
    if (session !== undefined && refusal !== null) this.#reply(session, { channel: "error", data: refusal });
  }

  close(socket: SimSocket): void {
    const session = this.#sessions.get(socket);
    if (session === undefined) return;
    const before = session.streams.users;
    endSession(session, this.#clock);
    this.#sessions.delete(socket);
    this.#releaseUsers(session, before);
  }

  stop(): void {
    for (const unlisten of this.#unlisten) unlisten();
    for (const session of this.#sessions.values()) endSession(session, this.#clock);
    this.#sessions.clear();
  }

  #ofAddress(remoteAddress: string): Session[] {
    return [...this.#sessions.values()].filter((session) => session.socket.remoteAddress === remoteAddress);
  }

  #reply(session: Session, frame: unknown): void {
    session.lastSentMs = this.#clock.wallMs();
    session.socket.reply(JSON.stringify(frame));
  }

  /** The venue closes a socket that it has sent nothing for a minute; a ping makes it send a pong. */
  #watchIdle(session: Session): void {
    const { idleCloseMs } = this.#context.venue.cadences;
    const dueMs = session.lastSentMs + idleCloseMs - this.#clock.wallMs();
    session.idleTimer = this.#clock.setTimer(() => {
      if (this.#clock.wallMs() - session.lastSentMs >= idleCloseMs) session.socket.terminate();
      else this.#watchIdle(session);
    }, dueMs);
  }

  /** Returns the text that refuses the request, or null. */
  #answer(session: Session, text: string): string | null {
    if (!this.#messages.trySpend(session.socket.remoteAddress, 1, this.#clock.wallMs())) return SOCKET.tooManyMessages;
    const request = readRequest(text);
    if (request === null) return SOCKET.unparsable(text);
    if (request.method === "post") return this.#post(session, request);
    if (request.method !== "ping") return this.#change(session, request.method, request.subscription, text);
    this.#reply(session, { channel: "pong" });
    return null;
  }

  /* ---------------------------------------------------------------- subscriptions */

  #change(session: Session, method: "subscribe" | "unsubscribe", node: JsonNode, frame: string): string | null {
    const reading = readSubscription(node, this.#context.venue.universe);
    if (reading.kind === "unparsable") return SOCKET.unparsable(frame);
    if (reading.kind === "invalid") return SOCKET.invalidSubscription(reading.json);
    if (reading.kind === "kills") {
      session.socket.terminate();
      return null;
    }
    const { subscription } = reading;
    return method === "subscribe" ? this.#subscribe(session, subscription) : this.#unsubscribe(session, subscription);
  }

  #subscribe(session: Session, subscription: Subscription): string | null {
    const { streams } = session;
    if (streams.has(subscription.key)) return SOCKET.alreadySubscribed(JSON.stringify(subscription.echo));
    const refusal = this.#exceedsLimits(session, subscription);
    if (refusal !== null) return refusal;
    streams.add(subscription);
    this.#reply(session, acknowledgement("subscribe", subscription));
    streams.sendFirst(subscription);
    return null;
  }

  #unsubscribe(session: Session, subscription: Subscription): string | null {
    const { streams } = session;
    if (!streams.has(subscription.key)) return SOCKET.alreadyUnsubscribed(JSON.stringify(subscription.echo));
    const before = streams.users;
    streams.remove(subscription.key);
    this.#releaseUsers(session, before);
    this.#reply(session, acknowledgement("unsubscribe", subscription));
    return null;
  }

  #exceedsLimits(session: Session, subscription: Subscription): string | null {
    const { remoteAddress } = session.socket;
    const { limits } = this.#context.venue;
    const total = this.#ofAddress(remoteAddress).reduce((sum, other) => sum + other.streams.count, 0);
    if (total >= limits.subscriptions) return SOCKET.tooManySubscriptions;
    if (subscription.user === null) return null;
    const users = this.#usersOf(remoteAddress);
    return !users.has(subscription.user) && users.size >= limits.users ? SOCKET.tooManyUsers : null;
  }

  #usersOf(remoteAddress: string): Set<string> {
    const users = this.#ofAddress(remoteAddress).flatMap((session) => [...session.streams.users]);
    return new Set([...users, ...this.#released.of(remoteAddress, this.#clock.wallMs())]);
  }

  #releaseUsers({ socket, streams }: Session, before: ReadonlySet<string>): void {
    const gone = [...before].filter((user) => !streams.users.has(user));
    this.#released.add(socket.remoteAddress, gone, this.#clock.wallMs());
  }

  /* ---------------------------------------------------------------- post */

  #post(session: Session, request: Extract<Request, { method: "post" }>): string | null {
    if (session.pendingPosts >= this.#context.venue.limits.pendingPosts) return SOCKET.tooManyPosts(request.id);
    session.pendingPosts++;
    // Posts that arrive together are in flight together: the slot is free again on the next turn of the clock.
    this.#clock.setTimer(() => {
      session.pendingPosts--;
    }, 0);
    const { remoteAddress } = session.socket;
    const { type, payload, id } = request;
    const handler = this.#handler;
    const outcome = type === "info" ? handler.info(payload, remoteAddress) : handler.exchange(payload, remoteAddress);
    this.#reply(session, { channel: "post", data: { id, response: postResponse(type, outcome) } });
    return null;
  }
}

/** Users that an address watched until recently: they still count. */
class ReleasedUsers {
  /** By address: when each stops counting. */
  readonly #untilMs = new Map<string, Map<string, number>>();

  add(remoteAddress: string, users: readonly string[], nowMs: number): void {
    const lately = this.#untilMs.get(remoteAddress) ?? new Map<string, number>();
    for (const user of users) lately.set(user, nowMs + USER_RELEASE_MS);
    for (const [user, untilMs] of lately) if (untilMs <= nowMs) lately.delete(user);
    this.#untilMs.set(remoteAddress, lately);
  }

  of(remoteAddress: string, nowMs: number): readonly string[] {
    const lately = this.#untilMs.get(remoteAddress) ?? new Map<string, number>();
    return [...lately].filter(([, untilMs]) => untilMs > nowMs).map(([user]) => user);
  }
}

function acknowledgement(method: "subscribe" | "unsubscribe", { echo }: Subscription): unknown {
  return { channel: "subscriptionResponse", data: { method, subscription: echo } };
}

function endSession({ streams, idleTimer }: Session, clock: Clock): void {
  streams.stop();
  if (idleTimer !== null) clock.clearTimer(idleTimer);
}

/** Returns null for everything that the venue quotes back as unparsable. */
function readRequest(text: string): Request | null {
  const reading = readJson(text);
  if (reading === null || reading.after !== "") return null;
  return decodeOrNull((): Request => {
    const frame = readStruct(reading.node, ["method", "subscription", "id", "request"], "ignore");
    const method = readOneOf(frame.required("method"), ["subscribe", "unsubscribe", "ping", "post"]);
    if (method === "ping") return { method };
    if (method !== "post") return { method, subscription: frame.required("subscription") };
    const id = readUint(frame.required("id"));
    const request = readStruct(frame.required("request"), ["type", "payload"], "ignore");
    const type = readOneOf(request.required("type"), ["info", "action"]);
    return { method, id, type, payload: request.optional("payload") ?? mismatch("payload") };
  });
}

function postResponse(type: "info" | "action", outcome: RequestOutcome): unknown {
  if (outcome.status !== 200) {
    const description = typeof outcome.body === "string" ? outcome.body : JSON.stringify(outcome.body);
    return { type: "error", payload: `${outcome.status} ${STATUS_TEXT[outcome.status] ?? ""}: ${description}` };
  }
  if (type === "action") return { type, payload: outcome.body };
  return { type, payload: { type: outcome.infoType ?? "", data: outcome.body } };
}
