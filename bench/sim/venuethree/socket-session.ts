/**
 * Client messages of one connection, fact sheet 9.1 and 9.2. Every refusal is a frame without type or channel; the
 * socket stays open. A second subscription to the same channel is refused and sends no snapshot.
 *
 * Transactions are taken in the order in which they arrive, except those that a fault holds back. They meet the faults
 * of the same call over REST, under a route that names both (`WS jsonapi/sendtx POST /api/v1/sendTx`); their answers
 * are frames of the stream `txAnswer`.
 */
import type { Random } from "../../../engine/domain/random.js";
import { RollingBudget } from "../core/server/rolling-budget.js";
import type { FaultInjector } from "../core/server/faults.js";
import type { RestVerdict } from "../core/server/fault-types.js";
import type { SimSocket } from "../core/server/server-types.js";
import type { AccountStreams } from "./account/account-streams.js";
import type { ApiServer } from "./market/api-server.js";
import {
  type AccountChannel,
  type AccountChannelKind,
  accountKindOf,
  readAccountChannel,
  readChannel,
} from "./market/channels.js";
import { CODE, errorFrame, refuseTransaction, VenuethreeRefusal } from "./wire/errors.js";
import type { VenuethreeContext } from "./orders/context.js";
import { printJson, readJson, type Row } from "./wire/json.js";
import { sendOverSocket } from "./orders/transaction-routes.js";

interface SocketState {
  readonly server: ApiServer;
  lastClientMs: number;
  lastPingMs: number;
}

export interface SessionDeps {
  readonly context: VenuethreeContext;
  readonly faults: FaultInjector;
  readonly random: Random;
  readonly accountStreams: AccountStreams;
  /** The machine's time: a skewed venue clock must not end connections. */
  nowMs(): number;
  /** The server that a new connection meets. */
  nextServer(): ApiServer;
}

type SendType = "jsonapi/sendtx" | "jsonapi/sendtxbatch";

/** A fault on one way of sending is a fault on the other, unless it names the way. */
const SEND_ROUTES: Readonly<Record<SendType, string>> = {
  "jsonapi/sendtx": "WS jsonapi/sendtx POST /api/v1/sendTx",
  "jsonapi/sendtxbatch": "WS jsonapi/sendtxbatch POST /api/v1/sendTxBatch",
};
/** Transactions of one socket overtake each other within this, where the quirk says so. */
const UNORDERED_WITHIN_MS = 20;
const MINUTE_MS = 60_000;
const TRY_AGAIN_LATER = 1013;

