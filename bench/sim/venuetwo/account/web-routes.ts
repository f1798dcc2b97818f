/**
 * The web gateway, fact sheet 9.1: a wallet logs in and gets a V1 key by signing a text with a nonce. JSON bodies and
 * envelopes of its own, under a path of its own. A nonce is for one wallet and one purpose, and is used once.
 */
import { verifyMessage, type Hex } from "viem";
import type { SimHttpReply, SimHttpRequest } from "../../core/server/server-types.js";
import type { VenuetwoContext } from "../records/context.js";

const PREFIX = "/bapi/futures/v1/public/future/web3/";
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const DESC_CHARS_MAX = 20;
/** Not stated, only that it is short. */
const NONCE_LIFE_MS = 5 * 60_000;
/** Wallets with a nonce at once; the oldest goes. */
const NONCES_MAX = 10_000;

/** The first two are documented; the others are recorded nowhere. */
const REFUSED = {
  noAccount: ["40000005", "Account does not exist."],
  nonce: ["099008", "Nonce expired."],
  signature: ["099007", "Signature is invalid."],
  parameter: ["000002", "Illegal parameter."],
  desc: ["40000012", "API key name already exists."],
  closed: ["40000099", "New API keys are not available."],
} as const;

class WebRefusal extends Error {
  readonly code: string;

  constructor(name: keyof typeof REFUSED) {
    super(REFUSED[name][1]);
    this.code = REFUSED[name][0];
  }
}

const CALLS = ["get-nonce", "ae/login", "broker-create-api-key"] as const;
type WebCall = (typeof CALLS)[number];

/** @testonly What README.md lists. */
export const WEB_ROUTES: readonly string[] = CALLS.map((call) => `/bapi POST ${call}`);

function callOf(path: string): WebCall | null {
  return CALLS.find((call) => path === `${PREFIX}${call}`) ?? null;
}

type Body = Readonly<Record<string, unknown>>;
type Purpose = "LOGIN" | "CREATE_API_KEY";

interface Nonce {
  readonly text: string;
  readonly untilMs: number;
}

export class WebDesk {
  /** Since March 2026 the venue makes no new keys but for some; here it does unless it is told not to. */
  isCreationClosed = false;
  readonly #context: VenuetwoContext;
  readonly #nonces = new Map<string, Nonce>();
  #serial = 100_000;
  readonly #answers: Readonly<Record<WebCall, (body: Body) => unknown>> = {
    "get-nonce": (body) => ({ nonce: this.#newNonce(addressOf(body), purposeOf(body)) }),
    "ae/login": (body) => this.#logIn(body),
    "broker-create-api-key": (body) => this.#createKey(body),
  };

  constructor(context: VenuetwoContext) {
    this.#context = context;
  }

  serves({ method, path }: SimHttpRequest): boolean {
    return method === "POST" && callOf(path) !== null;
  }

  async handle(request: SimHttpRequest): Promise<SimHttpReply> {
    try {
      const call = callOf(request.path);
      if (call === null) throw new WebRefusal("parameter");
      const data = await this.#answers[call](jsonBody(request));
      return envelope({ code: "000000", message: null, messageDetail: null, data, success: true });
    } catch (error) {
      if (!(error instanceof WebRefusal)) throw error;
      const { code, message } = error;
      return envelope({ code, message, messageDetail: null, data: null, success: false });
    }
  }

  #newNonce(account: string, purpose: Purpose): string {
    const text = String(++this.#serial);
    const name = `${account} ${purpose}`;
    this.#nonces.delete(name);
    this.#nonces.set(name, { text, untilMs: this.#context.exchange.nowMs() + NONCE_LIFE_MS });
    const oldest = this.#nonces.size > NONCES_MAX ? this.#nonces.keys().next().value : undefined;
    if (oldest !== undefined) this.#nonces.delete(oldest);
    return text;
  }

  async #logIn(body: Body): Promise<unknown> {
    const account = await this.#signer(body, "LOGIN");
    const { exchange, keys } = this.#context;
    if (!keys.knowsWallet(account)) {
      if (exchange.accounts.find(account) === null) exchange.desk.createAccount({ accountId: account, deposit: "0" });
      keys.register(account, { wallet: account });
    }
    return { token: `local.${account.slice(2)}`, uid: String(++this.#serial) };
  }

  async #createKey(body: Body): Promise<unknown> {
    const { desc, ip, sourceCode } = body;
    const account = await this.#signer(body, "CREATE_API_KEY");
    const { keys, log } = this.#context;
    const accountId = keys.accountOf(account);
    if (accountId === null || sourceCode !== "ae") throw new WebRefusal("noAccount");
    const index = log.received({ action: "createKey", signer: account, accountId });
    const refuse = (name: keyof typeof REFUSED): WebRefusal => {
      const refusal = new WebRefusal(name);
      log.refused(index, refusal.code, refusal.message);
      return refusal;
    };
    if (this.isCreationClosed) throw refuse("closed");
    if (typeof desc !== "string" || desc === "" || desc.length > DESC_CHARS_MAX) throw refuse("parameter");
    if (typeof ip !== "string") throw refuse("parameter");
    const made = keys.issue(accountId, desc);
    if (made === null) throw refuse("desc");
    log.executed(index, null);
    return { apiKey: made.apiKey, apiSecret: made.apiSecret, keyId: ++this.#serial, apiName: desc };
  }

  /** Who signed the text of the nonce that is out for this; the nonce is used up. */
  async #signer(body: Body, purpose: Purpose): Promise<string> {
    const account = addressOf(body);
    const name = `${account} ${purpose}`;
    const nonce = this.#nonces.get(name);
    this.#nonces.delete(name);
    if (nonce === undefined || nonce.untilMs <= this.#context.exchange.nowMs()) throw new WebRefusal("nonce");
    const { signature } = body;
    if (typeof signature !== "string" || !/^0x[0-9a-fA-F]{130}$/.test(signature)) throw new WebRefusal("signature");
    const message = `You are signing into Astherus ${nonce.text}`;
    const isRight = await verifyMessage({ address: account as Hex, message, signature: signature as Hex }).catch(
      () => false,
    );
    if (!isRight) throw new WebRefusal("signature");
    return account;
  }
}

function jsonBody(request: SimHttpRequest): Body {
  try {
    const value = JSON.parse(request.body.toString("utf8")) as unknown;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Body;
  } catch {
    // No JSON: as for any other wrong body.
  }
  throw new WebRefusal("parameter");
}

function addressOf({ sourceAddr }: Body): string {
  if (typeof sourceAddr !== "string" || !ADDRESS.test(sourceAddr)) throw new WebRefusal("parameter");
  return sourceAddr.toLowerCase();
}

function purposeOf({ type }: Body): Purpose {
  if (type !== "LOGIN" && type !== "CREATE_API_KEY") throw new WebRefusal("parameter");
  return type;
}

function envelope(value: unknown): SimHttpReply {
  return { status: 200, body: JSON.stringify(value) };
}
