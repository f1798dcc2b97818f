/**
 * A client of the account side for this room's tests: signs with the proven primitives and talks over real sockets. The
 * venue's clock is virtual: a call is answered at once, what it causes waits for the delay of its kind.
 */
import { privateKeyToAccount } from "viem/accounts";
import { nonceOf, publicKeyOf, randomScalar, signMessage } from "../../../../feeds/venuethree/sign/schnorr.js";
import { toBytes } from "../../../../feeds/venuethree/sign/quintic.js";
import {
  hashText,
  hashTransaction,
  transactionText,
  type TxAttributes,
  type TxFields,
} from "../../../../feeds/venuethree/sign/tx.js";
import type { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import type { VenuethreeAccount, VenuethreeSimOptions } from "../records/options.js";
import type { VenuethreeSim } from "../sim.js";
import { type Answer, get, startTestVenue } from "./support.js";

export const CHAIN_ID = 304;
export const ADDRESS = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
export const BTC = 1;
export const ETH = 0;
export const ASTER = 83;

/** A published development key; its address owns the accounts of one test. */
export const OWNER = privateKeyToAccount("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");

const TEN_MINUTES_MS = 600_000;
const DAY_MS = 86_400_000;

export interface OrderChoice {
  readonly market?: number;
  readonly client?: number;
  readonly base?: number;
  readonly price?: number;
  readonly ask?: boolean;
  readonly type?: number;
  readonly tif?: number;
  readonly reduce?: boolean;
  readonly trigger?: number;
  readonly expiry?: number;
}

/** 40 bytes of one digit: a private key for tests. */
export function testKey(digit: number): Uint8Array {
  return Buffer.alloc(40, digit);
}

export function publicHex(key: Uint8Array): string {
  return Buffer.from(publicKeyOf(key)).toString("hex");
}

export class Trader {
  readonly venue: VenuethreeSim;
  readonly clock: VirtualClock;
  readonly accountIndex: number;
  readonly apiKeyIndex: number;
  readonly key: Uint8Array;
  nonce: number;

  constructor(venue: VenuethreeSim, clock: VirtualClock, accountIndex: number, apiKeyIndex: number, key: Uint8Array) {
    this.venue = venue;
    this.clock = clock;
    this.accountIndex = accountIndex;
    this.apiKeyIndex = apiKeyIndex;
    this.key = key;
    this.nonce = 1;
  }

  /** Deadline as the client chooses it. */
  token(aheadS = 3_600, key = this.key): string {
    const deadlineS = Math.floor(this.clock.wallMs() / 1000) + aheadS;
    const message = `${deadlineS}:${this.accountIndex}:${this.apiKeyIndex}`;
    const signature = signMessage(hashText(message), key, nonceOf(randomScalar()));
    return `${message}:${Buffer.from(signature).toString("hex")}`;
  }

  /** `tx_info` and its hash; the nonce is the trader's next one unless the fields name one. */
  sign(
    type: number,
    fields: TxFields,
    attributes: TxAttributes | null = null,
    key = this.key,
  ): { text: string; hash: string } {
    const account = type === 12 || type === 13 ? "FromAccountIndex" : "AccountIndex";
    const whole: TxFields = {
      [account]: this.accountIndex,
      ApiKeyIndex: this.apiKeyIndex,
      ExpiredAt: this.clock.wallMs() + TEN_MINUTES_MS,
      Nonce: this.nonce,
      ...fields,
    };
    const message = hashTransaction(CHAIN_ID, type, whole, attributes);
    const signature = signMessage(message, key, nonceOf(randomScalar()));
    return {
      text: transactionText(type, whole, attributes, signature),
      hash: Buffer.from(toBytes(message)).toString("hex"),
    };
  }

  /** POST sendTx; the nonce goes up when the venue took it. */
  async send(type: number, fields: TxFields, attributes: TxAttributes | null = null, extra = {}): Promise<Answer> {
    const { text } = this.sign(type, fields, attributes);
    const answer = await this.post("sendTx", { tx_type: String(type), tx_info: text, ...extra });
    if (answer.json.code === 200) this.nonce++;
    return answer;
  }

  async post(name: string, fields: Readonly<Record<string, string>>): Promise<Answer> {
    return postForm(this.venue, name, fields);
  }

  /** Fields of a create order. Market orders have no expiry; everything else that rests has a day. */
  order(choice: OrderChoice): TxFields & Readonly<Record<string, number>> {
    const { type = 0, tif = type === 1 ? 0 : 1 } = choice;
    const needsExpiry = type >= 2 || tif !== 0;
    return {
      MarketIndex: choice.market ?? BTC,
      ClientOrderIndex: choice.client ?? 0,
      BaseAmount: choice.base ?? 1_000,
      Price: choice.price ?? this.touch(choice.ask === true ? "BUY" : "SELL", choice.market ?? BTC),
      IsAsk: choice.ask === true ? 1 : 0,
      Type: type,
      TimeInForce: tif,
      ReduceOnly: choice.reduce === true ? 1 : 0,
      TriggerPrice: choice.trigger ?? 0,
      OrderExpiry: choice.expiry ?? (needsExpiry ? this.clock.wallMs() + DAY_MS : 0),
    };
  }

  create(choice: OrderChoice, attributes: TxAttributes | null = null, extra = {}): Promise<Answer> {
    return this.send(14, this.order(choice), attributes, extra);
  }

  /** Past the taker's delay, so that everything sent has been executed. */
  settle(ms = 400): void {
    this.clock.advance(ms);
  }

  async read(path: string, token: string | null = this.token()): Promise<Answer> {
    const response = await fetch(`${this.venue.restUrl}/api/v1/${path}`, {
      headers: token === null ? {} : { authorization: token },
    });
    const text = await response.text();
    return { status: response.status, text, json: JSON.parse(text) as Answer["json"] };
  }

  async activeOrders(): Promise<readonly WireOrder[]> {
    return rows(await this.read(`accountActiveOrders?account_index=${this.accountIndex}`), "orders");
  }

  async inactiveOrders(): Promise<readonly WireOrder[]> {
    return rows(await this.read(`accountInactiveOrders?account_index=${this.accountIndex}&limit=100`), "orders");
  }

  async position(market = BTC): Promise<Readonly<Record<string, unknown>> | null> {
    const answer = await get(this.venue, `/api/v1/account?by=index&value=${this.accountIndex}`);
    const [account] = rows(answer, "accounts");
    const positions = account?.positions as readonly Readonly<Record<string, unknown>>[];
    return positions.find((row) => row.market_id === market) ?? null;
  }

  /** What the sequencer said of a transaction: null when it was accepted. */
  async applicationError(hash: unknown): Promise<number | null> {
    const { json } = await get(this.venue, `/api/v1/tx?by=hash&value=${String(hash)}`);
    const info = JSON.parse(String(json.event_info)) as { ae: string };
    return info.ae === "" ? null : (JSON.parse(info.ae) as { code: number }).code;
  }

  /** Best price in ticks. */
  touch(side: "BUY" | "SELL", market = BTC): number {
    const symbol = market === BTC ? "BTC" : market === ETH ? "ETH" : "ASTER";
    const level =
      side === "BUY" ? this.venue.exchange.market.bestBid(symbol) : this.venue.exchange.market.bestAsk(symbol);
    return level?.priceTicks ?? 0;
  }
}

export type WireOrder = Readonly<Record<string, unknown>>;

export function rows(answer: Answer, name: string): readonly WireOrder[] {
  return (answer.json[name] ?? []) as readonly WireOrder[];
}

export async function postForm(
  venue: VenuethreeSim,
  name: string,
  fields: Readonly<Record<string, string>>,
): Promise<Answer> {
  const response = await fetch(`${venue.restUrl}/api/v1/${name}`, {
    method: "POST",
    body: new URLSearchParams(fields),
  });
  const text = await response.text();
  return { status: response.status, text, json: JSON.parse(text) as Answer["json"] };
}

export interface TraderVenue {
  readonly venue: VenuethreeSim;
  readonly clock: VirtualClock;
  readonly trader: Trader;
  /** A second account of another owner. */
  readonly other: Trader;
}

const UNLIMITED = {
  readsPerMinute: 100_000,
  messagesPerMinute: 100_000,
  transactionsPerMinute: 100_000,
  otherTransactionsPerMinute: 100_000,
};

export async function startTraders(
  options: Partial<VenuethreeSimOptions> = {},
  account: Partial<VenuethreeAccount> = {},
): Promise<TraderVenue> {
  const { limits, ...rest } = options;
  const { venue, clock } = await startTestVenue({
    flow: { levelCount: 40, tradesPerSecond: 5 },
    accounts: [
      {
        accountIndex: 65,
        l1Address: ADDRESS,
        deposit: "1000000",
        apiKeys: [{ apiKeyIndex: 5, publicKey: publicHex(testKey(3)) }],
        ...account,
      },
      {
        accountIndex: 66,
        l1Address: "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
        deposit: "1000000",
        apiKeys: [{ apiKeyIndex: 7, publicKey: publicHex(testKey(4)) }],
      },
    ],
    limits: { ...UNLIMITED, ...limits },
    ...rest,
  });
  return {
    venue,
    clock,
    trader: new Trader(venue, clock, 65, 5, testKey(3)),
    other: new Trader(venue, clock, 66, 7, testKey(4)),
  };
}
