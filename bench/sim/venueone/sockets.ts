/**
 * Sessions of `/ws`: control frames, session limits, idle close, and `post` requests. Invariant: every refusal is one
 * text frame and leaves the socket open, except the subscriptions that the venue answers by dropping the connection.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { SimSocket } from "../core/server-types.js";
import { createMinuteBudget } from "./budgets.js";
import type { InfoContext } from "./info-query.js";
import type { Journal } from "./journal.js";
import { type JsonNode, readJson } from "./json.js";
import type { RequestHandler, RequestOutcome } from "./requests.js";
import { decodeOrNull, mismatch, readOneOf, readStruct, readUint } from "./shape.js";
import { createSocketStreams, type SocketStreams } from "./streams.js";
import { readSubscription, type Subscription } from "./subscriptions.js";
import { SOCKET } from "./texts.js";

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

export interface Sessions {
  open(socket: SimSocket): void;
  message(socket: SimSocket, text: string): void;
  close(socket: SimSocket): void;
  readonly count: number;
  stop(): void;
}

export function createSessions(context: InfoContext, journal: Journal, handler: RequestHandler): Sessions {
  const { venue } = context;
  const { exchange, limits, cadences } = venue;
  const { clock } = exchange;
  const sessions = new Map<SimSocket, Session>();
  const messages = createMinuteBudget(limits.messagesPerMinute);
  /** Per IP: users released lately, by the time they stop counting. */
  const released = new Map<string, Map<string, number>>();

  const unlisten = exchange.addListener({
    onTrade(trade) {
      for (const { streams } of sessions.values()) streams.onTrade(trade);
    },
  });
  journal.addReader((commit) => {
    for (const { streams } of sessions.values()) streams.onCommit(commit);
  });
  const unledger = venue.onLedgerRow((account, row) => {
    for (const { streams } of sessions.values()) streams.onLedgerRow(account.address, row);
  });

  function ofAddress(remoteAddress: string): Session[] {
    return [...sessions.values()].filter((session) => session.socket.remoteAddress === remoteAddress);
  }

  function reply(session: Session, frame: unknown): void {
    session.lastSentMs = clock.wallMs();
    session.socket.reply(JSON.stringify(frame));
  }

  /** The venue closes what it has not spoken to for a minute; a ping makes it speak. */
  function watchIdle(session: Session): void {
    const dueMs = session.lastSentMs + cadences.idleCloseMs - clock.wallMs();
    session.idleTimer = clock.setTimer(() => {
      if (clock.wallMs() - session.lastSentMs >= cadences.idleCloseMs) session.socket.terminate();
      else watchIdle(session);
    }, dueMs);
  }

  /* ---------------------------------------------------------------- subscriptions */

  function releaseUsers(session: Session, before: ReadonlySet<string>): void {
    const { remoteAddress } = session.socket;
    const lately = released.get(remoteAddress) ?? new Map<string, number>();
    for (const user of before) if (!session.streams.users.has(user)) lately.set(user, clock.wallMs() + USER_RELEASE_MS);
    for (const [user, untilMs] of lately) if (untilMs <= clock.wallMs()) lately.delete(user);
    released.set(remoteAddress, lately);
  }

  function usersOf(remoteAddress: string): Set<string> {
    const users = new Set<string>();
    for (const session of ofAddress(remoteAddress)) for (const user of session.streams.users) users.add(user);
    for (const [user, untilMs] of released.get(remoteAddress) ?? []) if (untilMs > clock.wallMs()) users.add(user);
    return users;
  }

  function exceedsLimits(session: Session, subscription: Subscription): string | null {
    const { remoteAddress } = session.socket;
    const total = ofAddress(remoteAddress).reduce((sum, other) => sum + other.streams.count, 0);
    if (total >= limits.subscriptions) return SOCKET.tooManySubscriptions;
    if (subscription.user === null) return null;
    const users = usersOf(remoteAddress);
    return !users.has(subscription.user) && users.size >= limits.users ? SOCKET.tooManyUsers : null;
  }

  /** The text that refuses the request, or null. */
  function change(session: Session, method: "subscribe" | "unsubscribe", node: JsonNode, frame: string): string | null {
    const reading = readSubscription(node, venue.universe);
    if (reading.kind === "unparsable") return SOCKET.unparsable(frame);
    if (reading.kind === "invalid") return SOCKET.invalidSubscription(reading.json);
    if (reading.kind === "kills") {
      session.socket.terminate();
      return null;
    }
    const { subscription } = reading;
    const { streams } = session;
    const json = JSON.stringify(subscription.echo);
    const acknowledgement = { channel: "subscriptionResponse", data: { method, subscription: subscription.echo } };
    if (method === "unsubscribe") {
      if (!streams.has(subscription.key)) return SOCKET.alreadyUnsubscribed(json);
      const before = streams.users;
      streams.remove(subscription.key);
      releaseUsers(session, before);
      reply(session, acknowledgement);
      return null;
    }
    if (streams.has(subscription.key)) return SOCKET.alreadySubscribed(json);
    const refusal = exceedsLimits(session, subscription);
    if (refusal !== null) return refusal;
    streams.add(subscription);
    reply(session, acknowledgement);
    streams.sendFirst(subscription);
    return null;
  }

  /* ---------------------------------------------------------------- post */

  function post(session: Session, request: Extract<Request, { method: "post" }>): string | null {
    if (session.pendingPosts >= limits.pendingPosts) return SOCKET.tooManyPosts(request.id);
    session.pendingPosts++;
    // Posts that arrive together are in flight together: the slot is free again on the next turn of the clock.
    clock.setTimer(() => {
      session.pendingPosts--;
    }, 0);
    const { remoteAddress } = session.socket;
    const { type, payload, id } = request;
    const outcome = type === "info" ? handler.info(payload, remoteAddress) : handler.exchange(payload, remoteAddress);
    reply(session, { channel: "post", data: { id, response: postResponse(type, outcome) } });
    return null;
  }

  function answer(session: Session, text: string): string | null {
    if (!messages.trySpend(session.socket.remoteAddress, 1, clock.wallMs())) return SOCKET.tooManyMessages;
    const request = readRequest(text);
    if (request === null) return SOCKET.unparsable(text);
    if (request.method === "post") return post(session, request);
    if (request.method !== "ping") return change(session, request.method, request.subscription, text);
    reply(session, { channel: "pong" });
    return null;
  }

  return {
    open(socket) {
      if (ofAddress(socket.remoteAddress).length >= limits.connections) {
        socket.terminate();
        return;
      }
      const streams = createSocketStreams({
        context,
        socket,
        onSend: () => {
          session.lastSentMs = clock.wallMs();
        },
      });
      const session: Session = { socket, streams, lastSentMs: clock.wallMs(), pendingPosts: 0, idleTimer: null };
      sessions.set(socket, session);
      watchIdle(session);
    },
    message(socket, text) {
      const session = sessions.get(socket);
      const refusal = session === undefined ? null : answer(session, text);
      if (session !== undefined && refusal !== null) reply(session, { channel: "error", data: refusal });
    },
    close(socket) {
      const session = sessions.get(socket);
      if (session === undefined) return;
      const before = session.streams.users;
      session.streams.stop();
      if (session.idleTimer !== null) clock.clearTimer(session.idleTimer);
      sessions.delete(socket);
      releaseUsers(session, before);
    },
    get count() {
      return sessions.size;
    },
    stop() {
      unlisten();
      unledger();
      for (const session of sessions.values()) {
        session.streams.stop();
        if (session.idleTimer !== null) clock.clearTimer(session.idleTimer);
      }
      sessions.clear();
    },
  };
}

/** Null for everything the venue quotes back as unparsable. */
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
