/**
 * A proxy before a local venue or chain that stops a request at a point that a test names: before it is passed on, or
 * behind it, where its reply waits. So a test knows what has happened on both sides while it acts on one of them.
 *
 * Invariant: what a rule does not fit passes as it came. What is parked is passed on by `release` alone.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { type Hex, keccak256, parseTransaction, recoverTransactionAddress, type TransactionSerialized } from "viem";
import { Agent, request as undiciRequest } from "undici";
import { within } from "./system.js";

/** A transaction that is handed to a chain. Addresses and hashes are lower case. */
interface SentTransaction {
  readonly from: string;
  readonly nonce: number;
  readonly hash: string;
}

export interface SeenRequest {
  /** `POST /exchange`. */
  readonly route: string;
  /** Target and body, lower case: a wallet's address is in it where the request names one. */
  readonly text: string;
  /** Of JSON-RPC; "" elsewhere. */
  readonly method: string;
  readonly transaction: SentTransaction | null;
}

export interface PassedReply {
  readonly status: number;
  readonly body: string;
}

/**
 * hold: parked, and not passed on. reply: passed on, its reply parked. lost: passed on, and the connection cut in place of a
 * reply. away: cut, and not passed on. answer: as the rule says, and not passed on unless the rule asks what it says.
 */
type ProxyRule =
  | { readonly kind: "hold" | "reply" | "lost" | "away" }
  | { readonly kind: "answer"; readonly answer: AnswerOf };

/** `real`: passes the request on. */
type AnswerOf = (real: () => Promise<PassedReply>, seen: SeenRequest) => PassedReply | Promise<PassedReply>;

export interface Hold {
  /**
   * Resolves with the first request that fits: with `reply` and `lost` once the other side has answered. Rejects where none
   * comes for as long as `within` waits.
   */
  readonly arrived: Promise<SeenRequest>;
  /** How many have fitted so far. */
  readonly count: number;
  /** Passes on what is parked, and what comes from now on. */
  release(): void;
  /** Cuts what is parked, and passes on what comes from now on. */
  drop(): void;
}

interface Rule {
  readonly fits: (seen: SeenRequest) => boolean;
  readonly rule: ProxyRule;
  readonly parked: Set<(isPassed: boolean) => void>;
  readonly arrive: (seen: SeenRequest) => void;
  count: number;
}

const LOOPBACK = "127.0.0.1";
/** The connection is ours to keep. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
]);

export class HoldingProxy {
  readonly url: string;
  readonly #target: string;
  readonly #server: Server;
  readonly #agent = new Agent({ connections: 64 });
  readonly #rules = new Set<Rule>();
  readonly #watchers = new Set<(seen: SeenRequest) => void>();

  private constructor(server: Server, target: string) {
    this.#server = server;
    this.#target = target;
    this.url = `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`;
  }

  static async start(target: string): Promise<HoldingProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
    const proxy = new HoldingProxy(server, target);
    server.on("request", (request, response) => {
      // A sender that was killed, or a target that was stopped: nobody waits for the reply.
      proxy.#serve(request, response).catch(() => response.destroy());
    });
    return proxy;
  }

  /** The newest rule that fits a request decides. */
  add(rule: ProxyRule, fits: (seen: SeenRequest) => boolean): Hold {
    let arrive: (seen: SeenRequest) => void = () => {};
    const arrived = new Promise<SeenRequest>((resolve) => {
      arrive = resolve;
    });
    const made: Rule = { fits, rule, parked: new Set(), arrive, count: 0 };
    this.#rules.add(made);
    const end = (isPassed: boolean) => {
      this.#rules.delete(made);
      for (const go of made.parked) go(isPassed);
      made.parked.clear();
    };
    return {
      get arrived() {
        return within(`a request for the rule "${rule.kind}"`, arrived);
      },
      get count() {
        return made.count;
      },
      release: () => end(true),
      drop: () => end(false),
    };
  }

  /** Called with every request, before a rule decides. Call the result to end it. */
  watch(see: (seen: SeenRequest) => void): () => void {
    this.#watchers.add(see);
    return () => void this.#watchers.delete(see);
  }

  /** Ends all rules. What is parked is cut. */
  clear(): void {
    for (const { parked } of this.#rules) for (const go of parked) go(false);
    this.#rules.clear();
  }

  async stop(): Promise<void> {
    this.clear();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#agent.destroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const seen = await seenOf(request, body);
    for (const see of this.#watchers) see(seen);
    const rule = [...this.#rules].reverse().find(({ fits }) => fits(seen)) ?? null;
    if (rule === null) return void answer(response, await this.#pass(request, body));
    rule.count += 1;
    switch (rule.rule.kind) {
      case "hold": {
        const isPassed = await park(rule, seen);
        if (!isPassed) return void response.destroy();
        return void answer(response, await this.#pass(request, body));
      }
      case "reply": {
        const reply = await this.#pass(request, body);
        const isPassed = await park(rule, seen);
        return void (isPassed ? answer(response, reply) : response.destroy());
      }
      case "lost":
        await this.#pass(request, body);
        rule.arrive(seen);
        return void response.destroy();
      case "away":
        rule.arrive(seen);
        return void response.destroy();
      case "answer": {
        const reply = await rule.rule.answer(async () => {
          const { status, text } = await this.#pass(request, body);
          return { status, body: text };
        }, seen);
        rule.arrive(seen);
        return void answer(response, { status: reply.status, text: reply.body, headers: JSON_TYPE });
      }
    }
  }

  async #pass({ method = "GET", url = "/", headers }: IncomingMessage, body: string): Promise<Passed> {
    const passed = await undiciRequest(`${this.#target}${url}`, {
      method: method as "GET" | "POST",
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_HEADERS.has(name))),
      dispatcher: this.#agent,
      ...(body === "" ? {} : { body }),
    });
    return { status: passed.statusCode, headers: passed.headers, text: await passed.body.text() };
  }
}

interface Passed {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const JSON_TYPE = { "content-type": "application/json" };

function park(rule: Rule, seen: SeenRequest): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    rule.parked.add(resolve);
    rule.arrive(seen);
  });
}

function answer(response: ServerResponse, { status, headers, text }: Passed): void {
  const kept = Object.entries(headers).filter(([name]) => !HOP_HEADERS.has(name));
  response.writeHead(status, Object.fromEntries(kept) as Record<string, string>);
  response.end(text);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function seenOf({ method = "GET", url = "/" }: IncomingMessage, body: string): Promise<SeenRequest> {
  const call = rpcCallOf(body);
  const raw = call?.method === "eth_sendRawTransaction" ? (call.params[0] as TransactionSerialized) : null;
  return {
    route: `${method} ${url.split("?")[0] ?? ""}`,
    text: `${decodeURIComponent(url)}\n${body}`.toLowerCase(),
    method: call?.method ?? "",
    transaction: raw === null ? null : await sentTransaction(raw),
  };
}

function rpcCallOf(body: string): { readonly method: string; readonly params: readonly unknown[] } | null {
  if (!body.includes('"jsonrpc"')) return null;
  return JSON.parse(body) as { method: string; params: readonly unknown[] };
}

async function sentTransaction(raw: TransactionSerialized): Promise<SentTransaction> {
  const from = await recoverTransactionAddress({ serializedTransaction: raw as Hex & TransactionSerialized });
  return { from: from.toLowerCase(), nonce: parseTransaction(raw).nonce ?? 0, hash: keccak256(raw) };
}
