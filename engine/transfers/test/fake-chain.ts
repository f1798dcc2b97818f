/**
 * A chain on virtual time, as strict as a real one: blocks, a pool, nonces, gas, and the contracts of fake-contracts.ts. It
 * reads signed bytes with viem, not with the code under test. Blocks that are due are mined when somebody asks.
 */
import { keccak256, parseTransaction, serializeTransaction, type TransactionSerializableEIP1559 } from "viem";
import type { BroadcastOutcome, Chain, ChainLog, LogSearch, TransactionStanding } from "../../chain.js";
import type { Clock } from "../../domain/clock.js";
import type { Read } from "../../ports.js";
import {
  estimate,
  executed,
  paid,
  type Receipt,
  type State,
  takenIn,
  TOKEN,
  OLD_TOKEN,
  type Transaction,
  toHex,
} from "./fake-contracts.js";
import { recoverAddress } from "./fake-signer.js";
import type { Gate } from "../../storage/test/mortal-life.js";

export const CHAIN_ID = 56;
export const CONFIRMATIONS = 4;
const BLOCK_MS = 2_000;
const TIP = 1n;
const NO_RECEIPTS: ReadonlyMap<string, Receipt> = new Map();
/** Of a log that says whom the venue paid. */
export const PAID_TOPIC = "paid";
const WORD = 64;

/** Of one call. `lost` never arrives, `unheard` acts and its answer is lost, `lagging` answers for two blocks ago. */
export type ChainWeather = "fine" | "lost" | "unheard" | "lagging";

interface Block {
  readonly hash: string;
  readonly state: State;
  readonly transactions: readonly Transaction[];
  readonly receipts: ReadonlyMap<string, Receipt>;
  readonly payments: readonly Payment[];
  readonly atMs: number;
}

/** What a venue writes there. */
interface Payment {
  readonly hash: string;
  readonly log: ChainLog;
}

/** What the chain's contracts took for the venue. */
export interface DepositEvent {
  readonly hash: string;
  readonly account: string;
  readonly token: string;
  readonly amount: bigint;
  readonly confirmations: number;
}

export class FakeChain {
  weather: () => ChainWeather = () => "fine";
  /** Of a call that hands a transaction out. */
  sendWeather: () => ChainWeather = () => this.weather();
  /** Of every token, as its contract says. */
  decimals = 6;
  baseFee = 10n;
  /** No price above it is named. */
  priceMax = 10n ** 30n;
  /** Nonces are of now, and receipts of a server that lags far behind. */
  hidesReceipts = false;
  /** Nonces and blocks are of now, and receipts below the newest so many blocks are no longer kept; null: all are. */
  keepsReceiptsOf: number | null = null;
  /** Fewer endpoints than must agree have the block of a receipt that is gone. */
  isBlockDoubted = false;
  /** One endpoint shows what was undone as done, and no other shows it. */
  isUndoingDenied = false;
  /** Reads never end. */
  isMute = false;
  /** Of one search of logs. */
  logBlocks = 50;
  /** When logs were asked for, and when a height was by its time. */
  readonly logSearches: number[] = [];
  readonly heightReads: number[] = [];
  readonly #clock: Clock;
  #blocks: Block[];
  #minedMs: number;
  #serial = 0;
  readonly #pool = new Map<string, Transaction>();
  readonly #payments: Payment[] = [];
  /** Every transaction that a pool ever took. */
  readonly arrived = new Set<string>();

  constructor(clock: Clock, account: string, start: { readonly token: bigint; readonly native: bigint }) {
    this.#clock = clock;
    this.#minedMs = clock.wallMs();
    const tokens = new Map([TOKEN, OLD_TOKEN].map((token) => [`${token}/${account}`, start.token]));
    const state = { nonces: new Map(), natives: new Map([[account, start.native]]), tokens, allowances: new Map() };
    this.#blocks = [this.#block(state, [], new Map())];
  }

  tokenOf(token: string, account: string): bigint {
    return this.#head().tokens.get(`${token}/${account}`) ?? 0n;
  }

  nativeOf(account: string): bigint {
    return this.#head().natives.get(account) ?? 0n;
  }

