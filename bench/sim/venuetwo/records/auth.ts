/**
 * Who sent this? V1: HMAC-SHA256 over the raw query plus the raw body without the signature. V3: an EIP-712 message
 * whose text is the sent string, recovered with viem, with which the product signs nothing. A request
 * passes exactly one of the two. A rejected request executes nothing.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { recoverTypedDataAddress, type Hex } from "viem";
import type { SimHttpRequest } from "../../core/server/server-types.js";
import { refuse, refuseMandatory, VenuetwoRefusal } from "../wire/errors.js";
import { isListed } from "./ip-list.js";
import type { KeyRing } from "./keys.js";
import type { Params } from "../wire/params.js";

export interface Caller {
  readonly accountId: string;
  /** API key, or address of the agent. */
  readonly signer: string;
  /** Main wallet of a V3 caller, else null. */
  readonly user: string | null;
  readonly nonce: string | null;
  readonly canTrade: boolean;
  readonly canTransfer: boolean;
  /** By its right, and from where it asks. */
  readonly canWithdraw: boolean;
}

export interface AuthOptions {
  readonly keys: KeyRing;
  nowMs(): number;
  /** Accepted distance of a V3 nonce from venue time, to either side. */
  readonly nonceWindowMs: number;
  /** Chain id of the V3 signing domain: 1666 on the main network. */
  readonly chainId: number;
  /** The parent dialect answers HMAC on /fapi/v3 too. */
  readonly hmacOnV3: boolean;
}

const ALL_RIGHTS = { canTrade: true, canTransfer: true, canWithdraw: true };
const RECV_WINDOW_DEFAULT_MS = 5000;
const RECV_WINDOW_MAX_MS = 60_000;
const AHEAD_MAX_MS = 1000;
const ZERO_ADDRESS = "0x0000000000000000000000000000000000000000";
const MANAGEMENT_CHAIN_ID = 56;

export class Authenticator {
  readonly #options: AuthOptions;

  constructor(options: AuthOptions) {
    this.#options = options;
  }

  /** Header only: listenKey and historicalTrades on V1. */
  byKey(request: SimHttpRequest): Caller {
    const apiKey = request.headers["x-mbx-apikey"];
    if (apiKey === undefined || !/^[A-Za-z0-9]{16,128}$/.test(apiKey)) throw refuse("keyFormat");
    const known = this.#options.keys.apiKey(apiKey);
    if (known === null) throw refuse("keyRejected");
    return { accountId: known.accountId, signer: apiKey, user: null, nonce: null, ...ALL_RIGHTS };
  }

  async signed(request: SimHttpRequest, params: Params): Promise<Caller> {
    // A withdrawal of a V1 key has a `nonce` too: that of the wallet's signature.
    const isNonceOwn = !request.path.endsWith("/user-withdraw") || request.path.includes("/v3/");
    const isV3 = params.has("signer") || params.has("user") || (params.has("nonce") && isNonceOwn);
    if (isV3) return this.#byAgent(request, params);
    if (request.path.startsWith("/fapi/v3/") && !this.#options.hmacOnV3) throw refuseMandatory("nonce");
    return this.#byHmac(request, params);
  }

  #byHmac(request: SimHttpRequest, params: Params): Caller {
    const caller = this.byKey(request);
    const known = this.#options.keys.apiKey(caller.signer);
    if (known === null) throw refuse("keyRejected");
    const timestamp = params.integer("timestamp");
    if (timestamp === null) throw refuseMandatory("timestamp");
    const recvWindow = params.integer("recvWindow") ?? RECV_WINDOW_DEFAULT_MS;
    if (recvWindow < 0 || recvWindow > RECV_WINDOW_MAX_MS)
      throw new VenuetwoRefusal(-1131, `recvWindow must be less than ${RECV_WINDOW_MAX_MS}`);
    const signature = params.required("signature");
    const payload = withoutSignature(request.query) + withoutSignature(request.body.toString("utf8"));
    const expected = createHmac("sha256", known.apiSecret).update(payload, "utf8").digest();
    const given = /^[0-9a-fA-F]{64}$/.test(signature) ? Buffer.from(signature, "hex") : Buffer.alloc(32);
    if (!timingSafeEqual(expected, given)) throw refuse("signature");
    const nowMs = this.#options.nowMs();
    if (timestamp >= nowMs + AHEAD_MAX_MS) throw refuse("ahead");
    if (nowMs - timestamp > recvWindow) throw refuse("recvWindow");
    return caller;
  }

  async #byAgent(request: SimHttpRequest, params: Params): Promise<Caller> {
    const nonceText = params.required("nonce");
    if (!/^\d{1,19}$/.test(nonceText)) throw refuseMandatory("nonce");
    const signature = params.required("signature");
    const raw = signedText(request);
    const signer = await this.#recover(raw, signature, params.text("signer") ?? params.text("user") ?? "");
    const agent = this.#options.keys.agent(signer);
    if (agent === null) throw new VenuetwoRefusal(-1000, "No agent found");
    const user = params.text("user");
    if (user !== null && user.toLowerCase() !== agent.user) throw new VenuetwoRefusal(-1000, "No agent found");
    if (agent.expiresMs <= this.#options.nowMs()) throw new VenuetwoRefusal(-1000, "Agent expired");
    this.checkNonce(signer, nonceText);
    return {
      accountId: agent.accountId,
      signer,
      user: agent.user,
      nonce: nonceText,
      canTrade: agent.canPerpTrade,
      canTransfer: agent.canSpotTrade,
      canWithdraw: agent.canWithdraw && isListed(agent.ipWhitelist, request.remoteAddress),
    };
  }