export class Sessions {
  readonly #deps: SessionDeps;
  readonly #sockets = new Map<SimSocket, SocketState>();
  readonly #messages = new RollingBudget(MINUTE_MS);
  readonly #opened = new RollingBudget(MINUTE_MS);

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  open(socket: SimSocket): void {
    const { context, nowMs } = this.#deps;
    const { limits } = context;
    const { remoteAddress } = socket;
    const openCount = [...this.#sockets.keys()].filter((other) => other.remoteAddress === remoteAddress).length;
    const isAllowed =
      openCount < limits.connections &&
      this.#opened.trySpend(remoteAddress, 1, limits.newConnectionsPerMinute, nowMs());
    if (!isAllowed) {
      socket.reply(errorFrame(CODE.tooManyConnections, "Too Many Connections!"));
      socket.close(TRY_AGAIN_LATER, "");
      return;
    }
    this.#sockets.set(socket, { server: this.#deps.nextServer(), lastClientMs: nowMs(), lastPingMs: nowMs() });
    socket.reply(JSON.stringify({ session_id: uuid(this.#deps.random), type: "connected" }));
  }

  /** Any frame of the client shows that it lives, a WebSocket ping too. */
  onClientFrame(socket: SimSocket): void {
    const state = this.#sockets.get(socket);
    if (state !== undefined) state.lastClientMs = this.#deps.nowMs();
  }

  message(socket: SimSocket, text: string): void {
    const state = this.#sockets.get(socket);
    if (state === undefined) return;
    this.onClientFrame(socket);
    const message = read(text);
    // Transactions do not count as messages; they have a budget of their own.
    if (message !== null && (message.type === "jsonapi/sendtx" || message.type === "jsonapi/sendtxbatch")) {
      this.#send(socket, message.type, message.data);
      return;
    }
    const { limits } = this.#deps.context;
    if (!this.#messages.trySpend(socket.remoteAddress, 1, limits.messagesPerMinute, this.#deps.nowMs())) {
      socket.reply(errorFrame(CODE.tooManyMessages, "Too Many Websocket Messages!"));
      return;
    }
    const answer =
      message === null ? errorFrame(CODE.invalidJson, "Invalid Json") : this.#answer(socket, state, message);
    if (answer !== null) socket.reply(answer);
  }

  close(socket: SimSocket): void {
    this.#sockets.get(socket)?.server.drop(socket);
    this.#deps.accountStreams.drop(socket);
    this.#sockets.delete(socket);
  }

  /** True while a connection of this server is open. */
  isHeld(server: ApiServer): boolean {
    for (const state of this.#sockets.values()) if (state.server === server) return true;
    return false;
  }

  /** Closes what has been silent too long, and pings where older servers would. */
  sweep(): void {
    const { context } = this.#deps;
    const nowMs = this.#deps.nowMs();
    const { serverPingMs } = context.quirks;
    for (const [socket, state] of [...this.#sockets]) {
      if (nowMs - state.lastClientMs >= context.cadences.clientSilenceMs) socket.close(1000, "");
      else if (serverPingMs > 0 && nowMs - state.lastPingMs >= serverPingMs) {
        state.lastPingMs = nowMs;
        socket.reply('{"type":"ping"}');
      }
    }
  }

  /* ---------------------------------------------------------------- transactions */

  #send(socket: SimSocket, type: SendType, data: unknown): void {
    const { context, random } = this.#deps;
    if (context.quirks.unorderedTransactions)
      context.exchange.clock.setTimer(() => this.#take(socket, type, data), UNORDERED_WITHIN_MS * random.next());
    else this.#take(socket, type, data);
  }

  #take(socket: SimSocket, type: SendType, data: unknown): void {
    const { faults, context } = this.#deps;
    // The verdict object is reused by the injector.
    const verdict = { ...faults.onRequest(SEND_ROUTES[type]) };
    if (verdict.holdMs > 0)
      context.exchange.clock.setTimer(() => this.#judged(socket, type, data, verdict), verdict.holdMs);
    else this.#judged(socket, type, data, verdict);
  }

  #judged(socket: SimSocket, type: SendType, data: unknown, verdict: RestVerdict): void {
    const { context } = this.#deps;
    if (verdict.before === "drop") return;
    let answer: string;
    if (verdict.before === "error") answer = refusal(CODE.serverError, "internal server error", data);
    else if (verdict.before !== "none") answer = refusal(CODE.tooManyRequests, "Too Many Requests!", data);
    else {
      answer = this.#execute(type, data);
      if (verdict.after === "error") answer = refusal(CODE.serverError, "internal server error", data);
    }
    const finish = (): void => {
      if (verdict.after === "cut") socket.terminate();
      else socket.push("user", "txAnswer", answer, false);
    };
    if (verdict.delayMs > 0) context.exchange.clock.setTimer(finish, verdict.delayMs);
    else finish();
  }

  #execute(type: SendType, data: unknown): string {
    const { context, nowMs } = this.#deps;
    try {
      if (!isRow(data)) throw refuseTransaction(21501);
      const sent = sendOverSocket(context, data, type === "jsonapi/sendtxbatch", nowMs());
      return printJson({ code: sent.code, id: idOf(data), ...sent, type });
    } catch (error) {
      if (!(error instanceof VenuethreeRefusal)) throw error;
      // What could not be read is refused without an id (fact sheet 9.2).
      return refusal(error.code, error.message, error.code === 21501 ? null : data);
    }
  }

  /* ---------------------------------------------------------------- subscriptions */

  /** Returns null when there is no answer. */
  #answer(socket: SimSocket, state: SocketState, message: Row): string | null {
    const { type, channel, auth } = message;
    if (type === "ping") return '{"type":"pong"}';
    if (type === "pong") return null;
    if (type !== "subscribe" && type !== "unsubscribe") return errorFrame(CODE.invalidType, "Invalid Type");
    const text = typeof channel === "string" ? channel : String(channel ?? "");
    const token = typeof auth === "string" && auth !== "" ? auth : null;
    const kind = accountKindOf(text);
    return kind === null
      ? this.#change(socket, state, type, text)
      : this.#changeAccount(socket, state, type, kind, text, token);
  }

  #changeAccount(
    socket: SimSocket,
    { server }: SocketState,
    type: "subscribe" | "unsubscribe",
    kind: AccountChannelKind,
    text: string,
    token: string | null,
  ): string | null {
    const { context, accountStreams, faults } = this.#deps;
    const name = text.replaceAll("/", ":");
    if (type === "unsubscribe") return unsubscribed(accountStreams.unsubscribe(socket, name), name);
    if (accountStreams.board.has(socket, name))
      return errorFrame(CODE.alreadySubscribed, `Already Subscribed to : ${name}`);
    const reading = readAccountChannel(kind, text, context.listing, context.accounts);
    const missing = `invalid param : auth field is required: ${name}`;
    // The token is checked before any answer on whether the account exists.
    if (!reading.ok)
      return token === null ? errorFrame(CODE.parameter, missing) : errorFrame(reading.code, reading.message);
    const { channel } = reading;
    if (channel.needsToken && token === null) return errorFrame(CODE.parameter, missing);
    const refused = token === null ? null : this.#judge(token, channel);
    if (refused !== null) return refused;
    const { limits } = context;
    if (server.board.of(socket).size + accountStreams.board.of(socket).size >= limits.subscriptionsPerConnection)
      return errorFrame(CODE.tooManySubscriptions, "Too Many Subscriptions!");
    if (accountStreams.accountCountWith(socket, channel.account) > limits.accountsPerConnection)
      return errorFrame(CODE.tooManyAccounts, "Too Many Different Accounts!");
    if (faults.onSubscribe(channel.name)) return null;
    accountStreams.subscribe(socket, channel);
    return null;
  }

  /** Returns null when the token may read the account, else the frame of the refusal. */
  #judge(token: string, { account }: AccountChannel): string | null {
    try {
      this.#deps.context.tokens.require(token, account.index);
      return null;
    } catch (error) {
      if (!(error instanceof VenuethreeRefusal)) throw error;
      return errorFrame(error.code, error.message);
    }
  }

  #change(socket: SimSocket, { server }: SocketState, type: "subscribe" | "unsubscribe", text: string): string | null {
    const reading = readChannel(text, this.#deps.context.listing);
    if (!reading.ok) return errorFrame(reading.code, reading.message);
    const { channel } = reading;
    if (type === "unsubscribe") return unsubscribed(server.unsubscribe(socket, channel), channel.name);
    if (server.board.has(socket, channel.name))
      return errorFrame(CODE.alreadySubscribed, `Already Subscribed to : ${channel.name}`);
    const { accountStreams, context, faults } = this.#deps;
    const count = server.board.of(socket).size + accountStreams.board.of(socket).size;
    if (count >= context.limits.subscriptionsPerConnection)
      return errorFrame(CODE.tooManySubscriptions, "Too Many Subscriptions!");
    if (faults.onSubscribe(channel.name)) return null;
    server.subscribe(socket, channel);
    return null;
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns null for a text that is not a JSON object. */
function read(text: string): Row | null {
  try {
    const message = readJson(text);
    return isRow(message) ? message : null;
  } catch {
    return null;
  }
}

/** A null id is left out. */
function refusal(code: number, message: string, data: unknown): string {
  const id = isRow(data) ? idOf(data) : undefined;
  return printJson({ error: { code, message }, id });
}

/** Repeated as it came when it is a plain text or number. */
function idOf({ id }: Row): string | number | undefined {
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

function unsubscribed(wasOn: boolean, name: string): string {
  return wasOn
    ? // With the venue's own spaces.
      `{"type": "unsubscribed", "channel": "${name}"}`
    : errorFrame(CODE.notSubscribed, `Not Subscribed to : ${name}`);
}

function uuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random.next() * 16).toString(16));
  hex[12] = "4";
  hex[16] = "89ab"[Math.floor(random.next() * 4)] ?? "8";
  const text = hex.join("");
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}