  /** Everything that the vault and the bridge took, in the chain as it is now. */
  deposits(): readonly DepositEvent[] {
    this.#catchUp();
    const events: DepositEvent[] = [];
    for (const [number, { receipts }] of this.#blocks.entries())
      for (const [hash, { logs }] of receipts)
        for (const log of logs) {
          const taken = takenIn(log);
          if (taken !== null) events.push({ ...taken, hash, confirmations: this.#blocks.length - number });
        }
    return events;
  }

  /** The last blocks never were; what was in them waits again, or is forgotten. */
  reorg(depth: number, isForgotten: boolean): void {
    this.#catchUp();
    const gone = this.#blocks.splice(Math.max(1, this.#blocks.length - depth));
    for (const { transactions } of gone)
      for (const transaction of transactions) if (!isForgotten) this.#pool.set(transaction.hash, transaction);
    for (const _ of gone) this.#blocks.push(this.#block(this.#head(), [], NO_RECEIPTS));
    // The venue sends its own again.
    for (const { payments } of gone) this.#payments.push(...payments);
  }

  /** What waits is forgotten. */
  forgetPool(): void {
    this.#pool.clear();
  }

  /** The owner of the wallet's key sends something of its own, from elsewhere. */
  outside(account: string): void {
    this.#catchUp();
    const state = this.#head();
    const nonce = state.nonces.get(account) ?? 0;
    const next = { ...state, nonces: new Map(state.nonces).set(account, nonce + 1) };
    this.#blocks.push(this.#block(next, [], new Map()));
  }

  /** The venue pays; in the next block. */
  pay(log: ChainLog): void {
    this.#catchUp();
    this.#payments.push({ hash: `0x${(++this.#serial).toString(16).padStart(WORD, "f")}`, log });
  }

  /** Payments that are in the chain as it is now, by their transactions, each with its confirmations. */
  paid(): ReadonlyMap<string, number> {
    this.#catchUp();
    const depths = this.#blocks.flatMap(({ payments }, number) =>
      payments.map(({ hash }) => [hash, this.#blocks.length - number] as const),
    );
    return new Map(depths);
  }

  /** Some of its first token goes elsewhere. */
  spend(account: string, amount: bigint): void {
    const state = paid(this.#head(), TOKEN, account, OLD_TOKEN, amount);
    if (state !== null) this.#blocks.push(this.#block(state, [], NO_RECEIPTS));
  }

  /** As much of what was spent comes back. */
  giveBack(account: string, amount: bigint): void {
    const state = paid(this.#head(), TOKEN, OLD_TOKEN, account, amount);
    if (state !== null) this.#blocks.push(this.#block(state, [], NO_RECEIPTS));
  }

  allow(token: string, owner: string, spender: string, amount: bigint): void {
    const state = this.#head();
    const allowances = new Map(state.allowances).set(`${token}/${owner}/${spender}`, amount);
    this.#blocks.push(this.#block({ ...state, allowances }, [], new Map()));
  }

  /** `gate`: what the life of the program does around each call that is a send or a look. */
  port(gate: Gate): Chain {
    const read = async <T>(value: (state: State) => T): Promise<Read<T>> => {
      if (this.isMute) return new Promise<never>(() => {});
      const weather = this.weather();
      if (weather === "lost" || weather === "unheard") return FAILED;
      return this.#ok(value(this.#at(weather).state));
    };
    return {
      chainId: CHAIN_ID,
      confirmations: CONFIRMATIONS,
      priceMax: { maxFeePerGas: this.priceMax, maxPriorityFeePerGas: this.priceMax },
      nativeBalance: (address) => read(({ natives }) => natives.get(address) ?? 0n),
      tokenBalance: (token, address) => read(({ tokens }) => tokens.get(`${token}/${address}`) ?? 0n),
      allowance: (token, owner, spender) =>
        read(({ allowances }) => allowances.get(`${token}/${owner}/${spender}`) ?? 0n),
      tokenDecimals: () => read(() => this.decimals),
      nextNonce: (address) => read((state) => this.#nextNonce(state, address)),
      gasPrice: async () => {
        const dearest = this.baseFee * 2n + TIP;
        const maxFeePerGas = dearest < this.priceMax ? dearest : this.priceMax;
        if (this.baseFee + TIP > this.priceMax) return FAILED;
        return read(() => ({ maxFeePerGas, maxPriorityFeePerGas: TIP }));
      },
      estimateGas: (call) => read((state) => estimate(state, call.from, call.to, toHex(call.data))),
      logs: {
        heightAt: (timeMs) => {
          this.heightReads.push(this.#clock.wallMs());
          return read(() => {
            const after = this.#blocks.findIndex(({ atMs }) => atMs > timeMs);
            return Math.max(0, (after < 0 ? this.#blocks.length : after) - 1);
          });
        },
        final: (search) => {
          this.logSearches.push(this.#clock.wallMs());
          return gate(() => read(() => this.#finalLogs(search)));
        },
      },
      broadcast: (raw) => gate(async () => this.#broadcast(raw)),
      standing: (of) =>
        gate(async () => {
          const weather = this.weather();
          if (weather === "lost" || weather === "unheard") return FAILED;
          return this.#ok(this.#standing(of, weather));
        }),
    };
  }

  #ok<T>(value: T): Read<T> {
    return { ok: true, value, asOfMs: this.#clock.wallMs(), source: "venue" };
  }

  #nextNonce(state: State, address: string): number {
    let next = state.nonces.get(address) ?? 0;
    while ([...this.#pool.values()].some(({ from, nonce }) => from === address && nonce === next)) next++;
    return next;
  }

  async #broadcast(raw: Uint8Array): Promise<BroadcastOutcome> {
    const weather = this.sendWeather();
    if (weather === "lost") return { kind: "unknown" };
    this.#catchUp();
    const outcome = this.#taken(toHex(raw) as `0x02${string}`);
    return weather === "unheard" ? { kind: "unknown" } : outcome;
  }

  #taken(raw: `0x02${string}`): BroadcastOutcome {
    const parsed = parseTransaction(raw);
    const {
      r,
      s,
      yParity,
      v: _v,
      ...unsigned
    } = parsed as TransactionSerializableEIP1559 & {
      readonly r: `0x${string}`;
      readonly s: `0x${string}`;
      readonly yParity: number;
      readonly v?: bigint;
    };
    const digest = keccak256(serializeTransaction({ ...unsigned, type: "eip1559" }));
    const from = recoverAddress(digest, r, s, yParity);
    if (unsigned.chainId !== CHAIN_ID) return { kind: "refused", reason: "wrong chain" };
    const transaction: Transaction = {
      ...{ hash: keccak256(raw), from, nonce: unsigned.nonce ?? 0, to: unsigned.to ?? "", data: unsigned.data ?? "0x" },
      ...{
        gasLimit: unsigned.gas ?? 0n,
        maxFee: unsigned.maxFeePerGas ?? 0n,
        tip: unsigned.maxPriorityFeePerGas ?? 0n,
      },
    };
    const { hash, nonce, gasLimit, maxFee } = transaction;
    const state = this.#head();
    if (this.#pool.has(hash) || nonce < (state.nonces.get(from) ?? 0)) return { kind: "unknown" };
    if (gasLimit * maxFee > (state.natives.get(from) ?? 0n)) return { kind: "refused", reason: "insufficient funds" };
    const rival = [...this.#pool.values()].find((one) => one.from === from && one.nonce === nonce);
    if (rival !== undefined) {
      if (maxFee * 10n < rival.maxFee * 11n || transaction.tip * 10n < rival.tip * 11n)
        return { kind: "refused", reason: "replacement underpriced" };
      this.#pool.delete(rival.hash);
    }
    this.arrived.add(hash);
    this.#pool.set(hash, transaction);
    return { kind: "taken" };
  }

  #standing(of: Parameters<Chain["standing"]>[0], weather: ChainWeather): TransactionStanding {
    const { number: head } = this.#at(weather);
    const kept = this.keepsReceiptsOf === null ? 0 : Math.max(0, head - this.keepsReceiptsOf + 1);
    for (let number = kept; number <= head && !this.hidesReceipts; number++) {
      const block = this.#blocks[number];
      const hash = of.hashes.find((one) => block?.receipts.has(one));
      const receipt = hash === undefined ? undefined : block?.receipts.get(hash);
      if (block === undefined || hash === undefined || receipt === undefined) continue;
      const confirmations = head - number + 1;
      return {
        ...{ kind: "mined", hash, blockNumber: number, blockHash: block.hash, confirmations },
        ...{ isFinal: confirmations >= CONFIRMATIONS, ...receipt },
        ...(this.isUndoingDenied && !receipt.succeeded ? { succeeded: true, isFinal: false } : {}),
      };
    }
    const deep = this.#blocks[head - CONFIRMATIONS + 1]?.state.nonces.get(of.from) ?? 0;
    const { seenIn } = of;
    if (deep > of.nonce && seenIn !== undefined && this.#blocks[seenIn.blockNumber]?.hash === seenIn.blockHash) {
      const confirmations = head - seenIn.blockNumber + 1;
      const isFinal = confirmations >= CONFIRMATIONS && !this.isBlockDoubted;
      return { kind: "unshown", confirmations: isFinal ? confirmations : 1, isFinal };
    }
    if (deep > of.nonce) return { kind: "replaced" };
    return { kind: "open", isKnown: of.hashes.some((hash) => this.#pool.has(hash)) };
  }

  #finalLogs({ contract, topics, fromHeight }: LogSearch) {
    const nextHeight = Math.min(
      fromHeight + this.logBlocks,
      Math.max(fromHeight, this.#blocks.length - CONFIRMATIONS + 1),
    );
    const logs = this.#blocks
      .slice(fromHeight, nextHeight)
      .flatMap(({ payments }) =>
        payments
          .filter(({ log }) => log.address === contract && topics.every((topic, at) => topic === log.topics[at]))
          .map(({ hash, log }) => ({ ...log, hash })),
      );
    return { logs, nextHeight, isAtEnd: nextHeight > this.#blocks.length - CONFIRMATIONS };
  }

  #at(weather: ChainWeather): { readonly number: number; readonly state: State } {
    this.#catchUp();
    const number = Math.max(0, this.#blocks.length - 1 - (weather === "lagging" ? 2 : 0));
    return { number, state: this.#blocks[number]?.state ?? this.#head() };
  }

  #catchUp(): void {
    for (; this.#minedMs + BLOCK_MS <= this.#clock.wallMs(); this.#minedMs += BLOCK_MS) this.#mine();
  }

  #mine(): void {
    if (this.#pool.size === 0) {
      this.#blocks.push(this.#block(this.#head(), [], NO_RECEIPTS));
      return;
    }
    let state = this.#head();
    const transactions: Transaction[] = [];
    const receipts = new Map<string, Receipt>();
    for (let isMore = true; isMore; ) {
      isMore = false;
      for (const transaction of [...this.#pool.values()]) {
        const next = state.nonces.get(transaction.from) ?? 0;
        if (transaction.nonce < next) this.#pool.delete(transaction.hash);
        if (transaction.nonce !== next || transaction.maxFee < this.baseFee) continue;
        this.#pool.delete(transaction.hash);
        const done = executed(state, transaction, this.baseFee);
        state = done.state;
        receipts.set(transaction.hash, done.receipt);
        transactions.push(transaction);
        isMore = true;
      }
    }
    this.#blocks.push(this.#block(state, transactions, receipts));
  }

  #block(state: State, transactions: readonly Transaction[], receipts: ReadonlyMap<string, Receipt>): Block {
    const hash = `0x${(++this.#serial).toString(16).padStart(WORD, "0")}`;
    const payments = this.#payments.splice(0);
    return { hash, state, transactions, receipts, payments, atMs: this.#clock.wallMs() };
  }

  #head(): State {
    const block = this.#blocks.at(-1);
    if (block === undefined) throw new RangeError("a chain has a first block");
    return block.state;
  }
}

const FAILED = { ok: false, code: "TIMEOUT", message: "no answer", retryAfterMs: null } as const;
