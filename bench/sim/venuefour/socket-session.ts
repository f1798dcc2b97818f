/**
 * Client messages of one connection, fact sheet section 7. The echo is the only sign of a subscription's success: a
 * symbol that the venue does not know gets no answer at all.
 */
import type { FaultInjector } from "../core/server/faults.js";
import type { SimSocket } from "../core/server/server-types.js";
import { ACCOUNT_CHANNELS, type AccountStreams, type AccountSubscription } from "./account/account-streams.js";
import { fromBase58 } from "./wire/base58.js";
import type { VenuefourContext } from "./orders/context.js";
import type { MarketStreams } from "./market/market-streams.js";
import type { SocketTrading } from "./orders/socket-trading.js";
import { readSubscription } from "./market/subscriptions.js";

interface SocketState {
  lastClientMs: number;
  readonly openedMs: number;
}

export interface SessionDeps {
  readonly context: VenuefourContext;
  readonly streams: MarketStreams;
  readonly accounts: AccountStreams;
  readonly trading: SocketTrading;
  readonly faults: FaultInjector;
  /** The machine's time: a skewed venue clock must not end connections. */
  nowMs(): number;
}

const TRY_AGAIN_LATER = 1013;
const INVALID_REQUEST = 400;

export class Sessions {
  readonly #deps: SessionDeps;
  readonly #sockets = new Map<SimSocket, SocketState>();

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  open(socket: SimSocket): void {
    const { remoteAddress } = socket;
    const openCount = [...this.#sockets.keys()].filter((other) => other.remoteAddress === remoteAddress).length;
    if (openCount >= this.#deps.context.limits.connections) {
      socket.close(TRY_AGAIN_LATER, "");
      return;
    }
    this.#sockets.set(socket, { lastClientMs: this.#deps.nowMs(), openedMs: this.#deps.nowMs() });
  }

  onPing(socket: SimSocket): void {
    const state = this.#sockets.get(socket);
    if (state !== undefined && this.#deps.context.quirks.pingFramesCount) state.lastClientMs = this.#deps.nowMs();
  }

  message(socket: SimSocket, text: string): void {
    const state = this.#sockets.get(socket);
    if (state === undefined) return;
    state.lastClientMs = this.#deps.nowMs();
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      this.#refuse(socket, "Invalid JSON", undefined);
      return;
    }
    const fields = (typeof message === "object" && message !== null ? message : {}) as Record<string, unknown>;
    const { method, params, id } = fields;
    if (method === "ping") socket.reply('{"channel":"pong"}');
    else if (method === "subscribe") this.#subscribe(socket, params);
    else if (method === "unsubscribe") this.#unsubscribe(socket, params);
    // A config key would come with the upgrade, whose headers end at the shell: connections count by address here.
    else if (method !== undefined || !this.#deps.trading.take(socket, fields, undefined))
      this.#refuse(socket, "Invalid request", id);
  }

  close(socket: SimSocket): void {
    this.#deps.streams.drop(socket);
    this.#deps.accounts.drop(socket);
    this.#sockets.delete(socket);
  }

  /** Closes connections that were silent too long or are a day old. */
  sweep(): void {
    const nowMs = this.#deps.nowMs();
    const { clientSilenceMs, socketLifeMs } = this.#deps.context.cadences;
    for (const [socket, state] of [...this.#sockets]) {
      if (nowMs - state.lastClientMs >= clientSilenceMs || nowMs - state.openedMs >= socketLifeMs)
        socket.close(1000, "");
    }
  }

  #subscribe(socket: SimSocket, params: unknown): void {
    const { context, streams, faults } = this.#deps;
    const own = accountSubscription(params, context);
    if (own === "unanswered") return;
    if (own !== null) {
      this.#subscribeAccount(socket, own, params);
      return;
    }
    const reading = readSubscription(params, context);
    if (reading === "unanswered") return;
    if (reading === "invalid") {
      this.#refuse(socket, "Invalid subscription", undefined);
      return;
    }
    const { topic, source } = reading;
    const ofChannel = [...streams.board.of(socket)].filter((other) => other.split(":")[0] === source);
    // The venue's answer to one subscription too many is not known; no answer is the worst case for a client.
    if (!ofChannel.includes(topic) && ofChannel.length >= context.limits.subscriptionsPerChannel) return;
    if (faults.onSubscribe(topic)) return;
    if (!streams.board.has(socket, topic)) streams.add(socket, reading);
    socket.reply(JSON.stringify({ channel: "subscribe", data: params }));
    streams.sendFirst(socket, reading);
  }

  #subscribeAccount(socket: SimSocket, subscription: AccountSubscription, params: unknown): void {
    const { context, accounts, faults } = this.#deps;
    const { board } = accounts;
    const topic = accounts.topicOf(subscription);
    const ofChannel = [...board.of(socket)].filter((other) => other.startsWith(`${subscription.channel}:`));
    if (!ofChannel.includes(topic) && ofChannel.length >= context.limits.subscriptionsPerChannel) return;
    if (faults.onSubscribe(topic)) return;
    // A new listener gets only what happens from now on.
    accounts.flush();
    if (!board.has(socket, topic)) board.add(socket, topic);
    socket.reply(JSON.stringify({ channel: "subscribe", data: params }));
    accounts.sendFirst(socket, subscription);
  }

  #unsubscribe(socket: SimSocket, params: unknown): void {
    const own = accountSubscription(params, this.#deps.context);
    if (own === "unanswered") return;
    if (own !== null) {
      this.#deps.accounts.board.remove(socket, this.#deps.accounts.topicOf(own));
      socket.reply(JSON.stringify({ channel: "unsubscribe", data: params }));
      return;
    }
    const reading = readSubscription(params, this.#deps.context);
    if (reading === "unanswered") return;
    if (reading === "invalid") {
      this.#refuse(socket, "Invalid subscription", undefined);
      return;
    }
    this.#deps.streams.remove(socket, reading.topic);
    socket.reply(JSON.stringify({ channel: "unsubscribe", data: params }));
  }

  /** `id` is missing when the request had none that could be read. */
  #refuse(socket: SimSocket, err: string, id: unknown): void {
    const t = this.#deps.context.exchange.nowMs();
    socket.reply(JSON.stringify({ code: INVALID_REQUEST, err, ...(typeof id === "string" ? { id } : {}), t }));
  }
}

/** Returns null for no private channel. An account that is no address gets no answer, like an unknown symbol. */
function accountSubscription(params: unknown, context: VenuefourContext): AccountSubscription | "unanswered" | null {
  if (typeof params !== "object" || params === null) return null;
  const { source, account } = params as Record<string, unknown>;
  const channel = ACCOUNT_CHANNELS.find((name) => name === source);
  if (channel === undefined) return null;
  if (typeof account !== "string" || fromBase58(account, 32) === null) return "unanswered";
  return { channel, wallet: account, accountId: context.keys.accountIdOf(account) };
}
