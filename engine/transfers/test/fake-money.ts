/**
 * Venues that take and pay money, in two styles after the fact sheets. `named`: the bridge is sent to, a withdrawal is found
 * by its own number, the fee is inside. `listed`: a vault takes by allowance, a withdrawal is found by amount and time, the
 * fee is signed and comes on top, and the account's key is wanted. Both keep a list that lags, and a log of what they did.
 */
import type { ChainLog } from "../../chain.js";
import type { VirtualClock } from "../../domain/virtual-clock.js";
import type { AccountSession, Read } from "../../ports.js";
import type {
  DepositRoute,
  MoneyOutcome,
  PastWithdrawal,
  PayoutEvent,
  Token,
  VenueMoney,
  WithdrawalAsk,
  WithdrawalStanding,
} from "../../venue-money.js";
import { CHAIN_ID, CONFIRMATIONS, type DepositEvent, type FakeChain, PAID_TOPIC } from "./fake-chain.js";
import { BRIDGE, OLD_TOKEN, takenIn, TOKEN, VAULT } from "./fake-contracts.js";
import { ACCOUNT, isTextSigned } from "./fake-signer.js";
import type { Gate } from "../../storage/test/mortal-life.js";

export type Style = "named" | "listed";
/** Of one call. `late` acts after twenty seconds, its answer lost; `down`: nothing left. */
export type VenueWeather = "fine" | "lost" | "unheard" | "late" | "down";

const LAG_MS = 2_000;
const LATE_MS = 20_000;
const CREDIT_MS = 30_000;
/** What a request was sent at and what the venue dated it may differ by this. */
const DATED_WITHIN_MS = 60_000;
const LIFE_MS = { named: 86_400_000, listed: 3_600_000 } as const;
export const FEE = 1_000_000n;
export const MINIMUM = 5_000_000n;
const VENUES = { named: "venueone", listed: "venuetwo" } as const;

export interface Payout {
  readonly id: string;
  readonly nonce: number;
  readonly receiver: string;
  readonly amount: bigint;
  /** Taken from the account. */
  readonly debit: bigint;
  readonly paid: bigint;
  readonly atMs: number;
  readonly fails: boolean;
}

export interface Move {
  readonly id: string;
  readonly name: string;
  readonly amount: string;
  readonly atMs: number;
}

interface Request {
  readonly nonce: number;
  readonly receiver: string;
  readonly amount: string;
  readonly fee: string;
}

export class FakeMoney {
  weather: () => VenueWeather = () => "fine";
  /** What a request with a number or a name that was used gets. `again`: it acts a second time. */
  repeats: "refused" | "again" = "refused";
  /** What the venue keeps beyond the fee that it named. */
  extraFee = 0n;
  failsPayouts = false;
  /** From the request to the end of a payout. */
  paysMs = 180_000;
  /** What the list has as the transaction of a payout. */
  paidHash: string = `0x${"ab".repeat(32)}`;
  /** Its list shows what left the account, and nothing after. */
  hidesPayments = false;
  /** Its list lacks its first payout. */
  hidesFirst = false;
  /** What its list names as what it kept of a payout; null: it names nothing. */
  listedFee: bigint | null = null;
  /** The chain shows its payments. */
  paysOnChain = false;
  /** There is nothing to move. */
  refusesMoves = false;
  /** Its list has ids of its own, and not those of its replies. */
  listsOwnIds = false;
  /** Its list of payouts has what they took from the account: the fee too, where it came on top. */
  listsDebits = false;
  /** Decimals of its texts. */
  placesMax = 6;
  hasKey = true;
  /** Looks never end. */
  isMute = false;
  /** The logs of its contract are not those that the room knows. */
  hidesLogs = false;
  balance: bigint;
  readonly payouts: Payout[] = [];
  readonly moves: Move[] = [];
  /** Of sessions and of reads of terms. */
  readonly payers: (string | null)[] = [];
  /** Deposits that it credited, by hash. */
  readonly credits = new Map<string, bigint>();
  readonly venue: "venueone" | "venuetwo";
  readonly #style: Style;
  readonly #clock: VirtualClock;
  readonly #chain: FakeChain;
  #nonce = 0;
  #serial = 0;

