/**
 * What a wallet holds at the head: one request for how many it has of each pair and for the pages of those that had some the
 * last time, kept for as long as its block is the head, shared by all who ask at the same time.
 *
 * Invariant: what is shown, all counts, the number of pairs and that of the slots are of one block. Where that block has
 * something of a pair that was not asked for, or other numbers, all is asked for once more: no slot is left out.
 */
import { LRUCache } from "lru-cache";
import type {
  ChainRead,
  ClientSignedBalances,
  ClientSignedOrder,
  ClientSignedPosition,
} from "../../../engine/client-signed-room.js";
import type { Clock } from "../../../engine/domain/clock.js";
import { formatScaledBig } from "../../../engine/domain/decimal.js";
import { within } from "../../../engine/domain/deadline.js";
import type { CallOptions } from "../../../engine/ports.js";
import { readQuantity } from "../../shared/chain/rpc-wire.js";
import { readUint } from "../../shared/chain/token-calls.js";
import { Deadline } from "../../shared/net/deadline.js";
import { WireFault } from "../../shared/room/wire-fields.js";
import type { BlockTimes } from "../chain/block-times.js";
import {
  type ContractCalls,
  type HeldCounts,
  readHeld,
  readPairNames,
  type SlotPage,
} from "../chain/contract-calls.js";
import type { ChainHeads } from "../chain/heads.js";
import { type FailedChainRead, failedChainRead, type PinnedReads } from "../chain/pinned-reads.js";
import type { OrderHistory, PlacedOrder } from "../history/placed-orders.js";
import { type PairCounts, type PairGuard, type PairsKnown, readCounts } from "../market/pair-guard.js";
import type { PairMap } from "../market/pair-map.js";
import { orderOf, positionOf, usdcText } from "./normalize.js";
import { type Good, SharedReads } from "./shared-reads.js";
import { readSlots, type SlotRows } from "./slots.js";

export interface AccountReaderOptions {
  readonly map: PairMap;
  readonly calls: ContractCalls;
  readonly reads: PinnedReads;
  readonly heads: ChainHeads;
  readonly guard: PairGuard;
  readonly times: BlockTimes;
  readonly history: OrderHistory;
  readonly clock: Clock;
}

/** As the venue's own client asks. */
const PAIRS_A_PAGE = 12;
/** Of all pages together: what is read of one wallet. */
const SLOTS_MAX = 20_000;
/** Wallets whose pairs are remembered; the one used longest ago is counted first again. */
const WALLETS_MAX = 1_000;
const COIN = { symbol: "ETH", decimals: 18 };
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

interface Holdings extends SlotRows {
  readonly pairs: PairsKnown;
}

export class AccountReader {
  readonly #options: AccountReaderOptions;
  readonly #holdings: SharedReads<Holdings>;
  readonly #balances: SharedReads<ClientSignedBalances>;
  /** By wallet: the pairs that it had something of at its last read. */
  readonly #heldPairs = new LRUCache<string, readonly number[]>({ max: WALLETS_MAX });

  constructor(options: AccountReaderOptions) {
    this.#options = options;
    this.#holdings = new SharedReads(options.heads, options.clock);
    this.#balances = new SharedReads(options.heads, options.clock);
  }

