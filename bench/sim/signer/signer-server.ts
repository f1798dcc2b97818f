/**
 * A local signer over real HTTP on the loopback, for tests and drills: plain keys, so it is nobody's custody. It holds
 * every request against the contract that it is given, and breaks on demand: lost calls and replies, hanging, refused and
 * garbled ones, two answers to one call.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type ContractDocument, SignerContract } from "./signer-contract.js";
import { type Reply, SignerModel } from "./signer-model.js";

/** Of one call. `handled`: the signer did what was asked before it went wrong. */
export type CallFault =
  | { readonly kind: "none" }
  | { readonly kind: "cut"; readonly handled: boolean }
  | { readonly kind: "hang"; readonly handled: boolean }
  | { readonly kind: "status"; readonly status: number; readonly retryAfter?: string; readonly handled?: boolean }
  | { readonly kind: "text"; readonly text: string; readonly status?: number }
  | { readonly kind: "redirect"; readonly to: string }
  | { readonly kind: "twice" };

export interface SignerCall {
  readonly method: string;
  readonly path: string;
  /** Of the request; "" for `/health`. */
  readonly requestId: string;
  readonly bodyText: string;
}

export interface LocalSignerOptions {
  readonly contract: ContractDocument;
  readonly token: string;
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** Path before those of the contract, such as `/v1`. */
  readonly root?: string;
}

interface Outcome {
  readonly status: number;
  readonly body: Reply;
}

const ENDED = 200;
const OPEN = 202;

export class LocalSigner {
  readonly model = new SignerModel();
  readonly calls: SignerCall[] = [];
  /** What clients and this signer did against the contract. */
  readonly problems: string[] = [];
  fault: (call: SignerCall) => CallFault = () => ({ kind: "none" });
  token: string;
  readonly #contract: SignerContract;
  readonly #root: string;
  readonly #scheme: "http" | "https";
  readonly #server: ReturnType<typeof createServer>;
  #port = 0;

  private constructor({ contract, token, tls, root = "" }: LocalSignerOptions) {
    this.token = token;
    this.#root = root;
    this.#contract = new SignerContract(contract);
    this.#scheme = tls === undefined ? "http" : "https";
    const answer = (request: IncomingMessage, response: ServerResponse) => void this.#received(request, response);
    this.#server = tls === undefined ? createServer(answer) : createTlsServer({ ...tls }, answer);
  }

  static async start(options: LocalSignerOptions): Promise<LocalSigner> {
    const signer = new LocalSigner(options);
    await signer.listen();
    return signer;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.#port}${this.#root}`;
  }

  /** On the port that it had before. */
  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#port, "127.0.0.1", () => resolve());
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** As a machine that is switched off: open connections are cut. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #received(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The caller left in the middle of its body: nothing was asked.
      return;
    }
    const bodyText = Buffer.concat(chunks).toString("utf8");
    const path = (request.url ?? "").slice(this.#root.length);
    const requestId = String(request.headers["idempotency-key"] ?? /^\/requests\/(.*)$/.exec(path)?.[1] ?? "");
    const call = { method: request.method ?? "", path, requestId, bodyText };
    this.calls.push(call);
    if (request.headers.authorization !== `Bearer ${this.token}`) {
      send(response, 401, { error: "no such token" });
      return;
    }
    const fault = this.fault(call);
    const isHandled = fault.kind === "none" || fault.kind === "twice" || ("handled" in fault && fault.handled === true);
    const outcome = isHandled ? this.#handle(call, request) : { status: 503, body: { error: "out of order" } };
    answerWith(response, fault, outcome);
  }

  #handle(call: SignerCall, request: IncomingMessage): Outcome {
    const { method, path, requestId, bodyText } = call;
    const template = path.startsWith("/requests/") ? "/requests/{requestId}" : path;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join() : value]),
    );
    const body = bodyText === "" ? undefined : jsonOf(bodyText);
    const wrong = this.#contract.requestProblems(template, method, { headers, pathValue: requestId, body });
    this.problems.push(...wrong);
    const outcome = wrong.length > 0 ? { status: 400, body: { error: wrong.join() } } : this.#answered(call);
    const isHonest = this.model.signatureLie === "none" && this.model.walletLie === "none";
    if (isHonest) this.problems.push(...this.#contract.replyProblems(template, method, outcome.status, outcome.body));
    return outcome;
  }

  #answered({ method, path, requestId, bodyText }: SignerCall): Outcome {
    if (path === "/health") return { status: ENDED, body: { status: "ok" } };
    if (method === "GET") {
      const reply = this.model.look(requestId);
      return reply === null
        ? { status: 404, body: { code: "REQUEST_UNKNOWN", requestId } }
        : { status: ENDED, body: reply };
    }
    const reply = this.model.begin(path === "/wallets" ? "wallet" : "signature", requestId, bodyText);
    if (reply === "conflict") return { status: 409, body: { error: "another body" } };
    if (reply === "invalid") return { status: 422, body: { error: "no such wallet" } };
    const isOpen = reply["state"] === "PENDING" || reply["state"] === "AWAITING_APPROVAL";
    return { status: isOpen ? OPEN : ENDED, body: reply };
  }
}

function answerWith(response: ServerResponse, fault: CallFault, { status, body }: Outcome): void {
  switch (fault.kind) {
    case "none":
      send(response, status, body);
      return;
    case "cut":
      response.socket?.destroy();
      return;
    case "hang":
      return;
    case "status":
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      send(response, fault.status, { error: "out of order" });
      return;
    case "text":
      response.writeHead(fault.status ?? ENDED, { "content-type": "application/json" }).end(fault.text);
      return;
    case "redirect":
      response.writeHead(307, { location: fault.to }).end();
      return;
    case "twice": {
      const text = JSON.stringify(body);
      const head = `HTTP/1.1 ${status} OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n`;
      response.socket?.write(`${head}${text}${head}${text}`);
    }
  }
}

function send(response: ServerResponse, status: number, body: Reply): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The contract says what is wrong with it.
    return text;
  }
}
