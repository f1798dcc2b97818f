/**
 * What a restored store must not do again. Its requests since the backup are lost with their Idempotency-Keys, so one that
 * is repeated looks new: an ask that is like something that left meanwhile is refused, for as long as such a key lives.
 *
 * Invariants: a block refuses more rather than less, since nothing tells a repeated request from a new one like it. It is
 * durable in or before the commit that releases the store, and ends by its time alone.
 */
import type { Clock } from "../../domain/clock.js";
import { compareDecimals, divideBig, parseScaledBig, pow10Big } from "../../domain/decimal.js";
import { ServiceError } from "../../domain/errors.js";
import type { RoutableVenue } from "../../domain/venue.js";
import { allRows, decodeJson, encodeJson, type StateStore, type StateWrite } from "../../storage/state-store.js";
import type { VenueMoney } from "../../venue-money.js";
import type { AskBlocks, LikeAsk } from "../ask-blocks.js";
import type { InternalRow, TransferKind } from "../transfer-row.js";

type BlockReason =
  /** The venue's history has one like it. */
  | "FOUND"
  /** The wallet has sent something on the chain, and what it was is not known. */
  | "UNKNOWN_TRANSACTIONS"
  /** What left there could not be read, and the operator released the store all the same. */
  | "UNREAD";

/** Null in a member: whatever it is. */
export interface TransferBlock {
  readonly reason: BlockReason;
  readonly kind: TransferKind | null;
  readonly account: string;
  readonly venue: RoutableVenue | null;
  readonly chainId: number | null;
  readonly asset: string | null;
  /** Token units. */
  readonly amounts: readonly string[] | null;
  /** Each of them may be with the fee or without it. */
  readonly isFeeOpen?: boolean;
  readonly kindType: InternalRow["kindType"] | null;
  /** What was found; null: nothing that has a name. */
  readonly venueId: string | null;
  readonly atMs: number | null;
}

/** As long as an Idempotency-Key is kept (docs/transfers.md). */
const BLOCK_MS = 86_400_000;
/** What left had the fee of its time, which may have been a few times the fee of now. */
const FEES = 4n;
const NAMESPACE = "transfer-block";

interface Kept extends TransferBlock {
  readonly untilMs: number;
}

interface BlocksParts {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly rails: ReadonlyMap<RoutableVenue, VenueMoney>;
}

export class TransferBlocks implements AskBlocks {
  readonly #parts: BlocksParts;
  readonly #kept = new Map<string, Kept>();

  constructor(parts: BlocksParts) {
    this.#parts = parts;
  }

  /** Rejects with STORE_UNAVAILABLE. Those that are over go. */
  async load(): Promise<void> {
    const { store, clock } = this.#parts;
    for await (const { key, value } of allRows(store, NAMESPACE)) {
      const kept = decodeJson(value) as Kept;
      if (kept.untilMs > clock.wallMs()) this.#kept.set(key, kept);
      else await store.remove(NAMESPACE, key);
    }
  }

  /** In force at once, and durable with the writes. */
  add(blocks: readonly TransferBlock[]): StateWrite[] {
    const untilMs = this.#parts.clock.wallMs() + BLOCK_MS;
    return blocks.map((block) => {
      const kept: Kept = { ...block, untilMs };
      const key = keyOf(block);
      this.#kept.set(key, kept);
      return { namespace: NAMESPACE, key, value: encodeJson(kept) };
    });
  }

  /** Throws TRANSFER_FOUND for an ask like something that left while the store was another one. */
  assertFree(kind: TransferKind, ask: LikeAsk): void {
    const nowMs = this.#parts.clock.wallMs();
    for (const block of this.#kept.values()) {
      if (nowMs >= block.untilMs || !this.#isLike(block, kind, ask)) continue;
      const { reason, venueId, atMs, untilMs } = block;
      throw new ServiceError("TRANSFER_FOUND", {
        ...{ exchange: ask.venue, reason, until: untilMs },
        ...(venueId === null ? {} : { venueId }),
        ...(atMs === null ? {} : { at: atMs }),
      });
    }
  }

  #isLike(block: TransferBlock, kind: TransferKind, ask: LikeAsk): boolean {
    if (block.account !== ask.account || (block.kind !== null && block.kind !== kind)) return false;
    if (block.venue !== null && block.venue !== ask.venue) return false;
    if ("asset" in ask) {
      if (block.chainId !== null) return false;
      const isOther = block.asset !== null && block.asset !== ask.asset;
      if (isOther || (block.kindType !== null && block.kindType !== ask.kindType)) return false;
      return hasAmount(block, (text) => compareDecimals(text, ask.amount) === 0);
    }
    if (block.chainId !== null && block.chainId !== ask.chainId) return false;
    if (block.asset !== null && block.asset !== ask.symbol) return false;
    const rails = this.#parts.rails.get(ask.venue);
    const token =
      kind === "deposit"
        ? rails?.deposits.route(ask.chainId, ask.symbol)?.token
        : rails?.withdrawals.token(ask.chainId, ask.symbol);
    // A token that the venue does not take is refused by what checks it.
    if (token === undefined || token === null) return false;
    const within = block.isFeeOpen === true ? FEES * (ask.fee ?? 0n) : 0n;
    return hasAmount(block, (text) => isNear(unitsIn(text, token.decimals), ask.amount, within));
  }
}

function hasAmount({ amounts }: TransferBlock, is: (text: string) => boolean): boolean {
  return amounts === null || amounts.some(is);
}

function isNear(units: bigint | null, amount: bigint, within: bigint): boolean {
  return units !== null && units >= amount - within && units <= amount + within;
}

const TEXT_DECIMALS = 36;

/** Rounded down, as rooms read amounts: a venue may print more places than the token has. Null: it is no amount. */
function unitsIn(text: string, decimals: number): bigint | null {
  const fine = parseScaledBig(text, TEXT_DECIMALS);
  return fine === null ? null : divideBig(fine, pow10Big(TEXT_DECIMALS - decimals), "floor");
}

/** The same thing, found twice, is one block. Two of one id are not: a venue without one for a row has only its time. */
function keyOf(block: TransferBlock): string {
  const { account, venue, chainId, kind, venueId, reason, atMs, asset, amounts, kindType } = block;
  const what = [asset, amounts?.join("+") ?? null, kindType];
  return [account, venue, chainId, kind, reason, venueId, atMs, ...what].map((part) => part ?? "*").join("/");
}