  async positions(address: string, options: CallOptions): Promise<ChainRead<readonly ClientSignedPosition[]>> {
    const read = await this.#held(address, options);
    if (!read.ok) return read;
    const { trades, pairs } = read.value;
    return converted(read, () => trades.map((row) => positionOf(row, this.#meaning(pairs))));
  }

  async openOrders(address: string, options: CallOptions): Promise<ChainRead<readonly ClientSignedOrder[]>> {
    const deadline = new Deadline(this.#options.clock, options);
    const read = await this.#held(address, options);
    if (!read.ok) return read;
    const { orders, pairs } = read.value;
    const known = await this.#known(address.toLowerCase(), orders, deadline);
    const unknown = orders.flatMap(({ block }, at) => (known[at] === null ? [block] : []));
    const times = await this.#options.times.of(unknown, deadline);
    if (!times.ok) return times;
    return converted(read, () =>
      orders.map((row, at) => {
        const state = { block: row.block, orderType: null, timestampMs: times.value.get(row.block) ?? 0, txHash: null };
        return orderOf(row, this.#meaning(pairs), known[at] ?? state);
      }),
    );
  }

  balances(address: string, options: CallOptions): Promise<ChainRead<ClientSignedBalances>> {
    const { calls, reads } = this.#options;
    if (!ADDRESS.test(address)) return Promise.resolve(NO_ADDRESS);
    const wallet = address.toLowerCase();
    return this.#balances.of(wallet, options, (left) =>
      reads.read(
        {
          calls: (tag) => [
            calls.usdcBalance(wallet, tag),
            calls.usdcAllowance(wallet, tag),
            calls.coinBalance(wallet, tag),
          ],
          read: ([amount, allowance, coins]) => ({
            collateral: { token: "USDC", amount: usdcText(readUint(amount)), allowance: usdcText(readUint(allowance)) },
            native: {
              symbol: COIN.symbol,
              amount: formatScaledBig(readQuantity(coins, "balance"), COIN.decimals),
            },
          }),
        },
        left,
      ),
    );
  }

  /** What the history adds, for as long as half of the time that is left. */
  async #known(
    wallet: string,
    orders: SlotRows["orders"],
    deadline: Deadline,
  ): Promise<readonly (PlacedOrder | null)[]> {
    const left = deadline.left();
    if (orders.length === 0 || left === null) return orders.map(() => null);
    const timeoutMs = left.timeoutMs / 2;
    const { history, clock } = this.#options;
    const placed = await within(clock, history.placedOrders(wallet, orders), timeoutMs);
    return orders.map((_, at) => (placed.done ? (placed.value[at] ?? null) : null));
  }

  #meaning({ dollarBased }: PairsKnown): Parameters<typeof positionOf>[1] {
    return { map: this.#options.map, dollarBased };
  }

  async #held(address: string, options: CallOptions): Promise<ChainRead<Holdings>> {
    if (!ADDRESS.test(address)) return NO_ADDRESS;
    const deadline = new Deadline(this.#options.clock, options);
    const pairs = await this.#options.guard.proven(options);
    if ("ok" in pairs) return pairs;
    const left = deadline.left();
    if (left === null) return NO_TIME;
    const read = await this.#holdings.of(address.toLowerCase(), left, (own) => this.#read(address.toLowerCase(), own));
    // What was read under the symbols of before, is not shown under those of now.
    const now = await this.#options.guard.proven(left);
    return "ok" in now ? now : read;
  }

  async #read(wallet: string, options: CallOptions): Promise<ChainRead<Holdings>> {
    const { guard } = this.#options;
    const deadline = new Deadline(this.#options.clock, options);
    for (let round = 1; ; round++) {
      const left = deadline.left();
      if (left === null) return NO_TIME;
      const pairs = await guard.proven(left);
      if ("ok" in pairs) return pairs;
      const asked = this.#heldPairs.get(wallet) ?? [];
      const read = await this.#pages(wallet, pairs, asked, deadline.left() ?? left);
      if (!read.ok) return read;
      const { isAsked, isAsCompared, held, rows } = read.value;
      this.#heldPairs.set(wallet, held);
      const isSame = isAsked && isAsCompared;
      if (isSame && held.every((pair) => asked.includes(pair))) return { ...read, value: { ...rows, pairs } };
      if (round === ROUNDS_MAX)
        return failedChainRead("VENUE_ERROR", "pairs, or those that are held, change while they are read");
      if (isSame) continue;
      // Another number of pairs, or another name: what they are is compared before anything is shown.
      const compared = await within(this.#options.clock, guard.check(), Math.max(0, deadline.leftMs()));
      if (!compared.done) return NO_TIME;
      if (compared.value !== null) return compared.value;
    }
  }

  async #pages(
    wallet: string,
    known: PairsKnown,
    asked: readonly number[],
    options: CallOptions,
  ): Promise<ChainRead<WalletAnswer>> {
    const { pairs, tradesPerPair } = known;
    if (pairs * tradesPerPair > SLOTS_MAX)
      return failedChainRead("BAD_RESPONSE", `${pairs} pairs of ${tradesPerPair} slots are more than can be read`);
    const { calls, reads, guard } = this.#options;
    const pages = pagesOf(asked, pairs, tradesPerPair);
    const named = asked.filter((pair) => pair < pairs);
    const isAsked = (counts: PairCounts): boolean => counts.pairs === pairs && counts.tradesPerPair === tradesPerPair;
    return reads.read(
      {
        calls: (tag) => [
          calls.pairsCount(tag),
          calls.tradesMax(tag),
          calls.held(wallet, pairs, tag),
          ...(named.length === 0 ? [] : [calls.pairNames(named, tag)]),
          ...pages.map((page) => calls.slots(wallet, page, tag)),
        ],
        read: ([count, trades, heldAnswer, ...others]) => {
          const [nameAnswer, ...answers] = named.length === 0 ? [null, ...others] : others;
          const names = named.length === 0 ? [] : readPairNames(nameAnswer, named.length);
          const isAsCompared = names.every((name, at) => guard.isAsCompared(named[at] ?? 0, name, known));
          const held = readHeld(heldAnswer, pairs, SLOTS_MAX);
          const rows = joined(answers.map((answer, at) => ofPage(readSlots(answer), pages[at], wallet)));
          const counts = readCounts([count, trades]);
          // With more slots than were asked for, rows are missing for that reason.
          if (isAsked(counts)) for (const { from, to } of pages) checkRows(from, to, held, rows);
          const heldPairs = held.flatMap((of, pair) => (of.trades + of.orders > 0 ? [pair] : []));
          return { isAsked: isAsked(counts), isAsCompared, held: heldPairs, rows };
        },
      },
      options,
    );
  }
}

interface WalletAnswer {
  /** The numbers of pairs and slots are those that it was asked with. */
  readonly isAsked: boolean;
  /** Of these pairs, as far as anything follows from it. */
  readonly isAsCompared: boolean;
  /** Pairs with something. */
  readonly held: readonly number[];
  /** Of the pairs that were asked for. */
  readonly rows: SlotRows;
}

/** Another number of pairs, then what is held of them, then its pages, and once more for a wallet that trades meanwhile. */
const ROUNDS_MAX = 4;
const NO_ADDRESS = failedChainRead("VENUE_ERROR", "an address is 0x and 40 hex digits");
const NO_TIME = failedChainRead("TIMEOUT", "no time left");

/** Pairs that follow each other share a page. */
function pagesOf(asked: readonly number[], pairs: number, tradesPerPair: number): readonly SlotPage[] {
  const pages: { from: number; to: number; tradesPerPair: number }[] = [];
  for (const pair of asked) {
    const last = pages.at(-1);
    if (pair >= pairs) continue;
    if (last !== undefined && last.to === pair && pair - last.from < PAIRS_A_PAGE) last.to++;
    else pages.push({ from: pair, to: pair + 1, tradesPerPair });
  }
  return pages;
}

/** A row too few would be a position that nobody sees. */
function checkRows(from: number, to: number, held: readonly HeldCounts[], { trades, orders }: SlotRows): void {
  const countOf = (rows: readonly { readonly pairIndex: number }[], pair: number): number =>
    rows.filter(({ pairIndex }) => pairIndex === pair).length;
  for (const [at, of] of held.slice(from, to).entries()) {
    const pair = from + at;
    if (countOf(trades, pair) !== of.trades || countOf(orders, pair) !== of.orders)
      throw new WireFault("slots", `of pair ${pair} are not as many as the storage counts`);
  }
}

/** Rows of another trader or another page are a fault: the answer is to another question. */
function ofPage(rows: SlotRows, page: SlotPage | undefined, wallet: string): SlotRows {
  for (const { trader, pairIndex } of [...rows.trades, ...rows.orders])
    if (trader !== wallet || page === undefined || pairIndex < page.from || pairIndex >= page.to)
      throw new WireFault("slots", "are of another question");
  return rows;
}

function joined(parts: readonly SlotRows[]): SlotRows {
  return { trades: parts.flatMap(({ trades }) => trades), orders: parts.flatMap(({ orders }) => orders) };
}

function converted<T, U>(read: Good<T>, convert: () => U): ChainRead<U> {
  try {
    return { ...read, value: convert() };
  } catch (error) {
    if (error instanceof WireFault) return malformed(error);
    throw error;
  }
}

function malformed({ field, problem }: WireFault): FailedChainRead {
  return failedChainRead("BAD_RESPONSE", `${field} ${problem}`);
}