  /** Window first, then the list of the newest 100. */
  checkNonce(signer: string, nonceText: string): void {
    const nonce = BigInt(nonceText);
    const distanceUs = nonce - BigInt(this.#options.nowMs()) * 1000n;
    const windowUs = BigInt(this.#options.nonceWindowMs) * 1000n;
    if (distanceUs > windowUs || distanceUs < -windowUs) throw refuse("nonceExpired");
    const use = this.#options.keys.useNonce(signer, nonce);
    if (use === "used") throw refuse("nonceDuplicate");
    if (use === "old") throw refuse("nonceExpired");
  }

  /** The sent string is signed; clients that sign before encoding are accepted in that form too. */
  async #recover(raw: string, signature: string, claimed: string): Promise<string> {
    if (!/^(0x)?[0-9a-fA-F]{130}$/.test(signature)) throw refuse("signature");
    const hex = (signature.startsWith("0x") ? signature : `0x${signature}`) as Hex;
    for (const text of new Set([raw, decodeQuietly(raw)])) {
      const recovered = await recoverQuietly({
        domain: {
          name: "AsterSignTransaction",
          version: "1",
          chainId: this.#options.chainId,
          verifyingContract: ZERO_ADDRESS,
        },
        types: { Message: [{ name: "msg", type: "string" }] },
        primaryType: "Message",
        message: { msg: text },
        signature: hex,
      });
      if (recovered !== null && recovered === claimed.toLowerCase()) return recovered;
    }
    throw refuse("signature");
  }

  /**
   * Management calls (approveAgent and its family): the main wallet signs the sent parameters in order, first letters
   * upper-cased, whole numbers uint256, truth values bool, all else string. Returns the wallet; its nonce is not used yet.
   */
  async management(request: SimHttpRequest, primaryType: string): Promise<string> {
    const raw = signedText(request);
    const entries = [...new URLSearchParams(raw)].filter(([name]) => name !== "signatureChainId");
    const fields = new URLSearchParams(raw);
    const user = (fields.get("user") ?? "").toLowerCase();
    const nonce = fields.get("nonce") ?? "";
    const signature = new URLSearchParams(`${request.query}&${request.body.toString("utf8")}`).get("signature") ?? "";
    if (!/^(0x)?[0-9a-fA-F]{130}$/.test(signature) || !/^\d{1,19}$/.test(nonce)) throw refuse("signature");
    const hex = (signature.startsWith("0x") ? signature : `0x${signature}`) as Hex;
    const message = Object.fromEntries(entries.map(([name, value]) => [capital(name), typed(name, value)]));
    const types = {
      [primaryType]: entries.map(([name, value]) => ({ name: capital(name), type: typeName(name, value) })),
    };
    // The documented chain id is 56; a widespread library signs with the main one.
    for (const chainId of [MANAGEMENT_CHAIN_ID, this.#options.chainId]) {
      for (const variant of [types, { [primaryType]: orderAsDocumented(types[primaryType] ?? []) }]) {
        const recovered = await recoverQuietly({
          domain: { name: "AsterSignTransaction", version: "1", chainId, verifyingContract: ZERO_ADDRESS },
          types: variant,
          primaryType,
          message,
          signature: hex,
        });
        if (recovered !== null && recovered === user) return user;
      }
    }
    throw refuse("signature");
  }
}

/** The raw string without its signature, which must come last: anywhere else it makes another message. */
function withoutSignature(raw: string): string {
  return raw.replace(/(^|&)signature=[^&]*$/, "");
}

/** What a V3 caller signed: the part (query or body) that carries the signature. */
function signedText(request: SimHttpRequest): string {
  const body = request.body.toString("utf8");
  return /(^|&)signature=/.test(body) ? withoutSignature(body) : withoutSignature(request.query);
}

function decodeQuietly(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}

async function recoverQuietly(parameters: Parameters<typeof recoverTypedDataAddress>[0]): Promise<string | null> {
  try {
    return (await recoverTypedDataAddress(parameters)).toLowerCase();
  } catch {
    // Not a signature at all (s or v out of range): the same refusal as a wrong one.
    return null;
  }
}

function capital(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** Addresses and texts stay text; `ipWhitelist` may look like a number and is one of the texts. */
const ALWAYS_TEXT: ReadonlySet<string> = new Set([
  "agentName",
  "agentAddress",
  "ipWhitelist",
  "asterChain",
  "user",
  "builder",
  "builderName",
  "maxFeeRate",
]);

function typeName(name: string, value: string): string {
  if (ALWAYS_TEXT.has(name)) return "string";
  if (value === "true" || value === "false") return "bool";
  return /^\d+$/.test(value) ? "uint256" : "string";
}

function typed(name: string, value: string): string | boolean | bigint {
  const type = typeName(name, value);
  if (type === "bool") return value === "true";
  return type === "uint256" ? BigInt(value) : value;
}

/** Field order of the published ApproveBuilder type, for clients whose parameter order differs from it. */
function orderAsDocumented<T extends { name: string }>(fields: readonly T[]): T[] {
  const order = ["Builder", "MaxFeeRate", "BuilderName", "AsterChain", "User", "Nonce"];
  const rank = (field: T): number => (order.includes(field.name) ? order.indexOf(field.name) : -1);
  return [...fields].sort((left, right) => rank(left) - rank(right));
}
