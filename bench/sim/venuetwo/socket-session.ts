/** Client messages on a stream connection, fact sheet 6.1: methods, properties, their errors, and the limits of a connection. */
import type { SimSocket } from "../core/server/server-types.js";
import { type SocketState, STREAMS_PER_SOCKET_MAX, stateOf, type Topics } from "./records/topics.js";

export interface SessionDeps {
  readonly topics: Topics;
  nowMs(): number;
  onWanted(name: string): void;
}

const MESSAGES_PER_SECOND_MAX = 10;
const METHODS = ["SUBSCRIBE", "UNSUBSCRIBE", "LIST_SUBSCRIPTIONS", "SET_PROPERTY", "GET_PROPERTY"] as const;
const POLICY_VIOLATION = 1008;
const GOING_AWAY = 1001;
/** Windows of the venue: fact sheet 6.1. */
const PING_EVERY_MS = 5 * 60_000;
const PONG_WITHIN_MS = 15 * 60_000;
/** The parent dialect splits its hosts by path; the same frames lie behind each. */
const HOST_PREFIX = /^\/(?:public|market|private)(?=\/)/;

/** Null accepts; 404 for anything that is not a stream address. */
export function acceptSocket(path: string): number | null {
  const bare = path.replace(HOST_PREFIX, "");
  return /^\/(?:ws|stream)(?:\/[^/]*)*$/.test(bare) ? null : 404;
}

/** Reads the address: `/ws`, `/ws/<name>`, `/stream?streams=a/b`, `/ws?listenKey=…`. */
export function openSession(socket: SimSocket, deps: SessionDeps): void {
  const bare = socket.path.replace(HOST_PREFIX, "");
  const nowMs = deps.nowMs();
  const state: SocketState = {
    names: new Set(),
    combined: bare.startsWith("/stream"),
    lastPongMs: nowMs,
    lastPingMs: nowMs,
    arrivals: [],
  };
  socket.state = state;
  const query = new URLSearchParams(socket.query);
  const names = [...bare.split("/").slice(2), ...(query.get("streams") ?? "").split("/"), query.get("listenKey") ?? ""];
  for (const name of names) if (name !== "") subscribe(socket, decodeURIComponent(name), deps);
}

export function onMessage(socket: SimSocket, text: string, deps: SessionDeps): void {
  const state = stateOf(socket);
  const nowMs = deps.nowMs();
  while ((state.arrivals[0] ?? nowMs) <= nowMs - 1000) state.arrivals.shift();
  state.arrivals.push(nowMs);
  if (state.arrivals.length > MESSAGES_PER_SECOND_MAX) {
    socket.close(POLICY_VIOLATION, "Too many requests");
    return;
  }
  socket.reply(JSON.stringify(answer(socket, text, deps)));
}

/** Pings, and ends connections that are past their lifetime or do not answer a ping. */
export function sweepSessions(sockets: Iterable<SimSocket>, nowMs: number, lifeMs: number): void {
  for (const socket of sockets) {
    const state = stateOf(socket);
    if (nowMs - socket.openedMs >= lifeMs) socket.close(GOING_AWAY, "");
    else if (nowMs - state.lastPongMs > PONG_WITHIN_MS) socket.terminate();
    else if (nowMs - state.lastPingMs >= PING_EVERY_MS) {
      state.lastPingMs = nowMs;
      socket.ping();
    }
  }
}

function answer(socket: SimSocket, text: string, deps: SessionDeps): unknown {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return { code: 3, msg: "Invalid JSON: expected value at line 1 column 1" };
  }
  if (typeof message !== "object" || message === null || Array.isArray(message))
    return invalid("request must be an object");
  const { method, params, id: givenId } = message as Record<string, unknown>;
  // A widespread library sends no id at all and is served.
  const id = givenId ?? null;
  if (id !== null && (typeof id !== "number" || !Number.isInteger(id) || id < 0))
    return invalid("request ID must be an unsigned integer");
  if (typeof method !== "string" || !METHODS.includes(method as (typeof METHODS)[number])) {
    return invalid(
      `unknown variant \`${String(method)}\`, expected one of ${METHODS.map((name) => `\`${name}\``).join(", ")}`,
    );
  }
  if (method === "LIST_SUBSCRIPTIONS") return { result: [...stateOf(socket).names], id };
  if (!Array.isArray(params)) return invalid("missing field `params`");
  return method.endsWith("_PROPERTY")
    ? property(socket, method, params, id)
    : subscriptions(socket, method, params, id, deps);
}

function subscriptions(
  socket: SimSocket,
  method: string,
  params: readonly unknown[],
  id: number | null,
  deps: SessionDeps,
): unknown {
  if (!params.every((name) => typeof name === "string")) return invalid("params must be stream names");
  for (const name of params as readonly string[]) {
    if (method === "UNSUBSCRIBE") deps.topics.unsubscribe(socket, name);
    else if (!subscribe(socket, name, deps))
      return invalid(`too many subscriptions, at most ${STREAMS_PER_SOCKET_MAX}`);
  }
  return { result: null, id };
}

function property(socket: SimSocket, method: string, params: readonly unknown[], id: number | null): unknown {
  if (params[0] !== "combined") return { code: 0, msg: "Unknown property" };
  const state = stateOf(socket);
  if (method === "GET_PROPERTY")
    return params.length === 1 ? { result: state.combined, id } : invalid("too many parameters: expected 1");
  if (params.length !== 2) return invalid("property name and value expected");
  if (typeof params[1] !== "boolean") return { code: 1, msg: "Invalid value type: expected Boolean" };
  state.combined = params[1];
  return { result: null, id };
}

function subscribe(socket: SimSocket, name: string, deps: SessionDeps): boolean {
  const done = deps.topics.subscribe(socket, name);
  if (done) deps.onWanted(name);
  return done;
}

function invalid(text: string): { code: number; msg: string } {
  return { code: 2, msg: `Invalid request: ${text}` };
}