  constructor(clock: VirtualClock, chain: FakeChain, style: Style, balance: bigint) {
    this.#clock = clock;
    this.#chain = chain;
    this.#style = style;
    this.balance = balance;
    this.venue = VENUES[style];
  }

  /** The account's owner withdrew as much at the venue's page, and it came back at once. */
  returnOwn(amount: bigint): void {
    const id = `own-${++this.#serial}`;
    const atMs = this.#clock.wallMs() - LAG_MS;
    this.payouts.push({ id, nonce: 0, receiver: ACCOUNT, amount, debit: 0n, paid: 0n, atMs, fails: true });
  }

  isOver({ atMs, debit }: Payout): boolean {
    return debit === 0n || this.#clock.wallMs() >= atMs + this.paysMs;
  }

  /** What it writes on chain once it pays this act of the `named` style. */
  paymentOf(request: string): ChainLog {
    const { nonce, amount } = JSON.parse(request) as Request;
    return paidLog(nonce, BigInt(amount) - FEE);
  }

  session(payer: string | null): AccountSession | null {
    if (!this.hasKey) return null;
    this.payers.push(payer);
    return { venue: this.venue, accountId: ACCOUNT, payer, close: () => {} };
  }

  port(gate: Gate): VenueMoney {
    const isListed = this.#style === "listed";
    const look = <T>(value: () => T | Promise<T>): Promise<Read<T>> =>
      gate(async () =>
        this.isMute ? new Promise<never>(() => {}) : this.weather() === "fine" ? this.#ok(await value()) : FAILED,
      );
    return {
      deposits: {
        routes: [],
        isMatchedByHash: isListed,
        route: (chainId, symbol) => this.#route(chainId, symbol),
        look: ({ hash, amount }) => look(() => this.#credited(hash, amount)),
      },
      withdrawals: {
        needsKey: isListed,
        takesReceiver: !isListed,
        placesMax: this.placesMax,
        historyLagMs: LAG_MS,
        isMatchedById: !isListed,
        actsOnce: !isListed,
        token: (chainId, symbol) => (chainId === CHAIN_ID && symbol === "USDC" ? USDC : null),
        terms: async (_ask, _session, options) => {
          this.payers.push(options.payer ?? null);
          return this.#ok({ fee: FEE, minimum: 2_000_000n, available: this.balance, feeIsInside: !isListed });
        },
        make: async (ask, fee) => {
          this.#nonce = Math.max(this.#nonce + 1, this.#clock.wallMs());
          const request = JSON.stringify(requestOf(ask, fee, this.#nonce));
          const validUntilMs = this.#clock.wallMs() + LIFE_MS[this.#style];
          return { ok: true, act: { toSign: { kind: "message", text: request }, request, validUntilMs } };
        },
        send: (act, signature) => gate(() => this.#sent(() => this.#withdraw(act.request, signature))),
        look: (withdrawal) => look(() => this.#payout(withdrawal)),
        payoutEvent: this.paysOnChain ? ({ request }) => eventOf(request) : null,
      },
      internal: isListed
        ? {
            placesMax: this.placesMax,
            looksBackMs: DATED_WITHIN_MS,
            send: (ask) => gate(() => this.#sent(() => this.#move(ask.clientTranId, ask.amount))),
            look: (ask, sentAtMs) => look(() => this.#movesLike(ask.amount, sentAtMs)),
          }
        : null,
      history: async () => this.#ok([]),
      balances: async () => this.#ok([]),
    };
  }

  #ok<T>(value: T): Read<T> {
    return { ok: true, value, asOfMs: this.#clock.wallMs(), source: "venue" };
  }

  #route(chainId: number, symbol: string): DepositRoute | null {
    const token = symbol === "USDC" ? USDC : symbol === "OLD" && this.#style === "listed" ? OLD : null;
    if (chainId !== CHAIN_ID || token === null) return null;
    const isVault = this.#style === "listed";
    return {
      token,
      spender: isVault ? VAULT : null,
      minimum: MINIMUM,
      call: (amount, broker) =>
        isVault
          ? { to: VAULT, data: encoded("0efe6a8b", BigInt(token.address), amount, BigInt(broker ?? 0)) }
          : { to: token.address, data: encoded("a9059cbb", BigInt(BRIDGE), amount) },
      taken: (logs, account) => {
        const taken = logs.map(takenIn).filter((one) => one !== null && one.account === account);
        return taken.length === 0 || this.hidesLogs ? null : taken.reduce((sum, one) => sum + (one?.amount ?? 0n), 0n);
      },
    };
  }

  /** The `named` style lists no transaction: credits of the amount, the oldest first. */
  #credited(hash: string, amount: bigint): readonly string[] {
    const isIt = (one: DepositEvent) => (this.#style === "listed" ? one.hash === hash : one.amount === amount);
    const credits = this.#chain
      .deposits()
      .filter((one) => isIt(one) && one.account === ACCOUNT)
      .filter(({ confirmations }) => confirmations >= CONFIRMATIONS + CREDIT_MS / 2_000);
    for (const one of credits) this.credits.set(one.hash, one.amount);
    return credits.map((one) => `credit-${one.hash.slice(2, 10)}`);
  }

  /** Its list of them has no names. */
  #movesLike(amount: string, sentAtMs: number): readonly string[] {
    return this.#listed(this.moves)
      .filter((move) => move.amount === amount && move.atMs >= sentAtMs - DATED_WITHIN_MS)
      .map(({ id }) => (this.listsOwnIds ? `listed-${id}` : id));
  }

  async #sent(act: () => MoneyOutcome): Promise<MoneyOutcome> {
    switch (this.weather()) {
      case "fine":
        return act();
      case "unheard":
        act();
        return { kind: "unknown" };
      case "late":
        this.#clock.setTimer(() => void act(), LATE_MS);
        return { kind: "unknown" };
      case "lost":
        return { kind: "unknown" };
      case "down":
        return { kind: "notSent", problem: "DOWN", retryAfterMs: null };
    }
  }

  #withdraw(text: string, signature: string): MoneyOutcome {
    const request = JSON.parse(text) as Request;
    if (!isTextSigned(text, signature)) return refusal("OTHER", "bad signature");
    // By its own clock, which nobody sets.
    if (request.nonce + LIFE_MS[this.#style] < this.#clock.trueMs()) return refusal("OTHER", "nonce expired");
    if (this.repeats === "refused" && this.payouts.some(({ nonce }) => nonce === request.nonce))
      return { kind: "repeated" };
    const amount = BigInt(request.amount);
    const isInside = this.#style === "named";
    if (!isInside && BigInt(request.fee) < FEE) return refusal("OTHER", "fee too low");
    const debit = isInside ? amount : amount + FEE;
    if (debit > this.balance) return refusal("BALANCE", "Insufficient balance for withdrawal.");
    this.balance -= debit;
    const id = `w-${++this.#serial}`;
    const paid = (isInside ? amount - FEE : amount) - this.extraFee;
    const { nonce, receiver } = request;
    this.payouts.push({
      id,
      nonce,
      receiver,
      amount,
      debit,
      paid,
      atMs: this.#clock.wallMs(),
      fails: this.failsPayouts,
    });
    if (this.paysOnChain) this.#clock.setTimer(() => this.#chain.pay(paidLog(nonce, paid)), this.paysMs);
    if (this.failsPayouts) this.balance += debit;
    return { kind: "done", venueId: isInside ? null : id };
  }

  async #payout(withdrawal: PastWithdrawal): Promise<WithdrawalStanding> {
    const { ask, fee, sentAtMs, venueId } = withdrawal;
    const listed = ({ amount, debit }: Payout): bigint => (this.listsDebits && debit > 0n ? debit : amount);
    const { nonce } = JSON.parse(withdrawal.request) as Request;
    const isIt = (one: Payout): boolean => {
      if (this.hidesFirst && one === this.payouts[0]) return false;
      if (this.#style === "named") return one.nonce === nonce;
      if (venueId !== null) return one.id === venueId;
      return (
        listed(one) >= ask.amount - fee && listed(one) <= ask.amount + fee && one.atMs >= sentAtMs - DATED_WITHIN_MS
      );
    };
    const alike: Payout[] = [];
    for (const payout of this.#listed(this.payouts).filter(isIt))
      if (!(await withdrawal.isOthers(payout.id))) alike.push(payout);
    const payout = alike.find(({ fails }) => !fails) ?? alike[0];
    if (payout === undefined) return { kind: "absent" };
    const { id, fails, paid } = payout;
    const named = this.listedFee === null ? {} : { fee: this.listedFee };
    if (this.hidesPayments) return { kind: "left", venueId: id, hash: null, paid, ...named };
    if (!this.isOver(payout)) return { kind: "pending", venueId: id, hash: null, paid: null };
    if (fails) return { kind: "failed", venueId: id };
    return { kind: "completed", venueId: id, hash: this.paidHash, paid };
  }

  #move(name: string, amount: string): MoneyOutcome {
    if (this.repeats === "refused" && this.moves.some((move) => move.name === name)) return { kind: "repeated" };
    if (this.refusesMoves || BigInt(amount) > 1_000_000n) return refusal("BALANCE", "insufficient");
    const id = `m-${++this.#serial}`;
    this.moves.push({ id, name, amount, atMs: this.#clock.wallMs() });
    return { kind: "done", venueId: id };
  }

  #listed<T extends { readonly atMs: number }>(rows: readonly T[]): readonly T[] {
    return rows.filter(({ atMs }) => atMs + LAG_MS <= this.#clock.wallMs());
  }
}

const FAILED = { ok: false, code: "TIMEOUT", message: "no answer", retryAfterMs: null } as const;
const USDC: Token = { chainId: CHAIN_ID, symbol: "USDC", address: TOKEN, decimals: 6, resetsAllowance: false };
const OLD: Token = { chainId: CHAIN_ID, symbol: "OLD", address: OLD_TOKEN, decimals: 6, resetsAllowance: true };

/** Of the payment with this number. */
function paidLog(nonce: number, paid: bigint): ChainLog {
  return { address: BRIDGE, topics: [PAID_TOPIC, ACCOUNT], data: encoded("", BigInt(nonce), paid) };
}

function eventOf(text: string): PayoutEvent {
  const { nonce } = JSON.parse(text) as Request;
  const topics = [PAID_TOPIC, ACCOUNT];
  const word = (data: Uint8Array, at: number) => BigInt(`0x${Buffer.from(data.subarray(at, at + 32)).toString("hex")}`);
  return {
    ...{ contract: BRIDGE, topics, sinceMs: nonce },
    paid: ({ data }) => (word(data, 0) === BigInt(nonce) ? word(data, 32) : null),
  };
}

function requestOf({ receiver, amount }: WithdrawalAsk, fee: bigint, nonce: number): Request {
  return { nonce, receiver, amount: amount.toString(), fee: fee.toString() };
}

function refusal(reason: "BALANCE" | "OTHER", venueText: string): MoneyOutcome {
  return { kind: "refused", reason, venueText, retryAfterMs: null, isSpent: false };
}

function encoded(selector: string, ...words: readonly bigint[]): Uint8Array {
  const text = words.map((word) => word.toString(16).padStart(64, "0")).join("");
  return new Uint8Array(Buffer.from(`${selector}${text}`, "hex"));
}
